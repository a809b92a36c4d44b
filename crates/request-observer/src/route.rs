//! Which requests are watched, decided from their heads.

use std::fmt;

use body_decompression::Budget;
use llm_payloads::{Api, without_query};

/// What stays the same from request to request.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The bounds of the inter-token gap histogram in nanoseconds, rising, upper-inclusive.
    pub gap_bounds_nanos: Vec<u64>,
    /// Path suffixes that are watched besides the known ones, each with the API that is spoken there. The first
    /// that fits counts, before the known ones.
    pub extra_routes: Vec<(Vec<u8>, Api)>,
    /// The memory that decompressing may take over all requests at once.
    pub decompression: Budget,
}

/// What is read of a request's head. A header that is absent is empty.
#[derive(Clone, Copy, Debug, Default)]
pub struct RequestHead<'a> {
    /// The method.
    pub method: &'a [u8],
    /// The path with its query.
    pub path: &'a [u8],
    /// `content-type`.
    pub content_type: &'a [u8],
    /// `content-encoding`.
    pub content_encoding: &'a [u8],
    /// Whether the connection is to be upgraded, as for WebSocket.
    pub upgrade: bool,
}

/// Why a request is not watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SkipReason {
    /// The connection is to be upgraded.
    Upgrade,
    /// The method is not POST.
    NotPost,
    /// The path is an audio route.
    Audio,
    /// The path is a batch route, whose answers are generated later.
    Batch,
    /// The path is no generation route.
    NotGenerationRoute,
    /// The body is a form.
    Multipart,
    /// The body is compressed.
    CompressedRequest,
    /// The path lets the engine generate a token to see whether it lives.
    HealthProbe,
}

impl SkipReason {
    /// Every reason, for tables and tests.
    pub const ALL: [Self; 8] = [
        Self::Upgrade,
        Self::NotPost,
        Self::Audio,
        Self::Batch,
        Self::NotGenerationRoute,
        Self::Multipart,
        Self::CompressedRequest,
        Self::HealthProbe,
    ];

    /// The reason in snake case, as a label value.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Upgrade => "upgrade",
            Self::Audio => "audio",
            Self::Batch => "batch",
            Self::NotGenerationRoute => "not_generation_route",
            Self::NotPost => "not_post",
            Self::Multipart => "multipart",
            Self::CompressedRequest => "compressed_request",
            Self::HealthProbe => "health_probe",
        }
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl std::error::Error for SkipReason {}

impl RequestHead<'_> {
    /// The API that the request speaks, if it is to be watched.
    ///
    /// # Errors
    ///
    /// Why it is not.
    pub fn api(&self, settings: &Settings) -> Result<Api, SkipReason> {
        if self.upgrade {
            return Err(SkipReason::Upgrade);
        }
        let api = self.path_api(settings)?;
        self.readable().map(|()| api)
    }

    /// The same as far as method and path tell, which settle most requests.
    ///
    /// # Errors
    ///
    /// Why the request is not to be watched.
    pub fn path_api(&self, settings: &Settings) -> Result<Api, SkipReason> {
        let path = without_query(self.path);
        if path.ends_with(b"/health_generate") {
            return Err(SkipReason::HealthProbe);
        }
        // SGLang takes its own requests by PUT as well.
        let is_put = self.method.eq_ignore_ascii_case(b"PUT") && path.ends_with(b"/generate");
        if !is_put && !self.method.eq_ignore_ascii_case(b"POST") {
            return Err(SkipReason::NotPost);
        }
        settings
            .api(path)
            .or_else(|| Api::from_path(path))
            .ok_or_else(|| other_route(path))
    }

    /// Whether the body can be read, as far as the other headers tell.
    ///
    /// # Errors
    ///
    /// Why the request is not to be watched.
    pub fn readable(&self) -> Result<(), SkipReason> {
        if self.upgrade {
            return Err(SkipReason::Upgrade);
        }
        if starts_with_ignoring_case(self.content_type, b"multipart/") {
            return Err(SkipReason::Multipart);
        }
        if is_encoded(self.content_encoding) {
            return Err(SkipReason::CompressedRequest);
        }
        Ok(())
    }
}

impl Settings {
    fn api(&self, path: &[u8]) -> Option<Api> {
        let fits = |(suffix, _): &&(Vec<u8>, Api)| !suffix.is_empty() && path.ends_with(suffix);
        self.extra_routes.iter().find(fits).map(|(_, api)| *api)
    }
}

fn other_route(path: &[u8]) -> SkipReason {
    let has_segment = |segment: &[u8]| path.split(|byte| *byte == b'/').any(|part| part == segment);
    if has_segment(b"audio") {
        SkipReason::Audio
    } else if has_segment(b"batches") {
        SkipReason::Batch
    } else {
        SkipReason::NotGenerationRoute
    }
}

/// Whether a header is not what the standard lets one value be: printable ASCII, and no list.
pub(crate) fn is_odd(value: &[u8]) -> bool {
    value
        .iter()
        .any(|byte| !matches!(byte, b' '..=b'~' | b'\t'))
}

/// Whether a `content-encoding` makes a request's body unreadable.
pub(crate) fn is_encoded(content_encoding: &[u8]) -> bool {
    let encoding = content_encoding.trim_ascii();
    !encoding.is_empty() && !encoding.eq_ignore_ascii_case(b"identity")
}

/// Whether a `content-type` is a media type, whatever its parameters.
pub(crate) fn is_media_type(content_type: &[u8], media_type: &[u8]) -> bool {
    // A header given twice reaches us joined by a comma; the first one counts.
    let essence = content_type
        .split(|byte| matches!(byte, b';' | b','))
        .next()
        .unwrap_or_default();
    essence.trim_ascii().eq_ignore_ascii_case(media_type)
}

pub(crate) fn starts_with_ignoring_case(text: &[u8], prefix: &[u8]) -> bool {
    text.get(..prefix.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn post(path: &str) -> RequestHead<'_> {
        RequestHead {
            method: b"POST",
            path: path.as_bytes(),
            content_type: b"application/json",
            ..RequestHead::default()
        }
    }

    fn check(head: &RequestHead<'_>, expected: Result<Api, SkipReason>) {
        assert_eq!(head.api(&Settings::default()), expected, "{head:?}");
    }

    #[test]
    fn a_post_to_a_generation_route_is_watched_whatever_its_content_type() {
        check(&post("/v1/chat/completions"), Ok(Api::ChatCompletions));
        check(
            &RequestHead {
                content_type: b"text/plain",
                ..post("/v1/messages")
            },
            Ok(Api::Messages),
        );
        check(
            &RequestHead {
                content_type: b"",
                ..post("/v1/responses")
            },
            Ok(Api::Responses),
        );
        check(
            &RequestHead {
                content_encoding: b" Identity ",
                ..post("/v1/embeddings")
            },
            Ok(Api::Embeddings),
        );
    }

    #[test]
    fn everything_else_has_a_reason() {
        let chat = post("/v1/chat/completions");
        check(
            &RequestHead {
                upgrade: true,
                ..chat
            },
            Err(SkipReason::Upgrade),
        );
        check(
            &RequestHead {
                method: b"GET",
                ..chat
            },
            Err(SkipReason::NotPost),
        );
        check(
            &RequestHead {
                method: b"",
                ..chat
            },
            Err(SkipReason::NotPost),
        );
        check(
            &RequestHead {
                content_type: b"Multipart/form-data; boundary=x",
                ..chat
            },
            Err(SkipReason::Multipart),
        );
        check(
            &RequestHead {
                content_encoding: b"gzip",
                ..chat
            },
            Err(SkipReason::CompressedRequest),
        );
        check(&post("/v1/audio/transcriptions"), Err(SkipReason::Audio));
        check(&post("/v1/messages/batches"), Err(SkipReason::Batch));
        check(&post("/v1/batches"), Err(SkipReason::Batch));
        check(
            &post("/v1/messages/count_tokens"),
            Err(SkipReason::NotGenerationRoute),
        );
        check(&post("/v1/models"), Err(SkipReason::NotGenerationRoute));
        check(&RequestHead::default(), Err(SkipReason::NotPost));
        check(
            &RequestHead {
                path: b"/\xff\xfe\0",
                ..chat
            },
            Err(SkipReason::NotGenerationRoute),
        );
    }

    #[test]
    fn configured_routes_are_watched_too() {
        let settings = Settings {
            extra_routes: vec![
                (b"/generate".to_vec(), Api::Completions),
                (Vec::new(), Api::Messages),
            ],
            ..Settings::default()
        };
        assert_eq!(post("/x/generate?y").api(&settings), Ok(Api::Completions));
        assert_eq!(
            post("/x/other").api(&settings),
            Err(SkipReason::NotGenerationRoute)
        );
    }

    #[test]
    fn a_media_type_is_compared_whole_and_without_its_parameters() {
        for (content_type, expected) in [
            ("text/event-stream", true),
            ("Text/Event-Stream; charset=utf-8", true),
            ("text/event-stream-x", false),
            ("", false),
        ] {
            assert_eq!(
                is_media_type(content_type.as_bytes(), b"text/event-stream"),
                expected,
                "{content_type}"
            );
        }
    }
}

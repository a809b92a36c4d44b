//! Which API a request speaks, told from its path.

/// An API whose requests are watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Api {
    /// OpenAI's `/chat/completions`.
    ChatCompletions,
    /// OpenAI's older `/completions`.
    Completions,
    /// OpenAI's `/responses`.
    Responses,
    /// OpenAI's `/embeddings`.
    Embeddings,
    /// Anthropic's `/messages`.
    Messages,
}

/// Path suffixes, each beginning at a segment; the first that fits counts.
const SUFFIXES: [(&[u8], Api); 5] = [
    (b"/chat/completions", Api::ChatCompletions),
    (b"/completions", Api::Completions),
    (b"/responses", Api::Responses),
    (b"/embeddings", Api::Embeddings),
    (b"/messages", Api::Messages),
];

impl Api {
    /// Every API, for tables and tests.
    pub const ALL: [Self; 5] = [
        Self::ChatCompletions,
        Self::Completions,
        Self::Responses,
        Self::Embeddings,
        Self::Messages,
    ];

    /// The API's name in snake case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ChatCompletions => "chat_completions",
            Self::Completions => "completions",
            Self::Responses => "responses",
            Self::Embeddings => "embeddings",
            Self::Messages => "messages",
        }
    }

    /// The operation as the semantic conventions name it.
    #[must_use]
    pub const fn operation(self) -> &'static str {
        match self {
            Self::ChatCompletions | Self::Responses | Self::Messages => "chat",
            Self::Completions => "text_completion",
            Self::Embeddings => "embeddings",
        }
    }

    /// The API that a request path leads to: a known suffix at a segment's border, whatever stands before it.
    ///
    /// The query is not looked at, and one trailing slash is tolerated. The messages of an assistant's thread are
    /// stored, not generated, and so are no generation route.
    #[must_use]
    pub fn from_path(path: &[u8]) -> Option<Self> {
        let path = without_query(path);
        let (_, api) = SUFFIXES
            .into_iter()
            .find(|(suffix, _)| path.ends_with(suffix))?;
        let stored =
            api == Self::Messages && path.windows(THREADS.len()).any(|part| part == THREADS);
        (!stored).then_some(api)
    }
}

const THREADS: &[u8] = b"/threads/";

/// The path without query, fragment and one trailing slash.
#[must_use]
pub fn without_query(path: &[u8]) -> &[u8] {
    let path = path
        .split(|byte| matches!(byte, b'?' | b'#'))
        .next()
        .unwrap_or_default();
    path.strip_suffix(b"/").unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, expected: Option<Api>) {
        assert_eq!(Api::from_path(path.as_bytes()), expected, "{path}");
    }

    #[test]
    fn a_known_suffix_decides_whatever_stands_before_it() {
        check("/v1/chat/completions", Some(Api::ChatCompletions));
        check(
            "/openai/deployments/gpt/chat/completions?api-version=2024-06-01",
            Some(Api::ChatCompletions),
        );
        check("/v1/completions/", Some(Api::Completions));
        check("/completions", Some(Api::Completions));
        check("/v1/responses", Some(Api::Responses));
        check("/v1/embeddings?x=/chat/completions", Some(Api::Embeddings));
        check("/anthropic/v1/messages?beta=true", Some(Api::Messages));
    }

    #[test]
    fn other_paths_are_no_generation_route() {
        for path in [
            "",
            "/",
            "/v1/models",
            "/v1/messages/count_tokens",
            "/v1/messages/batches",
            "/v1/responses/resp_1",
            "/v1/threads/t/messages",
            "/v1/xcompletions",
            "/v1/chat/completions/render",
            "/completion",
            "/?path=/v1/messages",
        ] {
            check(path, None);
        }
    }

    #[test]
    fn every_api_has_its_own_name() {
        let mut names: Vec<_> = Api::ALL.iter().map(|api| api.as_str()).collect();
        names.dedup();
        assert_eq!(names.len(), Api::ALL.len());
    }
}

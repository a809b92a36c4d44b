//! Which API a request speaks, told from its path: the registration of the dialects.

use crate::dialect::Dialect;
use crate::route_pattern::{decoded, fits, model};
use crate::{Text, dialects, without_query};

/// Makes the enumeration and its tables of one row a dialect.
macro_rules! register {
    ($($(#[$doc:meta])* $name:ident => $dialect:path,)*) => {
        /// An API whose requests are watched. The first whose route fits a path counts.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Api {
            $($(#[$doc])* $name,)*
        }

        impl Api {
            /// Every API, for tables and tests.
            pub const ALL: [Self; [$(stringify!($name)),*].len()] = [$(Self::$name),*];

            /// What is known of its language.
            #[must_use]
            pub const fn dialect(self) -> &'static Dialect {
                match self {
                    $(Self::$name => &$dialect,)*
                }
            }
        }
    };
}

register! {
    /// OpenAI's `/chat/completions`.
    ChatCompletions => dialects::openai::CHAT_COMPLETIONS,
    /// OpenAI's older `/completions`.
    Completions => dialects::openai::COMPLETIONS,
    /// OpenAI's `/responses`.
    Responses => dialects::openai_responses::RESPONSES,
    /// OpenAI's `/embeddings`.
    Embeddings => dialects::openai::EMBEDDINGS,
    /// Anthropic's `/messages`.
    Messages => dialects::anthropic::MESSAGES,
    /// Ollama's `/api/chat`.
    OllamaChat => dialects::ollama::CHAT,
    /// Ollama's `/api/generate`.
    OllamaGenerate => dialects::ollama::GENERATE,
    /// Gemini's `:generateContent`.
    GeminiGenerate => dialects::gemini::GENERATE,
    /// Gemini's `:streamGenerateContent`.
    GeminiStream => dialects::gemini::STREAM,
    /// Bedrock's `/converse`.
    BedrockConverse => dialects::bedrock::CONVERSE,
    /// Bedrock's `/converse-stream`.
    BedrockConverseStream => dialects::bedrock::CONVERSE_STREAM,
    /// Bedrock's `/invoke`.
    BedrockInvoke => dialects::bedrock::INVOKE,
    /// Bedrock's `/invoke-with-response-stream`.
    BedrockInvokeStream => dialects::bedrock::INVOKE_STREAM,
    /// Triton's `/generate` of a model.
    TritonGenerate => dialects::triton::GENERATE,
    /// Triton's `/generate_stream` of a model.
    TritonGenerateStream => dialects::triton::GENERATE_STREAM,
    /// The open inference protocol's `/infer` of a model.
    KserveInfer => dialects::kserve::INFER,
    /// llama.cpp's `/completion`.
    LlamacppCompletion => dialects::llamacpp::COMPLETION,
    /// vLLM's `/inference/v1/generate`.
    VllmGenerate => dialects::vllm::GENERATE,
    /// JetStream's `/v1/generate`.
    JetstreamHttp => dialects::jetstream::HTTP,
    /// TGI's `/generate_stream`.
    TgiGenerateStream => dialects::generate::TGI_STREAM,
    /// `/generate`, before the request tells whose.
    Generate => dialects::generate::GENERATE,
    /// TGI's `/generate` and `/`.
    TgiGenerate => dialects::generate::TGI,
    /// SGLang's `/generate`.
    SglangGenerate => dialects::generate::SGLANG,
    /// A `/generate` that takes a `prompt`.
    PromptGenerate => dialects::generate::PROMPT,
    /// JetStream's `Decode` over gRPC.
    JetstreamDecode => dialects::grpc::JETSTREAM_DECODE,
    /// vLLM's `Generate` over gRPC.
    VllmGrpc => dialects::grpc::VLLM_GENERATE,
    /// `ModelInfer` over gRPC.
    KserveGrpc => dialects::grpc::MODEL_INFER,
    /// `ModelStreamInfer` over gRPC.
    KserveGrpcStream => dialects::grpc::MODEL_STREAM_INFER,
    /// `/rerank`.
    Rerank => dialects::ranking::RERANK,
    /// `/score`.
    Score => dialects::ranking::SCORE,
    /// `/pooling` and `/classify`.
    Pooling => dialects::ranking::POOLING,
}

const THREADS: &[u8] = b"/threads/";

impl Api {
    /// The API's name in snake case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.dialect().name
    }

    /// The operation as the semantic conventions name it.
    #[must_use]
    pub const fn operation(self) -> &'static str {
        self.dialect().operation
    }

    /// The provider's name where none is configured.
    #[must_use]
    pub const fn provider(self) -> &'static str {
        self.dialect().provider
    }

    /// The API that a request path leads to: a known end at a segment's border, whatever stands before it.
    ///
    /// The query is not looked at, and one trailing slash is tolerated. The messages of an assistant's thread are
    /// stored, not generated, and so are no generation route.
    #[must_use]
    pub fn from_path(path: &[u8]) -> Option<Self> {
        let path = without_query(path);
        let api = Self::ALL
            .into_iter()
            .find(|api| api.route(path).is_some())?;
        let stored =
            api == Self::Messages && path.windows(THREADS.len()).any(|part| part == THREADS);
        (!stored).then_some(api)
    }

    /// The model that the path names, where this API names it there.
    #[must_use]
    pub fn model_in_path(self, path: &[u8]) -> Option<Text> {
        let path = without_query(path);
        self.route(path)
            .and_then(|route| model(route, path))
            .map(decoded)
    }

    fn route(self, path: &[u8]) -> Option<&'static str> {
        let routes = self.dialect().routes;
        routes.iter().copied().find(|route| fits(route, path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, expected: Option<Api>) {
        assert_eq!(Api::from_path(path.as_bytes()), expected, "{path}");
    }

    #[test]
    fn a_known_end_decides_whatever_stands_before_it() {
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
    fn of_two_routes_the_longer_end_counts() {
        check("/generate", Some(Api::Generate));
        check("/api/generate", Some(Api::OllamaGenerate));
        check("/v1/generate", Some(Api::JetstreamHttp));
        check("/inference/v1/generate", Some(Api::VllmGenerate));
        check("/v2/models/m/generate", Some(Api::TritonGenerate));
        check(
            "/v2/models/m/versions/1/generate_stream",
            Some(Api::TritonGenerateStream),
        );
        check("/generate_stream", Some(Api::TgiGenerateStream));
        check("/completion", Some(Api::LlamacppCompletion));
        check("/", Some(Api::TgiGenerate));
        check(
            "/v1beta/models/g:streamGenerateContent?alt=sse",
            Some(Api::GeminiStream),
        );
        check("/model/m/converse-stream", Some(Api::BedrockConverseStream));
        check("/v2/rerank", Some(Api::Rerank));
    }

    #[test]
    fn other_paths_are_no_generation_route() {
        for path in [
            "/v1/models",
            "/v1/messages/count_tokens",
            "/v1/messages/batches",
            "/v1/responses/resp_1",
            "/v1/threads/t/messages",
            "/v1/xcompletions",
            "/v1/chat/completions/render",
            "/api/pull",
            "/v1beta/models/g:countTokens",
            "/x?path=/v1/messages",
        ] {
            check(path, None);
        }
    }

    #[test]
    fn every_route_leads_to_its_own_api() {
        for api in Api::ALL {
            for route in api.dialect().routes {
                let path = route.trim_start_matches('^').replace("{model}", "m");
                check(&path.replace("{}", "1"), Some(api));
            }
        }
    }

    #[test]
    fn every_api_has_its_own_name() {
        let mut names: Vec<_> = Api::ALL.iter().map(|api| api.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Api::ALL.len());
    }
}

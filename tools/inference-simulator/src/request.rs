//! What a request asks for, read from its path and body.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

/// The APIs served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// OpenAI chat completions.
    ChatCompletions,
    /// OpenAI completions.
    Completions,
    /// OpenAI responses.
    Responses,
    /// OpenAI embeddings.
    Embeddings,
    /// Anthropic messages.
    Messages,
}

impl Api {
    /// Every API.
    pub const ALL: [Self; 5] = [
        Self::ChatCompletions,
        Self::Completions,
        Self::Responses,
        Self::Embeddings,
        Self::Messages,
    ];

    /// Where it is served.
    #[must_use]
    pub fn path(self) -> &'static str {
        match self {
            Self::ChatCompletions => "/v1/chat/completions",
            Self::Completions => "/v1/completions",
            Self::Responses => "/v1/responses",
            Self::Embeddings => "/v1/embeddings",
            Self::Messages => "/v1/messages",
        }
    }

    /// The key of the body that holds the prompt.
    fn prompt_key(self) -> &'static str {
        match self {
            Self::ChatCompletions | Self::Messages => "messages",
            Self::Completions => "prompt",
            Self::Responses | Self::Embeddings => "input",
        }
    }

    /// The keys of the body that may limit the output.
    fn limit_keys(self) -> &'static [&'static str] {
        match self {
            Self::ChatCompletions => &["max_completion_tokens", "max_tokens"],
            Self::Completions | Self::Messages => &["max_tokens"],
            Self::Responses => &["max_output_tokens"],
            Self::Embeddings => &[],
        }
    }
}

/// A generation request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GenerationRequest {
    /// Which API it speaks.
    pub(crate) api: Api,
    /// The model it names.
    pub(crate) model: String,
    /// Whether it wants a stream.
    pub(crate) stream: bool,
    /// Whether it wants usage in the stream.
    pub(crate) include_usage: bool,
    /// Whether it wants usage in every event of the stream.
    pub(crate) continuous_usage: bool,
    /// How many choices it wants.
    pub(crate) choices: u32,
    /// Its own limit on the output tokens of a choice.
    pub(crate) max_output_tokens: Option<u32>,
    /// How many inputs an embeddings request has.
    pub(crate) inputs: u32,
    /// Its prompt, one number a word.
    pub(crate) prompt_words: Vec<u64>,
    /// Its `simulate` object.
    pub(crate) simulate: Option<Value>,
}

/// More choices than this are refused, as real servers do.
const MAX_CHOICES: u64 = 16;

impl GenerationRequest {
    /// Reads a request body.
    ///
    /// # Errors
    /// Says what a server would complain about.
    pub(crate) fn parse(api: Api, body: &[u8]) -> Result<Self, String> {
        let body: Value =
            serde_json::from_slice(body).map_err(|error| format!("JSON decode error: {error}"))?;
        let Value::Object(fields) = &body else {
            return Err("the body must be a JSON object".to_owned());
        };
        let model = match fields.get("model") {
            Some(Value::String(model)) => model.clone(),
            Some(_) => return Err("`model` must be a string".to_owned()),
            None => return Err("`model` is missing".to_owned()),
        };
        let Some(prompt) = fields
            .get(api.prompt_key())
            .filter(|prompt| !prompt.is_null())
        else {
            return Err(format!("`{}` is missing", api.prompt_key()));
        };
        let choices = fields.get("n").and_then(Value::as_u64).unwrap_or(1);
        if choices == 0 || choices > MAX_CHOICES {
            return Err(format!("`n` must be from 1 to {MAX_CHOICES}"));
        }
        let options = fields
            .get("stream_options")
            .filter(|options| options.is_object());
        let option = |key: &str| {
            options
                .and_then(|options| options.get(key))
                .and_then(Value::as_bool)
        };
        let limit = api
            .limit_keys()
            .iter()
            .find_map(|key| fields.get(*key).and_then(Value::as_u64));
        Ok(Self {
            api,
            model,
            stream: fields
                .get("stream")
                .and_then(Value::as_bool)
                .unwrap_or(false),
            // vLLM takes the mere presence of the options for a wish.
            include_usage: options.is_some() && option("include_usage").unwrap_or(true),
            continuous_usage: option("continuous_usage_stats").unwrap_or(false),
            choices: u32::try_from(choices).unwrap_or(1),
            max_output_tokens: limit.map(|limit| u32::try_from(limit).unwrap_or(u32::MAX)),
            inputs: input_count(prompt),
            prompt_words: words(prompt, fields.get("system")),
            simulate: fields.get("simulate").cloned(),
        })
    }
}

/// How many texts (or token lists) an `input` holds.
fn input_count(input: &Value) -> u32 {
    match input {
        Value::Array(elements) if !elements.first().is_some_and(Value::is_number) => {
            u32::try_from(elements.len()).unwrap_or(u32::MAX)
        }
        _ => 1,
    }
}

/// The words of every text in the prompt, in order, as numbers; a token id in a prompt is a word of its own.
fn words(prompt: &Value, system: Option<&Value>) -> Vec<u64> {
    let mut found = Vec::new();
    if let Some(system) = system {
        collect_words(system, &mut found);
    }
    collect_words(prompt, &mut found);
    found
}

fn collect_words(value: &Value, found: &mut Vec<u64>) {
    match value {
        Value::String(text) => found.extend(text.split_whitespace().map(number_of)),
        Value::Number(number) => found.extend(number.as_u64()),
        Value::Array(elements) => elements
            .iter()
            .for_each(|element| collect_words(element, found)),
        Value::Object(fields) => {
            for key in ["content", "text", "input_text"] {
                if let Some(inner) = fields.get(key) {
                    collect_words(inner, found);
                }
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}

fn number_of(word: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    word.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse(api: Api, body: Value) -> Result<GenerationRequest, String> {
        GenerationRequest::parse(api, body.to_string().as_bytes())
    }

    #[test]
    fn each_api_names_prompt_and_limit_in_its_own_way() {
        let chat = json!({"model": "m", "messages": [{"role": "user", "content": "one two"},
            {"role": "user", "content": [{"type": "text", "text": "three"}]}], "max_tokens": 5});
        let messages = json!({"model": "m", "system": "zero", "messages": [{"content": "one two three"}], "max_tokens": 5});
        let cases = [
            (Api::ChatCompletions, chat, 3, Some(5), 2),
            (
                Api::Completions,
                json!({"model": "m", "prompt": "a b", "max_tokens": 2}),
                2,
                Some(2),
                1,
            ),
            (
                Api::Completions,
                json!({"model": "m", "prompt": [1, 2, 3]}),
                3,
                None,
                1,
            ),
            (
                Api::Responses,
                json!({"model": "m", "input": "a b c", "max_output_tokens": 9}),
                3,
                Some(9),
                1,
            ),
            (
                Api::Embeddings,
                json!({"model": "m", "input": ["a b", "c"]}),
                3,
                None,
                2,
            ),
            (Api::Messages, messages, 4, Some(5), 1),
        ];
        for (api, body, prompt_words, limit, inputs) in cases {
            let request = parse(api, body).unwrap();
            assert_eq!(request.prompt_words.len(), prompt_words, "{api:?}");
            assert_eq!(request.max_output_tokens, limit, "{api:?}");
            assert_eq!(request.inputs, inputs, "{api:?}");
        }
    }

    #[test]
    fn usage_is_wanted_when_the_options_are_there_and_do_not_refuse_it() {
        let wanted = |options: Value| {
            let body =
                json!({"model": "m", "prompt": "a", "stream": true, "stream_options": options});
            let request = parse(Api::Completions, body).unwrap();
            (request.include_usage, request.continuous_usage)
        };
        assert_eq!(wanted(Value::Null), (false, false));
        assert_eq!(wanted(json!({})), (true, false));
        assert_eq!(wanted(json!({"include_usage": false})), (false, false));
        assert_eq!(
            wanted(json!({"include_usage": true, "continuous_usage_stats": true})),
            (true, true)
        );
    }

    #[test]
    fn what_a_server_would_refuse_is_refused() {
        let refused = |body: Value| parse(Api::Completions, body).unwrap_err();
        assert!(refused(json!({"prompt": "a"})).contains("model"));
        assert!(refused(json!({"model": 3, "prompt": "a"})).contains("model"));
        assert!(refused(json!({"model": "m"})).contains("prompt"));
        assert!(refused(json!({"model": "m", "prompt": "a", "n": 17})).contains("`n`"));
        assert!(refused(json!([])).contains("object"));
        assert!(
            GenerationRequest::parse(Api::Completions, b"{")
                .unwrap_err()
                .contains("JSON")
        );
    }
}

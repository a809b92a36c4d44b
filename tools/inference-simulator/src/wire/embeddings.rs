//! Embeddings: one vector an input, and the prompt's tokens.

use serde_json::{Value, json};

use crate::generation::Generation;

/// Numbers in a vector; short, since nobody looks at them.
const DIMENSIONS: u32 = 16;

pub(crate) fn whole(generation: &Generation, inputs: u32) -> Value {
    let vector: Vec<f64> = (0..DIMENSIONS)
        .map(|index| (f64::from(index) * 0.7).sin() / 4.0)
        .collect();
    let data: Vec<Value> = (0..inputs)
        .map(|index| json!({"index": index, "object": "embedding", "embedding": vector}))
        .collect();
    json!({
        "id": generation.id_with("embd-"),
        "object": "list",
        "created": generation.created_unix_seconds,
        "model": generation.model,
        "data": data,
        "usage": {"prompt_tokens": generation.usage.input, "total_tokens": generation.usage.input,
            "completion_tokens": 0, "prompt_tokens_details": null},
    })
}

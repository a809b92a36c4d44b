"""Writes a model that llama.cpp can run: random weights behind a tokenizer of bytes and a few English pairs.

What it says means nothing. It is there so that a real server counts real tokens, without a download.
"""

import sys

import gguf
import numpy

CONTEXT = 8192
WIDTH = 256
LAYERS = 4
HEADS = 8
FEED_FORWARD = 512
# Pairs that are joined, most wanted first: enough that a token is not simply a byte.
MERGES = ["t h", "th e", "Ġ the", "i n", "e r", "o n", "Ġ t", "Ġ s", "e n", "Ġ c", "o u", "Ġ a", "s e", "Ġs er", "r o"]
CONTROLS = ["<|end|>", "<|start|>", "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|pad|>"]
CHAT = (
    "{% for message in messages %}<|start|>{{ message['role'] }}\n{{ message['content'] }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant\n{% endif %}"
)


def byte_letters():
    """The letter that stands for each byte in a vocabulary of this kind: itself where it can be seen, else one far off."""
    seen = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    far = iter(range(0x100, 0x200))
    return [chr(byte if byte in seen else next(far)) for byte in range(0x100)]


def vocabulary():
    """All tokens and their kinds."""
    tokens = byte_letters() + [merge.replace(" ", "") for merge in MERGES]
    kinds = [gguf.TokenType.NORMAL] * len(tokens) + [gguf.TokenType.CONTROL] * len(CONTROLS)
    return tokens + CONTROLS, kinds


def is_readable(token):
    """Whether an answer may hold it: so no answer ends by itself, nor in the middle of a character."""
    return all(letter == "Ġ" or " " < letter <= "~" for letter in token) and token not in CONTROLS


def weights(random, tokens):
    """Name and values of every tensor."""

    def some(*shape, spread=0.05):
        return (random.standard_normal(shape) * spread).astype(numpy.float32)

    head = some(len(tokens), WIDTH, spread=3 / WIDTH**0.5)
    for place, token in enumerate(tokens):
        if not is_readable(token):
            head[place] = 0
    ones = numpy.ones(WIDTH, numpy.float32)
    yield "token_embd.weight", some(len(tokens), WIDTH)
    yield "output_norm.weight", ones
    yield "output.weight", head
    for block in range(LAYERS):
        for name in ["attn_norm", "ffn_norm"]:
            yield f"blk.{block}.{name}.weight", ones
        for name in ["attn_q", "attn_k", "attn_v", "attn_output"]:
            yield f"blk.{block}.{name}.weight", some(WIDTH, WIDTH)
        for name in ["ffn_gate", "ffn_up"]:
            yield f"blk.{block}.{name}.weight", some(FEED_FORWARD, WIDTH)
        yield f"blk.{block}.ffn_down.weight", some(WIDTH, FEED_FORWARD)


def write(path):
    """Writes the whole file, the same one each time."""
    tokens, kinds = vocabulary()
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges(MERGES)
    writer.add_bos_token_id(tokens.index("<|start|>"))
    writer.add_eos_token_id(tokens.index("<|end|>"))
    writer.add_pad_token_id(tokens.index("<|pad|>"))
    writer.add_add_bos_token(False)
    for key, token in [("pre", "prefix"), ("suf", "suffix"), ("mid", "middle")]:
        writer.add_uint32(f"tokenizer.ggml.fim_{key}_token_id", tokens.index(f"<|fim_{token}|>"))
    writer.add_chat_template(CHAT)
    for name, values in weights(numpy.random.default_rng(20), tokens):
        writer.add_tensor(name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    write(sys.argv[1])

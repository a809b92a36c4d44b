#!/usr/bin/env python3
"""Decodes every recorded exchange on its own and writes what a correct observer must say about it.

This is the second opinion on Inferometer: it shares no code and no method with the Rust crates. It holds a whole
body in memory, lets `json` parse it, and counts. Standard library only.

    decode.py            write ../expected.json
    decode.py --check    fail if ../expected.json is not what this would write
    decode.py --show X   print the events of the capture X (`vllm/chat_stream`) with their offsets, to read by hand

A situation that no rule below covers stops the run: a guess here would be a false witness.
"""

import argparse
import json
import pathlib
import re
import sys

CAPTURES = pathlib.Path(__file__).resolve().parent.parent
EXPECTED = CAPTURES / "expected.json"
DIRECTORIES = ["vllm", "vllm-features", "vllm-tools", "vllm-embed", "sglang", "llamacpp", "llama-cpp-python"]

# The path suffix decides which API an exchange speaks; anything else is not watched.
ROUTES = [
    ("/chat/completions", "chat_completions", "chat"),
    ("/completions", "completions", "text_completion"),
    ("/responses", "responses", "chat"),
    ("/embeddings", "embeddings", "embeddings"),
    ("/messages", "messages", "chat"),
    ("/inference/v1/generate", "vllm_generate", "text_completion"),
    ("/completion", "llamacpp_completion", "text_completion"),
    # SGLang's, as its requests show: they have a `text`.
    ("/generate", "sglang_generate", "text_completion"),
]

# Engines' own words for the end of generation, besides those of the APIs.
NATIVE_FINISH_REASONS = {"eos": "stop", "word": "stop", "limit": "length", "none": None}

FINISH_REASONS = {
    "stop": "stop", "end_turn": "stop", "stop_sequence": "stop",
    "length": "length", "max_tokens": "length", "max_output_tokens": "length",
    "tool_calls": "tool_calls", "tool_use": "tool_calls", "function_call": "tool_calls",
    "content_filter": "content_filter", "refusal": "content_filter",
}

REASONING_DELTAS = {"response.reasoning_text.delta", "response.reasoning_summary_text.delta"}


class Uncovered(Exception):
    """A capture shows something that no rule here speaks about."""


# ---------------------------------------------------------------- HTTP

class Message:
    """One HTTP request or response: start line, headers, body, and where each body byte lay in the recording."""

    def __init__(self, start_line, headers, body, spans, complete):
        self.start_line = start_line
        self.headers = headers
        self.body = body
        self.spans = spans  # (first raw offset, raw end, body offset), in order
        self.complete = complete


def parse_head(raw, at):
    end = raw.find(b"\r\n\r\n", at)
    if end < 0:
        raise Uncovered("a head without an end")
    lines = raw[at:end].decode("latin-1").split("\r\n")
    headers = {}
    for line in lines[1:]:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    return lines[0], headers, end + 4


def parse_chunked(raw, at):
    body, spans = b"", []
    while True:
        line_end = raw.find(b"\r\n", at)
        if line_end < 0:
            return body, spans, at, False
        size = int(raw[at:line_end].split(b";")[0], 16)
        at = line_end + 2
        if size == 0:
            return body, spans, at + 2, True  # no capture has trailers: only the empty line follows
        piece = raw[at:at + size]
        spans.append((at, at + len(piece), len(body)))
        body += piece
        at += size + 2
        if at > len(raw):
            return body, spans, len(raw), False


def parse_messages(raw, until_close, bodiless=lambda index: False):
    """Splits a recording into messages; `until_close` allows a body without a length that lasts to the end."""
    messages, at = [], 0
    while at < len(raw):
        start_line, headers, at = parse_head(raw, at)
        if re.match(r"HTTP/1\.\d 1\d\d ", start_line):
            continue
        if bodiless(len(messages)):
            messages.append(Message(start_line, headers, b"", [], True))
        elif headers.get("transfer-encoding", "").lower() == "chunked":
            body, spans, at, complete = parse_chunked(raw, at)
            messages.append(Message(start_line, headers, body, spans, complete))
        elif "content-length" in headers:
            length = int(headers["content-length"])
            body = raw[at:at + length]
            messages.append(Message(start_line, headers, body, [(at, at + len(body), 0)], len(body) == length))
            at += length
        elif until_close:
            messages.append(Message(start_line, headers, raw[at:], [(at, len(raw), 0)], True))
            at = len(raw)
        else:
            messages.append(Message(start_line, headers, b"", [], True))
    return messages


def body_pieces(message, timing):
    """The end offset, in the de-chunked body, of each recv() that brought at least one body byte."""
    ends, have = [], 0
    for line in timing:
        low, high = line["off"], line["off"] + line["len"]
        got = sum(max(0, min(high, end) - max(low, start)) for start, end, _ in message.spans)
        if got:
            have += got
            ends.append(have)
    if have != len(message.body):
        raise Uncovered("the timing file does not cover the body")
    return ends


# ---------------------------------------------------------------- server-sent events

def split_events(body):
    """(data or None, event name or None, offset after the blank line) of each event of a whole body."""
    events, data, name, seen, at = [], [], None, False, 0
    for match in re.finditer(rb"([^\r\n]*)(\r\n|\n|\r)", body):
        line, at = match.group(1), match.end()
        if not line:
            if seen:
                events.append((b"\n".join(data) if data else None, name, at))
            data, name, seen = [], None, False
            continue
        if line.startswith(b":"):
            continue
        field, _, value = line.partition(b":")
        value = value[1:] if value.startswith(b" ") else value
        seen = True
        if field == b"data":
            data.append(value)
        elif field == b"event":
            name = value.decode()
    if at != len(body) or seen:
        raise Uncovered("a stream that ends inside an event")
    return events


# ---------------------------------------------------------------- what one payload says

def has_text(value):
    return isinstance(value, str) and value != ""


def called(function):
    return isinstance(function, dict) and (has_text(function.get("name")) or has_text(function.get("arguments")))


class Echo:
    """Removes the prompt that `echo: true` sends back: it is text of the client, not a token of the model."""

    def __init__(self, api, request):
        self.left = ""
        if isinstance(request, dict) and request.get("echo") is True:
            if api == "chat_completions":
                last = request["messages"][-1]
                self.left = last["content"] if last["role"] == "assistant" else ""
            elif api == "completions":
                if not isinstance(request["prompt"], str):
                    raise Uncovered("echo with several prompts")
                self.left = request["prompt"]

    def strip(self, text):
        if not self.left or not has_text(text):
            return text
        if self.left.startswith(text):
            self.left = self.left[len(text):]
            return ""
        if text.startswith(self.left):
            rest, self.left = text[len(self.left):], ""
            return rest
        self.left = ""  # the server did not echo (SGLang's chat ignores the key)
        return text


def output_of(api, payload, echo):
    """(carries visible output, carries reasoning) of one streamed payload."""
    visible = reasoning = False
    kind = payload.get("type")
    if api == "chat_completions":
        for choice in payload.get("choices") or []:
            delta = choice.get("delta") or {}
            visible |= has_text(echo.strip(delta.get("content"))) or has_text(delta.get("refusal"))
            visible |= any(called(call.get("function")) for call in delta.get("tool_calls") or [])
            visible |= called(delta.get("function_call"))
            reasoning |= has_text(delta.get("reasoning")) or has_text(delta.get("reasoning_content"))
    elif api == "completions":
        for choice in payload.get("choices") or []:
            visible |= has_text(echo.strip(choice.get("text")))
    elif api == "responses":
        if kind == "response.output_item.added":
            visible = payload["item"]["type"] == "function_call" and has_text(payload["item"].get("name"))
        elif kind.endswith(".delta") and has_text(payload.get("delta")):
            reasoning = kind in REASONING_DELTAS
            visible = not reasoning
    elif api == "messages":
        if kind == "content_block_start":
            visible = payload["content_block"]["type"] == "tool_use" and has_text(payload["content_block"].get("name"))
        elif kind == "content_block_delta":
            delta = payload["delta"]
            visible = has_text(delta.get("text")) or has_text(delta.get("partial_json"))
            reasoning = has_text(delta.get("thinking"))
    elif api == "llamacpp_completion":
        visible = has_text(payload.get("content"))
    elif api == "vllm_generate":
        visible = any(choice.get("token_ids") for choice in payload.get("choices") or [])
    else:
        raise Uncovered(f"a stream of {api}")
    return visible, reasoning


def finishes_of(api, payload):
    """The raw finish reasons of a payload, streamed or whole."""
    if api == "llamacpp_completion":
        return [payload["stop_type"]] if payload.get("stop") and payload.get("stop_type") else []
    if api == "sglang_generate":
        reason = payload["meta_info"]["finish_reason"]
        return [reason["type"]] if reason else []
    if api in ("chat_completions", "completions", "vllm_generate"):
        return [c.get("finish_reason") for c in payload.get("choices") or [] if c.get("finish_reason")]
    if api == "responses":
        response = payload.get("response", payload)
        if payload.get("type") in ("response.completed", "response.incomplete") or "type" not in payload:
            if response["status"] == "incomplete":
                return [response["incomplete_details"]["reason"]]
            if response["status"] == "completed":
                return ["stop"]
            raise Uncovered(f"response status {response['status']}")
        return []
    if api == "messages":
        holder = payload.get("delta") if payload.get("type") == "message_delta" else payload
        return [holder["stop_reason"]] if holder and holder.get("stop_reason") else []
    return []


def finish_reason(word):
    return NATIVE_FINISH_REASONS[word] if word in NATIVE_FINISH_REASONS else FINISH_REASONS[word]


def model_of(payload):
    for holder in (payload, payload.get("response"), payload.get("message")):
        if isinstance(holder, dict) and has_text(holder.get("model")):
            return holder["model"]
    return None


def is_terminal(api, data, payload):
    if api in ("chat_completions", "completions", "vllm_generate"):
        return data.strip() == b"[DONE]"
    if payload is None:
        return False
    if api == "llamacpp_completion":
        return payload.get("stop") is True
    if api == "responses":
        return payload.get("type") in ("response.completed", "response.incomplete", "response.failed")
    return payload.get("type") == "message_stop"


def is_error(payload):
    return bool(payload.get("error")) or payload.get("type") in ("error", "response.failed")


# ---------------------------------------------------------------- tokens

NOTHING = {"input": None, "output": None, "cached": None, "reasoning": None}


def later(old, new):
    """Last one wins, except that null never replaces anything and zero never replaces more than zero."""
    return old if new is None or (new == 0 and old) else new


def native_usage(api, payload):
    """The counts that an engine's own answer states outside of any `usage`."""
    if api == "llamacpp_completion" and "tokens_evaluated" in payload:
        return {"input": payload["tokens_evaluated"], "output": payload["tokens_predicted"], "cached": None,
                "reasoning": None}
    if api == "sglang_generate" and "meta_info" in payload:
        meta = payload["meta_info"]
        return {"input": meta["prompt_tokens"], "output": meta["completion_tokens"], "cached": meta["cached_tokens"],
                "reasoning": None}
    return None


def from_usage(api, usage):
    if api == "messages":
        given = "input_tokens" in usage
        parts = ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"]
        return {
            # All three parts of one event belong together: vLLM's first event names the whole prompt as
            # `input_tokens`, its last one the uncached rest.
            "input": sum(usage.get(part) or 0 for part in parts) if given else None,
            "output": usage.get("output_tokens"),
            "cached": usage.get("cache_read_input_tokens"),
            "reasoning": None,
        }
    responses = api == "responses"
    details = usage.get("input_tokens_details" if responses else "prompt_tokens_details") or {}
    output_details = usage.get("output_tokens_details" if responses else "completion_tokens_details") or {}
    return {
        "input": usage.get("input_tokens" if responses else "prompt_tokens"),
        "output": usage.get("output_tokens" if responses else "completion_tokens"),
        "cached": details.get("cached_tokens"),
        "reasoning": later(usage.get("reasoning_tokens"), output_details.get("reasoning_tokens")),
    }


def from_timings(timings):
    return {
        "input": timings["cache_n"] + timings["prompt_n"],
        "output": timings["predicted_n"],
        "cached": timings["cache_n"],
        "reasoning": None,
    }


class Tokens:
    """Collects the counts that payloads state: for the whole request, or choice by choice where there is no whole."""

    def __init__(self, api):
        self.api = api
        self.whole = {"usage": None, "timings": None}
        self.by_choice = {"usage": {}, "timings": {}}

    def read(self, payload):
        usage = next((h["usage"] for h in (payload, payload.get("response"), payload.get("message"))
                      if isinstance(h, dict) and isinstance(h.get("usage"), dict)), None)
        timings = payload.get("timings")
        choices = payload.get("choices") or []
        native = native_usage(self.api, payload)
        if native is not None:
            self.put("usage", choices, native)
        if usage is not None:
            self.put("usage", choices, from_usage(self.api, usage))
        if timings is not None:
            self.put("timings", choices, from_timings(timings))

    def put(self, source, choices, counts):
        if len(choices) == 1:
            index = choices[0].get("index", 0)
            old = self.by_choice[source].get(index, NOTHING)
            self.by_choice[source][index] = {k: later(old[k], counts[k]) for k in NOTHING}
        else:
            old = self.whole[source] or NOTHING
            self.whole[source] = {k: later(old[k], counts[k]) for k in NOTHING}

    def total(self, source):
        if self.whole[source]:
            return self.whole[source]
        choices = list(self.by_choice[source].values())
        if not choices:
            return None
        total = dict(NOTHING)
        for key in NOTHING:
            known = [c[key] for c in choices if c[key] is not None]
            total[key] = sum(known) if known else None
        return total

    def result(self):
        usage, timings = self.total("usage"), self.total("timings")
        if usage and timings:
            for key in ("input", "output", "cached"):
                if usage[key] is None:  # llama.cpp's own answer states the cache in its timings alone
                    usage[key] = timings[key]
                if usage[key] != timings[key]:
                    raise Uncovered(f"usage and timings disagree on {key}: {usage[key]} and {timings[key]}")
        if usage:
            return usage, "usage"
        if timings:
            return timings, "timings"
        return dict(NOTHING), "none"


# ---------------------------------------------------------------- one exchange

def top_level_prefix(body):
    """The top-level members that stand before the place where a JSON object breaks off."""
    text, members, decoder = body.decode(), {}, json.JSONDecoder()
    at = text.index("{") + 1
    member = re.compile(r'\s*("(?:[^"\\]|\\.)*")\s*:\s*')
    while True:
        match = member.match(text, at)
        if not match:
            return members
        try:
            value, at = decoder.raw_decode(text, match.end())
        except json.JSONDecodeError:
            return members
        members[json.loads(match.group(1))] = value
        comma = re.compile(r"\s*,").match(text, at)
        if not comma:
            return members
        at = comma.end()


def read_request(body):
    try:
        return json.loads(body)
    except json.JSONDecodeError:
        return top_level_prefix(body)


def skip_reason(method, path):
    if path.split("?")[0].endswith("/health_generate"):
        return "health_probe"
    if method != "POST":
        return "not_post"
    return None if route_of(path) else "not_generation_route"


def route_of(path):
    bare = path.split("?")[0].rstrip("/")
    return next(((api, operation) for suffix, api, operation in ROUTES if bare.endswith(suffix)), None)


def refusal(status, payload):
    """The outcome of an answer whose status is not 2xx."""
    text = json.dumps(payload).lower() if payload is not None else ""
    if status in (400, 413, 422) and ("context length" in text or "exceed_context_size_error" in text):
        return "context_length"
    if status in (400, 403, 404):
        return "invalid_request"
    if status in (500, 501):
        return "http_error"
    raise Uncovered(f"status {status}")


def parse_json(body):
    try:
        return json.loads(body)
    except json.JSONDecodeError:
        return None


def decode_stream(entry, api, request, response, timing, aborted):
    echo, tokens = Echo(api, request), Tokens(api)
    first = first_visible = None
    count, terminal, failed, finish, model = 0, False, False, None, None
    for data, name, end in split_events(response.body):
        if data is None:
            raise Uncovered("an event without data")
        payload = None if data.strip() == b"[DONE]" else json.loads(data)
        terminal |= is_terminal(api, data, payload)
        if payload is None:  # [DONE], or llama.cpp's `data: null`
            continue
        failed |= is_error(payload)
        model = model_of(payload) or model
        tokens.read(payload)
        for reason in finishes_of(api, payload):
            finish = finish_reason(reason)
        visible, reasoning = output_of(api, payload, echo)
        if visible or reasoning:
            count += 1
            first = end if first is None else first
        if visible and first_visible is None:
            first_visible = end
    entry["response_model"] = model
    entry["finish_reason"] = finish
    entry["output_events"] = count
    pieces = body_pieces(response, timing)
    entry["first_token_offset"] = first
    entry["first_token_chunk"] = None if first is None else next(i for i, e in enumerate(pieces) if e >= first)
    entry["first_visible_token_offset"] = first_visible
    if failed:
        entry["outcome"] = "in_stream_error"
    elif terminal:
        entry["outcome"] = "success"
    else:
        entry["outcome"] = "client_cancel" if aborted else "truncated_stream"
    return tokens


def decode_whole(entry, api, response):
    tokens = Tokens(api)
    payload = parse_json(response.body)
    if entry["status"] // 100 != 2:
        entry["outcome"] = refusal(entry["status"], payload)
        return tokens
    if payload is None or not response.complete:
        raise Uncovered("a broken JSON answer")
    entry["response_model"] = model_of(payload)
    if len(payload.get("choices") or []) == 1:
        payload = dict(payload, choices=[])  # a whole answer states its usage for the whole request
    tokens.read(payload)
    for reason in finishes_of(api, parse_json(response.body)):
        entry["finish_reason"] = finish_reason(reason)
    entry["outcome"] = "success"
    return tokens


def usage_status(api, counts, output_events):
    if counts["input"] is not None and (counts["output"] is not None or api == "embeddings"):
        return "reported"
    if counts["input"] is not None or counts["output"] is not None:
        return "partial"
    return "estimated" if output_events else "missing"


def decode_exchange(request_message, response, timing, aborted):
    method, path, _ = request_message.start_line.split(" ")
    reason = skip_reason(method, path)
    entry = {"method": method, "path": path, "watched": reason is None}
    if response is not None:
        entry["status"] = int(response.start_line.split(" ")[1])
    else:
        entry["status"] = None
    if reason:
        entry["skip_reason"] = reason
        return entry
    api, operation = route_of(path)
    request = read_request(request_message.body)
    entry.update({
        "api": api, "operation": operation, "request_model": request.get("model"), "response_model": None,
        "client_abort": aborted, "stream": False, "outcome": None, "finish_reason": None, "output_events": None,
        "first_token_chunk": None, "first_token_offset": None, "first_visible_token_offset": None,
    })
    if response is None:
        entry["stream"] = bool(request.get("stream"))
        entry["outcome"] = "upstream_reset"
        tokens = Tokens(api)
    elif response.headers.get("content-type", "").startswith("text/event-stream"):
        entry["stream"] = True
        tokens = decode_stream(entry, api, request, response, timing, aborted)
    else:
        tokens = decode_whole(entry, api, response)
    counts, source = tokens.result()
    entry["input_tokens"] = counts["input"]
    entry["output_tokens"] = counts["output"]
    entry["cached_tokens"] = counts["cached"]
    entry["reasoning_tokens"] = counts["reasoning"]
    entry["usage_source"] = source
    entry["usage_status"] = usage_status(api, counts, entry["output_events"])
    return entry


def load(name):
    base = CAPTURES / name
    timing = [json.loads(line) for line in base.with_name(base.name + ".timing.jsonl").read_text().splitlines()]
    requests = parse_messages(base.with_name(base.name + ".request").read_bytes(), until_close=False)
    methods = [r.start_line.split(" ")[0] for r in requests]
    responses = parse_messages(base.with_name(base.name + ".response").read_bytes(), until_close=True,
                               bodiless=lambda i: methods[i] == "HEAD")
    return requests, responses, timing


def decode_capture(name, end):
    requests, responses, timing = load(name)
    entries = []
    for index, request in enumerate(requests):
        response = responses[index] if index < len(responses) else None
        if response is None and end != "eof":
            raise Uncovered("a request without an answer")
        if response is not None and not response.complete and end != "client-abort":
            raise Uncovered("an answer cut off by no client")
        entries.append(decode_exchange(request, response, timing, end == "client-abort"))
    return entries


def decode_all():
    expected = {}
    for directory in DIRECTORIES:
        index = json.loads((CAPTURES / directory / "index.json").read_text())
        recorded = {p.name[:-len(".request")] for p in (CAPTURES / directory).glob("*.request")}
        if set(index) - recorded:
            raise SystemExit(f"{directory}: index.json names what is not here: {sorted(set(index) - recorded)}")
        for case in sorted(recorded):
            end = index.get(case, {}).get("end", "kept-alive")  # one capture was recorded beside the index
            try:
                expected[f"{directory}/{case}"] = decode_capture(f"{directory}/{case}", end)
            except Exception as error:
                raise SystemExit(f"{directory}/{case}: {type(error).__name__}: {error}") from error
    return json.dumps(expected, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def show(name):
    _, responses, timing = load(name)
    for number, response in enumerate(responses):
        print(f"== response {number}: {response.start_line}; {response.headers.get('content-type')}; "
              f"{len(response.body)} body bytes in pieces ending at {body_pieces(response, timing)}")
        if response.headers.get("content-type", "").startswith("text/event-stream"):
            for data, event, end in split_events(response.body):
                print(f"{end:8} {event or '-'} {data.decode()}")
        else:
            print(response.body.decode(errors="replace"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="fail if expected.json is stale")
    parser.add_argument("--show", metavar="DIR/CASE", help="print a capture's events to read by hand")
    arguments = parser.parse_args()
    if arguments.show:
        return show(arguments.show)
    text = decode_all()
    entries = [entry for capture in json.loads(text).values() for entry in capture]
    summary = f"{len(json.loads(text))} captures, {len(entries)} exchanges, {sum(e['watched'] for e in entries)} watched"
    if not arguments.check:
        EXPECTED.write_text(text)
        print(f"wrote expected.json: {summary}")
    elif not EXPECTED.exists() or EXPECTED.read_text() != text:
        sys.exit("expected.json is stale: run decode.py and read the difference")
    else:
        print(f"expected.json is current: {summary}")


if __name__ == "__main__":
    main()

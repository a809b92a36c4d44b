//! The splitter that sees the whole body and is too simple to be wrong.

use sse_parser::Field;

use crate::recorder::Said;

pub(crate) fn split_whole(body: &[u8]) -> Vec<Said> {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let text: Vec<char> = body.iter().copied().map(char::from).collect();
    let text = String::from_iter(text)
        .replace("\r\n", "\n")
        .replace('\r', "\n");
    let (mut said, mut pending, mut is_bare) = (Vec::new(), false, false);
    for line in text.split('\n').chain([""]) {
        let begins = line.starts_with('{');
        let continues = is_bare && line.starts_with([' ', '\t', '"', '}', '[', ']']);
        if pending && (begins || (is_bare && !continues && !line.is_empty())) {
            pending = false;
            said.push(Said::Dispatch);
        }
        is_bare = begins || continues;
        if is_bare {
            pending = true;
            let bytes = line.chars().map(|byte| byte as u8).collect();
            said.push(Said::Line(Field::Bare, bytes));
            continue;
        }
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let field = match name {
            "" if line.is_empty() && !pending => continue,
            "" if line.is_empty() => {
                pending = false;
                said.push(Said::Dispatch);
                continue;
            }
            "" => Field::Comment,
            "data" => Field::Data,
            "event" => Field::Event,
            "id" => Field::Id,
            "retry" => Field::Retry,
            "error" => Field::Error,
            _ => Field::Unknown,
        };
        pending |= field != Field::Comment;
        let value = value.strip_prefix(' ').unwrap_or(value);
        let bytes = value.chars().map(|byte| byte as u8).collect();
        said.push(Said::Line(field, bytes));
    }
    said
}

//! A deliberately naive reading of a whole stream, to compare with: byte by byte, with the rest of the stream in hand.

use json_sequence::Shape;

/// The values of a stream, as the crate's page defines them.
pub(crate) fn split_whole(shape: Shape, stream: &[u8]) -> Vec<Vec<u8>> {
    if shape == Shape::Lines {
        return stream
            .split(|byte| matches!(byte, b'\n' | b'\r'))
            .map(<[u8]>::trim_ascii_start)
            .filter(|line| !line.is_empty())
            .map(<[u8]>::to_vec)
            .collect();
    }
    let mut rest = stream.trim_ascii_start();
    if shape == Shape::Array {
        match rest.first() {
            Some(b'[') => rest = &rest[1..],
            // The first value may begin with what means nothing later.
            Some(b',' | b']' | b'}') => {
                let end = plain_end(rest);
                let first = rest[..end].to_vec();
                let mut values = vec![first];
                values.extend(split_values(&rest[end..]));
                return values;
            }
            _ => {}
        }
    }
    split_values(rest)
}

fn split_values(mut rest: &[u8]) -> Vec<Vec<u8>> {
    let mut values = Vec::new();
    while let Some(start) = rest
        .iter()
        .position(|byte| !byte.is_ascii_whitespace() && !b",]}".contains(byte))
    {
        rest = &rest[start..];
        let end = match rest[0] {
            b'"' => text_end(rest),
            b'{' | b'[' => container_end(rest),
            _ => plain_end(rest),
        };
        values.push(rest[..end].to_vec());
        rest = &rest[end..];
    }
    values
}

fn plain_end(rest: &[u8]) -> usize {
    let is_border = |byte: &u8| byte.is_ascii_whitespace() || b",[]{}\"".contains(byte);
    rest.iter().position(is_border).unwrap_or(rest.len())
}

fn text_end(rest: &[u8]) -> usize {
    let mut position = 1;
    while position < rest.len() {
        match rest[position] {
            b'\\' => position += 2,
            b'"' => return position + 1,
            _ => position += 1,
        }
    }
    rest.len()
}

fn container_end(rest: &[u8]) -> usize {
    let (mut depth, mut position) = (0, 0);
    while position < rest.len() {
        match rest[position] {
            b'"' => position += text_end(&rest[position..]),
            byte => {
                depth += i32::from(b"{[".contains(&byte)) - i32::from(b"}]".contains(&byte));
                position += 1;
            }
        }
        if depth == 0 {
            return position;
        }
    }
    rest.len()
}

//! The plainest reading of server-sent events: lines into payloads.

/// Collects lines until a blank one; independent of the parser whose work it is a measure for.
#[derive(Debug, Default)]
pub(crate) struct EventReader {
    line: Vec<u8>,
    payload: Option<String>,
}

impl EventReader {
    /// The payloads of the events that end in these bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut complete = Vec::new();
        for byte in bytes {
            if *byte != b'\n' {
                self.line.push(*byte);
                continue;
            }
            let line = String::from_utf8_lossy(&self.line).into_owned();
            self.line.clear();
            let line = line.trim_end_matches('\r');
            if line.is_empty() {
                complete.extend(self.payload.take());
            } else if let Some(value) = line.strip_prefix("data:") {
                let value = value.strip_prefix(' ').unwrap_or(value);
                match &mut self.payload {
                    Some(payload) => {
                        payload.push('\n');
                        payload.push_str(value);
                    }
                    None => self.payload = Some(value.to_owned()),
                }
            }
        }
        complete
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_come_out_whole_however_the_bytes_are_cut() {
        let stream =
            b": hello\n\ndata: {\"a\":1}\n\nevent: x\r\ndata:b\r\ndata: c\r\n\r\ndata: [DONE]\n\n";
        for size in 1..stream.len() {
            let mut reader = EventReader::default();
            let payloads: Vec<String> = stream
                .chunks(size)
                .flat_map(|piece| reader.push(piece))
                .collect();
            assert_eq!(
                payloads,
                ["{\"a\":1}", "b\nc", "[DONE]"],
                "pieces of {size}"
            );
        }
    }
}

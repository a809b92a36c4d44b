//! A deliberately naive reading of a whole stream, with another library's checksums.

/// What a stream says, in order.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Header(Vec<u8>, Vec<u8>),
    Payload(Vec<u8>),
    End(bool),
    Broken(&'static str),
}

pub(crate) fn read_whole(stream: &[u8]) -> Vec<Said> {
    let mut said = Vec::new();
    let mut rest = stream;
    while !rest.is_empty() {
        if rest.len() < 12 {
            said.push(Said::Broken("Truncated"));
            return said;
        }
        let word = |at: usize| u32::from_be_bytes(rest[at..at + 4].try_into().unwrap());
        if crc32fast::hash(&rest[..8]) != word(8) {
            said.push(Said::Broken("BadPrelude"));
            return said;
        }
        let (total, headers) = (u64::from(word(0)), u64::from(word(4)));
        if total < headers + 16 || headers > 128 << 10 || total - headers - 16 > 24 << 20 {
            said.push(Said::Broken("BadLength"));
            return said;
        }
        let end = usize::try_from(total).unwrap();
        let payload = 12 + usize::try_from(headers).unwrap();
        match read_headers(&rest[12..payload.min(rest.len())], &mut said) {
            Ok(true) => {}
            Ok(false) if rest.len() < payload => {
                said.push(Said::Broken("Truncated"));
                return said;
            }
            _ => {
                said.push(Said::Broken("BadHeaders"));
                return said;
            }
        }
        if rest.len() < payload {
            said.push(Said::Broken("Truncated"));
            return said;
        }
        let bytes = &rest[payload..(end - 4).min(rest.len())];
        if !bytes.is_empty() {
            said.push(Said::Payload(bytes.to_vec()));
        }
        if rest.len() < end {
            said.push(Said::Broken("Truncated"));
            return said;
        }
        said.push(Said::End(
            crc32fast::hash(&rest[..end - 4]) == word(end - 4),
        ));
        rest = &rest[end..];
    }
    said
}

/// Whether the headers end at a border; an error for a type that is none.
fn read_headers(mut rest: &[u8], said: &mut Vec<Said>) -> Result<bool, ()> {
    while let Some((length, after)) = rest.split_first() {
        let length = usize::from(*length);
        if after.len() <= length {
            return Ok(false);
        }
        let (name, kind, after) = (&after[..length], after[length], &after[length + 1..]);
        let (size, after) = match kind {
            0 | 1 => (0, after),
            2 => (1, after),
            3 => (2, after),
            4 => (4, after),
            5 | 8 => (8, after),
            9 => (16, after),
            6 | 7 if after.len() < 2 => return Ok(false),
            6 | 7 => (
                usize::from(u16::from_be_bytes([after[0], after[1]])),
                &after[2..],
            ),
            _ => return Err(()),
        };
        if after.len() < size {
            return Ok(false);
        }
        if kind == 7 {
            said.push(Said::Header(name.to_vec(), after[..size.min(128)].to_vec()));
        }
        rest = &after[size..];
    }
    Ok(true)
}

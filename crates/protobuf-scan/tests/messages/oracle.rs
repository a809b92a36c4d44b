//! A deliberately naive reading of a whole message, to compare with.

use protobuf_scan::{Field, Kind};

/// What a message says; nothing where it is none, or not whole.
pub(crate) fn read_whole(fields: &[Field<&'static str>], bytes: &[u8]) -> Option<Vec<String>> {
    let mut said = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let key = varint(&mut rest)?;
        let number = u32::try_from(key >> 3)
            .ok()
            .filter(|number| (1..1 << 29).contains(number))?;
        let field = fields.iter().find(|field| field.number == number);
        match key & 7 {
            0 => {
                let value = varint(&mut rest)?;
                match field {
                    Some(field) if field.kind == Kind::Number => {
                        said.push(format!("{}={value}", field.tag.unwrap()))
                    }
                    Some(field) if field.kind == Kind::Numbers => {
                        said.push(format!("1 {}", field.tag.unwrap()))
                    }
                    _ => {}
                }
            }
            1 => rest = rest.get(8..)?,
            5 => rest = rest.get(4..)?,
            2 => {
                let length = usize::try_from(varint(&mut rest)?).ok()?;
                let value = rest.get(..length)?;
                rest = &rest[length..];
                said.extend(read_value(field, value)?);
            }
            _ => return None,
        }
    }
    Some(said)
}

fn read_value(field: Option<&Field<&'static str>>, value: &[u8]) -> Option<Vec<String>> {
    let Some(field) = field else {
        return Some(Vec::new());
    };
    let mut said = Vec::new();
    match field.kind {
        Kind::Message => {
            said.extend(field.tag.map(|tag| format!("<{tag}")));
            said.extend(read_whole(field.children, value)?);
            said.extend(field.tag.map(|tag| format!("{tag}>")));
        }
        Kind::Text => {
            let prefix = &value[..value.len().min(256)];
            said.push(format!(
                "{}={prefix:?} of {}",
                field.tag.unwrap(),
                value.len()
            ));
        }
        Kind::Numbers => {
            let (mut rest, mut count) = (value, 0);
            while !rest.is_empty() {
                varint(&mut rest)?;
                count += 1;
            }
            if count > 0 {
                said.push(format!("{count} {}", field.tag.unwrap()));
            }
        }
        Kind::Number => {}
    }
    Some(said)
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for (at, byte) in rest.iter().enumerate().take(10) {
        if at == 9 && *byte > 1 {
            return None;
        }
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            *rest = &rest[at + 1..];
            return Some(value);
        }
    }
    None
}

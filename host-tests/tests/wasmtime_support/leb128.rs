//! The numbers of WebAssembly's binary format.

/// A number in LEB128.
pub(crate) fn write_unsigned(out: &mut Vec<u8>, mut number: u32) {
    loop {
        let low = u8::try_from(number & 0x7f).unwrap();
        number >>= 7;
        if number == 0 {
            return out.push(low);
        }
        out.push(low | 0x80);
    }
}

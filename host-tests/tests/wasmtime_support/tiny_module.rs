//! Assembles a WebAssembly module from a handful of instructions, for tests of the host itself.

use crate::leb128::write_unsigned;

/// The type of 32-bit integers, the only one these modules need but for one argument.
pub(crate) const I32: u8 = 0x7f;
pub(crate) const I64: u8 = 0x7e;

/// A signature.
type Signature = (Vec<u8>, Vec<u8>);

/// A module in the making. Imports come before functions.
#[derive(Default)]
pub(crate) struct TinyModule {
    types: Vec<Signature>,
    imports: Vec<(String, String, u32)>,
    functions: Vec<(u32, Vec<u8>)>,
    exports: Vec<(String, u32)>,
    data: Vec<(u32, Vec<u8>)>,
}

impl TinyModule {
    /// Imports a function and answers with its index.
    pub(crate) fn import(
        &mut self,
        module: &str,
        name: &str,
        arguments: &[u8],
        results: &[u8],
    ) -> u32 {
        let signature = self.signature(arguments, results);
        let index = count(self.imports.len());
        self.imports
            .push((module.to_owned(), name.to_owned(), signature));
        index
    }

    /// Imports a function of the ABI that takes so many 32-bit integers.
    pub(crate) fn import_env(&mut self, name: &str, arguments: usize) -> u32 {
        self.import("env", name, &vec![I32; arguments], &[I32])
    }

    /// Exports a function of 32-bit integers under a name.
    pub(crate) fn export(&mut self, name: &str, arguments: usize, results: usize, code: &[Code]) {
        let signature = self.signature(&vec![I32; arguments], &vec![I32; results]);
        let mut body = vec![0];
        code.iter().for_each(|code| code.write(&mut body));
        body.push(0x0b);
        let index = count(self.imports.len() + self.functions.len());
        self.functions.push((signature, body));
        self.exports.push((name.to_owned(), index));
    }

    /// Puts bytes into the memory at its start.
    pub(crate) fn place(&mut self, at: u32, bytes: &[u8]) {
        self.data.push((at, bytes.to_vec()));
    }

    fn signature(&mut self, arguments: &[u8], results: &[u8]) -> u32 {
        let signature = (arguments.to_vec(), results.to_vec());
        let known = self.types.iter().position(|known| *known == signature);
        count(known.unwrap_or_else(|| {
            self.types.push(signature);
            self.types.len() - 1
        }))
    }

    /// The module's bytes, with one page of memory and the ABI's version exported.
    pub(crate) fn bytes(mut self) -> Vec<u8> {
        self.export("proxy_abi_version_0_2_1", 0, 0, &[]);
        let mut module = b"\0asm\x01\0\0\0".to_vec();
        section(&mut module, 1, &self.types, |out, (arguments, results)| {
            out.push(0x60);
            write_bytes(out, arguments);
            write_bytes(out, results);
        });
        section(&mut module, 2, &self.imports, |out, (from, name, kind)| {
            write_bytes(out, from.as_bytes());
            write_bytes(out, name.as_bytes());
            out.push(0);
            write_unsigned(out, *kind);
        });
        section(&mut module, 3, &self.functions, |out, (kind, _)| {
            write_unsigned(out, *kind);
        });
        section(&mut module, 5, &[()], |out, ()| out.extend([0, 1]));
        let mut exports: Vec<(&str, u8, u32)> = vec![("memory", 2, 0)];
        exports.extend(self.exports.iter().map(|(name, f)| (name.as_str(), 0, *f)));
        section(&mut module, 7, &exports, |out, (name, kind, index)| {
            write_bytes(out, name.as_bytes());
            out.push(*kind);
            write_unsigned(out, *index);
        });
        section(&mut module, 10, &self.functions, |out, (_, body)| {
            write_bytes(out, body);
        });
        section(&mut module, 11, &self.data, |out, (at, bytes)| {
            out.push(0);
            Code::Const(i32::try_from(*at).unwrap()).write(out);
            out.push(0x0b);
            write_bytes(out, bytes);
        });
        module
    }
}

/// An instruction.
#[derive(Clone, Copy)]
pub(crate) enum Code {
    /// A number.
    Const(i32),
    /// An argument of the function.
    Argument(u32),
    /// The number in memory at the address on the stack.
    Load,
    /// A call.
    Call(u32),
    /// Throws the top of the stack away.
    Drop,
    /// Traps.
    Unreachable,
    /// Runs for ever.
    LoopForEver,
}

impl Code {
    fn write(self, out: &mut Vec<u8>) {
        match self {
            Code::Const(number) => {
                out.push(0x41);
                write_signed(out, number);
            }
            Code::Argument(index) => {
                out.push(0x20);
                write_unsigned(out, index);
            }
            Code::Load => out.extend([0x28, 2, 0]),
            Code::Call(index) => {
                out.push(0x10);
                write_unsigned(out, index);
            }
            Code::Drop => out.push(0x1a),
            Code::Unreachable => out.push(0x00),
            Code::LoopForEver => out.extend([0x03, 0x40, 0x0c, 0x00, 0x0b]),
        }
    }
}

fn section<Item>(
    module: &mut Vec<u8>,
    id: u8,
    items: &[Item],
    write: impl Fn(&mut Vec<u8>, &Item),
) {
    if items.is_empty() {
        return;
    }
    let mut content = Vec::new();
    write_unsigned(&mut content, count(items.len()));
    items.iter().for_each(|item| write(&mut content, item));
    module.push(id);
    write_bytes(module, &content);
}

fn write_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    write_unsigned(out, count(bytes.len()));
    out.extend(bytes);
}

fn write_signed(out: &mut Vec<u8>, mut number: i32) {
    loop {
        let low = u8::try_from(number & 0x7f).unwrap();
        number >>= 7;
        let sign_bit = low & 0x40 != 0;
        if (number == 0 && !sign_bit) || (number == -1 && sign_bit) {
            return out.push(low);
        }
        out.push(low | 0x80);
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap()
}

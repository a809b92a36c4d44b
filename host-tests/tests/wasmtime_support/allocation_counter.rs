//! Rewrites a module so that it counts the calls of its own allocator.
//!
//! The allocator's innermost function is among those that the exported `malloc` calls. Each of these
//! gets a counter at its beginning, kept in a global of its own and exported by a name. Whatever the
//! module allocates goes through one of them; only growth in place does not.

use wasmparser::{
    ExternalKind, FunctionBody, GlobalSectionReader, Operator, Parser, Payload, TypeRef,
};

use crate::leb128::write_unsigned;

const GLOBAL_SECTION: u8 = 6;
const EXPORT_SECTION: u8 = 7;
const CODE_SECTION: u8 = 10;
/// A mutable 64-bit global that begins at zero.
const ZERO_COUNTER: [u8; 5] = [0x7e, 1, 0x42, 0, 0x0b];

/// A module that counts, and the names of the globals it counts in.
pub(crate) struct Counting {
    pub(crate) module: Vec<u8>,
    pub(crate) counters: Vec<String>,
}

/// What the rewriting needs to know of a module.
#[derive(Default)]
struct Survey<'a> {
    imported_functions: u32,
    globals: u32,
    malloc: Option<u32>,
    bodies: Vec<FunctionBody<'a>>,
}

impl<'a> Survey<'a> {
    fn of(module: &'a [u8]) -> Survey<'a> {
        let mut survey = Survey::default();
        for payload in Parser::new(0).parse_all(module) {
            match payload.unwrap() {
                Payload::ImportSection(imports) => {
                    for import in imports.into_imports() {
                        match import.unwrap().ty {
                            TypeRef::Func(_) => survey.imported_functions += 1,
                            TypeRef::Global(_) => survey.globals += 1,
                            _ => {}
                        }
                    }
                }
                Payload::GlobalSection(globals) => survey.globals += globals.count(),
                Payload::ExportSection(exports) => {
                    let mut exports = exports.into_iter().map(Result::unwrap);
                    let malloc =
                        exports.find(|e| e.name == "malloc" && e.kind == ExternalKind::Func);
                    survey.malloc = malloc.map(|export| export.index);
                }
                Payload::CodeSectionEntry(body) => survey.bodies.push(body),
                _ => {}
            }
        }
        survey
    }

    /// The functions of this module that its `malloc` calls.
    fn called_by_malloc(&self) -> Vec<u32> {
        let index = self.malloc.unwrap() - self.imported_functions;
        let body = &self.bodies[usize::try_from(index).unwrap()];
        let operators = body.get_operators_reader().unwrap();
        let mut called: Vec<u32> = operators
            .into_iter()
            .filter_map(|operator| match operator.unwrap() {
                Operator::Call { function_index } => Some(function_index),
                _ => None,
            })
            .filter(|index| *index >= self.imported_functions)
            .collect();
        called.sort_unstable();
        called.dedup();
        called
    }
}

/// Rewrites a module.
pub(crate) fn count_allocations(module: &[u8]) -> Counting {
    let survey = Survey::of(module);
    let counted = survey.called_by_malloc();
    let names: Vec<String> = (0..counted.len())
        .map(|number| format!("allocations_{number}"))
        .collect();
    let mut rewritten = module[..8].to_vec();
    for payload in Parser::new(0).parse_all(module) {
        let payload = payload.unwrap();
        let Some((id, range)) = payload.as_section() else {
            continue;
        };
        let content = match id {
            GLOBAL_SECTION => with_counters(&payload, &module[range], counted.len()),
            EXPORT_SECTION => with_exports(&payload, &module[range], &names, survey.globals),
            CODE_SECTION => with_counting(module, &survey, &counted),
            _ => module[range].to_vec(),
        };
        rewritten.push(id);
        write_bytes(&mut rewritten, &content);
    }
    Counting {
        module: rewritten,
        counters: names,
    }
}

fn with_counters(payload: &Payload<'_>, content: &[u8], more: usize) -> Vec<u8> {
    let Payload::GlobalSection(globals) = payload else {
        return content.to_vec();
    };
    let globals: &GlobalSectionReader<'_> = globals;
    let mut section = Vec::new();
    write_unsigned(&mut section, globals.count() + count(more));
    section.extend(after_count(content));
    section.extend(ZERO_COUNTER.repeat(more));
    section
}

fn with_exports(
    payload: &Payload<'_>,
    content: &[u8],
    names: &[String],
    first_global: u32,
) -> Vec<u8> {
    let Payload::ExportSection(exports) = payload else {
        return content.to_vec();
    };
    let mut section = Vec::new();
    write_unsigned(&mut section, exports.count() + count(names.len()));
    section.extend(after_count(content));
    for (name, global) in names.iter().zip(first_global..) {
        write_bytes(&mut section, name.as_bytes());
        section.push(3);
        write_unsigned(&mut section, global);
    }
    section
}

fn with_counting(module: &[u8], survey: &Survey<'_>, counted: &[u32]) -> Vec<u8> {
    let mut section = Vec::new();
    write_unsigned(&mut section, count(survey.bodies.len()));
    for (body, index) in survey.bodies.iter().zip(survey.imported_functions..) {
        let range = body.range();
        let mut code = module[range.clone()].to_vec();
        if let Some(counter) = counted.iter().position(|counted| *counted == index) {
            let start = body.get_operators_reader().unwrap().original_position() - range.start;
            let global = survey.globals + count(counter);
            code.splice(start..start, add_one(global));
        }
        write_bytes(&mut section, &code);
    }
    section
}

/// `global.get`, one more, `global.set`.
fn add_one(global: u32) -> Vec<u8> {
    let mut code = vec![0x23];
    write_unsigned(&mut code, global);
    code.extend([0x42, 1, 0x7c, 0x24]);
    write_unsigned(&mut code, global);
    code
}

/// A section without the number that it begins with.
fn after_count(content: &[u8]) -> &[u8] {
    let end = content.iter().position(|byte| byte & 0x80 == 0).unwrap();
    &content[end + 1..]
}

fn write_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    write_unsigned(out, count(bytes.len()));
    out.extend(bytes);
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap()
}

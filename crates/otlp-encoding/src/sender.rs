//! What every request says of its sender, encoded once.

use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint};

use crate::messages::InstrumentationScope;
use crate::resource::ResourceAttributes;

/// The version of the conventions' schema, and the URL that names it.
const SCHEMA_URL: &str = "https://opentelemetry.io/schemas/1.41.0";

/// The resource and the scope of every request.
#[derive(Clone, Debug, PartialEq)]
pub struct Sender {
    /// The field `resource` of a request's one entry.
    resource: Vec<u8>,
    /// The field `scope` of that entry's one scope.
    scope: Vec<u8>,
}

impl Sender {
    /// A sender that is this resource, and whose scope has this name and version.
    #[must_use]
    pub fn new(resource: &ResourceAttributes, scope: &str, version: &str) -> Sender {
        let scope = InstrumentationScope {
            name: scope.to_owned(),
            version: version.to_owned(),
        };
        Sender {
            resource: field(1, &resource.message()),
            scope: field(1, &scope),
        }
    }

    /// A request of encoded items. All three signals have this shape: one entry with the resource and one scope, whose
    /// items lie behind it, and the URL of the schema at the end of both.
    pub(crate) fn request(&self, items: &[u8]) -> Vec<u8> {
        let mut scope = self.scope.clone();
        scope.extend(items);
        put(3, SCHEMA_URL.as_bytes(), &mut scope);
        let mut entry = self.resource.clone();
        put(2, &scope, &mut entry);
        put(3, SCHEMA_URL.as_bytes(), &mut entry);
        let mut request = Vec::with_capacity(entry.len().saturating_add(8));
        put(1, &entry, &mut request);
        request
    }
}

/// A message as a field of another.
pub(crate) fn field(number: u32, message: &impl Message) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(message.encoded_len().saturating_add(8));
    put(number, &message.encode_to_vec(), &mut bytes);
    bytes
}

/// A field of bytes: its key, its length, itself.
fn put(field: u32, bytes: &[u8], to: &mut Vec<u8>) {
    encode_key(field, WireType::LengthDelimited, to);
    encode_varint(u64::try_from(bytes.len()).unwrap_or(u64::MAX), to);
    to.extend(bytes);
}

//! The tree of wanted places, written by the caller as a constant.

use crate::document::TEXT_PREFIX_BYTES;

/// The key that stands for any element of an array.
pub(crate) const ANY_ELEMENT: &str = "[]";

/// One wanted place in a document, and the wanted places below it.
///
/// The root's key is never looked at.
/// A node with the key `"[]"` stands for every element of an array, and for nothing in an object.
/// Of two siblings with one key the first counts.
#[derive(Debug, Clone, Copy)]
pub struct Node<T: 'static> {
    /// The member's name with escapes resolved, or `"[]"` for any element of an array.
    pub key: &'static str,
    /// What the sink is told when something stands here; without a tag the node only leads to its children.
    pub tag: Option<T>,
    /// The wanted places inside the container that stands here.
    pub children: &'static [Node<T>],
}

impl<T: 'static> Node<T> {
    /// The top of a tree whose top-level value is not itself wanted.
    pub const fn root(children: &'static [Node<T>]) -> Self {
        Self {
            key: "",
            tag: None,
            children,
        }
    }

    /// The top of a tree whose top-level value is itself wanted.
    pub const fn tagged_root(tag: T, children: &'static [Node<T>]) -> Self {
        Self {
            key: "",
            tag: Some(tag),
            children,
        }
    }

    /// A wanted place with nothing wanted below it.
    pub const fn leaf(key: &'static str, tag: T) -> Self {
        Self {
            key,
            tag: Some(tag),
            children: &[],
        }
    }

    /// A place that only leads to others.
    pub const fn branch(key: &'static str, children: &'static [Node<T>]) -> Self {
        Self {
            key,
            tag: None,
            children,
        }
    }

    /// A wanted place with wanted places below it.
    pub const fn tagged(key: &'static str, tag: T, children: &'static [Node<T>]) -> Self {
        Self {
            key,
            tag: Some(tag),
            children,
        }
    }

    /// The child for a member of this object.
    pub(crate) fn member(&self, key: &[u8]) -> Option<&'static Node<T>> {
        let named = |child: &&Node<T>| child.key.as_bytes() == key;
        // A key that arrives in pieces is held no further than the buffer goes, so none longer may match.
        let may_match = key != ANY_ELEMENT.as_bytes() && key.len() <= TEXT_PREFIX_BYTES;
        self.children.iter().find(named).filter(|_| may_match)
    }

    /// The child for an element of this array.
    pub(crate) fn element(&self) -> Option<&'static Node<T>> {
        self.children.iter().find(|child| child.key == ANY_ELEMENT)
    }
}

//! Which names may be label values: a short list that all workers share, so that a name is never
//! itself on one worker and `other` on the next.
//!
//! ```
//! use name_admission::Names;
//!
//! let mut first = Names::open(100);
//! assert_eq!(first.find("llama-3"), None);
//! let shared = first.encode_with("llama-3");
//! first.learn(&shared);
//! assert_eq!(first.find("llama-3").as_deref(), Some("llama-3"));
//!
//! let mut second = Names::open(100);
//! second.learn(&shared);
//! assert_eq!(second.find("llama-3").as_deref(), Some("llama-3"));
//! ```
//!
//! # What this crate does not do
//!
//! It does not decide which requests may bring a new name, and it keeps the shared list nowhere:
//! the caller stores [`Names::encode_with`] under compare-and-swap and feeds back what won.
//!
//! # Limits
//!
//! A list never holds more names than it was made for; a pinned list never learns.

use std::rc::Rc;

use hashbrown::HashSet;

/// The list of admitted names, in the order in which the workers agreed on them.
#[derive(Clone, Debug)]
pub struct Names {
    admitted: HashSet<Rc<str>>,
    /// The shared list as it was last learnt. It only grows at its end, so what is new is told by its
    /// length.
    learnt: Vec<u8>,
    limit: usize,
}

impl Names {
    /// A list that learns, up to a limit.
    #[must_use]
    pub fn open(limit: usize) -> Names {
        Names {
            admitted: HashSet::new(),
            learnt: Vec::new(),
            limit,
        }
    }

    /// A list that is what it is.
    #[must_use]
    pub fn pinned<'a>(names: impl IntoIterator<Item = &'a str>) -> Names {
        let mut list = Names::open(usize::MAX);
        for name in names {
            list.admit(name);
        }
        list.limit = list.admitted.len();
        list
    }

    /// The admitted name, shared rather than copied.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<Rc<str>> {
        self.admitted.get(name).cloned()
    }

    /// Whether another name may come in.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.admitted.len() < self.limit
    }

    /// The shared list as it was last learnt, with one name more; unchanged where there is no room.
    #[must_use]
    pub fn encode_with(&self, name: &str) -> Vec<u8> {
        let mut list = self.learnt.clone();
        if acceptable(name) && self.has_room() && self.find(name).is_none() {
            if !list.is_empty() {
                list.push(b'\n');
            }
            list.extend(name.as_bytes());
        }
        list
    }

    /// Takes over the shared list: names that are on it come in, in its order, as far as there is
    /// room. Bytes that are not text are somebody else's and teach nothing.
    pub fn learn(&mut self, shared: &[u8]) {
        let news = shared
            .strip_prefix(self.learnt.as_slice())
            .unwrap_or(shared);
        if let Ok(text) = core::str::from_utf8(news) {
            for name in text.split('\n') {
                self.admit(name);
            }
            self.learnt = shared.to_vec();
        }
    }

    fn admit(&mut self, name: &str) {
        if acceptable(name) && self.has_room() && self.find(name).is_none() {
            self.admitted.insert(Rc::from(name));
        }
    }
}

/// A line break would make two names of one; label values never hold one.
fn acceptable(name: &str) -> bool {
    !name.is_empty() && !name.contains('\n')
}

#[cfg(test)]
mod tests {
    use super::Names;

    #[test]
    fn a_full_list_takes_no_more() {
        let mut names = Names::open(2);
        names.learn(b"a\nb\nc");
        assert!(!names.has_room());
        assert!(names.find("b").is_some());
        assert!(names.find("c").is_none());
        assert_eq!(names.encode_with("d"), b"a\nb\nc");
    }

    #[test]
    fn a_pinned_list_never_learns() {
        let mut names = Names::pinned(["a", "b"]);
        names.learn(b"c");
        assert!(names.find("c").is_none());
        assert!(names.find("a").is_some());
    }

    #[test]
    fn a_name_with_a_line_break_does_not_become_two() {
        let names = Names::open(9);
        assert_eq!(names.encode_with("a\nb"), b"");
    }

    #[test]
    fn bytes_of_somebody_else_teach_nothing() {
        let mut names = Names::open(9);
        names.learn(&[0xff, 0xfe]);
        assert!(names.has_room());
        assert_eq!(names.encode_with("a"), b"a");
    }

    #[test]
    fn two_workers_that_learn_the_same_list_agree() {
        let mut one = Names::open(2);
        let mut two = Names::open(2);
        let shared = one.encode_with("x");
        one.learn(&shared);
        two.learn(&shared);
        let shared = two.encode_with("y");
        one.learn(&shared);
        two.learn(&shared);
        for name in ["x", "y", "z"] {
            assert_eq!(one.find(name), two.find(name));
        }
    }
}

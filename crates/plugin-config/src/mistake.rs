//! What is wrong with a configuration: which key, what was given, what would be accepted.

use std::fmt;

use crate::text::shortened;

/// Most mistakes that are printed; the rest is counted.
const PRINTED_MISTAKES: usize = 50;

/// What kind of mistake it is; decides the wording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The text is no JSON. `path` is the place in the text, `given` what the JSON reader met.
    NotJson,
    /// No such key. `given` is the key itself; `accepted` asks whether a similar one was meant, or lists the keys that
    /// belong there.
    UnknownKey,
    /// The same key, or the same element of a list, stands twice.
    GivenTwice,
    /// The key is needed and absent.
    Missing,
    /// The value is of a wrong type, out of range, or does not fit the rest.
    NotAccepted,
}

/// One mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// The key, such as `routes[0].api`; empty for the whole configuration.
    pub path: String,
    /// The kind of mistake.
    pub problem: Problem,
    /// The value as given, shortened; empty where a key is missing.
    pub given: String,
    /// What would be accepted.
    pub accepted: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mistake {
            path,
            given,
            accepted,
            ..
        } = self;
        if self.problem == Problem::NotJson {
            return write!(
                out,
                "{path}: the text is not JSON ({given}); give {accepted}"
            );
        }
        if path.is_empty() {
            out.write_str("the configuration: ")?;
        } else {
            write!(out, "key `{path}`: ")?;
        }
        match self.problem {
            Problem::UnknownKey => write!(out, "there is no such key; {accepted}"),
            Problem::GivenTwice => write!(out, "`{given}` is given twice; give it once"),
            Problem::Missing => write!(out, "it is missing; give {accepted}"),
            Problem::NotJson | Problem::NotAccepted => {
                write!(out, "`{given}` is not accepted; give {accepted}")
            }
        }
    }
}

/// All mistakes of one configuration. Prints one a line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mistakes(Vec<Mistake>);

impl Mistakes {
    pub(crate) fn of_one(mistake: Mistake) -> Mistakes {
        Mistakes(vec![mistake])
    }

    /// The value of a key is not accepted.
    pub(crate) fn refuse(&mut self, path: &str, given: String, accepted: String) {
        self.push(path, Problem::NotAccepted, given, accepted);
    }

    /// A key that is needed is absent.
    pub(crate) fn miss(&mut self, path: &str, accepted: String) {
        self.push(path, Problem::Missing, String::new(), accepted);
    }

    /// There is no such key; `guess` is what was probably meant, `otherwise` what is said where nothing was.
    pub(crate) fn not_known(
        &mut self,
        path: &str,
        key: &str,
        guess: Option<&str>,
        otherwise: String,
    ) {
        let accepted = match guess {
            Some(near) => format!("did you mean `{near}`?"),
            None => otherwise,
        };
        self.push(path, Problem::UnknownKey, shortened(key), accepted);
    }

    /// A key, or an element of a list, stands twice.
    pub(crate) fn repeat(&mut self, path: &str, given: String) {
        self.push(path, Problem::GivenTwice, given, "it once".to_owned());
    }

    // Never inlined, as the module has to be small and this runs once a configuration.
    #[inline(never)]
    fn push(&mut self, path: &str, problem: Problem, given: String, accepted: String) {
        self.0.push(Mistake {
            path: path.to_owned(),
            problem,
            given,
            accepted,
        });
    }

    /// The mistakes in the order of the text; those between keys come last.
    pub fn iter(&self) -> std::slice::Iter<'_, Mistake> {
        self.0.iter()
    }

    /// How many there are; at least one, where this is handed out.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'a> IntoIterator for &'a Mistakes {
    type Item = &'a Mistake;
    type IntoIter = std::slice::Iter<'a, Mistake>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Mistakes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, mistake) in self.iter().take(PRINTED_MISTAKES).enumerate() {
            if index > 0 {
                out.write_str("\n")?;
            }
            write!(out, "{mistake}")?;
        }
        match self.len().saturating_sub(PRINTED_MISTAKES) {
            0 => Ok(()),
            more => write!(out, "\nand {more} more"),
        }
    }
}

impl std::error::Error for Mistakes {}

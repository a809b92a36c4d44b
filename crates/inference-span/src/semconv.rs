//! The version of the semantic conventions that names attributes.

/// The version of the semantic conventions that names attributes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Semconv {
    /// The last release that held those of generative AI, 1.41.
    #[default]
    V1_41,
    /// The head of the conventions' own repository.
    Head,
}

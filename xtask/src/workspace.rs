//! Where things lie in this repository, and what its packages are.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result};
use serde::Deserialize;

use crate::process;

/// The folder of the repository.
pub(crate) fn root() -> PathBuf {
    let xtask = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    xtask
        .parent()
        .map_or_else(|| xtask.clone(), Path::to_path_buf)
}

/// Everything that is made lies here.
pub(crate) fn target() -> PathBuf {
    root().join("target")
}

/// Programs that a task fetches for itself lie here.
pub(crate) fn tools() -> PathBuf {
    target().join("tools")
}

/// A path as a reader of the repository would write it.
pub(crate) fn shown(path: &Path) -> String {
    path.strip_prefix(root())
        .unwrap_or(path)
        .display()
        .to_string()
}

/// The cargo that runs this program, or the one on the path.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// One package of the workspace, as cargo describes it.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Package {
    /// Its name.
    pub(crate) name: String,
    /// Where its `Cargo.toml` lies.
    pub(crate) manifest_path: PathBuf,
    /// What it depends on, in any way: to run, to build or to be tested.
    pub(crate) dependencies: Vec<Dependency>,
    /// What cargo builds of it.
    pub(crate) targets: Vec<Target>,
}

/// One thing that a package depends on.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Dependency {
    /// The name of the package depended on.
    pub(crate) name: String,
    /// Nothing for what it runs with, `dev` for what it is tested with, `build` for what builds it.
    pub(crate) kind: Option<String>,
}

/// One thing that cargo builds of a package.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Target {
    /// Its name.
    pub(crate) name: String,
    /// `lib`, `bin`, `test` and so on.
    pub(crate) kind: Vec<String>,
}

impl Package {
    /// The folder below the root that the package lies in: `crates`, `plugins`, `tools`, or its own name.
    pub(crate) fn group(&self) -> String {
        let folder = self.manifest_path.parent().unwrap_or(&self.manifest_path);
        let inside = folder.strip_prefix(root()).unwrap_or(folder);
        inside
            .components()
            .next()
            .map(|part| part.as_os_str().to_string_lossy().into_owned())
            .unwrap_or_default()
    }
}

/// The packages of the workspace.
pub(crate) fn packages() -> Result<Vec<Package>> {
    #[derive(Deserialize)]
    struct Metadata {
        packages: Vec<Package>,
    }
    let text = process::capture(cargo().args(["metadata", "--no-deps", "--format-version", "1"]))?;
    let metadata: Metadata =
        serde_json::from_str(&text).context("cargo metadata is not as expected")?;
    Ok(metadata.packages)
}

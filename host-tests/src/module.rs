//! Finds the built module and refuses one that is older than what it is built from.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context as _, bail};

/// Where `cargo xtask build` puts the module, from the workspace's root.
pub const MODULE_PATH: &str = "target/inferometer/inferometer.wasm";

/// What makes a module anew, said in every refusal.
const REMEDY: &str = "run `cargo xtask build`";

/// The root of the workspace this crate stands in.
#[must_use]
pub fn workspace_root() -> PathBuf {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    crate_folder.parent().unwrap_or(crate_folder).to_path_buf()
}

/// The path of the built module.
///
/// # Errors
///
/// When there is no module, or when one of its sources is newer: a test must not pass on a module
/// that is not the one being read.
pub fn built_module() -> anyhow::Result<PathBuf> {
    built_module_in(&workspace_root())
}

fn built_module_in(root: &Path) -> anyhow::Result<PathBuf> {
    let module = root.join(MODULE_PATH);
    let built = fs::metadata(&module)
        .and_then(|metadata| metadata.modified())
        .with_context(|| format!("there is no built module at {MODULE_PATH}: {REMEDY}"))?;
    if let Some((source, changed)) = newest_source(root)?
        && changed > built
    {
        let source = source.strip_prefix(root).unwrap_or(&source).display();
        bail!("{MODULE_PATH} is older than {source}: {REMEDY}");
    }
    Ok(module)
}

/// The source changed last. Tests of the crates are left out: they are not in the module.
fn newest_source(root: &Path) -> anyhow::Result<Option<(PathBuf, SystemTime)>> {
    let mut sources = vec![root.join("Cargo.toml"), root.join("Cargo.lock")];
    for parent in ["crates", "plugins"] {
        for package in entries(&root.join(parent))? {
            sources.push(package.join("Cargo.toml"));
            collect_files(&package.join("src"), &mut sources)?;
        }
    }
    let dated = sources.into_iter().filter_map(|path| {
        let changed = fs::metadata(&path).ok()?.modified().ok()?;
        Some((path, changed))
    });
    Ok(dated.max_by_key(|(_, changed)| *changed))
}

fn collect_files(folder: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    for path in entries(folder)? {
        if path.is_dir() {
            collect_files(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

/// What a folder holds; nothing where there is no such folder.
fn entries(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let listing = fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
    listing
        .map(|entry| Ok(entry?.path()))
        .collect::<anyhow::Result<Vec<_>>>()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// A workspace with one plugin source and a module built `age` after it (negative: before).
    fn workspace(module_is_newer: bool) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let source = root.path().join("plugins/sample/src/lib.rs");
        let module = root.path().join(MODULE_PATH);
        for path in [&source, &module] {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, b"").unwrap();
        }
        let now = SystemTime::now();
        let earlier = now - Duration::from_secs(60);
        let (source_time, module_time) = if module_is_newer {
            (earlier, now)
        } else {
            (now, earlier)
        };
        set_modified(&source, source_time);
        set_modified(&module, module_time);
        root
    }

    fn set_modified(path: &Path, time: SystemTime) {
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_modified(time).unwrap();
    }

    #[test]
    fn a_module_newer_than_its_sources_is_taken() {
        let root = workspace(true);
        let found = built_module_in(root.path()).unwrap();
        assert_eq!(found, root.path().join(MODULE_PATH));
    }

    #[test]
    fn a_module_older_than_a_source_is_refused_by_the_sources_name() {
        let root = workspace(false);
        let refusal = built_module_in(root.path()).unwrap_err().to_string();
        assert_eq!(
            refusal,
            "target/inferometer/inferometer.wasm is older than plugins/sample/src/lib.rs: \
             run `cargo xtask build`"
        );
    }

    #[test]
    fn a_missing_module_is_refused_with_the_remedy() {
        let root = tempfile::tempdir().unwrap();
        let refusal = built_module_in(root.path()).unwrap_err().to_string();
        assert_eq!(
            refusal,
            "there is no built module at target/inferometer/inferometer.wasm: \
             run `cargo xtask build`"
        );
    }

    #[test]
    fn the_tests_of_a_crate_do_not_age_the_module() {
        let root = workspace(true);
        let test = root.path().join("crates/sample/tests/any.rs");
        fs::create_dir_all(test.parent().unwrap()).unwrap();
        fs::write(&test, b"").unwrap();
        set_modified(&test, SystemTime::now() + Duration::from_secs(60));
        assert!(built_module_in(root.path()).is_ok());
    }
}

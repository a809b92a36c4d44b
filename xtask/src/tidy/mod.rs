//! The rules of the house that no compiler checks.
//!
//! Each rule is a function from text to complaints, so that its tests can show it a file that breaks it.

mod dependence;
mod markdown;
mod rust_source;
mod text;

use std::{
    fmt, fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};

use crate::workspace;

/// Folders that hold nothing written by hand.
const PASSED_BY: [&str; 4] = ["target", ".git", "__pycache__", "node_modules"];
/// Recordings keep what a server said, whatever that was.
const RECORDINGS: &str = "testdata/captures/";

/// One thing that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Complaint {
    /// The file, from the root of the repository.
    pub(crate) file: String,
    /// The line, from 1; 0 for the whole file.
    pub(crate) line: usize,
    /// What is wrong and what is wanted.
    pub(crate) message: String,
}

impl fmt::Display for Complaint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(formatter, "{}: {}", self.file, self.message),
            line => write!(formatter, "{}:{line}: {}", self.file, self.message),
        }
    }
}

/// Checks the whole repository; prints every complaint.
pub(crate) fn check() -> Result<()> {
    let root = workspace::root();
    let mut files = Vec::new();
    collect(&root, &root, &mut files)?;
    files.sort();
    let mut complaints = Vec::new();
    let (mut rust, mut pages) = (0_usize, 0_usize);
    for file in &files {
        let Ok(content) = fs::read_to_string(root.join(file)) else {
            continue; // Bytes that are no text: a recording.
        };
        if !file.starts_with(RECORDINGS) || file.ends_with(".md") || file.ends_with(".py") {
            complaints.extend(text::check(file, &content));
        }
        if file.ends_with(".rs") {
            rust += 1;
            complaints.extend(rust_source::check(file, &content));
        }
        if file.ends_with(".md") {
            pages += 1;
            complaints.extend(markdown::check(file, &content, &|path| {
                root.join(path).exists()
            }));
        }
    }
    let packages = workspace::packages()?;
    complaints.extend(dependence::check(&packages));
    println!(
        "looked at {rust} Rust files, {pages} pages, {} packages",
        packages.len()
    );
    for complaint in &complaints {
        println!("{complaint}");
    }
    if complaints.is_empty() {
        return Ok(());
    }
    bail!("{} complaints", complaints.len())
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<String>) -> Result<()> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let path: PathBuf = entry.context("cannot read a folder")?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if PASSED_BY.contains(&name.as_str()) {
            continue;
        }
        if path.is_dir() {
            collect(root, &path, files)?;
        } else if let Ok(inside) = path.strip_prefix(root) {
            files.push(inside.to_string_lossy().into_owned());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complaint_names_file_and_line() {
        let mut complaint = Complaint {
            file: "a.rs".to_owned(),
            line: 7,
            message: "too long".to_owned(),
        };
        assert_eq!(complaint.to_string(), "a.rs:7: too long");
        complaint.line = 0;
        assert_eq!(complaint.to_string(), "a.rs: too long");
    }

    #[test]
    fn made_files_are_passed_by_and_hidden_ones_are_not() {
        let folder = tempfile::tempdir().unwrap();
        for place in ["target", ".git", ".ci", "src"] {
            fs::create_dir(folder.path().join(place)).unwrap();
            fs::write(folder.path().join(place).join("file"), "").unwrap();
        }
        let mut files = Vec::new();
        collect(folder.path(), folder.path(), &mut files).unwrap();
        files.sort();
        assert_eq!(files, [".ci/file", "src/file"]);
    }
}

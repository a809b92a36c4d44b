//! Decides how the module can be compiled on this machine; decisions only, nothing is run here.

use std::fmt;

/// What the module is compiled for: a proxy's sandbox with no operating system below it.
pub(crate) const WASM_TARGET: &str = "wasm32-unknown-unknown";

/// The variable that forces one way.
pub(crate) const TOOLCHAIN_VARIABLE: &str = "INFEROMETER_WASM_TOOLCHAIN";

/// Debian's compiler, cargo and the source of the standard library, kept current for its browser packages.
pub(crate) const DEBIAN_PACKAGES: [&str; 3] = ["rustc-web", "cargo-web", "rust-web-src"];

/// One way to compile the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Toolchain {
    /// The wasm target of the Rust toolchain at hand.
    Installed,
    /// The same, after rustup has fetched the target.
    Rustup,
    /// Debian's compiler, which builds the standard library too.
    Debian,
}

impl Toolchain {
    /// Every way there is.
    pub(crate) const ALL: [Toolchain; 3] = [Self::Installed, Self::Rustup, Self::Debian];

    /// Its name, as the variable takes it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Installed => "installed",
            Self::Rustup => "rustup",
            Self::Debian => "debian",
        }
    }

    /// Reads the value of [`TOOLCHAIN_VARIABLE`]; an empty one forces nothing.
    pub(crate) fn forced(value: Option<&str>) -> Result<Option<Self>, String> {
        let Some(value) = value.filter(|value| !value.is_empty()) else {
            return Ok(None);
        };
        let known = Self::ALL
            .into_iter()
            .find(|toolchain| toolchain.as_str() == value);
        known.map(Some).ok_or_else(|| {
            format!(
                "{TOOLCHAIN_VARIABLE}={value} is not accepted; give installed, rustup or debian"
            )
        })
    }
}

impl fmt::Display for Toolchain {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// The ways to try, in order: the first that can be made ready is used.
pub(crate) fn candidates(forced: Option<Toolchain>, target_is_installed: bool) -> Vec<Toolchain> {
    match forced {
        Some(toolchain) => vec![toolchain],
        None if target_is_installed => vec![Toolchain::Installed],
        None => vec![Toolchain::Rustup, Toolchain::Debian],
    }
}

/// What must be known of a machine to use Debian's packages.
#[derive(Clone, Debug)]
pub(crate) struct DebianMachine {
    /// Whether packages are installed with `apt-get` here.
    pub(crate) has_apt_get: bool,
    /// Whether this program may install them.
    pub(crate) is_root: bool,
    /// Those of [`DEBIAN_PACKAGES`] that are not installed.
    pub(crate) missing: Vec<&'static str>,
}

/// What is to be done before Debian's compiler can be used.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum DebianStep {
    /// Nothing.
    Ready,
    /// Run this line of shell.
    Install(String),
    /// Only somebody else can run this line of shell.
    AskFor(String),
    /// This is no Debian.
    Impossible,
}

/// Decides what is to be done before Debian's compiler can be used.
pub(crate) fn debian_step(machine: &DebianMachine) -> DebianStep {
    if machine.missing.is_empty() {
        return DebianStep::Ready;
    }
    if !machine.has_apt_get {
        return DebianStep::Impossible;
    }
    let line = install_line(&machine.missing);
    if machine.is_root {
        DebianStep::Install(line)
    } else {
        DebianStep::AskFor(line)
    }
}

/// The line of shell that installs packages.
pub(crate) fn install_line(packages: &[&str]) -> String {
    let packages = packages.join(" ");
    format!("apt-get update && apt-get install -y --no-install-recommends {packages}")
}

/// The error when no way could be made ready: what was tried, why it failed, what would help.
pub(crate) fn nothing_works(failures: &[(Toolchain, String)]) -> String {
    use std::fmt::Write as _;

    let mut text = format!("no Rust toolchain here can compile for {WASM_TARGET}");
    for (toolchain, reason) in failures {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n  {toolchain}: {reason}");
    }
    let _ = write!(
        text,
        "\nInstall one of these, then try again:\n  \
         where rustup's server can be reached: rustup target add {WASM_TARGET}\n  \
         on Debian 12 or newer, as root: {}",
        install_line(&DEBIAN_PACKAGES)
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(missing: &[&'static str]) -> DebianMachine {
        DebianMachine {
            has_apt_get: true,
            is_root: true,
            missing: missing.to_vec(),
        }
    }

    #[test]
    fn an_installed_target_is_used_and_nothing_else_is_tried() {
        assert_eq!(candidates(None, true), [Toolchain::Installed]);
    }

    #[test]
    fn without_the_target_rustup_is_asked_before_debian() {
        assert_eq!(
            candidates(None, false),
            [Toolchain::Rustup, Toolchain::Debian]
        );
    }

    #[test]
    fn a_forced_way_is_the_only_one_whatever_is_installed() {
        for forced in Toolchain::ALL {
            for installed in [false, true] {
                assert_eq!(candidates(Some(forced), installed), [forced]);
            }
        }
    }

    #[test]
    fn the_variable_takes_each_name_and_nothing_else() {
        for toolchain in Toolchain::ALL {
            assert_eq!(
                Toolchain::forced(Some(toolchain.as_str())),
                Ok(Some(toolchain))
            );
        }
        assert_eq!(Toolchain::forced(None), Ok(None));
        assert_eq!(Toolchain::forced(Some("")), Ok(None));
        let message = Toolchain::forced(Some("Debian")).unwrap_err();
        assert!(
            message.contains("give installed, rustup or debian"),
            "{message}"
        );
    }

    #[test]
    fn debian_is_ready_when_no_package_is_missing_even_without_apt_get() {
        let mut here = machine(&[]);
        here.has_apt_get = false;
        here.is_root = false;
        assert_eq!(debian_step(&here), DebianStep::Ready);
    }

    #[test]
    fn root_installs_exactly_the_missing_packages() {
        let DebianStep::Install(line) = debian_step(&machine(&["rust-web-src"])) else {
            panic!("root may install");
        };
        assert!(
            line.ends_with("--no-install-recommends rust-web-src"),
            "{line}"
        );
    }

    #[test]
    fn anybody_else_is_told_the_line() {
        let mut here = machine(&DEBIAN_PACKAGES);
        here.is_root = false;
        assert_eq!(
            debian_step(&here),
            DebianStep::AskFor(install_line(&DEBIAN_PACKAGES))
        );
    }

    #[test]
    fn without_apt_get_missing_packages_cannot_be_had() {
        let mut here = machine(&DEBIAN_PACKAGES);
        here.has_apt_get = false;
        assert_eq!(debian_step(&here), DebianStep::Impossible);
    }

    #[test]
    fn the_error_names_each_failure_and_each_remedy() {
        let text = nothing_works(&[
            (Toolchain::Rustup, "it hangs".to_owned()),
            (Toolchain::Debian, "not Debian".to_owned()),
        ]);
        for part in [
            "rustup: it hangs",
            "debian: not Debian",
            "rustup target add",
            "rustc-web",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}

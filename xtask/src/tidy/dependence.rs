//! The rules of dependence: which package may know which.
//!
//! A pure library may be tested with any other pure library; with nothing else of ours in any form.

use super::Complaint;
use crate::workspace::Package;

/// For each pure library, the packages of ours that it may know. A new library needs a row.
const PURE: [(&str, &[&str]); 20] = [
    ("json-scan", &[]),
    ("sse-parser", &[]),
    ("json-sequence", &[]),
    ("aws-event-stream", &[]),
    ("grpc-frames", &[]),
    ("protobuf-scan", &[]),
    ("body-decompression", &[]),
    ("response-telemetry", &[]),
    ("llm-payloads", &["json-scan", "protobuf-scan"]),
    ("request-timeline", &[]),
    (
        "request-observer",
        &[
            "llm-payloads",
            "sse-parser",
            "json-sequence",
            "aws-event-stream",
            "grpc-frames",
            "body-decompression",
            "response-telemetry",
            "request-timeline",
        ],
    ),
    ("inference-span", &["llm-payloads", "request-observer"]),
    ("metric-registry", &[]),
    (
        "metric-catalog",
        &["metric-registry", "prometheus-text", "request-observer"],
    ),
    ("prometheus-text", &["metric-registry"]),
    ("otlp-encoding", &["inference-span", "metric-registry"]),
    ("otlp-delivery", &["body-decompression", "snapshot-slots"]),
    ("name-admission", &[]),
    ("plugin-config", &["llm-payloads", "response-telemetry"]),
    ("snapshot-slots", &["metric-registry"]),
];

/// Packages of others that only some packages of ours may know, and which.
const ONE_PLACE: [(&str, &[&str]); 2] = [
    ("proxy-wasm", &["hostcalls", "inferometer"]),
    ("wasmtime", &["host-tests"]),
];

/// What is wrong with the dependences of the workspace.
pub(super) fn check(packages: &[Package]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    let group_of = |name: &str| {
        packages
            .iter()
            .find(|other| other.name == name)
            .map(Package::group)
    };
    for package in packages {
        let mut complain = |message: String| {
            let manifest = crate::workspace::shown(&package.manifest_path);
            complaints.push(Complaint {
                file: manifest,
                line: 0,
                message,
            });
        };
        let group = package.group();
        let allowed = PURE
            .iter()
            .find(|(name, _)| *name == package.name)
            .map(|(_, allowed)| *allowed);
        if group == "crates" && allowed.is_none() {
            complain(format!(
                "{} has no row in the rules of dependence",
                package.name
            ));
        }
        for dependency in &package.dependencies {
            let name = dependency.name.as_str();
            let other = group_of(name);
            let pure_and_for_tests =
                dependency.kind.as_deref() == Some("dev") && other.as_deref() == Some("crates");
            if let (Some(allowed), Some(_)) = (allowed, &other)
                && !allowed.contains(&name)
                && !pure_and_for_tests
            {
                complain(format!("{} may not know {name}", package.name));
            }
            if group == "host-tests" && other.as_deref() == Some("plugins") {
                complain(format!(
                    "{} tests the built module, so it may not know {name}",
                    package.name
                ));
            }
            if group == "plugins"
                && matches!(other.as_deref(), Some("tools" | "host-tests" | "xtask"))
            {
                complain(format!(
                    "{} runs in a proxy, so it may not know {name}",
                    package.name
                ));
            }
            for (theirs, places) in ONE_PLACE {
                if name == theirs && !places.contains(&package.name.as_str()) {
                    complain(format!("only {} may know {theirs}", places.join(" and ")));
                }
            }
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::{self, Dependency};

    fn package(folder: &str, dependencies: &[&str]) -> Package {
        let name = folder.rsplit('/').next().unwrap();
        let known = dependencies.iter().map(|name| Dependency {
            name: (*name).to_owned(),
            kind: None,
        });
        Package {
            name: name.to_owned(),
            manifest_path: workspace::root().join(folder).join("Cargo.toml"),
            dependencies: known.collect(),
            targets: Vec::new(),
        }
    }

    fn messages(packages: &[Package]) -> Vec<String> {
        check(packages).iter().map(ToString::to_string).collect()
    }

    /// `folder` knows `name`, and both are packages of the workspace.
    fn forbidden(folder: &str, other: &str) -> String {
        let name = other.rsplit('/').next().unwrap();
        let found = messages(&[package(folder, &[name]), package(other, &[])]);
        assert_eq!(found.len(), 1, "{folder} knows {other}: {found:?}");
        found.concat()
    }

    #[test]
    fn a_pure_library_knows_nothing_of_hosts_or_tools() {
        for other in [
            "plugins/hostcalls",
            "tools/envoy-harness",
            "host-tests",
            "xtask",
        ] {
            let message = forbidden("crates/request-observer", other);
            assert!(
                message.starts_with("crates/request-observer/Cargo.toml: "),
                "{message}"
            );
        }
        assert_eq!(
            messages(&[package("crates/sse-parser", &["proxy-wasm"])]).len(),
            1
        );
    }

    #[test]
    fn the_lowest_libraries_know_no_library_of_ours() {
        for low in [
            "json-scan",
            "sse-parser",
            "request-timeline",
            "metric-registry",
            "plugin-config",
        ] {
            forbidden(&format!("crates/{low}"), "crates/prometheus-text");
        }
    }

    #[test]
    fn text_and_slots_know_the_registry_only() {
        for library in ["crates/prometheus-text", "crates/snapshot-slots"] {
            let registry = package("crates/metric-registry", &[]);
            assert_eq!(
                messages(&[package(library, &["metric-registry"]), registry]),
                Vec::<String>::new()
            );
            forbidden(library, "crates/metric-catalog");
        }
    }

    #[test]
    fn a_pure_library_may_be_tested_with_another_but_with_no_tool() {
        for (other, complaints) in [("crates/metric-catalog", 0), ("tools/load-generator", 1)] {
            let mut library = package("crates/plugin-config", &[other.rsplit('/').next().unwrap()]);
            library.dependencies[0].kind = Some("dev".to_owned());
            assert_eq!(
                messages(&[library, package(other, &[])]).len(),
                complaints,
                "{other}"
            );
        }
    }

    #[test]
    fn host_tests_know_no_plugin() {
        forbidden("host-tests", "plugins/inferometer");
        forbidden("host-tests", "plugins/hostcalls");
    }

    #[test]
    fn a_plugin_knows_no_tool() {
        forbidden("plugins/inferometer", "tools/load-generator");
    }

    #[test]
    fn a_new_library_needs_a_row() {
        let found = messages(&[package("crates/novelty", &[])]);
        assert!(found.concat().contains("novelty has no row"), "{found:?}");
    }

    #[test]
    fn the_proxy_interface_and_the_wasm_runtime_have_one_place_each() {
        for name in ["proxy-wasm", "wasmtime"] {
            assert_eq!(
                messages(&[package("tools/envoy-harness", &[name])]).len(),
                1,
                "{name}"
            );
        }
        let allowed = [
            package("plugins/inferometer", &["proxy-wasm"]),
            package("host-tests", &["wasmtime"]),
        ];
        assert_eq!(messages(&allowed), Vec::<String>::new());
    }

    #[test]
    fn packages_of_others_are_free() {
        assert_eq!(
            messages(&[package("crates/json-scan", &["memchr", "serde_json"])]),
            Vec::<String>::new()
        );
    }
}

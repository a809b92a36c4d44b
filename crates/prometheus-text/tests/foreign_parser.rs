//! Readers that others wrote accept the text, and read from it what was put in.
//!
//! The Python client's two parsers are run by the interpreter that `INFEROMETER_PYTHON` names; where that is unset,
//! an environment with the client is made under the target directory. `promtool` is run where it is on the path.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    clippy::explicit_write,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic, and this one talks to programs and must be heard while it passes"
)]

mod filled;

use std::collections::BTreeSet;
use std::env;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use filled::{help, served};
use metric_registry::{Limits, SeriesValue, Snapshot};
use prometheus_text::{Format, encode, metric_name};

/// The client whose parsers read the text, pinned.
const CLIENT: &str = "prometheus-client==0.26.0";

const SCRATCH: &str = env!("CARGO_TARGET_TMPDIR");

/// Model names that would break a careless encoder or reader.
const HOSTILE: [&str; 26] = [
    "plain",
    "",
    " ",
    " space around ",
    "\"",
    "\\",
    "\\\"",
    "\\n",
    "\\\\n",
    "ends in a backslash\\",
    "\"quoted\"",
    "a,b",
    "a=\"b\"",
    "}",
    "{",
    "{model=\"x\"} 1",
    "# EOF",
    "# HELP x y",
    "\" 1\n# EOF\n",
    "tab\tnul\0del\u{7f}",
    "carriage\rreturn",
    "line\u{2028}separator\u{85}next",
    "模型-ü-🚀",
    "\u{202e}left",
    "+Inf",
    "1e+06",
];

/// Says what is run even where the test passes, since a judge that was not asked is no judge.
fn say(text: &str) {
    writeln!(std::io::stderr(), "foreign_parser: {text}").unwrap();
}

fn run(command: &mut Command) -> Output {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    say(&format!("{command:?} gave {}", output.status));
    output
}

fn run_or_fail(command: &mut Command) -> Output {
    let output = run(command);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} failed:\n{errors}");
    output
}

/// The interpreter that has the client.
fn python() -> &'static Path {
    static PYTHON: OnceLock<PathBuf> = OnceLock::new();
    PYTHON.get_or_init(|| {
        let python = match env::var_os("INFEROMETER_PYTHON") {
            Some(given) => PathBuf::from(given),
            None => own_environment(),
        };
        let version = "import importlib.metadata as m; print(m.version('prometheus-client'))";
        let output = run_or_fail(Command::new(&python).args(["-c", version]));
        let version = String::from_utf8_lossy(&output.stdout);
        say(&format!(
            "prometheus-client {} of {}",
            version.trim(),
            python.display()
        ));
        python
    })
}

fn own_environment() -> PathBuf {
    let folder = Path::new(SCRATCH).join("foreign-parser-python");
    let python = folder.join("bin").join("python");
    // Two runs at once must not both write the same environment.
    let lock = File::create(Path::new(SCRATCH).join("foreign-parser-python.lock")).unwrap();
    lock.lock().unwrap();
    let ready = folder.join("ready");
    if fs::read_to_string(&ready).is_ok_and(|client| client == CLIENT) {
        return python;
    }
    say(&format!(
        "INFEROMETER_PYTHON is not set; installing {CLIENT} into {}",
        folder.display()
    ));
    run_or_fail(
        Command::new("python3")
            .args(["-m", "venv", "--clear"])
            .arg(&folder),
    );
    let install = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        CLIENT,
    ];
    run_or_fail(Command::new(&python).args(install));
    fs::write(ready, CLIENT).unwrap();
    python
}

/// What the Python client reads, a line for each sample and each family.
fn read_by_python(name: &str, text: &str, format: Format) -> BTreeSet<String> {
    let path = Path::new(SCRATCH).join(format!("{name}-{format:?}.txt"));
    fs::write(&path, text).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/read_exposition.py");
    let form = match format {
        Format::Prometheus => "prometheus",
        Format::OpenMetrics => "openmetrics",
    };
    let output = run_or_fail(Command::new(python()).arg(script).arg(form).arg(path));
    let lines = String::from_utf8(output.stdout).unwrap();
    let distinct: BTreeSet<String> = lines.lines().map(str::to_owned).collect();
    assert_eq!(distinct.len(), lines.lines().count(), "a line stands twice");
    distinct
}

fn hexadecimal(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

/// What a reader should find, worked out from the snapshot without the encoder.
fn expected_lines(snapshot: &Snapshot, format: Format) -> BTreeSet<String> {
    let mut samples = documented(snapshot, format);
    for family in snapshot.families() {
        let name = metric_name(family.name(), family.unit(), family.kind());
        let unscaled = |value: u64| value as f64 / family.scale() as f64;
        for series in family.series() {
            let mut add = |suffix: &str, le: Option<f64>, value: f64| {
                let mut labels: Vec<(String, String)> = series
                    .labels()
                    .map(|(name, value)| (name.replace('.', "_"), as_exposed(value)))
                    .collect();
                labels.extend(le.map(|le| ("le".to_owned(), go_float(le))));
                labels.sort();
                let labels: Vec<String> = labels
                    .iter()
                    .map(|(name, value)| format!("{}={}", hexadecimal(name), hexadecimal(value)))
                    .collect();
                let labels = match labels.join(",") {
                    none if none.is_empty() => "-".to_owned(),
                    some => some,
                };
                let name = hexadecimal(&format!("{name}{suffix}"));
                let kind = family.kind().as_str();
                samples.insert(format!("{kind} {name} {labels} {}", python_float(value)));
            };
            match series.value() {
                SeriesValue::Counter(sum) => add("", None, unscaled(sum)),
                SeriesValue::Gauge(level) | SeriesValue::Reading { level, .. } => {
                    add("", None, level as f64 / family.scale() as f64)
                }
                SeriesValue::Histogram { counts, sum } => {
                    let bounds = family.bounds().iter().map(|bound| unscaled(*bound));
                    let mut cumulative = 0;
                    for (bound, count) in bounds.chain([f64::INFINITY]).zip(counts.iter()) {
                        cumulative += count;
                        add("_bucket", Some(bound), cumulative as f64);
                    }
                    add("_sum", None, unscaled(sum));
                    add("_count", None, cumulative as f64);
                }
            }
        }
    }
    samples
}

/// The lines about families: name, help and unit.
fn documented(snapshot: &Snapshot, format: Format) -> BTreeSet<String> {
    let line = |family: metric_registry::Family<'_>| {
        let name = metric_name(family.name(), family.unit(), family.kind());
        let name = name.strip_suffix("_total").unwrap_or(&name);
        let unit = match (format, family.unit()) {
            (Format::OpenMetrics, "s") => "seconds",
            (Format::OpenMetrics, "By") => "bytes",
            (Format::OpenMetrics, "1") => "ratio",
            (Format::OpenMetrics, "{token}/s") => "per_second",
            _ => "-",
        };
        let help = help(family.name()).unwrap();
        format!(
            "documented {} {} {unit}",
            hexadecimal(name),
            hexadecimal(help)
        )
    };
    snapshot.families().map(line).collect()
}

/// Control characters other than the line end have no escape, so they are replaced on the way out.
fn as_exposed(value: &str) -> String {
    value
        .chars()
        .map(|c| if c.is_control() && c != '\n' { '_' } else { c })
        .collect()
}

/// A number as Python prints it.
fn python_float(value: f64) -> String {
    match value {
        large if large.abs() >= 1e16 => {
            let text = format!("{large:e}");
            let (digits, exponent) = text.split_once('e').unwrap();
            format!("{digits}e+{exponent}")
        }
        other => format!("{other:?}"),
    }
}

/// A bound as the text has it; only the bounds of these tests are known here.
fn go_float(bound: f64) -> String {
    match bound {
        f64::INFINITY => "+Inf".to_owned(),
        1_048_576.0 => "1.048576e+06".to_owned(),
        67_108_864.0 => "6.7108864e+07".to_owned(),
        other => format!("{other:?}"),
    }
}

/// A snapshot with the control characters that the registry would have replaced, as foreign bytes may have them.
fn with_raw_control_characters() -> Snapshot {
    const PLACEHOLDER: &str = "PLACEHOLDER";
    let raw = "a\n\"\\\r\n\0\u{1}\tb\\";
    assert_eq!(raw.len(), PLACEHOLDER.len());
    let bytes = served(&[PLACEHOLDER], Limits::default())
        .snapshot()
        .encode();
    let place = bytes
        .windows(PLACEHOLDER.len())
        .position(|window| window == PLACEHOLDER.as_bytes())
        .unwrap();
    let mut bytes = bytes;
    bytes[place..place + raw.len()].copy_from_slice(raw.as_bytes());
    Snapshot::decode(&bytes).unwrap()
}

/// A line without the `.0` that only OpenMetrics writes in a bound; the number is the same.
fn without_point_zero(line: &str) -> String {
    let (le, point_zero) = (hexadecimal("le") + "=", hexadecimal(".0"));
    let label = |label: &str| match label.strip_prefix(&le) {
        Some(bound) => le.clone() + bound.strip_suffix(&point_zero).unwrap_or(bound),
        None => label.to_owned(),
    };
    let mut parts: Vec<String> = line.split(' ').map(str::to_owned).collect();
    let labels: Vec<String> = parts[2].split(',').map(label).collect();
    parts[2] = labels.join(",");
    parts.join(" ")
}

fn check(name: &str, snapshot: &Snapshot) {
    for format in [Format::Prometheus, Format::OpenMetrics] {
        let text = encode(snapshot, format, &help);
        let mut found = read_by_python(name, &text, format);
        let mut expected = expected_lines(snapshot, format);
        if format == Format::Prometheus {
            found = found.iter().map(|line| without_point_zero(line)).collect();
            expected = expected
                .iter()
                .map(|line| without_point_zero(line))
                .collect();
        }
        let missing: Vec<_> = expected.difference(&found).collect();
        let surplus: Vec<_> = found.difference(&expected).collect();
        assert!(
            missing.is_empty() && surplus.is_empty(),
            "{name} in {format:?}: missing {missing:#?}, surplus {surplus:#?}"
        );
        assert!(expected.len() > snapshot.series_count());
    }
}

#[test]
fn the_python_client_reads_what_was_put_in() {
    check("hostile", &served(&HOSTILE, Limits::default()).snapshot());
}

#[test]
fn the_python_client_reads_overflow_series() {
    let limits = Limits {
        series: 20,
        ..Limits::default()
    };
    check("overflow", &served(&HOSTILE, limits).snapshot());
}

#[test]
fn the_python_client_reads_control_characters_of_foreign_snapshots() {
    check("control", &with_raw_control_characters());
}

#[test]
fn the_python_client_refuses_what_is_wrong() {
    let text = encode(
        &served(&["m"], Limits::default()).snapshot(),
        Format::OpenMetrics,
        &help,
    );
    let damaged = text.replace("# EOF\n", "");
    let path = Path::new(SCRATCH).join("damaged.txt");
    fs::write(&path, damaged).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/read_exposition.py");
    let output = run(Command::new(python())
        .arg(script)
        .arg("openmetrics")
        .arg(path));
    assert!(!output.status.success(), "the parser takes anything");
}

#[test]
fn promtool_finds_nothing_to_complain_of() {
    if Command::new("promtool").arg("--version").output().is_err() {
        say("promtool is not on the path: NOT RUN");
        return;
    }
    let models = HOSTILE;
    for (name, snapshot) in [
        ("hostile", served(&models, Limits::default()).snapshot()),
        ("control", with_raw_control_characters()),
    ] {
        let path = Path::new(SCRATCH).join(format!("promtool-{name}.txt"));
        fs::write(&path, encode(&snapshot, Format::Prometheus, &help)).unwrap();
        let mut command = Command::new("promtool");
        let output = run(command
            .args(["check", "metrics"])
            .stdin(File::open(path).unwrap()));
        let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            output.status.success() && complaints.is_empty(),
            "{name}: {complaints}"
        );
    }
}

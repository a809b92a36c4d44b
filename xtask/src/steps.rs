//! A row of steps: each is announced, timed and judged, and the last lines say what really ran.

use std::time::Instant;

use anyhow::{Result, bail};

/// How many tests ran, as cargo's own lines say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Tests that passed.
    pub(crate) passed: u64,
    /// Tests that failed.
    pub(crate) failed: u64,
    /// Tests that were left out.
    pub(crate) ignored: u64,
}

impl Tally {
    /// Adds what a line of output says, when it is a line that sums up tests.
    pub(crate) fn read(&mut self, line: &str) {
        let Some(summary) = line.strip_prefix("test result: ") else {
            return;
        };
        for part in summary.split(['.', ';']) {
            let mut words = part.split_whitespace();
            let (Some(count), Some(kind)) = (words.next(), words.next()) else {
                continue;
            };
            let Ok(count) = count.parse::<u64>() else {
                continue;
            };
            match kind {
                "passed" => self.passed += count,
                "failed" => self.failed += count,
                "ignored" => self.ignored += count,
                _ => {}
            }
        }
    }

    /// Adds another count.
    pub(crate) fn add(&mut self, other: Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
    }
}

/// How one step ended.
#[derive(Debug)]
enum Ending {
    Passed,
    Failed(String),
    NotRun(String),
}

#[derive(Debug)]
struct Line {
    name: String,
    seconds: f64,
    tally: Tally,
    ending: Ending,
}

/// What the steps so far came to.
#[derive(Debug, Default)]
pub(crate) struct Report {
    lines: Vec<Line>,
}

impl Report {
    /// Runs one step and keeps how it ended; a failure does not keep later steps from running.
    ///
    /// Gives whether it passed.
    pub(crate) fn step(
        &mut self,
        name: &str,
        purpose: &str,
        run: impl FnOnce(&mut Tally) -> Result<()>,
    ) -> bool {
        println!("\n== {name}: {purpose}");
        let started = Instant::now();
        let mut tally = Tally::default();
        let ending = match run(&mut tally) {
            // Cargo's own error repeats the whole command, which says less.
            _ if tally.failed > 0 => Ending::Failed(format!("{} tests failed", tally.failed)),
            Ok(()) => Ending::Passed,
            Err(error) => Ending::Failed(format!("{error:#}")),
        };
        let seconds = started.elapsed().as_secs_f64();
        let passed = matches!(ending, Ending::Passed);
        match &ending {
            Ending::Failed(reason) => println!("== {name}: FAILED after {seconds:.1} s: {reason}"),
            _ => println!("== {name}: passed in {seconds:.1} s"),
        }
        self.lines.push(Line {
            name: name.to_owned(),
            seconds,
            tally,
            ending,
        });
        passed
    }

    /// Keeps that a step was not run, and why.
    pub(crate) fn not_run(&mut self, name: &str, reason: &str) {
        println!("\n== {name}: NOT RUN: {reason}");
        let ending = Ending::NotRun(reason.to_owned());
        self.lines.push(Line {
            name: name.to_owned(),
            seconds: 0.0,
            tally: Tally::default(),
            ending,
        });
    }

    /// The last lines: every step, then the sum.
    pub(crate) fn summary(&self) -> String {
        let mut text = String::new();
        let mut sum = Tally::default();
        let mut seconds = 0.0;
        for line in &self.lines {
            sum.add(line.tally);
            seconds += line.seconds;
            let tests = match line.tally {
                Tally {
                    passed: 0,
                    failed: 0,
                    ..
                } => String::new(),
                Tally { passed, failed, .. } => format!("{passed} passed, {failed} failed"),
            };
            let ending = match &line.ending {
                Ending::Passed => "ok".to_owned(),
                Ending::Failed(reason) => format!("FAILED: {}", first_line(reason)),
                Ending::NotRun(reason) => format!("NOT RUN: {}", first_line(reason)),
            };
            text += &format!(
                "{:<16} {:>7.1} s  {tests:<24} {ending}\n",
                line.name, line.seconds
            );
        }
        let failed = self.count(|ending| matches!(ending, Ending::Failed(_)));
        let left_out = self.count(|ending| matches!(ending, Ending::NotRun(_)));
        text += &format!(
            "{} passed, {} failed, {} ignored; {} steps: {failed} failed, {left_out} not run; {seconds:.0} s\n",
            sum.passed,
            sum.failed,
            sum.ignored,
            self.lines.len(),
        );
        text
    }

    /// Prints the last lines; an error when a step failed, or could not be run because another one failed.
    pub(crate) fn finish(self) -> Result<()> {
        print!("\n{}", self.summary());
        let failed: Vec<&str> = self
            .lines
            .iter()
            .filter(|line| matches!(line.ending, Ending::Failed(_)))
            .map(|line| line.name.as_str())
            .collect();
        if failed.is_empty() {
            return Ok(());
        }
        bail!("failed: {}", failed.join(", "))
    }

    fn count(&self, fits: impl Fn(&Ending) -> bool) -> usize {
        self.lines.iter().filter(|line| fits(&line.ending)).count()
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_that_sum_up_tests_are_added() {
        let mut tally = Tally::default();
        tally.read("running 3 tests");
        tally.read("test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s");
        tally.read("test result: FAILED. 10 passed; 2 failed; 0 ignored; 0 measured; 5 filtered out; finished in 1.50s");
        assert_eq!(
            tally,
            Tally {
                passed: 13,
                failed: 2,
                ignored: 1
            }
        );
    }

    #[test]
    fn other_lines_say_nothing() {
        let mut tally = Tally::default();
        for line in [
            "",
            "test result",
            "12 passed",
            "  test result: ok. 1 passed",
        ] {
            tally.read(line);
        }
        assert_eq!(tally, Tally::default());
    }

    #[test]
    fn a_failure_does_not_stop_the_rest_but_fails_the_whole() {
        let mut report = Report::default();
        assert!(!report.step("first", "fails", |_| bail!("the reason\nand more")));
        assert!(report.step("second", "passes", |tally| {
            tally.passed = 4;
            Ok(())
        }));
        report.not_run("third", "the first failed");
        let summary = report.summary();
        assert!(summary.contains("FAILED: the reason\n"), "{summary}");
        assert!(summary.contains("NOT RUN: the first failed"), "{summary}");
        assert!(
            summary.contains("4 passed, 0 failed, 0 ignored; 3 steps: 1 failed, 1 not run"),
            "{summary}"
        );
        assert_eq!(report.finish().unwrap_err().to_string(), "failed: first");
    }

    #[test]
    fn a_step_whose_command_succeeds_but_whose_tests_fail_has_failed() {
        let mut report = Report::default();
        report.step("tests", "of something", |tally| {
            tally.failed = 1;
            Ok(())
        });
        assert!(report.finish().is_err());
    }
}

//! The live view: what the scrape says beside what the clients measured, while the load runs.

use std::collections::{BTreeMap, VecDeque};
use std::io::{IsTerminal as _, stdout};
use std::time::Duration;

use anyhow::{Context as _, Result};
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, Width, presets};
use load_generator::Truth;
use load_generator::exposition::Scrape;
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::row::{Quantiles, Row};
use super::screen::Screen;
use super::stage::Stage;

/// How often a terminal is drawn anew.
const REDRAW: Duration = Duration::from_secs(1);
/// How often a line is written where nobody watches.
const LINE: Duration = Duration::from_secs(5);
/// Rates are taken over so much time, since a scrape moves only once a tick.
const RATE_WINDOW: Duration = Duration::from_secs(5);

/// Both sides of each model at one moment.
struct Moment {
    at: Instant,
    models: BTreeMap<String, [Row; 2]>,
}

impl Moment {
    fn new(at: Instant, scrape: &Scrape, truth: &Truth) -> Moment {
        let rows = |(model, truth): (&String, &load_generator::ModelTruth)| {
            (
                model.clone(),
                [Row::scraped(scrape, model), Row::measured(truth)],
            )
        };
        Moment {
            at,
            models: truth.models().iter().map(rows).collect(),
        }
    }
}

/// Shows both sides until the load has ended.
pub(super) async fn show(stage: &Stage, truth: &Truth, mut load: JoinHandle<()>) -> Result<()> {
    let watched = stdout().is_terminal();
    let started = Instant::now();
    let period = if watched { REDRAW } else { LINE };
    let mut ticker = interval_at(started + period, period);
    ticker.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut history = VecDeque::from([Moment::new(started, &stage.scrape().await?, truth)]);
    let mut screen = Screen::default();
    loop {
        tokio::select! {
            ended = &mut load => return ended.context("the load broke off"),
            _ = ticker.tick() => {
                let scrape = stage.scrape().await?;
                let now = Moment::new(Instant::now(), &scrape, truth);
                // The oldest moment kept is the last one that is a whole window away.
                while history.get(1).is_some_and(|next: &Moment| now.at - next.at >= RATE_WINDOW) {
                    history.pop_front();
                }
                history.push_back(now);
                let seconds = started.elapsed().as_secs();
                if watched {
                    screen.draw(&table(seconds, &history))?;
                } else {
                    print!("{}", lines(seconds, &history));
                }
            }
        }
    }
}

/// Requests and output tokens a second of a model's side over the history; nothing with a single moment.
fn rates(history: &VecDeque<Moment>, model: &str, side: usize) -> [Option<f64>; 2] {
    let ends = history.front().zip(history.back());
    let rate = |figure: fn(&Row) -> f64| {
        let (first, last) = ends?;
        let seconds = (last.at - first.at).as_secs_f64();
        let value = |moment: &Moment| Some(figure(moment.models.get(model)?.get(side)?));
        (seconds > 0.0).then_some((value(last)? - value(first)?) / seconds)
    };
    [rate(|row| row.requests), rate(|row| row.output_tokens)]
}

/// Wide enough for a time such as `1234.5 ms` and the space around it.
const COLUMN_WIDTH: u16 = 11;
/// The place of the first column with figures.
const FIRST_FIGURE: usize = 2;
const SIDES: [&str; 2] = ["scrape", "clients"];

fn table(seconds: u64, history: &VecDeque<Moment>) -> String {
    let mut table = Table::new();
    table
        .load_preset(presets::UTF8_BORDERS_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header([
        "model",
        "seen by",
        "req/s",
        "in flight",
        "TTFT p50",
        "p95",
        "inter-token p50",
        "p95",
        "tokens/s",
        "cached",
        "errors",
    ]);
    for (model, rows) in history
        .back()
        .map(|moment| &moment.models)
        .into_iter()
        .flatten()
    {
        for (side, (name, row)) in SIDES.iter().zip(rows).enumerate() {
            let [requests, tokens] = rates(history, model, side);
            let ([first_p50, first_p95], [inter_p50, inter_p95]) =
                (row.first_token, row.inter_token);
            table.add_row([
                if side == 0 {
                    model.clone()
                } else {
                    String::new()
                },
                (*name).to_owned(),
                number(requests),
                format!("{:.0}", row.in_flight),
                milliseconds(first_p50),
                milliseconds(first_p95),
                milliseconds(inter_p50),
                milliseconds(inter_p95),
                number(tokens),
                ratio(row),
                format!("{:.0}", row.errors),
            ]);
        }
    }
    // Columns keep their widths from picture to picture, and figures stand at their right edge.
    for (place, column) in table.column_iter_mut().enumerate() {
        column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(COLUMN_WIDTH)));
        if place >= FIRST_FIGURE {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    format!("{seconds} s\n{table}")
}

/// One line a model, each figure as the scrape has it and, after a stroke, as the clients do.
fn lines(seconds: u64, history: &VecDeque<Moment>) -> String {
    let mut lines = String::new();
    for (model, [scraped, measured]) in history
        .back()
        .map(|moment| &moment.models)
        .into_iter()
        .flatten()
    {
        let [scraped_rates, measured_rates] = [0, 1].map(|side| rates(history, model, side));
        let rate = |index: usize| {
            let of = |rates: [Option<f64>; 2]| number(rates.get(index).copied().flatten());
            format!("{}/{}", of(scraped_rates), of(measured_rates))
        };
        let times = |[scraped_p50, scraped_p95]: Quantiles,
                     [measured_p50, measured_p95]: Quantiles| {
            let both =
                |scraped, measured| format!("{}/{}", milliseconds(scraped), milliseconds(measured));
            format!(
                "p50 {} p95 {}",
                both(scraped_p50, measured_p50),
                both(scraped_p95, measured_p95)
            )
        };
        lines.push_str(&format!(
            "{seconds:4} s  {model}: req/s {}, in flight {:.0}/{:.0}, TTFT {}, inter-token {}, tokens/s {}, \
             cached {}/{}, errors {:.0}/{:.0}\n",
            rate(0),
            scraped.in_flight,
            measured.in_flight,
            times(scraped.first_token, measured.first_token),
            times(scraped.inter_token, measured.inter_token),
            rate(1),
            ratio(scraped),
            ratio(measured),
            scraped.errors,
            measured.errors,
        ));
    }
    lines
}

fn number(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.1}"))
}

fn milliseconds(seconds: Option<f64>) -> String {
    seconds.map_or("-".to_owned(), |seconds| {
        format!("{:.1} ms", seconds * 1000.0)
    })
}

fn ratio(row: &Row) -> String {
    if row.input_tokens > 0.0 {
        format!("{:.0} %", 100.0 * row.cached_tokens / row.input_tokens)
    } else {
        "-".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(at: Instant, requests: f64) -> Moment {
        let scraped = Row {
            requests,
            output_tokens: requests * 10.0,
            input_tokens: 100.0,
            cached_tokens: 25.0,
            first_token: [Some(0.05), None],
            ..Row::default()
        };
        Moment {
            at,
            models: BTreeMap::from([(
                "m".to_owned(),
                [
                    scraped,
                    Row {
                        requests: 1.0,
                        ..scraped
                    },
                ],
            )]),
        }
    }

    #[test]
    fn rates_are_taken_over_the_history() {
        let start = Instant::now();
        let mut history = VecDeque::from([moment(start, 10.0)]);
        assert_eq!(rates(&history, "m", 0), [None, None]);
        history.push_back(moment(start + Duration::from_secs(4), 30.0));
        assert_eq!(rates(&history, "m", 0), [Some(5.0), Some(50.0)]);
        assert_eq!(rates(&history, "other", 0), [None, None]);
    }

    #[test]
    fn both_forms_show_both_sides() {
        let start = Instant::now();
        let history = VecDeque::from([
            moment(start, 10.0),
            moment(start + Duration::from_secs(2), 30.0),
        ]);
        let line = lines(7, &history);
        assert!(
            line.contains("req/s 10.0/0.0") && line.contains("p50 50.0 ms/50.0 ms p95 -/-"),
            "{line}"
        );
        let table = table(7, &history);
        let rows: Vec<&str> = table.lines().filter(|line| line.contains("25 %")).collect();
        assert!(
            rows.len() == 2 && rows[0].contains("scrape") && rows[1].contains("clients"),
            "{table}"
        );
    }
}

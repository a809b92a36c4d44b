//! Laws of a timeline that hold for any stamps, and its behaviour at the edges.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test may fail by a panic"
)]

use proptest::prelude::*;
use request_timeline::{GapHistogram, MAX_CHOICES, Moment, OutputEvent, Stamp, Timeline};

const BOUNDS: [u64; 4] = [1, 10, 100, 1_000];

fn event(choice: u32) -> OutputEvent {
    OutputEvent {
        choice,
        tokens: 1,
        visible: true,
    }
}

#[test]
fn a_timeline_without_any_mark_has_no_durations() {
    let durations = Timeline::new(Stamp(5)).durations();
    assert_eq!(durations, request_timeline::Durations::default());
}

#[test]
fn the_first_mark_of_a_moment_stands() {
    let mut timeline = Timeline::new(Stamp(10));
    timeline.mark(Moment::End, Stamp(30));
    timeline.mark(Moment::End, Stamp(90));
    assert_eq!(timeline.durations().request, Some(20));
    assert_eq!(timeline.backwards(), 0);
}

#[test]
fn a_clock_that_runs_backwards_gives_zero_and_is_counted() {
    let mut timeline = Timeline::new(Stamp(100));
    timeline.mark(Moment::FirstByte, Stamp(40));
    timeline.output(event(0), Stamp(200), Some(&BOUNDS));
    timeline.output(event(0), Stamp(150), Some(&BOUNDS));
    timeline.mark(Moment::End, Stamp(120));
    let durations = timeline.durations();
    assert_eq!(durations.time_to_first_byte, Some(0));
    assert_eq!(durations.decode, Some(0));
    assert_eq!(durations.request, Some(20));
    assert_eq!(timeline.backwards(), 3);
    assert_eq!(timeline.gaps().sum_nanos, 0);
}

#[test]
fn reasoning_is_a_first_token_and_no_visible_one() {
    let mut timeline = Timeline::new(Stamp(0));
    timeline.output(
        OutputEvent {
            visible: false,
            ..event(0)
        },
        Stamp(7),
        Some(&BOUNDS),
    );
    timeline.output(event(0), Stamp(9), Some(&BOUNDS));
    let durations = timeline.durations();
    assert_eq!(
        (
            durations.time_to_first_token,
            durations.time_to_first_visible_token
        ),
        (Some(7), Some(9))
    );
}

#[test]
fn the_gaps_of_interleaved_choices_are_measured_each_by_itself() {
    let mut timeline = Timeline::new(Stamp(0));
    for (choice, stamp) in [(0, 0), (1, 50), (0, 100), (1, 150)] {
        timeline.output(event(choice), Stamp(stamp), Some(&BOUNDS));
    }
    assert_eq!(timeline.gaps().count, 2);
    assert_eq!(timeline.gaps().sum_nanos, 200);
    assert_eq!(
        timeline.durations().max_gap,
        Some(50),
        "silence is that of the whole stream"
    );
}

#[test]
fn choices_past_the_limit_give_no_gap() {
    let mut timeline = Timeline::new(Stamp(0));
    for round in 0..2 {
        for choice in 0..200 {
            timeline.output(event(choice), Stamp(round), Some(&BOUNDS));
        }
    }
    assert_eq!(timeline.gaps().count, MAX_CHOICES as u64);
    assert_eq!(timeline.output_events(), 400);
}

#[test]
fn the_longest_silence_reaches_to_the_terminal_event_or_else_to_the_end() {
    let mut stalled = Timeline::new(Stamp(0));
    stalled.output(event(0), Stamp(10), Some(&BOUNDS));
    stalled.output(event(0), Stamp(30), Some(&BOUNDS));
    assert_eq!(stalled.durations().max_gap, Some(20));
    let mut finished = stalled.clone();
    stalled.mark(Moment::End, Stamp(500));
    assert_eq!(stalled.durations().max_gap, Some(470));
    finished.mark(Moment::Terminal, Stamp(31));
    finished.mark(Moment::End, Stamp(500));
    assert_eq!(finished.durations().max_gap, Some(20));
}

#[test]
fn an_event_without_bounds_is_left_out_of_the_histogram_alone() {
    let mut timeline = Timeline::new(Stamp(0));
    timeline.output(event(0), Stamp(10), Some(&BOUNDS));
    timeline.output(event(0), Stamp(30), None);
    assert_eq!(timeline.gaps(), &GapHistogram::new());
    assert_eq!(
        (timeline.output_events(), timeline.durations().decode),
        (2, Some(20))
    );
}

proptest! {
    #[test]
    fn rising_stamps_add_up(start in 0_u64..1_000_000, steps in prop::collection::vec((0_u64..5_000, 1_u32..9, any::<bool>()), 1..60)) {
        let mut timeline = Timeline::new(Stamp(start));
        let mut now = start;
        let mut tokens_after_first = 0_u64;
        let mut longest = 0;
        for (position, (step, tokens, visible)) in steps.iter().enumerate() {
            now += step;
            timeline.output(OutputEvent { choice: 0, tokens: *tokens, visible: *visible }, Stamp(now), Some(&BOUNDS));
            if position > 0 {
                tokens_after_first += u64::from(*tokens);
                longest = longest.max(*step);
            }
        }
        timeline.mark(Moment::Terminal, Stamp(now));
        timeline.mark(Moment::End, Stamp(now + 3));
        let durations = timeline.durations();
        prop_assert_eq!(durations.time_to_first_token, Some(steps[0].0));
        prop_assert_eq!(durations.decode, Some(now - start - steps[0].0));
        prop_assert_eq!(durations.request, Some(now + 3 - start));
        prop_assert_eq!(durations.max_gap, Some(longest));
        prop_assert_eq!(timeline.gaps().sum_nanos, durations.decode.unwrap());
        prop_assert_eq!(timeline.gaps().count, tokens_after_first);
        prop_assert_eq!(timeline.gaps().counts.iter().sum::<u64>(), tokens_after_first);
        prop_assert_eq!(timeline.backwards(), 0);
    }

    #[test]
    fn any_stamps_at_all_neither_panic_nor_lose_an_event(stamps in prop::collection::vec((any::<u64>(), any::<u32>(), any::<u32>()), 0..60)) {
        let mut timeline = Timeline::new(Stamp(u64::MAX / 2));
        for (stamp, choice, tokens) in &stamps {
            timeline.output(OutputEvent { choice: *choice, tokens: *tokens, visible: true }, Stamp(*stamp), Some(&BOUNDS));
        }
        timeline.mark(Moment::End, Stamp(0));
        prop_assert_eq!(timeline.output_events(), stamps.len() as u64);
        prop_assert_eq!(timeline.durations().request, Some(0));
        prop_assert!(timeline.gaps().counts.iter().sum::<u64>() == timeline.gaps().count);
    }
}

//! When each token comes, as offsets from the moment the request was whole.

use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use crate::behaviour::Behaviour;

/// The moments of one answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Schedule {
    tokens: Vec<Duration>,
    first: Duration,
}

impl Schedule {
    /// Draws the moments of `tokens` tokens, where `uncached` prompt tokens must be computed first.
    ///
    /// `ordinal` makes the requests of a server differ under one seed.
    pub(crate) fn draw(behaviour: &Behaviour, tokens: u32, uncached: u32, ordinal: u64) -> Self {
        let mut random = SmallRng::seed_from_u64(
            behaviour
                .seed
                .wrapping_add(ordinal.wrapping_mul(0x9E37_79B9)),
        );
        let mut vary = |milliseconds: f64| {
            let factor = if behaviour.jitter > 0.0 {
                1.0 + behaviour.jitter * random.random_range(-1.0..=1.0)
            } else {
                1.0
            };
            Duration::try_from_secs_f64(milliseconds * factor / 1000.0).unwrap_or_default()
        };
        let first = vary(
            behaviour.time_to_first_token_ms + behaviour.prefill_ms_per_token * f64::from(uncached),
        );
        let mut moment = first;
        let mut moments = Vec::new();
        for token in 0..tokens {
            if token > 0 {
                moment += vary(behaviour.inter_token_ms);
            }
            moments.push(moment);
        }
        Self {
            tokens: moments,
            first,
        }
    }

    /// When the token of this number, from 1, is there; the last token's moment for higher ones.
    pub(crate) fn token(&self, number: u32) -> Duration {
        let index = usize::try_from(number.saturating_sub(1)).unwrap_or(usize::MAX);
        self.tokens
            .get(index)
            .copied()
            .unwrap_or_else(|| self.end())
    }

    /// When the first token is there, or would be.
    pub(crate) fn first(&self) -> Duration {
        self.first
    }

    /// When everything is there.
    pub(crate) fn end(&self) -> Duration {
        self.tokens.last().copied().unwrap_or(self.first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_jitter_the_times_are_exact() {
        let behaviour = Behaviour {
            time_to_first_token_ms: 50.0,
            prefill_ms_per_token: 2.0,
            inter_token_ms: 10.0,
            ..Behaviour::default()
        };
        let schedule = Schedule::draw(&behaviour, 3, 5, 7);
        assert_eq!(schedule.first(), Duration::from_millis(60));
        assert_eq!(schedule.token(1), Duration::from_millis(60));
        assert_eq!(schedule.token(3), Duration::from_millis(80));
        assert_eq!(schedule.end(), Duration::from_millis(80));
        assert_eq!(
            Schedule::draw(&behaviour, 0, 5, 7).end(),
            Duration::from_millis(60)
        );
    }

    #[test]
    fn jitter_stays_within_its_share_and_the_seed_decides_it() {
        let behaviour = Behaviour {
            jitter: 0.5,
            inter_token_ms: 10.0,
            ..Behaviour::default()
        };
        let schedule = Schedule::draw(&behaviour, 1000, 0, 1);
        let gaps: Vec<f64> = schedule
            .tokens
            .windows(2)
            .map(|pair| (pair[1] - pair[0]).as_secs_f64() * 1000.0)
            .collect();
        assert!(gaps.iter().all(|gap| (5.0..=15.001).contains(gap)));
        assert!(gaps.iter().any(|gap| *gap < 6.0) && gaps.iter().any(|gap| *gap > 14.0));
        assert_eq!(schedule, Schedule::draw(&behaviour, 1000, 0, 1));
        assert_ne!(schedule, Schedule::draw(&behaviour, 1000, 0, 2));
    }
}

//! A simulated prefix cache: which leading blocks of a prompt were seen before.

use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

/// The prompts seen so far, as hashes of their leading blocks of tokens.
///
/// As in a real engine a block is found only when everything before it was the same, whole blocks count, and at
/// least one token of a prompt is always computed. When full, the oldest block goes.
#[derive(Debug)]
pub(crate) struct PrefixCache {
    block_tokens: usize,
    capacity_blocks: usize,
    known: HashSet<u64>,
    by_age: VecDeque<u64>,
}

impl PrefixCache {
    /// An empty cache of at most `capacity_blocks` blocks of `block_tokens` tokens; a capacity of 0 never hits.
    pub(crate) fn new(block_tokens: usize, capacity_blocks: usize) -> Self {
        Self {
            block_tokens: block_tokens.max(1),
            capacity_blocks,
            known: HashSet::new(),
            by_age: VecDeque::new(),
        }
    }

    /// How many of the leading tokens of `prompt` are cached; from now on all its whole blocks are.
    pub(crate) fn look_up_and_keep(&mut self, model: &str, prompt: &[u64]) -> u32 {
        let mut hasher = DefaultHasher::new();
        model.hash(&mut hasher);
        let mut cached_blocks = 0;
        let mut all_hits = true;
        for block in prompt.chunks_exact(self.block_tokens) {
            block.hash(&mut hasher);
            let is_known = self.keep(hasher.finish());
            all_hits = all_hits && is_known;
            if all_hits {
                cached_blocks += 1;
            }
        }
        let computable = prompt.len().saturating_sub(1) / self.block_tokens;
        u32::try_from(cached_blocks.min(computable) * self.block_tokens).unwrap_or(u32::MAX)
    }

    /// Whether the block was known; if not, it is now.
    fn keep(&mut self, block: u64) -> bool {
        if self.known.contains(&block) {
            return true;
        }
        if self.capacity_blocks == 0 {
            return false;
        }
        if self.by_age.len() >= self.capacity_blocks
            && let Some(oldest) = self.by_age.pop_front()
        {
            self.known.remove(&oldest);
        }
        self.known.insert(block);
        self.by_age.push_back(block);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(tokens: std::ops::Range<u64>) -> Vec<u64> {
        tokens.collect()
    }

    #[test]
    fn a_prompt_seen_before_is_cached_in_whole_blocks_but_never_whole() {
        let mut cache = PrefixCache::new(16, 1000);
        assert_eq!(cache.look_up_and_keep("m", &prompt(0..40)), 0);
        assert_eq!(cache.look_up_and_keep("m", &prompt(0..40)), 32);
        assert_eq!(cache.look_up_and_keep("m", &prompt(0..32)), 16);
        assert_eq!(cache.look_up_and_keep("m", &prompt(0..15)), 0);
        assert_eq!(cache.look_up_and_keep("m", &[]), 0);
    }

    #[test]
    fn only_the_common_beginning_counts_and_only_for_the_same_model() {
        let mut cache = PrefixCache::new(4, 1000);
        cache.look_up_and_keep("m", &prompt(0..12));
        let mut other_middle = prompt(0..12);
        other_middle[5] = 99;
        assert_eq!(cache.look_up_and_keep("m", &other_middle), 4);
        assert_eq!(cache.look_up_and_keep("other", &prompt(0..12)), 0);
    }

    #[test]
    fn when_full_the_oldest_block_goes() {
        let mut cache = PrefixCache::new(4, 2);
        cache.look_up_and_keep("m", &prompt(0..8));
        cache.look_up_and_keep("m", &prompt(100..104));
        assert_eq!(
            cache.look_up_and_keep("m", &prompt(0..9)),
            0,
            "its first block went"
        );
        let mut none = PrefixCache::new(4, 0);
        none.look_up_and_keep("m", &prompt(0..8));
        assert_eq!(none.look_up_and_keep("m", &prompt(0..8)), 0);
    }
}

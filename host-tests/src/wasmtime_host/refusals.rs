//! Faults on demand: which hostcalls answer with a given status in place of doing their work.

use std::collections::BTreeMap;

/// How often a refusal holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// The next so many calls.
    Next(u32),
    /// One call: the one after so many others.
    After(u32),
    /// Every call until it is accepted again.
    Always,
}

/// One standing refusal.
#[derive(Clone, Debug)]
struct Refusal {
    call: &'static str,
    /// Only this virtual machine, or all.
    vm: Option<u32>,
    times: Times,
    status: u32,
}

/// All standing refusals of the process.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    standing: Vec<Refusal>,
    made: BTreeMap<&'static str, u32>,
}

impl Refusals {
    pub(super) fn add(&mut self, call: &'static str, vm: Option<u32>, times: Times, status: u32) {
        self.standing.push(Refusal {
            call,
            vm,
            times,
            status,
        });
    }

    /// How often a call was made, refused or not.
    pub(super) fn made(&self, call: &str) -> u32 {
        self.made.get(call).copied().unwrap_or(0)
    }

    /// Ends every refusal of a call.
    pub(super) fn accept(&mut self, call: &str) {
        self.standing.retain(|refusal| refusal.call != call);
    }

    pub(super) fn accept_all(&mut self) {
        self.standing.clear();
    }

    /// The status that this call is to answer with, where it is refused.
    pub(super) fn take(&mut self, call: &'static str, vm: u32) -> Option<u32> {
        *self.made.entry(call).or_default() += 1;
        let concerned = self
            .standing
            .iter_mut()
            .filter(|refusal| refusal.call == call && refusal.vm.is_none_or(|only| only == vm));
        let mut status = None;
        for refusal in concerned {
            let applies = match &mut refusal.times {
                Times::Always => true,
                Times::Next(0) => false,
                Times::After(0) => {
                    refusal.times = Times::Next(0);
                    true
                }
                Times::After(left) => {
                    *left -= 1;
                    false
                }
                Times::Next(left) => {
                    *left -= 1;
                    true
                }
            };
            if applies {
                status = status.or(Some(refusal.status));
            }
        }
        status
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_ends_after_its_calls_and_holds_for_its_machine_only() {
        let mut refusals = Refusals::default();
        refusals.add("read", Some(1), Times::Next(2), 99);
        assert_eq!(refusals.take("read", 0), None);
        assert_eq!(refusals.take("write", 1), None);
        assert_eq!(refusals.take("read", 1), Some(99));
        assert_eq!(refusals.take("read", 1), Some(99));
        assert_eq!(refusals.take("read", 1), None);
    }

    #[test]
    fn a_refusal_can_wait_for_one_call_among_many() {
        let mut refusals = Refusals::default();
        refusals.add("read", None, Times::After(2), 8);
        let statuses: Vec<_> = (0..5).map(|_| refusals.take("read", 0)).collect();
        assert_eq!(statuses, [None, None, Some(8), None, None]);
    }

    #[test]
    fn a_lasting_refusal_ends_when_the_call_is_accepted() {
        let mut refusals = Refusals::default();
        refusals.add("read", None, Times::Always, 2);
        for _ in 0..3 {
            assert_eq!(refusals.take("read", 7), Some(2));
        }
        refusals.accept("read");
        assert_eq!(refusals.take("read", 7), None);
    }
}

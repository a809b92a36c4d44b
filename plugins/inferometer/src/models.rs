//! Which model names become label values, agreed on by all workers through shared data.

use std::rc::Rc;

use hostcalls::HostError;
use name_admission::Names;

const KEY: &str = "inferometer/1/models";

/// Stands for every name that is not admitted.
pub(crate) const OTHER: &str = "other";

/// Stands for a request that named no model.
pub(crate) const UNKNOWN: &str = "unknown";

/// This worker's copy of the list.
pub(crate) struct Models {
    names: Names,
    pinned: bool,
    /// The shared list was read since the last tick, so that a flood of unknown names costs one
    /// read a tick.
    fresh: bool,
}

impl Models {
    /// A list by the configuration's rules.
    pub(crate) fn new(allow: &[String], limit: usize) -> Models {
        Models {
            names: if allow.is_empty() {
                Names::open(limit)
            } else {
                Names::pinned(allow.iter().map(String::as_str))
            },
            pinned: !allow.is_empty(),
            fresh: false,
        }
    }

    /// The label value of a name that has not proved itself.
    pub(crate) fn known(&self, name: Option<&str>) -> Rc<str> {
        match name {
            None => Rc::from(UNKNOWN),
            Some(name) => self.names.find(name).unwrap_or_else(|| Rc::from(OTHER)),
        }
    }

    /// The label value of a name at the end of its request. Only one that the upstream accepted may
    /// bring a new name, so that junk in failed requests cannot fill the list.
    pub(crate) fn admit(
        &mut self,
        name: Option<&str>,
        accepted: bool,
    ) -> (Rc<str>, Option<HostError>) {
        let Some(name) = name else {
            return (Rc::from(UNKNOWN), None);
        };
        if let Some(known) = self.names.find(name) {
            return (known, None);
        }
        let error = match (self.pinned, accepted && self.names.has_room()) {
            (true, _) => None,
            (false, true) => self.propose(name).err(),
            (false, false) => self.refresh().err(),
        };
        (self.known(Some(name)), error)
    }

    /// From now on an unknown name may look at the shared list once more.
    pub(crate) fn tick(&mut self) {
        self.fresh = false;
    }

    fn refresh(&mut self) -> Result<(), HostError> {
        if !self.fresh && self.names.has_room() {
            self.fresh = true;
            if let Some((shared, _)) = hostcalls::shared_data(KEY)? {
                self.names.learn(&shared);
            }
        }
        Ok(())
    }

    fn propose(&mut self, name: &str) -> Result<(), HostError> {
        const ATTEMPTS: usize = 4;
        for _ in 0..ATTEMPTS {
            let cas = match hostcalls::shared_data(KEY)? {
                Some((shared, cas)) => {
                    self.names.learn(&shared);
                    cas
                }
                None => hostcalls::CREATE_IF_ABSENT,
            };
            if self.names.find(name).is_some() || !self.names.has_room() {
                return Ok(());
            }
            let proposal = self.names.encode_with(name);
            match hostcalls::set_shared_data(KEY, &proposal, cas) {
                Ok(()) => {
                    self.names.learn(&proposal);
                    return Ok(());
                }
                Err(error) if error.is_cas_mismatch() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

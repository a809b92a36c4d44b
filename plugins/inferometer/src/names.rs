//! Which names become values of a label, agreed on by all workers through shared data: one list a
//! kind of label.

use std::rc::Rc;

use name_admission::Names;
use plugin_config::Models;
use snapshot_slots::{CREATE_IF_ABSENT, SharedData, Written};

/// Stands for every name that is not admitted.
const OTHER: &str = "other";

/// The labels whose values are admitted one by one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Model,
    Objective,
    FairnessId,
    ModelRewrite,
    Destination,
}

/// The lists of one worker.
pub(crate) struct NameLists {
    models: SharedNames,
    objectives: SharedNames,
    fairness_ids: SharedNames,
    model_rewrites: SharedNames,
    destinations: SharedNames,
}

impl NameLists {
    /// Lists that know no name yet, that of the models by the configuration's rules.
    pub(crate) fn new(models: &Models) -> NameLists {
        NameLists {
            models: SharedNames::of_models(models),
            objectives: SharedNames::open("inferometer/1/inference_objectives", 100),
            fairness_ids: SharedNames::open("inferometer/1/inference_fairness_ids", 100),
            model_rewrites: SharedNames::open("inferometer/1/inference_model_rewrites", 100),
            destinations: SharedNames::open("inferometer/1/destination_endpoints", 1_000),
        }
    }

    /// Takes other rules for models.
    pub(crate) fn choose_models(&mut self, models: &Models) {
        self.models = SharedNames::of_models(models);
    }

    /// The list of one kind.
    pub(crate) fn of(&mut self, kind: Kind) -> &mut SharedNames {
        match kind {
            Kind::Model => &mut self.models,
            Kind::Objective => &mut self.objectives,
            Kind::FairnessId => &mut self.fairness_ids,
            Kind::ModelRewrite => &mut self.model_rewrites,
            Kind::Destination => &mut self.destinations,
        }
    }

    /// From now on an unknown name may look at its shared list once more.
    pub(crate) fn tick(&mut self) {
        for list in [
            &mut self.models,
            &mut self.objectives,
            &mut self.fairness_ids,
            &mut self.model_rewrites,
            &mut self.destinations,
        ] {
            list.is_fresh = false;
        }
    }
}

/// This worker's copy of the list of one kind of label.
pub(crate) struct SharedNames {
    /// Where the list is kept in shared data; nothing for a list that never learns.
    key: Option<&'static str>,
    names: Names,
    other: Rc<str>,
    /// The shared list was read since the last tick, so that a flood of unknown names costs one
    /// read a tick.
    is_fresh: bool,
}

impl SharedNames {
    /// The list under a key, which learns up to a limit.
    fn open(key: &'static str, limit: usize) -> SharedNames {
        SharedNames::of(Some(key), Names::open(limit))
    }

    /// The list of models: the first ones that are seen, or those of the configuration.
    fn of_models(models: &Models) -> SharedNames {
        if models.allow().is_empty() {
            SharedNames::open("inferometer/1/models", models.max())
        } else {
            let pinned = Names::pinned(models.allow().iter().map(String::as_str));
            SharedNames::of(None, pinned)
        }
    }

    fn of(key: Option<&'static str>, names: Names) -> SharedNames {
        SharedNames {
            key,
            names,
            other: Rc::from(OTHER),
            is_fresh: false,
        }
    }

    /// The label value of a name, as far as it is known here.
    pub(crate) fn shown(&self, name: &str) -> Rc<str> {
        let known = self.names.find(name);
        known.unwrap_or_else(|| Rc::clone(&self.other))
    }

    /// Looks for a name that is not known here, at the end of its request. Only one that the upstream
    /// accepted may bring a new name, so that junk in failed requests cannot fill the list.
    pub(crate) fn consider<D: SharedData>(
        &mut self,
        name: &str,
        accepted: bool,
        data: &mut D,
    ) -> Result<(), D::Error> {
        let Some(key) = self.key else {
            return Ok(());
        };
        if !self.names.has_room() || self.names.find(name).is_some() {
            return Ok(());
        }
        if accepted {
            self.propose(key, name, data)
        } else {
            self.refresh(key, data)
        }
    }

    fn refresh<D: SharedData>(&mut self, key: &str, data: &mut D) -> Result<(), D::Error> {
        if !self.is_fresh {
            self.is_fresh = true;
            if let Some((shared, _)) = data.get(key)? {
                self.names.learn(&shared);
            }
        }
        Ok(())
    }

    fn propose<D: SharedData>(
        &mut self,
        key: &str,
        name: &str,
        data: &mut D,
    ) -> Result<(), D::Error> {
        const ATTEMPTS: usize = 4;
        for _ in 0..ATTEMPTS {
            let cas = match data.get(key)? {
                Some((shared, cas)) => {
                    self.names.learn(&shared);
                    cas
                }
                None => CREATE_IF_ABSENT,
            };
            if self.names.find(name).is_some() || !self.names.has_room() {
                break;
            }
            let proposal = self.names.encode_with(name);
            if data.set(key, &proposal, cas)? == Written::Done {
                self.names.learn(&proposal);
                break;
            }
        }
        Ok(())
    }
}

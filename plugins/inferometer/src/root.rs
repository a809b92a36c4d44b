//! One root context: a listener's configuration, and the ticks that publish the worker's counts.

use std::rc::Rc;

use hostcalls::LogLevel;
use proxy_wasm::traits::{Context, HttpContext, RootContext};
use proxy_wasm::types::ContextType;

use crate::push::{self, Answer, SharedPusher};
use crate::settings::Settings;
use crate::stream::Stream;
use crate::worker::{self, SharedWorker};

/// A root context.
pub(crate) struct Root {
    id: u32,
    worker: SharedWorker,
    pusher: SharedPusher,
    /// Nothing where no configuration was ever good: such a root watches nothing.
    settings: Option<Rc<Settings>>,
}

impl Root {
    /// A root context that is not configured yet.
    pub(crate) fn new(id: u32) -> Root {
        Root {
            id,
            worker: worker::of_this_machine(),
            pusher: push::of_this_machine(),
            settings: None,
        }
    }

    /// Which plugin this root belongs to, across its updates.
    fn plugin_identity() -> Vec<u8> {
        let mut identity = Vec::new();
        for attribute in ["plugin_name", "plugin_root_id"] {
            if let Ok(Some(part)) = hostcalls::property(attribute) {
                identity.extend(part);
            }
            identity.push(0);
        }
        identity
    }
}

impl Context for Root {
    fn on_done(&mut self) -> bool {
        // The host goes on re-arming the timer of a deleted root; this stops it.
        let stopped = hostcalls::set_tick_period_millis(0);
        if let Ok(mut worker) = self.worker.try_borrow_mut() {
            worker.note(stopped);
            if let Ok(mut pusher) = self.pusher.try_borrow_mut() {
                pusher.root_ended(self.id, &mut worker);
            }
            worker.root_ended(self.id);
        }
        true
    }

    fn on_http_call_response(&mut self, token: u32, headers: usize, body: usize, trailers: usize) {
        let answer = Answer::read(headers, body, trailers);
        if let Ok(mut worker) = self.worker.try_borrow_mut()
            && let Ok(mut pusher) = self.pusher.try_borrow_mut()
        {
            pusher.answered(self.id, token, answer, &mut worker);
        }
    }
}

impl RootContext for Root {
    fn on_configure(&mut self, size: usize) -> bool {
        let bytes = match hostcalls::plugin_configuration(size) {
            Ok(bytes) => bytes.unwrap_or_default(),
            Err(error) => {
                hostcalls::log(
                    LogLevel::Error,
                    &format!("the configuration cannot be read ({error}); the defaults apply"),
                );
                Vec::new()
            }
        };
        if let Ok(mut worker) = self.worker.try_borrow_mut() {
            self.settings = worker.configure(self.id, &Root::plugin_identity(), &bytes);
            let period = hostcalls::set_tick_period_millis(worker.tick_period_millis());
            worker.note(period);
            if let Ok(mut pusher) = self.pusher.try_borrow_mut() {
                let config = self.settings.as_ref().map(|settings| &settings.config);
                pusher.configure(self.id, config, &mut worker);
            }
        }
        // A refusal would stop a proxy that starts with this configuration, and no metric is worth
        // that: a wrong configuration leaves the last good one in force, loudly.
        true
    }

    fn on_tick(&mut self) {
        if let Ok(mut worker) = self.worker.try_borrow_mut() {
            worker.tick();
            if let Ok(mut pusher) = self.pusher.try_borrow_mut() {
                pusher.tick(self.id, &mut worker);
            }
        }
    }

    fn create_http_context(&self, _context_id: u32) -> Option<Box<dyn HttpContext>> {
        Some(Box::new(Stream::new(
            Rc::clone(&self.worker),
            self.settings.clone(),
        )))
    }

    fn get_type(&self) -> Option<ContextType> {
        Some(ContextType::HttpContext)
    }
}

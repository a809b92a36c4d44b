//! One stream through a module: the callbacks in the order that a test chooses.

use std::rc::Rc;

use super::callbacks::{Callback, Callbacks};
use super::calls::Pairs;
use super::context::{LocalResponse, Phase, StreamContext};
use super::properties::{PropertyValue, path_of};
use super::vm::{SharedVm, VmBody};

/// What a module tells its host to do with the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Go on.
    Continue,
    /// Hold the stream.
    Pause,
}

/// A handle on a stream's context.
pub struct Stream {
    pub(super) body: SharedVm,
    pub(super) id: u32,
}

impl Stream {
    /// The request's headers, in the order given.
    pub fn request_headers<Name: AsRef<[u8]>, Value: AsRef<[u8]>>(
        &self,
        headers: &[(Name, Value)],
        end_of_stream: bool,
    ) -> Action {
        let headers = owned(headers);
        let count = counted(headers.len());
        let mut vm = self.body.borrow_mut();
        self.with(&mut vm, |stream| stream.request_headers = Some(headers));
        let arguments = (self.id, count, u32::from(end_of_stream));
        let call = ("proxy_on_request_headers", self.id, Phase::RequestHeaders);
        self.request(&mut vm, call, |c| &c.request_headers, arguments)
    }

    /// A chunk of the request's body.
    pub fn request_body(&self, chunk: &[u8], end_of_stream: bool) -> Action {
        let mut vm = self.body.borrow_mut();
        self.with(&mut vm, |stream| stream.chunk = Rc::from(chunk));
        let arguments = (self.id, counted(chunk.len()), u32::from(end_of_stream));
        let call = ("proxy_on_request_body", self.id, Phase::RequestBody);
        self.request(&mut vm, call, |c| &c.request_body, arguments)
    }

    /// The request's trailers.
    pub fn request_trailers<Name: AsRef<[u8]>, Value: AsRef<[u8]>>(
        &self,
        trailers: &[(Name, Value)],
    ) -> Action {
        let trailers = owned(trailers);
        let arguments = (self.id, counted(trailers.len()));
        let mut vm = self.body.borrow_mut();
        self.with(&mut vm, |stream| stream.request_trailers = Some(trailers));
        let call = ("proxy_on_request_trailers", self.id, Phase::RequestTrailers);
        self.request(&mut vm, call, |c| &c.request_trailers, arguments)
    }

    /// The response's headers; sets the attributes `response.code` and `response.code_details` as a
    /// proxy does, unless the test has set them.
    pub fn response_headers<Name: AsRef<[u8]>, Value: AsRef<[u8]>>(
        &self,
        headers: &[(Name, Value)],
        end_of_stream: bool,
    ) -> Action {
        let headers = owned(headers);
        let mut vm = self.body.borrow_mut();
        self.deliver_response_headers(&mut vm, headers, "via_upstream", end_of_stream)
    }

    /// A chunk of the response's body.
    pub fn response_body(&self, chunk: &[u8], end_of_stream: bool) -> Action {
        let mut vm = self.body.borrow_mut();
        self.deliver_response_body(&mut vm, chunk, end_of_stream)
    }

    /// The response's trailers.
    pub fn response_trailers<Name: AsRef<[u8]>, Value: AsRef<[u8]>>(
        &self,
        trailers: &[(Name, Value)],
    ) -> Action {
        let trailers = owned(trailers);
        let arguments = (self.id, counted(trailers.len()));
        let mut vm = self.body.borrow_mut();
        self.with(&mut vm, |stream| stream.response_trailers = Some(trailers));
        let call = (
            "proxy_on_response_trailers",
            self.id,
            Phase::ResponseTrailers,
        );
        self.response(&mut vm, call, |c| &c.response_trailers, arguments)
    }

    /// The log callback, with all headers readable that there were.
    pub fn log(&self) {
        let mut vm = self.body.borrow_mut();
        let call = ("proxy_on_log", self.id, Phase::Log);
        vm.invoke(call, |callbacks| &callbacks.log, self.id);
    }

    /// The done callback; what the module answers does not matter for a stream.
    pub fn done(&self) {
        let mut vm = self.body.borrow_mut();
        let call = ("proxy_on_done", self.id, Phase::Done);
        vm.invoke(call, |callbacks| &callbacks.done, self.id);
    }

    /// Deletes the context; a root whose configuration is gone ends with its last stream.
    pub fn delete(&self) {
        let mut vm = self.body.borrow_mut();
        let call = ("proxy_on_delete", self.id, Phase::Delete);
        vm.invoke(call, |callbacks| &callbacks.delete, self.id);
        let mut root_id = 0;
        self.with(&mut vm, |stream| root_id = stream.root);
        let state = vm.store.data_mut();
        state.contexts.remove(&self.id);
        if let Some(root) = state.root_mut(root_id) {
            root.streams = root.streams.saturating_sub(1);
        }
        vm.end_root_if_free(root_id);
    }

    /// The usual end: log, done, delete.
    pub fn end(&self) {
        self.log();
        self.done();
        self.delete();
    }

    /// The end where the proxy makes no log callback.
    pub fn end_without_log(&self) {
        self.done();
        self.delete();
    }

    /// Sets headers that only the log callback will show: the stream never reached this filter.
    pub fn set_logged_headers<Name: AsRef<[u8]>, Value: AsRef<[u8]>>(
        &self,
        request: &[(Name, Value)],
        response: &[(Name, Value)],
    ) {
        let mut vm = self.body.borrow_mut();
        self.with(&mut vm, |stream| {
            stream.request_headers = Some(owned(request));
            stream.response_headers = Some(owned(response));
        });
    }

    /// Sets an attribute by its dotted name, such as `upstream.address`.
    pub fn set(&self, dotted: &str, value: impl Into<PropertyValue>) {
        self.set_path(&dotted.split('.').collect::<Vec<_>>(), value);
    }

    /// Sets an attribute by the parts of its path, for parts that hold dots.
    pub fn set_path(&self, parts: &[&str], value: impl Into<PropertyValue>) {
        let mut vm = self.body.borrow_mut();
        let value = value.into();
        self.with(&mut vm, |stream| {
            stream.properties.insert(path_of(parts), value);
        });
    }

    /// What the module sent in the upstream's place.
    #[must_use]
    pub fn local_response(&self) -> Option<LocalResponse> {
        let mut vm = self.body.borrow_mut();
        let stream = vm.store.data_mut().stream_mut(self.id)?;
        stream.local_response.clone()
    }

    /// What the module wrote as an attribute.
    #[must_use]
    pub fn written_property(&self, path: &str) -> Option<Vec<u8>> {
        let mut vm = self.body.borrow_mut();
        let stream = vm.store.data_mut().stream_mut(self.id)?;
        stream.filter_state.get(path.as_bytes()).cloned()
    }

    fn with(&self, vm: &mut VmBody, change: impl FnOnce(&mut StreamContext)) {
        if let Some(stream) = vm.store.data_mut().stream_mut(self.id) {
            change(stream);
        }
    }

    fn request<Arguments: wasmtime::WasmParams>(
        &self,
        vm: &mut VmBody,
        call: (&'static str, u32, Phase),
        callback: impl FnOnce(&Callbacks) -> &Callback<Arguments, u32>,
        arguments: Arguments,
    ) -> Action {
        let action = self.act(vm, call, callback, arguments);
        let paused = action == Action::Pause;
        self.with(vm, |stream| stream.request_paused = paused);
        self.deliver_local_response(vm);
        action
    }

    fn response<Arguments: wasmtime::WasmParams>(
        &self,
        vm: &mut VmBody,
        call: (&'static str, u32, Phase),
        callback: impl FnOnce(&Callbacks) -> &Callback<Arguments, u32>,
        arguments: Arguments,
    ) -> Action {
        let action = self.act(vm, call, callback, arguments);
        let paused = action == Action::Pause;
        self.with(vm, |stream| stream.response_paused = paused);
        action
    }

    /// A module that failed or lacks the callback lets the stream pass.
    fn act<Arguments: wasmtime::WasmParams>(
        &self,
        vm: &mut VmBody,
        call: (&'static str, u32, Phase),
        callback: impl FnOnce(&Callbacks) -> &Callback<Arguments, u32>,
        arguments: Arguments,
    ) -> Action {
        let answer = vm.invoke(call, callback, arguments);
        self.with(vm, |stream| stream.chunk = Rc::default());
        match answer {
            None | Some(0) => Action::Continue,
            Some(_) => Action::Pause,
        }
    }

    fn deliver_response_headers(
        &self,
        vm: &mut VmBody,
        headers: Pairs,
        details: &str,
        end_of_stream: bool,
    ) -> Action {
        let arguments = (self.id, counted(headers.len()), u32::from(end_of_stream));
        self.with(vm, |stream| {
            let code = super::context::first_value(&headers, b":status")
                .and_then(|code| std::str::from_utf8(code).ok()?.parse::<i64>().ok());
            let properties = &mut stream.properties;
            if let Some(code) = code {
                let path = path_of(&["response", "code"]);
                properties.entry(path).or_insert(code.into());
            }
            let path = path_of(&["response", "code_details"]);
            properties.entry(path).or_insert(details.into());
            stream.response_headers = Some(headers);
        });
        let call = ("proxy_on_response_headers", self.id, Phase::ResponseHeaders);
        self.response(vm, call, |c| &c.response_headers, arguments)
    }

    fn deliver_response_body(&self, vm: &mut VmBody, chunk: &[u8], end_of_stream: bool) -> Action {
        self.with(vm, |stream| stream.chunk = Rc::from(chunk));
        let arguments = (self.id, counted(chunk.len()), u32::from(end_of_stream));
        let call = ("proxy_on_response_body", self.id, Phase::ResponseBody);
        self.response(vm, call, |c| &c.response_body, arguments)
    }

    /// An answer that the module sent passes through the module as a response, once.
    fn deliver_local_response(&self, vm: &mut VmBody) {
        let mut answer = None;
        self.with(vm, |stream| {
            if !stream.local_response_delivered && stream.response_headers.is_none() {
                answer.clone_from(&stream.local_response);
                stream.local_response_delivered = answer.is_some();
            }
        });
        let Some(answer) = answer else { return };
        let mut headers = answer.headers;
        let status = answer.status.to_string().into_bytes();
        headers.insert(0, (b":status".to_vec(), status));
        let has_body = !answer.body.is_empty();
        self.deliver_response_headers(vm, headers, &answer.details, !has_body);
        if has_body {
            self.deliver_response_body(vm, &answer.body, true);
        }
    }
}

fn owned<Name: AsRef<[u8]>, Value: AsRef<[u8]>>(pairs: &[(Name, Value)]) -> Pairs {
    pairs
        .iter()
        .map(|(name, value)| (name.as_ref().to_vec(), value.as_ref().to_vec()))
        .collect()
}

fn counted(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

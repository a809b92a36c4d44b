//! A root context: one plugin configuration in one virtual machine.

use std::rc::Rc;
use std::time::Duration;

use super::calls::HttpCallAnswer;
use super::context::{LocalResponse, Phase};
use super::stream::Stream;
use super::vm::{SharedVm, Vm};
use super::vm_state::CallAnswer;

/// A handle on a root context.
pub struct Root {
    pub(super) body: SharedVm,
    pub(super) id: u32,
    pub(super) accepted: bool,
}

impl Root {
    /// Whether the module took the configuration.
    #[must_use]
    pub fn accepted(&self) -> bool {
        self.accepted
    }

    /// The period of the timer; nothing while it is off or the root is gone.
    #[must_use]
    pub fn tick_period(&self) -> Option<Duration> {
        let mut body = self.body.borrow_mut();
        let timer = body.store.data_mut().root_mut(self.id)?.timer?;
        Some(Duration::from_nanos(timer.period))
    }

    /// Runs the root's tick now, whatever its timer says.
    pub fn tick(&self) {
        self.body.borrow_mut().tick(self.id);
    }

    /// Takes the configuration away. The root ends at once, or with the last stream that holds it.
    pub fn end(&self) {
        let mut body = self.body.borrow_mut();
        if let Some(root) = body.store.data_mut().root_mut(self.id) {
            root.released = true;
        }
        body.end_root_if_free(self.id);
    }

    /// Whether the root has been deleted.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.body
            .borrow_mut()
            .store
            .data_mut()
            .root_mut(self.id)
            .is_none()
    }

    /// Sends a GET for a path and answers with what the module sent in the upstream's place.
    #[must_use]
    pub fn get(&self, path: &str, accept: &str) -> Option<LocalResponse> {
        let vm = Vm {
            body: Rc::clone(&self.body),
        };
        let stream: Stream = vm.stream(self);
        let headers = [
            (":method", "GET"),
            (":scheme", "http"),
            (":authority", "scrape.local"),
            (":path", path),
            ("accept", accept),
        ];
        stream.request_headers(&headers, true);
        let answer = stream.local_response();
        stream.end();
        answer
    }

    /// The number that outbound calls name this root by.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.id
    }

    /// Answers an HTTP call of this root.
    pub fn answer_http_call(&self, token: u32, answer: HttpCallAnswer) {
        let [headers, trailers] =
            [&answer.headers, &answer.trailers].map(|pairs| counted(pairs.len()));
        let size = counted(answer.body.len());
        let mut vm = self.body.borrow_mut();
        vm.store.data_mut().call_answer = Some(CallAnswer {
            headers: answer.headers,
            body: answer.body,
            trailers: answer.trailers,
            ..CallAnswer::default()
        });
        let call = ("proxy_on_http_call_response", self.id, Phase::CallResponse);
        let arguments = (self.id, token, headers, size, trailers);
        vm.invoke(call, |callbacks| &callbacks.http_call_response, arguments);
        vm.store.data_mut().call_answer = None;
    }

    /// Answers a gRPC call of this root with a message.
    pub fn answer_grpc_call(&self, token: u32, message: &[u8]) {
        let size = counted(message.len());
        let mut vm = self.body.borrow_mut();
        vm.store.data_mut().call_answer = Some(CallAnswer {
            body: message.to_vec(),
            ..CallAnswer::default()
        });
        let call = ("proxy_on_grpc_receive", self.id, Phase::CallResponse);
        let arguments = (self.id, token, size);
        vm.invoke(call, |callbacks| &callbacks.grpc_receive, arguments);
        vm.store.data_mut().call_answer = None;
    }

    /// Ends a gRPC call of this root with a status.
    pub fn close_grpc_call(&self, token: u32, status: u32, message: &str) {
        let mut vm = self.body.borrow_mut();
        vm.store.data_mut().call_answer = Some(CallAnswer {
            grpc_status: status,
            grpc_message: message.as_bytes().to_vec(),
            ..CallAnswer::default()
        });
        let call = ("proxy_on_grpc_close", self.id, Phase::CallResponse);
        let arguments = (self.id, token, status);
        vm.invoke(call, |callbacks| &callbacks.grpc_close, arguments);
        vm.store.data_mut().call_answer = None;
    }
}

fn counted(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

//! The wasmtime host keeps to the rules of the real one, shown with modules of a few instructions.
#![allow(
    clippy::unwrap_used,
    clippy::arithmetic_side_effects,
    reason = "this file is a test"
)]

#[path = "wasmtime_support/leb128.rs"]
mod leb128;
#[path = "wasmtime_support/tiny_module.rs"]
mod tiny_module;

use std::time::Duration;

use host_tests::wasmtime_host::{
    Action, CompiledModule, Host, HostOptions, Root, RootOptions, Times, Vm, VmOptions, status,
};
use tiny_module::Code::{Argument, Call, Const, Drop, Load, LoopForEver, Unreachable};
use tiny_module::{Code, I32, I64, TinyModule};

/// Where a hostcall's results are put, and what the tiny allocator hands out.
const DATA_AT: i32 = 512;
const SIZE_AT: i32 = 516;
const ALLOCATED_AT: i32 = 1024;
/// Where texts are placed.
const TEXT_AT: i32 = 64;

/// A module whose allocator always hands out the same place.
fn with_allocator() -> TinyModule {
    TinyModule::default()
}

fn finish(mut module: TinyModule) -> CompiledModule {
    module.export("malloc", 1, 1, &[Const(ALLOCATED_AT)]);
    CompiledModule::from_bytes(&module.bytes()).unwrap()
}

fn host() -> Host {
    Host::new(&HostOptions::default())
}

fn start(host: &Host, module: &CompiledModule) -> (Vm, Root) {
    let vm = host.vm(module, VmOptions::default()).unwrap();
    let root = vm.root(RootOptions::configured("configuration"));
    assert_eq!(vm.failure(), None);
    (vm, root)
}

fn log(host: &Host) -> Vec<String> {
    host.take_log().into_iter().map(|line| line.text).collect()
}

/// Calls a hostcall that hands bytes over, then logs what it got.
fn log_result_of(log: u32, call: &[Code]) -> Vec<Code> {
    let mut code = call.to_vec();
    code.extend([Drop, Const(2), Const(DATA_AT), Load, Const(SIZE_AT), Load]);
    code.extend([Call(log), Drop, Const(0)]);
    code
}

/// Logs `:path` in the given callback.
fn path_logger(callback: &str, arguments: usize) -> CompiledModule {
    let mut module = with_allocator();
    let log = module.import_env("proxy_log", 3);
    let header = module.import_env("proxy_get_header_map_value", 5);
    module.place(TEXT_AT.unsigned_abs(), b":path");
    let get = [
        Const(0),
        Const(TEXT_AT),
        Const(5),
        Const(DATA_AT),
        Const(SIZE_AT),
        Call(header),
    ];
    module.export(callback, arguments, 1, &log_result_of(log, &get));
    finish(module)
}

#[test]
fn bytes_are_handed_over_through_the_modules_allocator() {
    let host = host();
    let (vm, root) = start(&host, &path_logger("proxy_on_request_headers", 3));
    let stream = vm.stream(&root);
    let path = b"/v1/\xffpath".as_slice();
    let action = stream.request_headers(&[(b":path".as_slice(), path)], true);
    assert_eq!(action, Action::Continue);
    assert_eq!(log(&host), ["/v1/\u{fffd}path"]);
    assert_eq!(vm.latest().count("proxy_get_header_map_value"), 1);
    assert_eq!(vm.failure(), None);
}

#[test]
fn a_header_map_that_a_callback_may_not_read_gives_nothing() {
    let host = host();
    let (vm, root) = start(&host, &path_logger("proxy_on_response_headers", 3));
    let stream = vm.stream(&root);
    stream.request_headers(&[(":path", "/v1")], true);
    stream.response_headers(&[(":status", "200")], true);
    assert_eq!(log(&host), [""], "the status was an error, so nothing came");
}

#[test]
fn the_configuration_is_readable_in_its_own_callback() {
    let mut module = with_allocator();
    let log_call = module.import_env("proxy_log", 3);
    let buffer = module.import_env("proxy_get_buffer_bytes", 5);
    let get = [
        Const(7),
        Const(0),
        Argument(1),
        Const(DATA_AT),
        Const(SIZE_AT),
        Call(buffer),
    ];
    let mut code = log_result_of(log_call, &get);
    code.extend([Drop, Const(1)]);
    module.export("proxy_on_configure", 2, 1, &code);
    let host = host();
    let (_vm, root) = start(&host, &finish(module));
    assert!(root.accepted());
    assert_eq!(log(&host), ["configuration"]);
}

#[test]
fn an_import_that_the_host_lacks_is_named() {
    let mut module = with_allocator();
    module.import_env("proxy_log", 3);
    module.import_env("proxy_unheard_of", 1);
    module.import("wasi_snapshot_preview1", "path_open", &[I32, I64], &[I32]);
    module.import("env", "clock_time_get", &[I32, I64, I32], &[I32]);
    let refusal = host().vm(&finish(module), VmOptions::default()).err();
    assert_eq!(
        refusal.unwrap().to_string(),
        "the module imports what this host does not have: env.proxy_unheard_of, \
         wasi_snapshot_preview1.path_open, env.clock_time_get"
    );
}

#[test]
fn a_module_that_does_not_speak_the_abi_is_refused() {
    let bytes = b"\0asm\x01\0\0\0";
    let module = CompiledModule::from_bytes(bytes).unwrap();
    let refusal = host().vm(&module, VmOptions::default()).err().unwrap();
    assert!(refusal.to_string().contains("proxy_abi_version"));
}

#[test]
fn a_trap_ends_every_context_of_its_machine_and_no_other() {
    let mut module = with_allocator();
    let log_call = module.import_env("proxy_log", 3);
    module.export("proxy_on_request_headers", 3, 1, &[Unreachable]);
    let line = [Const(2), Const(0), Const(0), Call(log_call), Drop, Const(0)];
    module.export("proxy_on_response_headers", 3, 1, &line);
    let module = finish(module);
    let host = host();
    let (first, first_root) = start(&host, &module);
    let (second, second_root) = start(&host, &module);
    host.set_shared_data("inferometer", "key", b"value");

    let bystander = first.stream(&first_root);
    let victim = first.stream(&first_root);
    let action = victim.request_headers(&[(":path", "/")], true);
    assert_eq!(action, Action::Continue, "a failed machine lets pass");
    let failure = first.failure().unwrap();
    assert!(failure.contains("proxy_on_request_headers"), "{failure}");

    bystander.response_headers(&[(":status", "200")], true);
    first_root.tick();
    assert!(log(&host).is_empty(), "nothing of that machine runs again");
    let stream = second.stream(&second_root);
    stream.response_headers(&[(":status", "200")], true);
    assert_eq!(log(&host).len(), 1);
    assert_eq!(
        host.shared_data("inferometer", "key"),
        Some(b"value".to_vec())
    );
}

#[test]
fn an_endless_loop_runs_out_of_fuel() {
    let mut module = with_allocator();
    module.export("proxy_on_tick", 1, 0, &[LoopForEver]);
    let host = host();
    let options = VmOptions {
        fuel_per_callback: 10_000,
        ..VmOptions::default()
    };
    let vm = host.vm(&finish(module), options).unwrap();
    let root = vm.root(RootOptions::default());
    root.tick();
    assert!(vm.failure().unwrap().contains("fuel"));
    assert_eq!(vm.latest().fuel, 10_000);
}

/// Ticks every 100 ms and logs each tick.
fn ticking() -> CompiledModule {
    let mut module = with_allocator();
    let log_call = module.import_env("proxy_log", 3);
    let period = module.import_env("proxy_set_tick_period_milliseconds", 1);
    module.export(
        "proxy_on_configure",
        2,
        1,
        &[Const(100), Call(period), Drop, Const(1)],
    );
    let line = [Const(2), Const(0), Const(0), Call(log_call), Drop];
    module.export("proxy_on_tick", 1, 0, &line);
    finish(module)
}

#[test]
fn timers_run_by_the_time_that_passes_and_not_by_the_clocks_shown() {
    let host = host();
    let (_vm, root) = start(&host, &ticking());
    assert_eq!(root.tick_period(), Some(Duration::from_millis(100)));
    host.run_for(Duration::from_millis(99));
    assert_eq!(log(&host).len(), 0);
    host.run_for(Duration::from_millis(1));
    assert_eq!(log(&host).len(), 1);
    host.set_monotonic_nanos(5);
    host.run_for(Duration::from_secs(1));
    assert_eq!(log(&host).len(), 10);
    assert_eq!(host.monotonic_nanos(), 5 + 1_000_000_000);
}

#[test]
fn a_stalled_machine_ticks_once_for_all_it_missed() {
    let host = host();
    let (vm, _root) = start(&host, &ticking());
    vm.stall();
    host.run_for(Duration::from_secs(5));
    assert_eq!(log(&host).len(), 0);
    vm.resume();
    host.run_for(Duration::ZERO);
    assert_eq!(log(&host).len(), 1);
    host.run_for(Duration::from_millis(100));
    assert_eq!(log(&host).len(), 1);
}

#[test]
fn a_refused_hostcall_does_nothing_for_as_long_as_it_is_refused() {
    let host = host();
    let (first, first_root) = start(&host, &ticking());
    let (_second, second_root) = start(&host, &ticking());
    first.refuse("proxy_log", Times::Next(2), 99);
    for _ in 0..3 {
        first_root.tick();
        second_root.tick();
    }
    let by_first = host.take_log().iter().filter(|line| line.vm == 0).count();
    assert_eq!(by_first, 1);
    host.refuse("proxy_log", Times::Always, status::INTERNAL_FAILURE);
    second_root.tick();
    assert!(host.log().is_empty());
    host.accept("proxy_log");
    second_root.tick();
    assert_eq!(host.log().len(), 1);
}

#[test]
fn a_root_lives_as_long_as_its_streams() {
    let mut module = with_allocator();
    let log_call = module.import_env("proxy_log", 3);
    let line = [Const(2), Const(0), Const(0), Call(log_call), Drop, Const(1)];
    module.export("proxy_on_done", 1, 1, &line);
    let host = host();
    let (vm, root) = start(&host, &finish(module));
    let stream = vm.stream(&root);
    root.end();
    assert!(!root.is_gone());
    assert!(log(&host).is_empty(), "the root must not be done yet");
    stream.end_without_log();
    assert!(root.is_gone());
    assert_eq!(log(&host).len(), 2, "the stream is done, then the root");
}

#[test]
fn a_root_that_asks_for_time_stays_until_it_says_done() {
    let mut module = with_allocator();
    let done = module.import_env("proxy_done", 0);
    module.export("proxy_on_done", 1, 1, &[Const(0)]);
    module.export("proxy_on_tick", 1, 0, &[Call(done), Drop]);
    let host = host();
    let (_vm, root) = start(&host, &finish(module));
    root.tick();
    root.end();
    assert!(!root.is_gone());
    root.tick();
    assert!(root.is_gone());
}

#[test]
fn a_local_response_passes_the_modules_own_response_callbacks_once() {
    let mut module = with_allocator();
    let log_call = module.import_env("proxy_log", 3);
    let send = module.import_env("proxy_send_local_response", 8);
    module.place(TEXT_AT.unsigned_abs(), b"answer");
    let send_it = [
        Const(418),
        Const(0),
        Const(0),
        Const(TEXT_AT),
        Const(6),
        Const(0),
        Const(0),
        Const(-1),
        Call(send),
        Drop,
        Const(1),
    ];
    module.export("proxy_on_request_headers", 3, 1, &send_it);
    let line = [Const(2), Const(TEXT_AT), Argument(1), Call(log_call), Drop];
    for callback in ["proxy_on_response_headers", "proxy_on_response_body"] {
        let code: Vec<Code> = line.into_iter().chain([Const(0)]).collect();
        module.export(callback, 3, 1, &code);
    }
    let host = host();
    let (vm, root) = start(&host, &finish(module));
    let stream = vm.stream(&root);
    let action = stream.request_headers(&[(":path", "/")], true);
    assert_eq!(action, Action::Pause);
    let answer = stream.local_response().unwrap();
    assert_eq!((answer.status, answer.text().as_str()), (418, "answer"));
    // One header, then a body of six bytes.
    assert_eq!(log(&host), ["a", "answer"]);
}

#[test]
fn a_hostcall_from_the_allocator_is_a_trap() {
    let mut module = with_allocator();
    let header = module.import_env("proxy_get_header_map_value", 5);
    let done = module.import_env("proxy_done", 0);
    module.place(TEXT_AT.unsigned_abs(), b":path");
    let get = [
        Const(0),
        Const(TEXT_AT),
        Const(5),
        Const(DATA_AT),
        Const(SIZE_AT),
        Call(header),
    ];
    module.export("proxy_on_request_headers", 3, 1, &get);
    module.export("malloc", 1, 1, &[Call(done)]);
    let module = CompiledModule::from_bytes(&module.bytes()).unwrap();
    let host = host();
    let (vm, root) = start(&host, &module);
    let stream = vm.stream(&root);
    stream.request_headers(&[(":path", "/")], true);
    assert!(vm.failure().unwrap().contains("restricted_callback"));
}

#[test]
fn two_hosts_share_nothing() {
    let (one, other) = (host(), host());
    one.set_shared_data("inferometer", "key", b"value");
    one.refuse("proxy_log", Times::Always, 99);
    assert_eq!(other.shared_data("inferometer", "key"), None);
    let (_vm, root) = start(&other, &ticking());
    root.tick();
    assert_eq!(other.log().len(), 1);
}

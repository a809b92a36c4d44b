//! Runs a real Envoy: it serves, follows its listener file, stops, and dies with the program that started it.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::arithmetic_side_effects,
    reason = "a test fails by panicking"
)]

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use envoy_harness::{EnvoyBinary, EnvoyOptions, EnvoyProcess, Listener};

/// Set in the copy of this test that is to be killed: the file into which it writes its Envoy's process id.
const VICTIM_VARIABLE: &str = "ENVOY_HARNESS_TEST_VICTIM";

fn binary() -> EnvoyBinary {
    let tools = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/tools");
    envoy_harness::locate(Some(envoy_harness::NEWEST), &tools, &mut |line| {
        println!("{line}")
    })
    .unwrap()
}

fn replying() -> EnvoyOptions {
    let mut options = EnvoyOptions::new();
    options.listeners.push(Listener::replying("reply", 204));
    options
}

async fn status_of(address: SocketAddr) -> String {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    stream
        .write_all(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        .await
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer.lines().next().unwrap_or_default().to_owned()
}

fn is_alive(process_id: u32) -> bool {
    Command::new("kill")
        .args(["-0", &process_id.to_string()])
        .stderr(Stdio::null())
        .status()
        .unwrap()
        .success()
}

fn wait_until_gone(process_id: u32) {
    let deadline = Instant::now() + Duration::from_secs(5);
    while is_alive(process_id) {
        assert!(
            Instant::now() < deadline,
            "Envoy {process_id} was left behind"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[tokio::test]
async fn an_envoy_serves_and_ends_when_told() {
    let mut envoy = EnvoyProcess::start(&binary(), &replying()).unwrap();
    envoy.wait_ready(Duration::from_secs(20)).await.unwrap();
    let address = envoy.listener_address("reply").await.unwrap();
    assert_eq!(status_of(address).await, "HTTP/1.1 204 No Content");
    assert!(
        envoy
            .admin_get("/stats")
            .await
            .unwrap()
            .contains("server.live: 1")
    );
    let process_id = envoy.process_id();
    let log = envoy.stop().await.unwrap();
    assert!(log.contains("starting main dispatch loop"), "{log}");
    assert!(!is_alive(process_id));
}

#[tokio::test]
async fn a_dropped_envoy_is_killed() {
    let mut envoy = EnvoyProcess::start(&binary(), &replying()).unwrap();
    envoy.wait_ready(Duration::from_secs(20)).await.unwrap();
    let process_id = envoy.process_id();
    drop(envoy);
    wait_until_gone(process_id);
}

#[tokio::test]
async fn listeners_from_a_file_come_and_go() {
    let mut options = replying();
    options.dynamic_listeners = true;
    let mut envoy = EnvoyProcess::start(&binary(), &options).unwrap();
    envoy.wait_ready(Duration::from_secs(20)).await.unwrap();
    let first = envoy.listener_address("reply").await.unwrap();
    let both = [
        Listener::replying("reply", 204),
        Listener::replying("late", 418),
    ];
    envoy.set_listeners(&both).unwrap();
    let late = wait_for_listener(&envoy, "late").await;
    assert_eq!(status_of(late).await, "HTTP/1.1 418 Unknown");
    envoy.set_listeners(&both[..1]).unwrap();
    let deadline = Instant::now() + Duration::from_secs(5);
    while tokio::net::TcpStream::connect(late).await.is_ok() {
        assert!(
            Instant::now() < deadline,
            "the removed listener still accepts"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(status_of(first).await, "HTTP/1.1 204 No Content");
    envoy.stop().await.unwrap();
}

async fn wait_for_listener(envoy: &EnvoyProcess, name: &str) -> SocketAddr {
    let deadline = Instant::now() + Duration::from_secs(5);
    loop {
        match envoy.listener_address(name).await {
            Ok(address) => return address,
            Err(error) => assert!(Instant::now() < deadline, "{error:#}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_refused_configuration_tells_envoys_reason() {
    let options = EnvoyOptions::new();
    let mut envoy = EnvoyProcess::start_with(&binary(), &options, "nonsense: true").unwrap();
    let error = envoy.wait_ready(Duration::from_secs(20)).await.unwrap_err();
    assert!(format!("{error:#}").contains("nonsense"), "{error:#}");
    let error = envoy_harness::validate(&binary(), "nonsense: true")
        .await
        .unwrap_err();
    assert!(format!("{error:#}").contains("nonsense"), "{error:#}");
    let accepted = replying().bootstrap(Path::new("/nowhere")).to_string();
    envoy_harness::validate(&binary(), &accepted).await.unwrap();
}

/// What the copy of this program does that is to be killed: it starts an Envoy, tells its number and waits.
async fn start_an_envoy_and_wait(report: PathBuf) {
    let mut envoy = EnvoyProcess::start(&binary(), &replying()).unwrap();
    envoy.wait_ready(Duration::from_secs(20)).await.unwrap();
    let partial = report.with_extension("partial");
    std::fs::write(&partial, envoy.process_id().to_string()).unwrap();
    std::fs::rename(&partial, &report).unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
}

#[tokio::test]
async fn an_envoy_dies_with_a_program_that_is_killed() {
    if let Some(report) = std::env::var_os(VICTIM_VARIABLE) {
        start_an_envoy_and_wait(PathBuf::from(report)).await;
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("process-id");
    let mut program = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "an_envoy_dies_with_a_program_that_is_killed"])
        .env(VICTIM_VARIABLE, &report)
        // What is killed cannot tidy up, so its files go with this test's own.
        .env("TMPDIR", folder.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while !report.exists() {
        assert!(
            Instant::now() < deadline,
            "the program to be killed did not start its Envoy"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let envoy: u32 = std::fs::read_to_string(&report).unwrap().parse().unwrap();
    assert!(is_alive(envoy));
    program.kill().unwrap();
    program.wait().unwrap();
    wait_until_gone(envoy);
}

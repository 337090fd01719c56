//! The gateway as a program: how often it tries a request again, and what takes a backend out.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

use sojourn_bed::Child;

use crate::sojourn::{PROGRAM, await_that, sojourn, stderr};

/// Answers health checks, and breaks off every request; it ends with the test.
fn breaking() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().filter_map(Result::ok) {
            let mut reader = BufReader::new(stream);
            let mut head = String::new();
            while reader.read_line(&mut head).is_ok_and(|read| read > 2) {}
            if head.starts_with("GET /health ") {
                let _ = reader.get_mut().write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
            }
        }
    });
    address
}

fn gateway(more: &[&str], backends: &[SocketAddr]) -> Child {
    let backends: Vec<String> = backends.iter().map(|address| format!("--backend={address}")).collect();
    let backends = backends.iter().map(String::as_str);
    let arguments = ["gateway", "--child"].into_iter().chain(backends).chain(more.iter().copied());
    Child::spawn(Path::new(PROGRAM), arguments, Duration::from_secs(20)).unwrap()
}

/// What the gateway answers to these bytes, to the end of the connection.
fn ask(gateway: &Child, text: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", gateway.port())).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    reply
}

const GET: &str = "GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";

#[test]
fn a_request_is_tried_again_as_often_as_the_flag_says() {
    let backends = [breaking(), breaking(), breaking()];
    for (retries, tried) in [("0", 0), ("2", 2), ("9", 2)] {
        let gateway = gateway(&["--retries", retries], &backends);
        assert!(ask(&gateway, GET).starts_with("HTTP/1.1 502 "));
        assert_eq!(gateway.stop().pop().unwrap()["retried"], tried, "--retries {retries}");
    }
}

#[test]
fn a_backend_is_out_after_as_many_failures_as_the_flag_says() {
    let gateway = gateway(&["--retries", "0", "--fall", "2"], &[breaking()]);
    let downs = || gateway.events().iter().filter(|event| event["event"] == "backend_down").count();
    assert!(ask(&gateway, GET).starts_with("HTTP/1.1 502 "));
    assert_eq!(downs(), 0);
    assert!(ask(&gateway, GET).starts_with("HTTP/1.1 502 "));
    await_that("it is out", || downs() == 1);
}

#[test]
fn a_head_takes_no_longer_than_the_flag_says() {
    let gateway = gateway(&["--head-timeout", "100 ms"], &[breaking()]);
    assert!(ask(&gateway, "GET / HTTP/1.1\r\nhost").starts_with("HTTP/1.1 408 "));
    let refused = sojourn(&["gateway", "--backend", "127.0.0.1:9", "--head-timeout", "0 s"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("--head-timeout: a head takes some time"), "{}", stderr(&refused));
}

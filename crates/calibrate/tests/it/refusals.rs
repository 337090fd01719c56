//! What cannot be measured is refused, in one line that says why.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use sojourn_calibrate::{CalibrateError, Settings, Target, calibrate};
use sojourn_part::settings::node::NodeSettings;
use sojourn_web::Node;

use crate::support::{beside_others, brief, node};

fn refused(url: &str, settings: &Settings, cancelled: bool) -> CalibrateError {
    let target = Target::parse(url, &[], None).unwrap();
    let error = calibrate(&target, settings, &|_| {}, &Arc::new(AtomicBool::new(cancelled))).unwrap_err();
    assert_eq!(error.to_string().lines().count(), 1, "{error}");
    error
}

#[test]
fn a_server_that_answers_with_errors_is_refused() {
    let _machine = beside_others();
    let node = Node::start(NodeSettings::new("node")).unwrap();
    let error = refused(&format!("http://{}/nothing-here", node.address()), &brief(1), false);
    assert!(error.to_string().contains("status 4xx"), "{error}");
}

#[test]
fn a_page_that_costs_nothing_is_refused() {
    let _machine = beside_others();
    let node = Node::start(NodeSettings::new("node")).unwrap();
    let settings = Settings { rate_max: 10_000.0, ..brief(1) };
    let error = refused(&format!("http://{}/bytes/10", node.address()), &settings, false);
    // Whichever limit this machine meets first.
    assert!(matches!(error, CalibrateError::Refused(_)), "{error}");
}

#[test]
fn a_rate_above_the_allowed_is_refused() {
    let _machine = beside_others();
    let node = node("discipline = \"fcfs\"\ndemand = \"5 ms\"");
    let settings = Settings { rate_max: 100.0, ..brief(1) };
    let error = refused(&format!("http://{}/work", node.address()), &settings, false);
    assert!(error.to_string().contains("--rate-max"), "{error}");
}

#[test]
fn nobody_listening_and_being_cancelled_are_said() {
    let _machine = beside_others();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = refused(&format!("http://{closed}/"), &brief(1), false);
    assert!(matches!(error, CalibrateError::Load(_)), "{error}");
    let node = node("discipline = \"fcfs\"\ndemand = \"5 ms\"");
    let error = refused(&format!("http://{}/work", node.address()), &brief(1), true);
    assert!(matches!(error, CalibrateError::Interrupted), "{error}");
}

#[test]
fn a_target_that_makes_no_sense_is_refused() {
    let _machine = beside_others();
    let wrong = |url: &str, xs: &[u64], at: Option<u64>, words: &str| {
        let error = Target::parse(url, xs, at).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    };
    wrong("http://127.0.0.1/a", &[1, 2], None, "has no place for it");
    wrong("http://127.0.0.1/{x}", &[5], None, "at least 2");
    wrong("http://127.0.0.1/{x}", &[5, 6], Some(7), "--at 7");
    wrong("http://127.0.0.1/{x}{size}", &[5, 6], None, "not both");
    wrong("gopher://127.0.0.1/", &[], None, "http://");
}

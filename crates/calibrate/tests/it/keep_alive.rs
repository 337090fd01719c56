//! Whether an idle connection holds a helper is found on real servers of which it is known.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::AtomicBool;

use sojourn_calibrate::{CalibrateError, KeepAlive, Settings, Target, keep_alive};
use sojourn_part::program::Program;
use sojourn_stats::Span;

use crate::skip::skipped;
use crate::support::{beside_others, node};

const IDLE: Span = Span(5_000_000);

fn found(url: &str, most: u32) -> Result<KeepAlive, CalibrateError> {
    let target = Target::parse(url, &[], None).unwrap();
    keep_alive(&target, &Settings::default(), 0, IDLE, most, &AtomicBool::new(false))
}

#[test]
fn a_process_per_connection_is_held_by_idle_ones_and_an_event_loop_is_not() {
    let _machine = beside_others();
    let site = tempfile::tempdir().unwrap();
    fs::set_permissions(site.path(), Permissions::from_mode(0o755)).unwrap();
    fs::write(site.path().join("page.txt"), "x".repeat(2000)).unwrap();
    for (text, expected) in [
        ("apache-prefork(workers = 4, keep_alive = 60 s)", KeepAlive::HoldsHelper(4)),
        ("apache-event(processes = 1, threads = 4, keep_alive = 60 s)", KeepAlive::Free(6)),
        ("nginx(workers = 1, keep_alive = 60 s)", KeepAlive::Free(6)),
        ("apache-prefork(workers = 4, keep_alive = 0 s)", KeepAlive::Closed),
        ("fork", KeepAlive::Closed),
    ] {
        let program = Program::parse(text, site.path()).unwrap();
        if let Err(missing) = program.kind.installed() {
            skipped(missing);
            continue;
        }
        let running = program.start().unwrap();
        let found = found(&format!("http://{}/page.txt", running.address()), 6);
        assert_eq!(found.unwrap_or_else(|error| panic!("{text}: {error}")), expected, "{text}");
    }
}

#[test]
fn an_emulated_node_serves_beside_idle_connections() {
    let _machine = beside_others();
    let node = node("discipline = \"limited-ps\"\nhelpers = 4\ndemand = \"5 ms\"");
    assert_eq!(found(&format!("http://{}/work", node.address()), 6).unwrap(), KeepAlive::Free(6));
    let error = found(&format!("http://{}/nothing-here", node.address()), 6).unwrap_err().to_string();
    assert!(error.contains("status 404"), "{error}");
}

//! `sojourn conform`: what it says, and how it ends.

use std::fs;

use sojourn_bed::install;

use crate::programs::is_missing;
use crate::sojourn::{command, sojourn, stderr, stdout};

#[test]
fn a_product_is_held_to_its_rule() {
    if is_missing("haproxy") {
        return;
    }
    let output = sojourn(&["conform", "haproxy", "leastconn", "--weights", "1,2,3,5", "--choices", "60"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = stdout(&output);
    assert!(said.starts_with("HAProxy ") && said.contains("60 of 60 choices are equal"), "{said}");
    // Another rule than its own: the first difference, with what was in flight.
    let output = sojourn(&["conform", "haproxy", "default", "--rules-of", "3.3"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let said = stdout(&output);
    assert!(said.contains("choices are equal, then not; choice ") && said.contains("in flight"), "{said}");
    let output = sojourn(&["conform", "haproxy", "leastconn", "--choices", "10", "--json"]);
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&found["holds"], &found["found"]["equal"]), (&true.into(), &10.into()));
}

/// One line each: what, and what would be right.
#[test]
fn bad_input_of_conform_is_refused() {
    let cases: [(&[&str], i32, &str); 6] = [
        (&["apache", "leastconn"], 2, "unknown product `apache`; known are haproxy, nginx, envoy"),
        (&["haproxy", "leastconn", "--weights", "1,0"], 2, "it is a whole number of 1 or more"),
        (&["haproxy", "leastconn", "--choices", "0"], 2, "it is a whole number of at least 1"),
        (&["haproxy", "leastconn", "--program", "/nowhere"], 2, "/nowhere: there is no such program"),
        (&["haproxy", "leastconn", "--program", "/bin/true"], 2, "/bin/true is no HAProxy"),
        (&["envoy", "leastconn", "--show-config"], 2, "`leastconn` is none of its rules"),
    ];
    for (words, code, part) in cases {
        let output = sojourn(&[&["conform"], words].concat());
        assert_eq!(output.status.code(), Some(code), "{words:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(part), "{words:?}: {}", stderr(&output));
    }
    if is_missing("haproxy") {
        return;
    }
    let output = sojourn(&["conform", "haproxy", "leastconn", "--rules-of", "1.5"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("those of 2.4 to 3.4 are, and 2.4 is the nearest"), "{}", stderr(&output));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("haproxy");
    install(&path, "#!/bin/sh\n[ \"$1\" = -v ] && exec haproxy -v\necho 'unknown keyword' >&2\nexit 1\n").unwrap();
    let output = sojourn(&["conform", "haproxy", "leastconn", "--program", &path.display().to_string()]);
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(stderr(&output), "sojourn: HAProxy did not start: haproxy refuses its configuration: unknown keyword\n");
}

#[test]
fn nothing_of_a_product_is_left_behind() {
    if is_missing("nginx") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut conform = command(&["conform", "nginx", "round-robin", "--choices", "10"]);
    let output = conform.env("TMPDIR", folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn the_configuration_is_shown_and_nothing_started() {
    let output = sojourn(&["conform", "nginx", "random two", "--weights", "1,5", "--show-config"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("    random two;\n    server 127.0.0.1:8001 weight=1"), "{}", stdout(&output));
}

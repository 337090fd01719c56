//! What `sojourn switch` refuses. How it forwards is tested where it is (`crates/switch/tests/it/switch.rs`).

use crate::sojourn::{sojourn, stderr};

#[test]
fn what_cannot_be_is_refused_before_anything_is_changed() {
    let one = "a=10.0.1.11";
    for (arguments, expected) in [
        (front(&["--backend", "a=10.0.1.11:80"]), "the address is not an IPv4 address; write e.g. `a=10.0.1.11*2`"),
        (front(&["--backend", one, "--backend", "b=10.0.1.11"]), "backend b has the address of another one"),
        (
            front(&["--backend", one, "--policy", "round-trip"]),
            "policy `round-trip` needs the first byte of each reply",
        ),
        (front(&["--backend", one, "--policy", "round-robbin"]), "round-robin"),
        (
            front(&["--backend", one, "--mode", "dr"]),
            "mode dr: the modes are mac, rewrite, nat, tunnel, splice, splice-asymmetric",
        ),
        (front(&["--backend", one, "--probe", "0 s"]), "--probe"),
        (front(&["--backend", one, "--idle", "0 s"]), "a connection is remembered for at least 1 ms"),
        (front(&["--backend", one, "--drain", "b"]), "drained server b: there is no such backend"),
        (front(&["--backend", one, "--limit", "0"]), "a limit of 0 connections: at least 1"),
        (front(&["--backend", one, "--limit", "20,20"]), "the lower mark is below the limit, at most 19"),
        (front(&["--backend", one, "--limit", "many"]), "a number, or two with a comma"),
        (front(&["--backend", one, "--limit", "2", "--overflow", "c2"]), "c2: the address is not an IPv4 address"),
        (
            front(&["--backend", one, "--limit", "2", "--redirector", "r=web"]),
            "r=web: the address is not an IPv4 address",
        ),
        (
            front(&["--backend", one, "--limit", "2", "--redirector", "10.0.1.12", "--overflow", "10.0.2.1"]),
            "connections overflow by tunnel or by redirection, not both",
        ),
        (
            front(&["--backend", one, "--limit", "2", "--overflow-limit", "1"]),
            "or a server that redirects (`--redirector`)",
        ),
        (
            front(&["--backend", one, "--limit", "2", "--redirector", "10.0.1.12", "--mode", "splice"]),
            "redirector-1: mode splice passes no connection on",
        ),
        (
            front(&["--backend", one, "--limit", "2", "--overflow", "c2=10.0.1.11"]),
            "backend c2 has the address of another",
        ),
        (front(&["--backend", one, "--accept", "10.0.2.100"]), "10.0.2.100: two IPv4 addresses"),
        (
            ["switch", "server", "--service", "10.0.1.100:80", "--mode", "tunnel"].into(),
            "mode tunnel: name the switch's own address (`--front`)",
        ),
        (
            ["switch", "server", "--service", "10.0.1.100:80", "--mode", "nat"].into(),
            "mode nat: name the switch's own address (`--front`)",
        ),
        (front(&["--backend", one, "--mode", "splice-asymmetric"]), "(`--key`)"),
        (front(&["--backend", one, "--mode", "splice", "--keep"]), "leave out `--keep`"),
        (front(&["--backend", one, "--mode", "splice", "--policy", "cookie"]), "the client's cookies"),
        (front(&["--backend", one, "--mode", "splice-asymmetric", "--key", "/nowhere"]), "key /nowhere"),
        (front(&["--backend", one, "--classes", "static"]), "--classes: mode mac reads no request"),
        (front(&["--backend", one, "--control", "/dev/null"]), "a file is there that is no socket; name another path"),
        (["switch", "ctl", "--socket", "/nowhere", "drain", "a"].into(), "--socket /nowhere: no switch answers there"),
    ] {
        let output = sojourn(&arguments);
        let complaint = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {complaint}");
        assert!(complaint.lines().next().unwrap_or("").contains(expected), "{arguments:?}: {complaint}");
    }
}

fn front<'a>(rest: &[&'a str]) -> Vec<&'a str> {
    [&["switch", "front", "--service", "10.0.1.100:80"], rest].concat()
}

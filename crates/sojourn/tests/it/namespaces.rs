//! Client hosts that are hosts: each agent in a network namespace of its own, with an address and a link of its own.
//!
//! The namespaces are made unprivileged and end with the shell that made them, and everything in them.

use std::process::Command;

use serde_json::Value;

use crate::skip::skipped;
use crate::sojourn::{PROGRAM, file, stderr, stdout};

/// The server and the coordinator are on one host, 10.7.2.1 and 10.7.3.1 to the two others, which are behind a link each.
const HOSTS: &str = r#"
set -eu
mount -t tmpfs none /run
mkdir /run/netns
ip link set lo up
children=
trap 'kill $children || true' EXIT
for n in 2 3; do
    ip netns add "client$n"
    ip link add "link$n" type veth peer name eth0 netns "client$n"
    ip address add "10.7.$n.1/24" dev "link$n"
    ip link set "link$n" up
    ip -netns "client$n" address add "10.7.$n.2/24" dev eth0
    ip -netns "client$n" link set eth0 up
    ip -netns "client$n" route add default via "10.7.$n.1"
    ip netns exec "client$n" "$1" agent --listen "10.7.$n.2:7070" --token-file "$2" > /dev/null &
    children="$children $!"
done
"$1" node --listen 10.7.2.1:8080 --model 'discipline = "ps"
demand = "1 ms"' > /dev/null &
children="$children $!"
# Until all three listen, a connection is refused.
for try in $(seq 200); do
    if "$1" load http://10.7.2.1:8080/work --rate '400 /s' --requests 401 --json --quiet \
        --agents 10.7.2.2:7070,10.7.3.2:7070 --token-file "$2" > "$3" 2> "$3.why" || [ $? -eq 1 ]; then
        cat "$3"
        exit 0
    fi
    sleep 0.1
done
cat "$3.why" >&2
exit 3
"#;

#[test]
fn two_hosts_send_each_request_of_the_one_plan_once() {
    let namespaces = |command: &str| {
        let mut shell = Command::new("unshare");
        shell.args(["--user", "--map-root-user", "--net", "--mount", "sh", "-c", command]);
        shell
    };
    let can =
        namespaces("ip link add link1 type veth peer name link2").output().is_ok_and(|output| output.status.success());
    if !can {
        skipped("no unprivileged network namespaces, or no `ip` (package iproute2): see `sojourn doctor`");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let token = file(folder.path(), "token", "correct horse battery staple\n");
    let told = folder.path().join("told").display().to_string();
    let output = namespaces(HOSTS).args(["hosts", PROGRAM, &token, &told]).output().unwrap();
    let told: Value = serde_json::from_str(&stdout(&output)).unwrap_or_else(|e| panic!("{e}: {}", stderr(&output)));
    assert_eq!((&told["counts"]["planned"], &told["counts"]["ok"]), (&401.into(), &401.into()), "{told}");
    let clients = told["clients"].as_array().unwrap();
    let hosts: Vec<&str> = clients.iter().map(|client| client["name"].as_str().unwrap_or_default()).collect();
    assert!(hosts[0].contains("10.7.2.2") && hosts[1].contains("10.7.3.2"), "{clients:?}");
}

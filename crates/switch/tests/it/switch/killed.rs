//! Front nodes and servers' halves that are killed: the next one that is stopped, or `clean`, puts back what was there before
//! the first of them.

use sojourn_switch::clean;

use super::*;
use crate::support::{command, inside};

/// Names the mode in which a child is to run.
const MODE: &str = "SOJOURN_TEST_MODE";

/// All modes, and what of each front node's and half's is said to be left.
const MODES: [Mode; 6] = [Mode::Mac, Mode::Rewrite, Mode::Nat, Mode::Tunnel, Mode::Splice, Mode::SpliceAsymmetric];

#[test]
fn what_a_killed_half_had_found_is_put_back_by_the_next_one() {
    inside("switch::killed::as_halves", &[]);
}

#[test]
#[ignore = "runs inside namespaces, for the test above"]
fn as_halves() {
    let cluster = Cluster::new();
    for mode in MODES {
        for (host, _) in cluster.servers() {
            let first = half(&cluster, host, mode);
            let again = cluster.on(host, || ServerHalf::start(half_config(mode)).map(drop));
            let said = again.expect_err("there is one").to_string();
            assert!(said.contains("a server's half for 10.0.1.100:80 runs on this host already"), "{mode}: {said}");
            kill(first);
            // One that is killed too has not put anything back either.
            kill(half(&cluster, host, mode));
            half(&cluster, host, mode).stop();
        }
        cluster.nothing_is_left("0");
    }
}

#[test]
fn a_host_is_silent_until_its_last_half_ends() {
    inside("switch::killed::as_several", &[]);
}

#[test]
#[ignore = "runs inside namespaces, for the test above"]
fn as_several() {
    let cluster = Cluster::new();
    let settings = || {
        let read = |name: &str| fs::read_to_string(format!("/proc/sys/net/ipv4/conf/all/{name}")).expect("it is there");
        cluster.on(cluster.web_1, || ["arp_ignore", "arp_announce"].map(|name| read(name).trim().to_owned()))
    };
    let start = |last: u8| {
        let service = SocketAddrV4::new(Ipv4Addr::new(10, 0, 1, last), 80);
        let config = SwitchServerSettings { service, ..half_config(Mode::Mac) };
        cluster.at(cluster.web_1, cluster.on(cluster.web_1, || ServerHalf::start(config)).expect("a half"))
    };
    let (first, second) = (start(100), start(101));
    assert_eq!(settings(), ["1", "2"]);
    drop(first);
    assert_eq!(settings(), ["1", "2"], "the other half is to keep silent");
    let third = start(102);
    drop(second);
    assert_eq!(settings(), ["1", "2"], "the third half is to keep silent");
    drop(third);
    assert_eq!(settings(), ["0", "0"], "as before the first one");
    cluster.nothing_is_left("0");
}

#[test]
fn a_host_is_clean_after_what_was_killed() {
    inside("switch::killed::as_cleaned", &[]);
}

#[test]
#[ignore = "runs inside namespaces, for the test above"]
fn as_cleaned() {
    let cluster = Cluster::new();
    let clean_on = |host| cluster.on(host, || clean().map_err(|error| error.to_string()));
    for mode in MODES {
        let halves = cluster.servers().map(|(host, _)| half(&cluster, host, mode));
        let switch = switch(&cluster, mode);
        let said = clean_on(cluster.front).expect_err("a switch runs here");
        assert!(said.contains("a switch runs on this host already"), "{mode}: {said}");
        let said = clean_on(cluster.web_1).expect_err("a half runs here");
        assert!(said.contains("a server's half for 10.0.1.100:80 runs on this host already"), "{mode}: {said}");
        kill(switch);
        halves.into_iter().for_each(kill);
        let found = clean_on(cluster.front).expect("it is clean");
        assert!(found[0].contains("a front node for 10.0.1.100:80"), "{mode}: {found:?}");
        for (host, _) in cluster.servers() {
            let found = clean_on(host).expect("it is clean");
            assert!(found[0].contains("what a server's half for 10.0.1.100:80 has changed"), "{mode}: {found:?}");
        }
        cluster.nothing_is_left("0");
        for host in [cluster.front, cluster.web_1, cluster.web_2] {
            assert_eq!(clean_on(host), Ok(Vec::new()), "{mode}");
        }
    }
}

#[test]
fn what_a_host_has_heard_before_is_no_answer() {
    inside("switch::killed::as_remembered", &[]);
}

#[test]
#[ignore = "runs inside namespaces, for the test above"]
fn as_remembered() {
    let cluster = Cluster::new();
    let ip = |arguments: &'static str| {
        let output = cluster.on(cluster.front, || Command::new("ip").args(arguments.split(' ')).output()).expect("ip");
        assert!(output.status.success(), "{arguments}: {output:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    ip("neigh replace 10.0.1.100 lladdr 02:00:00:00:00:01 dev eth0 nud stale");
    let switch = cluster.on(cluster.front, || Switch::start(config("random"), Events::nowhere())).expect("a switch");
    assert_eq!(ip("neigh show to 10.0.1.100"), "", "and none is asked for any more");
    cluster.at(cluster.front, switch).take(Switch::stop);
}

#[test]
#[ignore = "runs as a child, for the tests above"]
fn as_switch() {
    // The harness has begun a line.
    writeln!(std::io::stdout()).expect("it is read");
    let config = SwitchSettings { mode: mode(), key_file: key_file_of(mode()), ..config("round-robin") };
    child::switch(config, std::io::stdout(), Some(std::io::stdin())).expect("a switch");
}

#[test]
#[ignore = "runs as a child, for the tests above"]
fn as_half() {
    writeln!(std::io::stdout()).expect("it is read");
    child::server_half(half_config(mode()), std::io::stdout(), Some(std::io::stdin())).expect("a server's half");
}

fn mode() -> Mode {
    std::env::var(MODE).expect("it is named").parse().expect("it is one")
}

fn child_in(mode: Mode, test: &str) -> Command {
    let mut command = command(test);
    command.env(MODE, mode.to_string());
    command
}

/// A switch as a process of its own.
pub(super) fn switch(cluster: &Cluster, mode: Mode) -> Child {
    cluster.bed.spawn(cluster.front, child_in(mode, "switch::killed::as_switch"), PATIENCE).expect("a switch")
}

/// A server's half as a process of its own.
fn half(cluster: &Cluster, host: Host, mode: Mode) -> Child {
    cluster.bed.spawn(host, child_in(mode, "switch::killed::as_half"), PATIENCE).expect("a server's half")
}

fn half_config(mode: Mode) -> SwitchServerSettings {
    let front = Some(Ipv4Addr::new(10, 0, 1, 1));
    SwitchServerSettings { service: SERVICE, mode, front, key_file: Some(key_file()), also: Vec::new() }
}

fn kill(mut child: Child) {
    child.kill();
}

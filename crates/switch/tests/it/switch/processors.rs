//! Processors of a switch: it may have others after a restart, and the kernel asks by one rule all the same.

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

use super::*;
use crate::support::inside;

#[test]
fn a_restart_on_other_processors_is_asked_by_its_own_rule() {
    inside("switch::processors::as_others", &[]);
}

#[test]
#[ignore = "runs inside namespaces, for the test above"]
fn as_others() {
    let allowed = sched_getaffinity(Pid::from_raw(0)).expect("the system says it");
    let first = (0..CpuSet::count()).find(|cpu| allowed.is_set(*cpu) == Ok(true)).expect("one runs this");
    let mut one = CpuSet::new();
    one.set(first).expect("it is one");
    let cluster = Cluster::new();
    let _halves = cluster.halves(Mode::Mac);
    let _echoes = cluster.servers().map(|(host, name)| cluster.echo(host, name));
    let start = |processors: &CpuSet| {
        let started = cluster.on(cluster.front, || {
            sched_setaffinity(Pid::from_raw(0), processors).expect("they are its own");
            Switch::start(SwitchSettings { keep: true, ..config("round-robin") }, Events::nowhere())
        });
        cluster.at(cluster.front, started.expect("a switch"))
    };
    let mut held = Vec::new();
    // On one, on all, on one again.
    for processors in [&one, &allowed, &one] {
        let switch = start(processors);
        held.push(cluster.call());
        held.iter_mut().for_each(Caller::exchange);
        assert_eq!(asking(&cluster).len(), 1, "{:?}", asking(&cluster));
        drop(switch);
    }
    assert_eq!(held.len(), 3);
}

/// The rules by which the kernel asks.
fn asking(cluster: &Cluster) -> Vec<String> {
    let mut iptables = Command::new("/usr/sbin/iptables");
    iptables.args(["-t", "mangle", "-S", "PREROUTING"]);
    let output = cluster.on(cluster.front, || iptables.output()).expect("iptables runs");
    let rules = String::from_utf8(output.stdout).expect("text");
    rules.lines().filter(|rule| rule.contains("NFQUEUE")).map(ToOwned::to_owned).collect()
}

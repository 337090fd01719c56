//! Copies of files that other nodes own: made after so many fetches within a time, within so many bytes, lost with the node, and
//! known to the node's own broker. All is constant: means are exact.

use sojourn_model::system::{Fault, Subject, Trouble};
use sojourn_model::{Server, System};
use sojourn_sim::Report;
use sojourn_stats::{Span, Time};
use sojourn_traffic::{Open, Workload};

use crate::files::{SECOND, STAYS, documents, nodes, value};
use crate::support::{Scenario, open, run_plan};

/// Every fetch but the first two of 10 s finds a copy.
const RULES: &str = ", copies_after = 3, copies_within = \"10 s\", copies_max = \"1 MB\"";

/// Two nodes that share so many files of 1 MB, with these rules of copies.
fn copying(policy: &str, files: u32, rules: &str) -> System {
    let mut system = nodes(2, policy, files, "");
    let text = system.hosts[0].server.to_toml();
    let (before, files) = text.split_once("files = {").expect("it has files");
    let text = format!("{before}files = {{{}", files.replacen(" }", &format!("{rules} }}"), 1));
    let server = Server::from_toml(&text).unwrap();
    system.hosts.iter_mut().for_each(|host| host.server = server.clone());
    system
}

/// Two requests a second for 100 s, at the nodes in turn. Its own file takes a node 220 ms, another's 270 ms.
fn run(system: System, files: u32) -> Report {
    let Workload::Open(plan) = open("constant(500 ms)") else { unreachable!() };
    let workload = Workload::Open(Open { sizes: documents(files), ..plan });
    run_plan(&Scenario { workload, system }, 1, Span(100 * SECOND), Span::ZERO).unwrap()
}

/// How many of the requests were fetched of the other node.
fn fetched(system: System) -> f64 {
    let report = run(system, 1);
    let requests = (100.0 / 0.5_f64).floor();
    let fetched = (value(&report, "response_time_mean") - 0.220) * requests / 0.050;
    assert!((fetched - fetched.round()).abs() < 0.6, "{fetched}");
    fetched.round()
}

#[test]
fn a_file_that_is_fetched_often_is_read_here() {
    assert_eq!(fetched(copying(STAYS, 1, RULES)), 3.0);
    let all = fetched(copying(STAYS, 1, ""));
    assert!(all >= 99.0, "{all}");
    assert_eq!(fetched(copying(STAYS, 1, &RULES.replace("10 s", "1900 ms"))), all, "they come a second apart");
    assert_eq!(fetched(copying(STAYS, 1, &RULES.replace("1 MB", "999 kB"))), all, "there is no room for it");
}

/// Four files, two of each node, asked for equally often: there is room for both of the other node's files, or for one.
#[test]
fn copies_take_no_more_than_they_may() {
    let mean_s = |room: &str| {
        let rules = RULES.replace("after = 3", "after = 1").replace("1 MB", room);
        value(&run(copying(STAYS, 4, &rules), 4), "response_time_mean")
    };
    let (none_s, one_s, both_s) = (mean_s("999 kB"), mean_s("1 MB"), mean_s("2 MB"));
    // Half of all requests are for a file of the other node, and half of these for the one that was asked for last.
    assert!((none_s - 0.245).abs() < 0.006 && (one_s - 0.2325).abs() < 0.006, "{none_s} {one_s}");
    assert!(both_s < 0.2225, "{both_s}: each is fetched once by each node");
}

#[test]
fn a_node_that_goes_down_loses_its_copies() {
    let mut system = copying(STAYS, 1, RULES);
    // Between two requests.
    let (at, until) = (Time(50_300_000_000), Some(Time(50_400_000_000)));
    system.faults = vec![Fault { at, until, subject: Subject::Host(1), trouble: Trouble::Down }];
    assert_eq!(fetched(system), 6.0, "three before and three after");
}

/// Clients are so far that a node sends away only every second request between reports, as its own load seems to rise; with the
/// file on its own disk it sends none away.
#[test]
fn the_broker_takes_a_copy_as_local() {
    let of_owner = |rules: &str| value(&run(copying("sweb(latency = 7500 us, rise = 1)", 1, rules), 1), "share_1");
    let (without, with) = (of_owner(""), of_owner(RULES));
    assert!(without > 0.7, "{without}");
    assert!(with < 0.53, "{with}");
}

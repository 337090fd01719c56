//! What servers with files of their own sustain: the printed example, jobs played one by one, and what is read off a system.

use sojourn_model::Server;
use sojourn_stats::Stream;
use sojourn_theory::formula::file_nodes::FileNodes;
use sojourn_theory::system::file_nodes::{SharedFiles, answer};

/// The example of section 3.3: six nodes, 5 and 4.5 MB/s, O = 0; 1.5 MB of section 4.1, and the preparation of 20 ms with which
/// what is printed comes out.
const MEIKO: FileNodes = FileNodes {
    servers: 6,
    size_mean: 1.5e6,
    local_rate: 5e6,
    remote_rate: 4.5e6,
    preparation_s: 0.020,
    redirection_s: 0.0,
};

const NODE: &str = "demand = \"20 ms\"\n\
                    resources = { cpu = { discipline = \"ps\" }, disk = { discipline = \"fcfs\", rate = \"5 MB/s\" } }\n\
                    memory = { size = \"24 MB\", cache = \"lru\" }\n\
                    files = { placed = \"one-owner\", number = 60, remote_rate = \"4.5 MB/s\" }\n";

/// Andresen et al. 1996: 17.3 requests/s for six nodes, of which each has r* = 2.88, in section 3.3; 17.8 in section 4.1.
#[test]
fn the_printed_numbers_come_out_to_their_digits() {
    let none = MEIKO.throughput_max(0.0);
    assert_eq!((format!("{none:.1}"), format!("{:.2}", none / 6.0)), ("17.3".into(), "2.88".into()));
    assert_eq!(format!("{:.1}", MEIKO.throughput_max(MEIKO.redirected_most())), "17.8");
    // A redirection pays while what it saves of reading is more than a second preparation: 33.3 ms here.
    let slow = |preparation_s| FileNodes { preparation_s, ..MEIKO };
    assert!(slow(0.033).throughput_max(0.5) > slow(0.033).throughput_max(0.0));
    assert!(slow(0.034).throughput_max(0.5) < slow(0.034).throughput_max(0.0));
    // A server alone reads all of its files itself.
    let alone = FileNodes { servers: 1, ..MEIKO };
    assert!((alone.throughput_max(alone.redirected_most()) - 1.0 / 0.32).abs() < 1e-12);
}

/// Requests played one by one: to any server, for a file of any server, redirected or not, each with its own sum of work.
/// 400,000 of them; the mean is off by 4.9 deviations once in a million.
#[test]
fn the_mean_is_that_of_requests_played_one_by_one() {
    let nodes = FileNodes { servers: 5, redirection_s: 0.013, ..MEIKO };
    for share in [0.0, 0.3, 0.8] {
        let mut draws = Stream::new(7, "requests", "played");
        let (mut sum_s, mut squares) = (0.0, 0.0);
        let requests = 400_000;
        for _ in 0..requests {
            let (at, owner) = (draws.below(5), draws.below(5));
            let mut takes_s = nodes.preparation_s;
            // Of those at a wrong server so many are redirected that it is this share of all.
            let is_redirected = at != owner && draws.uniform() < share / nodes.redirected_most();
            if is_redirected {
                takes_s += nodes.redirection_s + nodes.preparation_s;
            }
            let rate = if at == owner || is_redirected { nodes.local_rate } else { nodes.remote_rate };
            takes_s += nodes.size_mean / rate;
            sum_s += takes_s;
            squares += takes_s * takes_s;
        }
        let count = f64::from(requests);
        let mean_s = sum_s / count;
        let most = 4.9 * ((squares / count - mean_s * mean_s) / count).sqrt();
        let due_s = nodes.processing_mean_s(share);
        assert!((mean_s - due_s).abs() < most, "{share}: {mean_s} s played, {due_s} s by the formula, within {most}");
    }
}

#[test]
fn it_is_read_off_servers_and_their_policy() {
    let servers = vec![Server::from_toml(NODE).unwrap(); 6];
    let asked =
        |policy| SharedFiles { servers: &servers, size_mean: 1.5e6, demand_mean_s: 0.020, policy, rate: Some(16.0) };
    let bound = |policy| answer(&asked(policy)).unwrap().value("throughput_max").unwrap();
    let [none, all] = [0.0, MEIKO.redirected_most()].map(|share| MEIKO.throughput_max(share));
    assert_eq!([bound("stay"), bound("file-locality"), bound("sweb(rise = 0.3)")], [none, all, all]);
    let notes = answer(&asked("stay")).unwrap().notes.join("\n");
    for said in ["17.252 /s at most", "one after the other", "24000000 B do", "arrivals: 16 /s, 0.92741 of the bound"] {
        assert!(notes.contains(said), "{said}: {notes}");
    }
    let fast: Vec<Server> = servers.iter().map(|server| Server { speed: 2.0, ..server.clone() }).collect();
    let faster = answer(&SharedFiles { servers: &fast, ..asked("stay") }).unwrap().value("throughput_max").unwrap();
    assert!((faster - FileNodes { preparation_s: 0.010, ..MEIKO }.throughput_max(0.0)).abs() < 1e-9);
    // What it does not know, it says.
    let refusal = |asked: SharedFiles<'_>| answer(&asked).expect_err("no formula").to_string();
    assert!(refusal(asked("random")).contains("no formula for what `random` redirects"));
    let mut odd = servers.clone();
    odd[3].speed = 0.5;
    assert!(refusal(SharedFiles { servers: &odd, ..asked("stay") }).contains("that differ"));
    let copying = Server::from_toml(
        &NODE.replace("number = 60", "number = 60, copies_after = 3, copies_within = \"9 s\", copies_max = \"1 MB\""),
    )
    .unwrap();
    let copying = vec![copying; 6];
    assert!(refusal(SharedFiles { servers: &copying, ..asked("stay") }).contains("(`copies_after`)"));
    let plain = [Server::from_toml("discipline = \"ps\"\ndemand = \"20 ms\"").unwrap()];
    assert!(refusal(SharedFiles { servers: &plain, ..asked("stay") }).contains("no files or no disk"));
}

//! The bed of a system with several regions: which hosts there are, with which addresses, and what lies between them.

use std::path::Path;

use sojourn_bed::Topology;
use sojourn_bed::link::{LinkSpec, Queue, Rate};
use sojourn_lab::{Spec, topology};
use sojourn_model::System;
use sojourn_model::system::one_way;
use sojourn_stats::{Dimension, Law, Span};

const SEED: u64 = 2001;

/// Agarwal's test bed, from the tree.
fn nearest() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/agarwal-2001/nearest.toml");
    std::fs::read_to_string(file).unwrap()
}

fn system(text: &str) -> System {
    let experiment = Spec::parse(text, Path::new("x.toml")).unwrap_or_else(|error| panic!("{error}"));
    experiment.system().expect("it has a system").system.clone()
}

fn names(topology: &Topology) -> Vec<&str> {
    topology.hosts.iter().map(|host| host.name.as_str()).collect()
}

/// The only link from one host to another.
fn link<'a>(topology: &'a Topology, from: &str, to: &str) -> &'a LinkSpec {
    let [from, to] = [from, to].map(|name| topology.find(name).unwrap_or_else(|| panic!("{name}")));
    let [link] = topology.routes[&(from, to)][..] else { panic!("one link joins two hosts") };
    &topology.links[link]
}

fn delay(link: &LinkSpec) -> Span {
    Span::from_secs_f64(link.delay.mean())
}

#[test]
fn each_machine_of_clients_is_a_host_in_its_region() {
    let topology = topology(&system(&nearest()), SEED).unwrap();
    let machines =
        ["europe-1", "europe-2", "europe-3", "america-1", "america-2", "america-3", "pacific-1", "pacific-2"];
    let hosts = names(&topology);
    assert_eq!(hosts[..8], machines);
    assert_eq!(hosts[8..11], ["elsewhere-1", "elsewhere-2", "elsewhere-3"]);
    for (host, region) in [("europe-3", 194), ("america-1", 198), ("pacific-2", 202), ("elsewhere-1", 128)] {
        let address = topology.hosts[topology.find(host).unwrap()].address.octets();
        assert_eq!(address[0] & 0xfe, region, "{host}: {address:?}");
    }
    for (number, region) in [(0, 194), (1, 198), (2, 202)] {
        assert_eq!(topology.segments[number].services[0].octets()[0] & 0xfe, region, "the site's own region");
    }
    topology.check().unwrap();
}

/// So that live and its twin have the same paths.
#[test]
fn a_machine_has_the_round_trips_and_losses_that_the_simulator_gives_it() {
    let system = system(&nearest());
    let topology = topology(&system, SEED).unwrap();
    // The first client on the machine, by the number of the machine's host; the 18 of europe are 6 on each.
    for (host, first, home) in [("europe-1", 0, 0), ("europe-2", 6, 0), ("america-1", 18, 1), ("elsewhere-3", 55, 3)] {
        for (site, region) in [("front-node-1-router", 0), ("front-node-3-router", 2)] {
            let path = system.paths.between(home, region).unwrap();
            let expected = one_way(&path.rtt, SEED, first, region);
            for link in [link(&topology, host, site), link(&topology, site, host)] {
                assert_eq!(delay(link), expected, "{}", link.name);
                assert_eq!(link.loss, path.losses().up, "{}", link.name);
            }
        }
    }
}

#[test]
fn the_ways_of_a_dns_lose_nothing_and_its_clients_are_near() {
    let topology = topology(&system(&nearest()), SEED).unwrap();
    for host in ["europe-1", "elsewhere-2"] {
        let link = link(&topology, host, "dns");
        assert_eq!((delay(link), link.loss.share), (Span::ZERO, 0.0), "{host}");
    }
    // The mean of what lies between their regions, half of it: 50 ms to 250 ms, and 10 ms to 50 ms.
    for (site, one_way_ms) in [("front-node-2-router", 75), ("front-node-1-router", 15)] {
        let link = link(&topology, site, "dns");
        assert_eq!((delay(link), link.loss.share), (Span(one_way_ms * 1_000_000), 0.0), "{site}");
    }
}

#[test]
fn clients_of_a_region_are_one_host_where_their_machines_do_not_matter() {
    let plain = nearest().replace("uniform(10 ms, 50 ms)", "30 ms").replace("uniform(50 ms, 250 ms)", "150 ms");
    let plain = [", machines = 3", ", machines = 2"].iter().fold(plain, |text, machines| text.replace(machines, ""));
    let topology = topology(&system(&plain), SEED).unwrap();
    assert_eq!(names(&topology)[..5], ["europe", "america", "pacific", "elsewhere", "dns"]);
    assert_eq!(delay(link(&topology, "elsewhere", "front-node-1-router")), Span(75_000_000));
}

#[test]
fn more_machines_than_a_bed_has_room_for_are_refused() {
    let many = nearest().replace("processes = 18, machines = 3", "processes = 600, machines = 60");
    let message = topology(&system(&many), SEED).unwrap_err();
    assert!(message.contains("64 machines of clients, not for 68") && message.contains("machines = 4"), "{message}");
}

#[test]
fn each_direction_is_a_line_of_its_own_as_the_file_says() {
    let within = "within = { rtt = \"uniform(10 ms, 50 ms)\", ";
    assert!(nearest().contains(within), "the file that this changes");
    let keys = "rate = { up = \"1 Mbit/s\", down = \"16 Mbit/s\" }, jitter = \"uniform(0 ms, 20 ms)\", reorders = true, \
                queue = \"codel(300 kB)\", loss = { up = \"1 %\", down = \"3 %\" }, ";
    let text = nearest().replace(&format!("{within}loss = \"5 %\", "), &format!("{within}{keys}"));
    assert!(text.contains("codel(300 kB)"), "the loss that this changes");
    let topology = topology(&system(&text), SEED).unwrap();
    let [up, down] = [("europe-1", "front-node-1-router"), ("front-node-1-router", "europe-1")]
        .map(|(from, to)| link(&topology, from, to));
    let queue = Queue::Codel { bytes: 300_000 };
    assert_eq!([up.rate, down.rate], [1e6, 16e6].map(|bits_per_s| Some(Rate { bits_per_s, queue })));
    assert_eq!([up.loss.share, down.loss.share], [0.01, 0.03]);
    let jitter = Law::parse("uniform(0 ms, 20 ms)", Dimension::Time).unwrap();
    for line in [up, down] {
        assert_eq!((line.jitter.as_ref(), line.reorders, delay(line)), (Some(&jitter), true, delay(up)));
    }
    // As long a queue as the simulator's links have, unless the file says how long.
    for (written, expected) in
        [("codel", Queue::Codel { bytes: 200_000 }), ("drop-tail", Queue::DropTail { bytes: 200_000 })]
    {
        let topology = sojourn_lab::topology(&system(&text.replace("codel(300 kB)", written)), SEED).unwrap();
        let rate = link(&topology, "front-node-1-router", "europe-1").rate.unwrap();
        assert_eq!(rate.queue, expected, "{written}");
    }
}

/// As in the simulator, where a file that a server has of another one is on the medium that replies share.
#[test]
fn what_servers_give_each_other_is_on_the_medium_of_their_replies() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/sweb-1996/live/shared-ethernet.toml");
    let topology = topology(&system(&std::fs::read_to_string(file).unwrap()), SEED).unwrap();
    let medium = |from: &str, to: &str| {
        let [from, to] = [from, to].map(|name| topology.find(name).unwrap());
        topology.links[topology.routes[&(from, to)][0]].name.clone()
    };
    assert_eq!(medium("client", "server-1"), "ethernet up");
    for (from, to) in [("server-1", "client"), ("server-1", "server-4"), ("server-4", "server-1")] {
        assert_eq!(medium(from, to), "ethernet down", "{from} to {to}");
    }
}

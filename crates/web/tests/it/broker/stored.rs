//! Emulated files that one node owns: the owner's disk reads them, and the node that was asked does the rest.

use super::{Cluster, SERVICE, ask, cluster};

/// Processor 2 ms; disk 10 ms for 50 kB, 20 ms for another node; memory for all.
const MACHINE: &str = r#"
demand = "2 ms"
memory = { size = "1 MB", cache = "lru" }
files = { placed = "one-owner", number = 4, remote_rate = "2500 kB/s" }
[resources]
cpu = { discipline = "fcfs" }
disk = { discipline = "fcfs", rate = "5 MB/s" }
"#;

/// Two nodes which serve what comes; files 0 and 2 are of the first, 1 and 3 of the second.
fn nodes() -> Cluster<2> {
    Cluster::start(|_, config| {
        config.model = Some(MACHINE.into());
        cluster(config).policy = "stay".into();
        let owner = |file: usize| String::from(["a", "b"][file % 2]);
        let owners = |file: usize| format!("/work/{file}={}", owner(file)).parse().expect("owners");
        cluster(config).owners = (0..4).map(owners).collect();
    })
}

#[test]
fn the_owner_reads_and_the_node_that_was_asked_computes() {
    let nodes = nodes();
    let asked = |node: usize, file: usize| {
        let reply = nodes.ask(node, &format!("/work/{file}?bytes=50000"));
        assert_eq!((reply.status, reply.body.len(), reply.whole), (200, 50_000, true));
        assert_eq!(reply.backend(), ["a", "b"][node]);
        let (waited, stayed) = reply.service();
        assert_eq!(waited, 0, "a request alone waits for nothing, here and at the owner");
        stayed
    };
    let fetched = |node: usize| nodes.nodes[node].counts().cluster.expect("a cluster").fetched;
    assert_eq!(asked(0, 0), 12_000_000, "its own file");
    // The processor here, the disk there at the rate of remote reads, and the bytes on their way.
    let stayed = asked(0, 1);
    assert!(stayed >= 22_000_000, "{stayed}");
    assert_eq!((fetched(0), nodes.nodes[1].counts().requests), (1, 0), "the owner has no request of it");
    assert_eq!((asked(0, 1), asked(1, 1)), (2_000_000, 2_000_000), "both have it in memory");
    assert_eq!((fetched(0), fetched(1)), (1, 0));
    // The owner has in memory what was read of its disk for others, and gives it without a read.
    assert_eq!(asked(1, 3), 12_000_000);
    let stayed = asked(0, 3);
    assert!(stayed >= 2_000_000, "{stayed}");
    let own = nodes.addresses[1].to_string();
    let reply = ask(nodes.addresses[1], "GET", &own, "/stored/3?bytes=50000", "");
    assert_eq!((reply.status, reply.body.len(), reply.service()), (200, 50_000, (0, 0)));
    let reply = ask(nodes.addresses[1], "GET", &own, "/stored/7?bytes=50000", "");
    assert_eq!(reply.service(), (0, 20_000_000), "what is not in memory is read at the rate of remote reads");
}

#[test]
fn without_the_owner_there_is_no_file() {
    let Cluster { addresses, nodes: [first, second], .. } = nodes();
    drop(second);
    let reply = ask(addresses[0], "GET", SERVICE, "/work/1?bytes=50000", "");
    assert!(matches!(reply.status, 502 | 503), "{} {}", reply.status, reply.text());
    let reply = ask(addresses[0], "GET", SERVICE, "/work/0?bytes=50000", "");
    assert_eq!(reply.status, 200, "its own are there");
    drop(first);
}

#[test]
fn such_a_file_is_asked_for_without_a_body() {
    let nodes = nodes();
    let reply = ask(nodes.addresses[0], "GET", SERVICE, "/work/1?bytes=5", "content-length: 1\r\n\r\nx");
    assert_eq!((reply.status, reply.text().trim()), (400, "a file that another node owns is asked for without a body"));
}

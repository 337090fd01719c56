//! By which policy a node chooses, why, and that its record replays.

use std::fs;
use std::io::BufReader;
use std::os::unix::fs::OpenOptionsExt;

use sojourn_dispatch::record::replay;
use sojourn_part::settings::node::{FileSettings, HardwareSettings, Numbers};
use sojourn_web::Node;

use super::{Cluster, cluster, node_of};
use crate::support::free;

#[test]
fn a_policy_that_a_node_cannot_follow_is_refused_by_name() {
    for (policy, wanted) in [
        ("least-connections", "policy `least-connections` needs the end of each request (in-flight)"),
        ("cookie", "policy `cookie` needs"),
        ("geographic", "policy `geographic` needs"),
        ("shortest-predicted-response", "policy `shortest-predicted-response` needs"),
        ("swab", "did you mean `sweb`?"),
    ] {
        let mut config = node_of(&free::<2>(), 0);
        cluster(&mut config).policy = policy.into();
        let wrong = Node::start(config).err().expect("it is refused").to_string();
        assert!(wrong.contains(wanted) && !wrong.contains('\n'), "{wrong}");
    }
}

#[test]
fn replies_say_why_and_records_replay() {
    let folder = tempfile::tempdir().expect("a folder");
    let record = |index: usize| folder.path().join(format!("decisions-{index}"));
    let nodes = Cluster::<3>::start(|index, config| {
        cluster(config).explain = true;
        cluster(config).record = Some(record(index));
    });
    let busy = nodes.burden(0, 20);
    let reply = nodes.ask(0, "/work?demand=100ms");
    let reason = reply.header("x-sojourn-reason").expect("a reason");
    assert!(reason.starts_with("shortest estimate of what it takes (10"), "{reason}");
    let candidates = reply.header("x-sojourn-candidates").expect("candidates");
    let of_a = "a: redirection_s 0, data_s 0, cpu_s 2.1";
    assert!(candidates.starts_with(of_a) && candidates.contains("; b: redirection_s "), "{candidates}");
    // The round trip to the client is the kernel's: on one machine there is some, and not much.
    let redirection_s: f64 = candidates
        .split("; b: redirection_s ")
        .nth(1)
        .and_then(|rest| rest.split(',').next()?.parse().ok())
        .expect("a number");
    assert!(redirection_s > 0.0 && redirection_s < 0.1, "{candidates}");
    let own = nodes.addresses[0].to_string();
    let reply = nodes.ask_for(0, &own, "/bytes/1");
    assert_eq!(reply.header("x-sojourn-reason"), Some("it was asked for under this node's own name"));

    let mut decisions = [0; 3];
    for round in 0..90 {
        decisions[round % 3] += 1;
        nodes.ask(round % 3, &format!("/work?demand={}ms", 1 + round % 7));
    }
    drop(busy);
    decisions[0] += 1;
    for (index, node) in nodes.nodes.into_iter().enumerate() {
        let (counts, written) = node.finish();
        written.expect("the record is whole");
        assert_eq!(counts.cluster.expect("a cluster").decisions, decisions[index]);
        let replayed = replay(BufReader::new(fs::File::open(record(index)).expect("a record"))).expect("it is whole");
        assert_eq!(
            (replayed.choices, replayed.same, replayed.first_difference),
            (decisions[index], decisions[index], None)
        );
    }
}

/// A record whose reader goes away in the middle is not whole, as on a disk that fills: that is said at the end.
#[test]
fn a_record_that_cannot_be_written_is_said() {
    let start = |record: std::path::PathBuf| {
        let mut config = node_of(&free::<2>(), 0);
        cluster(&mut config).record = Some(record);
        Node::start(config)
    };
    let wrong = start("/dev/full".into()).err().expect("it is refused").to_string();
    assert!(wrong.starts_with("cannot record to /dev/full: "), "{wrong}");
    let folder = tempfile::tempdir().expect("a folder");
    let record = folder.path().join("record");
    nix::unistd::mkfifo(&record, nix::sys::stat::Mode::S_IRWXU).expect("a FIFO");
    let reader = fs::File::options().read(true).custom_flags(nix::fcntl::OFlag::O_NONBLOCK.bits()).open(&record);
    let node = start(record).expect("a node starts");
    drop(reader.expect("it is there"));
    assert_eq!(super::ask(node.address(), "GET", super::SERVICE, "/bytes/1", "").status, 200);
    let (counts, written) = node.finish();
    assert!(matches!(written, Err(sojourn_part::ServeError::Record)), "{written:?}");
    assert_eq!(counts.cluster.expect("a cluster").records_failed, 1);
}

#[test]
fn a_file_goes_to_the_node_that_owns_it() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("v")).expect("a folder");
    fs::write(folder.path().join("v/large.mpg"), vec![0; 300_000]).expect("a file");
    fs::write(folder.path().join("v/index.html"), "small").expect("a file");
    let nodes = |policy: &str| {
        Cluster::<2>::start(|_, config| {
            config.files = FileSettings::new(folder.path()).into();
            cluster(config).policy = policy.into();
            cluster(config).owners = vec!["/v/*=b".parse().expect("owners")];
            let (disk, net) = (Some("1 MB/s".into()), Some("1 GB/s".into()));
            let hardware = HardwareSettings::Numbers(Numbers { speed: 1.0, disk, net });
            cluster(config).hardware = Some(hardware.clone());
            cluster(config).peers.iter_mut().for_each(|peer| peer.hardware = Some(hardware.clone()));
        })
    };
    let local = nodes("file-locality");
    assert_eq!(local.ask(0, "/v/large.mpg").status, 307);
    assert_eq!(local.ask(0, "/%76/large.mpg").status, 307, "the path is the one that it stands for");
    assert_eq!(local.ask(1, "/v/large.mpg").status, 200);
    assert_eq!(local.ask(0, "/bytes/10").status, 200, "all nodes have it");
    // 300 kB at 1 MB/s are 0.3 s, read remotely 0.33 s: more than a redirection costs, which is 20 ms here. 5 bytes are not.
    let sweb = nodes("sweb(latency = 5 ms)");
    assert_eq!(sweb.ask(0, "/v/large.mpg").status, 307);
    assert_eq!(sweb.ask(0, "/v/").status, 200);
    assert_eq!(sweb.ask(0, "/v/none.mpg").status, 404, "of what is not there the size is not known");
}

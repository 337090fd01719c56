//! Requests that pass through one node to another: to a better one, and for files that another owns.

use std::fs;

use sojourn_serve::HandOver;
use sojourn_serve::node::{FileSettings, RankedPattern as Pattern};

use super::{Cluster, SERVICE, ask, cluster, peers};
use crate::support::until;

fn paths(text: &str) -> Pattern {
    Pattern::of_paths(text).expect("a pattern")
}

#[test]
fn a_request_passes_through_to_the_idle_node() {
    let nodes = Cluster::<2>::start(|_, config| {
        cluster(config).hand_over = HandOver::Forward;
        cluster(config).moves_post = true;
        cluster(config).explain = true;
    });
    let _busy = nodes.burden(0, 20);
    let reply = nodes.ask(0, "/work?demand=100ms&bytes=200000");
    assert_eq!((reply.status, reply.backend(), reply.body.len(), reply.whole), (200, "b", 200_000, true));
    assert_eq!(reply.header("content-length"), Some("200000"));
    // Both say why, the one nearest the reply's maker first.
    let reasons: Vec<&str> =
        reply.headers.iter().filter(|(name, _)| name == "x-sojourn-reason").map(|(_, value)| value.as_str()).collect();
    let [of_b, of_a] = reasons[..] else { panic!("{reasons:?}") };
    assert_eq!(of_b, "it was asked for under this node's own name");
    assert!(of_a.starts_with("shortest estimate"), "{of_a}");
    let reply = ask(nodes.addresses[0], "HEAD", SERVICE, "/work?demand=100ms&bytes=200000", "");
    assert_eq!((reply.status, reply.backend(), reply.header("content-length")), (200, "b", Some("200000")));
    let reply = ask(nodes.addresses[0], "POST", SERVICE, "/work?demand=100ms", "content-length: 0\r\n");
    assert_eq!((reply.status, reply.backend()), (200, "b"));
    let counts = |node: usize| nodes.nodes[node].counts().cluster.expect("a cluster");
    assert_eq!((counts(0).forwarded, counts(0).redirected, counts(0).stayed), (3, 0, 0));
    // There it is asked for under the node's own name: nothing is decided twice.
    assert_eq!((counts(1).unasked, counts(1).decisions), (3, 0));
}

#[test]
fn a_file_of_another_node_is_fetched_from_it_whoever_is_asked() {
    let folder = tempfile::tempdir().expect("a folder");
    let film: Vec<u8> = (0..2_000_000u32).map(|place| (place * 7 % 251) as u8).collect();
    for (node, files) in [("a", 0), ("b", 1), ("c", 0)] {
        fs::create_dir_all(folder.path().join(node).join("v")).expect("a folder");
        fs::write(folder.path().join(node).join("here.txt"), node).expect("a file");
        if files == 1 {
            fs::write(folder.path().join(node).join("v/film.mpg"), &film).expect("a file");
        }
    }
    fs::write(folder.path().join("c/v/copy.mpg"), "a copy").expect("a file");
    let nodes = Cluster::<3>::start(|_, config| {
        config.files = Some(FileSettings::new(folder.path().join(&config.name)));
        cluster(config).policy = "stay".into();
        cluster(config).owners = vec![(paths("/v/*"), vec!["b".into()])];
    });
    for host in [SERVICE.to_string(), nodes.addresses[0].to_string()] {
        let reply = nodes.ask_for(0, &host, "/v/film.mpg");
        assert_eq!((reply.status, reply.backend(), reply.header("content-type")), (200, "b", Some("video/mpeg")));
        assert!(reply.body == film && reply.whole, "every byte of it");
    }
    let reply = ask(nodes.addresses[0], "HEAD", SERVICE, "/%76/film.mpg", "");
    assert_eq!((reply.status, reply.header("content-length")), (200, Some("2000000")));
    // The owner serves it itself, and does not ask for what it does not have.
    assert_eq!(nodes.ask(1, "/v/film.mpg").backend(), "b");
    assert_eq!((nodes.ask(1, "/v/none.mpg").status, nodes.ask(0, "/v/none.mpg").status), (404, 404));
    // What is there is served from there, and what all nodes have too.
    assert_eq!(
        (nodes.ask(2, "/v/copy.mpg").text(), nodes.ask(2, "/v/copy.mpg").backend().to_owned()),
        ("a copy".into(), "c".into())
    );
    assert_eq!(nodes.ask(0, "/here.txt").text(), "a");
    let counts = nodes.nodes[0].counts().cluster.expect("a cluster");
    assert_eq!((counts.fetched, counts.forwarded), (4, 0), "{counts:?}");
    // An owner that is out cannot be asked.
    let [a, b, c] = nodes.nodes;
    b.stop();
    until("it is out", || !peers(&a)[0].1 && !peers(&c)[1].1);
    assert_eq!(ask(nodes.addresses[0], "GET", SERVICE, "/v/film.mpg", "").status, 404);
}

/// Each says that the other owns the file: the first sees its own mark, and the circle ends.
#[test]
fn two_nodes_that_name_each_other_as_owners_end_their_circle() {
    let nodes = Cluster::<2>::start(|index, config| {
        let other = if index == 0 { "b" } else { "a" };
        cluster(config).owners = vec![(paths("/v/*"), vec![other.into()])];
    });
    assert_eq!(nodes.ask(0, "/v/film.mpg").status, 508);
    assert_eq!(nodes.nodes[0].counts().cluster.expect("a cluster").fetched, 2);
}

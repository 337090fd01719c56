//! Copies of files that other nodes own: kept after so many fetches, served while the owner has them so, within so many bytes.

use std::fs;
use std::path::Path;

use sojourn_part::settings::node::FileSettings;
use sojourn_stats::{Bytes, Span};

use super::{Cluster, SERVICE, ask, cluster};
use crate::support::until;

const HOUR: Span = Span(3_600_000_000_000);

/// Two nodes that serve what comes; the files below `/v` are the second's. The first copies what it fetches twice.
fn nodes(folder: &Path, max: u64, fresh: Span) -> Cluster<2> {
    ["a/copies", "a/v", "b/v"].iter().for_each(|name| fs::create_dir_all(folder.join(name)).expect("a folder"));
    Cluster::start(|index, config| {
        config.files = FileSettings::new(folder.join(&config.name)).into();
        cluster(config).policy = "stay".into();
        cluster(config).owners = vec!["/v/*=b".parse().expect("owners")];
        if index == 0 {
            let cluster = cluster(config);
            (cluster.copies, cluster.copies_after) = (Some(folder.join("a/copies")), 2);
            (cluster.copies_within, cluster.copies_max, cluster.copies_fresh) = (HOUR, Bytes(max), fresh);
        }
    })
}

/// Fetches a file until it is copied.
fn copy(nodes: &Cluster<2>, path: &str) {
    let copied = || nodes.nodes[0].counts().cluster.expect("a cluster").copied;
    let before = copied();
    for _ in 0..2 {
        assert_eq!(nodes.ask(0, path).backend(), "b");
    }
    until("it is copied", || copied() > before);
}

fn kept(folder: &Path) -> usize {
    fs::read_dir(folder.join("a/copies")).expect("a folder").count()
}

#[test]
fn a_file_that_was_fetched_often_is_served_here_as_its_owner_serves_it() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir_all(folder.path().join("a/copies")).expect("a folder");
    fs::write(folder.path().join("a/copies/7.part"), "of another run").expect("a file");
    let nodes = nodes(folder.path(), 10_000_000, HOUR);
    assert_eq!(kept(folder.path()), 0, "what another run has left is gone");
    let film: Vec<u8> = (0..2_000_000u32).map(|place| (place * 7 % 251) as u8).collect();
    fs::write(folder.path().join("b/v/film.mpg"), &film).expect("a file");
    copy(&nodes, "/v/film.mpg");
    let (owners, here) = (nodes.ask(1, "/v/film.mpg"), nodes.ask(0, "/%76/film.mpg"));
    assert_eq!((here.status, here.backend()), (200, "a"));
    assert!(here.body == film && here.whole, "every byte of it");
    for header in ["etag", "last-modified", "content-type", "content-length", "accept-ranges"] {
        assert_eq!(here.header(header), owners.header(header), "{header}");
        assert!(here.header(header).is_some(), "{header}");
    }
    let part = ask(nodes.addresses[0], "GET", SERVICE, "/v/film.mpg", "range: bytes=1000-1999\r\n");
    assert_eq!((part.status, part.backend(), &part.body[..]), (206, "a", &film[1000..2000]));
    let tag = owners.header("etag").expect("a tag");
    let same = ask(nodes.addresses[0], "GET", SERVICE, "/v/film.mpg", &format!("if-none-match: {tag}\r\n"));
    assert_eq!((same.status, same.backend()), (304, "a"));
    // What is asked for with a query may be something else.
    assert_eq!(nodes.ask(0, "/v/film.mpg?x").backend(), "b");
    let counts = nodes.nodes[0].counts().cluster.expect("a cluster");
    assert_eq!((counts.fetched, counts.copied, counts.from_copies), (3, 1, 3), "{counts:?}");
    assert_eq!(kept(folder.path()), 1);
}

#[test]
fn what_the_owner_has_changed_is_not_served() {
    let folder = tempfile::tempdir().expect("a folder");
    let nodes = nodes(folder.path(), 10_000_000, Span::ZERO);
    let file = folder.path().join("b/v/page.txt");
    fs::write(&file, "old").expect("a file");
    copy(&nodes, "/v/page.txt");
    // The owner is asked each time whether it is still so.
    let part = ask(nodes.addresses[0], "GET", SERVICE, "/v/page.txt", "range: bytes=0-1\r\n");
    assert_eq!((part.status, part.backend(), part.text().as_str()), (206, "a", "ol"));
    fs::write(&file, "newer").expect("a file");
    let reply = nodes.ask(0, "/v/page.txt");
    assert_eq!((reply.status, reply.backend(), reply.text().as_str()), (200, "b", "newer"));
    let counts = nodes.nodes[0].counts().cluster.expect("a cluster");
    assert_eq!(counts.from_copies, 1, "{counts:?}");
    fs::remove_file(&file).expect("it is there");
    until("the owner sees that", || nodes.ask(0, "/v/page.txt").status == 404);
    assert_eq!(kept(folder.path()), 0, "and it is no copy any more");
}

#[test]
fn copies_take_no_more_than_they_may() {
    let folder = tempfile::tempdir().expect("a folder");
    let nodes = nodes(folder.path(), 2_000, HOUR);
    for name in ["one", "two", "three"] {
        fs::write(folder.path().join("b/v").join(name), vec![7; 1_000]).expect("a file");
    }
    fs::write(folder.path().join("b/v/large"), vec![7; 2_001]).expect("a file");
    copy(&nodes, "/v/one");
    copy(&nodes, "/v/two");
    assert_eq!(nodes.ask(0, "/v/one").backend(), "a");
    copy(&nodes, "/v/three");
    assert_eq!(
        ["one", "three", "two"].map(|name| nodes.ask(0, &format!("/v/{name}")).backend().to_owned()),
        ["a", "a", "b"]
    );
    assert_eq!(kept(folder.path()), 2);
    assert_eq!([0; 3].map(|_| nodes.ask(0, "/v/large").backend().to_owned()), ["b"; 3]);
    assert_eq!(nodes.nodes[0].counts().cluster.expect("a cluster").copied, 3);
}

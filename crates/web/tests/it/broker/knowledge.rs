//! What a node knows of a request beforehand: its oracle's table, and what it learns.

use std::fs;
use std::path::Path;

use sojourn_part::settings::node::{FileSettings, NodeSettings};
use sojourn_web::Node;
use sojourn_web::node::Oracle;

use super::{Cluster, cluster, node_of};
use crate::support::{free, get, server, until};

#[test]
fn the_oracle_says_what_is_worth_a_redirection_and_is_read_anew() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("oracle.toml");
    let rule = |operations: f64| format!("[[rule]]\npath = \"/bytes/*\"\noperations = {operations:?}\n");
    fs::write(&file, rule(0.0)).expect("it can be written");
    let nodes = Cluster::<2>::start(|_, config| cluster(config).oracle = Some(file.clone()));
    let _busy = nodes.burden(0, 20);
    assert_eq!(nodes.ask(0, "/bytes/10").status, 200, "it takes nothing anywhere");
    let reload = || nodes.nodes[0].reload(None);
    fs::write(&file, rule(1.0)).expect("it can be written");
    assert_eq!(nodes.ask(0, "/bytes/10").status, 200, "the table is that of before");
    assert_eq!(reload(), Ok(()));
    assert_eq!(nodes.ask(0, "/bytes/10").status, 307);
    // A table with a mistake changes nothing.
    fs::write(&file, "[[rule]]\npath = \"/bytes/*\"\noperation = 0\n").expect("it can be written");
    let wrong = reload().expect_err("it is wrong");
    assert!(wrong.contains("oracle.toml:3: unknown key `operation`; did you mean `operations`?"), "{wrong}");
    assert_eq!(nodes.ask(0, "/bytes/10").status, 307);
}

/// SWEB, step 2: what does not exist, or is a redirection, is completed at the node that was asked, whatever the oracle says
/// of its path. What can be read moves.
#[test]
fn what_has_nothing_to_read_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    let oracle = folder.path().join("oracle.toml");
    fs::write(&oracle, "[[rule]]\npath = \"/*\"\noperations = 1.0\n").expect("it can be written");
    let site = folder.path().join("site");
    fs::create_dir_all(site.join("folder")).expect("folders");
    fs::write(site.join("a.html"), "a page").expect("a file");
    fs::write(site.join("folder/index.html"), "a page").expect("a file");
    let nodes = Cluster::<2>::start(|_, config| {
        config.files = FileSettings::new(&site).into();
        cluster(config).oracle = Some(oracle.clone());
        cluster(config).explain = true;
    });
    let _busy = nodes.burden(0, 20);
    for path in ["/a.html", "/folder/", "/bytes/10"] {
        assert_eq!(nodes.ask(0, path).status, 307, "{path}");
    }
    for (path, status) in [("/none.html", 404), ("/folder", 301), ("/folder/none", 404), ("/%2e%2e/secret", 404)] {
        let reply = nodes.ask(0, path);
        assert_eq!(reply.status, status, "{path}");
        assert_eq!(reply.header("x-sojourn-reason"), Some("there is nothing to read at this path"), "{path}");
    }
    let counts = nodes.nodes[0].counts().cluster.expect("a cluster");
    assert_eq!((counts.decisions, counts.unasked), (3, 24), "20 services under its own name, and four refusals");
}

#[test]
fn a_table_that_is_wrong_or_not_there_stops_the_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("oracle.toml");
    let start = |file: &Path| {
        let mut config = node_of(&free::<2>(), 0);
        cluster(&mut config).oracle = Some(file.into());
        Node::start(config).err().expect("it is refused").to_string()
    };
    assert!(start(&file).contains("oracle.toml: No such file"), "{}", start(&file));
    fs::write(&file, "[[rule]]\npath = \"*\"\noperations = 1\nclass = \"slow\"\n").expect("it can be written");
    assert!(start(&file).contains("oracle.toml:4: rule[0].class: `slow` is no class"), "{}", start(&file));
}

#[test]
fn a_node_learns_what_it_serves() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("learned.toml");
    fs::write(folder.path().join("a.html"), "x".repeat(1000)).expect("a file");
    let mut model = server(sojourn_model::Discipline::Ps, "1 ms", None);
    // A service of 30 ms of work takes 10 ms here.
    model.speed = 3.0;
    let config = NodeSettings {
        model: Some(model.to_toml()),
        files: FileSettings::new(folder.path()).into(),
        learn: Some(file.clone()),
        ..NodeSettings::new("a")
    };
    let node = Node::start(config).expect("a node starts");
    for _ in 0..5 {
        assert_eq!(get(node.address(), "/a.html").status, 200);
        until("it is alone", || node.counts().in_flight == 0);
        assert_eq!(get(node.address(), "/work?demand=30ms&bytes=100").status, 200);
        assert_eq!(get(node.address(), "/none.html").status, 404);
        assert_eq!(get(node.address(), "/load").status, 200);
    }
    node.finish().1.expect("it is written");
    let text = fs::read_to_string(&file).expect("it is there");
    let oracle = Oracle::parse(&text, &file, &[]).expect("it can be read");
    let said = |path| oracle.foresee(path, "").cloned().unwrap_or_default();
    let page = said("/b.html").operations.expect("it was learned");
    // Processor time of a small file: some microseconds, three times as many operations.
    assert!(page > 0.0 && page < 1.0, "{text}");
    assert_eq!(said("/b.html").bytes, Some(1000));
    let work = said("/work").operations.expect("it was learned");
    assert!((0.03..3.0).contains(&work), "30 ms of work and the machine's lateness: {text}");
    assert_eq!(said("/work").bytes, Some(100));
    assert_eq!(text.matches("[[rule]]").count(), 2, "{text}");
    assert_eq!(text.matches("# The mean of 5 requests.").count(), 2, "{text}");
}

#[test]
fn what_cannot_be_learned_is_known_at_once() {
    let config = NodeSettings { learn: Some("/proc/none/learned.toml".into()), ..NodeSettings::new("a") };
    let wrong = Node::start(config).err().expect("it is refused").to_string();
    assert!(wrong.starts_with("cannot write what is learned to /proc/none/learned.toml: "), "{wrong}");
}

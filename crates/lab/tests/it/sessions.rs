//! Sessions, sites, clusters and programs in an experiment file: what is read, and what each mistake says.

use std::path::Path;

use sojourn_lab::{Experiment, Variant};
use sojourn_model::Mode;
use sojourn_model::system::{Affinity, Face, Told};
use sojourn_traffic::{Http, Workload};

const CLUSTER: &str = r#"name = "cluster"
seed = 1
[workload]
kind = "sessions"
users = 20
site = { files = 200, loner_sigma = 2.5 }
keep_alive = "10 s"
[system]
server = { discipline = "ps", demand = "1 ms" }
[[system.tier]]
face = "switch"
policy = "round-trip"
targets = { servers = 4 }
level = "session"
balancer = { mode = "mac-forwarding", per_packet = "10 us", cores = "1" }
told = ["bytes", "client-first-byte"]
[system.network]
rtt = "2 ms"
cluster_rate = "100 Mbit/s"
segment = "1000 B"
[run]
by = ["sim"]
duration = "60 s"
precision = "none"
"#;

fn variants(text: &str) -> Result<Vec<Variant>, String> {
    Experiment::new(Path::new("x.toml"), text.into(), &[])
        .and_then(|source| source.variants())
        .map_err(|e| e.to_string())
}

#[test]
fn a_cluster_is_read_as_written() {
    let variants = variants(CLUSTER).unwrap();
    let experiment = &variants[0].experiment;
    let asked = experiment.system().unwrap();
    let Workload::Sessions(sessions) = &asked.workload else { panic!("sessions") };
    assert_eq!((sessions.users, sessions.parallel), (20, 4));
    assert_eq!(sessions.http, Http::V11 { keep_alive: sojourn_stats::Span(10_000_000_000) });
    assert_eq!(sessions.site.files().len(), 200);
    let tier = asked.system.tier().unwrap();
    assert_eq!((tier.face, tier.affinity, tier.balancing.mode), (Face::Switch, Affinity::Session, Mode::MacForwarding));
    assert!(tier.told.contains(&Told::ClientFirstByte) && tier.told.contains(&Told::Bytes));
    assert_eq!(asked.system.network.tcp.segment, 1000);
    assert!(experiment.run.precision.is_none() && experiment.run.duration.is_some());
}

/// Behind a gateway the same file is told nothing: a gateway sees first bytes and bytes itself.
#[test]
fn a_face_is_told_only_what_it_does_not_see() {
    let text = CLUSTER.replace("\"switch\"", "\"gateway\"").replace("mode = \"mac-forwarding\", ", "");
    let variants = variants(&text).unwrap();
    assert!(variants[0].experiment.system().unwrap().system.tier().unwrap().told.is_empty());
}

#[test]
fn settings_that_go_together_vary_together() {
    let text = format!(
        "{CLUSTER}[vary]\nfaces = [{{ face = \"switch\", policy = \"random\" }}, {{ policy = \"round-robin\" \
            }}]\nusers = [1, 2]\n"
    );
    let labels: Vec<String> = variants(&text).unwrap().iter().map(Variant::label).collect();
    // All of them have the one face.
    let expected = ["random, users 1", "random, users 2"];
    assert_eq!(labels[..2], expected);
    assert_eq!(labels[2..], expected.map(|label| label.replace("random", "round-robin")));
}

#[test]
fn every_mistake_names_line_key_and_remedy() {
    // (what is replaced, by what, what the message must contain)
    let cases = [
        ("users = 20", "users = 0", &["x.toml:5", "users", "at least 1"][..]),
        ("users = 20", "arrivals = \"exponential(rate = 1 /s)\"", &["x.toml:5", "arrivals", "sessions"]),
        ("files = 200", "flies = 200", &["x.toml:6", "flies", "files"]),
        ("files = 200", "files = 2, base_requests = 1.5", &["x.toml:6", "base_requests", "0 to 1"]),
        ("site = { files = 200, loner_sigma = 2.5 }", "site = \"nowhere\"", &["x.toml:6", "site", "nowhere"]),
        ("keep_alive = \"10 s\"", "http = \"2\"", &["x.toml:7", "http", "1.1"]),
        ("keep_alive = \"10 s\"", "time_scale = 0.0", &["x.toml:7", "time_scale", "above 0"]),
        ("keep_alive = \"10 s\"", "length = \"pareto(alpha = 2)\"", &["x.toml:7", "length"]),
        ("level = \"session\"", "level = \"session\"\ndispatchers = 2", &["x.toml:15", "dispatchers", "1 dispatcher"]),
        ("level = \"session\"", "level = \"request\"", &["x.toml:14", "level", "switch", "connection"]),
        ("mac-forwarding", "nat", &["x.toml:15", "mode", "single-rewriting"]),
        ("cores = \"1\"", "cores = \"0\"", &["x.toml:15", "cores", "unlimited"]),
        (
            "told = [\"bytes\", \"client-first-byte\"]",
            "told = [\"bytes\"]",
            &[
                "x.toml:12",
                "round-trip",
                "first \
            byte",
            ],
        ),
        ("\"bytes\", ", "\"byts\", ", &["x.toml:16", "byts", "bytes"]),
        ("demand = \"1 ms\"", "demand = { static = \"1 ms\", dynmic = \"2 ms\" }", &["demand", "dynmic", "dynamic"]),
        ("rtt = \"2 ms\"", "rtt = 2", &["x.toml:18", "rtt = 2", "1.6 ms"]),
        ("segment = \"1000 B\"", "segment = \"0 B\"", &["x.toml:20", "segment", "1460 B"]),
        ("segment = \"1000 B\"", "initial_window = 0", &["x.toml:20", "initial_window", "1 segment"]),
        ("kind = \"sessions\"", "kind = \"closed\"", &["x.toml:11", "face", "sessions"]),
        ("precision = \"none\"", "precision = \"no\"", &["x.toml:24", "precision", "none"]),
    ];
    for (good, bad, expected) in cases {
        assert!(CLUSTER.contains(good), "{good}");
        let text = CLUSTER.replacen(good, bad, 1);
        let message = variants(&text).err().unwrap_or_else(|| panic!("`{bad}` was taken"));
        assert_eq!(message.lines().count(), 1, "{bad}: more than a line: {message}");
        for part in expected {
            assert!(message.contains(part), "`{bad}`: no `{part}` in: {message}");
        }
    }
}

#[test]
fn what_only_connections_have_is_refused_for_single_requests() {
    let open = super::spec::FOUR_SERVERS;
    for (after, more, expected) in [
        ("targets = { servers = 4 }\n", "level = \"connection\"\n", "level"),
        ("targets = { servers = 4 }\n", "balancer = { per_packet = \"1 us\" }\n", "balancer"),
        ("targets = { servers = 4 }\n", "told = [\"bytes\"]\n", "told"),
        ("demand = \"1 ms + 1 us/B\"\n", "[system.network]\nbackbone_rate = \"1 Gbit/s\"\n", "backbone_rate"),
        ("demand = \"1 ms + 1 us/B\"\n", "[system.network]\nsegment = \"1460 B\"\n", "segment"),
    ] {
        let message = variants(&open.replacen(after, &format!("{after}{more}"), 1)).unwrap_err();
        assert!(message.contains(expected) && message.contains("sessions"), "{message}");
    }
}

//! Paths that lose packets, and TCP over them, as an experiment writes them.

use std::path::Path;

use sojourn_lab::Spec;
use sojourn_model::system::{Directions, Line, LineQueue, Transport};
use sojourn_model::{LossModel, System, TcpStack};
use sojourn_stats::{Dimension, Law};

const LOSSY: &str = r#"name = "lossy"
[workload]
kind = "webstone"
users = 5
[system.paths]
within = { rtt = "20 ms", loss = "5 %", loss_correlation = 0.9 }
[system.server]
discipline = "ps"
demand = "1 ms"
[[system.tier]]
face = "gateway"
policy = "random"
targets = { servers = 2 }
[run]
by = ["sim"]
"#;

fn read(text: &str) -> Result<System, String> {
    let experiment = Spec::parse(text, Path::new("x.toml")).map_err(|error| error.to_string())?;
    Ok(experiment.system().expect("it has a system").system.clone())
}

/// `LOSSY` with `good` replaced.
fn but(good: &str, other: &str) -> String {
    assert!(LOSSY.contains(good), "{good}");
    LOSSY.replacen(good, other, 1)
}

#[test]
fn where_packets_are_lost_requests_need_connections() {
    let system = read(LOSSY).unwrap();
    let path = system.paths.between(0, 0).unwrap();
    let half = Directions::both(0.025);
    assert_eq!((path.loss, path.loss_correlation, path.loss_model), (half, 0.9, LossModel::GilbertElliott));
    // A process of WebStone has a connection for each request.
    let webstone = Transport { stack: TcpStack::LINUX_6, one_request_per_connection: true };
    assert_eq!(system.transport, Some(webstone));
    let kept = read(&but("users = 5", "users = 5\nhttp = \"1.1\"")).unwrap();
    assert_eq!(kept.transport, Some(Transport { one_request_per_connection: false, ..webstone }));
    let emulated = read(&but("loss_correlation = 0.9", "loss_correlation = 0.9, loss_model = \"nistnet\"")).unwrap();
    assert_eq!(emulated.paths.between(0, 0).unwrap().loss_model, LossModel::Nistnet);
    // What is not lost needs none, unless TCP is asked for.
    let lossless = but(", loss = \"5 %\", loss_correlation = 0.9", "");
    assert_eq!(read(&lossless).unwrap().transport, None);
    let tcp = "[system.tcp]\nstack = \"linux-2.2\"\ninitial_window = 4\nreceive_window = \"64 kB\"\n[system.server]";
    let stack = TcpStack { initial_window: 4, receive_window: 64_000, ..TcpStack::LINUX_2_2 };
    let asked = read(&lossless.replace("[system.server]", tcp)).unwrap();
    assert_eq!(asked.transport, Some(Transport { stack, ..webstone }));
}

#[test]
fn classes_that_come_over_tls_are_named_and_need_connections() {
    let mixed = "kind = \"closed\"\nusers = 5\nclasses = { a = 0.5, b = 0.25, c = 0.25 }\nsecure = [\"c\", \"b\"]";
    let mixed = but("kind = \"webstone\"\nusers = 5", mixed);
    assert_eq!(read(&mixed).unwrap().rules.secure, [2, 1]);
    assert!(read(LOSSY).unwrap().rules.secure.is_empty());
    let refused = |text: String, told: &str| {
        let message = read(&text).unwrap_err();
        assert!(message.contains(told) && message.starts_with("x.toml:") && message.lines().count() == 1, "{message}");
    };
    refused(mixed.replace("[\"c\", \"b\"]", "[\"d\"]"), "secure: unknown class of requests `d`");
    refused(mixed.replace("[\"c\", \"b\"]", "[]"), "secure: names of some of the workload's `classes`");
    refused(
        mixed.replace("classes = { a = 0.5, b = 0.25, c = 0.25 }\n", ""),
        "secure: names of some of the workload's `classes`",
    );
    let messages = mixed.replace(", loss = \"5 %\", loss_correlation = 0.9", "");
    refused(messages, "x.toml:6: secure: TLS secures connections: add [system.tcp]");
    refused(but("users = 5", "users = 5\nsecure = [\"a\"]"), "`webstone` has no such key");
}

#[test]
fn each_direction_has_what_the_file_gives_it() {
    let path = |keys: &str| {
        let text = but("loss = \"5 %\", loss_correlation = 0.9", keys);
        read(&text).unwrap_or_else(|error| panic!("{error}")).paths.between(0, 0).unwrap().clone()
    };
    let both = path("rate = \"2 Mbit/s\"");
    assert_eq!((both.rate, both.line), (Directions::both(Some(2e6)), Line::default()));
    let apart = path("rate = { up = \"1 Mbit/s\", down = \"16 Mbit/s\" }, loss = { up = \"1 %\", down = \"3 %\" }");
    assert_eq!(apart.rate, Directions { up: Some(1e6), down: Some(16e6) });
    assert_eq!(apart.loss, Directions { up: 0.01, down: 0.03 });
    // What is not said of a direction is infinitely fast, and loses nothing.
    let half = path("rate = { down = \"16 Mbit/s\" }, loss = { up = \"1 %\" }");
    assert_eq!(half.rate, Directions { up: None, down: Some(16e6) });
    assert_eq!((half.loss, half.loses()), (Directions { up: 0.01, down: 0.0 }, true));
}

#[test]
fn a_path_has_jitter_and_a_queue_for_the_links_of_a_bed() {
    let line = |keys: &str| {
        let text = but("loss = \"5 %\", loss_correlation = 0.9", &format!("rate = \"8 Mbit/s\", {keys}"));
        read(&text).unwrap_or_else(|error| panic!("{error}")).paths.between(0, 0).unwrap().line.clone()
    };
    let jitter = Law::parse("uniform(0 ms, 20 ms)", Dimension::Time).unwrap();
    let written = "jitter = \"uniform(0 ms, 20 ms)\"";
    assert_eq!(line(written), Line { jitter: Some(jitter.clone()), ..Line::default() });
    let free = Line { jitter: Some(jitter), reorders: true, queue: Some(LineQueue::Codel(None)) };
    assert_eq!(line(&format!("{written}, reorders = true, queue = \"codel\"")), free);
    for (queue, expected) in [
        ("drop-tail", LineQueue::DropTail(None)),
        ("drop-tail(64 kB)", LineQueue::DropTail(Some(64_000))),
        ("codel(1 MB)", LineQueue::Codel(Some(1_000_000))),
    ] {
        assert_eq!(line(&format!("queue = \"{queue}\"")).queue, Some(expected), "{queue}");
    }
}

#[test]
fn mistakes_about_lines() {
    let line = |keys: &str| but("loss = \"5 %\", loss_correlation = 0.9", keys);
    for (keys, expected) in [
        ("jitter = \"uniform(-5 ms, 5 ms)\"", ["x.toml:6: jitter", "is negative; a time is not"]),
        ("jitter = \"pareto(alpha = 0.9, min = 1 ms)\"", ["x.toml:6: jitter", "its mean is not finite"]),
        ("reorders = true", ["x.toml:6: reorders", "add `jitter = "]),
        ("queue = \"codel\"", ["x.toml:6: queue", "add `rate = "]),
        ("rate = \"1 Mbit/s\", queue = \"red\"", ["x.toml:6: queue", "`codel` or `codel(1 MB)`"]),
        ("rate = \"1 Mbit/s\", queue = \"codel(100 B)\"", ["x.toml:6: queue", "at least one packet (1500 B)"]),
        ("rate = \"1 Mbit/s\", queue = \"drop-tail(64 s)\"", ["x.toml:6: queue", "`drop-tail(64 kB)`"]),
        ("rate = { up = \"0 bit/s\" }", ["x.toml:6: rate", "a rate is above 0"]),
        ("rate = { sideways = \"1 Mbit/s\" }", ["x.toml:6", "sideways"]),
        ("rate = 5", ["x.toml:6", "{ up = ..., down = ... }"]),
        ("loss = { down = \"100 %\" }", ["x.toml:6: loss", "below 100 %"]),
    ] {
        let message = read(&line(keys)).unwrap_err();
        assert!(expected.iter().all(|part| message.contains(part)) && !message.contains('\n'), "{keys}: {message}");
    }
}

#[test]
fn mistakes_about_losses_and_tcp() {
    let tcp = |key: &str| but("[system.server]", &format!("[system.tcp]\n{key}\n[system.server]"));
    let model = |model: &str| but("loss_correlation = 0.9", &format!("loss_model = \"{model}\""));
    for (text, expected) in [
        (model("nist"), ["x.toml:6: loss_model", "did you mean `nistnet`?"]),
        (model("nistnet").replace("loss = \"5 %\", ", ""), ["x.toml:6: loss_model", "loss = \"5 %\""]),
        (tcp("stack = \"linux-7\""), ["x.toml:8: stack", "did you mean `linux-6`?"]),
        (tcp("initial_window = 0"), ["x.toml:8: initial_window", "from 1 to 1000 segments"]),
        (tcp("receive_window = \"1 B\""), ["x.toml:8: receive_window", "at least one segment, 1448 B"]),
        (
            tcp("stack = \"linux-6\"")
                .replace("[system.paths]\nwithin = { rtt = \"20 ms\", loss = \"5 %\", loss_correlation = 0.9 }\n", ""),
            ["x.toml:5: tcp", "[system.paths]"],
        ),
    ] {
        let message = read(&text).unwrap_err();
        assert!(expected.iter().all(|part| message.contains(part)), "{expected:?}: {message}");
    }
}

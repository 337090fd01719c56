//! Paths that lose packets, and TCP over them, as an experiment writes them.

use std::path::Path;

use sojourn_lab::Experiment;
use sojourn_model::system::Transport;
use sojourn_model::{LossModel, System, TcpStack};

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
    let experiment = Experiment::parse(text, Path::new("x.toml")).map_err(|error| error.to_string())?;
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
    assert_eq!((path.loss, path.loss_correlation, path.loss_model), (0.05, 0.9, LossModel::GilbertElliott));
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
fn mistakes_about_losses_and_tcp() {
    let tcp = |key: &str| but("[system.server]", &format!("[system.tcp]\n{key}\n[system.server]"));
    let model = |model: &str| but("loss_correlation = 0.9", &format!("loss_model = \"{model}\""));
    for (text, expected) in [
        (model("nist"), ["x.toml:6: loss_model", "gilbert-elliott, nistnet"]),
        (model("nistnet").replace("loss = \"5 %\", ", ""), ["x.toml:6: loss_model", "loss = \"5 %\""]),
        (tcp("stack = \"linux-7\""), ["x.toml:8: stack", "linux-2.2"]),
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

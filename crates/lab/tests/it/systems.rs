//! Systems of several tiers: each mistake gets one line that says file, line, key and what would be right, and what an
//! engine does not have yet it refuses by name.

use std::path::{Path, PathBuf};

use sojourn_dispatch::policies::POLICIES;
use sojourn_lab::{Context, Engine, Experiment, Progress, RunError, run};

/// Two sites in two regions; a DNS, a gateway at each site, and a redirect on every server.
const SITES: &str = r#"name = "sites"
[workload]
kind = "open"
arrivals = "exponential(rate = 100 /s)"
clients = [{ region = "europe", number = 30 }, { region = "asia", number = 20 }]
resolves = "ttl"
[[system.region]]
name = "europe"
[[system.region]]
name = "asia"
[[system.resolver]]
name = "isp"
region = "europe"
clients = 0.9
ttl = "at-least(300 s)"
[system.paths]
within = { rtt = "20 ms", loss = "0 %" }
between = { rtt = "uniform(50 ms, 90 ms)" }
"europe..asia" = { rtt = "120 ms", rate = "2 Mbit/s" }
[[system.site]]
name = "east"
region = "europe"
[[system.site]]
name = "west"
region = "asia"
[[system.tier]]
name = "dns"
face = "dns"
policy = "round-robin"
ttl = "60 s"
targets = { sites = ["east", "west"], weights = [2, 1] }
[[system.tier]]
name = "front"
face = "gateway"
policy = "least-connections"
targets = { servers = 3 }
[system.network]
cluster_rate = "1 Gbit/s"
[system.server]
discipline = "ps"
demand = "1 ms"
[[fault]]
at = "20 s"
until = "40 s"
server = "west/2"
what = "down"
[run]
by = ["sim"]
duration = "60 s"
"#;

/// A DNS, two gateways side by side, and a node on every server.
const NODES: &str = r#"name = "nodes"
[workload]
kind = "open"
arrivals = "exponential(rate = 100 /s)"
[[system.tier]]
name = "dns"
face = "dns"
policy = "round-robin"
targets = { tiers = ["gateway"] }
[[system.tier]]
name = "gateway"
face = "gateway"
policy = "least-connections"
instances = 2
targets = { tiers = ["node"] }
[[system.tier]]
name = "node"
face = "switch"
at = "servers"
policy = "random"
targets = { servers = 4 }
[system.server]
discipline = "ps"
demand = "1 ms"
[run]
by = ["sim"]
duration = "10 s"
"#;

/// A server that clients meet without a decider.
const DIRECT: &str = r#"name = "direct"
[workload]
kind = "closed"
users = 10
[[system.tier]]
face = "none"
policy = "none"
targets = { servers = 1 }
[system.server]
discipline = "ps"
demand = "1 ms"
[run]
by = ["sim"]
"#;

/// Why an experiment is refused when it is read, in one line.
fn complaint(text: &str) -> Option<String> {
    let read = Experiment::new(Path::new("x.toml"), text.into(), &[]).and_then(|source| source.variants());
    let message = read.err()?.to_string();
    assert_eq!(message.lines().count(), 1, "more than a line: {message}");
    Some(message)
}

/// `text` with `good` replaced.
fn but(text: &str, good: &str, bad: &str) -> String {
    assert!(text.contains(good), "{good}");
    text.replacen(good, bad, 1)
}

fn assert_refused(base: &str, cases: &[(&str, &str, &[&str])]) {
    assert_eq!(complaint(base), None);
    let mut wrong = Vec::new();
    for (good, bad, expected) in cases {
        let message = complaint(&but(base, good, bad)).unwrap_or_else(|| "it was taken".into());
        if !expected.iter().all(|part| message.contains(part)) {
            wrong.push(format!("`{bad}`: not {expected:?}: {message}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn mistakes_about_places() {
    let clients =
        "clients = [{ region = \"europe\", number = 30 }, { region = \"asia\", number = 20 }]\nresolves = \"ttl\"";
    let paths = "within = { rtt = \"20 ms\", loss = \"0 %\" }\nbetween = { rtt = \"uniform(50 ms, 90 ms)\" }\n\
                 \"europe..asia\" = { rtt = \"120 ms\", rate = \"2 Mbit/s\" }\n";
    let huge = "number = 30 }, { region = \"asia\", number = 20";
    assert_refused(
        SITES,
        &[
            // Regions.
            ("name = \"asia\"", "name = \"europe\"", &["x.toml:9: region: two regions are called `europe`"]),
            ("name = \"asia\"", "name = \"as..ia\"", &["x.toml:9: name", "two dots"]),
            ("name = \"asia\"", "name = \"asia\"\naddresses = \"194.0.0.0\"", &["x.toml:11: addresses", "194.0.0.0/7"]),
            ("region = \"europe\", n", "region = \"evrope\", n", &["x.toml:5: region", "did you mean `europe`"]),
            ("region = \"asia\"\n[[system.tier", "region = \"asai\"\n[[system.tier", &["x.toml:25: region", "`asia`"]),
            // Paths.
            (
                &format!("[system.paths]\n{paths}"),
                "",
                &["x.toml:9: region", "[system.paths]", "`within` and `between`"],
            ),
            (paths, "", &["x.toml:16: paths: no path joins `europe` and `europe`", "`within`"]),
            ("within = ", "\"asia..asia\" = ", &["x.toml:16: paths: no path joins `europe` and `europe`"]),
            ("between = ", "\"asia..europe\" = ", &["x.toml:19: ", "written twice", "both directions"]),
            ("\"europe..asia\"", "\"europe..mars\"", &["x.toml:19: europe..mars", "unknown region `mars`"]),
            ("\"europe..asia\"", "\"europe\"", &["x.toml:19: europe", "\"europe..asia\""]),
            ("\"20 ms\", loss = \"0 %\"", "\"-20 ms\"", &["x.toml:17: rtt", "negative"]),
            ("uniform(50 ms, 90 ms)", "uniform(-50 ms, 90 ms)", &["x.toml:18: rtt", "negative"]),
            ("uniform(50 ms, 90 ms)", "pareto(alpha = 0.9, min = 1 ms)", &["x.toml:18: rtt", "not finite"]),
            ("uniform(50 ms, 90 ms)", "uniform(50, 90)", &["x.toml:18: rtt", "unit"]),
            ("loss = \"0 %\"", "loss = \"100 %\"", &["x.toml:17: loss", "below 100 %"]),
            ("loss = \"0 %\"", "loss_correlation = 0.5", &["x.toml:17: loss_correlation", "loss = \"5 %\""]),
            ("loss = \"0 %\"", "loss = \"1 %\", loss_correlation = 1.0", &["x.toml:17: loss_correlation", "below 1"]),
            ("rate = \"2 Mbit/s\"", "rate = \"0 bit/s\"", &["x.toml:19: rate", "above 0"]),
            ("rate = \"2 Mbit/s\"", "medium = \"ether\"", &["x.toml:19: medium", "unknown medium `ether`"]),
            (
                "[[system.site]]",
                "[system.medium.ether]\nrate = \"1 Mbit/s\"\n[[system.site]]",
                &["x.toml:20: medium", "no path is on it"],
            ),
            ("cluster_rate", "rtt = \"1 ms\"\ncluster_rate", &["x.toml:38: rtt", "[system.paths]"]),
            ("cluster_rate", "client_rate", &["x.toml:38: client_rate", "[system.paths]"]),
            // Sites.
            ("name = \"west\"", "name = \"east\"", &["x.toml:23: site: two sites are called `east`"]),
            ("\"east\", \"west\"", "\"east\", \"wets\"", &["x.toml:31: sites", "did you mean `west`"]),
            ("\"east\", \"west\"", "\"east\", \"east\"", &["x.toml:31: sites", "named twice"]),
            ("sites = [\"east\", \"west\"], weights = [2, 1]", "sites = []", &["x.toml:31: sites", "at least 1"]),
            (
                "sites = [\"east\", \"west\"], weights = [2, 1]",
                "tiers = [\"front\"]",
                &["x.toml:20: site", "no tier has sites"],
            ),
            ("weights = [2, 1]", "weights = [2, 1, 1]", &["x.toml:31: weights", "one number per target: 2, not 3"]),
            ("weights = [2, 1]", "weights = [2, -1]", &["x.toml:31: weights", "above 0"]),
            ("weights = [2, 1]", "speeds = [2, 1]", &["x.toml:31: speeds", "only servers"]),
            // Resolvers and names.
            ("clients = 0.9", "clients = 1.1", &["x.toml:14: clients", "serve 1.1 of its clients", "at most 1"]),
            ("clients = 0.9", "clients = 0.0", &["x.toml:14: clients", "above 0"]),
            (
                "[system.paths]",
                "[[system.resolver]]\nregion = \"europe\"\nclients = 0.2\n[system.paths]",
                &["x.toml:18: clients", "1.1"],
            ),
            (
                "[system.paths]",
                "[[system.resolver]]\nname = \"isp\"\nregion = \"asia\"\nclients = 0.2\n[system.paths]",
                &["x.toml:16: resolver", "two resolvers are called `isp`"],
            ),
            ("at-least(300 s)", "at-most(300 s)", &["x.toml:15: ttl", "at-least(300 s)"]),
            ("at-least(300 s)", "ignored(-1 h)", &["x.toml:15: ttl", "ignored(1 h)"]),
            ("{ region = \"europe\", number = 30 }, ", "", &["x.toml:13: region", "no client is in `europe`"]),
            ("resolves = \"ttl\"", "resolves = \"-60 s\"", &["x.toml:6: resolves", "60 s"]),
            ("face = \"dns\"", "face = \"redirect\"", &["x.toml:30: ttl", "face `dns`"]),
            (
                "face = \"dns\"\npolicy = \"round-robin\"\nttl = \"60 s\"",
                "face = \"redirect\"\npolicy = \"round-robin\"",
                &["x.toml:11: resolver", "face `dns`"],
            ),
            // Clients.
            (clients, "", &["x.toml:3: kind", "say where the clients are"]),
            (clients, "clients = 50", &["x.toml:5: clients", "in which regions"]),
            (clients, "clients = []", &["x.toml:5: clients", "at least 1 region"]),
            ("number = 30", "number = 0", &["x.toml:5: number", "at least 1"]),
            ("number = 30", "number = 30, machines = 31", &["x.toml:5: machines", "from 1 to 30"]),
            ("number = 30", "number = 30, machines = 0", &["x.toml:5: machines", "from 1 to 30"]),
            ("number = 30", "number = -1", &["x.toml:5: "]),
            (
                huge,
                "number = 4000000000 }, { region = \"asia\", number = 4000000000",
                &["x.toml:5: number", "at most 10000000"],
            ),
            (
                "kind = \"open\"\narrivals = \"exponential(rate = 100 /s)\"",
                "kind = \"closed\"\nusers = 5",
                &["x.toml:4: users", "in each region"],
            ),
            (
                &format!("kind = \"open\"\narrivals = \"exponential(rate = 100 /s)\"\n{clients}"),
                "kind = \"log\"\nlog = \"a.log\"",
                &["x.toml:3: kind", "not there yet", "`log`"],
            ),
            (
                &format!("kind = \"open\"\narrivals = \"exponential(rate = 100 /s)\"\n{clients}"),
                "kind = \"sessions\"\nusers = 5",
                &["x.toml:3: kind", "not there yet", "`sessions`"],
            ),
            (
                "kind = \"open\"\narrivals = \"exponential(rate = 100 /s)\"",
                "kind = \"log\"\nlog = \"a.log\"",
                &["x.toml:5: clients", "`log` has no such key"],
            ),
            // A workload of one class needs its demand.
            ("demand = \"1 ms\"", "demand = { dynamic = \"1 ms\" }", &["x.toml:41: demand", "none for class"]),
        ],
    );
}

#[test]
fn mistakes_about_tiers() {
    assert_refused(
        NODES,
        &[
            // Targets.
            ("targets = { servers = 4 }", "", &["x.toml:18: tier", "targets = { servers = 4 }"]),
            ("servers = 4", "", &["x.toml:21: targets", "of one kind"]),
            ("servers = 4", "servers = 4, tiers = [\"gateway\"]", &["x.toml:21: targets", "of one kind"]),
            ("servers = 4", "servers = 0", &["x.toml:21: servers", "at least 1"]),
            ("servers = 4", "servers = -1", &["x.toml:21: ", "-1"]),
            ("servers = 4", "servers = 4000000000", &["x.toml:21: servers", "at most 100000"]),
            (
                "servers = 4",
                "servers = 4, weights = [1, 2]",
                &["x.toml:21: weights", "one number per target: 4, not 2"],
            ),
            ("servers = 4", "servers = 4, speeds = [1, 2]", &["x.toml:21: speeds", "one number per target: 4, not 2"]),
            ("tiers = [\"node\"]", "tiers = [\"nod\"]", &["x.toml:15: tiers", "did you mean `node`"]),
            ("tiers = [\"node\"]", "tiers = [\"node\", \"node\"]", &["x.toml:15: tiers", "named twice"]),
            ("tiers = [\"node\"]", "tiers = []", &["x.toml:15: tiers", "at least 1"]),
            ("tiers = [\"node\"]", "sites = [\"node\"]", &["x.toml:15: sites", "[[system.site]]"]),
            ("servers = 4", "sites = [\"node\"]", &["x.toml:21: sites", "follows in the file"]),
            ("tiers = [\"node\"]", "tiers = [\"dns\"]", &["x.toml:15: targets", "face `dns`", "no address"]),
            ("tiers = [\"node\"]", "tiers = [\"gateway\"]", &["x.toml:9: targets", "circle"]),
            (
                "at = \"servers\"\npolicy = \"random\"\ntargets = { servers = 4 }",
                "policy = \"random\"\ntargets = { tiers = [\"gateway\"] }",
                &["x.toml:9: targets", "circle"],
            ),
            ("tiers = [\"node\"]", "servers = 2", &["x.toml:18: tier", "no request comes here"]),
            // Names, faces and places.
            ("name = \"node\"", "name = \"gateway\"", &["x.toml:17: name", "two tiers are called `gateway`"]),
            ("face = \"switch\"", "face = \"swich\"", &["x.toml:18: face", "did you mean `switch`"]),
            ("face = \"switch\"", "face = \"none\"", &["x.toml:15: targets", "face `none`", "no address"]),
            ("face = \"dns\"", "face = \"none\"", &["x.toml:7: face", "`none` means one server"]),
            ("at = \"servers\"", "at = \"server\"", &["x.toml:19: at", "did you mean `servers`"]),
            ("instances = 2", "at = \"servers\"", &["x.toml:14: at", "targets = { servers = 4 }"]),
            ("at = \"servers\"", "at = \"servers\"\ninstances = 2", &["x.toml:20: instances", "every server has one"]),
            ("instances = 2", "instances = 0", &["x.toml:14: instances", "at least 1"]),
            ("instances = 2", "instances = 4000000000", &["x.toml:14: instances", "at most 1000000"]),
            ("instances = 2", "dispatchers = 4000000000", &["x.toml:15: targets", "at most 1000000"]),
            ("instances = 2", "dispatchers = 0", &["x.toml:14: dispatchers", "at least 1"]),
            ("servers = 4", "servers = 5000", &["x.toml:21: targets", "5000 dispatchers for 5000 targets"]),
            ("face = \"dns\"", "face = \"dns\"\ninstances = 2", &["x.toml:8: instances", "in front"]),
            // What only some faces and workloads have.
            ("instances = 2", "ttl = \"60 s\"", &["x.toml:14: ttl", "face `dns`"]),
            ("policy = \"round-robin\"", "policy = \"round-robin\"\nttl = \"-1 s\"", &["x.toml:9: ttl", "negative"]),
            (
                "policy = \"round-robin\"",
                "policy = \"round-robin\"\nttl = \"variable(60 s)\"",
                &["x.toml:9: ttl", "add `reports`"],
            ),
            (
                "policy = \"round-robin\"",
                "policy = \"round-robin\"\nreports = { every = \"1 s\" }\nttl = \"adaptive(60 s)\"",
                &["x.toml:10: ttl", "with `client_rates`"],
            ),
            (
                "policy = \"round-robin\"",
                "policy = \"round-robin\"\nttl = \"variable(-60 s)\"",
                &["x.toml:9: ttl", "`variable(60 s)`"],
            ),
            ("instances = 2", "reports = { every = \"1 s\" }", &["x.toml:14: reports", "`information`"]),
            ("at = \"servers\"", "reports = { every = \"0 s\" }", &["x.toml:19: every", "some time apart"]),
            (
                "at = \"servers\"",
                "reports = { every = \"1 s\", heartbeat = \"500 ms\" }",
                &["x.toml:19: heartbeat", "at least that"],
            ),
            (
                "at = \"servers\"",
                "reports = { every = \"1 s\" }\ninformation = \"polled every 1 s\"",
                &["x.toml:20: information", "leave one of the two out"],
            ),
            (
                "at = \"servers\"",
                "reports = { every = \"1 s\", client_rates = \"8 s\", hidden_load = true }",
                &["x.toml:19: hidden_load", "only a DNS"],
            ),
            (
                "policy = \"round-robin\"",
                "policy = \"round-robin\"\nreports = { every = \"1 s\", hidden_load = true }",
                &["x.toml:9: hidden_load", "add `client_rates`"],
            ),
            ("at = \"servers\"", "reports = { every = \"1 s\", cost = \"-1 s\" }", &["x.toml:19: cost", "negative"]),
            (
                "at = \"servers\"",
                "reports = { every = \"1 s\", capacity = { at = 70 } }",
                &["x.toml:19: at", "above 0 and at most 1"],
            ),
            ("instances = 2", "probes = { at_most = 3, refresh = \"60 s\" }", &["x.toml:14: probes", "face `dns`"]),
            (
                "policy = \"round-robin\"",
                "policy = \"round-robin\"\nprobes = { at_most = 0, refresh = \"60 s\" }",
                &["x.toml:9: at_most", "at least 1"],
            ),
            ("instances = 2", "information = \"polled every 0 s\"", &["x.toml:14: information", "polled every 100 ms"]),
            ("instances = 2", "information = \"polled\"", &["x.toml:14: information", "immediate"]),
            ("instances = 2", "poll_cost = \"1 ms\"", &["x.toml:14: poll_cost", "`sessions`"]),
            ("instances = 2", "level = \"session\"", &["x.toml:14: level", "`sessions`"]),
            ("instances = 2", "attached = \"session\"", &["x.toml:14: attached", "`sessions`"]),
            ("instances = 2", "balancer = { cores = 1 }", &["x.toml:14: balancer", "`sessions`"]),
            ("instances = 2", "told = [\"bytes\"]", &["x.toml:14: told", "`sessions`"]),
            ("instances = 2", "told = [\"predicted-response\"]", &["x.toml:14: told", "to servers itself"]),
            (
                "[system.server]",
                "[system.network]\nserver_rate = \"1 Mbit/s\"\n[system.server]",
                &["x.toml:23: server_rate", "`sessions`"],
            ),
            // Pools.
            (
                "[system.server]",
                "[[system.tier.pool]]\npath = \"/a\"\npolicy = \"random\"\ntargets = { servers = 1 }\n[system.server]",
                &["x.toml:22: pool", "gateway or a redirect"],
            ),
            // What no tier would read.
            ("kind = \"open\"", "kind = \"open\"\nclients = 4000000000", &["x.toml:4: clients", "at most 10000000"]),
            ("kind = \"open\"", "kind = \"open\"\nclients = 0", &["x.toml:4: clients", "at least 1"]),
            (
                "kind = \"open\"\narrivals = \"exponential(rate = 100 /s)\"",
                "kind = \"closed\"\nusers = 4000000000",
                &["x.toml:4: users", "at most 10000000"],
            ),
            (
                "kind = \"open\"\narrivals = \"exponential(rate = 100 /s)\"",
                "kind = \"closed\"\nusers = 4\nclients = 4",
                &["x.toml:5: clients", "users = 100"],
            ),
            (
                "kind = \"open\"",
                "kind = \"open\"\nclients = [{ region = \"mars\", number = 3 }]",
                &["x.toml:4: region", "[[system.region]]"],
            ),
            (
                "[system.server]",
                "[system.paths]\n\"..\" = { rtt = \"1 ms\" }\n[system.server]",
                &["x.toml:23: ..", "no region is written"],
            ),
            (
                "[system.server]",
                "[system.paths]\nbetween = { rtt = \"1 ms\" }\n[system.server]",
                &["x.toml:23: between", "one region"],
            ),
            ("[system.server]", "[system.paths]\n[system.server]", &["x.toml:22: paths", "within"]),
            (
                "[system.server]\ndiscipline = \"ps\"\ndemand = \"1 ms\"\n",
                "",
                &["x.toml:5: system", "it needs a server"],
            ),
        ],
    );
    let pools = "[[system.tier.pool]]\npolicy = \"random\"\ntargets = { servers = 1 }\npath = \"/a\"\n";
    let gateway = NODES.replace("tiers = [\"node\"] }", &format!("tiers = [\"node\"] }}\n{pools}"));
    assert_refused(
        &gateway,
        &[
            ("path = \"/a\"", "", &["x.toml:16: pool", "`host` or a `path`"]),
            ("path = \"/a\"", "path = \"a\"", &["x.toml:19: path", "slash"]),
            ("servers = 1", "tiers = [\"node\"]", &["x.toml:18: targets", "servers = 2"]),
            ("servers = 1", "servers = 0", &["x.toml:18: servers", "at least 1"]),
            ("servers = 1", "servers = 1, weights = [1, 1]", &["x.toml:18: weights", "1, not 2"]),
            (
                "\"random\"\ntargets = { servers = 1",
                "\"rondom\"\ntargets = { servers = 1",
                &["x.toml:17: policy", "`random`"],
            ),
            ("path = \"/a\"\n", &format!("path = \"/a\"\n{pools}"), &["x.toml:20: pool", "an earlier pool"]),
        ],
    );
    let none = [
        "at = \"servers\"",
        "instances = 1",
        "dispatchers = 2",
        "information = \"immediate\"",
        "ttl = \"1 s\"",
        "told = [\"bytes\"]",
    ];
    for key in none {
        let name = key.split(' ').next().expect("a key");
        let expected = [&*format!("x.toml:8: {name}"), "nothing decides"];
        assert_refused(DIRECT, &[("targets", &format!("{key}\ntargets"), &expected)]);
    }
    let weights = ("servers = 1", "servers = 1, weights = [1]", &["x.toml:8: weights", "nothing decides"][..]);
    let nodes = "face = \"redirect\"\nat = \"servers\"\npolicy = \"random\"";
    let first = ("face = \"none\"\npolicy = \"none\"", nodes, &["x.toml:7: at", "in front"][..]);
    let several = ("servers = 1", "servers = 2", &["x.toml:6: face", "several need a gateway"][..]);
    let resolves = ("users = 10", "users = 10\nresolves = \"ttl\"", &["x.toml:5: resolves", "face `dns`"][..]);
    assert_refused(DIRECT, &[weights, first, several, resolves]);
}

/// Clients that decide hold their choice for as long as they are told to, hear of no others, and have no address to be sent to.
#[test]
fn mistakes_about_clients_that_decide() {
    let client = but(SITES, "face = \"dns\"", "face = \"client\"").replace("resolves = \"ttl\"\n", "");
    let (from, to) = (client.find("[[system.resolver]]").unwrap(), client.find("[system.paths]").unwrap());
    let client = format!("{}{}", &client[..from], &client[to..]).replace("ttl = \"60 s\"", "held = \"60 s\"");
    assert_eq!(complaint(&client), None);
    assert_eq!(complaint(&but(&client, "held = \"60 s\"", "held = \"run\"")), None);
    let polled = "policy = \"least-connections\"\ninformation = \"polled every 1 s\"";
    for (good, bad, expected) in [
        ("held = \"60 s\"", "held = \"0 s\"", "`request`, `run`"),
        ("held = \"60 s\"", "held = \"for ever\"", "`request`, `run`"),
        ("held = \"60 s\"", "ttl = \"60 s\"", "face `dns`"),
        ("policy = \"round-robin\"", "policy = \"free-capacity\"", "(reports)"),
        ("policy = \"round-robin\"", "policy = \"nearest(probes = false)\"", "(origin)"),
        ("policy = \"round-robin\"", polled, "its own requests"),
        ("held = \"60 s\"", "reports = { every = \"1 s\" }", "counts for itself"),
        (
            "policy = \"least-connections\"",
            "policy = \"least-connections\"\nheld = \"60 s\"",
            "only clients that decide",
        ),
    ] {
        let message = complaint(&but(&client, good, bad)).unwrap_or_else(|| panic!("it was read: {bad}"));
        assert!(message.starts_with("x.toml:") && message.contains(expected), "`{bad}`: {message}");
    }
}

#[test]
fn mistakes_about_faults_and_clients() {
    let second = |fault: &str| format!("[[fault]]\n{fault}\n[run]");
    let client = |rules: &str| format!("[client]\n{rules}\n[run]");
    let (server, site) = (
        second("at = \"30 s\"\nserver = \"west/2\"\nwhat = \"drained\""),
        second("at = \"30 s\"\nsite = \"west\"\nwhat = \"down\""),
    );
    let share = second("at = \"10 s\"\nshare = 0.1\nwhat = \"errors(0.1)\"");
    let cut = "path = \"europe..asia\"\nwhat = \"cut\"";
    let later = second("at = \"40 s\"\nserver = \"west/2\"\nwhat = \"down\"");
    assert_eq!(complaint(&but(SITES, "[run]", &later)), None, "one begins where the other ends");
    assert_refused(
        SITES,
        &[
            ("at = \"20 s\"\nuntil = \"40 s\"", "at = \"60 s\"", &["x.toml:43: at", "after the run", "60"]),
            ("at = \"20 s\"", "at = \"-1 s\"", &["x.toml:43: at", "negative"]),
            ("at = \"20 s\"", "at = \"20\"", &["x.toml:43: at", "unit"]),
            ("until = \"40 s\"", "until = \"20 s\"", &["x.toml:44: until", "after it begins"]),
            ("until = \"40 s\"", "until = \"1 s\"", &["x.toml:44: until", "after it begins"]),
            ("server = \"west/2\"", "", &["x.toml:42: fault", "say once"]),
            ("server = \"west/2\"", "server = \"west/2\"\nsite = \"west\"", &["x.toml:42: fault", "say once"]),
            ("server = \"west/2\"", "server = \"west/4\"", &["x.toml:45: server", "no such server", "\"east/1\""]),
            ("server = \"west/2\"", "server = \"north/1\"", &["x.toml:45: server", "no such server"]),
            ("server = \"west/2\"", "server = 7", &["x.toml:45: server", "no such server"]),
            ("server = \"west/2\"", "server = 0", &["x.toml:45: server", "no such server"]),
            ("server = \"west/2\"", "server = -1", &["x.toml:45: ", "by its number from 1 on"]),
            ("server = \"west/2\"", "server = 1.5", &["x.toml:45: ", "by its number from 1 on"]),
            ("server = \"west/2\"", "site = \"north\"", &["x.toml:45: site", "unknown site"]),
            ("server = \"west/2\"", "tier = \"fornt\"", &["x.toml:45: tier", "did you mean `front`"]),
            ("server = \"west/2\"", "resolver = \"ips\"", &["x.toml:45: resolver", "did you mean `isp`"]),
            ("server = \"west/2\"", "path = \"europe\"", &["x.toml:45: path", "europe..asia"]),
            ("server = \"west/2\"", "path = \"europe..mars\"", &["x.toml:45: path", "known: europe, asia"]),
            ("server = \"west/2\"", "path = \"europe..asia\"", &["x.toml:46: what", "`cut`"]),
            ("server = \"west/2\"\nwhat = \"down\"", cut, &["x.toml:46: what", "how long clients wait"]),
            (
                "until = \"40 s\"\nserver = \"west/2\"\nwhat = \"down\"",
                "server = \"west/2\"\nwhat = \"frozen\"",
                &["x.toml:45: what", "how long clients wait"],
            ),
            ("what = \"down\"", "what = \"loss(0.1)\"", &["x.toml:46: what", "lost on paths"]),
            (
                "server = \"west/2\"\nwhat = \"down\"",
                "resolver = \"isp\"\nwhat = \"drained\"",
                &["x.toml:46: what", "resolver"],
            ),
            ("server = \"west/2\"", "share = 1.5", &["x.toml:45: share", "at most 1"]),
            ("what = \"down\"", "what = \"donw\"", &["x.toml:46: what", "did you mean `down`"]),
            ("what = \"down\"", "what = \"slow\"", &["x.toml:46: what", "slow(0.2)"]),
            ("what = \"down\"", "what = \"slow(0)\"", &["x.toml:46: what", "slow(0.2)"]),
            ("what = \"down\"", "what = \"down(0.5)\"", &["x.toml:46: what", "known are down"]),
            ("[run]", &server, &["x.toml:47: fault", "overlaps"]),
            ("[run]", &site, &["x.toml:47: fault", "overlaps"]),
            ("[run]", &share, &["x.toml:47: fault", "overlaps"]),
            ("[run]", &client("timeout = \"0 s\""), &["x.toml:48: timeout", "longer than 0 s"]),
            (
                "[run]",
                &client("retries = { at_most = 1, backoff = \"constant(-1 s)\" }"),
                &["x.toml:48: backoff", "negative"],
            ),
            ("[run]", &client("retries = { at_most = 1, budget = -0.2 }"), &["x.toml:48: budget", "above 0"]),
            ("[run]", &client("retries = { at_most = 1, budget = 1.5 }"), &["x.toml:48: budget", "at most 1"]),
            ("[run]", &client("retries = { at_most = 1, budget = \"20\" }"), &["x.toml:48: budget", "10 %"]),
            (
                "[run]",
                &client("retries = { at_most = 1, budget = \"token-bucket(10 %)\" }"),
                &["x.toml:48: budget", "token-bucket(10 %, 10)"],
            ),
            ("[run]", &client("retries = \"3\""), &["x.toml:48: ", "how often a client tries again", "{ at_most = 3"]),
            ("[run]", &client("retries = { at_mots = 3 }"), &["x.toml:48: ", "did you mean `at_most`"]),
            (
                "[run]",
                &client("retries = { at_most = 1, backoff = \"full-jitter(25 ms)\" }"),
                &["x.toml:48: backoff", "full-jitter(25 ms, 250 ms)"],
            ),
            ("[run]", &client("deadline = \"1 s\"\ntimeout = \"2 s\""), &["x.toml:48: deadline", "not shorter"]),
            ("[run]", &client("hedge = \"2 s\"\ntimeout = \"1 s\""), &["x.toml:48: hedge", "after 1 s"]),
            ("[run]", &client("abandoned = \"serve\""), &["x.toml:48: abandoned", "did you mean `served`"]),
            ("[run]", &client("hedge = \"p100\""), &["x.toml:48: hedge", "between 0 and 100"]),
            ("[run]", &client("hedge = \"soon\""), &["x.toml:48: hedge", "p95"]),
            ("[run]", &client("tiemout = \"1 s\""), &["x.toml:48: ", "did you mean `timeout`"]),
            ("[run]", &client("fails_over = \"yes\""), &["x.toml:48: ", "`true` or `false`"]),
        ],
    );
    let unused = "[[system.site]]\nname = \"north\"\nregion = \"asia\"\n[[system.tier]]";
    assert_refused(
        &but(SITES, "[[system.tier]]", unused),
        &[("server = \"west/2\"", "site = \"north\"", &["x.toml:48: site", "no server is at this site"])],
    );
}

/// Every built-in policy at every face: those that need what the face does not see are refused by the signal's name.
#[test]
fn a_policy_is_refused_by_the_signal_that_a_face_lacks() {
    // The signal that is missing at a gateway, a switch, a redirect and a DNS; nothing where the face has all.
    let missing = |name: &str| match name {
        "round-robin"
        | "random"
        | "weighted-round-robin"
        | "weighted-round-robin-classic"
        | "address-hash"
        | "priority-levels" => [""; 4],
        "least-connections"
        | "least-connections-lowest-id"
        | "probabilistic-least-connections"
        | "power-of-d"
        | "weighted-least-connections" => ["", "", "(in-flight)", "(in-flight)"],
        "path-hash" => ["", "(path)", "", "(path)"],
        "lard" => ["", "(path)", "(in-flight)", "(in-flight)"],
        "round-trip" | "peak-ewma" => ["", "(first-byte", "(in-flight)", "(in-flight)"],
        "transmitted-size" => ["", "(bytes)", "(in-flight)", "(in-flight)"],
        "cookie" => ["", "(cookie)", "(in-flight)", "(in-flight)"],
        "shortest-predicted-response" => ["(predicted-response)"; 4],
        // By weights; by what is reported; by places, of which this file says nothing.
        "weighted" => [""; 4],
        "remaining-capacity" | "free-capacity" | "least-load" | "busiest-to-largest" | "nearest-with-room" => {
            ["(reports)"; 4]
        }
        "nearest" | "geographic" => ["(origin)"; 4],
        // By what a node that redirects knows, and by reports.
        "file-locality" => ["(hops)", "(object)", "", "(object)"],
        "stay" => ["(hops)", "(hops)", "", "(hops)"],
        "sweb" | "cpu-only" => ["(reports)"; 4],
        other => panic!("a new policy: what does `{other}` need?"),
    };
    for policy in POLICIES {
        for (face, signal) in ["gateway", "switch", "redirect", "dns"].into_iter().zip(missing(policy.name)) {
            let (at, line) = if face == "dns" { ("policy = \"round-robin\"", 8) } else { ("policy = \"random\"", 20) };
            let text = but(NODES, at, &format!("policy = \"{}\"", policy.name));
            let text = if face == "dns" { text } else { text.replace("\"switch\"", &format!("\"{face}\"")) };
            let message = complaint(&text).unwrap_or_default();
            assert_eq!(message.is_empty(), signal.is_empty(), "{} at {face}: {message}", policy.name);
            if !signal.is_empty() {
                let start = format!("x.toml:{line}: policy: policy `{}` needs", policy.name);
                assert!(message.starts_with(&start) && message.contains(signal), "{face}: {message}");
                // Only what a simulator can tell of this workload is offered.
                assert_eq!(message.contains("told"), signal == "(predicted-response)", "{face}: {message}");
            }
        }
    }
}

#[test]
fn an_estimator_of_capacity_is_one_that_there_is() {
    let reports = |estimator: &str| {
        let written = format!("face = \"switch\"\nreports = {{ every = \"500 ms\", estimator = \"{estimator}\" }}");
        complaint(&but(NODES, "face = \"switch\"", &written)).unwrap_or_default()
    };
    assert_eq!(reports("response-time"), "");
    let message = reports("respnse-time");
    assert!(message.contains("estimator: ") && message.contains("did you mean `response-time`?"), "{message}");
}

/// What the simulator does not have yet is refused by name before anything starts, whatever the file says.
#[test]
fn sim_refuses_what_it_does_not_have() {
    let medium = "[system.medium.ether]\nrate = \"1 Mbit/s\"\n[[system.site]]";
    let sessions = "kind = \"sessions\"\nusers = 5";
    let open = "kind = \"open\"\narrivals = \"exponential(rate = 100 /s)\"";
    let behind = but(NODES, "face = \"switch\"", "face = \"redirect\"");
    let wide = but(
        SITES,
        "targets = { servers = 3 }",
        "targets = { tiers = [\"inner\"] }\n[[system.tier]]\nname = \"inner\"\nface = \"gateway\"\npolicy = \"random\"\n\
         targets = { servers = 3 }",
    );
    let central = but(
        &wide,
        "face = \"dns\"\npolicy = \"round-robin\"\nttl = \"60 s\"",
        "face = \"gateway\"\npolicy = \"random\"",
    );
    let central = central.replace(
        "[[system.resolver]]\nname = \"isp\"\nregion = \"europe\"\nclients = 0.9\nttl = \"at-least(300 s)\"\n",
        "",
    );
    let central = central.replace("resolves = \"ttl\"\n", "");
    let polls = "policy = \"least-connections\"\ninformation = \"polled every 1 s\"\ninstances = 2";
    let gateway = but(
        NODES,
        "tiers = [\"node\"] }",
        "tiers = [\"node\"] }\n[[system.tier.pool]]\nhost = \"a\"\npolicy = \"random\"\ntargets = { servers = 1 }",
    );
    let cases: &[(&str, &str, &str, &str)] = &[
        (&gateway, "host = \"a\"", "host = \"b\"", "pools"),
        (
            &but(&central, "[[system.site]]", medium),
            "rate = \"2 Mbit/s\"",
            "medium = \"ether\"",
            "medium of a path between",
        ),
        (&central, "rate = \"2 Mbit/s\"", "loss = \"1 %\"", "loss or medium of a path between a gateway"),
        (SITES, "loss = \"0 %\"", "jitter = \"uniform(0 ms, 9 ms)\"", "`jitter`, `reorders` or `queue` of a path"),
        (SITES, "rate = \"2 Mbit/s\"", "rate = \"2 Mbit/s\", queue = \"codel\"", "`queue` of a path"),
        (
            &but(SITES, "server = \"west/2\"", "tier = \"front\""),
            "\"down\"",
            "\"errors(0.1)\"",
            "deciders that are slow",
        ),
        (
            &but(SITES, "what = \"down\"", "what = \"slow(0.5)\""),
            "server = \"west/2\"",
            "tier = \"front\"",
            "deciders that are slow",
        ),
        (
            &but(SITES, "what = \"down\"", "what = \"slow(0.5)\""),
            "server = \"west/2\"",
            "path = \"europe..asia\"",
            "fault of this kind",
        ),
        (SITES, "duration = \"60 s\"", "precision = \"5% at 95%\"", "`duration` under [run]"),
        (&behind, "policy = \"random\"", "policy = \"round-robin\"", "redirect behind a gateway"),
        (
            &behind.replace("face = \"gateway\"", "face = \"redirect\"").replace("least-connections", "random"),
            "policy = \"random\"\ninstances = 2",
            polls,
            "polls of a redirect",
        ),
        (NODES, open, sessions, "users who browse"),
        (
            SITES,
            "discipline = \"ps\"\ndemand = \"1 ms\"",
            "demand = \"1 ms\"\nmemory = { size = \"24 MB\", cache = \"lru\" }\n\
             resources = { cpu = { discipline = \"ps\" }, disk = { discipline = \"fcfs\", rate = \"5 MB/s\" } }",
            "memory",
        ),
    ];
    for (base, good, bad, expected) in cases {
        let message = refusal(&but(base, good, bad), Engine::Sim);
        assert!(message.starts_with("x.toml: as given: ") && message.contains(expected), "`{bad}`: {message}");
    }
    // Users who browse know several tiers, all in one place, and nothing that fails.
    let browsing = but(&but(DIRECT, "kind = \"closed\"\nusers = 10", sessions), "[run]", "[run]\nduration = \"10 s\"");
    let switch = but(&browsing, "face = \"none\"\npolicy = \"none\"", "face = \"switch\"\npolicy = \"random\"");
    for (base, good, bad, expected) in [
        (
            &browsing,
            "[system.server]",
            "[system.paths]\nwithin = { rtt = \"1 ms\" }\n[system.server]",
            "regions and paths of users who browse",
        ),
        (
            &browsing,
            "[system.server]",
            "[[system.region]]\nname = \"a\"\naddresses = \"0.0.0.0/1\"\n[system.server]",
            "regions and paths of users who browse",
        ),
        (&browsing, "[run]", "[client]\ntimeout = \"1 s\"\n[run]", "users who browse and wait only so long"),
        (
            &browsing,
            "[run]",
            "[[fault]]\nat = \"1 s\"\nserver = 1\nwhat = \"down\"\n[run]",
            "faults while users browse",
        ),
        (&switch, "targets", "reports = { every = \"1 s\" }\ntargets", "reports and probes"),
    ] {
        let message = refusal(&but(base, good, bad), Engine::Sim);
        assert!(message.contains("not there yet: sim has no ") && message.contains(expected), "`{bad}`: {message}");
    }
}

/// Live knows gateways, redirectors and rotation in one place, theory one tier there; what a file says beyond that is not
/// left out in silence.
#[test]
fn live_and_theory_refuse_several_tiers_and_places() {
    let paths = "[system.paths]\nwithin = { rtt = \"uniform(1 ms, 2 ms)\" }\n[system.server]";
    let paths = but(DIRECT, "[system.server]", paths);
    let client = but(DIRECT, "[run]", "[client]\nhedge = \"50 ms\"\n[run]");
    for (text, expected) in [
        (SITES, "live has no rate of each client's own"),
        (NODES, "live has no deciders on servers"),
        (&paths, "live has no round trips that differ among the clients"),
    ] {
        let message = refusal(text, Engine::Live);
        assert!(message.contains(expected), "{expected}: {message}");
    }
    let fault = but(DIRECT, "[run]", "[[fault]]\nat = \"1 s\"\nserver = 1\nwhat = \"down\"\n[run]");
    for (text, expected) in [
        (SITES, "not there yet: formulas know one tier in one place"),
        (NODES, "not there yet: formulas know one tier in one place"),
        (&paths, "not there yet: formulas know one tier in one place"),
        (&fault, "not there yet: formulas know one tier in one place"),
        (&client, "no formula for clients that give up and ask again unless"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        answer(text, Engine::Theory, &out).unwrap_or_else(|e| panic!("{e}"));
        let events = std::fs::read_to_string(out.join("events.jsonl")).unwrap();
        assert!(events.contains(expected), "{events}");
    }
}

/// A rotation over three nodes that redirect, on hosts that something is known of.
const REDIRECTS: &str = r#"name = "redirects"
[workload]
kind = "open"
arrivals = "exponential(rate = 10 /s)"
size = "documents(n = 6, zipf = 0, size = constant(10 kB))"
clients = 10
resolves = "request"
[[system.tier]]
name = "dns"
face = "dns"
policy = "round-robin"
ttl = "0 s"
targets = { tiers = ["node"] }
[[system.tier]]
name = "node"
at = "servers"
face = "redirect"
policy = "sweb"
targets = { servers = 3 }
reports = { every = "1 s" }
[system.server]
resources = { cpu = { discipline = "ps" }, disk = { discipline = "fcfs", rate = "5 MB/s" } }
demand = "1 ms"
files = { placed = "one-owner", number = 6 }
[system.network]
rtt = "2 ms"
[run]
by = ["sim"]
duration = "10 s"
live = { duration = "5 s" }
"#;

/// What live's nodes that redirect do not have is refused by name.
#[test]
fn live_refuses_what_its_nodes_do_not_have() {
    let fault = "[[fault]]\nat = \"1 s\"\nserver = 1\nwhat = \"down\"\n[run]";
    let gateway = "policy = \"round-robin\"\ntargets = { servers = 3 }\n[system.server]";
    let (begin, end) = REDIRECTS.split_once("resolves = \"request\"\n[[system.tier]]").unwrap();
    let end = end.split_once("[system.server]").unwrap().1;
    let behind_gateway = format!("{begin}[[system.tier]]\nface = \"gateway\"\n{gateway}{end}");
    let switch = but(REDIRECTS, "policy = \"sweb\"", "policy = \"random\"");
    let secure = but(&behind_gateway, "files = { placed = \"one-owner\", number = 6 }\n", "")
        .replace("[system.network]\nrtt = \"2 ms\"", "[system.paths]\nwithin = { rtt = \"2 ms\" }\n[system.tcp]")
        .replace("clients = 10", "clients = 10\nclasses = { a = 0.5, b = 0.5 }\nsecure = [\"b\"]");
    for (text, expected) in [
        (but(&switch, "face = \"redirect\"", "face = \"switch\""), "but those that redirect"),
        (but(REDIRECTS, "[system.network]\nrtt = \"2 ms\"\n", ""), "hosts of a bed: say what is between them"),
        (but(REDIRECTS, "[run]", fault), "faults where nodes redirect"),
        (but(REDIRECTS, "every = \"1 s\"", "every = \"1 s\", client_rates = \"4 s\""), "report rates of clients"),
        (but(REDIRECTS, "every = \"1 s\"", "every = \"1 s\", heartbeat = \"4 s\""), "(`heartbeat`)"),
        (but(REDIRECTS, "every = \"1 s\"", "every = \"1 s\", cost = \"1 ms\""), "leave out `cost`"),
        (but(REDIRECTS, "servers = 3 }", "servers = 3, weights = [1, 2, 1] }"), "nodes that redirect and have weights"),
        (but(REDIRECTS, "policy = \"sweb\"", "policy = \"sweb\"\ndispatchers = 2"), "several dispatchers"),
        (but(REDIRECTS, "ttl = \"0 s\"", "ttl = \"0 s\"\nreports = { every = \"1 s\" }"), "reports and probes"),
        (
            but(
                REDIRECTS,
                "number = 6 }",
                "number = 6, copies_after = 3, copies_within = \"9 s\", copies_max = \"1 MB\" }",
            ),
            "copies of emulated files (`copies_after`)",
        ),
        (behind_gateway, "files that one server owns, but where nodes redirect"),
        (secure, "requests over TLS (`secure`) but where nodes redirect"),
    ] {
        let message = refusal(&text, Engine::Live);
        assert!(message.contains(expected), "{expected}: {message}");
    }
}

/// Why an engine refuses an experiment before it starts.
fn refusal(text: &str, by: Engine) -> String {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let message = answer(text, by, &out).err().unwrap_or_else(|| panic!("it ran: {text}"));
    assert_eq!(message.lines().count(), 1, "{message}");
    assert!(!out.exists(), "something was left behind");
    message
}

fn answer(text: &str, by: Engine, out: &Path) -> Result<(), String> {
    let source = Experiment::new(Path::new("x.toml"), text.into(), &[]).unwrap_or_else(|e| panic!("{e}"));
    let context = Context {
        program: PathBuf::new(),
        out: Some(out.into()),
        threads: 1,
        command: String::new(),
        progress: &Progress::none(),
    };
    match run(&source, Some(&[by]), &context) {
        Ok(_) => Ok(()),
        // Bad input, and no failure in the middle of a run.
        Err(RunError::Spec(e)) => Err(e.to_string()),
        Err(e) => panic!("{e}"),
    }
}

//! Limits of a tier and its overflow: what they cannot be is refused with file, line, key and what would be right.

use std::path::Path;

use sojourn_lab::Experiment;
use sojourn_lab::spec::Question;
use sojourn_model::system::{Limit, Overflow, Tier};

/// Two sites with a switch each; `LIMITS` stands on line 25.
const SITES: &str = r#"name = "sites"
[workload]
kind = "open"
arrivals = "exponential(rate = 100 /s)"
[[system.region]]
name = "europe"
[[system.site]]
name = "c1"
region = "europe"
[[system.site]]
name = "c2"
region = "europe"
[[system.site]]
name = "far"
region = "europe"
[[system.tier]]
name = "dns"
face = "dns"
policy = "round-robin"
targets = { sites = ["c1", "c2"] }
[[system.tier]]
name = "front"
face = "switch"
policy = "random"
LIMITS
targets = { servers = 2 }
[system.server]
discipline = "ps"
demand = "1 ms"
[run]
by = ["sim"]
duration = "10 s"
"#;

fn read(limits: &str) -> Result<Tier, String> {
    read_text(&SITES.replace("LIMITS", limits))
}

fn read_text(text: &str) -> Result<Tier, String> {
    let variants = Experiment::new(Path::new("x.toml"), text.into(), &[]).and_then(|source| source.variants());
    let experiment = variants.map_err(|e| e.to_string())?.remove(0).experiment;
    let Question::System(asked) = experiment.question else { panic!("it is a system") };
    Ok(asked.system.tiers.last().expect("it has tiers").clone())
}

#[test]
fn what_is_written_is_what_is_run() {
    let with = |text: &str| {
        let tier = read(text).unwrap_or_else(|e| panic!("{e}"));
        let peers: Vec<_> = tier.seats.iter().map(|seat| seat.overflow.clone()).collect();
        (tier.limit, tier.overflow, peers)
    };
    let limit = |connections, returns| Some(Limit { connections, returns });
    assert_eq!(with(""), (None, None, vec![vec![]; 2]));
    assert_eq!(with("limit = { connections = 20 }").0, limit(20, 15));
    assert_eq!(with("limit = { connections = 1 }").0, limit(1, 0));
    let all = with("limit = { connections = 20, return = 3 }\noverflow = {}");
    assert_eq!(all, (limit(20, 3), Some(Overflow { limit: None }), vec![vec![1], vec![0]]));
    let one = with("limit = { connections = 2 }\noverflow = { sites = [\"c2\"], limit = { connections = 8 } }");
    assert_eq!(one, (limit(2, 1), Some(Overflow { limit: limit(8, 6) }), vec![vec![1], vec![]]));
}

#[test]
fn mistakes_about_limits() {
    const LIMIT: &str = "limit = { connections = 2 }\n";
    for (limits, place, right) in [
        ("limit = { connections = 0 }".into(), "x.toml:25: limit", "at least 1"),
        ("limit = { connections = 20, return = 20 }".into(), "x.toml:25: limit", "at most 19"),
        ("limit = { connections = 20, return = 30 }".into(), "x.toml:25: limit", "below the limit"),
        ("limit = { connections = -1 }".into(), "x.toml:25", "it is not negative"),
        ("limit = { connections = 2 }\ndispatchers = 2".into(), "x.toml:25: limit", "counts its own"),
        ("limit = { connections = 2 }\ninstances = 2".into(), "x.toml:25: limit", "use one at each site"),
        ("limit = { connections = 2 }\nat = \"servers\"".into(), "x.toml:25: limit", "use one at each site"),
        ("overflow = {}".into(), "x.toml:25: overflow", "add `limit"),
        (format!("{LIMIT}overflow = {{ sites = [\"c3\"] }}"), "x.toml:26: sites", "c3"),
        (format!("{LIMIT}overflow = {{ sites = [\"far\"] }}"), "x.toml:26: sites", "this tier is not at `far`"),
        (format!("{LIMIT}overflow = {{ sites = [\"c2\", \"c2\"] }}"), "x.toml:26: sites", "named twice"),
        (format!("{LIMIT}overflow = {{ sites = [] }}"), "x.toml:26: overflow", "no other site"),
        (format!("{LIMIT}overflow = {{ limit = {{ connections = 0 }} }}"), "x.toml:26: limit", "at least 1"),
    ] {
        let message = read(&limits).map(drop).expect_err(&limits);
        assert!(message.lines().count() == 1 && message.contains(place) && message.contains(right), "{message}");
    }
    // To itself: the tier is at one site only.
    let alone =
        SITES.replace("\"c1\", \"c2\"", "\"c1\"").replace("LIMITS", "limit = { connections = 2 }\noverflow = {}");
    assert!(read_text(&alone).expect_err("there is one site").contains("there is no other site"));
    // Faces that hear of no end, or pass nothing on.
    let dns = SITES.replace("LIMITS\n", "").replacen("policy", "limit = { connections = 2 }\npolicy", 1);
    assert!(read_text(&dns).expect_err("a DNS").contains("x.toml:19: limit: only a gateway or a switch"));
    let gateway = SITES.replace("\"switch\"", "\"gateway\"").replace("LIMITS", &format!("{LIMIT}overflow = {{}}"));
    assert!(read_text(&gateway).expect_err("a gateway").contains("x.toml:26: overflow: a tier of face `switch`"));
}

/// A gateway's queue, and limits that differ: what they cannot be is refused, and HAProxy and nginx have them in their own way.
#[test]
fn a_gateway_may_let_requests_wait_and_targets_may_differ() {
    let text = |tier: &str| {
        format!(
            "name = \"x\"\n[workload]\nkind = \"open\"\narrivals = \"exponential(rate = 10 /s)\"\n[[system.tier]]\n\
             face = \"gateway\"\ntargets = {{ servers = 2 }}\n{tier}\n[system.server]\ndiscipline = \"ps\"\n\
             demand = \"1 ms\"\n[run]\nby = [\"sim\"]\n"
        )
    };
    let read = |tier: &str| {
        let variants = Experiment::new(Path::new("x.toml"), text(tier), &[]).and_then(|source| source.variants());
        variants.map(|mut variants| variants.remove(0).experiment)
    };
    let tier = |tier: &str| match read(tier).unwrap_or_else(|error| panic!("{tier}: {error}")).question {
        Question::System(asked) => asked.system.tiers[0].clone(),
        Question::Network(_) => unreachable!("it is a system"),
    };
    let rule = "policy = \"haproxy(2.6, leastconn)\"\n";
    let waits = tier(&format!("{rule}limit = {{ connections = 20, full = \"waits\" }}"));
    assert_eq!((waits.waits, waits.limit), (true, Some(Limit { connections: 20, returns: 19 })));
    let each = tier(&format!("{rule}limit = {{ connections = [40, 0], full = \"waits\" }}\nprogram = \"haproxy\""));
    assert_eq!((each.limits.as_slice(), each.limit_of(1)), (&[40, 0][..], None));
    assert_eq!(each.limit_of(0), Some(Limit { connections: 40, returns: 39 }));
    let nginx = "policy = \"nginx(least_conn)\"\nprogram = \"nginx\"\n";
    assert!(!tier(&format!("{nginx}limit = {{ connections = 5, return = 4 }}")).waits);
    for (lines, what) in [
        (format!("{rule}limit = {{ connections = [1, 2, 3] }}"), "one number per target: 2, not 3"),
        (format!("{rule}limit = {{ connections = [0, 0] }}"), "at least one target has one"),
        (format!("{rule}limit = {{ connections = [1, 2], return = 0 }}"), "leave it out"),
        (format!("{rule}limit = {{ connections = 2, full = \"waits!\" }}"), "did you mean `waits`?"),
        ("policy = \"haproxy(2.6, uri)\"\nlimit = { connections = 2, full = \"waits\" }".into(), "helpers = N"),
        (format!("{rule}program = \"haproxy\"\nlimit = {{ connections = 2 }}"), "full = \"waits\""),
        (format!("{nginx}limit = {{ connections = 5, full = \"waits\" }}"), "full = \"refused\""),
        (format!("{nginx}limit = {{ connections = 5, return = 1 }}"), "return = 4"),
    ] {
        let said = read(&lines).unwrap_err().to_string();
        assert!(said.contains(what) && said.starts_with("x.toml:"), "{lines}: {said}");
    }
    let switch = SITES.replace("LIMITS", "limit = { connections = 2, full = \"waits\" }");
    let said = Experiment::new(Path::new("x.toml"), switch, &[]).and_then(|source| source.variants()).unwrap_err();
    assert!(said.to_string().contains("only a gateway has a queue"), "{said}");
}

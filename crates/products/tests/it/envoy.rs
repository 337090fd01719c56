//! Envoy's YAML: what its fields mean, and what is refused, beside Envoy's own verdict.

use std::fs;

use sojourn_products::{Configuration, HashKey, ImportError, Pool, Reading, Standing, envoy};
use sojourn_stats::Span;

use crate::judge::{configuration, configurations, envoy_refuses};

fn read(text: &str) -> Result<Configuration, ImportError> {
    envoy::read("envoy.yaml", text)
}

fn pool<'a>(configuration: &'a Configuration, name: &str) -> &'a Pool {
    configuration.pools.iter().find(|pool| pool.name == name).unwrap()
}

fn notes(pool: &Pool) -> String {
    pool.notes.kept.iter().map(|note| format!("{}: {}\n", note.at, note.text)).collect()
}

#[test]
fn clusters_and_the_routes_to_them_are_read() {
    let configuration = envoy::read("front.yaml", &configuration("envoy", "front.yaml")).unwrap();
    let rules: Vec<_> = configuration.pools.iter().map(|pool| (pool.name.as_str(), pool.rule.name.as_str())).collect();
    let expected = [
        ("pages", "least-request, choices = 3, bias = 1.5"),
        ("cache", "maglev, table = 251"),
        ("legacy", "round-robin"),
        ("by-extension", "least-request, scan = full"),
    ];
    assert_eq!(rules, expected);

    let pages = pool(&configuration, "pages");
    let servers: Vec<_> = pages.servers.iter().map(|s| (s.address.as_str(), s.weight, s.standing)).collect();
    use Standing::{Backup, Out, Serves};
    let expected = [
        ("192.0.2.11:8080", 2, Serves),
        ("192.0.2.12:8080", 2, Serves),
        ("[2001:db8::13]:8080", 1, Serves),
        ("192.0.2.14:8080", 1, Out),
        ("unix:/run/pages.sock", 1, Backup),
    ];
    assert_eq!(servers, expected);
    assert_eq!((pages.at.line, pages.rule.said.as_ref().unwrap().line), (42, 45));
    // The first way to it is a part of the old pages.
    assert_eq!(pages.timeout, None);
    let said = notes(pages);
    for part in [
        "front.yaml:47: circuit_breakers",
        "front.yaml:49: outlier_detection",
        "front.yaml:50: health_checks",
        "front.yaml:52: healthy_panic_threshold",
        "front.yaml:36: retry_policy retry_on 5xx,reset num_retries 2 per_try_timeout 1s",
        "front.yaml:31: a part of the requests of a route comes here, of weight 90",
        "another time-out holds for a part of the requests: 2.5 s",
    ] {
        assert!(said.contains(part), "{part} in\n{said}");
    }
    assert!(pages.notes.kept.iter().all(|note| note.reading != Reading::NotUnderstood), "{said}");

    let cache = pool(&configuration, "cache");
    assert_eq!((cache.rule.key, cache.servers.len()), (Some(HashKey::Path), 2), "fields may be in camel case");
    assert_eq!(cache.timeout.clone().unwrap().span, Span(15_000_000_000), "Envoy's default");
    assert_eq!(pool(&configuration, "legacy").servers[0].address, "legacy.example:80", "names are kept");
    assert!(notes(pool(&configuration, "legacy")).contains("as many hosts as the name has addresses"));
    assert!(
        configuration.notes.kept.iter().any(|note| note.text == "cluster `found-later` has no endpoints in this file")
    );
}

#[test]
fn json_is_read_and_a_ring_without_a_hash_is_drawn() {
    let configuration = envoy::read("tcp.json", &configuration("envoy", "tcp.json")).unwrap();
    let queue = &configuration.pools[0];
    assert_eq!((queue.rule.name.as_str(), queue.rule.key, queue.timeout.clone()), ("random", None, None));
    let said = notes(queue);
    assert!(
        said.contains("no route has a hash_policy, so Envoy draws at random") && said.contains("for each connection"),
        "{said}"
    );
}

const ENDPOINTS: &str = "load_assignment: { cluster_name: a, endpoints: [ { lb_endpoints: [ \
                         { endpoint: { address: { socket_address: { address: 192.0.2.1, port_value: 80 } } } } ] } ] }";

/// Mistakes with the line of each. Envoy refuses them too (`envoy_refuses_what_is_refused_here`).
fn mistakes() -> Vec<(String, usize, &'static str)> {
    let cluster = |lines: &str| format!("static_resources:\n  clusters:\n  - name: a\n    {lines}\n    {ENDPOINTS}\n");
    let one = |text: &str| format!("static_resources:\n  clusters:\n  - {text}\n");
    vec![
        (cluster("lb_policy: LEAST_CONN"), 4, "unknown lb_policy `LEAST_CONN`; known are ROUND_ROBIN, LEAST_REQUEST"),
        (cluster("connect_timeout: 5"), 4, "`5` is no duration, such as 0.25s"),
        (one(ENDPOINTS), 3, "needs a `name`"),
        (cluster("lb_policy: [}"), 4, "no YAML"),
        (cluster("\tlb_policy: RANDOM"), 3, "no YAML"),
        (one(&format!("{{ name: a, {} }}", ENDPOINTS.replace("port_value: 80 }", "port_value: 80 }, x: y"))), 3, ""),
        (
            cluster("least_request_lb_config: { choice_count: two }\n    lb_policy: LEAST_REQUEST"),
            4,
            "is no whole number",
        ),
        ("- a\n- b\n".into(), 1, "Envoy's configuration is a map"),
        (
            format!("static_resources:\n  clusters:\n  - {{ name: a, {ENDPOINTS} }}\n  - {{ name: a, {ENDPOINTS} }}\n"),
            4,
            "a cluster `a` was there already, at envoy.yaml:3",
        ),
        (
            one(
                "{ name: a, load_assignment: { cluster_name: a, endpoints: [ { lb_endpoints: [ { endpoint: {} } ] } ] } }",
            ),
            3,
            "an address",
        ),
    ]
}

#[test]
fn mistakes_are_refused_with_their_line() {
    for (text, line, part) in mistakes() {
        match read(&text) {
            Err(error) => {
                let said = error.to_string();
                assert!(said.starts_with(&format!("envoy.yaml:{line}: ")) && said.contains(part), "{text}: {said}");
                assert!(!said.contains('\n'), "{said}");
            }
            Ok(_) => assert_eq!(part, "", "{text}"),
        }
    }
}

/// Bombs of aliases, nests without end and hundreds of thousands of nodes end at a limit.
#[test]
fn bombs_are_refused() {
    let mut laughs = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for i in 1..12 {
        let aliases = vec![format!("*a{}", i - 1); 9].join(", ");
        laughs += &format!("a{i}: &a{i} [{aliases}]\n");
    }
    let deep = format!("a: {}{}", "[".repeat(100_000), "]".repeat(100_000));
    let indented: String = (0..2000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
    let wide = format!("a: [{}]", "x, ".repeat(1 << 20));
    let scalar = format!("a: {}", "x".repeat(10 << 20));
    let itself = "a: &a [*a]".to_owned();
    let documents = "a: 1\n---\n".repeat(100_000);
    let keys: String = (0..400_000).map(|key| format!("k{key}: v\n")).collect();
    for text in [laughs, deep, indented, wide, itself, documents, keys] {
        let head: String = text.chars().take(20).collect();
        let said = read(&text).expect_err(&head).to_string();
        assert!(said.starts_with("envoy.yaml:") && said.lines().count() == 1 && said.len() < 400, "{head}: {said}");
    }
    assert!(read(&scalar).is_ok(), "one long text is no bomb");
}

#[test]
#[ignore = "needs Envoy: SOJOURN_ENVOY names the program; `make nightly` gets it"]
fn envoy_itself_takes_the_configurations_and_refuses_the_mistakes() {
    for entry in fs::read_dir(configurations("envoy")).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(envoy_refuses(&path), None, "{}", path.display());
    }
    let folder = tempfile::tempdir().unwrap();
    for (text, ..) in mistakes() {
        let path = folder.path().join("envoy.yaml");
        fs::write(&path, &text).unwrap();
        assert!(envoy_refuses(&path).is_some(), "Envoy takes\n{text}");
    }
}

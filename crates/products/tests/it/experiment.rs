//! What becomes of a pool: every line that was read, assumed or left out stands in the text.

use std::path::Path;

use sojourn_dispatch::Catalogue;
use sojourn_products::{Assumptions, Configuration, Import, Product, Version, haproxy, product_of};
use sojourn_stats::{Dimension, Law};

use crate::judge::{configuration, configurations};

/// The experiment of a configuration's pool.
fn experiment(product: Product, configuration: &Configuration, backend: Option<&str>) -> String {
    let assumptions = Assumptions::default();
    let import = Import {
        product,
        is_said: false,
        version: None,
        configuration,
        command: "sojourn import FILE",
        assumptions: &assumptions,
    };
    import.experiment(import.pool(backend).unwrap()).unwrap()
}

fn of_text(text: &str) -> String {
    let product = product_of(text).expect("it is known by its content");
    let files = [("file.cfg".to_owned(), text.to_owned())];
    let configuration = sojourn_products::read(product, &files, haproxy::NEWEST_MEASURED, &|_| None).unwrap();
    experiment(product, &configuration, None)
}

fn of_file(product: Product, name: &str, backend: &str) -> String {
    let path = configurations(product.name()).join(name);
    let text = configuration(product.name(), name);
    assert_eq!(product_of(&text), Some(product), "{name}");
    let files = [(path.display().to_string(), text)];
    let configuration = sojourn_products::read(product, &files, haproxy::NEWEST_MEASURED, &|_| None).unwrap();
    let folder = configurations(product.name()).display().to_string() + "/";
    experiment(product, &configuration, Some(backend)).replace(&folder, "")
}

fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part} in\n{text}");
    }
}

#[test]
fn each_line_says_where_it_comes_from() {
    let text = of_file(Product::Haproxy, "debian.cfg", "app");
    has(
        &text,
        &[
            "name = \"app behind HAProxy\"\n",
            "Version 2.6, the newest that is measured",
            "arrivals = \"exponential(rate = 140 /s)\"",
            "# Server 1: app1, 10.0.0.11:8080 (debian.cfg:31)\n",
            "policy = \"haproxy(2.6, roundrobin)\"   # debian.cfg:29\n",
            "targets = { servers = 4 }\n",
            "timeout = \"50 s\"   # debian.cfg:22\n",
            "policy = [\"haproxy(2.6, roundrobin)\", \"haproxy(2.6, leastconn)\", \"haproxy(2.6, random(2))\"]\n",
            "servers = [4, 5]\n",
            "# debian.cfg:30: option httpchk: ",
            "# Passed over, as it concerns neither",
        ],
    );
    assert!(!text.contains("Not understood"), "{text}");
}

#[test]
fn limits_weights_and_workers_are_those_of_the_product() {
    let text = of_file(Product::Haproxy, "shop.cfg", "pages");
    has(
        &text,
        &[
            "targets = { servers = 3, weights = [100, 50, 50] }\n",
            "shop.cfg:40: a server with so many gets no more",
            "limit = { connections = 40, full = \"waits\" }\n",
            "discipline = \"ps\"",
            "# limit = [20, 40, 80]   # another `maxconn`\n",
            "# Not understood, and so not in this experiment:\n# shop.cfg:39: \"stick-table\" is not understood\n",
            "server sorry of this backend: it serves only when others are down",
            "Others: `pictures` (",
        ],
    );
    let more = "targets = [\n  { servers = 3, weights = [100, 50, 50] },\n  { servers = 4, weights = [100, 50, 50, 50] },\n]\n";
    has(&text, &[more]);
    let text = of_file(Product::Haproxy, "shop.cfg", "pictures");
    has(&text, &["policy = \"haproxy(2.6, uri)\"", "size = \"documents(n = 1000"]);

    let text = of_file(Product::Nginx, "nginx.conf", "app");
    has(
        &text,
        &["limit = { connections = 32, return = 31 }", "policy = \"nginx(least_conn)\"   # conf.d/app.conf:2\n"],
    );
    assert!(!text.contains("dispatchers"), "a zone counts for all workers");
    let text = of_file(Product::Nginx, "nginx.conf", "turns");
    has(&text, &["dispatchers = 2 ", "weights = [5, 1, 1]"]);
    let text = of_file(Product::Nginx, "nginx.conf", "sticky_by_ip");
    has(&text, &["policy = \"nginx(ip_hash)\"", "clients = 1000", "addresses = "]);

    let text = of_file(Product::Envoy, "front.yaml", "pages");
    has(&text, &["policy = \"envoy(least-request, choices = 3, bias = 1.5)\"", "weights = [2, 2, 1]"]);
    assert!(!text.contains("[client]"), "the first route waits for ever");
}

/// Each product's own way with servers that are full, and limits that differ.
#[test]
fn limits_are_kept_where_the_product_keeps_them() {
    let haproxy = |rule: &str, limits: [&str; 3]| {
        let servers: Vec<String> =
            limits.iter().enumerate().map(|(n, limit)| format!(" server s{n} 10.0.0.{n}:80 {limit}\n")).collect();
        of_text(&format!("backend app\n balance {rule}\n{}", servers.concat()))
    };
    let text = haproxy("roundrobin", ["maxconn 40", "maxconn 20", ""]);
    has(
        &text,
        &[
            "limit = { connections = [40, 20, 0], full = \"waits\" }\n",
            "  { servers = 3, limit = [40, 20, 0] },\n  { servers = 4, limit = [40, 20, 0, 0] },\n",
            "`timeout queue`",
        ],
    );
    let text = haproxy("random(2)", ["weight 3 maxconn 4", "maxconn 4", "maxconn 4"]);
    has(&text, &["limit = { connections = 4, full = \"waits\" }\n", "  { servers = 3, weights = [3, 1, 1] },\n"]);
    // A hash names one server, and requests wait for that one.
    let text = haproxy("source", ["maxconn 4"; 3]);
    has(&text, &["discipline = \"limited-ps\"\nhelpers = 4\n"]);
    assert!(!text.contains("limit = {"), "{text}");
    has(&haproxy("source", ["maxconn 4", "", ""]), &["file.cfg:3: at most 4 requests at once: servers differ in it"]);
    let nginx = |first: &str, limits: [&str; 2]| {
        of_text(&format!(
            "{first}\nevents {{}}\nhttp {{\n upstream a {{\n server 10.0.0.1 {};\n server 10.0.0.2 {};\n }}\n}}\n",
            limits[0], limits[1]
        ))
    };
    has(&nginx("", ["max_conns=5", "max_conns=5"]), &["limit = { connections = 5, return = 4 }\n"]);
    has(&nginx("", ["max_conns=5", ""]), &["limit = { connections = [5, 0] }\n"]);
    let text = nginx("worker_processes 4;", ["max_conns=5", ""]);
    assert!(text.contains("max_conns=5: without a `zone`") && !text.contains("limit = {"), "{text}");
}

/// What the policies do not have is named by the nearest, with a sentence that says how it differs.
#[test]
fn the_nearest_policy_is_said_to_be_one() {
    let backend = |lines: &str| of_text(&format!("backend app\n{lines} server a 10.0.0.1:80\n server b 10.0.0.2:80\n"));
    for (lines, policy, differs) in [
        (" balance static-rr\n", "haproxy(2.6, roundrobin)", "in another order"),
        (" balance source\n", "address-hash", "map-based"),
        (" balance source\n hash-type consistent\n", "haproxy(2.6, source)", ""),
        (" balance source\n hash-type consistent sdbm\n", "haproxy(2.6, source, avalanche = false)", ""),
        (" balance uri\n", "path-hash(points = 1000)", "map-based"),
        (" balance hdr(host)\n hash-type consistent djb2\n", "haproxy(2.6, uri)", "stand for what is hashed"),
        (" balance random(3)\n", "haproxy(2.6, random(3))", ""),
        (" balance first\n", "haproxy(2.6, first)", ""),
    ] {
        let text = backend(lines);
        has(&text, &[&format!("policy = \"{policy}\""), differs]);
        Catalogue::default().check(policy).unwrap();
    }
}

/// Texts that a file has and a line of comment or a quoted text may not.
#[test]
fn hostile_names_stay_inside_their_lines() {
    let text =
        of_text("backend a\\x22\\x0a[run]\\x5c\n server s1 \\x0a\\x1b[31m:80\n nonsense\\x0d\\x0aseed\\x20=\\x202\n");
    for line in text.lines() {
        assert!(!line.starts_with("seed = 2") && !line.chars().any(char::is_control), "{line:?}");
    }
    assert_eq!(text.matches("\n[run]\n").count(), 1, "{text}");
    has(&text, &["name = \"a\\\" [run]\\\\ behind HAProxy\"\n"]);
}

#[test]
fn what_cannot_become_an_experiment_is_refused() {
    let assumptions = Assumptions {
        rate_per_s: Some(250.0),
        service: Some(("constant(2 ms)".into(), Law::parse("constant(2 ms)", Dimension::Time).unwrap())),
        cores: Some(4),
    };
    let read_as = |text: &str, version| haproxy::read(&[("h.cfg".into(), text.into())], version, &|_| None).unwrap();
    let read = |text: &str| read_as(text, haproxy::NEWEST_MEASURED);
    let import = |configuration: &Configuration, version: Option<Version>, backend: Option<&str>| {
        let import = Import {
            product: Product::Haproxy,
            is_said: true,
            version,
            configuration,
            command: "sojourn import h.cfg",
            assumptions: &assumptions,
        };
        import.pool(backend).and_then(|pool| import.experiment(pool))
    };
    let refused = |text: &str, version, backend| import(&read(text), version, backend).unwrap_err().to_string();
    assert!(
        refused("backend app\n server a 10.0.0.1:80 disabled\n", None, None)
            .contains("h.cfg:1: no server of backend `app`")
    );
    assert!(refused("frontend app\n", None, None).contains("no backend of this configuration of HAProxy has servers"));
    let empty = refused("global\n maxconn 5\nbackend app\n balance leastconn\n", None, None);
    assert!(empty.contains("has servers (h.cfg:3: backend `app` has no servers)"), "{empty}");
    let two = "backend app\n server a 10.0.0.1:80\nbackend other\n server a 10.0.0.1:80\n server b 10.0.0.1:81\n";
    assert!(refused(two, None, Some("ap")).contains("unknown backend `ap`; did you mean `app`?"));
    let old = refused("backend app\n balance leastconn\n server a 10.0.0.1:80\n", Some(Version::new(1, 8)), None);
    assert!(old.starts_with("h.cfg:2: ") && old.contains("2.4 is the nearest"), "{old}");
    let newer = Version::new(3, 3);
    let text = import(&read_as(two, newer), Some(newer), None).unwrap();
    has(
        &text,
        &[
            "name = \"other behind HAProxy\"",
            "policy = \"haproxy(3.3, default)\"   # HAProxy's default: nothing is said",
            "arrivals = \"exponential(rate = 250 /s)\"   # --rate",
            "demand = \"constant(2 ms)\"\n",
            "cores = 4   # --cores\n",
        ],
    );
    // 250 /s of 2 ms keep half a core busy; the two servers have eight.
    let configuration = read(two);
    let of = |rate_per_s: f64, cores: u32| {
        let assumptions = Assumptions { rate_per_s: Some(rate_per_s), cores: Some(cores), ..assumptions.clone() };
        let import = Import {
            product: Product::Haproxy,
            is_said: true,
            version: None,
            configuration: &configuration,
            command: "",
            assumptions: &assumptions,
        };
        import.too_much(import.pool(None).unwrap())
    };
    assert_eq!(of(3999.0, 4), None);
    let said = of(4000.0, 4).unwrap();
    let expected =
        "--rate x --service keep 8 cores busy all the time, and the 2 servers of backend `other` have 8 (4 cores each)";
    assert!(said.starts_with(expected), "{said}");
    assert!(
        of(1000.0, 1).unwrap().contains("have 2 (1 core each): a lower --rate, a shorter --service or more --cores")
    );
    let two = [("a".into(), String::new()), ("b".into(), String::new())];
    let refused = sojourn_products::read(Product::Nginx, &two, Version::new(1, 22), &|_| None);
    assert_eq!(refused.unwrap_err().to_string(), "b: nginx is read from the main file, which includes the others");
}

#[test]
fn a_product_is_known_by_its_content() {
    for (text, product) in [
        ("# static_resources\nglobal\n daemon\n", Some(Product::Haproxy)),
        ("\tlisten app\n", Some(Product::Haproxy)),
        ("events {}\nhttp {\n upstream backend { server a; }\n}\n", Some(Product::Nginx)),
        ("user www;\nstream{\n}\n", Some(Product::Nginx)),
        ("{\"staticResources\": {}}", Some(Product::Envoy)),
        ("{ \"admin\": {}, \"static_resources\": {} }", Some(Product::Envoy)),
        ("admin: {}\nstatic_resources:\n", Some(Product::Envoy)),
        ("", None),
        ("name = \"an experiment\"\n", None),
        (&std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml")).unwrap(), None),
    ] {
        assert_eq!(product_of(text), product, "{text}");
    }
}

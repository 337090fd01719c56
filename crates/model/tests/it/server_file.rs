//! Server models as text.

use sojourn_model::{CopyRules, Discipline, Server};
use sojourn_stats::Span;

const APACHE: &str = r#"
discipline = "limited-ps"
helpers = 16
cores = 2
speed = 1.5
demand = "1 ms + 1 us/B"
limits = { jobs = 100 }
"#;

#[test]
fn a_model_is_read_and_written() {
    let server = Server::from_toml(APACHE).unwrap();
    assert_eq!(server.discipline, Discipline::LimitedPs { helpers: 16 });
    assert_eq!((server.cores, server.speed, server.capacity), (2, 1.5, Some(100)));
    let (mean_s, _) = server.demand("").moments(1000.0, 0.0);
    assert!((mean_s - 0.002).abs() < 1e-15, "{mean_s}");
    assert_eq!(Server::from_toml(&server.to_toml()).unwrap(), server);
}

#[test]
fn every_discipline_is_read_and_written() {
    let cases = [
        ("least-attained-service", "", Discipline::LeastAttained),
        ("round-robin", "quantum = \"10 ms\"", Discipline::RoundRobin { quantum: Span(10_000_000) }),
        ("time-slices", "quantum = \"1 ms\"", Discipline::TimeSlices { quantum: Span(1_000_000), helpers: u32::MAX }),
        (
            "time-slices",
            "quantum = \"1 ms\"\nhelpers = 4",
            Discipline::TimeSlices { quantum: Span(1_000_000), helpers: 4 },
        ),
        ("lcfs", "", Discipline::Lcfs { preemptive: false }),
        ("lcfs", "preemptive = true", Discipline::Lcfs { preemptive: true }),
        ("priority", "preemptive = false", Discipline::Priority { preemptive: false }),
    ];
    for (name, keys, discipline) in cases {
        let server = Server::from_toml(&format!("discipline = \"{name}\"\n{keys}\ndemand = \"1 ms\"")).unwrap();
        assert_eq!((server.discipline.name(), &server.discipline), (name, &discipline));
        assert_eq!(Server::from_toml(&server.to_toml()).unwrap(), server);
    }
}

#[test]
fn demands_may_depend_on_the_class() {
    let text = "discipline = \"ps\"\n[demand]\nstatic = \"1 ms\"\ndynamic = \"exponential(mean = 20 ms)\"\n";
    let server = Server::from_toml(text).unwrap();
    let mean_s = |class| server.demand(class).moments(0.0, 0.0).0;
    assert_eq!((mean_s("static"), mean_s("dynamic"), mean_s("secure")), (0.001, 0.02, 0.001));
    assert_eq!(Server::from_toml(&server.to_toml()).unwrap(), server);
    let server = Server::from_toml("discipline = \"ps\"\n[demand]\ndynamic = \"20 ms\"\nother = \"5 ms\"\n").unwrap();
    assert_eq!(server.demand("static").moments(0.0, 0.0).0, 0.005);
    assert!(server.has_demand("static"));
    let server = Server::from_toml("discipline = \"ps\"\n[demand]\ngold = \"1 ms\"\nsilver = \"2 ms\"\n").unwrap();
    assert!(server.has_demand("gold") && server.has_demand("silver") && !server.has_demand("static"));
    assert_eq!(Server::from_toml(&server.to_toml()).unwrap(), server);
}

#[test]
fn bad_models_are_refused_in_one_line_with_the_place_and_the_remedy() {
    let cases = [
        ("discipline = \"ps\"\nhelper = 3\ndemand = \"1 ms\"", &["line 2", "`helper`", "helpers"][..]),
        ("discipline = \"psx\"\ndemand = \"1 ms\"", &["line 1", "psx", "did you mean `ps`?"]),
        ("discipline = \"limited-ps\"\ndemand = \"1 ms\"", &["helpers = N"]),
        ("discipline = \"limited-ps\"\nhelpers = 0\ndemand = \"1 ms\"", &["helpers", "at least 1"]),
        ("discipline = \"ps\"\nhelpers = 2\ndemand = \"1 ms\"", &["helpers", "limited-ps"]),
        ("discipline = \"ps\"\nquantum = \"1 ms\"\ndemand = \"1 ms\"", &["quantum", "round-robin"]),
        ("discipline = \"ps\"\npreemptive = true\ndemand = \"1 ms\"", &["preemptive", "lcfs"]),
        ("discipline = \"round-robin\"\ndemand = \"1 ms\"", &["quantum", "10 ms"]),
        ("discipline = \"round-robin\"\nquantum = \"0 s\"\ndemand = \"1 ms\"", &["quantum", "longer than 0 s"]),
        ("discipline = \"round-robin\"\nquantum = \"5\"\ndemand = \"1 ms\"", &["quantum"]),
        ("discipline = \"least-attained\"\ndemand = \"1 ms\"", &["did you mean `least-attained-service`"]),
        ("discipline = \"least-attained-service\"\ncores = 2\ndemand = \"1 ms\"", &["cores = 2", "1 core"]),
        ("discipline = \"ps\"\ncores = 0\ndemand = \"1 ms\"", &["cores"]),
        ("discipline = \"ps\"\ncores = -1\ndemand = \"1 ms\"", &["line 2"]),
        ("discipline = \"ps\"\nspeed = -1.0\ndemand = \"1 ms\"", &["speed", "above 0"]),
        ("discipline = \"ps\"\n\ndemand = \"1 ms + 2 ms\"", &["line 3", "one law, not two"]),
        ("discipline = \"ps\"\ndemand = \"1 ms +\"", &["line 2", "1 us/B"]),
        ("discipline = \"ps\"\ndemand = \"1 us/B + 2 us/B\"", &["line 2", "not two"]),
        ("discipline = \"ps\"\ndemand = \"5\"", &["line 2"]),
        ("discipline = \"ps\"\ndemand = \"-5 ms\"", &["line 2"]),
        ("discipline = \"ps\"\ndemand = \"1 parsec\"", &["line 2"]),
        ("discipline = \"ps\"\n[demand]", &["demand", "static"]),
        ("discipline = \"ps\"\nlimits = { jobs = 0 }\ndemand = \"1 ms\"", &["limits.jobs"]),
        ("discipline = \"ps\"\nlimits = { connections = 9 }\ndemand = \"1 ms\"", &["limits.connections", "resources"]),
        (
            "resources = { cpu = { discipline = \"ps\" } }\nlimits = { connections = 0 }\ndemand = \"1 ms\"",
            &["limits.connections", "leave it out"],
        ),
        ("discipline = \"ps\"", &["demand"]),
        ("discipline = ", &["line 1"]),
    ];
    for (text, needles) in cases {
        let message = Server::from_toml(text).expect_err(text).to_string();
        assert!(!message.contains('\n'), "{message}");
        for needle in needles {
            assert!(message.contains(needle), "{text:?} said {message:?}, not {needle:?}");
        }
    }
}

#[test]
fn connections_are_of_the_whole_server() {
    let of = |limits: &str| {
        let text = format!("resources = {{ cpu = {{ discipline = \"ps\" }} }}\ndemand = \"1 ms\"\nlimits = {limits}");
        let server = Server::from_toml(&text).unwrap();
        (server.machine.unwrap().connections, server.capacity)
    };
    assert_eq!(of("{ connections = 77 }"), (Some(77), None));
    assert_eq!(of("{ jobs = 5 }"), (None, Some(5)));
}

#[test]
fn a_sum_is_split_outside_parentheses_only() {
    use sojourn_model::Demand;
    let demand = Demand::parse("erlang(k = 2, mean = 1 ms) + 80 ns/B").unwrap();
    let (mean_s, variance_s2) = demand.moments(1000.0, 0.0);
    assert!((mean_s - 1.08e-3).abs() < 1e-12 && (variance_s2 - 0.5e-6).abs() < 1e-12);
    let large = Demand::parse("1e+1 ms + 1 ms/kB").unwrap();
    assert!((large.moments(1000.0, 0.0).0 - 0.011).abs() < 1e-12);
}

#[test]
fn what_else_was_measured_is_read_over() {
    let text = "discipline = \"fcfs\"\ndemand = \"5 ms\"\n[measured]\ncapacity = [200.0, 199.0, 201.0]\n";
    assert_eq!(
        Server::from_toml(text).unwrap(),
        Server::from_toml("discipline = \"fcfs\"\ndemand = \"5 ms\"").unwrap()
    );
}

#[test]
fn a_server_of_several_resources_is_read_and_written() {
    let text = r#"
        resources = { cpu = { discipline = "limited-ps", helpers = 8 }, disk = { discipline = "fcfs", rate = "5 MB/s" } }
        demand = "20 ms"
        memory = { size = "24 MB", cache = "lru" }
        files = { placed = "one-owner", number = 60, remote_rate = "4.5 MB/s" }
        limits = { jobs = 300, connections = 196 }
    "#;
    let server = Server::from_toml(text).unwrap();
    assert_eq!(Server::from_toml(&server.to_toml()).unwrap(), server, "{}", server.to_toml());
    let copies = ", copies_after = 3, copies_within = \"1234567 us\", copies_max = \"24 MB\" }";
    let server = Server::from_toml(&text.replace("\"4.5 MB/s\" }", &format!("\"4.5 MB/s\"{copies}"))).unwrap();
    let rules = server.machine.as_ref().unwrap().files.unwrap().copies.unwrap();
    assert_eq!(rules, CopyRules { after: 3, within: Span(1_234_567_000), max: 24_000_000 });
    assert_eq!(Server::from_toml(&server.to_toml()).unwrap(), server, "{}", server.to_toml());
    for (wrong, wanted) in [
        (", copies_after = 3 }", "files: copies are made after some fetches within a time, as in copies_after = 3"),
        (", copies_max = \"1 MB\" }", "files: copies are made after"),
        (&copies.replace("1234567 us", "0 s"), "files.copies_within: it is above 0"),
        (&copies.replace("24 MB", "24 s"), "files.copies_max: "),
    ] {
        let refused = Server::from_toml(&text.replace("\"4.5 MB/s\" }", &format!("\"4.5 MB/s\"{wrong}")));
        let refused = refused.expect_err(wrong).to_string();
        assert!(refused.contains(wanted) && !refused.contains('\n'), "{refused} / {wanted}");
    }
    let none = text.replace("\"4.5 MB/s\" }", "\"4.5 MB/s\", copies_after = 0 }");
    assert_eq!(Server::from_toml(&none).unwrap(), Server::from_toml(text).unwrap());
    let bare = r#"
        resources = { cpu = { discipline = "ps" }, net = { discipline = "ps", rate = "1 MB/s" } }
        demand = "1 ms"
    "#;
    let server = Server::from_toml(bare).unwrap();
    assert_eq!(Server::from_toml(&server.to_toml()).unwrap(), server, "{}", server.to_toml());
}

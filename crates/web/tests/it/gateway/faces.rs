//! What a gateway and a redirector really tell a policy: every policy runs, or is refused by name for exactly the missing signal.

use sojourn_bed::Events;
use sojourn_dispatch::{Ask, Catalogue, Decision, Policy, Signals, key, policies};
use sojourn_model::Discipline;
use sojourn_part::ServeError;
use sojourn_part::settings::gateway::{GatewaySettings, RedirectorSettings};
use sojourn_stats::{Span, Stream};
use sojourn_web::Gateway;

use crate::support::{Client, backends, gateway, ms, node};

/// Requires some signals and draws.
struct Requiring(Signals);

impl Policy for Requiring {
    fn requires(&self) -> Signals {
        self.0
    }

    fn choose(&mut self, ask: &Ask<'_>, draw: &mut Stream) -> Decision {
        Decision::forward_or_refuse(ask.table.draw(ask.tried, draw))
    }
}

/// For each signal a policy that requires it alone, besides the built-in ones.
fn catalogue() -> Catalogue {
    let mut catalogue = Catalogue::default();
    for (word, signal) in Signals::all().iter_names() {
        let name = format!("requires-{}", word.to_lowercase());
        catalogue.add(name, "", move |_| Ok(Box::new(Requiring(signal)))).expect("the name is free");
    }
    catalogue
}

#[test]
fn a_policy_runs_or_is_refused_for_the_missing_signal() {
    let node = node("s1", Discipline::Ps);
    let catalogue = catalogue();
    let built_in = policies::POLICIES.iter().map(|entry| entry.name.to_owned());
    let own = Signals::all().iter_names().map(|(word, _)| format!("requires-{}", word.to_lowercase()));
    let names: Vec<_> = built_in.chain(own).collect();
    let nodes = || backends(&[node.address()]);
    let redirector = |name: &str, poll| {
        let mut settings = RedirectorSettings::new(name, nodes());
        settings.decider.poll = poll;
        Gateway::start_with(settings, &catalogue, Events::nowhere())
    };
    let gateway = |name: &str, poll| {
        let mut settings = GatewaySettings::new(name, nodes());
        settings.decider.poll = poll;
        Gateway::start_with(settings, &catalogue, Events::nowhere())
    };
    type Start<'a> = &'a dyn Fn(&str, Option<Span>) -> Result<Gateway, ServeError>;
    // Written here and not asked of the face, which may claim too much.
    let cases: [(Start<'_>, _, _); 2] =
        [(&gateway, Signals::GATEWAY, 200), (&redirector, Signals::ADDRESS | Signals::COOKIE | Signals::PATH, 307)];
    for ((start, seen, status), poll) in cases.into_iter().flat_map(|case| [(case, None), (case, Some(ms(5)))]) {
        // Reports stand in for the ends of requests that a face does not see.
        let reports = if poll.is_some() { Signals::REPORTS | Signals::IN_FLIGHT } else { Signals::empty() };
        for name in &names {
            let requires = catalogue.build(name).expect(name).requires();
            let missing = requires.difference(seen | reports);
            match (start(name, poll), missing.iter_names().next()) {
                (Ok(gateway), None) => {
                    assert_eq!(Client::new(gateway.address()).get("/bytes/1").status, status, "{name}");
                }
                (Err(error), Some((word, _))) => {
                    let (said, word) = (error.to_string(), word.to_lowercase().replace('_', "-"));
                    assert!(said.contains(&format!("`{name}` needs")) && said.contains(&format!("({word}")), "{said}");
                }
                (started, missing) => panic!("{name}: {missing:?} is missing; it started: {}", started.is_ok()),
            }
        }
    }
}

#[test]
fn the_key_of_a_request_is_that_of_its_path_where_the_policy_reads_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let node = node("s1", Discipline::Ps);
    let keys = |policy: &str| {
        let path = folder.path().join(policy);
        let config = GatewaySettings::new(policy, backends(&[node.address()]));
        let config = GatewaySettings { record: Some(path.clone()), ..config };
        let gateway = Gateway::start_with(config, &catalogue(), Events::nowhere()).expect("a gateway starts");
        let mut client = Client::new(gateway.address());
        for path in ["/bytes/1", "/bytes/2", "/bytes/1?a=b", "/bytes/1"] {
            client.get(path);
        }
        gateway.stop();
        let record = std::fs::read_to_string(path).expect("a record");
        let lines = record.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
        let requests = lines.filter_map(|line| line.get("choose").map(|choose| choose["request"].clone()));
        requests.map(|request| request["key"].as_u64().unwrap_or(0)).collect::<Vec<_>>()
    };
    // A query says how an object is asked for, not which one it is.
    assert_eq!(keys("requires-path"), ["/bytes/1", "/bytes/2", "/bytes/1", "/bytes/1"].map(key));
    assert_eq!(keys("random"), [0; 4]);
}

#[test]
fn a_reply_says_what_the_candidates_had_to_offer() {
    let nodes = ["s1", "s2"].map(|name| node(name, Discipline::Ps));
    let addresses = nodes.each_ref().map(|node| node.address());
    let config = GatewaySettings::new("least-connections(ties = first)", backends(&addresses));
    let explained = gateway(GatewaySettings { explain: true, ..config.clone() });
    let reply = Client::new(explained.address()).get("/bytes/1");
    assert_eq!(reply.header("x-sojourn-candidates"), Some("s1: in_flight 0; s2: in_flight 0"));
    assert!(reply.header("x-sojourn-reason").is_some());
    let silent = gateway(config);
    let reply = Client::new(silent.address()).get("/bytes/1");
    assert_eq!((reply.header("x-sojourn-candidates"), reply.header("x-sojourn-reason")), (None, None));
}

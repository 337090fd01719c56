//! What the simulators really tell a policy: every policy runs, or is refused by name for exactly the missing signal.

use sojourn_dispatch::{Ask, Catalogue, Decision, Policy, Signals, policies};
use sojourn_model::system::{Affinity, Face, Probes, Reports, Told};
use sojourn_sim::{Control, WarmUp};
use sojourn_stats::{Span, Stream};

use crate::sessions::{behind, cluster as users, run_sessions};
use crate::support::{cluster, control, simulate};

const FCFS: &str = "discipline = \"fcfs\"\ndemand = \"exponential(mean = 1 s)\"";
const SITE: &str = "path,kind,class,bytes,requests,embedded\n/p,base,static,1000,1,\n";
const POLLED: Option<Span> = Some(Span(1_000_000_000));

/// What a face that sees the path can look up.
const OF_PATH: Signals = Signals::OBJECT.union(Signals::SIZE);

/// Requires some signals and reads nothing.
struct Requiring(Signals);

impl Policy for Requiring {
    fn requires(&self) -> Signals {
        self.0
    }

    fn choose(&mut self, ask: &Ask<'_>, draw: &mut Stream) -> Decision {
        Decision::forward_or_refuse(ask.table.draw(ask.tried, draw))
    }
}

/// Every built-in policy with what it requires, and for each signal a policy that requires it alone.
fn every_policy() -> (Catalogue, Vec<(String, Signals)>) {
    let mut catalogue = Catalogue::default();
    let built_in = policies::POLICIES.iter().map(|entry| entry.name.to_owned());
    let mut names: Vec<_> = built_in
        .map(|name| (name.clone(), Catalogue::default().build(&name).expect("it is built in").requires()))
        .collect();
    for (word, signal) in Signals::all().iter_names() {
        let name = format!("requires-{}", word.to_lowercase());
        let added = catalogue.add(name.clone(), "", move |_| Ok(Box::new(Requiring(signal))));
        added.expect("the name is free");
        names.push((name, signal));
    }
    (catalogue, names)
}

/// `refused` is the refusal, if there was one, of a policy that requires `requires` at a face that provides `provides`.
fn check(name: &str, requires: Signals, provides: Signals, refused: Option<String>) {
    let mut missing = requires.difference(provides);
    if provides.contains(Signals::CLIENT_FIRST_BYTE) {
        missing.remove(Signals::FIRST_BYTE); // the client's own stands in
    }
    match (missing.iter_names().next(), refused) {
        (None, None) => {}
        (Some((word, _)), Some(refused)) => {
            let word = word.to_lowercase().replace('_', "-");
            assert!(refused.contains(&format!("`{name}` needs")) && refused.contains(&format!("({word}")), "{refused}");
        }
        (missing, refused) => panic!("{name}: {missing:?} is missing, and it was refused with {refused:?}"),
    }
}

#[test]
fn requests_behind_a_balancer() {
    let (catalogue, names) = every_policy();
    let seen = Signals::GATEWAY | OF_PATH | Signals::PREDICTED_RESPONSE;
    for (polled, reports) in [(None, Signals::empty()), (POLLED, Signals::REPORTS)] {
        for (name, requires) in &names {
            let mut scenario = cluster("exponential(rate = 1 /s)", name, 2, FCFS);
            (scenario.tier().polled, scenario.tier().told) = (polled, vec![Told::PredictedResponse]);
            let control = Control { catalogue: catalogue.clone(), ..control(200) };
            let ran = simulate(&scenario, &control);
            check(name, *requires, seen | reports, ran.err().map(|error| error.to_string()));
        }
    }
}

#[test]
fn users_who_browse() {
    let (catalogue, names) = every_policy();
    let short = Control {
        warm_up: WarmUp::Fixed(Span(1_000_000_000)),
        horizon: Some(Span(20_000_000_000)),
        precision: None,
        replications: 2,
        catalogue,
        ..Control::default()
    };
    let seen = Signals::GATEWAY.difference(Signals::PATH) | Signals::CLIENT_FIRST_BYTE;
    for (polled, reports) in [(None, Signals::empty()), (POLLED, Signals::REPORTS)] {
        for (name, requires) in &names {
            let mut cluster = behind(users(SITE, 2, 2.0, FCFS), name, 2, Affinity::Connection);
            (cluster.tier.polled, cluster.tier.told) = (polled, vec![Told::ClientFirstByte]);
            let ran = run_sessions(&cluster, &short, &|_| {});
            check(name, *requires, seen | reports, ran.err().map(|error| error.to_string()));
        }
    }
}

/// A policy behind a tier of another face is refused for what that face does not see, is not told and was not set up to
/// measure; what it promises it tells, or this run would end in a panic or a choice of nothing.
/// What a face knows besides that redirects.
const AT_NODE: Signals = Signals::HOPS
    .union(Signals::WORK)
    .union(Signals::CLIENT_ROUND_TRIP)
    .union(Signals::HARDWARE)
    .union(Signals::OWNERS);

#[test]
fn other_faces() {
    let (catalogue, names) = every_policy();
    let faces = [
        (Face::Gateway, Signals::GATEWAY | OF_PATH),
        (Face::Switch, Signals::SWITCH),
        (Face::Redirect, Signals::ADDRESS | Signals::COOKIE | Signals::PATH | OF_PATH | AT_NODE),
        (Face::Dns, Signals::ADDRESS | Signals::LEASES),
        (Face::Client, Signals::GATEWAY.difference(Signals::COOKIE) | Signals::OBJECT),
    ];
    let reports = Reports {
        every: Span(500_000_000),
        heartbeat: None,
        client_rates: None,
        hidden_load: false,
        cost: Span::ZERO,
        lossy: false,
        estimator: None,
        capacity_at: 1.0,
    };
    let with_rates = Reports { client_rates: Some(Span(64_000_000_000)), ..reports };
    let probes = Probes { at_most: 3, refresh: Span(120_000_000_000) };
    let of_reports = Signals::REPORTS | Signals::ROOM | Signals::UTILIZATION;
    let told = [
        (None, None, None, Signals::empty()),
        (None, None, Some((0xc200_0000, 7)), Signals::ORIGIN),
        (Some(reports), None, None, of_reports),
        (Some(with_rates), None, None, of_reports | Signals::CLIENT_RATES),
        (None, Some(probes), None, Signals::ROUND_TRIPS),
        (
            Some(with_rates),
            Some(probes),
            Some((0xc200_0000, 7)),
            of_reports | Signals::CLIENT_RATES | Signals::ROUND_TRIPS | Signals::ORIGIN,
        ),
    ];
    for (face, seen) in faces {
        for (reports, probes, addresses, more) in told {
            // Only a DNS has clients probed; a client probes for itself, and hears nothing of others.
            let more = match face {
                Face::Dns => more,
                Face::Client => more & (Signals::ROUND_TRIPS | Signals::ORIGIN),
                _ => more.difference(Signals::ROUND_TRIPS),
            };
            for (name, requires) in &names {
                let mut scenario = cluster("exponential(rate = 1 /s)", name, 2, FCFS);
                let tier = scenario.tier();
                (tier.face, tier.reports, tier.probes) = (face, reports, probes);
                scenario.system.regions[0].addresses = addresses;
                let control = Control { catalogue: catalogue.clone(), ..control(200) };
                let ran = simulate(&scenario, &control);
                check(name, *requires, seen | more, ran.err().map(|error| error.to_string()));
            }
        }
    }
}

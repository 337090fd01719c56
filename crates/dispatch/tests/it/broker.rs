//! Policies of nodes that redirect: SWEB's broker, file locality, processor only.

use sojourn_dispatch::record::{Detail, replay};
use sojourn_dispatch::{Action, BackendId, Code, Dispatcher, Hardware, Information, Report, Request, Signals};
use sojourn_stats::{Span, Time};

use crate::common::{REQUEST, equal};
use crate::record::Shared;

const A: BackendId = BackendId(0);
const B: BackendId = BackendId(1);
const C: BackendId = BackendId(2);

const AT_NODE: Signals = Signals::REPORTS
    .union(Signals::UTILIZATION)
    .union(Signals::HARDWARE)
    .union(Signals::HOPS)
    .union(Signals::WORK)
    .union(Signals::OBJECT)
    .union(Signals::OWNERS)
    .union(Signals::SIZE)
    .union(Signals::CLIENT_ROUND_TRIP);

/// Nodes of a Meiko CS-2: 40 million operations/s, a disk of 5 MB/s, a network of 40 MB/s. File k is on node k.
fn nodes(policy: &str, number: usize) -> Dispatcher {
    let made = Dispatcher::new(policy, &equal(number), Information::Immediate, AT_NODE, 1, "node");
    let mut dispatcher = made.expect(policy);
    for id in (0..number as u32).map(BackendId) {
        dispatcher.set_hardware(id, Hardware { speed: 40e6, disk_rate: 5e6, net_rate: 40e6 });
        dispatcher.set_owners(id.0, &[id]);
    }
    dispatcher
}

/// A file of 1.5 MB of node C, asked for at node A by a client 2 ms away, with work of 20 ms.
fn request() -> Request {
    let round_trip = Some(Span(2_000_000));
    Request { object: 2, size: Some(1_500_000), work: Some(800e3), here: Some(A), round_trip, ..REQUEST }
}

fn busy(cpu: f32, disk: f32, net: f32) -> Report {
    Report { cpu, disk, net, ..Report::default() }
}

/// The terms of `id`, in the order redirection, data, processor, network (s).
fn terms(dispatcher: &mut Dispatcher, request: &Request, id: BackendId) -> Vec<f64> {
    let explanation = dispatcher.explain(request, &[], Time(1));
    let candidate = explanation.candidates.iter().find(|candidate| candidate.backend == id);
    candidate.expect("it is a candidate").terms.iter().map(|(_, value)| *value).collect()
}

fn assert_close(what: &str, found: &[f64], due: &[f64]) {
    assert_eq!(found.len(), due.len(), "{what}");
    for (found, due) in found.iter().zip(due) {
        assert!((found - due).abs() < 1e-6, "{what}: {found:?}, due {due:?}");
    }
}

#[test]
fn the_terms_are_those_of_section_3_2() {
    let mut idle = nodes("sweb", 3);
    assert_close("owner", &terms(&mut idle, &request(), C), &[0.004, 0.3, 0.020, 0.0]);
    assert_close("here", &terms(&mut idle, &request(), A), &[0.0, 0.33, 0.020, 0.0]);
    assert_close("elsewhere", &terms(&mut idle, &request(), B), &[0.004, 0.33, 0.020, 0.0]);
    // A load is what is there and this request; what is read from afar is slowed by the owner's disk and by both networks.
    let mut loaded = nodes("sweb(net = true)", 3);
    loaded.report(C, &busy(0.5, 2.0, 0.0), Time(1));
    loaded.report(B, &busy(1.0, 5.0, 39.0), Time(1));
    assert_close("busy owner", &terms(&mut loaded, &request(), C), &[0.004, 0.9, 0.030, 0.0375]);
    assert_close("busy network", &terms(&mut loaded, &request(), B), &[0.004, 1.5, 0.040, 1.5]);
    assert_close("its disk does not matter", &terms(&mut loaded, &request(), A), &[0.0, 0.99, 0.020, 0.0375]);
    loaded.report(C, &Report { measured: Time(1), ..busy(0.0, 0.0, 79.0) }, Time(1));
    assert_close("the owner's network", &terms(&mut loaded, &request(), A), &[0.0, 3.0, 0.020, 0.0375]);
    // Of two owners the one that reads sooner is asked.
    loaded.set_owners(2, &[B, C]);
    assert_close("of two", &terms(&mut loaded, &request(), A), &[0.0, 1.98, 0.020, 0.0375]);
    loaded.set_owners(2, &[C]);
    // The settings of the first version, by hand.
    let mut set = nodes("sweb(latency = 45 ms, connect = 10 ms, remote_penalty = 0.6)", 3);
    assert_close("by hand", &terms(&mut set, &request(), C), &[0.1, 0.3, 0.020, 0.0]);
    assert_close("Ethernet", &terms(&mut set, &request(), A), &[0.0, 0.48, 0.020, 0.0]);
    let mut cpu = nodes("cpu-only", 3);
    cpu.report(C, &busy(1.0, 9.0, 9.0), Time(1));
    assert_close("processor only", &terms(&mut cpu, &request(), C), &[0.004, 0.0, 0.040, 0.0]);
}

/// Where queues are told, a load is those that wait for that very resource and this request: two at the disk make three.
#[test]
fn each_resource_has_its_own_queue() {
    let queues = |cpu, disk, net| Report { queues: [cpu, disk, net], ..busy(1.0, 1.0, 1.0) };
    let mut loaded = nodes("sweb(net = true)", 3);
    loaded.report(C, &queues(3, 2, 7), Time(1));
    assert_close("owner", &terms(&mut loaded, &request(), C), &[0.004, 0.9, 0.080, 0.3]);
    assert_close("the owner's disk", &terms(&mut loaded, &request(), A), &[0.0, 0.99, 0.020, 0.0375]);
    loaded.report(C, &Report { measured: Time(1), ..queues(0, 2, 39) }, Time(1));
    assert_close("the owner's network", &terms(&mut loaded, &request(), A), &[0.0, 1.5, 0.020, 0.0375]);
}

/// A disk that is idle at the look and was busy 60 % of the time before, and a processor with three requests: a load is the
/// larger of queue and busy share, or one of the two alone.
#[test]
fn a_load_is_read_as_the_policy_says() {
    let of = |load: &str| {
        let mut nodes = nodes(&format!("sweb(net = true, load = {load})"), 3);
        nodes.report(C, &Report { queues: [3, 0, 1], ..busy(0.5, 0.6, 0.25) }, Time(1));
        terms(&mut nodes, &request(), C)
    };
    assert_close("larger", &of("larger"), &[0.004, 0.48, 0.080, 0.075]);
    assert_close("queue", &of("queue"), &[0.004, 0.3, 0.080, 0.075]);
    assert_close("busy", &of("busy"), &[0.004, 0.48, 0.030, 0.046875]);
    let refused = Dispatcher::new("sweb(load = both)", &equal(3), Information::Immediate, AT_NODE, 1, "node");
    assert!(
        refused.expect_err("no such word").to_string().contains("load = both: it is `larger` or `queue` or `busy`")
    );
}

#[test]
fn the_shortest_is_chosen_and_held_until_its_next_report() {
    let mut sweb = nodes("sweb", 3);
    let decision = sweb.choose(&request(), &[], Time(1));
    assert_eq!((decision.chosen(), decision.reason.code), (Some(C), Code::LeastCost));
    assert!((decision.reason.value - 0.324).abs() < 1e-9);
    // Each choice raises the processor's load by 30 %: 20, 26, 33.8 ms and so on, until being redirected does not pay.
    assert_close("raised", &terms(&mut sweb, &request(), C), &[0.004, 0.3, 0.026, 0.0]);
    let next: Vec<_> = (0..5).map(|_| sweb.choose(&request(), &[], Time(2)).chosen().expect("all are up")).collect();
    assert_eq!(next, [C, C, C, A, B]);
    sweb.report(C, &Report { measured: Time(3), ..Report::default() }, Time(3));
    assert_close("reported", &terms(&mut sweb, &request(), C), &[0.004, 0.3, 0.020, 0.0]);
    let mut flat = nodes("sweb(rise = 0)", 3);
    assert!((0..20).all(|_| flat.choose(&request(), &[], Time(2)).chosen() == Some(C)));
}

/// A node that says it is idle, which is busier than the others: what it is sent raises its load, so that until its next report
/// it gets so many requests more than each other as 1.3 must be multiplied with itself to make up for the lie.
#[test]
fn a_node_that_lies_about_its_load_gets_little_more_than_its_share() {
    let mut sweb = nodes("sweb", 3);
    for (id, queue) in [(A, 5), (B, 5), (C, 0)] {
        sweb.report(id, &Report { queues: [queue, 0, 0], ..Report::default() }, Time(1));
    }
    let anywhere = Request { object: 77, size: None, here: None, round_trip: None, ..request() };
    let mut chosen = [0_u32; 3];
    (0..100).for_each(|_| chosen[sweb.choose(&anywhere, &[], Time(2)).chosen().expect("all are up").0 as usize] += 1);
    // ln 6 / ln 1.3 = 6.8 more than each other one.
    assert!((37..=39).contains(&chosen[2]) && chosen[0].abs_diff(chosen[1]) <= 1, "{chosen:?}");
}

#[test]
fn far_clients_stay_and_a_busy_owner_is_left_out() {
    let far = Request { round_trip: Some(Span(90_000_000)), ..request() };
    assert_eq!(nodes("sweb", 3).choose(&far, &[], Time(1)).chosen(), Some(A));
    let mut busy_here = nodes("sweb", 3);
    busy_here.report(A, &busy(20.0, 0.0, 0.0), Time(1));
    assert_eq!(busy_here.choose(&far, &[], Time(1)).chosen(), Some(C), "a busy node sends even far clients away");
    // One hot file: its owner's disk is read either way, so what decides is the processor.
    let mut hot = nodes("sweb", 3);
    hot.report(C, &busy(30.0, 30.0, 0.0), Time(1));
    let chosen = hot.choose(&request(), &[C], Time(1)).chosen();
    assert_eq!(chosen, Some(A), "the node where it is, before an equal one");
}

#[test]
fn what_was_redirected_stays_and_equal_nodes_are_drawn() {
    for policy in ["sweb", "file-locality", "cpu-only", "stay"] {
        let moved = Request { hops: 1, ..request() };
        let decision = nodes(policy, 3).choose(&moved, &[], Time(1));
        assert_eq!((decision.action, decision.reason.code), (Action::ServeHere, Code::Redirected), "{policy}");
    }
    // At a dispatcher that is no node, equal nodes get equal shares: 4,000 draws of 4, beyond 4.9 deviations once in a million.
    let central = Request { here: None, object: 9, ..request() };
    let mut sweb = nodes("sweb(rise = 0)", 4);
    let mut shares = [0.0; 4];
    (0..4000).for_each(|_| shares[sweb.choose(&central, &[], Time(1)).chosen().expect("all are up").0 as usize] += 1.0);
    assert!(shares.iter().all(|share: &f64| (share - 1000.0).abs() < 4.9 * 750_f64.sqrt()), "{shares:?}");
}

#[test]
fn locality_knows_owners_only() {
    let mut locality = nodes("file-locality", 3);
    locality.report(C, &busy(50.0, 50.0, 0.0), Time(1));
    let decision = locality.choose(&request(), &[], Time(1));
    assert_eq!((decision.chosen(), decision.reason.code), (Some(C), Code::Owner));
    assert_eq!(locality.choose(&request(), &[C], Time(1)).chosen(), Some(A), "without its owner it stays");
    let nowhere = Request { object: 77, ..request() };
    assert_eq!(locality.choose(&nowhere, &[], Time(1)).chosen(), Some(A), "without an owner it stays");
    locality.set_owners(2, &[A, C]);
    assert_eq!(locality.choose(&request(), &[], Time(1)).chosen(), Some(A), "one of its owners has it already");
    let explained = locality.explain(&request(), &[], Time(1));
    let owners: Vec<f64> = explained.candidates.iter().map(|candidate| candidate.terms[0].1).collect();
    assert_eq!(owners, [1.0, 0.0, 1.0]);
}

#[test]
fn what_stays_is_served_where_it_came() {
    let mut stay = nodes("stay", 3);
    stay.report(A, &busy(50.0, 50.0, 50.0), Time(1));
    let decision = stay.choose(&request(), &[], Time(1));
    assert_eq!((decision.chosen(), decision.reason.to_string().as_str()), (Some(A), "the request came to it"));
    let elsewhere = stay.choose(&request(), &[A], Time(1));
    assert!(elsewhere.chosen().is_some_and(|id| id != A));
    assert_eq!(elsewhere.reason.to_string(), "the request could not stay where it came");
    let at_last = Request { here: Some(C), ..request() };
    assert_eq!(stay.choose(&at_last, &[], Time(1)).chosen(), Some(C));
    let explained = stay.explain(&at_last, &[], Time(1));
    let here: Vec<f64> = explained.candidates.iter().map(|candidate| candidate.terms[0].1).collect();
    assert_eq!(here, [0.0, 0.0, 1.0]);
}

#[test]
fn what_they_need_is_named_and_what_is_wrong_refused() {
    let refusal = |policy: &str, signals: Signals| {
        let made = Dispatcher::new(policy, &equal(2), Information::Immediate, signals, 1, "node");
        made.expect_err(policy).to_string()
    };
    for (missing, word) in [
        (Signals::UTILIZATION, "(utilization)"),
        (Signals::OWNERS, "(owners)"),
        (Signals::WORK, "(work)"),
        (Signals::CLIENT_ROUND_TRIP, "the round trip to each client (client-round-trip)"),
    ] {
        let message = refusal("sweb", AT_NODE.difference(missing));
        assert!(message.contains(word), "{message}");
    }
    let told = AT_NODE.difference(Signals::CLIENT_ROUND_TRIP);
    Dispatcher::new("sweb(latency = 1 ms)", &equal(2), Information::Immediate, told, 1, "node").expect("it is set");
    for (policy, message) in [
        ("sweb(rise = -0.1)", "policy `sweb`: rise = -0.1: it is a number from 0 to 10"),
        ("sweb(rise = 30 %)", "rise = 30 %: it is a number from 0 to 10"),
        ("sweb(remote_penalty = nan)", "remote_penalty = nan: it is a number from 0 to 100"),
        ("sweb(latency = 0 s)", "must be at least 1 ns"),
        ("sweb(net = yes)", "it is `true` or `false`"),
        ("cpu-only(remote_penalty = 0.1)", "has no parameter `remote_penalty`"),
        ("file-locality(rise = 1)", "it takes none"),
    ] {
        let found = refusal(policy, AT_NODE);
        assert!(found.contains(message), "{found}");
    }
}

#[test]
fn the_record_of_a_broker_replays_to_the_same_choices() {
    for policy in ["sweb(net = true)", "file-locality", "cpu-only(latency = 3 ms)"] {
        let made = Dispatcher::new(policy, &equal(5), Information::Immediate, AT_NODE, 1, "node");
        let (mut node, record) = (made.expect(policy), Shared::default());
        node.record_to(Box::new(record.clone()), Detail::Explained).expect("it was not used yet");
        for id in (0..5).map(BackendId) {
            node.set_hardware(id, Hardware { speed: 40e6, disk_rate: 5e6, net_rate: 40e6 });
            node.set_owners(id.0, &[id]);
        }
        for turn in 0..300_u64 {
            let (now, draw) = (Time(turn * 1000), |of: u64| (turn * 7919) % of);
            if draw(5) == 0 {
                let report = Report { measured: now, ..busy(draw(7) as f32, draw(3) as f32, draw(2) as f32) };
                node.report(BackendId(draw(4) as u32), &report, now);
            }
            let here = Some(BackendId(draw(5) as u32));
            let round_trip = Some(Span(draw(90) * 1_000_000));
            let (object, size, hops) = (draw(6) as u32, Some(draw(1_500_000)), u8::from(draw(11) == 0));
            node.choose(&Request { object, size, here, round_trip, hops, ..request() }, &[], now);
        }
        node.finish_record().expect("memory takes all");
        let replayed = replay(&record.taken()[..]).expect(policy);
        assert_eq!((replayed.first_difference, replayed.choices), (None, 300), "{policy}");
    }
}

/// Nodes are called as [`equal`] calls them.
#[test]
fn nodes_that_are_dedicated_to_a_class_serve_it_and_nothing_else() {
    let names = equal(4);
    let two = format!("{} {}", names[0].0, names[2].0);
    let of_class = |dispatcher: &mut Dispatcher, class: u8, tried: &[BackendId]| {
        let request = Request { class, object: 9, here: None, ..request() };
        let mut chosen: Vec<u32> =
            (0..60).map(|n| dispatcher.choose(&request, tried, Time(n)).chosen().expect("some are up").0).collect();
        chosen.sort_unstable();
        chosen.dedup();
        chosen
    };
    let mut masters = nodes(&format!("sweb(dedicated = {two}, class = 1)"), 4);
    assert_eq!((of_class(&mut masters, 1, &[]), of_class(&mut masters, 0, &[])), (vec![0, 2], vec![1, 3]));
    assert_eq!(of_class(&mut masters, 1, &[A]), [2]);
    assert_eq!(of_class(&mut masters, 1, &[A, C]), [1, 3], "where none of them is left, any node");
    let mut first = nodes(&format!("sweb(dedicated = {two}, spill = true)"), 4);
    assert_eq!((of_class(&mut first, 0, &[]), of_class(&mut first, 1, &[])), (vec![0, 1, 2, 3], vec![1, 3]));
    // A request may come to a node that is not for it, which sends it on.
    let here = Request { class: 1, ..request() };
    let mut cpu = nodes(&format!("cpu-only(dedicated = {}, class = 1)", names[1].0), 4);
    assert_eq!(cpu.choose(&here, &[], Time(1)).chosen(), Some(B));
    let listed = cpu.explain(&here, &[], Time(1)).candidates;
    assert_eq!(listed.iter().map(|candidate| candidate.backend).collect::<Vec<_>>(), [B]);
    let made = Dispatcher::new("sweb(dedicated = x)", &equal(2), Information::Immediate, AT_NODE, 1, "node");
    let why = made.expect_err("no node is called so").to_string();
    assert!(why.contains("there is no backend `x`; there are"), "{why}");
}

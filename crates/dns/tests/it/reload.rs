//! What a DNS knows and has promised outlasts a reload, unless the file changes the policy itself.

use std::fs;
use std::io::BufReader;

use sojourn_dispatch::record;
use sojourn_dns::Family;
use sojourn_part::now;
use sojourn_stats::Span;

use crate::decider::{Reporter, Running, asker, file, reporting, service, start};
use crate::support::until;

const SITES: [(&str, &str); 2] = [("c1", ""), ("c2", "")];

/// Of the first service.
fn told(running: &Running, key: &str) -> serde_json::Value {
    running.dns.state()["services"][0][key].clone()
}

fn reload(running: &Running, text: &str) {
    running.rewrite(text);
    running.dns.reload().expect("the file is right");
}

/// Rates, round trips, reports, promises of room, counts and decisions stay where the TTL, the number of addresses or a site is
/// changed; and the record goes on.
#[test]
fn a_reload_keeps_what_was_learned() {
    let keys = "client_rates = \"64 s\"\nrecord = \"decisions.jsonl\"";
    let text = |keys: &str, sites: &[(&str, &str)]| reporting("nearest-with-room(holds = lease)", keys, sites);
    let running = start(&text(keys, &SITES));
    let (mut one, mut two) = (Reporter::new(&running, "c1"), Reporter::new(&running, "c2"));
    [&mut one, &mut two].into_iter().for_each(|site| site.heartbeat = Span(60_000_000_000));
    until("both are known", || {
        one.tell(100.0, 50.0);
        two.tell(100.0, 50.0);
        running.site("c1")["room_per_s"] == 50.0 && running.site("c2")["room_per_s"] == 50.0
    });
    one.tell_rates(&[("10.0.1.200", 3.0)]);
    one.answer_order(90);
    two.answer_order(20);
    let round_trips = |running: &Running| told(running, "counts")["round_trips"].clone();
    until("both round trips are known", || round_trips(&running) == 2);
    // By address it is nearer to c1; a lease of its rate is taken off the room of c2.
    assert_eq!(running.ask("10.0.1.200"), ["10.0.2.1"]);
    assert_eq!(running.site("c2")["believed_room_per_s"], 47.0);
    let state = || {
        let site =
            |name| ["chosen", "believed_room_per_s", "capacity_per_s"].map(|key| running.site(name)[key].clone());
        let of_service = ["decisions", "clients", "mean_client_rate_per_s", "counts"].map(|key| told(&running, key));
        (site("c1"), site("c2"), of_service)
    };
    let before = state();
    for (keys, sites) in [
        (keys.to_owned(), &SITES[..]),
        (format!("{keys}\nttl = \"30 s\"\nanswers = 2"), &SITES),
        (format!("{keys}\nnone_up = \"servfail\""), &[SITES[0], SITES[1], ("c3", "weight = 2")]),
    ] {
        reload(&running, &text(&keys, sites));
        assert_eq!(state(), before, "{keys}");
    }
    assert_eq!(running.ask("10.0.1.200")[0], "10.0.2.1", "by its round trip still");
    assert_eq!(running.site("c2")["believed_room_per_s"], 44.0, "the lease before is not over");
    // Another policy is another dispatcher: it begins anew, and says so in a record of its own.
    reload(&running, &text(keys, &SITES).replace("(holds = lease)", ""));
    assert_eq!((told(&running, "clients"), running.site("c2")["chosen"].clone()), (0.into(), 0.into()));
    assert_eq!(running.site("c2")["room_per_s"], 50.0, "what sites reported is told to it");
    let record = running.folder.path().join("decisions.jsonl");
    assert!(running.dns.stop().1);
    for (path, choices) in [(record.clone(), 2), (record.with_extension("jsonl.1"), 0)] {
        let replay = record::replay(BufReader::new(fs::File::open(path).expect("the record"))).expect("a record");
        assert_eq!((replay.choices, replay.first_difference), (choices, None));
    }
}

/// Turns go on after a reload, and after several at once.
#[test]
fn a_reload_skips_no_turn() {
    let text = |policy: &str| file("", &service(policy, "", &[("c1", ""), ("c2", ""), ("c3", "")]));
    for policy in ["round-robin", "weighted-round-robin"] {
        let running = start(&text(policy));
        let mut answers = Vec::new();
        for reloads in [0, 1, 3, 0, 1, 1] {
            (0..reloads).for_each(|_| reload(&running, &text(policy)));
            answers.extend(running.ask("10.9.9.9"));
        }
        let turns = ["10.0.1.1", "10.0.2.1", "10.0.3.1"];
        assert_eq!(answers, [turns, turns].concat(), "{policy}");
    }
}

/// Addresses of a family come and go with the file.
#[test]
fn a_reload_brings_a_family_and_takes_it_away() {
    let text = |keys: &str| file("", &service("round-robin", "", &[("c1", keys), ("c2", "")]));
    let both = text("address = [\"10.0.1.1\", \"fd00::1\"]");
    let running = start(&text(""));
    let v6 = |running: &Running| running.ask_as(&asker("10.9.9.9"), Family::V6, now()).0;
    for (text, expected) in
        [(&both, vec!["fd00::1".to_owned()]), (&text(""), Vec::new()), (&both, vec!["fd00::1".into()])]
    {
        reload(&running, text);
        assert_eq!(v6(&running), expected);
    }
}

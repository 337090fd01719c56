//! A record, replayed, gives identical choices.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use sojourn_dispatch::record::{Detail, RecordError, replay, replay_with};
use sojourn_dispatch::{
    BackendId, Catalogue, ClientRules, Dispatcher, Information, Location, Origin, Report, Request, RoundTrip, Signals,
};
use sojourn_stats::{Span, Stream, Time};

use crate::common::{AT_DNS, OF_SITES, REQUEST, Walk, equal, every_policy, weighted};

/// A file in memory that outlives its writer.
#[derive(Clone, Default)]
pub(crate) struct Shared(Arc<Mutex<Vec<u8>>>);

impl Shared {
    /// What was written.
    pub(crate) fn taken(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock().expect("no writer panics"))
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no writer panics").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn record(policy: &str, information: Information, steps: usize) -> Vec<u8> {
    // 0.1 + 0.2 takes 17 digits.
    let is_whole = Catalogue::default().build(policy).expect(policy).whole_weights();
    let backends = weighted(&[1.0, 2.0, if is_whole { 4.0 } else { 0.1 + 0.2 }, 3.0, 1.0]);
    let mut dispatcher =
        Dispatcher::new(policy, &backends, information, Signals::GATEWAY | information.signals(), 7, "front")
            .expect(policy);
    let file = Shared::default();
    dispatcher.record_to(Box::new(file.clone()), Detail::Decisions).expect("memory takes it");
    let mut walk = Walk::new(11, &backends);
    for _ in 0..steps {
        walk.take(&mut dispatcher);
    }
    dispatcher.finish_record().expect("memory takes it");
    file.taken()
}

#[test]
fn every_policy_replays() {
    for policy in every_policy().chain([
        "cookie(policy = round-trip(window = 20 ms))",
        "round-trip(window = 100 ms, slide = true)",
        "round-trip(window = 100 ms, unseen = zero)",
        "round-trip(slide = true, ties = first, unseen = zero)",
        "transmitted-size(slide = true, ties = first)",
        "round-trip(window = 100 ms, reads = last)",
        "round-trip(reads = last, ties = first, unseen = zero)",
        "cookie(policy = transmitted-size(window = 100 ms, reads = last))",
    ]) {
        for information in [Information::Immediate, Information::Polled { every: Span(50_000_000) }] {
            let replayed = replay(&record(policy, information, 2_000)[..]).expect(policy);
            assert_eq!(replayed.first_difference, None, "{policy}");
            assert!(replayed.choices > 600 && replayed.truncated_line.is_none(), "{policy}: {replayed:?}");
        }
    }
}

#[test]
fn every_policy_of_sites_replays() {
    for policy in OF_SITES {
        let made = Dispatcher::new(policy, &weighted(&[1.0, 2.0, 3.0, 1.0]), Information::Immediate, AT_DNS, 7, "dns");
        let mut dispatcher = made.expect(policy);
        let file = Shared::default();
        dispatcher.record_to(Box::new(file.clone()), Detail::Explained).expect("memory takes it");
        dispatcher.keep_clients(ClientRules {
            rates_expire: Some(Span(3_000)),
            refresh: Span(500),
            ..ClientRules::default()
        });
        let mut stream = Stream::new(3, "record", "sites");
        let place = |stream: &mut Stream| {
            let address = Some(std::net::Ipv4Addr::new(194 + stream.below(9) as u8, 0, 0, stream.below(4) as u8));
            let region = stream.below(3) as u16;
            let location = Location::new(f64::from(region) * 20.0, f64::from(region) * 31.25);
            Origin { region: Some(region), address, location }
        };
        (0..4).for_each(|id| dispatcher.set_origin(BackendId(id), place(&mut stream)));
        let mut commands = 0;
        for step in 0..3_000 {
            let (now, backend) = (Time(10 * step), BackendId(stream.below(4) as u32));
            let (client, origin) = (stream.below(9) as u64, place(&mut stream));
            let value = stream.uniform() * 5.0;
            match stream.below(6) {
                0 => {
                    let room = Report { room: value as f32, capacity: 9.1, measured: now, ..Report::default() };
                    assert!(dispatcher.report(backend, &room, now));
                }
                1 => assert!(dispatcher.tell_rate(client, origin, value / 10.0, now)),
                2 => {
                    let round_trip = RoundTrip { span: Span((value * 1e8) as u64), measured: now, answers: 1 };
                    dispatcher.tell_round_trip(client, backend, round_trip, now);
                }
                _ => {
                    let request = Request { client, origin, lease: Some(Span(333)), ..Request::default() };
                    dispatcher.choose(&request, &[], now);
                }
            }
            if dispatcher.next_deadline().is_some_and(|due| due <= now) {
                commands += dispatcher.poll(now).len();
            }
        }
        dispatcher.finish_record().expect("memory takes it");
        let bytes = file.taken();
        let replayed = replay(&bytes[..]).expect(policy);
        assert_eq!(replayed.first_difference, None, "{policy}");
        assert!(replayed.choices > 1_000, "{policy}");
        let reads_trips = policy.starts_with("nearest") && !policy.contains("probes = false");
        assert_eq!(commands > 50, reads_trips, "{policy}: {commands} commands");
        // Where backends are is part of the record: without it the replay goes another way.
        let without: Vec<u8> = bytes
            .split_inclusive(|byte| *byte == b'\n')
            .filter(|l| !l.starts_with(b"{\"origin\""))
            .flatten()
            .copied()
            .collect();
        let differs = replay(&without[..]).expect(policy).first_difference.is_some();
        assert_eq!(differs, policy.starts_with("nearest") || policy == "geographic", "{policy}");
    }
}

#[test]
fn a_simulators_own_signal_is_recorded() {
    let signals = Signals::SWITCH | Signals::CLIENT_FIRST_BYTE;
    let made = Dispatcher::new("round-trip", &equal(3), Information::Immediate, signals, 7, "front");
    let mut dispatcher = made.expect("the client's first byte stands in");
    let file = Shared::default();
    dispatcher.record_to(Box::new(file.clone()), Detail::Decisions).expect("memory takes it");
    let mut walk = Walk::new(12, &equal(3));
    for _ in 0..500 {
        walk.take(&mut dispatcher);
    }
    dispatcher.finish_record().expect("memory takes it");
    let bytes = file.taken();
    assert!(String::from_utf8_lossy(&bytes).lines().next().expect("a header").contains("\"client_first_byte\""));
    assert_eq!(replay(&bytes[..]).expect("a good record").first_difference, None);
}

#[test]
fn another_policy_is_caught_at_its_first_different_choice() {
    let record = record("random", Information::Immediate, 500);
    let other = replay_with(&record[..], |header| {
        let backends: Vec<_> = header.backends.iter().map(|backend| (backend.name.clone(), backend.weight)).collect();
        Dispatcher::new("round-robin", &backends, header.information, header.signals()?, header.seed, &header.name)
    });
    let other = other.expect("a good record");
    assert_eq!((other.choices, other.same), (1, 0), "the one that differs is counted, and not as the same");
    let difference = other.first_difference.expect("another policy");
    assert_eq!(difference.line, 2 + difference_before(&record));
    assert!(difference.recorded.contains("drawn") && difference.replayed.contains("turn"), "{difference:?}");
}

/// Calls before the first choice.
fn difference_before(record: &[u8]) -> u64 {
    let text = std::str::from_utf8(record).expect("JSON is text");
    text.lines().skip(1).take_while(|line| !line.starts_with("{\"choose\"")).count() as u64
}

#[test]
fn a_last_line_that_breaks_off_is_reported() {
    let whole = record("least-connections", Information::Immediate, 200);
    let lines = whole.iter().filter(|&&byte| byte == b'\n').count() as u64;
    let cut = replay(&whole[..whole.len() - 5]).expect("what came before is good");
    assert_eq!((cut.truncated_line, cut.first_difference), (Some(lines), None));
    let only_the_newline = replay(&whole[..whole.len() - 1]).expect("nothing is missing");
    assert_eq!(only_the_newline, replay(&whole[..]).expect("a good record"));
}

#[test]
fn what_is_no_record_is_refused_with_its_line() {
    let header = {
        let whole = record("random", Information::Immediate, 0);
        String::from_utf8(whole).expect("JSON is text")
    };
    let said = |bytes: &[u8]| replay(bytes).expect_err("no record").to_string();
    assert!(matches!(replay(&b""[..]), Err(RecordError::Empty)));
    assert!(said(b"\x7fELF\x00\xff\n").starts_with("the record's line 1: it is no record"));
    assert!(said(b"{\"poll\":{\"now\":0,\"commands\":[]}}\n").contains("line 1: it should say how"));
    assert!(said(header.replace("\"format\":2", "\"format\":99").as_bytes()).contains("format 99"));
    assert!(
        said(header.replace("\"policy\":\"random\"", "\"policy\":\"randon\"").as_bytes()).contains("mean `random`")
    );
    assert!(said(format!("{header}nonsense\n").as_bytes()).starts_with("the record's line 2"));
    let ends = |backend: u32| {
        format!("{header}{{\"observe\":{{\"now\":1,\"event\":{{\"cancelled\":{{\"backend\":{backend}}}}}}}}}\n")
    };
    assert!(said(ends(0).as_bytes()).contains("a request ends at `s1`, which has none"));
    assert!(said(ends(77).as_bytes()).contains("there is no backend 77"));
}

#[test]
fn a_record_begins_at_the_beginning() {
    let mut dispatcher = crate::common::dispatcher("random", &equal(2));
    dispatcher.choose(&REQUEST, &[], Time::ZERO);
    assert!(matches!(dispatcher.record_to(Box::new(io::sink()), Detail::Decisions), Err(RecordError::Late)));
}

#[test]
fn a_full_disk_stops_the_record_and_not_the_decisions() {
    /// Takes the header and no more.
    struct Full(usize);
    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += 1;
            if self.0 == 1 { Ok(bytes.len()) } else { Err(io::ErrorKind::StorageFull.into()) }
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut dispatcher = crate::common::dispatcher("random", &equal(2));
    dispatcher.record_to(Box::new(Full(0)), Detail::Decisions).expect("the header fits");
    for _ in 0..1_000 {
        assert!(dispatcher.choose(&REQUEST, &[], Time::ZERO).forwarded_to().is_some());
    }
    assert_eq!(dispatcher.finish_record().expect_err("full").kind(), io::ErrorKind::StorageFull);

    // However little comes, it is seen within a second.
    let mut dispatcher = crate::common::dispatcher("random", &equal(2));
    dispatcher.record_to(Box::new(Full(0)), Detail::Decisions).expect("the header fits");
    for (ms, has_failed) in [(0, false), (999, false), (1000, true)] {
        dispatcher.choose(&REQUEST, &[], Time(5_000_000_000 + ms * 1_000_000));
        assert_eq!(dispatcher.record_error().is_some(), has_failed, "after {ms} ms");
    }
}

#[test]
fn lines_wait_in_memory_for_a_second_at_most() {
    let written = Shared::default();
    let mut dispatcher = crate::common::dispatcher("random", &equal(2));
    dispatcher.record_to(Box::new(written.clone()), Detail::Decisions).expect("memory takes it");
    let header = written.taken();
    assert!(!header.is_empty());
    let mut choose = |ms: u64| {
        dispatcher.choose(&REQUEST, &[], Time(7_000_000_000 + ms * 1_000_000));
        written.taken().iter().filter(|byte| **byte == b'\n').count()
    };
    assert_eq!([0, 500, 1000, 1001, 2000].map(&mut choose), [0, 0, 3, 0, 2]);
}

/// A record that version 0.1.0 made in format 1: a random walk of 400 steps under `cookie(policy = power-of-d)`, polled.
const FORMAT_1: &[u8] = include_bytes!("data/format-1.jsonl");

#[test]
fn a_record_of_format_1_still_replays() {
    let replayed = replay(FORMAT_1).expect("a good record");
    assert_eq!((replayed.choices, replayed.first_difference, replayed.truncated_line), (171, None, None));
    let cut = replay(&FORMAT_1[..FORMAT_1.len() / 2]).expect("what came before is good");
    assert!(cut.first_difference.is_none() && cut.truncated_line.is_some() && cut.choices > 50, "{cut:?}");
}

#[test]
fn a_record_of_format_1_that_was_changed_is_caught() {
    let text = std::str::from_utf8(FORMAT_1).expect("JSON is text");
    let reported = text.lines().position(|line| line.contains("reported")).expect("there are reports");
    let without: String =
        text.lines().enumerate().filter(|(at, _)| *at != reported).map(|(_, l)| l.to_owned() + "\n").collect();
    assert!(replay(without.as_bytes()).expect("a good record").first_difference.is_some(), "reports are read");
    let leased = text.replacen("\"lease\":null", "\"lease\":77", 1);
    let difference = replay(leased.as_bytes()).expect("a good record").first_difference.expect("no lease was given");
    assert!(difference.recorded.contains("{\"until\":77}"), "{difference:?}");
}

//! What is known of an emulated node is found again, by measurement alone.

use sojourn_calibrate::{Calibration, Interval, Served, Settings};
use sojourn_model::{Discipline, Server};
use sojourn_stats::Span;

use crate::support::{beside_others, brief, least_covered, measure, node};

const PER_BYTE_S: f64 = 0.5e-6;
const SIZES: [u64; 3] = [0, 20_000, 200_000];

struct Known {
    discipline: &'static str,
    served: Served,
    fixed_s: f64,
    cores: u32,
}

fn calibrated(known: &Known, seed: u64) -> Calibration {
    let Known { discipline, fixed_s, cores, .. } = known;
    let model = format!("{discipline}\ncores = {cores}\ndemand = \"{} ms + 0.5 us/B\"", fixed_s * 1e3);
    let node = node(&model);
    measure(&node, &SIZES, &brief(seed)).unwrap_or_else(|error| panic!("{discipline}: {error}"))
}

/// False alarms: helpers and disciplines have no law of errors; the coverage alarms with a chance of 3e-6 at most.
#[test]
fn helpers_discipline_demand_and_capacity_of_a_node_are_recovered() {
    let _machine = beside_others();
    let limited =
        |discipline, helpers, fixed_s| Known { discipline, served: Served::Limited(helpers), fixed_s, cores: 1 };
    let known = [
        limited("discipline = \"limited-ps\"\nhelpers = 4", 4, 5e-3),
        limited("discipline = \"limited-ps\"\nhelpers = 4", 4, 20e-3),
        limited("discipline = \"limited-ps\"\nhelpers = 16", 16, 5e-3),
        limited("discipline = \"limited-ps\"\nhelpers = 16", 16, 10e-3),
        limited("discipline = \"fcfs\"", 1, 8e-3),
        limited("discipline = \"fcfs\"", 1, 16e-3),
        Known { discipline: "discipline = \"ps\"", served: Served::AtLeast(16), fixed_s: 8e-3, cores: 1 },
        Known { discipline: "discipline = \"ps\"", served: Served::AtLeast(16), fixed_s: 12e-3, cores: 2 },
    ];
    let found: Vec<Calibration> = std::thread::scope(|scope| {
        let runs: Vec<_> =
            known.iter().zip(1..).map(|(known, seed)| scope.spawn(move || calibrated(known, seed))).collect();
        runs.into_iter().map(|run| run.join().expect("a calibration ends")).collect()
    });
    let (mut fixed, mut per_byte, mut capacity) = (0, 0, 0);
    for (known, found) in known.iter().zip(&found) {
        let of = format!("{}, {} s: {:?}", known.discipline, known.fixed_s, found.holds);
        match (known.served, found.served) {
            (Served::AtLeast(least), Served::AtLeast(tried)) => assert!(tried >= least, "{of}"),
            (known, found) => assert_eq!(known, found, "{of}"),
        }
        let expected = Server::from_toml(&format!("{}\ndemand = \"1 ms\"", known.discipline)).unwrap().discipline;
        assert_eq!(found.server.discipline, expected, "{of}");
        assert_eq!(found.cores, known.cores, "{of}");
        let work = found.work.expect("three levels make a line");
        // Whatever the interval, the work is found to 5 %.
        let near = |interval: &Interval, truth: f64| (interval.value / truth - 1.0).abs() < 0.05;
        assert!(near(&work.per_x_s, PER_BYTE_S), "{of}: {work:?}");
        fixed += u32::from(work.fixed_s.covers(known.fixed_s));
        per_byte += u32::from(work.per_x_s.covers(PER_BYTE_S));
        let truth = f64::from(known.cores) / (known.fixed_s + PER_BYTE_S * 20_000.0);
        assert!(near(&found.capacity, truth), "{of}: {:?} not {truth}", found.capacity);
        capacity += u32::from(found.capacity.covers(truth));
    }
    let least = least_covered(known.len() as u32, 0.95);
    let covered = [fixed, per_byte, capacity];
    assert!(
        covered.iter().all(|covered| *covered >= least),
        "{covered:?} of {} covered, at least {least}",
        known.len()
    );
}

#[test]
fn the_model_is_judged_and_written_whole() {
    let _machine = beside_others();
    let node = node("discipline = \"limited-ps\"\nhelpers = 4\ndemand = \"8 ms + 0.5 us/B\"");
    let settings =
        Settings { time: Span(10_000_000_000), judged: vec![0.3, 0.6], connections_max: 64, ..Settings::default() };
    let found = measure(&node, &SIZES, &settings).unwrap();
    assert_eq!(found.served, Served::Limited(4));
    assert_eq!(found.judged.len(), 2);
    for point in &found.judged {
        let [run] = &point.runs[..] else { panic!("{point:?}") };
        assert!(run.measured.mean_s > 0.018, "{point:?}");
        assert!(run.sim.mean_s > 0.018 && run.sim.p90_s >= run.sim.mean_s * 0.9, "{point:?}");
        assert!(run.theory.is_some(), "{point:?}");
        // A node's work is told, not done: no machine is slow for it.
        assert!((run.speed - 1.0).abs() < 0.2, "{point:?}");
    }
    let text = found.to_toml();
    let read = Server::from_toml(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(read, found.server);
    assert!(matches!(read.discipline, Discipline::LimitedPs { .. }), "{text}");
    let table: toml::Table = text.parse().unwrap();
    let measured = table["measured"].as_table().unwrap();
    assert_eq!(measured["served_at_once"].as_integer(), Some(4));
    assert_eq!(measured["judged"].as_array().unwrap().len(), 2);
}

//! Two hundred random experiments, each played with and without an event list: the same counts at every pause.

use sojourn_model::Server;
use sojourn_model::system::Face;
use sojourn_stats::{Law, Time};
use sojourn_traffic::{Arrivals, Sizes};

use super::*;
use crate::control::{WarmUp, demand_of_classes};
use crate::engine::Engine;
use crate::fabric::Direct;
use crate::requests::Played;
use crate::requests::clients::PlannedRequests;

const EXPERIMENTS: u64 = 200;
/// Laws of gaps and demands around 1 ms; the last ones are of a few nanoseconds, so that much happens at one instant.
const LAWS: [&str; 9] = [
    "exponential(mean = 1 ms)",
    "constant(1 ms)",
    "erlang(k = 3, mean = 1 ms)",
    "hyperexponential(mean = 1 ms, cv = 3)",
    "lognormal(mean = 1 ms, cv = 2)",
    "bounded-pareto(alpha = 1.5, min = 0.4 ms, max = 400 ms)",
    "uniform(0 ms, 2 ms)",
    "uniform(0 ns, 4 ns)",
    "mix(0.5: 0 ns, 0.5: uniform(0 ns, 6 ns))",
];
/// How a server serves; most often one request after another.
const DISCIPLINES: [&str; 11] = [
    "discipline = \"fcfs\"",
    "discipline = \"fcfs\"",
    "discipline = \"fcfs\"",
    "discipline = \"fcfs\"\ncores = 3",
    "discipline = \"ps\"",
    "discipline = \"ps\"\ncores = 2",
    "discipline = \"limited-ps\"\nhelpers = 3",
    "discipline = \"least-attained-service\"",
    "discipline = \"round-robin\"\nquantum = \"0.3 ms\"",
    "discipline = \"lcfs\"",
    "discipline = \"lcfs\"\npreemptive = true",
];
const POLICIES: [&str; 10] = [
    "random",
    "round-robin",
    "weighted-round-robin",
    "weighted-round-robin-classic",
    "weighted",
    "least-connections",
    "least-connections(ties = first)",
    "power-of-d",
    "power-of-d(d = 3)",
    "power-of-d(d = 30)",
];

struct Drawn {
    system: System,
    workload: Workload,
    control: Control,
    text: String,
}

fn drawn(number: u64) -> Drawn {
    let mut draw = sojourn_stats::Stream::new(number, "wide", "experiment");
    let fine = draw.below(4) == 0;
    let mut law = || if fine { LAWS[7 + draw.below(2)] } else { LAWS[draw.below(7)] };
    let (gaps, demand) = (law(), law());
    let servers = match draw.below(4) {
        0 => 1,
        1 => 2 + draw.below(3),
        2 => 5 + draw.below(12),
        _ => 17 + draw.below(30),
    };
    let policy = POLICIES[draw.below(POLICIES.len())];
    let utilization = 0.3 + 0.65 * draw.uniform();
    let mean_s = |law: &str| Law::parse(law, sojourn_stats::Dimension::Time).unwrap().mean();
    let arrivals = Arrivals::parse(gaps).unwrap();
    let arrivals = arrivals.at_rate(utilization * servers as f64 / mean_s(demand)).unwrap();
    let size = ["constant(1000 B)", "exponential(mean = 500 B)"][draw.below(2)];
    let per_byte = if fine { "" } else { ["", " + 1 ns/B"][draw.below(2)] };
    let sizes = Sizes::parse(size).unwrap();
    let open = Open { arrivals, clients: 1 + draw.below(3) as u32, sizes, patience: None };
    let speeds = [1.0, 0.5, 1.7];
    let differ = draw.below(3) == 0;
    let discipline = DISCIPLINES[draw.below(DISCIPLINES.len())];
    let mut server = || {
        let speed = if differ { speeds[draw.below(3)] } else { 1.0 };
        let text = format!("{discipline}\nspeed = {speed}\ndemand = \"{demand}{per_byte}\"");
        Server::from_toml(&text).unwrap_or_else(|error| panic!("{text}: {error}"))
    };
    let hosts: Vec<Server> = (0..servers).map(|_| server()).collect();
    let weights = if draw.below(2) == 0 {
        Vec::new()
    } else {
        (0..servers).map(|_| [0.0, 1.0, 2.0, 2.5][draw.below(4)]).collect()
    };
    let system = match servers {
        1 if draw.below(2) == 0 => System::single(hosts[0].clone()),
        _ => System::balanced(Tier { weights: weights.clone(), ..Tier::new(Face::Gateway, policy) }, hosts),
    };
    let unit = mean_s(demand);
    let span = |means: f64| Span::from_secs_f64(means * unit);
    let warm_up = [WarmUp::Auto, WarmUp::Fixed(span(200.0)), WarmUp::Fixed(Span(0))][draw.below(3)];
    let horizon = (draw.below(3) == 0).then(|| span(2000.0));
    // Without an end it may be a number of requests, one of them 0.
    let warm_up = match (warm_up, horizon) {
        (WarmUp::Fixed(_), None) if number.is_multiple_of(4) => WarmUp::Requests(number % 8 * 150),
        _ => warm_up,
    };
    let control = Control { seed: number, warm_up, horizon, ..Control::default() };
    let text = format!(
        "{number}: {servers} x {discipline}, {demand}{per_byte}, {gaps} at {utilization:.2}, {policy} {weights:?}, {warm_up:?}, \
         {horizon:?}"
    );
    Drawn { system, workload: Workload::Open(open), control, text }
}

fn course(control: &Control, longest_pilot: u64, most_inside: u32) -> Course {
    let warm_up = if let WarmUp::Fixed(span) = control.warm_up { Some(span) } else { None };
    Course {
        warm_up,
        given_pilot: if let WarmUp::Requests(requests) = control.warm_up { Some(requests) } else { None },
        horizon: control.horizon,
        finite: control.horizon.is_some(),
        shortest_pilot: 0,
        longest_pilot,
        most_inside,
        keep_series: false,
        predict: None,
        over_time: None,
    }
}

/// What is counted of a replication.
fn counted(tally: &Tally, counts: &Counts, now: Time) -> String {
    let Tally { since, until, response, remembered, served, waiting_ns, service_ns, busy_before, busy_after, .. } =
        tally;
    let of = (since, until, served, waiting_ns, service_ns, busy_before, busy_after);
    let responses = (response.min(), response.max(), response.sum(), response.buckets().collect::<Vec<_>>());
    format!("{now:?} {of:?} {counts:?} {remembered:?} {responses:?}")
}

#[test]
fn replications_without_an_event_list_count_what_the_event_loop_counts() {
    let (mut without, mut full) = (0, 0);
    for number in 0..EXPERIMENTS {
        let Drawn { system, workload, control, text } = drawn(number);
        if let Some(why) = needs_events(&system, &workload, &control) {
            assert!(text.contains("weighted") && why.contains("nothing to choose"), "{text}: {why}");
            continue;
        }
        without += 1;
        let mut draw = sojourn_stats::Stream::new(number, "wide", "looks");
        let course = course(&control, 2500 + draw.below(10_000) as u64, [30, 1 << 20, 1 << 20, 1 << 20][draw.below(4)]);
        // Three replications draw side by side, two each alone.
        let count = 2 + number as usize % 2;
        let seeds: Vec<u64> = (0..count as u64).map(|other| number + 1000 * other).collect();
        let wide = |seed: &u64| Wide::new(&system, &workload, &control, *seed, &course).unwrap();
        let events = |seed: &u64| -> Engine<PlannedRequests, Direct> {
            let demand = demand_of_classes(&system.hosts[0].server, &workload.classes());
            let direct = Direct::new(&system, &control.catalogue, *seed, None).unwrap();
            requests::engine(PlannedRequests::new(&workload, *seed, demand).unwrap(), direct, &course, &workload)
        };
        let mut wide: Vec<Wide> = seeds.iter().map(wide).collect();
        let mut events: Vec<_> = seeds.iter().map(events).collect();
        let mut ended = vec![0; count];
        'looks: for look in 0..8 {
            ended.iter_mut().for_each(|ended| *ended += [1, 7, 100, 1000, 3000][draw.below(5)] + draw.below(3) as u64);
            if number % 10 == 0 && look == 6 {
                // In a long run requests are counted together between two batches.
                ended[0] += 80_000;
            }
            // Now and then one of them stands still.
            let until: Vec<Option<u64>> = ended.iter().map(|ended| (draw.below(8) > 0).then_some(*ended)).collect();
            let over = Wide::run_together(&mut wide, &until);
            for (place, (wide, events)) in wide.iter_mut().zip(&mut events).enumerate() {
                let text = format!("{text}, replication {place}, look {look} at {:?}", until[place]);
                let Some(ended) = until[place] else { continue };
                let events_over = events.run_until(ended);
                assert_eq!(wide.overflowed(), events.overflowed(), "{text}");
                if wide.overflowed().is_some() {
                    full += 1;
                    break 'looks;
                }
                assert_eq!(over[place], events_over, "{text}");
                assert_eq!(Replication::ended(wide), Replication::ended(events), "{text}");
                assert_eq!(wide.arrived(), events.arrived(), "{text}");
                let now = Played::now(events);
                let counts = events.counts_at(now);
                let one = counted(&wide.books.tally, &wide.counts(), wide.books.now);
                let other = counted(events.tally(), &counts, now);
                assert!(one == other, "{text}\n{}", difference(&one, &other));
                if !course.finite && draw.below(4) == 0 {
                    wide.begin_anew();
                    events.begin_anew();
                }
            }
        }
    }
    assert!(without > 180 && full > 5, "{without} experiments were played, and in {full} there was no room");
}

/// Where two texts part.
fn difference(one: &str, other: &str) -> String {
    let same = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    let from = same.saturating_sub(200);
    let part = |text: &str| text[from..(same + 200).min(text.len())].to_string();
    format!("without: {}\nevents:  {}", part(one), part(other))
}

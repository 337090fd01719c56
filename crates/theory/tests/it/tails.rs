//! Laws of the response time against closed forms and against the simulator.

use sojourn_model::Server;
use sojourn_sim::{Control, Precision};
use sojourn_stats::{Dimension, Law};
use sojourn_theory::Answer;
use sojourn_theory::formula::general::mg1_fcfs;
use sojourn_theory::formula::markovian::mm1;
use sojourn_theory::formula::sharing::md1_ps;
use sojourn_theory::law::Moments;
use sojourn_theory::queue::Queue;
use sojourn_traffic::{Arrivals, Open, Sizes, Workload};

use crate::agree;

/// P(W <= x) of M/D/1 with service 1 (Erlang 1909; Franx, Operations Research Letters 29, 2001, equation 1); its terms
/// alternate, so that x is small.
fn erlang_wait(x: f64, rate: f64) -> f64 {
    let mut sum = 0.0;
    for k in 0..=x as u32 {
        let y = rate * (f64::from(k) - x);
        sum += y.powi(k as i32) / (1..=k).map(f64::from).product::<f64>() * (-y).exp();
    }
    (1.0 - rate) * sum
}

#[test]
fn fcfs_is_erlangs_for_a_constant_service() {
    for rate in [0.2, 0.5, 0.8] {
        let law = mg1_fcfs::response_time_law_of_moments(rate, &Moments::constant(1.0)).unwrap();
        for t in [1.3, 1.7, 2.2, 2.5, 3.4, 5.2, 7.7] {
            let known = 1.0 - erlang_wait(t - 1.0, rate);
            assert!((law.at(t) - known).abs() < 2e-3 * known + 2e-5, "{rate}, {t}: {} is not {known}", law.at(t));
        }
        assert_eq!(law.at(0.5), 1.0);
    }
}

#[test]
fn fcfs_is_exponential_for_an_exponential_service() {
    for (rate, mean) in [(0.3, 1.0), (0.9, 1.0), (50.0, 0.016)] {
        for service in [Moments::exponential(mean), Moments::general(mean, 1.0)] {
            let law = mg1_fcfs::response_time_law_of_moments(rate, &service).unwrap();
            let response = mm1::response_time_mean(rate, mean);
            for p in [0.5, 0.1, 0.01, 0.001] {
                agree(law.at(-response * f64::ln(p)), p, 3e-3);
            }
        }
    }
}

#[test]
fn ps_has_its_atom_and_its_mean() {
    for rate in [0.1, 0.5, 0.9] {
        agree(1.0 - md1_ps::response_time_tail(1.0, rate, 1.0), (1.0 - rate) * f64::exp(-rate), 1e-9);
        // The mean is the integral of the tail: Simpson's rule beyond the service.
        let (mut sum, steps, step) = (0.0, 20_000, 0.01);
        for k in 0..=steps {
            let weight = if k == 0 || k == steps { 1.0 } else { 2.0 + 2.0 * f64::from(k % 2) };
            sum += weight * md1_ps::response_time_tail(1.0 + 1e-6 + f64::from(k) * step, rate, 1.0);
        }
        agree(1.0 + sum * step / 3.0, 1.0 / (1.0 - rate), 1e-4);
    }
}

/// A percentile at a time that many jobs take is that time, and not a hair less.
#[test]
fn a_percentile_at_an_atom_is_the_atom_to_the_last_digit() {
    let p50 = |queue: &str, service: &str, rate: f64| {
        let answer = answered(queue, service, rate);
        answer.measures.iter().find(|measure| measure.metric == "response_time_p50").unwrap().estimate.value()
    };
    for (queue, service, rate, atom) in [
        ("M/D/1", "1 s", 0.5, 1.0),
        ("M/D/1", "1 s", 0.3, 1.0),
        ("M/D/1", "30 ms", 10.0, 0.03),
        ("M/D/1-PS", "1 s", 0.2, 1.0),
        ("M/D/1-LPS(4)", "1 s", 0.2, 1.0),
    ] {
        assert_eq!(p50(queue, service, rate), Some(atom), "{queue} at {rate}");
    }
    assert!(p50("M/D/1", "1 s", 0.51).unwrap() > 1.0 + 1e-6, "fewer than half do not wait");
}

fn simulated(discipline: &str, service: &str, rate: f64) -> sojourn_sim::Report {
    let server = Server::from_toml(&format!("discipline = {discipline}\ndemand = \"{service}\"")).unwrap();
    let workload = Workload::Open(Open {
        arrivals: Arrivals::of(Law::exponential(1.0 / rate)),
        clients: 1,
        sizes: Sizes::Law(Law::constant(0.0)),
        patience: None,
    });
    let control = Control {
        precision: Some(Precision { relative: 0.01, confidence: 0.95 }),
        max_jobs: 4_000_000,
        ..Control::default()
    };
    sojourn_sim::run(&sojourn_model::System::single(server), &workload, &control, &|_| {}).unwrap()
}

fn answered(queue: &str, service: &str, rate: f64) -> Answer {
    let gaps = Law::parse(&format!("exponential(rate = {rate} /s)"), Dimension::Time).unwrap();
    let service = Law::parse(service, Dimension::Time).unwrap();
    Queue::parse(queue).unwrap().answer(&gaps, &service).unwrap()
}

/// Simulated to about 1 % with intervals of 95 %: an exact quantile that is 4 % off is wrong, with a chance of a false
/// alarm below 1e-6 each (8 half-widths); an approximate one may be off by what it says.
#[test]
fn quantiles_agree_with_the_simulator() {
    let cases = [
        ("M/D/1-FCFS", "\"fcfs\"", "1 s", 0.7, 0.0),
        ("M/D/1-PS", "\"ps\"", "1 s", 0.7, 0.0),
        ("M/D/1-PS", "\"ps\"", "1 s", 0.4, 0.0),
        ("M/E3/1-FCFS", "\"fcfs\"", "erlang(k = 3, mean = 1 s)", 0.6, 0.0),
        ("M/D/1-LPS(4)", "\"limited-ps\"\nhelpers = 4", "1 s", 0.7, 0.08),
        ("M/D/1-LPS(16)", "\"limited-ps\"\nhelpers = 16", "1 s", 0.7, 0.08),
        ("M/D/1-LPS(2)", "\"limited-ps\"\nhelpers = 2", "1 s", 0.5, 0.08),
    ];
    for (queue, discipline, service, rate, stated) in cases {
        let (theory, sim) = (answered(queue, service, rate), simulated(discipline, service, rate));
        for metric in ["response_time_mean", "response_time_p50", "response_time_p90", "response_time_p95"] {
            let by_theory = theory.estimate(metric).and_then(|e| e.value());
            let by_theory = by_theory.unwrap_or_else(|| panic!("{queue}: no {metric}"));
            let by_sim = sim.measures.iter().find(|m| m.metric == metric).and_then(|m| m.estimate.value()).unwrap();
            let error = by_theory / by_sim - 1.0;
            assert!(error.abs() < 0.04 + stated, "{queue} {metric}: {by_theory} against {by_sim}");
        }
    }
}

/// Those who find M/D/1 empty take exactly the service: half of them at a utilisation of one half.
#[test]
fn a_percentile_at_an_atom_is_the_atom() {
    let quantile =
        |law: &mg1_fcfs::Tail, p: f64| sojourn_stats::root::find_above(0.0, 1.0, 0.0, |t| 1.0 - p - law.at(t)).unwrap();
    for (queue, rate) in [("M/D/1", 0.5), ("M/D/1-PS", 0.1), ("M/D/1-LCFS-PR", 0.3), ("M/D/1", 0.2)] {
        let p50 = answered(queue, "1 s", rate).value("response_time_p50").unwrap();
        assert!((p50 - 1.0).abs() < 1e-9, "{queue} at {rate}: {p50}");
    }
    // Of two services, 1 s and 3 s, four in ten are short ones that do not wait, at a utilisation of 0.2.
    let service = Law::parse("mix(0.5: constant(1 s), 0.5: constant(3 s))", Dimension::Time).unwrap();
    let law = mg1_fcfs::response_time_law(0.1, &service).unwrap();
    assert!((quantile(&law, 0.39) - 1.0).abs() < 1e-9, "{}", quantile(&law, 0.39));
    assert!(quantile(&law, 0.41) > 1.01);
    agree(1.0 - law.at(1.0), 0.4, 1e-3);
    // Just before and just after the long ones: a jump of four tenths.
    agree(law.at(2.999) - law.at(3.0), 0.4, 5e-3);
}

//! Response time laws by inversion, to the digits of an independent computation.

use sojourn_theory::formula::markovian::mmc;
use sojourn_theory::formula::order::mg1_order::{self, Order};
use sojourn_theory::formula::order::mmc_order::MarkovianOrder;
use sojourn_theory::formula::sharing::mg1_ps;
use sojourn_theory::formula::sharing::mmc_lps::MarkovianSharing;
use sojourn_theory::formula::sharing::phase_ps::PhaseSharing;

use crate::naive::law;
use crate::{agree, printed};

const PROBABILITIES: [f64; 4] = [0.5, 0.95, 0.99, 0.999];

#[test]
fn limited_ps_at_utilisation_eight_tenths() {
    // Exact chain of the tagged job (uniformisation), p50, p95, p99, p99.9; the mean is 5 for all.
    for (places, quantiles) in [
        (Some(1), ["3.4657", "14.979", "23.026", "34.539"]),
        (Some(5), ["2.8343", "17.026", "26.575", "39.664"]),
        (Some(10), ["2.4568", "18.683", "32.523", "52.980"]),
        (None, ["2.3517", "18.748", "36.941", "71.248"]),
    ] {
        let law = MarkovianSharing::new(1, places, 0.8, 1.0).unwrap();
        for (p, wanted) in PROBABILITIES.into_iter().zip(quantiles) {
            printed(law.quantile(p), wanted);
        }
    }
}

#[test]
fn ps_at_other_utilisations() {
    for (rho, quantiles) in
        [(0.5, ["1.1320", "6.8637", "12.4455", "22.2018"]), (0.9, ["4.3361", "38.688", "78.333", "155.17"])]
    {
        let law = MarkovianSharing::new(1, None, rho, 1.0).unwrap();
        for (p, wanted) in PROBABILITIES.into_iter().zip(quantiles) {
            printed(law.quantile(p), wanted);
        }
    }
}

/// Of t from 0 to 120, by Simpson's rule.
fn integral(of: &dyn Fn(f64) -> f64) -> f64 {
    simpson(12_000, 0.01, of)
}

fn simpson(steps: u32, width: f64, of: &dyn Fn(f64) -> f64) -> f64 {
    let weight = |k: u32| if k == 0 || k == steps { 1.0 } else { 2.0 + 2.0 * f64::from(k % 2) };
    (0..=steps).map(|k| weight(k) * of(f64::from(k) * width)).sum::<f64>() * width / 3.0
}

#[test]
fn moments_under_the_tail_and_the_ends() {
    for (cores, places, rate) in [(1, None, 0.6), (1, Some(4), 0.6), (3, None, 2.0), (3, Some(5), 2.0)] {
        let law = MarkovianSharing::new(cores, places, rate, 1.0).unwrap();
        // The mean under any sharing is that of M/M/c.
        let mean = mmc::response_time_mean(cores, rate, 1.0);
        agree(integral(&|t| law.tail(t)), mean, 1e-5);
        if cores == 1 && places.is_none() {
            let variance = mg1_ps::exponential_response_time_variance(rate, 1.0);
            agree(integral(&|t| 2.0 * t * law.tail(t)) - mean * mean, variance, 1e-3);
        }
    }
    // As many places as cores is FCFS.
    for (cores, rate) in [(1, 0.9), (4, 3.0), (30, 24.0)] {
        let law = MarkovianSharing::new(cores, Some(cores), rate, 1.0).unwrap();
        for t in [0.1, 1.0, 3.0, 7.0] {
            let known = mmc::response_time_tail(t, cores, rate, 1.0);
            assert!((law.tail(t) - known).abs() < 1e-7, "{cores} at {t}: {} is not {known}", law.tail(t));
        }
    }
    assert!(
        MarkovianSharing::new(1, None, 1.0, 1.0).is_none() && MarkovianSharing::new(1, None, 0.9999, 1.0).is_none()
    );
    assert_eq!(MarkovianSharing::new(2, None, 0.5, 1.0).unwrap().tail(0.0), 1.0);
}

/// Against the closed form in order, and under the tail against the means and the second moments that are known
/// otherwise.
#[test]
fn who_waits_is_served_in_order_last_or_at_random() {
    for (cores, rate) in [(1, 0.9), (4, 3.0), (30, 24.0)] {
        let law = MarkovianOrder::new(Order::Fcfs, cores, rate, 1.0).unwrap();
        for t in [0.1, 1.0, 3.0, 7.0] {
            let known = mmc::response_time_tail(t, cores, rate, 1.0);
            assert!((law.tail(t) - known).abs() < 1e-7, "{cores} at {t}: {} is not {known}", law.tail(t));
        }
    }
    for next in [Order::Lcfs, Order::Siro] {
        for (cores, rate) in [(1, 0.3), (3, 1.0)] {
            let law = MarkovianOrder::new(next, cores, rate, 1.0).unwrap();
            let mean = mmc::response_time_mean(cores, rate, 1.0);
            agree(integral(&|t| law.tail(t)), mean, 1e-5);
            if cores == 1 {
                let second =
                    mg1_order::waiting_time_second_moment(next, rate, [1.0, 2.0, 6.0]) + 2.0 * (mean - 1.0) + 2.0;
                agree(integral(&|t| 2.0 * t * law.tail(t)), second, 1e-3);
            }
        }
        assert!(MarkovianOrder::new(next, 2, 2.0, 1.0).is_none());
        assert_eq!(MarkovianOrder::new(next, 2, 1.0, 1.0).unwrap().tail(0.0), 1.0);
    }
    assert!(MarkovianOrder::new(Order::Siro, 1, 0.9999, 1.0).is_none());
}

/// Of exponential services the law is the one that is known otherwise; of others the area under it is the mean, and the
/// second moment that of Yashkov and Ott.
#[test]
fn ps_of_services_in_stages() {
    let shared = PhaseSharing::new(0.8, &law("exponential(mean = 1 s)")).unwrap();
    let known = MarkovianSharing::new(1, None, 0.8, 1.0).unwrap();
    for t in [0.01, 0.3, 2.0, 20.0, 70.0, 1e4] {
        assert!((shared.tail(t) - known.tail(t)).abs() < 1e-7, "at {t}: {} is not {}", shared.tail(t), known.tail(t));
    }
    for service in [
        "erlang(k = 3, mean = 1 s)",
        "erlang(k = 12, mean = 1 s)",
        "hyperexponential(mean = 1 s, cv = 1.2)",
        // Two branches with a pole in common.
        "mix(0.5: exponential(mean = 0.5 s), 0.5: erlang(k = 3, mean = 1.5 s))",
    ] {
        let (service, rate) = (law(service), 0.3);
        let shared = PhaseSharing::new(rate, &service).unwrap();
        let mean = mg1_ps::response_time_mean(rate, 1.0);
        agree(simpson(400, 0.1, &|t| shared.tail(t)), mean, 1e-4);
        let variance = mg1_ps::response_time_variance(rate, &service).unwrap();
        agree(simpson(400, 0.1, &|t| 2.0 * t * shared.tail(t)) - mean * mean, variance, 2e-3);
    }
    assert!(PhaseSharing::new(1.0, &law("exponential(mean = 1 s)")).is_none());
    assert!(PhaseSharing::new(0.5, &law("erlang(k = 32, mean = 1 s)")).is_none());
    assert!(PhaseSharing::new(0.5, &law("lognormal(mean = 1 s, cv = 1)")).is_none());
}

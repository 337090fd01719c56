//! M/G/1 under FCFS and PS.

use sojourn_stats::{Dimension, Law};
use sojourn_theory::formula::general::mg1;
use sojourn_theory::formula::general::relaxation::relaxation_time_s;
use sojourn_theory::formula::markovian::{mm1, mmck};
use sojourn_theory::formula::sharing::mg1_ps;

use crate::{agree, printed};

#[test]
fn pollaczek_khinchine_at_utilisation_eight_tenths() {
    for (scv, wait) in [(0.0, "2"), (0.5, "3"), (1.0, "4"), (4.0, "10"), (10.0, "22")] {
        printed(mg1::waiting_time_mean(0.8, 1.0, scv), wait);
    }
    // Bounded Pareto, alpha 1.1, p/k = 10^4: C2 109.97, wait 221.94 means.
    printed(mg1::waiting_time_mean(0.8, 1.0, 109.97), "221.94");
    assert_eq!(mg1::waiting_time_mean(0.8, 1.0, f64::INFINITY), f64::INFINITY);
    assert_eq!(mg1::waiting_time_mean(1.0, 1.0, 1.0), f64::INFINITY);
    // Any unit of time.
    agree(mg1::response_time_mean(800.0, 0.001, 4.0), 0.011, 1e-12);
}

#[test]
fn processor_sharing() {
    for rho in [0.5, 0.8, 0.9] {
        agree(mg1_ps::response_time_mean(rho, 1.0), mm1::response_time_mean(rho, 1.0), 1e-12);
        agree(mg1_ps::response_time_mean_of(7.0, rho, 1.0), 7.0 / (1.0 - rho), 1e-12);
    }
    for (rho, variance) in [(0.5, "6.6667"), (0.8, "58.3333"), (0.9, "263.636")] {
        printed(mg1_ps::exponential_response_time_variance(rho, 1.0), variance);
    }
    assert_eq!(mg1_ps::response_time_mean(1.2, 1.0), f64::INFINITY);
    // Of any law, on a grid.
    for rho in [0.5, 0.8, 0.9] {
        let on_grid = mg1_ps::response_time_variance(rho, &Law::exponential(1.0)).unwrap();
        agree(on_grid, mg1_ps::exponential_response_time_variance(rho, 1.0), 1e-3);
    }
    let endless = Law::parse("pareto(alpha = 1.5, mean = 1 s)", Dimension::Time).unwrap();
    assert_eq!(mg1_ps::response_time_variance(0.5, &endless), None);
}

#[test]
fn a_shared_server_with_room_for_k() {
    // M/G/1/K-PS (Cao, Andersson, Nyberg and Kihl, ICT 2003): rho = .8, K = 10.
    let solved = mmck::solve(1, 10, 10, 0.8, 1.0);
    printed(solved.loss, ".02349286");
    printed(solved.response_time_mean_s, "3.797098");
    let closed_form = |n: i32| 0.2 * 0.8f64.powi(n) / (1.0 - 0.8f64.powi(11));
    for (n, p) in mmck::number_probabilities(1, 10, 0.8).into_iter().enumerate() {
        agree(p, closed_form(n as i32), 1e-12);
    }
}

/// M/M/1 relaxes in 1 / (mu (1 - sqrt rho)^2) exactly: Cohen, The Single Server Queue (1982), section II.2. The formula is
/// never shorter.
#[test]
fn the_relaxation_time_of_a_busy_queue_is_the_exact_one() {
    for (utilization, within) in [(0.5f64, 1.4), (0.9, 1.06), (0.99, 1.006), (0.9999, 1.0001)] {
        let exact = (1.0 - utilization.sqrt()).powi(-2);
        let ratio = relaxation_time_s(1.0, 1.0, 1.0, 1, utilization) / exact;
        assert!((1.0..within).contains(&ratio), "{utilization}: {ratio}");
    }
    assert_eq!(relaxation_time_s(1.0, 1.0, 1.0, 1, 1.0), f64::INFINITY);
}

//! Erlang B and C, and M/M/c with its percentiles.

use sojourn_theory::formula::markovian::{mm1, mmc};

use crate::{agree, printed};

#[test]
fn erlang_b_and_c_are_the_tables() {
    // Offered load, servers, B, C: to the printed digits, from the closed form.
    for (offered, servers, b, c) in [
        (2.0, 3, ".210526", ".444444"),
        (8.0, 10, ".121661", ".409180"),
        (9.0, 10, ".167963", ".668732"),
        (18.0, 20, ".109213", ".550769"),
        (45.0, 50, ".054104", ".363864"),
        (90.0, 100, ".026957", ".216940"),
        (900.0, 1000, ".000059", ".000593"),
    ] {
        printed(mmc::erlang_b(offered, servers), b);
        printed(mmc::erlang_c(offered, servers), c);
    }
    for (offered, servers, b) in [(1.0, 1, ".5"), (5.0, 5, ".284868"), (10.0, 10, ".214582")] {
        printed(mmc::erlang_b(offered, servers), b);
        assert_eq!(mmc::erlang_c(offered, servers), 1.0);
    }
    // Far beyond where a^c/c! overflows.
    assert!((0.0..1e-2).contains(&mmc::erlang_b(100_000.0, 101_000)));
}

#[test]
fn mmc_means() {
    // M/M/3, lambda = 2, mu = 1 (queuecomputer, Ebert et al., J. Statistical Software 95(5), 2020: 0.445, 2.89).
    printed(mmc::waiting_time_mean(3, 2.0, 1.0), "0.4444");
    printed(mmc::number_mean(3, 2.0, 1.0), "2.8889");
    // GNU Octave, package queueing 1.2, tests of qsmmm: lambda = 9, mu = 5.
    let queue = |servers| 9.0 * mmc::waiting_time_mean(servers, 9.0, 0.2);
    let response = |servers| mmc::response_time_mean(servers, 9.0, 0.2);
    printed(queue(2), "7.674");
    printed(response(2), "1.053");
    printed(queue(4), ".105");
    printed(response(4), ".212");
    for rho in [0.1, 0.5, 0.9, 0.999] {
        agree(mmc::response_time_mean(1, rho, 1.0), mm1::response_time_mean(rho, 1.0), 1e-12);
        agree(mmc::waiting_time_mean(1, rho, 1.0), mm1::waiting_time_mean(rho, 1.0), 1e-12);
    }
    assert_eq!(mmc::waiting_time_mean(2, 2.0, 1.0), f64::INFINITY);
}

#[test]
fn mmc_response_percentiles_at_utilisation_nine_tenths() {
    for (servers, quantiles) in [
        (1, ["6.9315", "29.957", "46.052", "69.078"]),
        (2, ["3.7692", "15.297", "23.344", "34.857"]),
        (10, ["1.3291", "4.3609", "6.2499", "8.8411"]),
        (50, [".77647", "3.0828", "4.6922", "6.9948"]),
    ] {
        let rate = 0.9 * f64::from(servers);
        for (p, wanted) in [0.5, 0.95, 0.99, 0.999].into_iter().zip(quantiles) {
            printed(mmc::response_time_quantile(p, servers, rate, 1.0), wanted);
            if servers == 1 {
                printed(mm1::response_time_quantile(p, rate, 1.0), wanted);
            }
        }
    }
}

#[test]
fn the_tail_has_the_mean_under_it_and_no_gap_where_the_rates_meet() {
    for (servers, rate) in [(1, 0.9), (2, 0.3), (2, 1.0), (2, 1.0 + 1e-9), (4, 3.0), (50, 49.9), (50, 10.0)] {
        let mean = mmc::response_time_mean(servers, rate, 1.0);
        let tail = |t| mmc::response_time_tail(t, servers, rate, 1.0);
        // Simpson over 60 means: the tail beyond is below 1e-12 of it.
        let (steps, width) = (200_000, 60.0 * mean.max(1.0) / 200_000.0);
        let weight = |i| {
            if i == 0 || i == steps {
                1.0
            } else if i % 2 == 1 {
                4.0
            } else {
                2.0
            }
        };
        let area: f64 = (0..=steps).map(|i| weight(i) * tail(f64::from(i) * width)).sum();
        agree(area * width / 3.0, mean, 1e-7);
    }
    // Very heavy traffic, where e^(mu t) overflows.
    let last = mmc::response_time_quantile(0.999, 50, 50.0 * (1.0 - 1e-9), 1.0);
    agree(last, 1000f64.ln() / (50.0 * 1e-9), 1e-4);
    printed(mmc::waiting_time_quantile(0.5, 3, 2.0, 1.0), "0");
    agree(mmc::waiting_time_quantile(0.9, 3, 2.0, 1.0), (4.0f64 / 9.0 / 0.1).ln(), 1e-12);
}

#[test]
fn mm1_number_and_waiting() {
    agree((0..2000).map(|n| mm1::number_probability(n, 0.8, 1.0)).sum(), 1.0, 1e-12);
    agree(mm1::number_mean(0.8, 1.0), 4.0, 1e-12);
    assert_eq!(mm1::waiting_time_quantile(0.1, 0.8, 1.0), 0.0);
    agree(mm1::waiting_time_quantile(0.9, 0.8, 1.0), 8f64.ln() * 5.0, 1e-12);
    assert_eq!(mm1::response_time_mean(1.0, 1.0), f64::INFINITY);
}

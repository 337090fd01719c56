//! Limited room and closed users, against published numbers and the chain itself.

use sojourn_theory::formula::markovian::{mmc, mmck, repairman};

use crate::{agree, printed};

#[test]
fn room_for_k_as_octave_has_it() {
    // GNU Octave, package queueing 1.2, tests of qsmmmk.
    printed(mmck::number_probabilities(3, 7, 40.0 / 30.0)[0], ".255037");
    printed(mmck::solve(3, 7, 3, 40.0, 1.0 / 30.0).response_time_mean_s, ".036517");
    printed(mmck::number_probabilities(4, 6, 5.0)[6], ".293543");
    let solved = mmck::solve(2, 5, 2, 3.0, 0.5);
    // Cut off after the last digit, not rounded: p0 is 0.17933450, p_K 0.08511384.
    for (got, cut_off, digits) in [
        (mmck::number_probabilities(2, 5, 1.5)[0], 0.179334, 1e6),
        (solved.loss, 0.085113, 1e6),
        (solved.number_mean, 2.00595, 1e5),
        (solved.waiting_time_mean_s, 0.230857, 1e6),
    ] {
        let cut_off: f64 = cut_off;
        assert_eq!((got * digits).floor(), (cut_off * digits).round());
    }
}

#[test]
fn room_for_as_many_as_servers_is_erlang_b_and_for_many_is_m_m_c() {
    for (offered, servers) in [(0.1, 1), (5.0, 5), (90.0, 100), (2000.0, 1000)] {
        let solved = mmck::solve(servers, servers, servers, offered, 1.0);
        agree(solved.loss, mmc::erlang_b(offered, servers), 1e-12);
        agree(solved.throughput, offered * (1.0 - solved.loss), 1e-12);
        agree(solved.response_time_mean_s, 1.0, 1e-12);
    }
    let solved = mmck::solve(3, 400, 5, 2.0, 1.0);
    agree(solved.response_time_mean_s, mmc::response_time_mean(3, 2.0, 1.0), 1e-12);
    agree(solved.waiting_time_mean_s, mmc::limited_ps_waiting_time_mean(3, 5, 2.0, 1.0), 1e-12);
}

/// The stationary law of a birth-death chain by 200,000 steps of its uniformised transition matrix.
fn by_iteration(last: usize, birth: impl Fn(usize) -> f64, death: impl Fn(usize) -> f64) -> Vec<f64> {
    let fastest = (0..=last).map(|n| birth(n) + death(n)).fold(0.0, f64::max);
    let mut p = vec![1.0 / (last + 1) as f64; last + 1];
    for _ in 0..200_000 {
        let old = p.clone();
        for n in 0..=last {
            let (up, down) = (if n == last { 0.0 } else { birth(n) }, if n == 0 { 0.0 } else { death(n) });
            let mut mass = old[n] * (1.0 - (up + down) / fastest);
            mass += if n > 0 { old[n - 1] * birth(n - 1) / fastest } else { 0.0 };
            mass += if n < last { old[n + 1] * death(n + 1) / fastest } else { 0.0 };
            p[n] = mass;
        }
    }
    p
}

#[test]
fn both_against_the_iterated_chain() {
    let busy = |n: usize| (n as f64).min(3.0);
    for rate in [0.5, 2.0, 3.0, 7.0] {
        let iterated = by_iteration(9, |_| rate, busy);
        let formula = mmck::number_probabilities(3, 9, rate);
        formula.iter().zip(&iterated).for_each(|(&formula, &chain)| agree(formula, chain, 1e-9));
    }
    for think in [0.2, 1.0, 20.0] {
        let iterated = by_iteration(12, |n| (12 - n) as f64 / think, busy);
        let number: f64 = iterated.iter().enumerate().map(|(n, p)| n as f64 * p).sum();
        let throughput: f64 = iterated.iter().enumerate().map(|(n, p)| busy(n) * p).sum();
        let solved = repairman::solve(12, think, 3, 3, 1.0);
        agree(solved.number_mean, number, 1e-9);
        agree(solved.throughput, throughput, 1e-9);
        // The response time law of closed users: R = N/X - Z.
        agree(solved.response_time_mean_s, 12.0 / throughput - think, 1e-9);
    }
}

#[test]
fn closed_users_at_the_ends() {
    let alone = repairman::solve(1, 3.0, 1, 1, 2.0);
    agree(alone.throughput, 0.2, 1e-12);
    agree(alone.response_time_mean_s, 2.0, 1e-12);
    assert_eq!(alone.waiting_time_mean_s, 0.0);
    // No think time: all users are always at the server.
    let thoughtless = repairman::solve(10, 0.0, 1, 1, 2.0);
    assert_eq!((thoughtless.throughput, thoughtless.response_time_mean_s), (0.5, 20.0));
    assert_eq!((thoughtless.waiting_time_mean_s, thoughtless.utilisation), (18.0, 1.0));
    // A saturated server: R = N S - Z.
    let saturated = repairman::solve(5000, 10.0, 1, 1, 0.01);
    agree(saturated.response_time_mean_s, 40.0, 1e-9);
}

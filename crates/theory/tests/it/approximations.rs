//! How far off the approximations of GI/G/1 and GI/G/c are, against exact chains.

use sojourn_theory::formula::general::gig1;
use sojourn_theory::formula::sharing::phase_lps::PhaseQueue;
use sojourn_theory::law::PhaseType;
use sojourn_theory::law::{Gaps, Moments};

const LAWS: [fn(f64) -> Moments; 6] = [
    |mean| Moments::erlang(8, mean),
    |mean| Moments::erlang(2, mean),
    Moments::exponential,
    |mean| Moments::hyperexponential(mean, 2.0),
    |mean| Moments::hyperexponential(mean, 4.0),
    |mean| Moments::hyperexponential(mean, 10.0),
];

/// Calls `each` with gaps, service, utilisation and the exact mean wait of every pair of laws.
fn every_pair(servers: u32, mut each: impl FnMut(&Gaps, &Moments, f64, f64)) {
    for gaps in LAWS {
        for service in LAWS {
            for rho in [0.3, 0.5, 0.7, 0.8, 0.9, 0.95] {
                let gaps = Gaps::all(gaps(1.0 / rho / f64::from(servers)));
                let service = service(1.0);
                let queue = PhaseQueue {
                    gaps: PhaseType::of(&gaps.erlang_mixture().unwrap()),
                    service: PhaseType::of(&service.law().unwrap().erlang_mixture().unwrap()),
                    cores: servers,
                    places: servers,
                    capacity: None,
                };
                let Some(exact) = queue.solve() else { continue };
                each(&gaps, &service, rho, exact.waiting_time_mean_s);
            }
        }
    }
}

/// Errors of the mean response time, as a part of it, in the groups that are told apart: the lowest and the highest.
fn extremes(errors: &[(usize, f64)]) -> Vec<(f64, f64)> {
    let groups = errors.iter().map(|(group, _)| group + 1).max().unwrap_or(0);
    let mut found = vec![(0.0f64, 0.0f64); groups];
    for &(group, error) in errors {
        found[group] = (found[group].0.min(error), found[group].1.max(error));
    }
    found
}

#[test]
fn one_server_is_as_near_as_it_says() {
    let mut errors = Vec::new();
    every_pair(1, |gaps, service, rho, exact| {
        let error = |wait: f64| (1.0 + wait) / (1.0 + exact) - 1.0;
        let found = error(gig1::kraemer_langenbach_belz(gaps, 1.0, service.scv));
        let (low, high) = gig1::single_server_error(gaps.scv(), rho);
        assert!((low..=high).contains(&found), "{gaps:?} {service:?} at {rho}: {found}");
        errors.push((usize::from(gaps.scv() > 1.0) * (1 + usize::from(rho < 0.7)), found));
        // Kingman's is a bound.
        assert!(error(gig1::kingman_bound(gaps, 1.0, service.scv)) >= -1e-9);
        if gaps.is_poisson() {
            assert!(error(gig1::marchal(gaps, 1.0, service.scv)).abs() < 1e-9);
        }
    });
    // And not much nearer.
    for ((low, high), (scv, rho)) in extremes(&errors).into_iter().zip([(1.0, 0.5), (4.0, 0.9), (4.0, 0.5)]) {
        let (stated_low, stated_high) = gig1::single_server_error(scv, rho);
        assert!(low < 0.9 * stated_low && high >= 0.9 * stated_high - 0.001, "{low} to {high}");
    }
}

#[test]
fn several_servers_are_as_near_as_they_say() {
    let mut errors = Vec::new();
    for servers in [2, 4] {
        every_pair(servers, |gaps, service, _, exact| {
            let wait = gig1::allen_cunneen(servers, gaps, 1.0, service.scv);
            errors.push((0, (1.0 + wait) / (1.0 + exact) - 1.0));
        });
    }
    let ((low, high), stated) = (extremes(&errors)[0], gig1::several_servers_error());
    assert!(low >= stated.0 && high <= stated.1, "{low} to {high}");
    assert!(low < 0.9 * stated.0 && high > 0.9 * stated.1, "{low} to {high}");
}

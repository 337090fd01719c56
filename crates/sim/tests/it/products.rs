//! Rules of products at four exponential FCFS servers, against numbers that were found without this simulator. Times in
//! units of the mean service, 1 s.

use sojourn_stats::Estimate;

use crate::support::{cluster, covers, estimate, run};

const FCFS: &str = "discipline = \"fcfs\"\ndemand = \"exponential(mean = 1 s)\"";

/// Draws of HAProxy's ring split Poisson arrivals, so that each server is M/M/1 at its own rate: the shares below are
/// the parts of 2^32 that are nearest to each server's 16 points. The mean is the sum of share / (1 - rate); with even
/// shares it would be 3.33.
#[test]
fn one_draw_on_the_ring_splits_the_arrivals_unevenly() {
    let shares = [0.289_070_695, 0.185_336_701, 0.242_661_778, 0.282_930_826];
    let mean: f64 = shares.iter().map(|share| share / (1.0 - 2.8 * share)).sum();
    assert!((mean - 4.0205).abs() < 1e-4);
    for policy in ["haproxy(2.6, random(1))", "haproxy(3.3, default)"] {
        let report = run(&cluster("exponential(rate = 2.8 /s)", policy, 4, FCFS), 8_000_000);
        covers(&report, "response_time_mean", mean, 0.05, policy);
        for (number, share) in shares.iter().enumerate() {
            covers(&report, &format!("share_{}", number + 1), *share, 0.02, policy);
        }
    }
    // The busiest server is full at a utilisation of 1 / (4 * 0.28907) = 0.8648 of all.
    assert!((1.0 / (4.0 * shares[0]) - 0.8648).abs() < 1e-4);
}

/// "Power of two" of three products: HAProxy draws on its ring, Envoy with repetition, nginx without. The means are
/// those of the jump chain of the four queues, by a program of its own (10^9 steps; their standard errors beside them).
#[test]
fn the_power_of_two_is_three_policies() {
    for (policy, rate, mean, error) in [
        ("haproxy(2.6, random(2))", 2.8, 2.0121, 0.0004),
        ("envoy(least-request)", 2.8, 1.9541, 0.0004),
        ("nginx(random two)", 2.8, 1.7985, 0.0004),
        ("haproxy(2.6, random(2))", 3.6, 4.2504, 0.0025),
        ("envoy(least-request)", 3.6, 4.0378, 0.0022),
        ("nginx(random two)", 3.6, 3.7558, 0.0026),
    ] {
        let jobs = if rate > 3.0 { 16_000_000 } else { 3_000_000 };
        let report = run(&cluster(&format!("exponential(rate = {rate} /s)"), policy, 4, FCFS), jobs);
        let Estimate::Sampled { value, ci_low, ci_high, .. } = *estimate(&report, "response_time_mean") else {
            panic!("{policy}: no interval")
        };
        let hair = 5.0 * error;
        assert!(
            ci_low - hair <= mean && mean <= ci_high + hair,
            "{policy}: {value} ({ci_low} to {ci_high}), not {mean}"
        );
        assert!(ci_high - ci_low < 0.1 * mean, "{policy}: {ci_low} to {ci_high} is too wide to tell anything");
    }
}

/// Every rule of a product that a gateway can have runs, and the books balance.
#[test]
fn every_rule_runs() {
    for bundle in sojourn_dispatch::policies::PRODUCTS.iter().flat_map(|product| product.bundles) {
        let needs_addresses = ["haproxy(2.6, source)", "nginx(ip_hash)"].contains(&bundle.text);
        let mut scenario = cluster("exponential(rate = 0.8 /s)", bundle.text, 4, FCFS);
        scenario.tier().weights = vec![1.0, 2.0, 3.0, 1.0];
        let control = crate::support::control(200_000);
        let ran = crate::support::simulate(&scenario, &control);
        match ran {
            Ok(report) => {
                assert!(!needs_addresses, "{}", bundle.text);
                let shares = (1..=4).filter_map(|k| estimate(&report, &format!("share_{k}")).value());
                let sum: f64 = shares.sum();
                assert!((sum - 1.0).abs() < 1e-9, "{}: shares sum to {sum}", bundle.text);
            }
            Err(error) => {
                assert!(needs_addresses && error.to_string().contains("(origin)"), "{}: {error}", bundle.text)
            }
        }
    }
}

//! One server against closed forms and exact solutions. Times in units of the mean service, 1 s.

use crate::support::{covers, queue, run};

/// A metric, its exact value, and the widest interval accepted (half-width over value, at confidence 1 - 1e-8).
type Exact = (&'static str, f64, f64);

/// Every row: arrivals, server, demand, and what is known.
#[test]
fn single_servers_cover_their_exact_values() {
    const FCFS: &str = "discipline = \"fcfs\"\ndemand = ";
    const PS: &str = "discipline = \"ps\"\ndemand = ";
    let cases: [(&str, &str, &str, &[Exact]); 15] = [
        // M/M/1: T = 1/(mu - lambda), exponential; waiting rho T; p-quantile -ln(1 - p) T.
        (
            "exponential(rate = 0.8 /s)",
            FCFS,
            "exponential(mean = 1 s)",
            &[
                ("response_time_mean", 5.0, 0.05),
                ("response_time_p50", 5.0 * std::f64::consts::LN_2, 0.05),
                ("response_time_p90", 5.0 * std::f64::consts::LN_10, 0.06),
                ("response_time_p99", 10.0 * std::f64::consts::LN_10, 0.15),
                ("waiting_time_mean", 4.0, 0.06),
                ("service_time_mean", 1.0, 0.01),
                ("throughput", 0.8, 0.01),
                ("utilization", 0.8, 0.01),
            ],
        ),
        ("exponential(rate = 0.5 /s)", FCFS, "exponential(mean = 1 s)", &[("response_time_mean", 2.0, 0.02)]),
        ("exponential(rate = 0.9 /s)", FCFS, "exponential(mean = 1 s)", &[("response_time_mean", 10.0, 0.2)]),
        // M/M/c: Erlang's C(a, c) as in Kleinrock 1975, vol. 1, section 3.5: W = C/(c mu - lambda); C(2, 3) = 0.444444.
        (
            "exponential(rate = 2 /s)",
            "cores = 3\ndiscipline = \"fcfs\"\ndemand = ",
            "exponential(mean = 1 s)",
            &[
                ("response_time_mean", 1.444_444, 0.02),
                ("waiting_time_mean", 0.444_444, 0.1),
                ("utilization", 2.0 / 3.0, 0.01),
            ],
        ),
        // C(8, 10) = 0.409180, W = C/2.
        (
            "exponential(rate = 8 /s)",
            "cores = 10\ndiscipline = \"fcfs\"\ndemand = ",
            "exponential(mean = 1 s)",
            &[("response_time_mean", 1.204_590, 0.02)],
        ),
        // M/G/1 by Pollaczek and Khinchine: W = rho/(1 - rho) (1 + C2)/2.
        ("exponential(rate = 0.8 /s)", FCFS, "constant(1 s)", &[("waiting_time_mean", 2.0, 0.05)]),
        ("exponential(rate = 0.8 /s)", FCFS, "erlang(k = 2, mean = 1 s)", &[("waiting_time_mean", 3.0, 0.06)]),
        (
            "exponential(rate = 0.8 /s)",
            FCFS,
            "hyperexponential(mean = 1 s, cv = 2)",
            &[("waiting_time_mean", 10.0, 0.25)],
        ),
        // M/G/1-PS is insensitive: T = 1/(1 - rho) for every law (Kleinrock 1976, vol. 2, section 4.4).
        ("exponential(rate = 0.8 /s)", PS, "constant(1 s)", &[("response_time_mean", 5.0, 0.05)]),
        ("exponential(rate = 0.8 /s)", PS, "erlang(k = 2, mean = 1 s)", &[("response_time_mean", 5.0, 0.05)]),
        (
            "exponential(rate = 0.8 /s)",
            PS,
            "exponential(mean = 1 s)",
            // Percentiles: Coffman, Muntz and Trotter 1970, evaluated numerically.
            &[
                ("response_time_mean", 5.0, 0.05),
                ("response_time_p50", 2.3517, 0.05),
                ("response_time_p99", 36.941, 0.2),
            ],
        ),
        (
            "exponential(rate = 0.8 /s)",
            PS,
            "hyperexponential(mean = 1 s, cv = 2)",
            &[("response_time_mean", 5.0, 0.15), ("waiting_time_mean", 0.0, 0.0)],
        ),
        (
            "exponential(rate = 0.5 /s)",
            PS,
            "bounded-pareto(alpha = 1.5, min = 1 s, max = 10000 s, mean = 1 s)",
            &[("response_time_mean", 2.0, 0.15)],
        ),
        // H2/M/1 (balanced means), C2 of the gaps 4, rho 0.5: root of the embedded chain, W = 2.162278.
        (
            "hyperexponential(rate = 0.5 /s, cv = 2)",
            FCFS,
            "exponential(mean = 1 s)",
            &[("waiting_time_mean", 2.162_278, 0.15)],
        ),
        // D/M/1, rho 0.8: W = 1.692731.
        ("constant(1.25 s)", FCFS, "exponential(mean = 1 s)", &[("waiting_time_mean", 1.692_731, 0.05)]),
    ];
    for (arrivals, server, demand, exact) in cases {
        let scenario = queue(arrivals, &format!("{server}\"{demand}\""));
        let report = run(&scenario, 6_000_000);
        for (metric, value, relative) in exact {
            covers(&report, metric, *value, *relative, &format!("{arrivals}, {server}{demand}"));
        }
    }
}

/// Limited PS with K helpers: M/H2/1-LPS(K), demand of C2 = 4 with balanced means, solved exactly as a
/// quasi-birth-death process (QBD).
#[test]
fn limited_sharing_covers_the_exact_solution() {
    let table = [
        (0.5, 1, 3.5),
        (0.5, 2, 2.662_087),
        (0.5, 4, 2.138_240),
        (0.5, 8, 2.006_753),
        (0.8, 1, 11.0),
        (0.8, 2, 9.717_269),
        (0.8, 4, 7.927_163),
        (0.8, 8, 6.135_297),
        (0.8, 16, 5.173_693),
    ];
    for (rho, helpers, mean_s) in table {
        let server = format!(
            "discipline = \"limited-ps\"\nhelpers = {helpers}\ndemand = \"hyperexponential(mean = 1 s, cv = 2)\""
        );
        let report = run(&queue(&format!("exponential(rate = {rho} /s)"), &server), 4_000_000);
        covers(&report, "response_time_mean", mean_s, 0.25, &format!("LPS({helpers}) at {rho}"));
    }
}

/// M/M/1-LPS(K) has the mean of M/M/1 for every K, but other percentiles: rho 0.8, K = 5, solved numerically.
#[test]
fn limited_sharing_covers_exact_percentiles() {
    let server = "discipline = \"limited-ps\"\nhelpers = 5\ndemand = \"exponential(mean = 1 s)\"";
    let report = run(&queue("exponential(rate = 0.8 /s)", server), 6_000_000);
    covers(&report, "response_time_mean", 5.0, 0.05, "M/M/1-LPS(5)");
    for (metric, exact) in [
        ("response_time_p50", 2.8343),
        ("response_time_p95", 17.026),
        ("response_time_p99", 26.575),
        ("response_time_p99.9", 39.664),
    ] {
        covers(&report, metric, exact, 0.15, "M/M/1-LPS(5)");
    }
}

/// A core of twice the speed is a demand of half the size.
#[test]
fn speed_divides_the_demand() {
    let fast = "discipline = \"fcfs\"\nspeed = 2\ndemand = \"exponential(mean = 1 s)\"";
    let report = run(&queue("exponential(rate = 1 /s)", fast), 2_000_000);
    covers(&report, "response_time_mean", 1.0, 0.05, "M/M/1 at speed 2");
    covers(&report, "service_time_mean", 0.5, 0.01, "M/M/1 at speed 2");
    covers(&report, "utilization", 0.5, 0.03, "M/M/1 at speed 2");
}

/// A delay curve is a server for itself too: no job waits for another, so that a constant curve is an infinite server
/// (M/D/oo: every job takes as long as the curve says), and one that grows follows the number inside.
#[test]
fn a_delay_curve_keeps_everybody_as_long_as_it_says() {
    let constant = "discipline = \"delay-curve\"\n[[delay]]\nup_to = 1\nseconds = [0.25]";
    let report = run(&queue("exponential(rate = 20 /s)", constant), 100_000);
    covers(&report, "response_time_mean", 0.25, 1e-9, "M/D/oo");
    covers(&report, "waiting_time_mean", 0.0, 0.0, "M/D/oo");
    // A job is inside but for a share exp(-5) of the time.
    covers(&report, "utilization", 1.0 - (-5.0f64).exp(), 0.01, "M/D/oo");
    // 0.1 s more for each of two who are inside: 1 alone, 2 together.
    let grows = "discipline = \"delay-curve\"\n[[delay]]\nup_to = 9\nseconds = [0, 0.1]";
    let report = run(&queue("constant(150 ms)", grows), 20_000);
    // Arrivals at 0, 0.15, ...: each finds the one before gone after 0.1 s, if that was alone.
    covers(&report, "response_time_mean", 0.1, 1e-9, "D/D");
}

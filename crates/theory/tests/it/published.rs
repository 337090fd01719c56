//! What Bjornstad (2006) and Fujita (2000) computed, and balancers.

use sojourn_model::network::Network;
use sojourn_sim::{Control, Precision, run_network};
use sojourn_stats::Estimate;
use sojourn_theory::formula::balancing::{self, Bounds};
use sojourn_theory::formula::general::{ekm1, gig1, mg1};
use sojourn_theory::formula::markovian::mmc;
use sojourn_theory::formula::sharing::fujita::{self, Work};
use sojourn_theory::formula::sharing::{lps, mg1_ps};
use sojourn_theory::law::{Gaps, Moments};
use sojourn_theory::network;

use crate::chain::Chain;
use crate::{agree, printed};

/// Bjornstad's equation 4.25: E[S] and the heavy-traffic wait, here Allen and Cunneen's for one server.
fn equation_4_25(utilisation: f64, service_s: f64, gaps_scv: f64, service_scv: f64) -> f64 {
    let gaps = Gaps::all(Moments::general(service_s / utilisation, gaps_scv));
    service_s + gig1::allen_cunneen(1, &gaps, service_s, service_scv)
}

#[test]
fn bjornstads_table_7_2() {
    // Rows: gaps; columns: service; exponential, then Pareto of index 2.01, 2.2, 2.4, 2.6 with C2 = 1/(a (a-2)).
    let scv = [1.0, 2.01, 2.2, 2.4, 2.6].map(|a: f64| if a == 1.0 { 1.0 } else { 1.0 / (a * (a - 2.0)) });
    let table = [
        ["1.80", "43.48", "2.89", "1.84", "1.49"],
        ["43.48", "85.16", "44.57", "43.52", "43.18"],
        ["2.89", "44.57", "3.98", "2.92", "2.58"],
        ["1.84", "43.52", "2.92", "1.87", "1.53"],
        ["1.49", "43.18", "2.58", "1.53", "1.19"],
    ];
    for (row, gaps) in table.iter().zip(scv) {
        for (cell, service) in row.iter().zip(scv) {
            printed(equation_4_25(0.95, 0.09, gaps, service), cell);
        }
    }
}

#[test]
fn bjornstads_table_7_7() {
    // Generated mean and standard deviation (his Table 7.5) of gaps (s) and service (iterations), then utilisation and
    // the printed response time of each cell. The inputs are printed to two or three digits: within 2 %.
    let gaps = [(0.0946, 0.0941), (0.0942, 0.197), (0.0943, 0.132), (0.0943, 0.0961), (0.0944, 0.0757)];
    let service = [(48046.0, 48520.0), (48060.0, 77362.0), (48032.0, 58000.0), (48008.0, 45661.0), (47991.0, 37636.0)];
    let printed = [
        [(0.950, 1.78), (0.950, 3.11), (0.949, 2.14), (0.949, 1.66), (0.949, 1.41)],
        [(0.954, 5.09), (0.955, 6.58), (0.954, 5.45), (0.953, 4.90), (0.953, 4.60)],
        [(0.953, 2.78), (0.953, 4.21), (0.953, 3.15), (0.952, 2.63), (0.952, 2.35)],
        [(0.952, 1.91), (0.952, 3.31), (0.952, 2.28), (0.951, 1.78), (0.951, 1.52)],
        [(0.951, 1.53), (0.952, 2.91), (0.951, 1.90), (0.951, 1.41), (0.950, 1.16)],
    ];
    for (row, (gap_mean, gap_std)) in printed.iter().zip(gaps) {
        for ((utilisation, response), (iterations, iterations_std)) in row.iter().zip(service) {
            // His calibration: seconds for so many turns of an empty loop.
            let service_s: f64 = 1.8588e-6 * iterations + 9.9379e-4;
            let service_scv = f64::powi(1.8588e-6 * iterations_std / service_s, 2);
            let gaps_scv = f64::powi(gap_std / gap_mean, 2);
            agree(equation_4_25(*utilisation, service_s, gaps_scv, service_scv), *response, 0.02);
        }
    }
}

#[test]
fn fujitas_equations() {
    // Work and second moment as printed: 25.68 ms, 844.7 ms^2. Waits and slopes by equation 2.1.
    let (mean, second) = (25.68, 844.7);
    let rhos = [0.2, 0.4, 0.6, 0.8, 0.9];
    let waits =
        |helpers: u32| rhos.map(|rho| fujita::response_time_mean_of(0.0, Some(helpers), rho / mean, mean, second));
    let slopes = |helpers: u32| {
        rhos.map(|rho| {
            let of = |x| fujita::response_time_mean_of(x, Some(helpers), rho / mean, mean, second);
            of(1.0) - of(0.0)
        })
    };
    let same =
        |got: [f64; 5], wanted: [&str; 5]| got.into_iter().zip(wanted).for_each(|(got, wanted)| printed(got, wanted));
    same(waits(1), ["4.1117", "10.9644", "24.6700", "65.7866", "148.0199"]);
    same(waits(4), ["0.0329", "0.7017", "5.3287", "33.6827", "107.9065"]);
    same(slopes(4), ["1.2480", "1.6240", "2.1760", "2.9520", "3.4390"]);
    same(waits(16), ["0.0000", "0.0000", "0.0116", "2.3147", "30.4760"]);
    same(slopes(16), ["1.2500", "1.6667", "2.4993", "4.8593", "8.1470"]);
    for rho in rhos {
        let (rate, scv) = (rho / mean, second / (mean * mean) - 1.0);
        // 2.2 is the two-moment form, 2.3 Pollaczek-Khinchine, 2.4 PS.
        for helpers in [1, 4, 16] {
            let form = lps::response_time_mean(Some(helpers), rate, mean, scv);
            agree(fujita::response_time_mean(Some(helpers), rate, mean, second), form, 1e-12);
        }
        let wait = mg1::waiting_time_mean(rate, mean, scv);
        agree(fujita::response_time_mean_of(7.0, Some(1), rate, mean, second), wait + 7.0, 1e-12);
        agree(fujita::response_time_mean_of(7.0, None, rate, mean, second), 7.0 / (1.0 - rho), 1e-12);
        // To the break-even work both are the same.
        let even = fujita::break_even_size(mean, second);
        let first = fujita::response_time_mean_of(even, Some(1), rate, mean, second);
        agree(first, fujita::response_time_mean_of(even, None, rate, mean, second), 1e-12);
    }
    assert_eq!(fujita::response_time_mean(Some(4), 0.05, mean, second), f64::INFINITY);
}

#[test]
fn fujitas_work() {
    // a = 0.0004851 ms/B, b = 21.55 ms, sizes lognormal(7.811, 1.573). He prints 25.68 ms and 844.7 ms^2; his own
    // parameters give 0.06 % less for the second.
    let sizes =
        sojourn_stats::Law::parse("lognormal(mu = 7.811, sigma = 1.573, unit = B)", sojourn_stats::Dimension::Size);
    let exponential = sojourn_stats::Law::exponential(8502.9);
    let work = Work { per_byte_s: 0.0004851e-3, fixed_s: 21.55e-3, sizes: sizes.unwrap() };
    // Exponential sizes: 676.5 ms^2, as much too high.
    let of_exponential = Work { sizes: exponential, ..work.clone() };
    printed(of_exponential.second_moment_s2() * 1e6, "676.21");
    agree(of_exponential.second_moment_s2() * 1e6, 676.5, 1e-3);
    printed(work.mean_s() * 1e3, "25.675");
    printed(work.second_moment_s2() * 1e6, "844.20");
    agree(work.mean_s() * 1e3, 25.68, 3e-4);
    agree(work.second_moment_s2() * 1e6, 844.7, 1e-3);
    printed(work.of(50_000.0) * 1e3, "45.8");
    printed(work.of(500_000.0) * 1e3, "264.1");
    // Equation 2.6: half of the documents are below e^7.811 bytes.
    agree(work.cdf(work.of(7.811f64.exp())), 0.5, 1e-9);
    assert_eq!(work.cdf(21e-3), 0.0);
}

/// His simulation again: requests that wait for one of the helpers, which share; response times by document size.
#[test]
fn fujitas_equation_2_1_is_near_simulation() {
    // Intervals that fail once in a hundred million runs.
    let precision = Some(Precision { relative: 0.001, confidence: 1.0 - 1e-8 });
    for (helpers, rate) in [(1, 31.159), (4, 31.159), (16, 35.0539)] {
        let network = Network::from_toml(&format!(
            "[[station]]\nname = \"web\"\ndiscipline = \"limited-ps\"\nhelpers = {helpers}\n[[chain]]\nname = \"documents\"\n\
             arrivals = \"exponential(rate = {rate} /s)\"\nsize = \"lognormal(mu = 7.811, sigma = 1.573, unit = B)\"\n\
             size_limits = [\"1 kB\", \"10 kB\", \"100 kB\"]\n\
             steps = [{{ station = \"web\", demand = \"21.55 ms + 0.4851 us/B\" }}]\n"
        ));
        let network = network.unwrap();
        let control = Control { precision, max_jobs: 1_000_000, threads: 2, ..Control::default() };
        let simulated = run_network(&network, &control, &|_| {}).unwrap();
        let formula = network::answer(&network).unwrap();
        for metric in
            ["response_time_mean", "response_time_mean_documents_size_1", "response_time_mean_documents_size_3"]
        {
            let wanted = formula.estimate(metric).and_then(Estimate::value).unwrap();
            let found = simulated.measures.iter().find(|measure| measure.metric == metric).unwrap();
            let (low, high) = found.estimate.interval().unwrap();
            // 2.1 itself is an approximation but for one helper.
            let off = if helpers == 1 { 0.0 } else { 0.05 };
            assert!(
                low <= wanted * (1.0 + off) && wanted * (1.0 - off) <= high,
                "{helpers} {metric}: {found:?} {wanted}"
            );
            assert!(high - low < 0.3 * wanted, "too coarse to say anything: {found:?}");
        }
    }
}

/// Section 4.1: 10 requests a second within 100 ms need about 1.4 Mbit/s.
#[test]
fn fujitas_access_line() {
    let bits = 8.0 * (7.811f64 + 0.5 * 1.573 * 1.573).exp();
    let rate = bits * (1.0 / 0.1 + 10.0);
    printed(rate / 1e6, "1.4");
    agree(mg1_ps::response_time_mean(10.0, bits / rate), 0.1, 1e-12);
    // 768 kbit/s and 1.5 Mbit/s at 5 requests a second, as in his Figure 4.4.
    printed(mg1_ps::response_time_mean(5.0, bits / 768e3) * 1e3, "158.98");
    printed(mg1_ps::response_time_mean(5.0, bits / 1.5e6) * 1e3, "58.65");
}

#[test]
fn power_of_d_choices() {
    for (d, rho, wanted) in [
        (2, 0.5, "1.265686"),
        (2, 0.7, "1.614454"),
        (2, 0.8, "1.947363"),
        (2, 0.9, "2.614057"),
        (2, 0.95, "3.383046"),
        (2, 0.99, "5.431997"),
        (3, 0.9, "2.027856"),
        (3, 0.99, "3.857847"),
        (5, 0.99, "2.901683"),
        (1, 0.8, "5"),
    ] {
        printed(balancing::power_of_d(d, rho), wanted);
    }
    // Mitzenmacher's simulation of 100 servers (IEEE TPDS 12, 2001) is longer, by 9 % at most.
    for (rho, simulated) in [(0.5, 1.2673), (0.7, 1.6202), (0.8, 1.9585), (0.9, 2.6454), (0.95, 3.4610), (0.99, 5.9275)]
    {
        let limit = balancing::power_of_d(2, rho);
        assert!((1.0..1.095).contains(&(simulated / limit)), "{rho}: {simulated} against {limit}");
    }
    assert_eq!(balancing::power_of_d(2, 1.0), f64::INFINITY);
}

#[test]
fn joining_the_shorter_of_two_queues() {
    let joined = |rho: f64| {
        let bounds = balancing::join_shortest_queue(2, rho);
        assert!(bounds.gap() < 1e-9 && bounds.low <= bounds.high, "{rho}: {bounds:?}");
        bounds.low
    };
    printed(joined(0.5), "1.426321");
    printed(mmc::response_time_mean(2, 1.0, 1.0), "1.333333");
    for rho in [0.1, 0.5, 0.8, 0.95, 0.99] {
        // Between one queue for both and two that know nothing of each other, and better than taking turns.
        assert!(mmc::response_time_mean(2, 2.0 * rho, 1.0) < joined(rho), "{rho}");
        assert!(joined(rho) < ekm1::response_time_mean(2, rho, 1.0), "{rho}");
    }
    // In heavy traffic it is as good as one queue.
    agree(joined(0.99), mmc::response_time_mean(2, 1.98, 1.0), 0.02);
    agree(joined(0.9999), mmc::response_time_mean(2, 1.9998, 1.0), 0.0002);
    assert_eq!(balancing::join_shortest_queue(2, 1.0).low, f64::INFINITY);
}

/// The chain itself, state by state, with so many jobs at most that more are as good as never inside: its mean is within the
/// bounds, which are near enough to be a number.
#[test]
fn joining_the_shortest_of_several_queues() {
    for (servers, rho, jobs, gap) in [(3usize, 0.6, 60u32, 1e-8), (4, 0.5, 44, 1e-6), (5, 0.3, 26, 1e-5)] {
        let rate = servers as f64 * rho;
        let sorted = |mut queues: Vec<u32>| {
            queues.sort_unstable();
            queues
        };
        let chain = Chain::explore(vec![0; servers], |queues: &Vec<u32>| {
            let mut steps = Vec::new();
            if queues.iter().sum::<u32>() < jobs {
                let mut more = queues.clone();
                more[0] += 1;
                steps.push((sorted(more), rate));
            }
            for (place, _) in queues.iter().enumerate().filter(|(_, count)| **count > 0) {
                let mut less = queues.clone();
                less[place] -= 1;
                steps.push((sorted(less), 1.0));
            }
            steps
        });
        let p = chain.stationary();
        let mean = chain.mean(&p, |queues| f64::from(queues.iter().sum::<u32>())) / rate;
        let bounds = balancing::join_shortest_queue(servers as u32, rho);
        assert!(bounds.low <= mean * (1.0 + 1e-9) && mean <= bounds.high * (1.0 + 1e-9), "{mean} in {bounds:?}");
        assert!(bounds.gap() < gap, "{servers}: {bounds:?}");
    }
}

/// Never farther apart than one queue for all and queues that know nothing of each other, however many and however busy.
#[test]
fn bounds_of_the_shortest_queue_are_in_order() {
    for servers in [1, 2, 3, 4, 8, 16, 100, 1000] {
        for rho in [0.05, 0.5, 0.9, 0.99, 0.999] {
            let Bounds { low, high } = balancing::join_shortest_queue(servers, rho);
            let (joint, apart) = (mmc::response_time_mean(servers, f64::from(servers) * rho, 1.0), 1.0 / (1.0 - rho));
            let near = 1.0 + 1e-9;
            assert!(joint <= low * near && low <= high && high <= apart * near, "{servers}, {rho}: {low} to {high}");
        }
    }
    // However many jobs are inside, small probabilities keep their digits.
    let of_forty = balancing::join_shortest_queue(40, 0.95);
    assert!(of_forty.low > 1.5 && of_forty.high > of_forty.low, "{of_forty:?}");
    // How near they are.
    for (servers, rho, gap) in [
        (2, 0.999, 1e-9),
        (3, 0.99, 1e-7),
        (4, 0.85, 1e-7),
        (4, 0.9, 1e-6),
        (8, 0.55, 1e-7),
        (8, 0.9, 1e-2),
        (16, 0.9, 1e-2),
    ] {
        let bounds = balancing::join_shortest_queue(servers, rho);
        assert!(bounds.gap() < gap, "{servers}, {rho}: {bounds:?}");
    }
}

//! Networks of queues against their exact solutions.

use sojourn_model::network::Network;
use sojourn_sim::{Control, Precision, Report, run_network};
use sojourn_stats::Span;

use crate::support::{control, covers};

/// A run of about `jobs` jobs with intervals that fail once in a hundred million runs.
fn run(network: &str, jobs: u64) -> Report {
    let network = Network::from_toml(network).unwrap();
    let report = run_network(&network, &control(jobs), &|_| {}).unwrap();
    assert_eq!(report.over_time, None, "of networks nothing is counted over time");
    report
}

/// A metric, its exact value, and the widest interval accepted (half-width over value).
fn covers_all(network: &str, jobs: u64, label: &str, exact: &[(&str, f64, f64)]) {
    let report = run(network, jobs);
    for (metric, value, relative) in exact {
        covers(&report, metric, *value, *relative, label);
    }
}

fn station(name: &str, rest: &str) -> String {
    format!("[[station]]\nname = \"{name}\"\n{rest}\n")
}

fn exponential(station: &str, mean_s: f64) -> String {
    format!("{{ station = \"{station}\", demand = \"exponential(mean = {mean_s} s)\" }}")
}

/// An order that knows nothing of the work to come does not change how many jobs of exponential work there are, so the mean
/// is M/M/1's; preemptive LCFS has that of M/G/1-PS for any work. Both are E[S] / (1 - rho).
#[test]
fn every_order_of_a_single_queue_may_be_a_stations() {
    // The widest intervals: work that varies more makes wider ones. First come, first served it would have a mean of 1.75 s.
    for (discipline, demand, within) in [
        ("discipline = \"least-attained-service\"", "exponential(mean = 0.5 s)", 0.06),
        ("discipline = \"round-robin\"\nquantum = \"100 ms\"", "exponential(mean = 0.5 s)", 0.06),
        ("discipline = \"time-slices\"\nquantum = \"100 ms\"\nhelpers = 3", "exponential(mean = 0.5 s)", 0.06),
        ("discipline = \"lcfs\"", "exponential(mean = 0.5 s)", 0.06),
        ("discipline = \"lcfs\"\npreemptive = true", "hyperexponential(mean = 0.5 s, cv = 2)", 0.12),
    ] {
        let network = station("core", discipline)
            + "[[chain]]\nname = \"jobs\"\narrivals = \"exponential(rate = 1 /s)\"\n"
            + &format!("steps = [{{ station = \"core\", demand = \"{demand}\" }}]");
        covers_all(&network, 400_000, discipline, &[("response_time_mean_jobs", 1.0, within)]);
    }
}

/// Closed chains in product form, under FCFS with exponential work and under PS with any.
#[test]
fn closed_networks_cover_exact_mean_value_analysis() {
    // Jain 1991, The Art of Computer Systems Performance Analysis, Example 34.2: 20 users, a CPU and two disks.
    let jain = ["cpu", "disk-a", "disk-b"].map(|name| station(name, "discipline = \"fcfs\"")).concat()
        + "[[chain]]\nname = \"users\"\nusers = 20\nthink = \"exponential(mean = 4 s)\"\nsteps = [
        { station = \"cpu\", demand = \"exponential(mean = 0.125 s)\", visits = 16 },
        { station = \"disk-a\", demand = \"exponential(mean = 0.3 s)\", visits = 10 },
        { station = \"disk-b\", demand = \"exponential(mean = 0.2 s)\", visits = 5 }]";
    let exact = [
        ("throughput_users", 0.333_247, 0.01),
        ("response_time_mean_users", 56.015_6, 0.01),
        ("queue_length_mean_cpu", 1.991, 0.1),
        ("queue_length_mean_disk-a", 16.177, 0.02),
        ("queue_length_mean_disk-b", 0.500, 0.05),
        ("response_time_mean_disk-a", 4.854, 0.02),
        ("response_time_mean_disk-b", 0.300, 0.04),
    ];
    covers_all(&jain, 300_000, "Jain", &exact);

    // Bolch et al. 1998, Queueing Networks and Markov Chains, Example 8.3: 6 jobs, a CPU and three devices, of which a
    // round visits at most one.
    let round = |name: &str, share: f64, mean_s: f64| {
        format!(
            "[[chain.branch]]\nname = \"{name}\"\nshare = {share}\nsteps = [{}, {}]\n",
            exponential("cpu", 0.02),
            exponential(name, mean_s)
        )
    };
    let bolch = ["cpu", "a", "b", "c"].map(|name| station(name, "discipline = \"fcfs\"")).concat()
        + "[[chain]]\nname = \"jobs\"\nusers = 6\n"
        + &round("a", 0.4, 0.2)
        + &round("b", 0.2, 0.4)
        + &round("c", 0.1, 0.6)
        + &format!("[[chain.branch]]\nname = \"done\"\nsteps = [{}]\n", exponential("cpu", 0.02));
    let exact = [
        ("throughput", 9.920, 0.02),
        ("utilization_cpu", 0.198, 0.03),
        ("utilization_a", 0.794, 0.03),
        ("utilization_c", 0.595, 0.04),
        ("queue_length_mean_a", 2.261, 0.07),
        ("queue_length_mean_c", 1.234, 0.06),
        ("response_time_mean_b", 1.140, 0.08),
        ("share_jobs_b", 0.2, 0.02),
    ];
    covers_all(&bolch, 2_000_000, "Bolch 8.3", &exact);

    // Bolch et al. 1998, Example 8.4: 3 jobs, a station of two servers, two of one, and a delay.
    let bolch = station("two", "discipline = \"fcfs\"\ncores = 2")
        + &station("a", "discipline = \"fcfs\"")
        + &station("b", "discipline = \"fcfs\"")
        + &station("rest", "discipline = \"delay\"")
        + "[[chain]]\nname = \"jobs\"\nusers = 3\n"
        + &["a", "b"]
            .map(|name| {
                let mean_s = if name == "a" { 0.6 } else { 0.8 };
                let steps = [exponential("two", 0.5), exponential(name, mean_s), exponential("rest", 1.0)].join(", ");
                format!("[[chain.branch]]\nshare = 0.5\nsteps = [{steps}]\n")
            })
            .concat();
    let exact = [
        ("throughput", 1.218, 0.01),
        ("queue_length_mean_two", 0.624, 0.02),
        ("queue_length_mean_a", 0.473, 0.03),
        ("queue_length_mean_b", 0.686, 0.03),
        ("queue_length_mean_rest", 1.217, 0.02),
    ];
    covers_all(&bolch, 1_000_000, "Bolch 8.4", &exact);

    // Lazowska et al. 1984, Quantitative System Performance, p. 117: solved exactly. PS does not see the law of the work.
    for law in ["constant(X s)", "exponential(mean = X s)", "hyperexponential(mean = X s, cv = 3)"] {
        let step = |name: &str, mean_s: f64| {
            format!("{{ station = \"{name}\", demand = \"{}\" }}", law.replace('X', &mean_s.to_string()))
        };
        let lazowska = ["cpu", "a", "b"].map(|name| station(name, "discipline = \"ps\"")).concat()
            + "[[chain]]\nname = \"users\"\nusers = 3\nthink = \"gamma(mean = 15 s, cv = 0.5)\"\n"
            + &format!("steps = [{}]", [step("cpu", 0.605), step("a", 2.1), step("b", 1.35)].join(", "));
        let exact = [("throughput", 0.151_516, 0.02), ("response_time_mean", 4.799_8, 0.03)];
        covers_all(&lazowska, 500_000, law, &exact);
    }
}

/// Two chains at two PS stations, against the recursion of mean value analysis over both populations (Reiser and
/// Lavenberg, J. ACM 27(2), 1980).
#[test]
fn several_closed_chains_cover_exact_mean_value_analysis() {
    const USERS: [usize; 2] = [4, 3];
    const DEMANDS: [[f64; 2]; 2] = [[0.2, 0.5], [0.6, 0.1]];
    const THINK: [f64; 2] = [1.0, 2.0];
    let mut lengths = vec![vec![[0.0; 2]; USERS[1] + 1]; USERS[0] + 1];
    let (mut rates, mut times) = ([0.0; 2], [0.0; 2]);
    for a in 0..=USERS[0] {
        for b in 0..=USERS[1] {
            let mut here = [0.0; 2];
            for (chain, population) in [a, b].into_iter().enumerate().filter(|(_, population)| *population > 0) {
                let before = if chain == 0 { lengths[a - 1][b] } else { lengths[a][b - 1] };
                let spent = [0, 1].map(|station| DEMANDS[chain][station] * (1.0 + before[station]));
                times[chain] = spent[0] + spent[1];
                rates[chain] = population as f64 / (THINK[chain] + times[chain]);
                [0, 1].into_iter().for_each(|station| here[station] += rates[chain] * spent[station]);
            }
            lengths[a][b] = here;
        }
    }
    let chain = |name: &str, number: usize, law: &str| {
        let demand = |station: usize| law.replace('X', &DEMANDS[number][station].to_string());
        format!(
            "[[chain]]\nname = \"{name}\"\nusers = {}\nthink = \"exponential(mean = {} s)\"\nsteps = [
            {{ station = \"cpu\", demand = \"{}\" }}, {{ station = \"disk\", demand = \"{}\" }}]\n",
            USERS[number],
            THINK[number],
            demand(0),
            demand(1)
        )
    };
    let network = ["cpu", "disk"].map(|name| station(name, "discipline = \"ps\"")).concat()
        + &chain("one", 0, "exponential(mean = X s)")
        + &chain("other", 1, "erlang(k = 3, mean = X s)");
    let whole = lengths[USERS[0]][USERS[1]];
    let exact = [
        ("throughput_one", rates[0], 0.02),
        ("throughput_other", rates[1], 0.02),
        ("throughput", rates[0] + rates[1], 0.02),
        ("response_time_mean_one", times[0], 0.03),
        ("response_time_mean_other", times[1], 0.03),
        ("queue_length_mean_cpu", whole[0], 0.03),
        ("queue_length_mean_disk", whole[1], 0.03),
    ];
    covers_all(&network, 1_500_000, "two chains", &exact);
}

/// Open networks: queues in series, links, delays.
#[test]
fn open_networks_cover_closed_forms() {
    // M/M/1 queues in series: the times in them are independent (Reich, Ann. Math. Stat. 28, 1957), here exponential of
    // mean 2 each, so that the whole is Erlang-2: 2 x 3.88972 at 90 %, 2 x 6.63835 at 99 %.
    let tandem = ["first", "second"].map(|name| station(name, "discipline = \"fcfs\"")).concat()
        + "[[chain]]\nname = \"jobs\"\narrivals = \"exponential(rate = 0.5 /s)\"\n"
        + &format!("steps = [{}]", [exponential("first", 1.0), exponential("second", 1.0)].join(", "));
    let exact = [
        ("response_time_mean", 4.0, 0.03),
        ("response_time_p90", 7.779_44, 0.04),
        ("response_time_p99", 13.276_7, 0.06),
        ("response_time_mean_second", 2.0, 0.03),
        ("queue_length_mean_first", 1.0, 0.04),
        ("utilization_second", 0.5, 0.02),
        ("throughput_jobs", 0.5, 0.01),
    ];
    covers_all(&tandem, 4_000_000, "tandem", &exact);

    // A site: an Erlang delay, a link that is shared, and a server, all of which see the same document. Shared queues do
    // not see the law of the work, not even where the same jobs are long at both (Kelly 1979, Reversibility and Stochastic
    // Networks, section 3.3: a size is a class): each takes E[S] / (1 - rho).
    let site = station("backbone", "discipline = \"delay\"")
        + &station("line", "rate = \"1.5 Mbit/s\"")
        + &station("server", "discipline = \"ps\"\nspeed = 2")
        + "[[chain]]\nname = \"visitors\"\narrivals = \"exponential(rate = 10 /s)\"\n"
        + "size = \"lognormal(mean = 8502.9 B, sigma = 1.2)\"\nsteps = [
        { station = \"backbone\", demand = \"erlang(k = 4, mean = 195 ms)\" }, { station = \"line\" },
        { station = \"server\", demand = \"60 ms + 6 us/B\" }]";
    // 8502.9 B at 1.5 Mbit/s take 45.35 ms; the server needs (60 + 51.0174) / 2 ms.
    let (line_s, server_s) = (8.0 * 8502.9 / 1.5e6, 0.5 * (0.06 + 6e-6 * 8502.9));
    let exact = [
        ("response_time_mean_backbone", 0.195, 0.01),
        ("queue_length_mean_backbone", 1.95, 0.02),
        ("response_time_mean_line", line_s / (1.0 - 10.0 * line_s), 0.08),
        ("utilization_line", 10.0 * line_s, 0.03),
        ("response_time_mean_server", server_s / (1.0 - 10.0 * server_s), 0.05),
        ("utilization_server", 10.0 * server_s, 0.02),
    ];
    covers_all(&site, 1_000_000, "site", &exact);

    // M/G/1 by Pollaczek and Khinchine, with work that mixes a law and the bytes: E[S] = 0.8, the wait is
    // rho / (1 - rho) (1 + C2) / 2 E[S].
    let queue = station("server", "discipline = \"fcfs\"")
        + "[[chain]]\nname = \"jobs\"\narrivals = \"exponential(rate = 1 /s)\"\nsize = \"exponential(mean = 1 kB)\"\n"
        + "steps = [{ station = \"server\", demand = \"erlang(k = 2, mean = 0.4 s) + 400 us/B\" }]";
    let scv = (0.4 * 0.4 / 2.0 + 0.4 * 0.4) / (0.8 * 0.8);
    covers_all(&queue, 3_000_000, "M/G/1", &[("response_time_mean", 0.8 + 4.0 * (1.0 + scv) / 2.0 * 0.8, 0.05)]);
}

/// Open and closed jobs at one PS station: users meet a server that is slower by what the open chain takes (BCMP).
#[test]
fn a_mixed_network_covers_its_product_form() {
    let network = station("server", "discipline = \"ps\"")
        + "[[chain]]\nname = \"visitors\"\narrivals = \"exponential(rate = 0.5 /s)\"\n"
        + &format!("steps = [{}]\n", exponential("server", 1.0))
        + "[[chain]]\nname = \"users\"\nusers = 2\nthink = \"exponential(mean = 2 s)\"\n"
        + "steps = [{ station = \"server\", demand = \"hyperexponential(mean = 1 s, cv = 2)\" }]";
    // For users the work is 1 / (1 - 0.5) = 2 s: the machine repairman's p_0 is 1/5, X = (4/5)/2, R = 2/X - 2. Visitors
    // take (1 + X R) / (1 - 0.5).
    let exact = [
        ("throughput_users", 0.4, 0.02),
        ("response_time_mean_users", 3.0, 0.03),
        ("response_time_mean_visitors", 4.4, 0.05),
        ("utilization_server", 0.9, 0.01),
    ];
    covers_all(&network, 3_000_000, "mixed", &exact);
}

/// Rates that depend on the number inside: as a birth and death process whose deaths are the rates.
#[test]
fn rates_that_follow_the_number_inside_cover_the_birth_and_death_process() {
    // The last as three cores would be: Erlang's M/M/3, utilisation 2/3 and L = 2.888889.
    let cases: [(f64, &[f64]); 3] = [(1.0, &[1.0, 1.5]), (1.5, &[1.0, 1.8, 2.5, 2.2]), (2.0, &[1.0, 2.0, 3.0])];
    for (arrivals, rates) in cases {
        let (mut chance, mut sum, mut number, mut work) = (1.0, 1.0, 0.0, 0.0);
        for n in 1..2000usize {
            let rate = rates[n.min(rates.len()) - 1];
            chance *= arrivals / rate;
            sum += chance;
            number += n as f64 * chance;
            work += rate * chance;
        }
        let most = rates.iter().copied().fold(0.0, f64::max);
        let network = station("server", &format!("discipline = \"ps\"\nrates = {rates:?}"))
            + &format!("[[chain]]\nname = \"jobs\"\narrivals = \"exponential(rate = {arrivals} /s)\"\n")
            + "steps = [{ station = \"server\", demand = \"hyperexponential(mean = 1 s, cv = 1.5)\" }]";
        let exact = [
            ("response_time_mean", number / sum / arrivals, 0.05),
            ("queue_length_mean_server", number / sum, 0.05),
            ("utilization_server", work / sum / most, 0.02),
        ];
        covers_all(&network, 3_000_000, &format!("{rates:?}"), &exact);
    }
    let erlang = 4.0 / 9.0 + 1.0;
    let cores = station("server", "discipline = \"ps\"\ncores = 3")
        + "[[chain]]\nname = \"jobs\"\narrivals = \"exponential(rate = 2 /s)\"\n"
        + &format!("steps = [{}]", exponential("server", 1.0));
    covers_all(
        &cores,
        2_000_000,
        "M/M/3",
        &[("response_time_mean", erlang, 0.04), ("utilization_server", 2.0 / 3.0, 0.02)],
    );
}

const MIXED: &str = r#"
[[station]]
name = "proxy"
discipline = "ps"
[[station]]
name = "server"
discipline = "limited-ps"
helpers = 4
[[station]]
name = "backbone"
discipline = "delay"
[[chain]]
name = "users"
users = 10
think = "exponential(mean = 1 s)"
size = "lognormal(mean = 8 kB, cv = 2)"
cache = { policy = "lru", size = 40, objects = 500, popularity = 0.8 }
[[chain.branch]]
steps = [{ station = "proxy", demand = "5 ms" }]
[[chain.branch]]
steps = [
    { station = "proxy", demand = "8 ms" }, { station = "backbone", demand = "erlang(k = 3, mean = 195 ms)" },
    { station = "server", demand = "21.55 ms + 0.4851 us/B" },
]
[[chain]]
name = "visitors"
arrivals = "exponential(rate = 10 /s)"
size = "lognormal(mean = 8 kB, cv = 2)"
steps = [{ station = "backbone", demand = "100 ms" }, { station = "server", demand = "21.55 ms + 0.4851 us/B" }]
"#;

/// Under processor sharing a job takes its work over what is idle, whatever its size; utilisation 0.5.
#[test]
fn classes_of_sizes_cover_their_exact_means() {
    let network = station("line", "rate = \"1.6 Mbit/s\"")
        + "[[chain]]\nname = \"jobs\"\narrivals = \"exponential(rate = 10 /s)\"\n\
           size = \"uniform(low = 0 B, high = 20 kB)\"\nsize_limits = [\"5 kB\", \"10 kB\"]\nsteps = [{ station = \"line\" }]";
    // Means of 2.5, 7.5 and 15 kB, at 5 us/B.
    let exact = [
        ("response_time_mean_jobs_size_1", 0.025, 0.1),
        ("response_time_mean_jobs_size_2", 0.075, 0.1),
        ("response_time_mean_jobs_size_3", 0.15, 0.1),
        ("share_jobs_size_1", 0.25, 0.1),
        ("share_jobs_size_3", 0.5, 0.1),
        ("response_time_mean_jobs", 0.1, 0.1),
    ];
    covers_all(&network, 300_000, "sizes", &exact);
    let plain = network.replace("size_limits = [\"5 kB\", \"10 kB\"]\n", "");
    assert!(run(&plain, 20_000).measures.iter().all(|measure| !measure.metric.contains("size_")));
}

#[test]
fn threads_change_nothing_and_seeds_do() {
    let network = Network::from_toml(MIXED).unwrap();
    let precision = Some(Precision { relative: 0.05, confidence: 0.95 });
    for horizon in [None, Some(Span(60_000_000_000))] {
        let control =
            |seed, threads| Control { seed, horizon, precision, max_jobs: 400_000, threads, ..Control::default() };
        let [one, four, other] = [(7, 1), (7, 4), (8, 1)]
            .map(|(seed, threads)| run_network(&network, &control(seed, threads), &|_| {}).unwrap());
        assert_eq!(one, four);
        assert_ne!(one, other);
        assert!(one.converged, "{:?}", one.notes);
    }
}

/// What jobs do depends neither on another chain, nor on what others of their chain do on another branch.
#[test]
fn chains_and_branches_have_random_numbers_of_their_own() {
    let of_visitors = |network: &str| {
        let control =
            Control { horizon: Some(Span(30_000_000_000)), precision: None, replications: 2, ..Control::default() };
        let report = run_network(&Network::from_toml(network).unwrap(), &control, &|_| {}).unwrap();
        let metric = "response_time_mean_visitors_2";
        report.measures.into_iter().find(|measure| measure.metric == metric).unwrap()
    };
    // A network in which no job waits for another.
    let alone = r#"
        [[station]]
        name = "backbone"
        discipline = "delay"
        [[chain]]
        name = "visitors"
        arrivals = "hyperexponential(rate = 10 /s, cv = 2)"
        size = "lognormal(mean = 8 kB, cv = 2)"
        [[chain.branch]]
        share = 0.4
        steps = []
        [[chain.branch]]
        steps = [{ station = "backbone", demand = "exponential(mean = 100 ms) + 1 us/B" }]
        "#;
    let with_users = alone.to_string()
        + "[[chain]]\nname = \"users\"\nusers = 5\nthink = \"1 s\"\n"
        + &format!("steps = [{}]", exponential("backbone", 0.1));
    let with_work = alone.replace("[]", "[{ station = \"backbone\", demand = \"gamma(mean = 20 ms, cv = 2)\" }]");
    assert_eq!(of_visitors(alone), of_visitors(&with_users));
    assert_eq!(of_visitors(alone), of_visitors(&with_work));
    assert_ne!(of_visitors(alone), of_visitors(&alone.replace("share = 0.4", "share = 0.3")));
}

#[test]
fn networks_that_never_settle_or_make_no_sense_are_refused() {
    let refused = |network: &str| {
        let network = Network::from_toml(network).unwrap();
        let message = run_network(&network, &Control::default(), &|_| {}).unwrap_err().to_string();
        assert!(!message.contains('\n'), "{message}");
        message
    };
    let busy = MIXED.replace("rate = 10 /s", "rate = 50 /s");
    let message = refused(&busy);
    assert!(["visitors", "server", "39.", "50.0000 /s"].iter().all(|part| message.contains(part)), "{message}");
    // With an end it is a fair question.
    let control = Control { horizon: Some(Span(20_000_000_000)), precision: None, ..Control::default() };
    let report = run_network(&Network::from_toml(&busy).unwrap(), &control, &|_| {}).unwrap();
    assert!(report.notes.iter().any(|note| note.contains("overloaded")), "{:?}", report.notes);
    // Until its jobs find no room in memory.
    let long = Control { horizon: Some(Span(1_000_000_000_000_000)), memory: 16 << 20, ..control };
    let message = run_network(&Network::from_toml(&busy).unwrap(), &long, &|_| {}).unwrap_err().to_string();
    assert!(message.contains("requests inside at once") && message.contains("MB"), "{message}");
    let timeless = MIXED.replace("think = \"exponential(mean = 1 s)\"\n", "").replace("\"5 ms\"", "\"0 s\"");
    let message = refused(&timeless);
    assert!(message.contains("`users`") && message.contains("`hit`"), "{message}");
}

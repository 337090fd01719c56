//! Networks as a file writes them: which method answers, with what, and what is refused.

use sojourn_model::network::Network;
use sojourn_stats::Estimate;
use sojourn_theory::Answer;
use sojourn_theory::network::{answer, solve};

use crate::chain::Chain;
use crate::{agree, printed};

fn read(text: &str) -> Network {
    Network::from_toml(text).unwrap()
}

fn value(answer: &Answer, metric: &str) -> f64 {
    answer.estimate(metric).and_then(Estimate::value).unwrap_or_else(|| panic!("no {metric}"))
}

#[track_caller]
fn is_exact(answer: &Answer, metric: &str, wanted: bool) {
    let estimate = answer.estimate(metric).unwrap_or_else(|| panic!("no {metric}"));
    assert_eq!(matches!(estimate, Estimate::Exact { .. }), wanted, "{metric}: {estimate:?}");
}

fn has_note(answer: &Answer, part: &str) -> bool {
    answer.notes.iter().any(|note| note.contains(part))
}

/// Jain's example 34.2 with its visits.
const JAIN: &str = r#"
[[station]]
name = "cpu"
discipline = "ps"
[[station]]
name = "a"
discipline = "fcfs"
[[station]]
name = "b"
discipline = "fcfs"
[[chain]]
name = "users"
users = 20
think = "4 s"
steps = [
  { station = "cpu", demand = "125 ms", visits = 16 },
  { station = "a", demand = "exponential(mean = 300 ms)", visits = 10 },
  { station = "b", demand = "exponential(mean = 200 ms)", visits = 5 },
]
"#;

#[test]
fn a_closed_network_is_answered_by_chain_and_station() {
    let known = answer(&read(JAIN)).unwrap();
    printed(value(&known, "throughput_users"), "0.333247");
    printed(value(&known, "response_time_mean"), "56.0156");
    printed(value(&known, "response_time_mean_users"), "56.0156");
    printed(value(&known, "queue_length_mean_a"), "16.177");
    printed(value(&known, "response_time_mean_a"), "4.854");
    agree(value(&known, "utilization_a"), 0.333247 * 3.0, 1e-5);
    agree(value(&known, "throughput_cpu"), 0.333247 * 16.0, 1e-5);
    is_exact(&known, "response_time_mean", true);
    assert!(
        has_note(&known, "mean value analysis") && has_note(&known, "bottleneck: `a`, 100.0 % used"),
        "{:?}",
        known.notes
    );
    // D = 2 + 3 + 1, Z = 4: saturated at 10/3 users.
    agree(value(&known, "saturation_users"), 10.0 / 3.0, 1e-12);
    agree(value(&known, "bound_high_throughput"), 1.0 / 3.0, 1e-12);
    assert!(value(&known, "balanced_low_response_time_mean") <= 56.0157);
    assert!(value(&known, "balanced_high_response_time_mean") >= 56.0155);
}

#[test]
fn speed_cores_and_rates_of_a_file_reach_the_formulas() {
    // Twice the work at twice the speed is the same.
    let fast = JAIN.replace("discipline = \"ps\"", "discipline = \"ps\"\nspeed = 2").replace("125 ms", "250 ms");
    printed(value(&answer(&read(&fast)).unwrap(), "throughput_users"), "0.333247");
    let cores = JAIN.replacen("discipline = \"fcfs\"", "discipline = \"fcfs\"\ncores = 2", 1);
    let by_cores = answer(&read(&cores)).unwrap();
    let rates = JAIN.replacen("discipline = \"fcfs\"", "discipline = \"ps\"\nrates = [1, 2]", 1);
    let by_rates = answer(&read(&rates)).unwrap();
    agree(value(&by_cores, "throughput"), value(&by_rates, "throughput"), 1e-13);
    agree(value(&by_cores, "utilization_a"), value(&by_rates, "utilization_a"), 1e-13);
    assert!(has_note(&by_cores, "convolution") && value(&by_cores, "throughput") > 0.4);
    assert!(by_cores.estimate("balanced_low_throughput").is_none());
}

#[test]
fn branches_take_their_own_time() {
    let text = r#"
        [[station]]
        name = "web"
        discipline = "ps"
        [[station]]
        name = "far"
        discipline = "delay"
        [[chain]]
        name = "jobs"
        arrivals = "exponential(rate = 5 /s)"
        [[chain.branch]]
        name = "static"
        share = 0.8
        steps = [{ station = "web", demand = "50 ms" }]
        [[chain.branch]]
        name = "dynamic"
        steps = [{ station = "web", demand = "exponential(mean = 300 ms)" }, { station = "far", demand = "100 ms", visits = 3 }]
    "#;
    let known = answer(&read(text)).unwrap();
    // Utilisation 5 x (0.8 x 0.05 + 0.2 x 0.3) = 0.5: everything takes twice its demand.
    agree(value(&known, "utilization_web"), 0.5, 1e-12);
    agree(value(&known, "response_time_mean_jobs_static"), 0.1, 1e-12);
    agree(value(&known, "response_time_mean_jobs_dynamic"), 0.9, 1e-12);
    agree(value(&known, "response_time_mean_jobs"), 0.8 * 0.1 + 0.2 * 0.9, 1e-12);
    agree(value(&known, "share_jobs_dynamic"), 0.2, 1e-12);
    agree(value(&known, "throughput_far"), 3.0, 1e-12);
    agree(value(&known, "response_time_mean_far"), 0.1, 1e-12);
    is_exact(&known, "response_time_mean_jobs_dynamic", true);
    assert!(known.estimate("utilization_far").is_none(), "a delay is never full");
}

/// A web server of `helpers` helpers and balanced two-phase work of mean 1 s and C2 = 4, and users who think.
fn web(users: u32, think_s: f64, helpers: u32) -> String {
    format!(
        "[[station]]\nname = \"web\"\ndiscipline = \"limited-ps\"\nhelpers = {helpers}\n\
         [[chain]]\nname = \"users\"\nusers = {users}\nthink = \"exponential(mean = {think_s} s)\"\n\
         steps = [{{ station = \"web\", demand = \"hyperexponential(mean = 1 s, cv = 2)\" }}]\n"
    )
}

/// The same as a Markov chain of (jobs at the server, those of the first phase among the served): its throughput.
fn web_by_markov_chain(users: u32, think_s: f64, helpers: u32) -> f64 {
    let [(p, rate1), (q, rate2)] = sojourn_theory::law::balanced_means(4.0);
    let chain = Chain::explore((0u32, 0u32), |&(jobs, first)| {
        let served = jobs.min(helpers);
        let mut steps = Vec::new();
        let come = f64::from(users - jobs) / think_s;
        if jobs < helpers {
            steps.push(((jobs + 1, first + 1), come * p));
            steps.push(((jobs + 1, first), come * q));
        } else {
            steps.push(((jobs + 1, first), come));
        }
        for (leaves, rate) in [(1, f64::from(first) * rate1), (0, f64::from(served - first) * rate2)] {
            if rate == 0.0 {
                continue;
            }
            let rate = rate / f64::from(served);
            if jobs > helpers {
                steps.push(((jobs - 1, first - leaves + 1), rate * p));
                steps.push(((jobs - 1, first - leaves), rate * q));
            } else {
                steps.push(((jobs - 1, first - leaves), rate));
            }
        }
        steps
    });
    let at_server = chain.mean(&chain.stationary(), |(jobs, _)| f64::from(*jobs));
    (f64::from(users) - at_server) / think_s
}

#[test]
fn a_limited_ps_server_in_a_closed_network_by_fujitas_fixed_point() {
    // Throughput by its error: low, and lowest with few users and a server that is the bottleneck.
    for users in [10, 20, 40, 80] {
        for (asked, low) in [(0.3, 0.003), (0.6, 0.03), (0.9, 0.1), (1.5, 0.18)] {
            let think_s = f64::from(users) / asked;
            let known = answer(&read(&web(users, think_s, 4))).unwrap();
            let error = value(&known, "throughput") / web_by_markov_chain(users, think_s, 4) - 1.0;
            assert!((-low..0.0).contains(&error), "{users} users, {asked} of the server asked: {error}");
            is_exact(&known, "throughput", false);
            assert!(has_note(&known, "Fujita 2000") && has_note(&known, "not exponential"), "{:?}", known.notes);
        }
    }
    // A helper for every job is PS, and exponential work is product form: both exact.
    let shared_by_all = answer(&read(&web(8, 5.0, 8))).unwrap();
    let known = sojourn_theory::formula::markovian::repairman::solve(8, 5.0, 1, 1, 1.0);
    agree(value(&shared_by_all, "throughput"), known.throughput, 1e-12);
    is_exact(&shared_by_all, "response_time_mean", true);
    let exponential = web(8, 5.0, 3).replace("hyperexponential(mean = 1 s, cv = 2)", "exponential(mean = 1 s)");
    let exponential = answer(&read(&exponential)).unwrap();
    agree(value(&exponential, "throughput"), known.throughput, 1e-12);
    is_exact(&exponential, "response_time_mean", true);
}

#[test]
fn the_fixed_point_of_an_open_network_is_the_station_alone() {
    let text = r#"
        [[station]]
        name = "web"
        discipline = "limited-ps"
        helpers = 4
        [[station]]
        name = "line"
        rate = "1 Mbit/s"
        [[chain]]
        name = "jobs"
        arrivals = "exponential(rate = 0.8 /s)"
        size = "10 kB"
        [[chain.branch]]
        share = 0.5
        steps = [{ station = "web", demand = "constant(500 ms)" }, { station = "line" }]
        [[chain.branch]]
        share = 0.5
        steps = [{ station = "web", demand = "constant(1.5 s)" }, { station = "line" }]
    "#;
    let known = answer(&read(text)).unwrap();
    // E[S] = 1, E[S^2] = 1.25, rho = .8, r = 4: his equations 2.1 and 2.2.
    let (wait, slope) = (0.8f64.powi(4) / 0.2 * 1.25 / 2.0, (1.0 - 0.8f64.powi(4)) / 0.2);
    let line = 0.08 / (1.0 - 0.8 * 0.08);
    agree(value(&known, "response_time_mean_web"), wait + slope, 1e-12);
    agree(value(&known, "response_time_mean_jobs_1"), wait + 0.5 * slope + line, 1e-12);
    agree(value(&known, "response_time_mean_jobs_2"), wait + 1.5 * slope + line, 1e-12);
    is_exact(&known, "response_time_mean_web", false);
    is_exact(&known, "utilization_web", true);
    is_exact(&known, "throughput", true);
    // One size that two queues in order read: Kleinrock's independence does not hold.
    let tandem = "[[station]]\nname = \"a\"\nrate = \"1 Mbit/s\"\ndiscipline = \"fcfs\"\n[[station]]\nname = \"b\"\n\
                  rate = \"2 Mbit/s\"\ndiscipline = \"fcfs\"\n[[chain]]\nname = \"packets\"\n\
                  arrivals = \"exponential(rate = 10 /s)\"\nsize = \"exponential(mean = 1 kB)\"\n\
                  steps = [{ station = \"a\" }, { station = \"b\" }]\n";
    let twice = answer(&read(tandem)).unwrap();
    assert!(has_note(&twice, "not independent"), "{:?}", twice.notes);
    let once = answer(&read(
        &tandem.replace("{ station = \"b\" }", "{ station = \"b\", size = \"exponential(mean = 1 kB)\" }"),
    ));
    is_exact(&once.unwrap(), "response_time_mean", true);
}

#[test]
fn classes_of_sizes_take_their_own_time() {
    let text = |discipline: &str| {
        format!(
            "[[station]]\nname = \"web\"\n{discipline}\n[[chain]]\nname = \"jobs\"\n\
             arrivals = \"exponential(rate = 40 /s)\"\nsize = \"uniform(low = 0 B, high = 20 kB)\"\n\
             size_limits = [\"5 kB\", \"10 kB\"]\nsteps = [{{ station = \"web\", demand = \"10 ms + 1 us/B\" }}]\n"
        )
    };
    // 12.5, 17.5 and 25 ms of work by hand, a quarter, a quarter and half of the jobs; utilisation 0.8.
    let classes = [(0.25, 0.0125), (0.25, 0.0175), (0.5, 0.025)];
    let second_moment_s2 = 0.02f64.powi(2) + 0.02f64.powi(2) / 12.0;
    for (discipline, helpers) in [("discipline = \"ps\"", None), ("discipline = \"limited-ps\"\nhelpers = 4", Some(4))]
    {
        let known = answer(&read(&text(discipline))).unwrap();
        let mut mean = 0.0;
        for (number, (share, work_s)) in classes.iter().enumerate() {
            let time = value(&known, &format!("response_time_mean_jobs_size_{}", number + 1));
            let rate = 40.0;
            let alone = sojourn_theory::formula::sharing::fujita::response_time_mean_of(
                *work_s,
                helpers,
                rate,
                0.02,
                second_moment_s2,
            );
            agree(time, alone, 1e-12);
            agree(value(&known, &format!("share_jobs_size_{}", number + 1)), *share, 1e-12);
            mean += share * time;
        }
        agree(mean, value(&known, "response_time_mean"), 1e-12);
        is_exact(&known, "response_time_mean_jobs_size_1", helpers.is_none());
    }
    // First come, first served: what a short job waits for is not in proportion to its work.
    let line = text("discipline = \"fcfs\"").replace("uniform(low = 0 B, high = 20 kB)", "exponential(mean = 10 kB)");
    let known = answer(&read(&line.replace("10 ms + 1 us/B", "1 us/B"))).unwrap();
    is_exact(&known, "response_time_mean", true);
    assert!(known.estimate("response_time_mean_jobs_size_1").is_none());
}

#[test]
fn caches_choose_the_branch() {
    let text = |cache: &str, population: &str| {
        format!(
            "[[station]]\nname = \"line\"\ndiscipline = \"ps\"\n[[station]]\nname = \"proxy\"\ndiscipline = \"ps\"\n\
             [[chain]]\nname = \"users\"\n{population}\ncache = {{ {cache} }}\n\
             [[chain.branch]]\nsteps = [{{ station = \"proxy\", demand = \"10 ms\" }}]\n\
             [[chain.branch]]\nsteps = [{{ station = \"proxy\", demand = \"10 ms\" }}, \
             {{ station = \"line\", demand = \"100 ms\" }}]\n"
        )
    };
    let open = "arrivals = \"exponential(rate = 5 /s)\"";
    let lru = answer(&read(&text("policy = \"lru\", size = 2, objects = 5, popularity = 1", open))).unwrap();
    printed(value(&lru, "hit_ratio_users"), ".518885");
    agree(value(&lru, "utilization_line"), 5.0 * (1.0 - 0.518885) * 0.1, 1e-6);
    is_exact(&lru, "hit_ratio_users", true);
    is_exact(&lru, "response_time_mean", false);
    assert!(has_note(&lru, "King"), "{:?}", lru.notes);
    let lfu = answer(&read(&text("policy = \"lfu\", size = 2, objects = 5, popularity = 1", open))).unwrap();
    is_exact(&lfu, "response_time_mean", true);
    // Users who are served faster ask more, and so find more: the ratio is that of the throughput that it leads to.
    let closed = "users = 3\nthink = \"1 s\"";
    let ttl = solve(&read(&text("policy = \"ttl\", ttl = \"2 s\", objects = 5, popularity = 1", closed))).unwrap();
    let popularity = sojourn_model::network::Cache::zipf(
        sojourn_model::network::Keeps::Lru(sojourn_model::network::Room::Objects(1)),
        5,
        1.0,
    )
    .popularity;
    let wanted = sojourn_theory::cache::time_to_live(&popularity, 2.0, false, ttl.throughput[0]);
    agree(ttl.hit_ratios[0].unwrap().value, wanted, 1e-10);
    agree(ttl.shares[0][0], wanted, 1e-10);
    assert!(!ttl.exact);
}

#[test]
fn mixed_chains_share_a_line() {
    let text = format!(
        "{JAIN}\n[[chain]]\nname = \"others\"\narrivals = \"exponential(rate = 0.1 /s)\"\n\
         steps = [{{ station = \"a\", demand = \"exponential(mean = 300 ms)\", visits = 5 }}]\n"
    );
    let known = answer(&read(&text)).unwrap();
    agree(value(&known, "throughput_others"), 0.1, 1e-12);
    agree(value(&known, "throughput"), 0.1 + value(&known, "throughput_users"), 1e-12);
    // The open ones take 15 % of the disk; the closed ones are left the rest.
    assert!(value(&known, "throughput_users") < 0.85 / 3.0 && value(&known, "throughput_users") > 0.84 / 3.0);
    let others = value(&known, "response_time_mean_others");
    agree(others, 5.0 * value(&known, "response_time_mean_a"), 0.06);
    is_exact(&known, "response_time_mean_others", true);
}

/// Baskett et al. 1975: a core that is always the last comer's has product form for any work, as one that all share.
#[test]
fn the_last_comer_first_is_as_exact_as_sharing() {
    let network = |discipline: &str| {
        let text = format!(
            "[[station]]\nname = \"line\"\n{discipline}\n[[station]]\nname = \"disk\"\ndiscipline = \"ps\"\n[[chain]]\nname = \
             \"jobs\"\nusers = 7\nthink = \"1 s\"\nsteps = [{{ station = \"line\", demand = \"hyperexponential(mean = 0.3 s, \
             cv = 3)\" }}, {{ station = \"disk\", demand = \"0.2 s\" }}]\n"
        );
        answer(&read(&text)).unwrap()
    };
    let (last, shared) = (network("discipline = \"lcfs\"\npreemptive = true"), network("discipline = \"ps\""));
    is_exact(&last, "response_time_mean_jobs", true);
    assert_eq!(value(&last, "response_time_mean_jobs"), value(&shared, "response_time_mean_jobs"));
    let waits = network("discipline = \"fcfs\"");
    is_exact(&waits, "response_time_mean_jobs", false);
}

#[test]
fn what_no_formula_knows_is_refused_by_name() {
    let line = "[[station]]\nname = \"line\"\ndiscipline = \"fcfs\"\n[[chain]]\nname = \"jobs\"\n";
    let steps = "steps = [{ station = \"line\", demand = \"DEMAND\" }]\n";
    let with = |arrivals: &str, demand: &str| format!("{line}{arrivals}\n{}", steps.replace("DEMAND", demand));
    let poisson = "arrivals = \"exponential(rate = 1 /s)\"";
    let cases = [
        (with("arrivals = \"erlang(k = 2, mean = 1 s)\"", "0.5 s"), &["`jobs`", "not exponential", "sim"][..]),
        (with(poisson, "2 s"), &["`jobs`", "`line`", "2", "below 0.5 /s"]),
        (with(poisson, "pareto(alpha = 1.5, mean = 0.5 s)"), &["`line`", "no variance"]),
        (
            with(poisson, "0.5 s").replace("fcfs", "least-attained-service"),
            &["`line`", "least-attained-service", "sim"],
        ),
        (with("users = 5\nthink = \"1 s\"", "pareto(alpha = 0.9, min = 0.5 s)"), &["`jobs`", "`line`", "no mean"]),
        (with("users = 5\nthink = \"pareto(alpha = 0.9, min = 0.5 s)\"", "0.5 s"), &["think time", "`jobs`"]),
    ];
    for (text, needles) in cases {
        let message = answer(&read(&text)).expect_err(&text).to_string();
        assert!(!message.contains('\n'), "{message}");
        for needle in needles {
            assert!(message.contains(needle), "{message:?}, not {needle:?}");
        }
    }
}

//! Kendall's notation: what is read, what is answered, and what is refused with which words.

use sojourn_stats::{Dimension, Estimate, Law};
use sojourn_theory::queue::Question;
use sojourn_theory::{Answer, Queue, QueueError};

use crate::{agree, printed};

fn law(text: &str) -> Law {
    Law::parse(text, Dimension::Time).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn ask(queue: &str, gaps: &str, service: &str) -> Result<Answer, QueueError> {
    Queue::parse(queue)?.answer(&law(gaps), &law(service))
}

fn value(answer: &Answer, metric: &str) -> f64 {
    answer.estimate(metric).and_then(Estimate::value).unwrap_or_else(|| panic!("no {metric}: {answer:?}"))
}

const H2: &str = "hyperexponential(mean = 1 s, cv = 2)";
/// Of the same moments, and not made of stages.
const WIDE: &str = "lognormal(mean = 1 s, cv = 2)";

#[test]
fn queues_that_are_answered() {
    // Queue, gaps, service, exact?, metric, value.
    for (queue, gaps, service, exact, metric, wanted) in [
        ("M/M/1", "exponential(rate = 0.8 /s)", "exponential(mean = 1 s)", true, "response_time_mean", "5"),
        ("M/M/1", "exponential(rate = 0.9 /s)", "exponential(mean = 1 s)", true, "response_time_p99", "46.052"),
        ("M/M/1", "exponential(rate = 0.9 /s)", "exponential(mean = 1 s)", true, "response_time_p99.9", "69.078"),
        ("m/m/3", "exponential(rate = 2 /s)", "exponential(mean = 1 s)", true, "waiting_time_mean", "0.4444"),
        ("M/M/3", "exponential(rate = 2 /s)", "exponential(mean = 1 s)", true, "number_in_system_mean", "2.8889"),
        ("M/M/10", "exponential(rate = 9 /s)", "exponential(mean = 1 s)", true, "response_time_p95", "4.3609"),
        ("M/M/3/7", "exponential(rate = 40 /s)", "exponential(rate = 30 /s)", true, "response_time_mean", ".036517"),
        ("M/M/4/6", "exponential(rate = 50 /s)", "exponential(rate = 10 /s)", true, "error_ratio", ".293543"),
        ("M/G/10/10", "exponential(rate = 10 /s)", "lognormal(mean = 1 s, cv = 3)", true, "error_ratio", ".214582"),
        ("M/G/1/10-PS", "exponential(rate = 0.8 /s)", H2, true, "error_ratio", ".02349286"),
        ("M/G/1/10-PS", "exponential(rate = 0.8 /s)", H2, true, "response_time_mean", "3.797098"),
        ("M/D/1", "exponential(rate = 0.8 /s)", "1 s", true, "waiting_time_mean", "2"),
        ("M/E2/1", "exponential(rate = 0.8 /s)", "erlang(k = 2, mean = 1 s)", true, "waiting_time_mean", "3"),
        ("M/E2/1", "exponential(rate = 0.8 /s)", "gamma(shape = 2, mean = 1 s)", true, "waiting_time_mean", "3"),
        ("M/H2/1", "exponential(rate = 0.8 /s)", H2, true, "waiting_time_mean", "10"),
        ("M/G/1-PS", "exponential(rate = 0.8 /s)", "pareto(alpha = 1.1, mean = 1 s)", true, "response_time_mean", "5"),
        ("M/G/1-PS", "exponential(rate = 0.8 /s)", "1 s", true, "response_time_mean", "5"),
        ("M/G/3-PS", "exponential(rate = 2 /s)", H2, true, "number_in_system_mean", "2.8889"),
        ("M/G/1-LPS(1)", "exponential(rate = 0.8 /s)", H2, true, "response_time_mean", "11"),
        ("M/M/1-LPS(4)", "exponential(rate = 0.8 /s)", "exponential(mean = 1 s)", true, "response_time_mean", "5"),
        ("M/M/1-LPS(4)", "exponential(rate = 0.8 /s)", "exponential(mean = 1 s)", true, "waiting_time_mean", "2.048"),
        ("M/G/1-LPS( 8 )", "exponential(rate = 0.8 /s)", H2, true, "response_time_mean", "6.135297"),
        ("M/G/1-LPS(8)", "exponential(rate = 0.8 /s)", H2, true, "delay_probability", ".182301"),
        ("M/G/1-LPS(8)", "exponential(rate = 0.8 /s)", WIDE, false, "response_time_mean", "6.258"),
        (
            "M/M/1-LPS(10)",
            "exponential(rate = 0.8 /s)",
            "exponential(mean = 1 s)",
            true,
            "response_time_p99.9",
            "52.980",
        ),
        ("M/M/1-PS", "exponential(rate = 0.9 /s)", "exponential(mean = 1 s)", true, "response_time_p99", "78.333"),
        ("M/M/10///FCFS", "exponential(rate = 9 /s)", "exponential(mean = 1 s)", true, "delay_probability", ".668732"),
        ("M/M/10/10", "exponential(rate = 9 /s)", "exponential(mean = 1 s)", true, "blocking_probability", ".167963"),
        ("M/G/1", "exponential(rate = 0.8 /s)", H2, true, "break_even_size", "2.5"),
        ("M/E3/1/40", "exponential(rate = 0.5 /s)", "erlang(k = 3, mean = 1 s)", true, "waiting_time_mean", ".6667"),
        ("M/D/1/1", "exponential(rate = 1 /s)", "1 s", true, "blocking_probability", ".5"),
        ("GI/M/1", "uniform(low = 0 s, high = 2.5 s)", "exponential(mean = 1 s)", true, "delay_probability", ".71597"),
        ("E2/M/1", "erlang(k = 2, rate = 0.8 /s)", "exponential(mean = 1 s)", true, "response_time_mean", "3.843980"),
        (
            "GI/M/1-PS",
            "erlang(k = 2, rate = 0.8 /s)",
            "exponential(mean = 1 s)",
            true,
            "response_time_mean",
            "3.843980",
        ),
        ("D/M/1", "1.25 s", "exponential(mean = 1 s)", true, "waiting_time_mean", "1.692731"),
        (
            "H2/M/1",
            "hyperexponential(mean = 2 s, cv = 2)",
            "exponential(mean = 1 s)",
            true,
            "waiting_time_mean",
            "2.162278",
        ),
        // The moments of D/M/1 and C2 = 1: nothing but the two moments is known of the service.
        ("D/G/1", "1.25 s", "lognormal(mean = 1 s, cv = 1)", false, "waiting_time_mean", "1.692963"),
    ] {
        let answer = ask(queue, gaps, service).unwrap_or_else(|error| panic!("{queue}: {error}"));
        printed(value(&answer, metric), wanted);
        let is_exact = matches!(answer.estimate(metric), Some(Estimate::Exact { .. }));
        assert_eq!(is_exact, exact, "{queue} {metric}");
        assert!(answer.notes.iter().any(|note| note.starts_with("formula: ")), "{queue}");
        // Little's law, whatever the formula; and work in = work out.
        let throughput = value(&answer, "throughput");
        let number = throughput * value(&answer, "response_time_mean");
        agree(value(&answer, "number_in_system_mean"), number, 1e-12);
        let servers = f64::from(Queue::parse(queue).unwrap().servers);
        agree(value(&answer, "utilization"), throughput * value(&answer, "service_time_mean") / servers, 1e-12);
    }
}

#[test]
fn every_pair_of_letters_has_an_answer_that_is_not_absurd() {
    let laws = |mean: f64| {
        [
            ("M", format!("exponential(mean = {mean} s)")),
            ("D", format!("constant({mean} s)")),
            ("E3", format!("erlang(k = 3, mean = {mean} s)")),
            ("H2", format!("hyperexponential(mean = {mean} s, cv = 5)")),
            ("G", format!("weibull(shape = 0.5, mean = {mean} s)")),
        ]
    };
    for servers in [1, 2, 12] {
        for discipline in ["", "-PS", "-LPS(1)", "-LPS(3)", "-LPS(1000)"] {
            for rho in [1e-6, 0.3, 0.999] {
                let usable = if discipline == "-LPS(1)" {
                    1
                } else if discipline == "-LPS(3)" {
                    servers.min(3)
                } else {
                    servers
                };
                for (a, gaps) in laws(2.0 / rho / f64::from(usable)) {
                    for (s, service) in laws(2.0) {
                        let queue = format!("{a}/{s}/{servers}{discipline}");
                        let answer = ask(&queue, &gaps, &service).unwrap_or_else(|error| panic!("{queue}: {error}"));
                        let response = value(&answer, "response_time_mean");
                        assert!(response >= 2.0 * (1.0 - 1e-9) && response.is_finite(), "{queue} at {rho}: {response}");
                        if rho < 1e-3 && a != "H2" && a != "G" {
                            agree(response, 2.0, 1e-3);
                        }
                        if let Some(waiting) = answer.estimate("waiting_time_mean").and_then(Estimate::value) {
                            let beyond_service = response - 2.0;
                            assert!((0.0..=beyond_service + 1e-9 * response).contains(&waiting), "{queue}: {waiting}");
                        }
                    }
                }
            }
        }
    }
}

/// Served in order, a job starts at once or waits for an exponential time, and then has an exponential service: percentiles and
/// spread of the sum, from the chance and the mean of the wait.
#[test]
fn a_wait_in_order_is_none_or_exponential() {
    for (queue, gaps) in [
        ("M/M/1", "exponential(rate = 0.8 /s)"),
        ("M/M/3", "exponential(rate = 2.2 /s)"),
        ("E2/M/1", "erlang(k = 2, rate = 0.8 /s)"),
        ("GI/M/1", "uniform(low = 0 s, high = 2.5 s)"),
        ("E3/M/4", "erlang(k = 3, rate = 3.5 /s)"),
        ("H2/M/2", "hyperexponential(mean = 0.7 s, cv = 2)"),
        ("M/M/5-LPS(3)", "exponential(rate = 2.5 /s)"),
    ] {
        let answer = ask(queue, gaps, "exponential(mean = 1 s)").unwrap();
        let (delayed, waiting) = (value(&answer, "delay_probability"), value(&answer, "waiting_time_mean"));
        let drain = delayed / waiting;
        agree(value(&answer, "response_time_mean"), 1.0 + waiting, 1e-9);
        agree(value(&answer, "response_time_std").powi(2), 1.0 + 2.0 * delayed / drain.powi(2) - waiting.powi(2), 1e-6);
        let sum = |t: f64| (drain * (-t).exp() - (-drain * t).exp()) / (drain - 1.0);
        for (metric, above) in [("response_time_p50", 0.5), ("response_time_p99", 0.01)] {
            let t = value(&answer, metric);
            agree((1.0 - delayed) * (-t).exp() + delayed * sum(t), above, 1e-6);
        }
    }
}

#[test]
fn every_number_says_whether_it_is_exact() {
    let answer = ask("GI/G/2", "erlang(k = 3, rate = 1.6 /s)", "lognormal(mean = 1 s, cv = 2)").unwrap();
    let exact = |metric: &str| matches!(answer.estimate(metric), Some(Estimate::Exact { .. }));
    assert!(!exact("response_time_mean") && !exact("waiting_time_mean") && !exact("number_in_system_mean"));
    assert!(exact("utilization") && exact("throughput"));
    assert!(answer.estimate("response_time_p99").is_none());
    assert!(answer.notes.contains(&"Poisson arrivals: no (C2 = 0.33333)".to_owned()), "{:?}", answer.notes);
}

#[test]
fn an_infinite_mean_wait_is_said_in_a_line_and_the_rest_is_answered() {
    let answer = ask("M/G/1", "exponential(rate = 0.5 /s)", "pareto(alpha = 1.5, mean = 1 s)").unwrap();
    assert!(answer.estimate("response_time_mean").is_none());
    assert_eq!(value(&answer, "utilization"), 0.5);
    let why = &answer.notes[0];
    assert!(why.starts_with("response_time_mean: the mean wait is infinite"), "{why}");
    assert!(["bounded-pareto", "max =", "PS"].iter().all(|way| why.contains(way)), "{why}");
    // Sharing takes the sting out of it.
    let shared = ask("M/G/1-PS", "exponential(rate = 0.5 /s)", "pareto(alpha = 1.5, mean = 1 s)").unwrap();
    printed(value(&shared, "response_time_mean"), "2");
}

#[test]
fn the_notation_is_written_back() {
    for text in [
        "M/M/1",
        "M/G/1-PS",
        "E2/D/3/40",
        "H2/M/1-LPS(8)",
        "D/E10/12",
        "M/M/3//20",
        "M/M/3/5/20-SIRO",
        "M/G/1-LAS",
        "M/G/1-RR(10 ms)",
        "M/G/1-LCFS",
        "M/G/1-LCFS-PR",
        "M/G/1-PRIO",
        "M/G/1-PRIO-PR",
    ] {
        assert_eq!(Queue::parse(text).unwrap().to_string(), text);
    }
    assert_eq!(Queue::parse(" gi/g/1-fifo ").unwrap().to_string(), "G/G/1");
    // The sixth place is the discipline too, and empty ones are unlimited.
    assert_eq!(Queue::parse("m/g/1//inf/lcfs-pr").unwrap().to_string(), "M/G/1-LCFS-PR");
    assert_eq!(Queue::parse("M/M/2/4//RSS").unwrap().to_string(), "M/M/2/4-SIRO");
}

#[test]
fn bad_notation_is_one_line_that_says_what_would_be_right() {
    for (text, says) in [
        ("", "1 part(s) between the slashes, not 3 to 6"),
        ("M", "1 part(s)"),
        ("M/M", "the number of servers is missing; did you mean `M/M/1`?"),
        ("M/M/JSQ", "the number of servers is missing; did you mean `M/M/4-JSQ`?"),
        ("M/G/PS", "the number of servers is missing; did you mean `M/G/1-PS`?"),
        ("M/M/1/2/3/4/5", "discipline `4/5` is none of"),
        ("X/M/1", "arrivals `X` is none of M, D, G, GI, E2"),
        ("M/Q/1", "service `Q` is none of"),
        ("E/M/1", "needs a number of phases from 1 up, e.g. E2"),
        ("E0/M/1", "needs a number of phases"),
        ("E-2/M/1", "discipline `2/M/1` is none of"),
        ("H3/M/1", "none of M, D, G, GI, E2 (any number) and H2"),
        ("M/M/0", "the number of servers is `0`, not a whole number from 1"),
        ("M/M/-1", "the number of servers is `-1`, not a whole number from 1 to 1000000, nor `inf`"),
        ("MM1", "1 part(s) between the slashes, not 3 to 6; did you mean `M/M/1`?"),
        ("M/M/4/JSQ", "the room K is `JSQ`, not a whole number from 1 to 1000000; did you mean `M/M/4-JSQ`?"),
        ("M/M/1.5", "the number of servers is `1.5`"),
        ("M/M/99999999999", "the number of servers is `99999999999`"),
        ("M/M/4/2", "room for 2 is less than the 4 servers"),
        ("M/M/1/0", "the room K is `0`"),
        ("M/M/1-SRPT", "discipline `SRPT` (shortest remaining processing time) is none of FCFS, PS, LPS(8)"),
        ("M/M/1-SJF", "LAS is near it"),
        ("M/M/1-RR", "needs its quantum, a time above 0, e.g. RR(10 ms)"),
        ("M/M/1-RR(5)", "needs its quantum"),
        ("M/M/1-RR(0 s)", "needs its quantum"),
        ("M/M/1//x", "`x` is a letter; did you mean a number, for example `M/M/1//20`?"),
        ("M/M/1//xx", "the population is `xx`"),
        ("M/M/c", "`c` is a letter; did you mean a number, for example `M/M/4`?"),
        ("M/M/1///PS-PS", "discipline `PS-PS` is none of"),
        ("M/M/1///-PS", "there is no discipline `-PS`; did you mean `M/M/1-PS`?"),
        ("M/M/1-", "discipline `` is none of"),
        ("M/M/4-JQS", "there is no discipline `JQS`; did you mean `M/M/4-JSQ`?"),
        ("M/M/4-jsqq", "there is no discipline `jsqq`; did you mean `M/M/4-JSQ`?"),
        ("jsqq", "1 part(s) between the slashes, not 3 to 6; did you mean `M/M/4-JSQ`?"),
        ("M/M/1-LPS", "needs the number of jobs that share, e.g. LPS(8)"),
        ("M/M/1-LPS(0)", "needs the number of jobs"),
        ("M/M/1-LPS(8", "needs the number of jobs"),
        ("M/M/1 -PS-PS", "discipline `PS-PS` is none of"),
    ] {
        let error = Queue::parse(text).expect_err(text).to_string();
        assert!(error.contains(says), "{text}: {error}");
        // Who is told what was meant needs no example, and nothing comes after the question.
        let is_asked = error.contains("did you mean");
        assert!(error.contains("e.g. M/G/1-PS") != is_asked && error.ends_with('?') == is_asked, "{error}");
        assert!(!error.contains('\n'), "{error}");
    }
}

#[test]
fn laws_that_break_their_letter_and_queues_without_an_answer() {
    let poisson = "exponential(rate = 0.8 /s)";
    for (queue, gaps, service, says) in [
        ("M/M/1", "1.25 s", "exponential(mean = 1 s)", "arrivals of `M/M/1`: M is the exponential law"),
        ("M/M/1", "1.25 s", "exponential(mean = 1 s)", "write D instead"),
        ("M/M/1", poisson, "lognormal(mean = 1 s, cv = 1)", "squared coefficient of variation is 1); write G"),
        ("M/D/1", poisson, "exponential(mean = 1 s)", "it is exponential); write M instead"),
        ("M/E2/1", poisson, "erlang(k = 3, mean = 1 s)", "it is Erlang of 3 phases); write E3 instead"),
        ("M/E2/1", poisson, "lognormal(mean = 1 s, cv = 0.7071067811865476)", "write G instead"),
        ("M/H2/1", poisson, "lognormal(mean = 1 s, cv = 2)", "balanced means, but this law is not"),
        ("M/M/1", "exponential(rate = 1.25 /s)", "exponential(mean = 1 s)", "utilization 1.25 is not below 1"),
        ("M/M/1", "exponential(rate = 1.25 /s)", "exponential(mean = 1 s)", "stable below 1 /s (now 1.25 /s)"),
        ("M/M/4", "exponential(rate = 9 /s)", "exponential(mean = 500 ms)", "stable below 8 /s"),
        ("M/M/4-LPS(2)", "exponential(rate = 2.5 /s)", "exponential(mean = 1 s)", "stable below 2 /s"),
        ("M/G/1", poisson, "pareto(alpha = 1, min = 1 s)", "bounded-pareto, or redraw at `max =`"),
        ("M/G/1", poisson, "pareto(alpha = 0.9, min = 1 s)", "service: the law has no mean"),
        ("M/G/1-PS", poisson, "pareto(alpha = 0.9, min = 1 s)", "PS needs a mean"),
        ("M/G/1/5-LPS(2)", poisson, WIDE, "`M/G/1/5-LPS(2)`: no formula for a limited room under this discipline"),
        ("D/M/1/5", "1.25 s", "exponential(mean = 1 s)", "unless arrivals are Poisson or all laws are made of few"),
    ] {
        let error = ask(queue, gaps, service).expect_err(queue).to_string();
        assert!(error.contains(says), "{queue}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
    // A limited room is stable at any load.
    printed(
        value(&ask("M/M/1/1", "exponential(rate = 3 /s)", "exponential(mean = 1 s)").unwrap(), "error_ratio"),
        ".75",
    );
}

#[test]
fn populations() {
    // The machine repairman: 3 servers, 12 users that stay away for 20 s on average, whatever the law.
    for away in ["exponential(mean = 20 s)", "20 s", "lognormal(mean = 20 s, cv = 3)"] {
        let answer = ask("GI/M/3//12", away, "exponential(mean = 1 s)").unwrap();
        let known = sojourn_theory::formula::markovian::repairman::solve(12, 20.0, 3, 3, 1.0);
        agree(value(&answer, "response_time_mean"), known.response_time_mean_s, 1e-12);
        agree(value(&answer, "throughput"), known.throughput, 1e-12);
    }
    let shared = ask("M/G/1//5-PS", "exponential(mean = 3 s)", WIDE).unwrap();
    let known = sojourn_theory::formula::markovian::repairman::solve(5, 3.0, 1, 5, 1.0);
    agree(value(&shared, "response_time_mean"), known.response_time_mean_s, 1e-12);
    assert_eq!(value(&shared, "waiting_time_mean"), 0.0);
    // Room for the servers only, and sources without number: Engset, and Erlang B as they grow.
    let engset = ask("M/M/2/2/4", "exponential(mean = 4 s)", "exponential(mean = 1 s)").unwrap();
    // By hand: p(n) ~ (4 over n) / 4^n, of which n = 2 block 2 of the 4-n that are away.
    let weights = [1.0, 1.0, 6.0 / 16.0];
    let asking: f64 = (0..3).map(|n| weights[n] * (4 - n) as f64).sum();
    agree(value(&engset, "blocking_probability"), weights[2] * 2.0 / asking, 1e-12);
    let many = ask("M/M/3/3/1000000", "exponential(mean = 500000 s)", "exponential(mean = 1 s)").unwrap();
    agree(value(&many, "blocking_probability"), 0.210526, 1e-4);
    let all = ask("M/M/2/9/4", "exponential(mean = 4 s)", "exponential(mean = 1 s)").unwrap();
    assert_eq!(value(&all, "error_ratio"), 0.0);
}

#[test]
fn all_approximations_beside_the_answer() {
    let (gaps, service) = (law("1.25 s"), law("exponential(mean = 1 s)"));
    let question = Question { gaps: &gaps, service: &service, sizes_s: &[2.0], all: true, means_only: false };
    let answer = Queue::parse("D/M/1").unwrap().answer_to(&question).unwrap();
    for (name, wanted, exact) in [
        ("waiting_time_mean", "1.692731", true),
        ("response_time_mean_at_2s", "3.692731", true),
        ("waiting_time_mean_kraemer_langenbach_belz", "1.692963", false),
        ("waiting_time_mean_allen_cunneen", "2.0", false),
    ] {
        printed(value(&answer, name), wanted);
        assert_eq!(matches!(answer.estimate(name), Some(Estimate::Exact { .. })), exact, "{name}");
    }
    assert!(value(&answer, "waiting_time_mean_kingman_bound") > 1.692731);
    assert!(value(&answer, "waiting_time_mean_marchal") > 0.0);
    // A job that shares, or is turned away, does not wait as they say.
    let poisson = law("exponential(rate = 0.8 /s)");
    for queue in ["M/M/1-PS", "M/M/1/5", "M/M/1-LCFS-PR"] {
        let answer = Queue::parse(queue).unwrap().answer_to(&Question { gaps: &poisson, ..question }).unwrap();
        assert!(answer.estimate("waiting_time_mean_marchal").is_none(), "{queue}");
        assert!(answer.notes.iter().any(|note| note.starts_with("approximations: ")), "{queue}: {:?}", answer.notes);
    }
    let question = Question { sizes_s: &[0.0], ..question };
    let error = Queue::parse("D/M/1").unwrap().answer_to(&question).unwrap_err().to_string();
    assert!(error.contains("a size of 0 s"), "{error}");
}

#[test]
fn percentiles_of_every_law_that_is_given_in_full() {
    // M/G/1 FCFS of a law that is not made of stages has its percentiles, and more service spreads them.
    let p99 = |cv: f64| {
        let answer = ask("M/G/1", "exponential(rate = 0.7 /s)", &format!("lognormal(mean = 1 s, cv = {cv})")).unwrap();
        assert!(
            matches!(answer.estimate("response_time_p99"), Some(Estimate::Approximate { .. })),
            "it is from a grid"
        );
        value(&answer, "response_time_p99")
    };
    assert!(p99(0.5) < p99(1.0) && p99(1.0) < p99(1.5));
}

#[test]
fn disciplines_are_those_of_server_models() {
    use sojourn_theory::queue::Discipline;
    for text in ["FCFS", "PS", "LPS(8)", "LAS", "RR(10 ms)", "LCFS", "LCFS-PR", "PRIO", "PRIO-PR"] {
        let discipline = Queue::parse(&format!("M/G/1-{text}")).unwrap().discipline;
        let server = discipline.for_server().unwrap_or_else(|| panic!("no server is {text}"));
        assert_eq!(Discipline::of_server(&server), Some(discipline));
        assert_eq!(discipline.to_string(), text);
    }
    // No server model serves at random.
    assert_eq!(Discipline::Siro.for_server(), None);
}

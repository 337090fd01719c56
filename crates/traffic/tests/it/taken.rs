//! A description names the laws that a workload is written with: the same requests, the same law, the same reason.

use sojourn_stats::{Dimension, Law, Stream};
use sojourn_traffic::describe::{Covered, Description, Numbers, Value, covered, describe, describe_numbers};
use sojourn_traffic::fit;
use sojourn_traffic::log::Log;

use crate::support::{line, number, read, value};

fn text<'a>(description: &'a Description, name: &str) -> &'a str {
    match value(description, name) {
        Value::Text(text) => text,
        other => panic!("{name} is {other:?}"),
    }
}

/// Two heaps, of which the likeliest law is not the nearest; a law without a variance, which is cut; a value that is three
/// eighths of all, beside others; and nothing but one value.
#[test]
fn the_law_of_a_column_is_the_one_that_is_written() {
    let drawn = |law: &str, count: usize, name: &str| -> Vec<f64> {
        let (law, mut stream) = (Law::parse(law, Dimension::Number).unwrap(), Stream::new(1, "fit", name));
        (0..count).map(|_| law.sample(&mut stream)).collect()
    };
    let heaps = drawn("mix(0.9: normal(mean = 10, sd = 1), 0.1: exponential(mean = 0.0001))", 5000, "heaps");
    let heavy = drawn("pareto(alpha = 1.2, min = 1)", 5000, "heavy");
    let others = drawn("lognormal(mean = 100, cv = 0.5)", 5000, "others");
    let atom: Vec<f64> = [vec![1000.0; 3000], others].concat();
    for (name, values) in [("heaps", heaps), ("heavy", heavy), ("atom", atom), ("one value", vec![7.0; 100])] {
        let column = Numbers { values, ..Numbers::default() };
        let description = describe_numbers(&column, Dimension::Number);
        let written = fit::of_numbers(&column, Dimension::Number).unwrap();
        assert_eq!(text(&description, "number_law"), written.lines().last().unwrap(), "{name}: {written}");
        let variable = &description.variables[0];
        assert!(written.replace("\n# ", " ").contains(&variable.verdict()), "{name}: {written}");
        let off = number(&description, "number_law_distance");
        match name {
            "heaps" => {
                let taken = variable.chosen().unwrap();
                assert!(taken.family != variable.fits[0].family && off == taken.kolmogorov, "{written}");
            }
            "heavy" => {
                let law = Law::parse(written.lines().last().unwrap(), Dimension::Number).unwrap();
                assert!(law.scv().is_finite(), "{written}");
                // What is said is of the law that is taken, which has a variance.
                let remark = description.remarks.iter().find(|remark| remark.contains("no finite variance"));
                let remark = remark.unwrap_or_else(|| panic!("{:?}", description.remarks));
                let cut =
                    "the law that fits number has no finite variance, so the one that is taken is cut at the largest";
                assert!(
                    remark.starts_with(cut) && remark.ends_with("its variance hangs on that one value"),
                    "{remark}"
                );
            }
            // Six errors of an empirical distribution function of 8,000.
            "atom" => assert!(off < 6.0 * 0.5 / 8000f64.sqrt(), "{off}"),
            _ => assert_eq!(off, 0.0),
        }
    }
}

/// A law without a mean is cut at the largest value, and has one then: that is what is said, and nothing is of what has both.
#[test]
fn a_law_that_is_cut_has_a_mean_that_hangs_on_the_largest_value() {
    let of = |law: &str| {
        let law = Law::parse(law, Dimension::Time).unwrap();
        let values: Vec<f64> = (0..3000).map(|n| law.quantile((f64::from(n) + 0.5) / 3000.0).unwrap()).collect();
        let largest = values[2999];
        (largest, describe_numbers(&Numbers { values, ..Numbers::default() }, Dimension::Time))
    };
    let (largest, description) = of("pareto(alpha = 0.7, min = 1 ms)");
    let law = Law::parse(text(&description, "number_law"), Dimension::Time).unwrap();
    assert!(law.mean().is_finite() && law.cdf(1.001 * largest) == 1.0, "{law}");
    let told = |description: &Description| -> Vec<String> {
        description.remarks.iter().filter(|remark| remark.contains("no finite")).cloned().collect()
    };
    let [remark] = &told(&description)[..] else { panic!("{:?}", description.remarks) };
    let cut = "the law that fits number has no finite mean, so the one that is taken is cut at the largest value, ";
    assert!(remark.starts_with(cut) && remark.ends_with(" s: its mean hangs on that one value"), "{remark}");
    assert!(told(&of("exponential(mean = 8 ms)").1).is_empty());
}

/// A log of `count` requests, one a second, with sizes and times of their own; every twentieth fails, late and large. Three that
/// are larger and slower still, of another client, came hours before, where they are wanted.
fn log(count: u32, is_early: bool) -> Log {
    let timed = |second: u32, bytes: u64, time_s: f64| {
        format!("{} \"-\" \"curl/7\" {time_s:.3}\n", line(second, "/a", bytes).trim_end())
    };
    let mut stream = Stream::new(1, "fit", "taken");
    let size = Law::parse("lognormal(mean = 9 kB, cv = 2)", Dimension::Size).unwrap();
    let time = Law::parse("gamma(mean = 80 ms, cv = 0.5)", Dimension::Time).unwrap();
    let mut text = String::new();
    for second in 0..3 * u32::from(is_early) {
        text += &timed(second, 900_000_000, 5.0).replace("host.example", "early.example");
    }
    for n in 0..count {
        let (bytes, time_s) = (size.sample(&mut stream) as u64 + 1, time.sample(&mut stream));
        text += &match n % 20 {
            0 => timed(20_000 + n, 1000 * bytes, 10.0 + time_s).replace(" 200 ", " 500 "),
            _ => timed(20_000 + n, bytes, time_s),
        };
    }
    read(text).unwrap()
}

/// What failed, and what came before a silence, is in no law, neither in the description nor in the workload; both say of how
/// many requests they are.
#[test]
fn the_laws_of_a_log_are_of_the_requests_that_are_fitted() {
    let [plain, early] = [false, true].map(|is_early| log(4000, is_early));
    let [described, with_early] = [&plain, &early].map(describe);
    let [workload, workload_with_early] = [&plain, &early].map(|log| fit::of_log(log, "access.log").unwrap());
    for (log, description, workload, all) in
        [(&plain, &described, &workload, 4000), (&early, &with_early, &workload_with_early, 4003)]
    {
        let size = workload.lines().find_map(|line| line.strip_prefix("size = ")).unwrap();
        assert_eq!(text(description, "size_law"), size.trim_matches('"'));
        let said = workload.replace("\n# ", " ");
        let law = text(description, "response_time_law");
        assert!(said.contains("Response times, by the log (3800 of them)"), "{workload}");
        assert!(said.contains(&format!("in the mean, as {law}. ")), "{law}: {workload}");
        for variable in &description.variables {
            assert!(variable.count == 3800 || variable.name == "gap", "{}: {}", variable.name, variable.count);
            assert!(said.contains(&variable.verdict()), "{}", variable.verdict());
        }
        // The law of the gaps is stretched to the mean.
        let Covered { range, span_s, .. } = covered(log);
        let good = log.entries()[range].iter().filter(|entry| entry.status == 200).count();
        let gap = Law::parse(text(description, "gap_law"), Dimension::Time).unwrap();
        let stretched = gap.rescaled_to_mean(span_s / good as f64).unwrap();
        assert!(workload.contains(&format!("\narrivals = \"{stretched}\"\n")), "{stretched}: {workload}");
        let told = format!("laws and tails are of 3800 of {all} requests, those that `fit` takes: without what failed");
        assert!(description.remarks.iter().any(|remark| remark.contains(&told)), "{:?}", description.remarks);
        assert!(said.contains("200 requests with a status of 400 or more are left out."), "{workload}");
        assert!(workload.lines().any(|line| line == "clients = 1"), "{workload}");
        assert!(said.contains("rate and gaps are without them, sizes, response times and popularity"), "{workload}");
    }
    for name in ["size_law", "gap_law", "response_time_law"] {
        assert_eq!(value(&with_early, name), value(&described, name), "{name}");
    }
    assert!(with_early.remarks.iter().any(|remark| remark.starts_with("the log has a silence of ")));
    // The means are of all.
    assert!(number(&with_early, "size_mean") > number(&described, "size_mean"));
    // Of a log in which nothing failed there is no word of it.
    let good: String = (0..200).map(|second| line(second, "/a", 7)).collect();
    assert!(!describe(&read(good).unwrap()).remarks.iter().any(|remark| remark.contains("those that `fit` takes")));
}

/// Where no reply is a good one, their times are told and there is no law of them.
#[test]
fn failures_alone_have_times_and_no_law() {
    let text: String = (0..300)
        .map(|second| format!("{} \"-\" \"-\" 0.250\n", line(second, "/a", 9).trim_end()).replace(" 200 ", " 502 "))
        .collect();
    let description = describe(&read(text).unwrap());
    assert_eq!(value(&description, "response_times"), &Value::Count(300));
    assert!(description.facts.iter().all(|fact| fact.name != "size_law" && fact.name != "response_time_law"));
    assert_eq!(description.variables.iter().map(|of| (of.name, of.count)).next(), Some(("size", 0)));
}

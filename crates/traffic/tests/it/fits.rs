//! Workloads fitted to logs: what was put in comes out.

use sojourn_stats::{Dimension, Law, Stream, quantity};
use sojourn_traffic::describe::{Numbers, Value, describe, describe_numbers, profiled, read_column};
use sojourn_traffic::fit;
use sojourn_traffic::{Arrivals, Profile, Sizes, Workload};

use crate::support::{first, line, open, read};

/// Numbers that were written in steps of this.
fn in_steps(numbers: &[f64], step: Option<f64>) -> Numbers {
    Numbers { values: numbers.to_vec(), step, is_rounded: false }
}

/// A log of a Poisson process of `rate` per second times the level of its hour, sizes lognormal, every twentieth request
/// failed and large.
fn log(rate: f64, levels: &[f64]) -> String {
    let size = Law::parse("lognormal(mu = 8.2, sigma = 1.3, unit = B)", Dimension::Size).unwrap();
    let mut stream = Stream::new(1, "fit", "log");
    let mut text = String::new();
    let mut request = 0;
    for (hour, level) in levels.iter().enumerate() {
        let gap = Law::exponential(1.0 / (rate * level));
        let mut at_s = gap.sample(&mut stream);
        while at_s < 3600.0 {
            let second = at_s as u32;
            let (path, bytes) = (stream.below(50), size.sample(&mut stream) as u64 + 1);
            let (status, bytes) = if request % 20 == 0 { (500, bytes * 1000) } else { (200, bytes) };
            let (minute, second) = (second / 60, second % 60);
            text += &format!(
                "h{} - - [01/Aug/1995:{hour:02}:{minute:02}:{second:02} +0000] \"GET /{path} HTTP/1.0\" {status} {bytes}\n",
                request % 37
            );
            request += 1;
            at_s += gap.sample(&mut stream);
        }
    }
    text
}

fn value<'a>(workload: &'a str, key: &str) -> &'a str {
    let line = workload.lines().find(|line| line.starts_with(&format!("{key} = ")));
    line.unwrap_or_else(|| panic!("{key}: {workload}")).split_once(" = ").unwrap().1.trim_matches('"')
}

/// 6 standard errors throughout: each fails by chance once in 5e8 seeds.
#[test]
fn a_steady_log_gives_its_rate_and_sizes_back() {
    let text = log(2.0, &[1.0; 4]);
    let workload = fit::of_log(&read(&text).unwrap(), "access.log").unwrap();
    assert!(!workload.contains("profile ="), "{workload}");
    let n = 0.95 * 2.0 * 4.0 * 3600.0;
    let arrivals = Arrivals::parse(value(&workload, "arrivals")).unwrap();
    let rate = arrivals.rate().unwrap();
    assert!((rate / 1.9 - 1.0).abs() < 6.0 / f64::sqrt(n), "{rate}");
    // Gaps of a Poisson process, thinned at even places: near exponential, so of a variance near its square.
    let scv = arrivals.gaps().unwrap().scv();
    assert!((scv - 0.97).abs() < 0.2, "{scv}");
    let Sizes::Law(sizes) = Sizes::parse(value(&workload, "size")).unwrap() else { panic!("{workload}") };
    let truth = Law::parse("lognormal(mu = 8.2, sigma = 1.3, unit = B)", Dimension::Size).unwrap();
    // Medians: the standard error of a lognormal's is sigma/sqrt(n) of it.
    let median = 8.2f64.exp();
    let off = (sizes.cdf(median) - truth.cdf(median)).abs();
    assert!(off < 6.0 * 0.5 / n.sqrt(), "{off}: {workload}");
    assert!(workload.contains("requests with a status of 400 or more are left out"), "{workload}");
    assert!(workload.contains("clients = 37") && workload.contains("Zipf"), "{workload}");
}

#[test]
fn a_rate_that_changes_becomes_a_profile() {
    let levels = [0.4, 0.8, 1.6, 1.2];
    let workload = fit::of_log(&read(log(3.0, &levels)).unwrap(), "access.log").unwrap();
    let profile = Profile::parse(value(&workload, "profile")).unwrap();
    // Parts are as short as the number of requests allows; each level is of its part, to 6 errors of its count.
    for (hour, level) in levels.iter().enumerate() {
        let (from, to) = (profile.integral(hour as f64 * 3600.0), profile.integral((hour + 1) as f64 * 3600.0));
        let expected = 0.95 * 3.0 * level * 3600.0;
        let mean = (to - from) / 3600.0;
        assert!((mean - level).abs() < 6.0 * level / expected.sqrt() + 2e-3, "hour {hour}: {mean} for {level}");
    }
    let rate = Arrivals::parse(value(&workload, "arrivals")).unwrap().rate().unwrap();
    assert!((rate / 2.85 - 1.0).abs() < 6.0 / (2.85f64 * 4.0 * 3600.0).sqrt(), "{rate}");
    assert!(workload.contains("by = [\"sim\"]") && workload.contains("duration = \"14"), "{workload}");
}

/// The server that is written down is busy for 60 % of the time when the rate is at its highest: half of its work is the same
/// for each request, half of it goes by the size.
#[test]
fn the_server_to_begin_with_is_not_overloaded_at_the_peak() {
    for levels in [&[1.0; 4][..], &[0.4, 0.8, 1.6, 1.2]] {
        let log = read(log(3.0, levels)).unwrap();
        let workload = fit::of_log(&log, "access.log").unwrap();
        let (fixed, per_byte) = value(&workload, "demand").split_once(" + ").unwrap();
        let fixed_s = quantity::parse(fixed, Dimension::Time).unwrap();
        let per_byte = quantity::parse(per_byte, Dimension::TimePerSize).unwrap();
        // By the sizes that are drawn from the file.
        let by_size_s = per_byte * Sizes::parse(value(&workload, "size")).unwrap().moments().0;
        let profile = workload.contains("profile =").then(|| Profile::parse(value(&workload, "profile")).unwrap());
        assert_eq!(profile.is_some(), levels.len() > 1 && levels[0] != levels[1]);
        let level = |at_s: u32| profile.as_ref().map_or(1.0, |profile| profile.level(f64::from(at_s)));
        let peak = (0..4 * 3600).step_by(60).map(level).fold(1.0, f64::max);
        let rate = Arrivals::parse(value(&workload, "arrivals")).unwrap().rate().unwrap();
        // Four digits are written of each.
        let busy = rate * peak * (fixed_s + by_size_s);
        assert!((busy - 0.6).abs() < 1e-3 && (fixed_s / by_size_s - 1.0).abs() < 2e-3, "{busy}: {workload}");
    }
}

/// A single HEAD makes no mixture, and documents that are all as popular no line of documents: both are said.
#[test]
fn what_says_nothing_is_not_written() {
    let mut stream = Stream::new(1, "fit", "even");
    let law = Law::parse("exponential(mean = 5 kB)", Dimension::Size).unwrap();
    let text: String = (0..4000)
        .map(|n| {
            line(n, &format!("/{}", stream.below(40)), if n == 7 { 0 } else { law.sample(&mut stream) as u64 + 1 })
        })
        .collect();
    let workload = fit::of_log(&read(text).unwrap(), "access.log").unwrap();
    assert!(!value(&workload, "size").contains("mix") && !workload.contains("documents(n"), "{workload}");
    let said = workload.replace("\n# ", " ");
    assert!(said.contains("1 of 4000 replies had no body: too few to be written."), "{workload}");
    assert!(said.contains("No document is much more popular than others"), "{workload}");
}

/// Empty replies are a part of their own: the mean request is that of the log, to what the law itself is off; the documents
/// that are offered beside it have the log's mean.
#[test]
fn replies_without_a_body_are_kept() {
    let mut stream = Stream::new(1, "fit", "empty");
    let law = Law::parse("exponential(mean = 5 kB)", Dimension::Size).unwrap();
    let text: String = (0..4000)
        .map(|n| {
            line(
                n,
                &format!("/{}", (40.0 * stream.uniform().powi(3)) as u32),
                if n % 5 < 2 { 0 } else { law.sample(&mut stream) as u64 + 1 },
            )
        })
        .collect();
    let log = read(text).unwrap();
    let workload = fit::of_log(&log, "access.log").unwrap();
    assert!(workload.contains("40.0 % of the replies had no body"), "{workload}");
    let Sizes::Law(sizes) = Sizes::parse(value(&workload, "size")).unwrap() else { panic!("{workload}") };
    let mean = log.bytes() as f64 / 4000.0;
    assert!((sizes.cdf(0.0) - 0.4).abs() < 1e-6 && (sizes.mean() / mean - 1.0).abs() < 0.02, "{workload}");
    let documents = workload.lines().find_map(|line| line.strip_prefix("# size = ")).expect("popularity was fitted");
    assert!(documents.contains("documents(n = 40, "), "{documents}");
    let stated = documents.split("mean = ").last().unwrap().trim_end_matches(['"', ')']);
    assert!((quantity::parse(stated, Dimension::Size).unwrap() / mean - 1.0).abs() < 1e-3, "{documents}");
}

/// What is left when a known profile is taken out of a Poisson process is Poisson again: gaps of mean 1/rate and variance
/// near its square, to 6 errors (that of a squared coefficient of variation of exponentials is sqrt(8/n)).
#[test]
fn gaps_without_the_profile_are_those_of_the_process() {
    let mut stream = Stream::new(1, "fit", "profiled");
    let unit = Law::exponential(1.0);
    let profile = Profile::parse("steps(0.5, 2, 1, 0.5, every = 6000 s)").unwrap();
    let (mut integral, mut instants_s, mut at_s) = (0.0, Vec::new(), 0.0);
    // The inverse of the integral by small steps of its own: constant levels.
    while at_s < 24_000.0 {
        integral += unit.sample(&mut stream);
        while profile.integral(at_s) < integral && at_s < 24_000.0 {
            let level = profile.level(at_s);
            let end = ((at_s / 6000.0).floor() + 1.0) * 6000.0;
            at_s = (at_s + (integral - profile.integral(at_s)) / level).min(end).max(at_s + 1e-9);
        }
        if at_s < 24_000.0 {
            instants_s.push(at_s);
        }
    }
    let parts = profiled(&instants_s, 24_000.0, 0.0);
    assert_eq!(parts.levels.len(), (24_000.0 / parts.every_s) as usize);
    let n = parts.gaps_s.len() as f64;
    let mean = parts.gaps_s.iter().sum::<f64>() / n;
    let scv = parts.gaps_s.iter().map(|gap| (gap / mean - 1.0).powi(2)).sum::<f64>() / n;
    assert!((mean / (24_000.0 / n) - 1.0).abs() < 0.01, "{mean}");
    assert!((scv - 1.0).abs() < 6.0 * (8.0 / n).sqrt(), "{scv}");
    // The same instants as they are: calm and busy times make them look bursty.
    let gaps: Vec<f64> = instants_s.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let plain = gaps.iter().map(|gap| (gap / (24_000.0 / n) - 1.0).powi(2)).sum::<f64>() / n;
    assert!(plain > 1.3, "{plain}");
}

/// Gaps with long memory are offered with it; those of a Poisson process are not, and what was looked at is said.
#[test]
fn long_memory_beyond_doubt_is_offered() {
    let workload = Workload::Open(open("fgn(h = 0.6, mean = 10 s)", 9, "exponential(mean = 5 kB)"));
    let text: String = first(&workload, 1, 20_000)
        .iter()
        .map(|planned| {
            let at_s = planned.at.as_secs_f64() as u32;
            let (day, hour, minute, second) = (at_s / 86_400 + 1, at_s / 3600 % 24, at_s / 60 % 60, at_s % 60);
            let bytes = planned.request.size + 1;
            format!(
                "a - - [{day:02}/Aug/1995:{hour:02}:{minute:02}:{second:02} +0000] \"GET / HTTP/1.0\" 200 {bytes}\n"
            )
        })
        .collect();
    let fitted = fit::of_log(&read(text).unwrap(), "access.log").unwrap();
    let offered =
        fitted.lines().find_map(|line| line.strip_prefix("# arrivals = ")).unwrap_or_else(|| panic!("{fitted}"));
    let offered = Arrivals::parse(offered.trim_matches('"')).unwrap();
    // The error of H is 0.0055, and gaps bent to another law measure some hundredths lower.
    assert!((offered.hurst().unwrap() - 0.6).abs() < 0.05, "{}", offered.text());
    let plain = Arrivals::parse(value(&fitted, "arrivals")).unwrap();
    assert_eq!(offered.rate(), plain.rate(), "the same gaps, in another order");

    let poisson = fit::of_log(&read(log(2.0, &[1.0; 4])).unwrap(), "access.log").unwrap();
    assert!(poisson.contains("Long memory: none is written") && poisson.contains("# Of the gaps: "), "{poisson}");
    assert!(!poisson.contains("fgn("), "{poisson}");
}

/// Many requests in each of the log's seconds: their gaps are told by how much the requests in each vary.
#[test]
fn gaps_shorter_than_the_logs_step_are_told_by_counts() {
    let of = |arrivals: &str| {
        let workload = Workload::Open(open(arrivals, 9, "exponential(mean = 5 kB)"));
        let text: String = first(&workload, 1, 60_000)
            .iter()
            .map(|planned| {
                let at_s = planned.at.as_secs_f64() as u32;
                let bytes = planned.request.size + 1;
                format!(
                    "a - - [01/Aug/1995:00:{:02}:{:02} +0000] \"GET / HTTP/1.0\" 200 {bytes}\n",
                    at_s / 60,
                    at_s % 60
                )
            })
            .collect();
        let log = read(text).unwrap();
        let described = describe(&log);
        assert!(
            described.facts.iter().all(|fact| fact.name != "gap_law"),
            "{arrivals}: gaps that are made up have no law"
        );
        let fitted = fit::of_log(&log, "access.log").unwrap();
        assert!(!fitted.contains("\nprofile = "), "bursts are in the law, and not in levels too: {fitted}");
        assert!(!fitted.contains("It is not so all along"), "{fitted}");
        let written = Arrivals::parse(value(&fitted, "arrivals")).unwrap();
        let law = written.law().unwrap();
        assert!((law.mean() * 100.0 - 1.0).abs() < 0.03, "{arrivals}: {fitted}");
        law.scv().sqrt()
    };
    // 600 seconds of 100: the variance of neighbours is known to 7 %, so that 6 errors of its root are 21 %.
    assert_eq!(of("exponential(mean = 10 ms)"), 1.0);
    assert_eq!(of("10 ms"), 0.0);
    let (even, bursty) = (of("erlang(k = 16, mean = 10 ms)"), of("hyperexponential(mean = 10 ms, cv = 3)"));
    assert!((even / 0.25 - 1.0).abs() < 0.4 && (bursty / 3.0 - 1.0).abs() < 0.25, "{even} {bursty}");
}

/// Even at first, bursty later: no law is both, and that is said.
#[test]
fn requests_that_vary_more_at_one_time_than_at_another_are_said_to() {
    let mut stream = Stream::new(1, "fit", "regimes");
    let bursty = Law::parse("hyperexponential(mean = 10 ms, cv = 3)", Dimension::Time).unwrap();
    let (mut at_s, mut text) = (0.0, String::new());
    while at_s < 400.0 {
        text += &line(at_s as u32, "/", 5000);
        at_s += if at_s < 200.0 { 0.01 } else { bursty.sample(&mut stream) };
    }
    let fitted = fit::of_log(&read(text).unwrap(), "access.log").unwrap().replace("\n# ", " ");
    assert!(fitted.contains("It is not so all along: 0.000 in the "), "{fitted}");
    assert!(fitted.contains("quarter of the time, ") && fitted.contains("one law stands for both"), "{fitted}");
}

/// Popularity has a law where there are ranks to have one.
#[test]
fn of_two_documents_there_is_no_law_of_ranks() {
    let text: String = (0..4000).map(|n| line(n, if n % 3 == 0 { "/a" } else { "/b" }, 5000)).collect();
    let described = describe(&read(text).unwrap());
    assert!(described.facts.iter().all(|fact| fact.name != "zipf_exponent"), "{:?}", described.facts);
}

#[test]
fn a_column_gives_a_law() {
    let law = Law::parse("weibull(shape = 0.6, scale = 20 ms)", Dimension::Time).unwrap();
    let mut stream = Stream::new(1, "fit", "column");
    let numbers: Vec<f64> = (0..20_000).map(|_| law.sample(&mut stream)).collect();
    let text = fit::of_numbers(&in_steps(&numbers, None), Dimension::Time).unwrap();
    let fitted = Law::parse(text.lines().last().unwrap(), Dimension::Time).unwrap();
    // 6 errors of the shape (0.78 shape/sqrt(n)) at the median and far out.
    for x in [0.002, 0.01, 0.05, 0.2] {
        assert!((fitted.cdf(x) - law.cdf(x)).abs() < 6.0 * 0.5 / 20_000f64.sqrt(), "{x}: {fitted}");
    }
    let told = |numbers: &[f64]| fit::of_numbers(&in_steps(numbers, None), Dimension::Number).unwrap_err().to_string();
    assert!(told(&[1.0, 2.0, -3.0, 0.0]).starts_with("2 of 4 numbers are not above 0"));
    assert!(told(&[1.0, 2.0]).contains("at least 10"));
}

/// A clock in milliseconds rounds short times to 0: they are a quarter of a millisecond in the mean, and that is said. Zeros that
/// are no rounding, or may be none, are still refused.
#[test]
fn zeros_among_times_are_rounding() {
    let law = Law::parse("exponential(mean = 8 ms)", Dimension::Time).unwrap();
    let mut stream = Stream::new(1, "fit", "rounded");
    let times: Vec<f64> = (0..20_000).map(|_| (law.sample(&mut stream) * 1e3).floor() / 1e3).collect();
    let zeros = times.iter().filter(|time| **time == 0.0).count();
    let column = in_steps(&times, Some(1e-3));
    let text = fit::of_numbers(&column, Dimension::Time).unwrap();
    let said = text.replace("\n# ", " ");
    assert!(
        said.contains(&format!("{zeros} of 20000 times are 0, which is less than 1 ms, the step of their clock")),
        "{text}"
    );
    let description = describe_numbers(&column, Dimension::Time);
    assert!(
        description.remarks.iter().any(|remark| remark.contains("the step of their clock")),
        "{:?}",
        description.remarks
    );
    assert_eq!((description.variables[0].count, description.variables[0].not_positive), (20_000, 0));
    let refused = fit::of_numbers(&column, Dimension::Number).unwrap_err().to_string();
    assert!(refused.ends_with("if they are rounded times, say so: --unit s"), "{refused}");
    let exact: Vec<f64> = [0.0].into_iter().chain((0..100).map(|_| law.sample(&mut stream))).collect();
    assert!(fit::of_numbers(&in_steps(&exact, None), Dimension::Time).is_err());
    // Written to the millisecond by a clock that ticks every ten: 29 different times say so, a few do not.
    let ticks: Vec<f64> = (0..30).map(|tick| f64::from(tick) / 100.0).collect();
    let said = |times: &[f64]| describe_numbers(&in_steps(times, Some(1e-3)), Dimension::Time).remarks.concat();
    assert!(
        said(&ticks).contains("less than 10 ms, the step of their clock: in the law a quarter of a step, 2.5 ms"),
        "{}",
        said(&ticks)
    );
    assert!(said(&ticks[..9]).contains("less than 1 ms"), "{}", said(&ticks[..9]));
}

/// A column without a unit as nginx writes `$request_time`, all with three digits: a 0.000 among them is less than half a step,
/// whatever the unit is, and the law is that of the same column with its unit. Of counts, of numbers that no program rounded,
/// beside negative ones and where nothing else is there, a 0 is none that was rounded.
#[test]
fn zeros_among_numbers_with_as_many_digits_are_rounding() {
    let law = Law::parse("exponential(mean = 8 ms)", Dimension::Time).unwrap();
    let mut stream = Stream::new(1, "fit", "digits");
    let times: Vec<f64> = (0..5_000).map(|_| (law.sample(&mut stream) * 1e3).floor() / 1e3).collect();
    let zeros = times.iter().filter(|time| **time == 0.0).count();
    let read = |text: &str| read_column(text.as_bytes(), None, "t.txt").unwrap();
    let column = read(&times.iter().map(|time| format!("{time:.3}\n")).collect::<String>());
    let told = "numbers are 0, which is less than 0.001, the step to which they are written: in the law a quarter of a step, \
                0.00025,";
    let remark = format!("{zeros} of 5000 {told}");
    let law_of = |dimension| {
        let text = fit::of_numbers(&column, dimension).unwrap();
        let is_told = text.replace("\n# ", " ").contains(&remark);
        (Law::parse(text.lines().last().unwrap(), dimension).unwrap().mean(), is_told)
    };
    let (bare, timed) = (law_of(Dimension::Number), law_of(Dimension::Time));
    assert!((bare.0 / timed.0 - 1.0).abs() < 1e-6 && bare.1 && !timed.1, "{bare:?} and {timed:?}");
    let description = describe_numbers(&column, Dimension::Number);
    assert!(description.remarks.iter().any(|said| said.starts_with(&remark)), "{:?}", description.remarks);
    for text in ["0\n3\n1\n", "0.0\n3.0\n1.0\n", "0\n0.5\n0.25\n", "0.00\n0.50\n-0.25\n", "0.000\n0.000\n"] {
        let refused = fit::of_numbers(&read(text), Dimension::Number).unwrap_err().to_string();
        assert!(refused.contains(" not above 0; the laws"), "{text:?}: {refused}");
    }
    // Files of which each is written so.
    let two = |one: &str, other: &str| read(one).with(read(other)).is_rounded;
    assert!(two("0.00\n0.50\n", "0.25\n") && !two("0.00\n0.50\n", "0.250\n") && !two("0.00\n0.50\n", "1\n"));
}

/// Nearly all replies take no time that nginx can tell: no continuous law is near, and none is named. What is written has the
/// shares and the mean of the data.
#[test]
fn values_that_make_most_of_all_are_parts_of_their_own() {
    let rare = [0.001, 0.001, 0.002, 0.003, 0.012, 0.040];
    let times: Vec<f64> = (0..3000).map(|n| if n % 50 == 0 { rare[n / 50 % 6] } else { 0.0 }).collect();
    let text: String = (0u32..)
        .zip(&times)
        .map(|(n, time_s)| format!("{} \"-\" \"curl/7\" {time_s:.3}\n", line(n, "/a", 612).trim_end()))
        .collect();
    let log = read(&text).unwrap();
    let description = describe(&log);
    let variable = description.variables.iter().find(|variable| variable.name == "response_time").unwrap();
    assert!(variable.fits.is_empty() && variable.chosen().is_none());
    let verdict = variable.verdict();
    assert!(
        verdict.starts_with("No law: 98.0 % of the values are 250 us, so every continuous law is at least 0.49 off"),
        "{verdict}"
    );
    assert!(!verdict.contains("fit`"), "`fit` writes it too, and does not speak of itself: {verdict}");
    assert!(
        description.remarks.iter().any(|remark| remark.contains("2940 of 3000 times are 0, which is less than 1 ms"))
    );
    let fitted = fit::of_numbers(&in_steps(&times, Some(1e-3)), Dimension::Time).unwrap();
    let law = Law::parse(fitted.lines().last().unwrap(), Dimension::Time).unwrap();
    assert!((law.cdf(0.0006) - 0.98).abs() < 1e-5 && (law.cdf(0.0011) - 0.98 - 0.02 / 3.0).abs() < 1e-5, "{fitted}");
    // What describes the log has the mean of its clock, in each place; the law, a quarter of a step for each 0.
    let logged = times.iter().sum::<f64>() / 3000.0;
    assert_eq!(variable.mean, logged);
    let mean = logged + 0.98 * 0.00025;
    assert!((law.mean() / mean - 1.0).abs() < 1e-3, "{fitted}");
    // Of one document all sizes are the same, and so is what is written.
    let workload = fit::of_log(&log, "access.log").unwrap();
    assert_eq!(value(&workload, "size"), "612 B");
    let said = workload.replace("\n# ", " ");
    assert!(said.contains("Response times, by the log (3000 of them)") && said.contains("as mix(0.98"), "{workload}");
    // What is left beside the values that occur often has a law of its own.
    let law = Law::parse("lognormal(mean = 100, cv = 0.5)", Dimension::Number).unwrap();
    let mut stream = Stream::new(1, "fit", "atom");
    let numbers: Vec<f64> = (0..8000).map(|n| if n % 8 < 3 { 1000.0 } else { law.sample(&mut stream) }).collect();
    let fitted = fit::of_numbers(&in_steps(&numbers, None), Dimension::Number).unwrap();
    let found = Law::parse(fitted.lines().last().unwrap(), Dimension::Number).unwrap();
    for x in [60.0, 90.0, 150.0, 999.0] {
        // Six errors of an empirical distribution function.
        assert!((found.cdf(x) - 0.625 * law.cdf(x)).abs() < 6.0 * 0.5 / 8000f64.sqrt(), "{x}: {fitted}");
    }
    assert!(found.cdf(1000.0) - found.cdf(999.0) > 0.37, "{fitted}");
}

/// Two heaps of numbers, which no law is: the likeliest law is not the nearest, and the nearest is what is written.
#[test]
fn of_laws_that_are_all_wrong_the_nearest_is_written() {
    let law = Law::parse("mix(0.9: normal(mean = 10, sd = 1), 0.1: exponential(mean = 0.0001))", Dimension::Number);
    let mut stream = Stream::new(1, "fit", "heaps");
    let numbers: Vec<f64> = (0..5000).map(|_| law.as_ref().unwrap().sample(&mut stream)).collect();
    let variable = describe_numbers(&in_steps(&numbers, None), Dimension::Number).variables.remove(0);
    let least = variable.fits.iter().map(|fit| fit.kolmogorov).fold(1.0, f64::min);
    let (likeliest, chosen) = (&variable.fits[0], variable.chosen().unwrap());
    assert!(likeliest.kolmogorov > least + 0.03 && chosen.kolmogorov <= least + 0.5 / 5000f64.sqrt(), "{least}");
    let fitted = fit::of_numbers(&in_steps(&numbers, None), Dimension::Number).unwrap();
    let written = fitted.lines().last().unwrap();
    assert!(written.starts_with(chosen.law.to_string().split(')').next().unwrap()), "{fitted}");
    let said = fitted.replace("\n# ", " ");
    let name = chosen.family.name();
    assert!(said.to_lowercase().contains(&format!("{} is nearer, within {least:.3}", name.to_lowercase())), "{fitted}");
}

/// A log of 480 s has 48 parts of 10 s: a profile is as fine as the time that is covered allows.
#[test]
fn a_profile_is_as_fine_as_the_time_covered_allows() {
    let of = |seconds: u32| {
        let count = |second: u32| if (second / 60).is_multiple_of(2) { 5 } else { 30 };
        let text: String = (0..seconds)
            .flat_map(|second| (0..count(second)).map(move |n| line(second, "/a", 100 + 7 * (n + second % 13) as u64)))
            .collect();
        let workload = fit::of_log(&read(text).unwrap(), "access.log").unwrap();
        value(&workload, "profile").rsplit(", every = ").next().unwrap().to_owned()
    };
    assert_eq!((of(480), of(481), of(482), of(483)), ("10 s)".into(), "10 s)".into(), "10 s)".into(), "30 s)".into()));
}

/// A run of 15 s that was logged from the middle of a second on: neither the rate nor the time is that of its halves.
#[test]
fn the_rate_of_a_short_log_is_that_of_its_whole_seconds() {
    let count = |second: u32| if second == 0 || second == 15 { 50_u32 } else { 100 };
    let text: String = (0..16_u32)
        .flat_map(|second| {
            (0..count(second)).map(move |n| line(second, &format!("/{}", n % 7), 100 + u64::from(n * 17 % 900)))
        })
        .collect();
    let workload = fit::of_log(&read(text).unwrap(), "access.log").unwrap();
    let rate = Arrivals::parse(value(&workload, "arrivals")).unwrap().rate().unwrap();
    assert!((rate - 100.0).abs() < 1e-3, "{workload}");
    assert!(workload.contains("within 14 s") && !workload.contains("profile ="), "{workload}");
}

/// Requests in few seconds that are too even for independent ones have a law that is even; of others nothing is known, neither of
/// their gaps nor of a change of the rate, and this is said.
#[test]
fn even_requests_are_written_as_such_however_short_the_log_is() {
    let of = |counts: &[u32]| {
        let seconds = (0..).zip(counts).flat_map(|(second, count)| std::iter::repeat_n(second, *count as usize));
        let text: String = seconds.map(|second| line(second, "/a", 612)).collect();
        let workload = fit::of_log(&read(text).unwrap(), "access.log").unwrap();
        let law = Arrivals::parse(value(&workload, "arrivals")).unwrap().law().unwrap().clone();
        (1.0 / law.mean(), law.scv(), workload.replace("\n# ", " "))
    };
    for (counts, whole_s) in
        [(vec![119, 300, 300, 300, 180], 3), ([vec![50_u32], vec![100; 24], vec![50]].concat(), 24)]
    {
        let (rate, scv, said) = of(&counts);
        assert!((rate / f64::from(counts[1]) - 1.0).abs() < 1e-9 && scv == 0.0, "{said}");
        assert!(said.contains(&format!("within {whole_s} s")), "{said}");
        assert!(said.contains("the requests in each vary less than those of a Poisson process do"), "{said}");
        assert!(said.contains("Of its first and its last second it may have a part only: rate and gaps are without"));
        assert!(
            said.contains("What came is too little to tell whether the rate changes: there is no profile"),
            "{said}"
        );
    }
    let (rate, scv, said) = of(&[119, 317, 283, 310, 180]);
    assert!((rate / (910.0 / 3.0) - 1.0).abs() < 1e-9 && scv == 1.0, "{said}");
    assert!(said.contains("3 steps are too few to tell from the requests in each: taken to be exponential"), "{said}");
    let (rate, _, said) = of(&[50, 100, 50]);
    assert!((rate / (200.0 / 3.0) - 1.0).abs() < 1e-9, "{said}");
    assert!(said.contains("It is too short to leave out its first and its last second"), "{said}");
    // Of a minute it is known whether the rate changes.
    assert!(of(&[100; 62]).2.contains("The rate changes by no more than chance: there is no profile."));
}

/// nginx's `$request_time`, described and fitted.
#[test]
fn response_times_of_a_log() {
    let law = Law::parse("lognormal(mean = 80 ms, cv = 1.5)", Dimension::Time).unwrap();
    let mut stream = Stream::new(1, "log", "response");
    let mut text = String::new();
    let mut times = Vec::new();
    for second in 0..3000 {
        let time_s = (law.sample(&mut stream) * 1e3).floor() / 1e3;
        times.push(time_s);
        let size = 100 + stream.below(5000) as u64;
        text += &format!("{} \"-\" \"curl/7\" {time_s:.3}\n", line(second, "/a", size).trim_end());
    }
    let log = read(&text).unwrap();
    let description = describe(&log);
    let fact = |name: &str| match &description.facts.iter().find(|fact| fact.name == name).expect(name).value {
        Value::Number(number) => *number,
        Value::Count(count) => *count as f64,
        Value::Text(text) => panic!("{name}: {text}"),
    };
    assert_eq!(fact("response_times"), 3000.0);
    let mean = times.iter().sum::<f64>() / 3000.0;
    assert!((fact("response_time_mean") - mean).abs() < 1e-9);
    let mut sorted = times.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    assert_eq!(fact("response_time_p90"), sorted[2699]);
    let variable = description.variables.iter().find(|variable| variable.name == "response_time").unwrap();
    let fitted = &variable.fits[0].law;
    for x in [0.02, 0.05, 0.2, 0.5] {
        // Six errors of an empirical distribution function.
        assert!((fitted.cdf(x) - law.cdf(x)).abs() < 6.0 * 0.5 / 3000f64.sqrt(), "{x}: {fitted}");
    }
    let workload = fit::of_log(&log, "access.log").unwrap().replace("\n# ", " ");
    assert!(workload.contains("Response times, by the log (3000 of them): "), "{workload}");
}

/// Replies without a body, all of them: the arrivals are written, and that there is no law of sizes is said.
#[test]
fn a_log_of_empty_bodies_gives_its_arrivals() {
    let of = |bytes: &str| {
        let text: String =
            log(2.0, &[0.2]).lines().map(|line| format!("{} {bytes}\n", line.rsplit_once(' ').unwrap().0)).collect();
        fit::of_log(&read(&text).unwrap(), "access.log").unwrap()
    };
    for bytes in ["0", "-"] {
        let workload = of(bytes);
        assert_eq!(value(&workload, "size"), "0 B");
        assert!(workload.contains("# Sizes. No reply had a body") && !workload.contains("/B\""), "{workload}");
        assert!(
            Sizes::parse(value(&workload, "size")).is_ok() && Arrivals::parse(value(&workload, "arrivals")).is_ok()
        );
        assert!(quantity::parse(value(&workload, "demand"), Dimension::Time).is_ok(), "{workload}");
    }
}

#[test]
fn too_little_for_a_workload() {
    let error = fit::of_log(&read(crate::support::line(0, "/a", 7)).unwrap(), "a.log").unwrap_err().to_string();
    assert!(error.contains("at least 100 arrivals, and there are 1"), "{error}");
}

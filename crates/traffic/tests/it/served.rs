//! Who served what, and when, by hand: what each server gets, and what happens over time.

use sojourn_stats::{Dimension, Law};
use sojourn_traffic::describe::{Description, Numbers, Served, Value, describe, describe_numbers};
use sojourn_traffic::fit;
use sojourn_traffic::log::Log;

use crate::support::line;

/// A line of HAProxy at so many milliseconds after midnight.
fn haproxy(at_ms: u64, server: &str, times: &str, status: u16) -> String {
    let (s, ms) = (at_ms / 1000, at_ms % 1000);
    let (hour, minute, second) = (s / 3600, s / 60 % 60, s % 60);
    format!(
        "10.0.1.2:3 [06/Feb/2009:{hour:02}:{minute:02}:{second:02}.{ms:03}] in {server} {times} {status} 27 - - ---- 1/1/1/1/0 \
         0/0 \"GET / HTTP/1.1\"\n"
    )
}

fn read(text: &str) -> Log {
    Log::read_from(text.as_bytes(), "haproxy.log", None).unwrap()
}

fn served(text: &str) -> Served {
    describe(&read(text)).served.expect("a log that names servers")
}

/// Two hours: in each second a request of 500 ms at `a`, and in every other one of 250 ms, that waits 100 ms before, at `b`.
#[test]
fn load_is_the_time_at_a_server_over_the_time() {
    let mut text = String::new();
    for second in 0..7200 {
        text += &haproxy(second * 1000, "w/a", "0/0/0/500/500", if second % 10 == 0 { 503 } else { 200 });
        if second % 2 == 0 {
            text += &haproxy(second * 1000 + 1, "w/b", "0/100/50/200/350", 200);
        }
    }
    text += &haproxy(7_200_000, "w/<NOSRV>", "-1/-1/-1/-1/3", 503);
    let log = read(&text);
    let described = served(&text);
    assert_eq!(described.load_is_of, "time at the server");
    let [a, b] = &described.servers[..] else { panic!("{described:?}") };
    assert_eq!(
        (&*a.server, a.requests, a.errors, &*b.server, b.requests, b.errors),
        ("w/a", 7200, 720, "w/b", 3600, 0)
    );
    let near = |number: Option<f64>, wanted: f64| {
        assert!((number.unwrap() / wanted - 1.0).abs() < 1e-3, "{number:?} for {wanted}")
    };
    near(a.load, 0.5);
    near(b.load, 0.125);
    near(b.load_share, 0.2);
    near(b.queue_mean_s, 0.1);
    near(a.at_server.map(|times| times.mean_s), 0.5);
    near(b.response.map(|times| times.p50_s), 0.35);
    near(b.at_server.and_then(|times| times.p99_s), 0.25);
    assert_eq!(described.without_server, 1);
    assert_eq!((described.period_s, described.periods.len()), (300.0, 24));
    let period = &described.periods[3];
    assert_eq!((&*period.start, period.requests, period.errors), ("2009-02-06 00:15:00", 450, 30));
    near(Some(period.rate), 1.5);
    near(period.load, 0.625);
    near(Some(period.load_by_server[1]), 0.125);
    assert!(
        described.words[0].starts_with("2 servers: w/a has the most requests (66.7 %), w/b the fewest"),
        "{:?}",
        described.words
    );
    assert!(
        described.words[2].starts_with("720 requests failed at a server; w/a failed most often, 10.0 %"),
        "{:?}",
        described.words
    );
    // The tables have what is known, and no empty columns.
    let table = described.by_server();
    assert_eq!((table.header.len(), table.rows.len()), (11, 2));
    assert_eq!(described.over_time().header.last().unwrap(), "load of w/b");
    assert_eq!(table.rows[1][3], Some((Value::Count(0), "")));
    // One in ten was logged: ten times the load, the same times.
    let sampled = describe(&log.with_sampling(10));
    let of_sample = sampled.served.unwrap();
    near(of_sample.servers[0].load, 5.0);
    near(Some(of_sample.periods[3].rate), 15.0);
    near(of_sample.servers[0].load_share, 0.8);
    near(of_sample.servers[0].at_server.map(|times| times.mean_s), 0.5);
    let told = sampled.facts.iter().find(|fact| fact.name == "arrival_rate").unwrap();
    let Value::Number(rate) = told.value else { panic!("{told:?}") };
    near(Some(rate), 15.0);
    assert!(sampled.remarks.iter().any(|remark| remark.starts_with("one in 10 requests was logged")));
}

/// The busiest second is one thing, in the facts and in the sentence: of equals the first.
#[test]
fn the_busiest_second_has_one_name() {
    let counts = (0..20_u64).map(|second| (second, if second == 7 || second == 12 { 6 } else { 3 }));
    let text: String = counts
        .flat_map(|(second, count)| (0..count).map(move |n| haproxy(second * 1000 + n, "w/a", "0/0/0/5/5", 200)))
        .collect();
    let description = describe(&read(&text));
    let fact = description.facts.iter().find(|fact| fact.name == "busiest_second").unwrap();
    assert_eq!(fact.value, Value::Text("2009-02-06 00:00:07".into()));
    let served = description.served.unwrap();
    let words = served.words.iter().find(|words| words.contains("usiest")).unwrap();
    assert!(words.starts_with("The busiest second begins at 2009-02-06 00:00:07: 6.000 requests/s"), "{words}");
}

/// A request that lasts over several periods is in each of them for its part, and in none beyond the log's end.
#[test]
fn a_long_request_is_in_every_period_that_it_reaches() {
    let mut text = haproxy(0, "w/a", "0/0/0/90000/90000", 200);
    for second in 1..=240 {
        text += &haproxy(second * 1000, "w/b", "0/0/0/0/0", 200);
    }
    let described = served(&text);
    assert_eq!(described.period_s, 10.0);
    let loads: Vec<f64> = described.periods.iter().map(|period| period.load.unwrap()).collect();
    // Its first step is not covered whole, so it is not in the load.
    assert_eq!(loads.iter().sum::<f64>(), 0.0);
    let text = haproxy(0, "w/b", "0/0/0/0/0", 200) + &text.replacen("00:00:00.000", "00:00:00.500", 1);
    let loads: Vec<f64> = served(&text).periods.iter().map(|period| period.load.unwrap()).collect();
    let near = |place: usize, wanted: f64| assert!((loads[place] - wanted).abs() < 0.002, "{place}: {}", loads[place]);
    near(0, 0.95);
    (1..9).for_each(|place| near(place, 1.0));
    near(9, 0.05);
    assert!(loads[10..].iter().all(|load| *load == 0.0));
    // Longer than the log: what is beyond its end is in no period.
    let endless = text.replacen("90000/90000", "900000/900000", 1);
    assert!(served(&endless).periods.iter().skip(1).all(|period| (period.load.unwrap() - 1.0).abs() < 1e-9));
}

/// Without a time at the server the response time stands for it, and this is said; without either there is no load.
#[test]
fn what_a_log_does_not_tell_is_not_made_up() {
    let timed: String =
        (0..600).map(|second| format!("{} \"-\" \"-\" 0.250\n", line(second, "/a", 1).trim_end())).collect();
    let described = describe(&read(&timed)).served.unwrap();
    assert_eq!((described.load_is_of, described.servers.len()), ("response time", 0));
    assert!((described.periods[2].load.unwrap() - 0.25).abs() < 1e-9);
    assert!(described.words.iter().any(|words| words.contains("no time at the server")), "{:?}", described.words);
    assert!(described.by_server().rows.is_empty());
    let plain: String = (0..600).map(|second| line(second, "/a", 1)).collect();
    assert_eq!(describe(&read(&plain)).served, None);
    // A log of a minute has periods of 5 s, and one of a second is one.
    let minute: String = (0..60).map(|second| haproxy(second * 1000, "w/a", "0/0/0/5/5", 200)).collect();
    assert_eq!(served(&minute).period_s, 5.0);
    assert_eq!(served(&haproxy(0, "w/a", "0/0/0/5/5", 200)).periods.len(), 1);
}

/// A log whose times are all 0 tells nothing of what is below its clock's step.
#[test]
fn times_that_are_all_zero_have_no_law() {
    let text: String =
        (0..600).map(|second| format!("{} \"-\" \"-\" 0.000\n", line(second, "/a", 612).trim_end())).collect();
    let log = read(&text);
    let description = describe(&log);
    let variable = description.variables.iter().find(|variable| variable.name == "response_time").unwrap();
    let verdict = variable.verdict();
    assert_eq!(
        verdict,
        "No law: all 600 times are 0, which is less than 1 ms, the step of their clock: nothing is known below it."
    );
    assert_eq!((variable.count, variable.not_positive, variable.mean), (600, 0, 0.0));
    let fitted = fit::of_log(&log, "access.log").unwrap().replace("\n# ", " ");
    assert!(fitted.contains("nothing is known below it, so they have no law."), "{fitted}");
    assert!(!fitted.contains("500 us") && !fitted.contains("0.0005"), "{fitted}");
    let column = Numbers { values: vec![0.0; 50], step: Some(1e-3), is_rounded: false };
    let error = fit::of_numbers(&column, Dimension::Time).unwrap_err().to_string();
    assert!(error.starts_with("all 50 times are 0, which is less than 1 ms"), "{error}");
    assert!(describe_numbers(&column, Dimension::Time).variables[0].fits.is_empty());
}

/// Gaps that are nearly Poisson's have a likelier law than the exponential, which they do not reject: the simpler is taken, and
/// the verdict names the test. Those of a shape further off reject it. The values are quantiles, so there is no chance in it.
#[test]
fn an_exponential_law_is_kept_unless_it_is_rejected() {
    let of = |shape: f64| {
        let law = Law::parse(&format!("weibull(shape = {shape}, scale = 1)"), Dimension::Number).unwrap();
        let values = (0..20_000).map(|n| law.quantile((f64::from(n) + 0.5) / 20_000.0).unwrap()).collect();
        let description = describe_numbers(&Numbers { values, ..Numbers::default() }, Dimension::Number);
        let variable = &description.variables[0];
        let names = [variable.fits[0].family, variable.chosen().unwrap().family].map(|family| family.name());
        (names, variable.verdict())
    };
    let (names, verdict) = of(1.02);
    assert_eq!(names, ["Weibull", "exponential"]);
    assert!(
        verdict.contains("is what `fit` takes, since it is simpler") && verdict.contains("Stephens's D* is 1.0"),
        "{verdict}"
    );
    let (names, verdict) = of(1.1);
    assert_eq!(names, ["Weibull", "Weibull"]);
    assert!(!verdict.contains("Stephens"), "{verdict}");
}

/// A clock of whole milliseconds writes 0 for what took less: no time is 0.
#[test]
fn a_time_below_the_clocks_step_is_said_to_be_below_it() {
    let text: String = (0..2000).map(|n| haproxy(n * 100, "w/a", "0/0/0/0/0", 200)).collect();
    let log = read(&text);
    let step = Some((Value::Text("below 1 ms".into()), ""));
    let table = served(&text).by_server();
    let column = |name: &str| table.header.iter().position(|of| of == name).unwrap();
    assert_eq!((&table.rows[0][column("response")], &table.rows[0][column("p99")]), (&step, &step));
    let fact = |described: &Description, name: &str| {
        described.facts.iter().find(|fact| fact.name == name).map(|fact| fact.value.to_string())
    };
    let described = describe(&log);
    for name in ["response_time_mean", "response_time_p50", "response_time_p99", "response_time_max"] {
        assert_eq!(fact(&described, name).as_deref(), Some("below 1 ms"), "{name}");
    }
    assert_eq!(fact(&described, "response_time_scv"), None);
    // The same times as a column, and some of them beside others, whatever their unit is.
    let column = |values: Vec<f64>| Numbers { values, step: Some(1e-3), is_rounded: true };
    let alone = describe_numbers(&column(vec![0.0; 2000]), Dimension::Time);
    for name in ["mean", "min", "p50", "p99", "max"] {
        assert_eq!(fact(&alone, name).as_deref(), Some("below 1 ms"), "{name}");
    }
    assert_eq!(fact(&alone, "standard_deviation"), None);
    let half = || column([[0.0; 1000], [0.25; 1000]].concat());
    for (dimension, zero) in [(Dimension::Time, "below 1 ms"), (Dimension::Number, "below 0.001")] {
        let described = describe_numbers(&half(), dimension);
        let found = ["min", "p50", "p75", "max", "mean"].map(|name| fact(&described, name).unwrap());
        assert_eq!(found, [zero, zero, "0.2500", "0.2500", "0.1250"]);
    }
    // Counts, and numbers of which some are negative, may be 0.
    let counts = Numbers { is_rounded: false, ..half() };
    assert_eq!(fact(&describe_numbers(&counts, Dimension::Number), "min").as_deref(), Some("0.000"));
    let signed = column([[0.0; 20], [-0.25; 20]].concat());
    assert_eq!(fact(&describe_numbers(&signed, Dimension::Time), "max").as_deref(), Some("0.000"));
}

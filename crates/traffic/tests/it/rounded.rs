//! Times that were rounded to the step of a clock, or cut to it: the law is that of what was there.

use sojourn_stats::{Dimension, Law, Stream};
use sojourn_traffic::describe::{Numbers, describe};
use sojourn_traffic::fit;
use sojourn_traffic::log::Log;

use crate::support::read;

/// Times (s) as a clock of milliseconds has them.
fn in_millis(times: &[f64]) -> Numbers {
    Numbers { values: times.to_vec(), step: Some(1e-3), is_rounded: true }
}

/// A log as Istio writes it, of a request a second with these durations (ms).
fn istio(millis: impl Iterator<Item = u64>) -> Log {
    let line = |(n, millis): (u32, u64)| {
        let (hour, minute, second) = (n / 3600, n / 60 % 60, n % 60);
        format!(
            "[2020-11-25T{hour:02}:{minute:02}:{second:02}.409Z] \"GET / HTTP/1.1\" 200 - via_upstream - \"-\" 0 135 {millis} \
             {millis} \"-\" \"curl/7.73.0-DEV\" \"84961386-6d84-929d-98bd-c5aee93b5c88\" \"httpbin:8000\" \"10.44.1.27:80\" \
             outbound|8000||httpbin.foo.svc.cluster.local 10.44.1.23:37652 10.44.1.23:15443 10.44.1.23:46520 \
             outbound_.8000_._.httpbin.foo.svc.cluster.local default\n"
        )
    };
    let log = read((0..).zip(millis).map(line).collect::<String>()).unwrap();
    assert_eq!(log.formats(), ["istio"]);
    log
}

/// What cuts times to milliseconds has whole ones at 0, not halves: Envoy's duration, which Istio writes.
#[test]
fn zeros_of_a_clock_that_cuts_are_half_a_step() {
    let remarks = describe(&istio((0..200).map(|n| [0, 0, 1, 2, 3][n % 5]))).remarks.concat();
    assert!(remarks.contains("the step of their clock: in the law half a step, 500 us"), "{remarks}");
}

/// Of a continuous law that is not long beside the step of a clock a fifth and more is one value. That is the law, rounded, and
/// no mixture of its steps. 6 standard errors; that one of these laws is taken for a mixture has a chance of 2e-7, by the
/// bound of Dvoretzky, Kiefer, Wolfowitz and Massart for 20,000 and a distance of 0.02.
#[test]
fn a_rounded_law_is_no_mixture_of_its_steps() {
    const DRAWS: usize = 20_000;
    let drawn = |law: &Law| {
        let mut stream = Stream::new(1, "fit", "rounded law");
        (0..DRAWS).map(|_| law.sample(&mut stream) * 1e3).collect::<Vec<f64>>()
    };
    let errors = 6.0 / (DRAWS as f64).sqrt();
    for text in ["exponential(mean = 1 ms)", "exponential(mean = 2.2 ms)", "gamma(mean = 3 ms, cv = 0.5)"] {
        let law = Law::parse(text, Dimension::Time).unwrap();
        let times: Vec<f64> = drawn(&law).iter().map(|millis| millis.round() / 1e3).collect();
        let fitted = fit::of_numbers(&in_millis(&times), Dimension::Time).unwrap();
        let found = fitted.lines().last().unwrap();
        assert!(!found.starts_with("mix("), "{fitted}");
        let found = Law::parse(found, Dimension::Time).unwrap();
        // Rounding adds a twelfth of the squared step to the variance.
        let error = errors * (law.variance() + 1e-6 / 12.0).sqrt();
        assert!((found.mean() - law.mean()).abs() < error, "{text}: {fitted}");
        for x in [0.0005, 0.0015, 0.0035] {
            assert!((found.cdf(x) - law.cdf(x)).abs() < 0.5 * errors, "{text}, {x}: {fitted}");
        }
        assert!(fitted.replace("\n# ", " ").contains("laws are fitted to the counts of the steps"), "{fitted}");
    }
    // What was cut lies above what is written.
    let law = Law::parse("exponential(mean = 2 ms)", Dimension::Time).unwrap();
    let description = describe(&istio(drawn(&law).into_iter().map(|millis| millis.floor() as u64)));
    let times = description.variables.iter().find(|variable| variable.name == "response_time").unwrap();
    let found = &times.taken.as_ref().unwrap().law;
    assert!((found.mean() / law.mean() - 1.0).abs() < 1.04 * errors, "{found}");
    // Two fifths of all at one of many steps are no rounding.
    let heap: Vec<f64> =
        drawn(&law).iter().zip(0..).map(|(millis, n)| if n % 5 < 2 { 7e-3 } else { millis.round() / 1e3 }).collect();
    let fitted = fit::of_numbers(&in_millis(&heap), Dimension::Time).unwrap();
    assert!(fitted.lines().last().unwrap().starts_with("mix("), "{fitted}");
}

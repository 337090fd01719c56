//! What headlines say, and do not say.

use sojourn_stats::Estimate;
use sojourn_stats::measure::NoInterval;

use super::*;
use crate::report::Answer;
use crate::variants::label;

/// An estimate that reaches so far to either side.
fn sampled(value: f64, half: f64) -> Estimate {
    Estimate::Sampled { value, ci_low: value - half, ci_high: value + half, samples: 1000 }
}

/// A variant whose replications have this noise in common and a factor of their own.
fn simulated(policy: &str, load: &str, factor: f64, own: f64) -> VariantAnswers {
    let values: Vec<f64> =
        (0..8).map(|k| factor * (1.0 + 0.3 * f64::from(k % 3)) * (1.0 + own * f64::from(k % 2))).collect();
    let mean = values.iter().sum::<f64>() / 8.0;
    let mut sim = Answer::new(Engine::Sim);
    sim.measures = vec![sojourn_stats::Measure::new(MEAN, "s", sampled(mean, 0.2 * mean))];
    sim.replications = vec![(MEAN.to_owned(), values.into_iter().map(Some).collect())];
    let settings = [("policy", policy), ("load", load)].map(|(key, value)| (key.to_owned(), value.to_owned()));
    VariantAnswers { label: policy.to_owned(), settings: settings.to_vec(), answers: vec![sim] }
}

fn headline(variants: Vec<VariantAnswers>) -> String {
    let settings = vec!["policy".to_owned(), "load".to_owned()];
    let text = finding(&Answers { settings, variants, ..Answers::default() }).unwrap();
    text.replace("<strong>", "").replace("</strong>", "").replace('\u{a0}', " ")
}

/// Intervals that overlap do not hide what pairs see, and what pairs do not see has no winner.
#[test]
fn a_headline_names_a_winner_only_where_a_difference_is_seen() {
    let told = headline(vec![simulated("random", "0.7", 1.1, 0.0), simulated("jsq", "0.7", 1.0, 0.0)]);
    assert!(
        told.starts_with("By sim, jsq has the lowest mean response time, 1.26 s; random the highest, 1.39 s"),
        "{told}"
    );
    let told = headline(vec![simulated("random", "0.7", 1.001, 0.0), simulated("jsq", "0.7", 1.0, 0.003)]);
    let none = "By sim, no difference is seen between the mean response times of random and jsq: 1.26 s to 1.26 s.";
    assert_eq!(told, none);
    let three = [("random", 2.0, 0.0), ("jsq", 1.0, 0.003), ("sed", 1.001, 0.0)];
    let told = headline(three.map(|(policy, factor, own)| simulated(policy, "0.7", factor, own)).to_vec());
    let tied = "sed and jsq have the lowest mean response time, 1.26 s (no difference is seen between them); random";
    let other = "jsq and sed have the lowest mean response time, 1.26 s (no difference is seen between them); random";
    assert!(told.contains(tied) || told.contains(other), "{told}");
    let mut bare = simulated("sed", "0.7", 0.5, 0.0);
    let why = NoInterval::TooShort;
    bare.answers[0].measures[0].estimate = Estimate::WithoutInterval { value: 0.5, samples: 30, why };
    let told = headline(vec![simulated("random", "0.7", 1.1, 0.0), simulated("jsq", "0.7", 1.0, 0.0), bare]);
    assert!(
        told.contains("jsq has the lowest") && told.contains("Where sed stands in that order is not known"),
        "{told}"
    );
}

/// With all else equal a case counts for whoever is seen to be lower than all others.
#[test]
fn cases_without_a_difference_are_no_wins() {
    let at = |load: &str, random: (f64, f64), jsq: (f64, f64)| {
        [simulated("random", load, random.0, random.1), simulated("jsq", load, jsq.0, jsq.1)]
    };
    let seen = at("0.9", (2.0, 0.0), (1.0, 0.0));
    let unseen = at("0.1", (1.0, 0.003), (1.001, 0.0));
    let told = headline([unseen.clone(), seen].concat());
    assert!(
        told.contains(
            "jsq has the lowest mean response time in 1 of 2 cases; in 1 more it is among the lowest, between which"
        ),
        "{told}"
    );
    assert!(told.contains("The largest difference is at load 0.9: 1.26 s with jsq"), "{told}");
    let at_once = "Here all 2 pairs are judged at once; a table of ratios judges each alone.";
    assert!(told.contains(at_once), "{told}");
    let told = headline([at("0.9", (2.0, 0.0), (1.0, 0.0)), at("0.1", (3.0, 0.0), (1.0, 0.0))].concat());
    assert!(told.contains("in 2 of 2 cases.") && !told.contains(at_once), "where every case is seen: {told}");
    let told = headline([unseen.clone(), at("0.2", (1.001, 0.0), (1.0, 0.003))].concat());
    assert!(told.contains("is among those with the lowest mean response time in 2 of 2 cases"), "{told}");
    assert!(told.contains("In no case is a difference seen"), "{told}");
}

/// What serves is compared at equal loads, whatever comes first, and names before numbers, also those in texts of laws.
#[test]
fn what_serves_is_compared_at_equal_loads() {
    let lowest = |other: &str, key: &str, [slow, fast]: [&str; 2]| {
        let at = |rate: u32, value: &str, factor: f64| {
            let law = format!("exponential(rate = {rate} /s)");
            let settings = vec![(other.to_owned(), law), (key.to_owned(), value.to_owned())];
            let label = label(settings.iter().map(|(key, value)| (key.as_str(), value.as_str())));
            VariantAnswers { label, settings, ..simulated(value, "", factor, 0.0) }
        };
        let variants = vec![at(5, slow, 2.0), at(5, fast, 1.0), at(9, slow, 3.0), at(9, fast, 1.5)];
        let told = finding(&Answers { settings: vec![other.into(), key.into()], variants, ..Answers::default() });
        told.expect("there are means")
    };
    for (other, key, values) in [
        ("arrivals", "discipline", ["fcfs", "ps"]),
        ("arrivals", "servers", ["2", "4"]),
        ("demand", "discipline", ["fcfs", "ps"]),
    ] {
        let (told, fast) = (lowest(other, key, values), values[1]);
        let expected = format!("<strong>{fast}</strong> has the lowest mean response time in 2 of 2 cases.");
        assert!(told.contains(&expected), "{other}, {key}: {told}");
    }
}

/// Of failures the headline is a sentence, and nothing is alarming where the number that is shown is the usual one.
#[test]
fn a_headline_tells_failures_that_can_be_seen() {
    let with = |metrics: &[(&str, f64)]| {
        let mut variant = simulated("jsq", "0.7", 1.0, 0.0);
        for (metric, value) in metrics {
            let estimate = Estimate::Sampled { value: *value, ci_low: *value, ci_high: 2.0 * value, samples: 999 };
            variant.answers[0].measures.push(sojourn_stats::Measure::new(*metric, "1", estimate));
        }
        headline(vec![variant])
    };
    let told = with(&[("error_ratio", 0.0), ("attempts_ratio", 1.00007)]);
    assert!(!told.contains("Not all went well"), "{told}");
    let told = with(&[("error_ratio", 0.0), ("attempts_ratio", 1.08)]);
    assert!(told.ends_with("Not all went well: 1.08 attempts at each request (sim)."), "{told}");
    let told = with(&[("error_ratio", 0.02), ("worst_second_error_ratio", 0.857), ("abandoned_ratio", 0.03)]);
    let expected = "Not all went well: 2.00 % of the requests failed (sim), 85.7 % of the requests failed or were given up \
                    in the worst second (sim), 3.00 % of the requests were given up (sim).";
    assert!(told.ends_with(expected), "{told}");
}

/// Many or long names do not make a headline long, and a small difference is more than 1.0 times as long.
#[test]
fn a_headline_stays_short() {
    let long = |n: u32| format!("least-connections-with-patience-{n}");
    let told = headline((0..4).map(|n| simulated(&long(n), "0.7", 1.0, 0.0)).collect());
    let expected = "response times of least-connections-with-patience-0 and 3 more: 1.26 s to 1.26 s.";
    assert!(told.contains(expected), "{told}");
    let told = headline(vec![simulated("random", "0.7", 1.005, 0.0), simulated("jsq", "0.7", 1.0, 0.0)]);
    assert!(told.contains("random the highest, 1.27 s (0.50 % longer)."), "{told}");
    let mut failing = simulated("random", "0.7", 1.005, 0.0);
    for (metric, value) in [("error_ratio", 0.02), ("abandoned_ratio", 0.03)] {
        failing.answers[0].measures.push(sojourn_stats::Measure::new(metric, "1", sampled(value, 0.001)));
    }
    let told = headline(vec![failing, simulated("jsq", "0.7", 1.0, 0.0)]);
    let expected = "2.00 % of the requests failed at random (sim), 3.00 % of the requests were given up there (sim).";
    assert!(told.ends_with(expected), "{told}");
}

/// A mean of the few that were answered wins nothing where another failed fewer, and what failed is said.
#[test]
fn a_mean_of_survivors_is_no_win() {
    let failing = |policy: &str, load: &str, factor: f64, failed: f64| {
        let mut variant = simulated(policy, load, factor, 0.0);
        let estimate = Estimate::Sampled { value: failed, ci_low: failed, ci_high: 1.1 * failed, samples: 999 };
        variant.answers[0].measures.push(sojourn_stats::Measure::new("error_ratio", "1", estimate));
        variant
    };
    let case =
        |load: &str, random: f64, jsq: f64| [failing("random", load, 2.0, random), failing("jsq", load, 1.0, jsq)];
    let told = headline([case("0.7", 0.18, 0.09), case("0.9", 0.09, 0.18)].concat());
    for part in [
        "jsq has the lowest mean response time in 1 of 2 cases. In 1 case this could not be judged: with the lowest mean \
         more of the requests failed than with another. The largest difference is at load 0.7",
        " Means are of what was answered: 9.00 % to 18.0 % of the requests failed or were given up. Not all went well",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let told = headline([case("0.7", 0.09, 0.18), case("0.9", 0.0, 0.18)].concat());
    assert!(told.contains("could be judged in none of 2 cases. In 2 cases this"), "{told}");
    assert!(told.contains("up to 18.0 %"), "{told}");
    let told = headline([case("0.7", 0.005, 0.0), case("0.9", 0.0, 0.005)].concat());
    assert!(told.contains("in 2 of 2 cases") && !told.contains("Means are of"), "{told}");
    // Of one case too.
    let told = headline(case("0.7", 0.09, 0.18).to_vec());
    let expected = "By sim, which is the fastest could not be judged: jsq has the lowest mean response time, 1.26 s, and with it \
                    more of the requests failed than with another. Means are of what was answered: 9.00 % to 18.0 % of the";
    assert!(told.starts_with(expected), "{told}");
    let told = headline(case("0.7", 0.18, 0.09).to_vec());
    assert!(told.starts_with("By sim, jsq has the lowest mean response time, 1.26 s; random the highest"), "{told}");
}

/// A case without intervals is neither a win nor one in which no difference is seen.
#[test]
fn a_case_without_intervals_could_not_be_judged() {
    let at = |load: &str| [simulated("random", load, 2.0, 0.0), simulated("jsq", load, 1.0, 0.0)];
    let bare = |load: &str| {
        let mut variants = at(load);
        let why = NoInterval::TooShort;
        variants[0].answers[0].measures[0].estimate = Estimate::WithoutInterval { value: 2.0, samples: 30, why };
        variants
    };
    let told = headline([at("0.7"), bare("0.9")].concat());
    let expected = "jsq has the lowest mean response time in 1 of 2 cases. In 1 case this could not be judged: a mean has no \
                    interval. The largest difference is at load 0.7";
    assert!(told.contains(expected), "{told}");
    let told = headline([bare("0.7"), bare("0.9")].concat());
    assert_eq!(
        told,
        "By sim, with all else equal, the lowest mean response time could be judged in none of 2 cases: a mean has no \
         interval."
    );
}

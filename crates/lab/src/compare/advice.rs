//! What is said below a comparison: what it takes to see a difference where none was seen, how small a one would have been seen,
//! and of what nothing is known. A table has a word for each metric, and here each sentence stands once, with its metrics.

use super::verdict::NO_DIFFERENCE;
use super::{Comparison, Spent, WORTH_SEEING};
use crate::report::number::Short;

/// The metrics of which it is said what it takes to see a difference where many variants are compared.
pub(super) const ADVISED: [&str; 2] = ["response_time_mean", "throughput"];

/// What is said of the comparisons of a table in which no difference was seen, in sentences: each amount that it takes to see one
/// stands once, with its metrics.
pub fn advice(comparisons: &[Comparison]) -> Vec<String> {
    let unseen = || comparisons.iter().filter(|of| of.in_short() == NO_DIFFERENCE);
    let mut told: Vec<(Said, Vec<&str>)> = Vec::new();
    for of in unseen() {
        let Some(said) = of.said() else { continue };
        match told.iter_mut().find(|(known, _)| *known == said) {
            Some((_, metrics)) => metrics.push(&of.metric),
            None => told.push((said, vec![of.metric.as_str()])),
        }
    }
    let sentence = |(said, metrics): &(Said, Vec<&str>)| format!("{}{}{}", said.before, metrics.join(", "), said.after);
    let mut sentences: Vec<String> = told.iter().map(sentence).collect();
    let takes_rounds = |of: &Comparison| matches!(of.spent, Spent::Rounds { .. }) && of.takes_more().is_some();
    if unseen().any(takes_rounds) {
        sentences.push("Longer runs need fewer rounds.".into());
    }
    let fine: Vec<(&str, f64)> = unseen().filter_map(|of| Some((of.metric.as_str(), of.saw_enough()?))).collect();
    if !fine.is_empty() {
        let metrics: Vec<&str> = fine.iter().map(|(metric, _)| *metric).collect();
        let share = fine.iter().map(|(_, share)| *share).fold(0.0, f64::max);
        let (metrics, percent) = (metrics.join(", "), Short(100.0 * share));
        sentences.push(format!("Of {metrics} a difference of {percent} % would have been seen four times in five."));
    }
    sentences
}

/// How small a difference would have been seen in those of these comparisons that saw none, in one sentence, each metric once:
/// what a table of many variants has in place of [`advice`]. None where each saw one.
pub fn would_have_been_seen(comparisons: &[&Comparison]) -> Option<String> {
    let mut told: Vec<(&str, f64, f64)> = Vec::new();
    for of in comparisons.iter().filter(|of| of.in_short() == NO_DIFFERENCE && !of.is_unknown()) {
        let Some(share) = of.could_have_seen else { continue };
        match told.iter_mut().find(|(metric, ..)| *metric == of.metric) {
            Some((_, least, most)) => (*least, *most) = (least.min(share), most.max(share)),
            None => told.push((of.metric.as_str(), share, share)),
        }
    }
    let one = |(metric, least, most): &(&str, f64, f64)| {
        let [least, most] = [least, most].map(|share| Short(100.0 * share).to_string());
        if least == most { format!("{metric} {most} %") } else { format!("{metric} {least} to {most} %") }
    };
    let all = told.iter().map(one).collect::<Vec<_>>().join(", ");
    let what = "Where no difference was seen, one of this size would have been seen four times in five";
    (!told.is_empty()).then(|| format!("{what}: {all}."))
}

/// A sentence about some metrics: what stands before and after their names.
#[derive(PartialEq)]
struct Said {
    before: &'static str,
    after: String,
}

impl Comparison {
    /// What is said of it where no difference was seen; none where a small one would have been.
    fn said(&self) -> Option<Said> {
        if let Some(why) = self.why_unknown() {
            return Some(Said { before: "B / A is not known of ", after: format!(": {why}.") });
        }
        if let Some((takes, asked_for)) = self.takes_more() {
            return Some(Said { before: TO_SEE, after: format!(" takes {takes}{asked_for}") });
        }
        let Some(takes) = self.takes() else {
            let why = ": where A or B may be 0 or less, B / A has no interval.";
            let has_none = self.could_have_seen.is_none();
            return has_none
                .then(|| Said { before: "How much it takes to see more is not known of ", after: why.into() });
        };
        Some(Said { before: "No difference was seen of ", after: format!(": {takes}.") })
    }

    /// How much more it takes to see [`WORTH_SEEING`], and how a user asks for it; none where it cannot be said.
    fn takes_more(&self) -> Option<(String, String)> {
        if self.is_unknown() || self.is_too_coarse() {
            return None;
        }
        self.could_have_seen.filter(|share| *share > WORTH_SEEING)?;
        Some((self.in_what_is_given()?, self.asked_for().unwrap_or_else(|| ".".into())))
    }

    /// The relative difference that would have been seen, where it is small enough.
    fn saw_enough(&self) -> Option<f64> {
        self.could_have_seen.filter(|share| *share <= WORTH_SEEING && !self.is_unknown())
    }

    /// What it takes to see a difference, as a sentence with these words about the others; none where one was seen, or nothing is
    /// known of it.
    pub(super) fn advised(&self, among: &str) -> Option<String> {
        let takes = self.takes().filter(|_| !self.differs())?;
        let asked_for = self.asked_for().unwrap_or_else(|| ".".into());
        Some(format!("No difference of {} was seen{among}: {takes}{asked_for}", self.metric))
    }
}

/// [`WORTH_SEEING`], with what stands before it.
const TO_SEE: &str = "To see 10 % of ";

#[cfg(test)]
mod tests {
    use super::super::Length;
    use super::*;

    /// Two of one amount are told together, and what was seen is not told.
    #[test]
    fn each_amount_is_told_once_with_its_metrics() {
        let noisy = [(10.0, 11.0), (20.0, 23.0), (30.0, 32.0)];
        let spent = Spent::Rounds { each: Length::Seconds(5.0) };
        let of = |metric: &str, pairs: &[(f64, f64)]| Comparison {
            spent,
            ..Comparison::of_pairs(metric, "s", pairs).unwrap()
        };
        let all = [
            of("response_time_p50", &noisy),
            of("response_time_p90", &noisy),
            of("response_time_mean", &[(1.0, 2.0), (1.0, 2.1), (1.0, 2.05)]),
            of("response_time_p99", &[(1.0, 1.01), (1.0, 0.99), (1.0, 1.0)]),
        ];
        assert_eq!(
            advice(&all),
            [
                "To see 10 % of response_time_p50, response_time_p90 takes 1 more round of two runs of 5 s (--rounds 4).",
                "Longer runs need fewer rounds.",
                // Standard error 0.00577, and 4.30 + 1.06 of them.
                "Of response_time_p99 a difference of 3.1 % would have been seen four times in five.",
            ]
        );
        assert_eq!(TO_SEE, format!("To see {} % of ", 100.0 * WORTH_SEEING));
    }

    /// In short, each metric stands once with the least and the most; what was seen, and what nothing is known of, is not told.
    #[test]
    fn what_would_have_been_seen_is_one_sentence() {
        let of = |metric: &str, pairs: &[(f64, f64)]| Comparison::of_pairs(metric, "s", pairs).unwrap();
        let sharp = [(1.0, 1.01), (1.0, 0.99), (1.0, 1.0)];
        let [p99, coarse, mean, seen, apart] = [
            of("response_time_p99", &sharp),
            of("response_time_p99", &[(10.0, 11.0), (20.0, 23.0), (30.0, 32.0)]),
            of("response_time_mean", &sharp),
            of("throughput", &[(1.0, 2.0), (1.0, 2.1), (1.0, 2.05)]),
            of("response_time_p95", &[(1.0, 10.0), (1.0, 1.0)]),
        ];
        let what = "Where no difference was seen, one of this size would have been seen four times in five";
        let all = would_have_been_seen(&[&p99, &mean, &seen, &coarse, &apart]);
        assert_eq!(all, Some(format!("{what}: response_time_p99 3.1 to 12 %, response_time_mean 3.1 %.")));
        assert_eq!(would_have_been_seen(&[&seen, &apart]), None);
    }

    /// Ten rounds whose ratios are 3 % and a fifth more or less: the logarithms vary by 0.0444, so that 2.87 standard errors of
    /// 41 rounds are 9.46 %, and of 40 they are 9.58 %, where it is to be ln(1.1), 9.53 %.
    #[test]
    fn a_small_difference_in_noise_is_told_in_rounds() {
        let of = |k: u32| (1.0, 1.03 * (if k.is_multiple_of(2) { 0.2_f64 } else { -0.2 }).exp());
        let pairs: Vec<(f64, f64)> = (0..10).map(of).collect();
        let spent = Spent::Rounds { each: Length::Seconds(40.0) };
        let noisy = Comparison { spent, ..Comparison::of_pairs("response_time_mean", "s", &pairs).unwrap() };
        assert_eq!(
            advice(&[noisy]),
            [
                "To see 10 % of response_time_mean takes 31 more rounds of two runs of 40 s (--rounds 41).",
                "Longer runs need fewer rounds.",
            ]
        );
    }

    /// What has no ratio says so: nothing tells how many times as much it takes.
    #[test]
    fn what_it_takes_is_not_known_without_a_ratio() {
        let shares = [(0.0, 0.01), (0.01, 0.0), (0.0, 0.02), (0.01, 0.01)];
        let of = ["error_ratio", "abandoned_ratio"].map(|name| Comparison::of_pairs(name, "1", &shares).unwrap());
        let why = "where A or B may be 0 or less, B / A has no interval.";
        let told = format!("How much it takes to see more is not known of error_ratio, abandoned_ratio: {why}");
        assert_eq!(advice(&of), [told]);
    }

    /// Of two pairs that go apart nothing is known, and that is said in place of their interval.
    #[test]
    fn what_spans_decades_is_not_known() {
        let apart = Comparison::of_pairs("response_time_p95", "s", &[(1.0, 10.0), (1.0, 1.0)]).unwrap();
        assert!(apart.ratio.unwrap().high > 1e6, "{apart:?}");
        assert_eq!(apart.not_known().as_deref(), Some("not known (2 pairs)"));
        let spent = Spent::Rounds { each: Length::Seconds(1.0) };
        let rounds = Comparison { spent, ..apart.clone() };
        let why = "the interval from 2 pairs spans more than a factor of 100; begin with 5 rounds (--rounds 5)";
        assert_eq!(advice(std::slice::from_ref(&rounds)), [format!("B / A is not known of response_time_p95: {why}.")]);
        assert_eq!(rounds.verdict(), format!("no difference seen: {why}"));
        assert!(apart.verdict().ends_with("factor of 100; begin with 5"), "{}", apart.verdict());
        // Wide, but a difference is seen; and as wide as usual.
        let seen = [(1e-6, 1.0), (1e-4, 1.02), (1e-5, 1.01)];
        let seen = Comparison::of_pairs("response_time_p95", "s", &seen).unwrap();
        assert!(seen.differs() && seen.ratio.unwrap().high > 1e4 * seen.ratio.unwrap().low, "{seen:?}");
        let usual = Comparison::of_pairs("response_time_p95", "s", &[(1.0, 1.1), (1.0, 0.9), (1.0, 1.2)]).unwrap();
        assert_eq!((seen.not_known(), usual.not_known()), (None, None));
    }
}

//! What a comparison says in words, and what decides that.
//!
//! Of what is above 0 there are two intervals: that of the difference, and that of the ratio, which is of logarithms. They are of
//! other means and need not agree: a difference is seen where both see it, to the same side. Beside the verdict stands the one
//! that agrees with it ([`Comparison::told_ratio`]). Each comparison is judged by its own interval; what is not seen where all
//! that stand beside each other are judged together, by Bonferroni's intervals, has a mark ([`ALONE`]).
//!
//! Times are of the requests that were answered. Where more than 1 % of those of A or of B were not, a verdict says so; where the
//! one that takes less time failed more of its requests than the other, by more than 1 % of them, none is faster.

use sojourn_stats::Dimension;
use sojourn_stats::interval::t_quantile;

use super::{Between, Comparison, How, ROUNDING, Spent, UPPER, WORTH_SEEING};
use crate::objective::{FAILED_MOST, dimension};
use crate::report::number::Short;

/// Marks a difference that is seen by its own interval, and not where all comparisons beside it are judged together.
pub const ALONE: &str = "\u{2020}";

/// Marks times of some requests only, since so many of A or of B failed or were given up.
pub const FEW: &str = "*";

/// The verdict where what takes less time failed more of its requests.
const NOT_JUDGED: &str = "not judged";

/// The verdict that is told with what could have been seen.
pub(super) const NO_DIFFERENCE: &str = "no difference seen";

/// An interval of B / A that spans more than this factor, and holds 1, says nothing that one could use.
const SPAN_MOST: f64 = 100.0;
/// With fewer pairs, or samples, more of them are what is missing.
const BEGIN: usize = 5;

/// What [`ALONE`] means beside so many comparisons, in a sentence.
pub fn legend_of_alone(comparisons: usize) -> String {
    format!("{ALONE}: seen by this interval alone; where all {comparisons} are judged together, no difference is seen.")
}

/// What [`FEW`] and `not judged` mean beside these comparisons, a sentence for each of the two that stands beside one.
pub fn legend_of_failures(told: &[&Comparison]) -> Vec<String> {
    let few = told.iter().any(|of| of.is_seen_of_few()).then(|| {
        format!(
            "{FEW}: more than 1 % of the requests of A or of B failed or were given up: times are of those that were answered \
             well."
        )
    });
    let unjudged = told.iter().any(|of| of.fails_more().is_some()).then(|| {
        format!(
            "{NOT_JUDGED}: of what takes less time more of the requests failed or were given up, and times say nothing of \
             these."
        )
    });
    few.into_iter().chain(unjudged).collect()
}

impl Comparison {
    /// Whether its times are of some requests only: of A or of B more than 1 % failed or were given up.
    pub fn is_of_few(&self) -> bool {
        let is_of_times = ["response_time", "waiting_time"].iter().any(|of| self.metric.starts_with(of));
        is_of_times && self.failed.iter().flatten().any(|failed| *failed > FAILED_MOST)
    }

    /// The one of A and B that is seen to take less time, and failed more of the requests than the other: what answers half of
    /// them soon is not faster. None where that is not so.
    pub fn fails_more(&self) -> Option<&'static str> {
        let [a, b] = self.failed.map(|failed| failed.unwrap_or(0.0));
        let (name, more) = if self.side()? { ("A", a - b) } else { ("B", b - a) };
        (self.is_of_few() && more > FAILED_MOST).then_some(name)
    }

    /// Whether a difference is seen and judged that is of the answered requests only.
    fn is_seen_of_few(&self) -> bool {
        self.differs() && self.is_of_few() && self.fails_more().is_none()
    }

    /// Whether the interval of the difference leaves out 0, by more than sums of floating point can be off, and that of the ratio
    /// 1, where there is one, to the same side.
    pub fn differs(&self) -> bool {
        self.side().is_some()
    }

    /// Whether B is seen to be more than A, or less; none where no difference is seen.
    fn side(&self) -> Option<bool> {
        let [by_difference, by_ratio] = self.sides();
        by_difference.filter(|more| by_ratio == Some(*more))
    }

    /// The same by the interval of the difference alone, and by that of the ratio, where there is one.
    fn sides(&self) -> [Option<bool>; 2] {
        let by_difference = side_of(self.difference, 0.0, ROUNDING * self.a.abs().max(self.b.abs()));
        [by_difference, self.ratio.map_or(by_difference, |ratio| side_of(ratio, 1.0, ROUNDING))]
    }

    /// The ratio that is told beside the verdict; none where there is none, and where its interval leaves out 1 although no
    /// difference is seen: there the difference is told, which is what decided.
    pub fn told_ratio(&self) -> Option<Between> {
        self.ratio.filter(|_| self.sides()[1] == self.side())
    }

    /// Whether nothing is known of B / A: no difference is seen, and pairs or samples are so few, or so far apart, that its
    /// interval spans more than a factor of 100.
    pub fn is_unknown(&self) -> bool {
        let spans = |of: Between| of.high > SPAN_MOST * of.low;
        self.how != How::Estimates && !self.differs() && self.told_ratio().is_some_and(spans)
    }

    /// What stands in the place of B / A where [nothing is known of it](Comparison::is_unknown): `not known (2 pairs)`.
    pub fn not_known(&self) -> Option<String> {
        self.is_unknown().then(|| format!("not known ({})", self.how))
    }

    /// Why nothing is known of B / A, and with how many rounds to begin; none where something is.
    pub(super) fn why_unknown(&self) -> Option<String> {
        let count = match self.how {
            How::Pairs(pairs) => pairs,
            How::Samples(a, b) => a.min(b),
            How::Estimates => return None,
        };
        let begin = match (count < BEGIN, self.spent) {
            (true, Spent::Rounds { .. }) => format!("; begin with {BEGIN} rounds (--rounds {BEGIN})"),
            (true, _) => format!("; begin with {BEGIN}"),
            (false, _) => String::new(),
        };
        let why = || format!("the interval from {} spans more than a factor of {SPAN_MOST}{begin}", self.how);
        self.is_unknown().then(why)
    }

    /// Whether B is seen to differ from A where so many comparisons are looked at, and one is picked: with Bonferroni's
    /// intervals, so that of equals one of all is taken for another as seldom as of two.
    pub fn differs_among(&self, comparisons: usize) -> bool {
        let degrees = match self.how {
            How::Pairs(pairs) => pairs.saturating_sub(1).max(1) as u64,
            // Welch's are no fewer than those of the smaller sample.
            How::Samples(a, b) => a.min(b).saturating_sub(1).max(1) as u64,
            How::Estimates => u64::from(u32::MAX),
        };
        let times = t_quantile(1.0 - (1.0 - UPPER) / comparisons.max(1) as f64, degrees) / t_quantile(UPPER, degrees);
        let ratio = self.ratio.map(|ratio| ratio.ln().wider(times).exp());
        Comparison { difference: self.difference.wider(times), ratio, ..self.clone() }.differs()
    }

    /// Whether the interval that tables tell leaves out equality, and no difference is seen where so many comparisons are judged
    /// together.
    pub fn is_only_alone(&self, comparisons: usize) -> bool {
        self.sides()[1].is_some() && !self.differs_among(comparisons)
    }

    /// [`Comparison::verdict`] where so many comparisons stand beside each other: with [`ALONE`] behind a difference that is not
    /// seen where all are judged together.
    pub fn marked_verdict(&self, comparisons: usize) -> String {
        self.marked(self.verdict(), comparisons)
    }

    /// The same in a word or a few, with [`FEW`] behind what is of the answered requests only.
    pub fn short_verdict(&self, comparisons: usize) -> String {
        let few = if self.is_seen_of_few() { format!(" {FEW}") } else { String::new() };
        self.marked(format!("{}{few}", self.in_short()), comparisons)
    }

    /// Whether [`ALONE`] stands behind its verdict.
    pub fn has_mark(&self, comparisons: usize) -> bool {
        self.differs() && self.fails_more().is_none() && self.is_only_alone(comparisons)
    }

    fn marked(&self, verdict: String, comparisons: usize) -> String {
        if self.has_mark(comparisons) { format!("{verdict} {ALONE}") } else { verdict }
    }

    /// What it takes to see [`WORTH_SEEING`], in words; none where it was enough, or nothing is known of it.
    pub fn takes(&self) -> Option<String> {
        if self.is_too_coarse() {
            return Some(format!("it is told in steps of {}", told(self.step, &self.unit)));
        }
        self.could_have_seen.filter(|share| *share > WORTH_SEEING)?;
        let percent = WORTH_SEEING * 100.0;
        let more = self.in_what_is_given().unwrap_or_else(|| self.out_of_reach());
        Some(format!("to see {percent} % takes {more}"))
    }

    /// Whether it is of a share of which neither has seen anything.
    fn is_of_none(&self) -> bool {
        self.metric.ends_with("_ratio") && self.a == 0.0 && self.b == 0.0
    }

    /// What it says about B, in words: of no difference also how small a one could have been seen, or what it takes to see more.
    pub fn verdict(&self) -> String {
        let verdict = self.in_short();
        if let Some(name) = self.fails_more() {
            return format!("{verdict}: more of {name}'s requests failed");
        }
        if verdict != NO_DIFFERENCE {
            let answered = if self.is_seen_of_few() { ", of those answered" } else { "" };
            return format!("{verdict}{answered}");
        }
        if let Some(why) = self.why_unknown() {
            return format!("{verdict}: {why}");
        }
        match (self.could_have_seen, self.takes()) {
            (Some(share), _) if share <= WORTH_SEEING => {
                format!("{verdict} (could have seen {} %)", Short(share * 100.0))
            }
            (_, Some(takes)) => format!("{verdict}: {takes}"),
            (_, None) => verdict.to_owned(),
        }
    }

    /// The same in a word or a few.
    pub(super) fn in_short(&self) -> &'static str {
        if self.is_of_none() && self.difference.high > 0.0 {
            return "none seen in either";
        }
        let rounding = ROUNDING * self.a.abs().max(self.b.abs());
        if self.difference.low.abs().max(self.difference.high.abs()) <= rounding {
            return "equal";
        }
        if self.fails_more().is_some() {
            return NOT_JUDGED;
        }
        match (self.side(), self.sides(), dimension(&self.metric)) {
            (Some(true), _, Some(Dimension::Time)) => "B is slower",
            (Some(false), _, Some(Dimension::Time)) => "B is faster",
            (Some(true), ..) => "B has more",
            (Some(false), ..) => "B has less",
            (None, [Some(_), Some(_)], _) => "B - A and B / A contradict each other",
            (None, ..) => NO_DIFFERENCE,
        }
    }
}

/// Whether an interval lies above `equal`, by more than `rounding`, or below; none where it does neither.
fn side_of(interval: Between, equal: f64, rounding: f64) -> Option<bool> {
    if interval.low > equal + rounding {
        Some(true)
    } else if interval.high < equal - rounding {
        Some(false)
    } else {
        None
    }
}

/// A number with its SI unit.
fn told(value: f64, unit: &str) -> String {
    let unit = unit.strip_prefix('1').unwrap_or(unit);
    format!("{} {unit}", Short(value)).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use sojourn_stats::{Estimate, Stream};

    use super::*;

    /// One of many pairs of equals always differs by an interval of 95 %: what is picked from many is held against all of them.
    #[test]
    fn what_is_picked_from_many_is_held_against_all() {
        let mut stream = Stream::new(1, "test", "picked");
        let (mut alone, mut among) = (0, 0);
        for _ in 0..200 {
            let one = |stream: &mut Stream| (0..20).map(|_| (1.0 + stream.uniform(), 1.0 + stream.uniform())).collect();
            let of: Vec<Vec<(f64, f64)>> = (0..10).map(|_| one(&mut stream)).collect();
            let of = of.iter().map(|pairs| Comparison::of_pairs("response_time_mean", "s", pairs).unwrap());
            let of: Vec<Comparison> = of.collect();
            alone += usize::from(of.iter().any(|one| one.differs()));
            among += usize::from(of.iter().any(|one| one.differs_among(10)));
        }
        // 40 % and 5 % of 200 are expected; each end is six deviations off.
        assert!(alone > 38 && among < 29, "{alone} and {among} of 200");
    }

    /// A verdict never stands beside an interval of the ratio that denies it.
    #[test]
    fn a_difference_is_seen_where_both_intervals_see_it() {
        let of = Comparison::of_pairs("response_time_p50", "s", &[(0.2, 1.2), (1.0, 2.05), (1.0, 1.95)]).unwrap();
        let ratio = of.ratio.unwrap();
        assert!(of.difference.low > 0.0 && ratio.low < 1.0 && ratio.high > 1.0, "{of:?}");
        assert!(!of.differs() && of.verdict().starts_with("no difference seen"), "{}", of.verdict());
    }

    /// The difference decides where the ratio's interval alone would see one, and is told then: no verdict stands beside an
    /// interval that denies it.
    #[test]
    fn the_interval_that_is_told_agrees_with_the_verdict() {
        let of = |pairs: &[(f64, f64)]| Comparison::of_pairs("response_time_mean", "s", pairs).unwrap();
        // The ratio is 1.105 (1.006 to 1.214), the difference 2 (-0.48 to 4.48).
        let denied = of(&[(10.0, 11.0), (20.0, 23.0), (30.0, 32.0)]);
        assert!(denied.ratio.unwrap().low > 1.0 && denied.difference.low < 0.0, "{denied:?}");
        assert_eq!((denied.told_ratio(), denied.differs()), (None, false));
        let seen = of(&[(10.0, 12.0), (20.0, 24.1), (30.0, 35.9)]);
        let seen = Comparison { difference: Between { low: 0.1, ..seen.difference }, ..seen };
        assert_eq!((seen.told_ratio(), seen.differs()), (seen.ratio, true));
        let equal = of(&[(10.0, 11.0), (20.0, 19.0), (30.0, 30.5)]);
        assert_eq!((equal.told_ratio(), equal.differs()), (equal.ratio, false));
        // Small ones are far less in B, and few large ones more.
        let small = [(1.0, 0.5); 10].into_iter().chain([(100.0, 110.0); 10]).collect::<Vec<_>>();
        let both = of(&small);
        assert!(both.difference.low > 0.0 && both.ratio.unwrap().high < 1.0, "{both:?}");
        assert_eq!((both.differs(), both.verdict().as_str()), (false, "B - A and B / A contradict each other"));
    }

    /// By its own interval B is slower; one of 40 such is likely where nothing differs.
    #[test]
    fn what_is_not_seen_among_all_has_a_mark() {
        let pairs = [(1.0, 1.1), (1.0, 1.2), (1.0, 1.05), (1.0, 1.15), (1.0, 1.02)];
        let of = Comparison::of_pairs("response_time_mean", "s", &pairs).unwrap();
        assert_eq!((of.marked_verdict(1).as_str(), of.is_only_alone(1)), ("B is slower", false));
        assert_eq!((of.marked_verdict(40).as_str(), of.is_only_alone(40)), ("B is slower \u{2020}", true));
        assert_eq!(
            (of.short_verdict(1).as_str(), of.short_verdict(40).as_str()),
            ("B is slower", "B is slower \u{2020}")
        );
        // The ratio is judged with all others as the difference is.
        let ratio = Between { low: 1.001, ..of.ratio.unwrap() };
        let barely = Comparison { ratio: Some(ratio), difference: Between::within(0.104, 1e-6), ..of };
        assert!(barely.differs() && !barely.differs_among(40), "{barely:?}");
        let samples = Comparison::of_samples("m", "s", &[1.0, 1.1, 1.2], &[1.4, 1.5, 1.6]).unwrap();
        assert!(
            samples.differs() && !samples.differs_among(40),
            "few samples have few degrees of freedom: {samples:?}"
        );
    }

    /// What answers half of the requests soon is not faster, whichever of the two it is; and a time of the answered says so.
    #[test]
    fn who_fails_more_is_not_faster() {
        let of = |metric: &str, times: f64, failed: [Option<f64>; 2]| {
            let pairs = [1.0, 1.2, 1.4].map(|a| (a, times * a + 0.001 * a * a));
            Comparison { failed, ..Comparison::of_pairs(metric, "s", &pairs).unwrap() }
        };
        let mean = |times: f64, a: f64, b: f64| of("response_time_mean", times, [Some(a), Some(b)]);
        for (compared, verdict, short) in [
            (mean(0.8, 0.48, 0.6), "not judged: more of B's requests failed", "not judged"),
            (mean(1.2, 0.6, 0.48), "not judged: more of A's requests failed", "not judged"),
            (mean(0.8, 0.6, 0.48), "B is faster, of those answered", "B is faster *"),
            (mean(1.2, 0.48, 0.6), "B is slower, of those answered", "B is slower *"),
            (mean(0.8, 0.0, 0.009), "B is faster", "B is faster"),
            (of("response_time_mean", 0.8, [None, None]), "B is faster", "B is faster"),
            (of("throughput", 0.8, [Some(0.48), Some(0.6)]), "B has less", "B has less"),
        ] {
            assert!(compared.differs(), "{compared:?}");
            assert_eq!((compared.verdict().as_str(), compared.short_verdict(1).as_str()), (verdict, short));
            let legend = legend_of_failures(&[&compared]).concat();
            assert_eq!(legend.starts_with("not judged: "), short == "not judged", "{legend}");
            assert_eq!(legend.starts_with("*: more than 1 %"), short.ends_with('*'), "{legend}");
        }
        let unjudged = mean(0.8, 0.48, 0.6);
        assert!(unjudged.is_only_alone(1000) && !unjudged.has_mark(1000), "what is not judged has no mark");
    }

    /// Zeros, and zeros but for rounding, are equal, whichever is second.
    #[test]
    fn what_is_equal_but_for_rounding_is_equal() {
        let verdict = |pairs: &[(f64, f64)]| Comparison::of_pairs("resolve_time_mean", "s", pairs).unwrap().verdict();
        assert_eq!(verdict(&[(0.0, 0.0); 5]), "equal");
        let hair = 0.1 + 0.2 - 0.3;
        assert_eq!(verdict(&[(0.3, 0.3 + hair); 5]), "equal");
        let exact = |value| Estimate::Exact { value };
        let constant = Comparison::of_estimates("response_time_mean", "s", &exact(0.3), &exact(0.1 + 0.2)).unwrap();
        assert_eq!((constant.verdict().as_str(), constant.differs()), ("equal", false));
        assert_eq!(
            verdict(&[(1e-9, 2e-9), (1e-9, 2.1e-9), (1e-9, 1.9e-9)]),
            "B is slower",
            "a nanosecond is something"
        );
        assert_eq!(verdict(&[(2e-9, 1e-9), (2.1e-9, 1e-9), (1.9e-9, 1e-9)]), "B is faster");
    }
}

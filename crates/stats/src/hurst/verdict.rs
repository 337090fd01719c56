//! What the evidence comes to, in plain words.

use super::evidence::{BEYOND_CHANCE, Evidence, Shift};
use super::{Estimate, Hurst};

/// A series that looks alike on all scales, or does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// Nothing speaks against independent numbers.
    Independent,
    /// Neighbours depend on each other, and distant numbers do not.
    ShortRange,
    /// Long-range dependence: H above a half at every scale, or from some scale on.
    LongRange,
    /// H below a half: high values are followed by low ones over all scales.
    Antipersistent,
    /// Level shifts, a trend, or a walk: there is no one H.
    NotStationary,
    /// Too short, or too near a half, to tell.
    Undecided,
}

/// Standard errors from a half that are taken for dependence: one in a million by chance.
const SURE: f64 = 4.9;
/// ... and those within which nothing is made of them.
const NEAR: f64 = 1.96;
/// Block means with an H above this have no level of their own.
const WALKING: f64 = 0.97;
/// An autoregression with this correlation of neighbours is as good as a random walk.
const WALK: f64 = 0.95;
/// A shift that takes this share of H - 1/2 with it explains it.
const EXPLAINED: f64 = 0.5;
/// The largest deviation has at most this share of the variance of a series without extremes.
const EXTREME: f64 = 0.2;
/// Estimators with intervals may differ by this much beyond chance before it is said.
const IMMATERIAL: f64 = 0.05;
/// With fewer numbers the imitations of self-similarity are not told from it.
const ENOUGH: usize = 4096;
/// Those without may differ from Whittle's by this much, and by five over the root of the numbers there are.
const APART: f64 = 0.15;

/// The finding, the verdict, and the warnings that go with it.
pub(super) fn judge(hurst: &Hurst, evidence: &Evidence) -> (Finding, String, Vec<String>) {
    let finding = find(hurst, evidence);
    let warnings = warnings(hurst, evidence);
    let verdict = words(finding, hurst, evidence, &warnings);
    (finding, verdict, warnings)
}

fn find(hurst: &Hurst, evidence: &Evidence) -> Finding {
    let settled = evidence.settled().estimate;
    let from_half = (settled.h - 0.5) / settled.standard_error;
    let explained = evidence.shift.is_some_and(|shift| explains(&shift.without, &settled))
        || evidence.cycle.is_some_and(|cycle| explains(&cycle.without, &evidence.scales[0].estimate));
    let walks = walks(hurst, evidence);
    match evidence.autoregression {
        Some((correlation, _)) if walks && correlation > WALK => return Finding::NotStationary,
        Some(_) if evidence.onset == 0 || falls(evidence) => return Finding::ShortRange,
        _ if walks || explained => return Finding::NotStationary,
        _ => {}
    }
    match from_half {
        z if z >= SURE => Finding::LongRange,
        z if z <= -SURE => Finding::Antipersistent,
        _ if evidence.onset > 0 && falls(evidence) => Finding::ShortRange,
        z if z.abs() < NEAR && evidence.onset == 0 => Finding::Independent,
        _ => Finding::Undecided,
    }
}

fn falls(evidence: &Evidence) -> bool {
    evidence.settled().estimate.h < evidence.scales[0].estimate.h
}

/// H at the upper end of what there is.
fn walks(hurst: &Hurst, evidence: &Evidence) -> bool {
    evidence.settled().estimate.h > WALKING || hurst.local_whittle.ci_low.is_some_and(|low| low > 1.0)
}

/// What was taken out took H with it.
fn explains(without: &Estimate, with: &Estimate) -> bool {
    let (left, all) = (without.h - 0.5, with.h - 0.5);
    all <= 0.0 || left < EXPLAINED * all || left < NEAR * without.standard_error
}

fn warnings(hurst: &Hurst, evidence: &Evidence) -> Vec<String> {
    let mut warnings = Vec::new();
    let (finest, settled) = (evidence.scales[0].estimate, evidence.settled());
    if evidence.onset > 0 {
        let (from, to, block) = (finest.h, settled.estimate.h, settled.block);
        warnings.push(if falls(evidence) {
            format!(
                "H falls from {from:.2} to {to:.2} as the series is averaged over blocks of 1 to {block} numbers: that is \
                 short-range dependence, which looks self-similar without averaging"
            )
        } else {
            format!(
                "H grows from {from:.2} to {to:.2} as the series is averaged over blocks of 1 to {block} numbers: level \
                 shifts and trends do that, and so does long-range dependence under independent noise"
            )
        });
    }
    if let Some((correlation, gain)) = evidence.autoregression {
        warnings.push(format!(
            "short-range dependence explains it better: a first-order autoregression with correlation {correlation:.2} beats \
             fractional noise by {gain:.0} in log-likelihood{}",
            of_blocks(settled.block)
        ));
    }
    if let Some(shift) = evidence.shift {
        let Shift { position, before, after, without, .. } = shift;
        let what = if shift.gradual { "a trend" } else { "a level shift" };
        warnings.push(format!(
            "the level is not constant: the mean is {} up to number {position} and {} after it, more apart than H explains; \
             without {what} there, H{} is {}",
            significant(before),
            significant(after),
            of_blocks(settled.block),
            interval(&without)
        ));
    }
    if let Some(cycle) = evidence.cycle {
        warnings.push(format!(
            "there is a cycle of {} numbers; without it Whittle's H is {}",
            significant(cycle.period),
            interval(&cycle.without)
        ));
    }
    if walks(hurst, evidence) {
        let local = hurst.local_whittle.h;
        warnings.push(format!(
            "H is at the upper end of what there is (local Whittle: {local:.2}): the series is not stationary, or its \
             correlations are longer than it is itself; a trend, a walk or a daily cycle does that"
        ));
    }
    warnings.extend(disagreement(hurst));
    if hurst.points < ENOUGH {
        warnings.push(format!(
            "{} numbers are few: below {ENOUGH} level shifts and short-range dependence can pass for self-similarity",
            hurst.points
        ));
    }
    if evidence.largest_share > EXTREME {
        warnings.push(format!(
            "one number makes {:.0} % of the variance: with tails that heavy every estimator that uses variances is unsteady",
            100.0 * evidence.largest_share
        ));
    }
    let shuffled = evidence.shuffled;
    if (shuffled.h - 0.5).abs() > SURE * shuffled.standard_error {
        warnings.push(format!(
            "shuffled, the same numbers still give H = {}: it is their law that deceives the estimator",
            interval(&shuffled)
        ));
    }
    warnings
}

/// Estimators with intervals too far apart for them, or others far from the sharpest.
fn disagreement(hurst: &Hurst) -> Option<String> {
    let readings = hurst.readings();
    let half = |low: Option<f64>, high: Option<f64>| Some(0.5 * (high? - low?));
    // FARIMA is another model: of fractional Gaussian noise it says 0.98 where H is 0.9.
    let model_free = [&hurst.whittle_fgn, &hurst.local_whittle, &hurst.wavelet];
    let with: Vec<(f64, f64)> = model_free.iter().filter_map(|r| Some((r.h, half(r.ci_low, r.ci_high)?))).collect();
    let apart = with.iter().enumerate().any(|(index, (h, half))| {
        with[index + 1..].iter().any(|(other, others)| {
            (h - other).abs() > IMMATERIAL + BEYOND_CHANCE / NEAR * (half * half + others * others).sqrt()
        })
    });
    let most = APART + 5.0 / (hurst.points as f64).sqrt();
    let without = readings.iter().filter(|(_, r)| r.ci_low.is_none());
    let far = without.into_iter().any(|(_, r)| (r.h - hurst.whittle_fgn.h).abs() > most);
    if !apart && !far {
        return None;
    }
    let finite = || readings.iter().filter(|(_, r)| r.h.is_finite());
    let (lowest, low) = finite().min_by(|a, b| a.1.h.total_cmp(&b.1.h))?;
    let (highest, high) = finite().max_by(|a, b| a.1.h.total_cmp(&b.1.h))?;
    Some(format!("the estimators disagree: from {:.2} ({lowest}) to {:.2} ({highest})", low.h, high.h))
}

fn words(finding: Finding, hurst: &Hurst, evidence: &Evidence, warnings: &[String]) -> String {
    let settled = evidence.settled();
    let h = interval(&settled.estimate);
    let longest = evidence.scales[evidence.scales.len() - 1].block;
    let shuffled = evidence.shuffled.h;
    let doubtful = !warnings.is_empty();
    let but = if doubtful { "; but read the warnings, something else may be what is seen" } else { "" };
    match finding {
        Finding::Independent => format!(
            "Not self-similar: H = {h} holds 0.5, as of independent numbers, and nothing else speaks for dependence{but}."
        ),
        Finding::ShortRange => format!(
            "Not shown to be self-similar: there is short-range dependence, and what is left of it in blocks of {longest} \
             numbers is H = {}{but}.",
            interval(&evidence.scales[evidence.scales.len() - 1].estimate)
        ),
        Finding::LongRange if evidence.onset == 0 => format!(
            "{}: H = {h}, the same in blocks of 1 to {longest} numbers; shuffled, the same numbers give \
             {shuffled:.2}, so it is their order{but}.",
            if doubtful { "Perhaps self-similar" } else { "Self-similar" }
        ),
        Finding::LongRange => format!(
            "Long-range dependent from blocks of {} numbers on, with H = {h}; at shorter range it is not fractional noise, \
             and Whittle's H of the single numbers misleads{but}.",
            settled.block
        ),
        Finding::Antipersistent => format!(
            "Antipersistent: H = {h} lies below 0.5, high values are followed by low ones. That is not burstiness{but}."
        ),
        Finding::NotStationary => {
            "Not stationary, as far as can be seen, and so not called self-similar: a changing level looks like a large H \
             to every estimator. Cut the series where it changes, or take out what changes it (a trend, a cycle; of a walk, take \
             the steps), and ask again."
                .into()
        }
        Finding::Undecided => format!(
            "Undecided: H = {h}{}, too near 0.5 or known too badly to tell; {} numbers are not enough{but}.",
            of_blocks(settled.block),
            hurst.points
        ),
    }
}

fn of_blocks(block: usize) -> String {
    if block == 1 { String::new() } else { format!(" in blocks of {block} numbers") }
}

fn interval(estimate: &Estimate) -> String {
    format!("{:.2} ({:.2} to {:.2})", estimate.h, estimate.ci_low, estimate.ci_high)
}

/// In four significant digits.
fn significant(value: f64) -> String {
    if value == 0.0 || !(1e-3..1e6).contains(&value.abs()) {
        return format!("{value:.3e}");
    }
    let magnitude = value.abs().log10().floor() as i32;
    format!("{value:.*}", (3 - magnitude).max(0) as usize)
}

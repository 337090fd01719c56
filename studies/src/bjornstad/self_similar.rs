//! Self-similar arrivals: Figure 7.7, and response time against H at equal mean and variance.

use std::fmt::Write;

use sojourn_stats::{Estimate, Moments, measure};

use super::live::SERVERS;
use super::live::measured::Live;
use super::series::{SERVICE_S, UTILIZATION};
use super::simulated::Simulated;
use super::simulated::averages::SIZE;
use super::simulated::memory::{self, HURST, MARGINALS, PLAYED};
use super::simulated::replay::DISCIPLINES;
use crate::finding::Finding;
use crate::number::{Number, interval};
use crate::verdict::positive;

/// Coefficients of variation of the averages at an H, in the order of the sets.
fn spreads(simulated: &Simulated, hurst: usize) -> Vec<f64> {
    let mut found: Vec<(u64, f64)> =
        simulated.averages.iter().filter(|of| of.hurst == hurst).map(|of| (of.set, of.averages_cv)).collect();
    found.sort_by_key(|of| of.0);
    found.into_iter().map(|of| of.1).collect()
}

fn over_sets(values: impl IntoIterator<Item = f64>) -> Option<Number> {
    let all: Moments = values.into_iter().collect();
    Number::of(&measure::mean_of_samples(&all), false)
}

/// Figure 7.7 as a statement.
pub(super) fn finding(simulated: &Simulated) -> Finding {
    let rise = |hurst: usize| {
        let pairs = spreads(simulated, hurst - 1).into_iter().zip(spreads(simulated, hurst));
        positive(over_sets(pairs.map(|(low, high)| (high / low).ln())))
    };
    let shown = |hurst: usize| over_sets(spreads(simulated, hurst)).map_or("-".into(), |of| format!("{:.3}", of.value));
    Finding {
        place: "Figure 7.7",
        claim: "Averages of 1000 gaps spread more with each H (files of 10^5, equal mean and variance of the gaps)",
        comparisons: (1..HURST.len()).map(rise).collect(),
        ours: format!("deviation over mean {}", (0..HURST.len()).map(shown).collect::<Vec<_>>().join(", ")),
        why: "the noise is not what it should be.",
    }
}

/// Figure 7.7 as a table.
pub(super) fn averages_table(simulated: &Simulated, live: &Live) -> String {
    let mut text = format!(
        "\n## Figure 7.7: averages of self-similar gaps\n\nStandard deviation of the averages of {SIZE} gaps over the mean \
         gap: of files of 10^5, with the interval over {} files, and what fractional Gaussian noise of so many numbers has, \
         m^(H - 1) times the deviation of one gap. The captured gaps are fewer, so their averages are of fewer; one path has \
         no interval, so nothing is concluded from it.\n\n| H | files | law |",
        memory::SETS
    );
    for name in &SERVERS {
        let _ = write!(text, " {name} | law |");
    }
    let _ = writeln!(text, "\n|---|---|---|{}", "---|---|".repeat(SERVERS.len()));
    for (hurst, h) in HURST.iter().enumerate() {
        let of_h = || simulated.averages.iter().filter(move |of| of.hurst == hurst);
        let law = over_sets(of_h().map(|of| of.gaps_cv * (SIZE as f64).powf(h - 1.0)));
        let files = interval(over_sets(of_h().map(|of| of.averages_cv)), 3);
        let _ = write!(text, "| {h} | {files} | {} |", law.map_or("-".into(), |of| format!("{:.3}", of.value)));
        for (server, name) in SERVERS.iter().enumerate() {
            let blocks: Vec<_> = live.blocks.iter().filter(|row| row.server == *name && row.hurst == *h).collect();
            let averages: Moments = blocks.iter().map(|row| row.mean_gap_s).collect();
            let gaps = live.of(server).find(|of| {
                let facts = &of.facts;
                (facts.gaps.as_str(), facts.service.as_str()) == (format!("noise-{h}").as_str(), "exponential")
            });
            let shown = blocks.first().zip(gaps).map(|(row, gaps)| {
                let law = gaps.facts.gap_std_s / gaps.facts.gap_mean_s * (row.size as f64).powf(h - 1.0);
                let cv = averages.variance().sqrt() / averages.mean();
                format!(" {cv:.3}, {} of {} | {law:.3} |", blocks.len(), row.size)
            });
            text += &shown.unwrap_or_else(|| " - | - |".into());
        }
        text.push('\n');
    }
    text
}

/// Mean response times (s) of a law at an H under a discipline, in the order of the sets.
pub(super) fn of_sets(simulated: &Simulated, marginal: usize, hurst: usize, place: usize) -> Vec<f64> {
    let mut found: Vec<&memory::Outcome> =
        simulated.memory.iter().filter(|of| of.marginal == marginal && of.hurst == hurst).collect();
    found.sort_by_key(|of| of.set);
    found.iter().map(|of| of.means_s[place]).collect()
}

/// Response time against H at equal mean and variance.
pub(super) fn memory_table(simulated: &Simulated) -> String {
    let mut text = format!(
        "\n## Response time against H, at equal mean and variance\n\nGaps of one law in the order of fractional \
         Gaussian noise, exponential services, utilisation 0.95, {} sets of 10^5 requests; mean response times in \
         seconds with their 95 % interval over sets. At H = 0.5 the first law is M/M/1, {:.2} s exactly.\n\n| law of \
         the gaps | discipline | H = 0.5 | H = 0.6 | H = 0.7 | H = 0.8 |\n|---|---|---|---|---|---|\n",
        memory::SETS,
        SERVICE_S / (1.0 - UTILIZATION),
    );
    for (marginal, (name, _)) in MARGINALS.iter().enumerate() {
        for (place, discipline) in PLAYED.iter().enumerate() {
            let _ = write!(text, "| {name} | {} |", DISCIPLINES[*discipline].0);
            for hurst in 0..HURST.len() {
                let of: Moments = of_sets(simulated, marginal, hurst, place).into_iter().collect();
                let shown = match measure::mean_of_samples(&of) {
                    Estimate::Sampled { value, ci_low, ci_high, .. } => {
                        format!("{value:.2} ± {:.2}", 0.5 * (ci_high - ci_low))
                    }
                    _ => "-".into(),
                };
                let _ = write!(text, " {shown} |");
            }
            text.push('\n');
        }
        let _ = write!(text, "| {name} | H that came out |");
        for hurst in 0..HURST.len() {
            let of = simulated.memory.iter().filter(|of| of.marginal == marginal && of.hurst == hurst);
            let measured: Moments = of.map(|of| of.measured_h).collect();
            let _ = write!(text, " {:.3} |", measured.mean());
        }
        text.push('\n');
    }
    text
}

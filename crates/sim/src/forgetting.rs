//! How fast a system forgets, as its response times tell it: what follows one another is alike for as long as the state lasts.
//!
//! Each replication is cut into [`STRETCHES`] equal stretches. How far their means differ, against single response times, says
//! how many requests tell as much as one (`alike`), which is also about how many fail together. Whether a run is long
//! against what the system remembers ([`has_forgotten`]) is asked of the same means: neighbours of stretches that are half a
//! relaxation time long have a correlation of 0.73, and a run that has settled has the same mean in both halves. The price:
//! what moves more slowly than a whole run, and hardly moves the mean, is not seen.

use sojourn_stats::interval::t_quantile;
use sojourn_stats::{Batches, Histogram, Moments, parts};

/// Stretches of a replication.
const STRETCHES: usize = 20;
/// The correlation of the means of neighbouring stretches of half a relaxation time each, of a process that forgets
/// exponentially: (1 - e^-a)^2 / (2 (a - 1 + e^-a)) at a = 1/2. With it a run is ten relaxation times long.
const CORRELATION_MOST: f64 = 0.727;
/// Chance that a settled run is taken for one that is not, where that takes its intervals.
const FALSE_ALARM: f64 = 0.01;
/// The same where it is only begun anew: what is left of a beginning is then smaller than an interval.
pub(crate) const ANEW: f64 = 0.2;

/// Response times (ns) in the order of their ends, in bounded memory.
pub(crate) fn batches() -> Batches {
    Batches::new(5 * STRETCHES, 1)
}

/// The means of a replication's stretches, and how many requests each is of; none of too few.
fn stretches(batches: &Batches) -> Option<(Vec<f64>, u64)> {
    let means = batches.means();
    let each = means.len() / STRETCHES;
    let first = means.len() - each * STRETCHES;
    let mean = |some: &[f64]| some.iter().sum::<f64>() / each as f64;
    (each > 0).then(|| (means[first..].chunks_exact(each).map(mean).collect(), each as u64 * batches.size()))
}

/// How many requests that follow one another tell as much as one, from the response times of each replication; `variance` is
/// that of single ones.
pub(crate) fn alike<'a>(replications: impl IntoIterator<Item = &'a Batches>, variance: f64) -> f64 {
    let (mut sum, mut count) = (0.0, 0u64);
    for (means, of_each) in replications.into_iter().filter_map(stretches) {
        sum += means.into_iter().collect::<Moments>().variance() * of_each as f64;
        count += 1;
    }
    if count == 0 { 1.0 } else { parts::alike(sum / count as f64, 1, variance, count * (STRETCHES as u64 - 1)) }
}

/// The same from the mean response times of parts that follow one another, or are independent (s).
pub(crate) fn alike_of_parts(parts: &[Option<f64>], whole: &Histogram) -> f64 {
    let means: Moments = parts.iter().flatten().copied().collect();
    let degrees = means.count().saturating_sub(1);
    if degrees == 0 {
        return 1.0;
    }
    let of_mean = means.variance() * 1e18 / means.count() as f64;
    parts::alike(of_mean, whole.count(), whole.variance(), degrees)
}

/// The means of the stretches of every replication; none below two, or where one is too short.
fn all<'a>(replications: impl IntoIterator<Item = &'a Batches>) -> Option<Vec<Vec<f64>>> {
    let means = |batches: &'a Batches| stretches(batches).map(|(means, _)| means);
    replications.into_iter().map(means).collect::<Option<Vec<_>>>().filter(|all| all.len() > 1)
}

/// Whether the replications have the same mean in both halves, by Student's t at this chance of a false alarm.
pub(crate) fn has_settled<'a>(replications: impl IntoIterator<Item = &'a Batches>, false_alarm: f64) -> bool {
    let Some(all) = all(replications) else { return false };
    let half = |means: &[f64]| means.iter().sum::<f64>();
    let growth = |means: &Vec<f64>| half(&means[STRETCHES / 2..]) - half(&means[..STRETCHES / 2]);
    let growth: Moments = all.iter().map(growth).collect();
    let by_chance = t_quantile(1.0 - 0.5 * false_alarm, growth.count() - 1);
    growth.mean().abs() <= by_chance * (growth.variance() / growth.count() as f64).sqrt()
}

/// Whether each replication is at least ten relaxation times long, and has settled.
pub(crate) fn has_forgotten<'a>(replications: impl IntoIterator<Item = &'a Batches> + Clone) -> bool {
    let has_settled = has_settled(replications.clone(), FALSE_ALARM);
    let Some(all) = all(replications) else { return false };
    let whole: Moments = all.iter().flatten().copied().collect();
    let off = |mean: f64| mean - whole.mean();
    let products: Moments =
        all.iter().flat_map(|means| means.windows(2)).map(|pair| off(pair[0]) * off(pair[1])).collect();
    let correlation = products.mean() / whole.variance();
    // Constant response times remember nothing.
    whole.variance() == 0.0 || (correlation <= CORRELATION_MOST && has_settled)
}

#[cfg(test)]
mod tests {
    use sojourn_stats::Stream;

    use super::*;

    /// Twenty series of a process that forgets in `relaxation` steps, each so many steps long, beginning at `start`.
    fn autoregressions(relaxation: f64, length: usize, start: f64) -> Vec<Batches> {
        let keeps = (-1.0 / relaxation).exp();
        let mut draw = Stream::new(1, "autoregression", "");
        let one = |_| {
            let (mut all, mut now) = (batches(), start);
            for _ in 0..length {
                now = keeps * now
                    + (1.0 - keeps * keeps).sqrt() * sojourn_stats::interval::normal_quantile(draw.uniform());
                all.push(now);
            }
            all
        };
        (0..20).map(one).collect()
    }

    /// Of a first-order autoregression (1 + r)/(1 - r) values tell as much as one.
    #[test]
    fn requests_that_are_alike_are_counted() {
        assert_eq!(alike(&autoregressions(0.05, 20_000, 0.0), 1.0), 1.0, "independent ones");
        let found = alike(&autoregressions(20.0, 40_000, 0.0), 1.0);
        assert!((found / 40.0 - 1.0).abs() < 0.2, "{found}, not 40");
        assert_eq!(alike(&[batches()], 1.0), 1.0, "of nothing");
    }

    #[test]
    fn a_run_that_is_short_or_has_not_settled_is_seen() {
        assert!(has_forgotten(&autoregressions(100.0, 4_000, 0.0)), "forty relaxation times");
        assert!(!has_forgotten(&autoregressions(100.0, 300, 0.0)), "three");
        assert!(
            !has_forgotten(&autoregressions(1_000.0, 10_000, 5.0)),
            "one that begins far off, five relaxation times of the end"
        );
        assert!(!has_forgotten(&[]));
    }
}

//! Answers of a run folder: the value of a metric in the variant with given settings.

use std::collections::HashMap;
use std::path::Path;

use sojourn_lab::Folder;
use sojourn_stats::{Estimate, interval};

use crate::ReproduceError;

/// The simulator's answers of one run folder.
pub(crate) struct Answers {
    settings: Vec<Vec<(String, String)>>,
    estimates: Vec<HashMap<String, Estimate>>,
    replications: Vec<HashMap<String, Vec<Option<f64>>>>,
    /// Duration of the run (s).
    pub(crate) elapsed_s: f64,
    /// The machine.
    pub(crate) host: Vec<(String, String)>,
    /// VALID, SUSPECT or INCOMPLETE.
    pub(crate) verdict: String,
    /// Why not VALID.
    reasons: Vec<String>,
}

/// A number per replication (a difference or a ratio of two variants): their mean with its 95 % interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paired {
    pub(crate) mean: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Paired {
    /// Which side of zero the whole interval lies on, if any.
    pub(crate) fn sign(self) -> Option<bool> {
        match (self.low > 0.0, self.high < 0.0) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        }
    }
}

impl Answers {
    /// Reads the answers of `engine` in the run folder at `path`.
    pub(crate) fn read(path: &Path, engine: &str) -> Result<Answers, ReproduceError> {
        let folder = Folder::read(path).map_err(|e| ReproduceError(e.to_string()))?;
        let variants = folder.run.variants.len();
        let settings: Vec<_> = folder.run.variants.iter().map(|variant| variant.settings.clone()).collect();
        let index: HashMap<&[(String, String)], usize> =
            settings.iter().enumerate().map(|(index, settings)| (settings.as_slice(), index)).collect();
        let mut estimates = vec![HashMap::new(); variants];
        for row in folder.outcomes.iter().filter(|row| row.engine == engine) {
            let key: Vec<_> = row.settings.iter().map(|s| (s.key.clone(), s.value.clone())).collect();
            if let Some(&variant) = index.get(key.as_slice()) {
                estimates[variant].insert(row.measure.metric.clone(), row.measure.estimate.clone());
            }
        }
        let mut replications = vec![HashMap::new(); variants];
        for replicated in folder.replications.into_iter().filter(|of| of.engine == engine) {
            replications[replicated.variant].insert(replicated.metric, replicated.values);
        }
        let run = folder.run;
        let verdict = format!("{:?}", run.verdict).to_uppercase();
        let (elapsed_s, host, reasons) = (run.elapsed_s, run.host, run.reasons);
        Ok(Answers { settings, estimates, replications, elapsed_s, host, verdict, reasons })
    }

    /// Why it is not VALID, as the end of a sentence.
    pub(crate) fn reasons(&self) -> String {
        match self.reasons.as_slice() {
            [] => String::new(),
            [one] => format!(": {one}"),
            [first, rest @ ..] => format!(": {first} (and {} more reasons)", rest.len()),
        }
    }

    /// Number of variants.
    pub(crate) fn variants(&self) -> usize {
        self.settings.len()
    }

    /// The variant that has all of `wanted`; an empty value stands for a setting that the variant does not name.
    pub(crate) fn variant(&self, wanted: &[(&str, &str)]) -> Option<usize> {
        self.settings
            .iter()
            .position(|settings| wanted.iter().all(|(key, value)| settings.iter().any(|(k, v)| k == key && v == value)))
    }

    /// The estimate of `metric` in that variant.
    pub(crate) fn estimate(&self, wanted: &[(&str, &str)], metric: &str) -> Option<Estimate> {
        self.estimates[self.variant(wanted)?].get(metric).cloned()
    }

    /// Its value; none of a number without an interval, on which no statement can rest.
    pub(crate) fn value(&self, wanted: &[(&str, &str)], metric: &str) -> Option<f64> {
        self.estimate(wanted, metric).filter(|estimate| estimate.ends().is_some())?.value()
    }

    /// The sum of `metric` over all variants that have it.
    pub(crate) fn sum(&self, metric: &str) -> f64 {
        self.estimates.iter().filter_map(|of| of.get(metric)?.value()).sum()
    }

    /// `metric` of `a` minus that of `b`, replication by replication.
    pub(crate) fn paired(&self, metric: &str, a: &[(&str, &str)], b: &[(&str, &str)]) -> Option<Paired> {
        let (a, b) = (self.replicated(a, metric)?, self.replicated(b, metric)?);
        Paired::of(a.iter().zip(b).filter_map(|(a, b)| Some((*a)? - (*b)?)))
    }

    /// `metric` of `a` over that of `b`, replication by replication.
    pub(crate) fn ratio(&self, metric: &str, a: &[(&str, &str)], b: &[(&str, &str)]) -> Option<Paired> {
        let (a, b) = (self.replicated(a, metric)?, self.replicated(b, metric)?);
        Paired::of(a.iter().zip(b).filter_map(|(a, b)| Some((*a)? / (*b)?)))
    }

    /// The spread of the servers' shares `metric_1`, `metric_2`, ...: the largest less the smallest, relative to an
    /// equal share, replication by replication.
    pub(crate) fn spread(&self, metric: &str, servers: usize, wanted: &[(&str, &str)]) -> Option<Paired> {
        let shares = (1..=servers).map(|server| self.replicated(wanted, &format!("{metric}_{server}")));
        let shares: Vec<&[Option<f64>]> = shares.collect::<Option<_>>()?;
        let replications = shares.iter().map(|of| of.len()).min()?;
        Paired::of((0..replications).filter_map(|replication| {
            let of: Vec<f64> = shares.iter().map(|share| share[replication]).collect::<Option<_>>()?;
            let (low, high) = of.iter().fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(*x), high.max(*x)));
            Some((high - low) * servers as f64)
        }))
    }

    fn replicated(&self, wanted: &[(&str, &str)], metric: &str) -> Option<&[Option<f64>]> {
        self.replications[self.variant(wanted)?].get(metric).map(Vec::as_slice)
    }
}

impl Paired {
    /// Student's interval for the mean of one value per replication.
    fn of(values: impl Iterator<Item = f64>) -> Option<Paired> {
        let differences: Vec<f64> = values.collect();
        let pairs = differences.len();
        let mean = differences.iter().sum::<f64>() / pairs as f64;
        let variance = differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (pairs as f64 - 1.0);
        let half = interval::mean_half_width(pairs as u64, variance, 0.95)?;
        Some(Paired { mean, low: mean - half, high: mean + half })
    }
}

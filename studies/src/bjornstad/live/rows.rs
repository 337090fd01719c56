//! What is kept of the measured half: tables that stand beside the page, so that it is written without measuring again.
//!
//! A request's own times are not kept, they would be fifteen megabytes; what the page says of them is. The price: a
//! statement about them that is thought of later needs the measurement again.

use std::path::Path;

use serde::{Deserialize, Serialize};
use sojourn_stats::{Estimate, measure};

use crate::ReproduceError;
use crate::bjornstad::series::Cell;
use crate::kept;

/// A server, and the machine it ran on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::bjornstad) struct ServerRow {
    pub(in crate::bjornstad) server: String,
    pub(in crate::bjornstad) machine: String,
    /// Processor time of a request without work (s).
    pub(in crate::bjornstad) request_s: f64,
    /// Time of an idle reply beyond its processor time (s): the path, both ways.
    pub(in crate::bjornstad) path_s: f64,
    /// Time of a unit of work (s), as the demands were planned: a nanosecond, or a round of PHP's loop.
    pub(in crate::bjornstad) unit_s: f64,
    /// The same by the processor time of one level alone (s).
    pub(in crate::bjornstad) processor_unit_s: f64,
    /// Whether the run of the levels was SUSPECT.
    pub(in crate::bjornstad) suspect: bool,
}

/// A level of the calibration.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::bjornstad) struct LevelRow {
    pub(in crate::bjornstad) server: String,
    /// One of [`super::LEVELS`].
    pub(in crate::bjornstad) levels: String,
    /// From 1.
    pub(in crate::bjornstad) level: usize,
    pub(in crate::bjornstad) units: u64,
    pub(in crate::bjornstad) requests: u64,
    /// Mean response time (s) with its interval.
    pub(in crate::bjornstad) mean_s: f64,
    pub(in crate::bjornstad) ci_low: Option<f64>,
    pub(in crate::bjornstad) ci_high: Option<f64>,
    pub(in crate::bjornstad) std_s: f64,
}

/// The line through the levels: `quantity` is `unit` (s per unit of work) or `constant` (s).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::bjornstad) struct LineRow {
    pub(in crate::bjornstad) server: String,
    pub(in crate::bjornstad) levels: String,
    pub(in crate::bjornstad) quantity: String,
    pub(in crate::bjornstad) value: f64,
    pub(in crate::bjornstad) ci_low: Option<f64>,
    pub(in crate::bjornstad) ci_high: Option<f64>,
}

/// A cell on a server.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(in crate::bjornstad) struct CellRow {
    pub(in crate::bjornstad) server: String,
    pub(in crate::bjornstad) gaps: String,
    pub(in crate::bjornstad) service: String,
    pub(in crate::bjornstad) requests: u64,
    pub(in crate::bjornstad) failed: u64,
    /// How often it was measured, until it was not SUSPECT.
    pub(in crate::bjornstad) attempts: u32,
    pub(in crate::bjornstad) suspect: bool,
    /// Why.
    pub(in crate::bjornstad) doubt: String,
    /// The factor on the planned demands.
    pub(in crate::bjornstad) factor: f64,
    pub(in crate::bjornstad) utilization: f64,
    pub(in crate::bjornstad) lateness_p99_s: f64,
    /// The larger share of a core that was stolen.
    pub(in crate::bjornstad) stolen: f64,
    pub(in crate::bjornstad) elapsed_s: f64,
    pub(in crate::bjornstad) gap_mean_s: f64,
    pub(in crate::bjornstad) gap_std_s: f64,
    pub(in crate::bjornstad) demand_mean_s: f64,
    pub(in crate::bjornstad) demand_std_s: f64,
    /// Mean square of the demands over twice their mean (s), and the share of them below it.
    pub(in crate::bjornstad) breakpoint_s: f64,
    pub(in crate::bjornstad) below_breakpoint: f64,
    pub(in crate::bjornstad) response_std_s: f64,
}

/// An estimate of a cell's response times (s): `quantity` is `mean` or the name of a target.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::bjornstad) struct TimeRow {
    pub(in crate::bjornstad) server: String,
    pub(in crate::bjornstad) gaps: String,
    pub(in crate::bjornstad) service: String,
    pub(in crate::bjornstad) quantity: String,
    /// None: too few samples for any.
    pub(in crate::bjornstad) estimate: Option<f64>,
    /// None: `why` there is no interval.
    pub(in crate::bjornstad) ci_low: Option<f64>,
    pub(in crate::bjornstad) ci_high: Option<f64>,
    pub(in crate::bjornstad) why: String,
    pub(in crate::bjornstad) samples: u64,
}

/// The captured requests of a cell under a discipline, with the path to an idle server.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::bjornstad) struct ReplayRow {
    pub(in crate::bjornstad) server: String,
    pub(in crate::bjornstad) gaps: String,
    pub(in crate::bjornstad) service: String,
    pub(in crate::bjornstad) discipline: String,
    pub(in crate::bjornstad) mean_s: f64,
    pub(in crate::bjornstad) std_s: f64,
    /// Times within which 80, 90, 95 and 99 % are answered (s).
    pub(in crate::bjornstad) p80_s: f64,
    pub(in crate::bjornstad) p90_s: f64,
    pub(in crate::bjornstad) p95_s: f64,
    pub(in crate::bjornstad) p99_s: f64,
    /// The measured mean over this one's.
    pub(in crate::bjornstad) ratio: Option<f64>,
    pub(in crate::bjornstad) ratio_low: Option<f64>,
    pub(in crate::bjornstad) ratio_high: Option<f64>,
    /// Distance of the measured times from this replay: the mean of |ln(measured / replayed)|.
    pub(in crate::bjornstad) distance: Option<f64>,
}

/// A point of a distribution: the share of requests that take longer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::bjornstad) struct TailRow {
    pub(in crate::bjornstad) server: String,
    pub(in crate::bjornstad) gaps: String,
    pub(in crate::bjornstad) service: String,
    /// Measured, or the FCFS replay.
    pub(in crate::bjornstad) measured: bool,
    pub(in crate::bjornstad) share: f64,
    pub(in crate::bjornstad) time_s: f64,
}

/// H of captured gaps by an estimator.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::bjornstad) struct HurstRow {
    pub(in crate::bjornstad) server: String,
    pub(in crate::bjornstad) hurst: f64,
    pub(in crate::bjornstad) samples: usize,
    pub(in crate::bjornstad) estimator: String,
    pub(in crate::bjornstad) estimate: f64,
    pub(in crate::bjornstad) ci_low: Option<f64>,
    pub(in crate::bjornstad) ci_high: Option<f64>,
    /// What all estimators together say.
    pub(in crate::bjornstad) verdict: String,
}

/// The mean of a block of captured gaps.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::bjornstad) struct BlockRow {
    pub(in crate::bjornstad) server: String,
    pub(in crate::bjornstad) hurst: f64,
    /// Gaps of a block.
    pub(in crate::bjornstad) size: usize,
    pub(in crate::bjornstad) mean_gap_s: f64,
}

/// All of them.
#[derive(Debug, Default)]
pub(in crate::bjornstad) struct Kept {
    pub(in crate::bjornstad) servers: Vec<ServerRow>,
    pub(in crate::bjornstad) levels: Vec<LevelRow>,
    pub(in crate::bjornstad) lines: Vec<LineRow>,
    pub(in crate::bjornstad) cells: Vec<CellRow>,
    pub(in crate::bjornstad) times: Vec<TimeRow>,
    pub(in crate::bjornstad) replays: Vec<ReplayRow>,
    pub(in crate::bjornstad) tails: Vec<TailRow>,
    pub(in crate::bjornstad) hurst: Vec<HurstRow>,
    pub(in crate::bjornstad) blocks: Vec<BlockRow>,
}

impl Kept {
    pub(in crate::bjornstad) fn read(folder: &Path) -> Result<Kept, ReproduceError> {
        let file = |name: &str| folder.join(format!("{name}.csv"));
        if !file("cells").exists() {
            let at = file("cells");
            return Err(ReproduceError(format!("there is no {}: `make bjornstad-live` measures it", at.display())));
        }
        Ok(Kept {
            servers: kept::read(&file("servers"))?,
            levels: kept::read(&file("levels"))?,
            lines: kept::read(&file("lines"))?,
            cells: kept::read(&file("cells"))?,
            times: kept::read(&file("times"))?,
            replays: kept::read(&file("replays"))?,
            tails: kept::read(&file("tails"))?,
            hurst: kept::read(&file("hurst"))?,
            blocks: kept::read(&file("blocks"))?,
        })
    }

    pub(super) fn write(&self, folder: &Path) -> Result<(), ReproduceError> {
        let file = |name: &str| folder.join(format!("{name}.csv"));
        kept::write(&file("servers"), &self.servers)?;
        kept::write(&file("levels"), &self.levels)?;
        kept::write(&file("lines"), &self.lines)?;
        kept::write(&file("times"), &self.times)?;
        kept::write(&file("replays"), &self.replays)?;
        kept::write(&file("tails"), &self.tails)?;
        kept::write(&file("hurst"), &self.hurst)?;
        kept::write(&file("blocks"), &self.blocks)?;
        // Last, because a page is refused without it.
        kept::write(&file("cells"), &self.cells)
    }
}

impl TimeRow {
    pub(super) fn of(server: &str, cell: Cell, quantity: &str, estimate: &Estimate) -> TimeRow {
        let why = match estimate {
            Estimate::WithoutInterval { why, .. } => why.name(),
            Estimate::TooFew { .. } => measure::NoInterval::TooFew.name(),
            _ => "",
        };
        let samples = match *estimate {
            Estimate::Sampled { samples, .. }
            | Estimate::WithoutInterval { samples, .. }
            | Estimate::TooFew { samples } => samples,
            Estimate::Exact { .. } | Estimate::Approximate { .. } => 0,
        };
        let (low, high) = estimate.interval().unzip();
        TimeRow {
            server: server.to_owned(),
            gaps: cell.arrivals.key(),
            service: cell.service.key(),
            quantity: quantity.to_owned(),
            estimate: estimate.value().map(digits),
            ci_low: low.map(digits),
            ci_high: high.map(digits),
            why: why.to_owned(),
            samples,
        }
    }

    /// The estimate again.
    pub(super) fn estimate(&self) -> Estimate {
        let why = match self.why.as_str() {
            "too-short" => measure::NoInterval::TooShort,
            _ => measure::NoInterval::TooFew,
        };
        match (self.estimate, self.ci_low.zip(self.ci_high)) {
            (Some(value), Some((ci_low, ci_high))) => {
                Estimate::Sampled { value, ci_low, ci_high, samples: self.samples }
            }
            (value, _) => Estimate::without_interval(value, self.samples, why),
        }
    }
}

/// To six digits, which is more than any of these numbers is known to.
pub(super) fn digits(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bjornstad::series::Series;

    #[test]
    fn an_estimate_is_kept_with_what_is_known_of_it() {
        let cell = Cell { arrivals: Series::Noise(0.7), service: Series::Pareto(2.2) };
        for estimate in [
            Estimate::Sampled { value: 1.5, ci_low: 1.25, ci_high: 1.75, samples: 40 },
            Estimate::WithoutInterval { value: 1.5, samples: 40, why: measure::NoInterval::TooShort },
            Estimate::WithoutInterval { value: 1.5, samples: 40, why: measure::NoInterval::TooFew },
            Estimate::TooFew { samples: 3 },
        ] {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("times.csv");
            kept::write(&file, &[TimeRow::of("node", cell, "mean", &estimate)]).unwrap();
            let rows: Vec<TimeRow> = kept::read(&file).unwrap();
            assert_eq!(rows[0].estimate(), estimate);
        }
        assert_eq!((digits(0.123_456_78), digits(1_234.567_8)), (0.123_457, 1_234.57));
    }

    #[test]
    fn what_was_not_measured_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let error = Kept::read(folder.path()).unwrap_err().to_string();
        assert!(error.contains("cells.csv") && error.contains("`make bjornstad-live`"), "{error}");
    }
}

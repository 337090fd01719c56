//! Measured cells as the page has them, from the tables that are kept.

use std::collections::HashMap;
use std::path::Path;

use sojourn_stats::Estimate;

use super::SERVERS;
use super::rows::{BlockRow, CellRow, HurstRow, Kept, LevelRow, LineRow, ReplayRow, ServerRow, TailRow};
use crate::ReproduceError;
use crate::bjornstad::series::{Cell, TARGETS};
use crate::bjornstad::simulated::replay::DISCIPLINES;
use crate::number::Number;

/// A cell on a server.
pub(in crate::bjornstad) struct Measured {
    /// Its place in [`SERVERS`].
    pub(in crate::bjornstad) server: usize,
    pub(in crate::bjornstad) cell: Cell,
    pub(in crate::bjornstad) facts: CellRow,
    /// Estimates of response times (s), by quantity.
    times: HashMap<String, Estimate>,
    /// Replays of the same requests, by discipline.
    pub(in crate::bjornstad) replays: Vec<ReplayRow>,
}

/// All that was measured.
pub(in crate::bjornstad) struct Live {
    pub(in crate::bjornstad) cells: Vec<Measured>,
    pub(in crate::bjornstad) servers: Vec<ServerRow>,
    pub(in crate::bjornstad) levels: Vec<LevelRow>,
    pub(in crate::bjornstad) lines: Vec<LineRow>,
    pub(in crate::bjornstad) tails: Vec<TailRow>,
    pub(in crate::bjornstad) hurst: Vec<HurstRow>,
    pub(in crate::bjornstad) blocks: Vec<BlockRow>,
}

impl Live {
    /// Reads the tables that [`super::condense`] wrote into `folder`.
    pub(in crate::bjornstad) fn read(folder: &Path) -> Result<Live, ReproduceError> {
        let kept = Kept::read(folder)?;
        let mut times: HashMap<[String; 3], HashMap<String, Estimate>> = HashMap::new();
        for row in kept.times {
            let estimate = row.estimate();
            times.entry([row.server, row.gaps, row.service]).or_default().insert(row.quantity, estimate);
        }
        let mut replays: HashMap<[String; 3], Vec<ReplayRow>> = HashMap::new();
        for row in kept.replays {
            replays.entry([row.server.clone(), row.gaps.clone(), row.service.clone()]).or_default().push(row);
        }
        let all = Cell::all();
        let mut cells = Vec::new();
        for facts in kept.cells {
            let key = [facts.server.clone(), facts.gaps.clone(), facts.service.clone()];
            let wrong = |what: &str| ReproduceError(format!("{}, {}: {what}", folder.display(), key.join(", ")));
            let server = SERVERS.iter().position(|name| *name == facts.server);
            let cell = all.iter().find(|of| (of.arrivals.key(), of.service.key()) == (key[1].clone(), key[2].clone()));
            let (server, cell) = server.zip(cell).ok_or_else(|| wrong("cells.csv has no such server or cell"))?;
            let replays = replays.remove(&key).unwrap_or_default();
            if !replays.iter().map(|row| row.discipline.as_str()).eq(DISCIPLINES.iter().map(|of| of.0)) {
                return Err(wrong("replays.csv does not have each discipline once, in order"));
            }
            let times = times.remove(&key).ok_or_else(|| wrong("times.csv has nothing of it"))?;
            cells.push(Measured { server, cell: *cell, facts, times, replays });
        }
        let Kept { servers, levels, lines, tails, hurst, blocks, .. } = kept;
        if servers.len() != SERVERS.len() {
            return Err(ReproduceError(format!("{}: servers.csv has not both servers", folder.display())));
        }
        Ok(Live { cells, servers, levels, lines, tails, hurst, blocks })
    }

    /// The cell on this server.
    pub(in crate::bjornstad) fn cell(&self, server: usize, cell: Cell) -> Option<&Measured> {
        self.cells.iter().find(|of| of.server == server && of.cell == cell)
    }

    /// All cells of a server.
    pub(in crate::bjornstad) fn of(&self, server: usize) -> impl Iterator<Item = &Measured> {
        self.cells.iter().filter(move |of| of.server == server)
    }
}

impl Measured {
    fn time(&self, quantity: &str) -> Estimate {
        self.times.get(quantity).cloned().unwrap_or(Estimate::TooFew { samples: 0 })
    }

    /// The mean response time (s).
    pub(in crate::bjornstad) fn mean(&self) -> Estimate {
        self.time("mean")
    }

    /// The same without its interval (s).
    pub(in crate::bjornstad) fn mean_s(&self) -> f64 {
        self.mean().value().unwrap_or(f64::NAN)
    }

    /// The same as a number to compare.
    pub(in crate::bjornstad) fn mean_number(&self) -> Option<Number> {
        Number::of(&self.mean(), self.facts.suspect)
    }

    /// The time within which a share of [`TARGETS`] is answered (s).
    pub(in crate::bjornstad) fn target(&self, place: usize) -> Estimate {
        self.time(TARGETS[place].0)
    }

    /// The same as a number to compare.
    pub(in crate::bjornstad) fn target_number(&self, place: usize) -> Option<Number> {
        Number::of(&self.target(place), self.facts.suspect)
    }

    /// The measured mean over that of a discipline's replay, as a number to compare.
    pub(in crate::bjornstad) fn ratio(&self, discipline: usize) -> Option<Number> {
        let ReplayRow { ratio, ratio_low, ratio_high, .. } = &self.replays[discipline];
        let (value, low, high) = ((*ratio)?, (*ratio_low)?, (*ratio_high)?);
        Some(Number { value, low, high, is_suspect: self.facts.suspect })
    }
}

impl ReplayRow {
    /// The times of [`TARGETS`] (s).
    pub(in crate::bjornstad) fn targets_s(&self) -> [f64; 4] {
        [self.p80_s, self.p90_s, self.p95_s, self.p99_s]
    }
}

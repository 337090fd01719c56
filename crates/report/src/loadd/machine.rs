//! The machine as a whole, from `/proc`: processor, memory, disks, processes.

use std::path::Path;

use sojourn_bed::clock::since_boot;
use sojourn_stats::Time;

use super::proc::{ProcFile, pids};
use crate::{Metric, Metrics};

/// Ticks of the processor's time in a second, as Linux tells them to programs on every machine.
pub(super) const TICKS_PER_S: f64 = 100.0;

/// What is told of a machine.
#[derive(Debug)]
pub(super) struct Machine {
    load_average: ProcFile,
    stat: ProcFile,
    memory: ProcFile,
    disks: ProcFile,
    last: Option<Look>,
}

/// What was counted until an instant, of which shares are differences.
#[derive(Clone, Copy, Debug)]
struct Look {
    at: Time,
    /// Ticks in programs, in the system, and idle.
    ticks: [u64; 3],
    /// Core time that the machine has had, and spent (s).
    core_s: f64,
    busy_s: f64,
    /// Time in which the disks were busy (ms), each of them.
    disks_ms: [u64; DISKS_MAX],
}

/// Disks beyond these are not looked at.
const DISKS_MAX: usize = 64;

impl Machine {
    pub(super) fn new() -> Machine {
        Machine {
            load_average: ProcFile::open("/proc/loadavg"),
            stat: ProcFile::open("/proc/stat"),
            memory: ProcFile::open("/proc/meminfo"),
            disks: ProcFile::open("/proc/diskstats"),
            last: None,
        }
    }

    /// Says what it is like now, and shares since the last look.
    pub(super) fn look(&mut self, now: Time, metrics: &mut Metrics) {
        let load_average = self.load_average.read().and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
        metrics.set(Metric::LoadAverage, load_average);
        metrics.set(Metric::Processes, pids().count() as f64);
        let memory = self.memory.read().unwrap_or("");
        metrics.set(Metric::Memory, used_share(memory, "MemTotal:", "MemAvailable:"));
        metrics.set(Metric::Swap, used_share(memory, "SwapTotal:", "SwapFree:"));
        let Some((ticks, cores)) = self.stat.read().and_then(processor) else { return };
        let (accesses, disks_ms) = self.disks.read().map_or((0, [0; DISKS_MAX]), disks);
        metrics.set(Metric::DiskAccesses, accesses as f64);
        metrics.set(Metric::Cores, cores);
        // Cores work when they are not idle: the kernel times idleness, but counts ticks of work, and misses what begins and
        // ends between two of them. What it rounds must not make a sum fall.
        let core_s = cores * since_boot().saturating_since(Time::ZERO).as_secs_f64();
        let busy_s = (core_s - ticks[2] as f64 / TICKS_PER_S).max(self.last.map_or(0.0, |last| last.busy_s));
        metrics.set(Metric::Busy, busy_s);
        metrics.set(Metric::CoreTime, core_s);
        if let Some(last) = &self.last {
            let of = |kind: usize| ticks[kind].saturating_sub(last.ticks[kind]) as f64;
            let (busy, work) = (((busy_s - last.busy_s) / (core_s - last.core_s)).clamp(0.0, 1.0), of(0) + of(1));
            // Of what is between the ticks it is not known where it was: half each, unless ticks say.
            let programs = if work > 0.0 { of(0) / work } else { 0.5 };
            metrics.set(Metric::CpuUser, busy * programs);
            metrics.set(Metric::CpuSystem, busy * (1.0 - programs));
            let busiest_ms = disks_ms.iter().zip(&last.disks_ms).map(|(now, then)| now.saturating_sub(*then)).max();
            let elapsed_s = now.saturating_since(last.at).as_secs_f64();
            metrics.set(Metric::Disk, busiest_ms.map(|ms| (ms as f64 / 1e3 / elapsed_s).min(1.0)));
        }
        self.last = Some(Look { at: now, ticks, core_s, busy_s, disks_ms });
    }
}

/// The ticks of all cores (in programs, in the system, idle or stolen), and how many cores there are.
fn processor(stat: &str) -> Option<([u64; 3], f64)> {
    let mut lines = stat.lines();
    let fields: Vec<u64> =
        lines.next()?.split_ascii_whitespace().skip(1).filter_map(|text| text.parse().ok()).collect();
    let [user, nice, system, idle, waiting, hard, soft, stolen, ..] = fields[..] else { return None };
    let (programs, kernel) = (user + nice, system + hard + soft);
    let cores = lines.take_while(|line| line.starts_with("cpu")).count();
    Some(([programs, kernel, idle + waiting + stolen], cores as f64))
}

fn used_share(memory: &str, total: &str, free: &str) -> Option<f64> {
    let (total, free) = (kilobytes(memory, total)?, kilobytes(memory, free)?);
    // Of nothing, as of the swap space of a machine that has none, nothing is used.
    Some(if total > 0.0 { 1.0 - free / total } else { 0.0 })
}

fn kilobytes(memory: &str, name: &str) -> Option<f64> {
    let line = memory.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

/// Accesses of all disks, and how long each was busy (ms); partitions and disks made of disks are left out.
fn disks(text: &str) -> (u64, [u64; DISKS_MAX]) {
    let (mut accesses, mut busy_ms) = (0, [0; DISKS_MAX]);
    let mut places = busy_ms.iter_mut();
    for line in text.lines() {
        let mut fields = line.split_ascii_whitespace().skip(2);
        let Some(name) = fields.next() else { continue };
        let counts: Vec<u64> = fields.filter_map(|text| text.parse().ok()).collect();
        let [reads, _, _, _, writes, _, _, _, _, busy, ..] = counts[..] else { continue };
        if reads + writes == 0 || !Path::new("/sys/block").join(name).join("device").exists() {
            continue;
        }
        accesses += reads + writes;
        if let Some(place) = places.next() {
            *place = busy;
        }
    }
    (accesses, busy_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_stolen_or_spent_waiting_for_disks_is_not_busy() {
        let stat = "cpu  10 2 5 80 4 1 1 3 0 0\ncpu0 5 1 2 40 2 1 0 1 0 0\ncpu1 5 1 3 40 2 0 1 2 0 0\nintr 9\n";
        assert_eq!(processor(stat), Some(([12, 7, 87], 2.0)));
        assert_eq!(processor("cpu 1 2 3\n"), None);
    }
}

//! This machine as a hardware file: how fast one core is, and how fast its disk and its network are.
//!
//! | | by what |
//! |---|---|
//! | core | the loop of a node's `/work?iter=N` in turns of 50 ms of the thread's own time, so that others' work does not count |
//! | disk | a file of its own in the folder, written, put out of the kernel's memory, and read from its beginning to its end |
//! | network | what the kernel says of the interface that the default route leads over |
//!
//! A broker compares nodes, so what counts is how often the core does that loop in a second over how often another machine's
//! does: the one whose file is named as the reference, on which the oracle's operations are seconds. The price: a disk whose
//! reads end in the memory of a host above this machine looks as fast as that, and a loop without memory says nothing of caches.

use std::fs;
use std::io::{ErrorKind, Read, Seek, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
use nix::sys::statfs::{TMPFS_MAGIC, fstatfs};
use serde::Serialize;
use sojourn_model::{Discipline, Machine, Resource, Server};
use sojourn_part::burn::rounds_per_second;
use sojourn_stats::{Span, input};

use crate::demand::interval;
use crate::settings::{CalibrateError, Interval, Progress};
use crate::write::three;

/// Turns of the loop, and parts of the file.
const BATCHES: usize = 20;
const TURN: Span = Span(50_000_000);
const PART: usize = 4 << 20;

/// What a machine is made of.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hardware {
    /// Cores.
    pub cores: u32,
    /// Rounds of the loop per second of one core.
    pub rounds_per_s: Interval,
    /// Those of the machine that is the reference; none: this one is.
    pub reference_rounds_per_s: Option<f64>,
    /// Bytes per second of the disk; none: it is not known.
    pub disk_bytes_per_s: Option<Interval>,
    /// Bytes per second of the network; none: it is not known.
    pub net_bytes_per_s: Option<f64>,
    /// What is not known, and why.
    pub notes: Vec<String>,
}

/// The part of a hardware file that a later one is compared with.
#[derive(serde::Deserialize)]
struct Reference {
    measured: ReferenceRates,
}

#[derive(serde::Deserialize)]
struct ReferenceRates {
    rounds_per_s: [f64; 3],
}

/// Measures this machine, its disk by a file of 80 MB in `folder`, which is gone afterwards. `like` is the hardware
/// file of the machine that is the reference.
///
/// # Errors
/// When `like` is no such file, no file can be written to the folder or read from it, or `cancel` is set.
pub fn measure_hardware(
    folder: &Path,
    like: Option<&Path>,
    progress: &(dyn Fn(Progress<'_>) + Sync),
    cancel: &Arc<AtomicBool>,
) -> Result<Hardware, CalibrateError> {
    let reference_rounds_per_s = like.map(rounds_of).transpose()?;
    let go_on = |stage, done: usize| {
        progress(Progress { stage, share: done as f64 / (3 * BATCHES) as f64 });
        if cancel.load(Ordering::Relaxed) { Err(CalibrateError::Interrupted) } else { Ok(()) }
    };
    let mut rounds = Vec::with_capacity(BATCHES);
    for batch in 0..BATCHES {
        go_on("core", batch)?;
        rounds.push(rounds_per_second(TURN));
    }
    let mut notes = Vec::new();
    let disk = disk(folder, &|batch| go_on("disk", BATCHES + batch))?;
    if disk.is_none() {
        notes.push(format!("{} is in memory, so no disk was measured; name a folder on the disk", folder.display()));
    }
    let net = net();
    if let Err(why) = &net {
        notes.push(format!(
            "the rate of the network is not known ({why}): add `net = {{ discipline = \"fcfs\", rate = ... }}`"
        ));
    }
    Ok(Hardware {
        cores: std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32),
        rounds_per_s: interval(&rounds),
        reference_rounds_per_s,
        disk_bytes_per_s: disk.map(|rates| interval(&rates)),
        net_bytes_per_s: net.ok(),
        notes,
    })
}

fn rounds_of(path: &Path) -> Result<f64, CalibrateError> {
    let wrong = |what: &str| CalibrateError::Invalid(format!("{}: {what}", path.display()));
    let text = input::text(path).map_err(|error| wrong(&error.to_string()))?;
    let Reference { measured: ReferenceRates { rounds_per_s: [rounds, ..] } } = toml::from_str(&text)
        .map_err(|_| wrong("it is no hardware file: it has no `rounds_per_s` under [measured]"))?;
    if rounds > 0.0 && rounds.is_finite() { Ok(rounds) } else { Err(wrong("its `rounds_per_s` is not above 0")) }
}

/// Bytes per second, of each part of a file; none where the folder is in memory.
fn disk(
    folder: &Path,
    go_on: &dyn Fn(usize) -> Result<(), CalibrateError>,
) -> Result<Option<Vec<f64>>, CalibrateError> {
    let failed = |error: std::io::Error| {
        let right = if error.kind() == ErrorKind::StorageFull { "; it needs 80 MB" } else { "" };
        CalibrateError::Invalid(format!("{}: {error}{right}", folder.display()))
    };
    let mut file = tempfile::tempfile_in(folder).map_err(failed)?;
    let kind = fstatfs(&file).map_err(|error| failed(error.into()))?.filesystem_type();
    if kind == TMPFS_MAGIC {
        return Ok(None);
    }
    // Bytes that no file system or disk can shorten.
    let mut bytes = vec![0_u8; PART];
    let mut value = 0x9e37_79b9_7f4a_7c15_u64;
    for word in bytes.chunks_exact_mut(8) {
        value ^= value << 13;
        value ^= value >> 7;
        value ^= value << 17;
        word.copy_from_slice(&value.to_ne_bytes());
    }
    for batch in 0..BATCHES {
        go_on(batch)?;
        bytes[..8].copy_from_slice(&batch.to_ne_bytes());
        file.write_all(&bytes).map_err(failed)?;
    }
    file.sync_all().map_err(failed)?;
    posix_fadvise(&file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED).map_err(|error| failed(error.into()))?;
    file.rewind().map_err(failed)?;
    let mut rates = Vec::with_capacity(BATCHES);
    for batch in 0..BATCHES {
        go_on(BATCHES + batch)?;
        let start = sojourn_part::now();
        file.read_exact(&mut bytes).map_err(failed)?;
        rates.push(PART as f64 / (sojourn_part::now() - start).as_secs_f64());
    }
    Ok(Some(rates))
}

/// Bytes per second of the interface of the default route; else why that is not known.
fn net() -> Result<f64, String> {
    let routes = fs::read_to_string("/proc/net/route").unwrap_or_default();
    let interface = interface_of(&routes).ok_or("there is no default route")?;
    let says = fs::read_to_string(format!("/sys/class/net/{interface}/speed")).unwrap_or_default();
    match says.trim().parse::<f64>() {
        Ok(megabits) if megabits > 0.0 => Ok(megabits * 1e6 / 8.0),
        _ => Err(format!("the kernel does not say it of `{interface}`")),
    }
}

/// The interface of the default route in a table as `/proc/net/route` has it.
fn interface_of(routes: &str) -> Option<&str> {
    routes.lines().skip(1).find_map(|line| {
        let mut columns = line.split_whitespace();
        let (interface, to) = (columns.next()?, columns.next()?);
        (to == "00000000").then_some(interface)
    })
}

impl Hardware {
    /// The core's speed over the reference's.
    pub fn speed(&self) -> f64 {
        self.reference_rounds_per_s.map_or(1.0, |reference| self.rounds_per_s.value / reference)
    }

    /// A server model with what was found, as [`Server::from_toml`] reads it.
    pub fn to_toml(&self) -> String {
        let of = |name: &str, discipline, rate| Resource { name: name.into(), discipline, rate };
        let disk = self.disk_bytes_per_s.map(|rate| of("disk", Discipline::Fcfs, Some(rate.value.round())));
        let net = self.net_bytes_per_s.map(|rate| of("net", Discipline::Fcfs, Some(rate)));
        let resources = std::iter::once(of("cpu", Discipline::Ps, None)).chain(disk).chain(net).collect();
        let server = Server {
            discipline: Discipline::Ps,
            cores: self.cores,
            speed: (self.speed() * 1e4).round() / 1e4,
            demand: vec![(String::new(), sojourn_model::Demand::parse("1 ms").expect("a plain time"))],
            capacity: None,
            drops_overflow: false,
            machine: Some(Arc::new(Machine { resources, memory: None, files: None, connections: None })),
        };
        let mut text = String::from(
            "# Measured here by `sojourn calibrate --hardware`. The demand is of no request in particular: an oracle or an\n\
             # experiment says it.\n",
        );
        self.notes.iter().for_each(|note| text += &format!("# {note}\n"));
        text += &server.to_toml();
        text += "\n[measured]   # intervals of 95 %: [estimate, low, high]\n";
        text += &format!("rounds_per_s = {}   # of one core, of the loop of /work?iter=N\n", three(&self.rounds_per_s));
        if let Some(rate) = &self.disk_bytes_per_s {
            text += &format!("disk_bytes_per_s = {}\n", three(rate));
        }
        text
    }

    /// What was found, in lines.
    pub fn summary(&self) -> Vec<String> {
        let range = |of: &Interval, unit: f64| {
            format!("{:.1} ({:.1} to {:.1})", of.value / unit, of.low / unit, of.high / unit)
        };
        let unknown = || "not known".to_owned();
        let mb = |rate: Option<String>| rate.map_or_else(unknown, |rate| rate + " MB/s");
        let disk = self.disk_bytes_per_s.as_ref().map(|rate| range(rate, 1e6));
        let net = self.net_bytes_per_s.map(|rate| format!("{:.1}", rate / 1e6));
        let reference = if self.reference_rounds_per_s.is_some() { "the reference's" } else { "this machine's own" };
        let mut lines = vec![
            format!("cores    {}", self.cores),
            format!("loop     {} million rounds/s of one core", range(&self.rounds_per_s, 1e6)),
            format!("speed    {:.3} of {reference}", self.speed()),
            format!("disk     {}", mb(disk)),
            format!("network  {}", mb(net)),
        ];
        lines.extend(self.notes.iter().map(|note| format!("note: {note}")));
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_route_is_found_in_the_kernels_table() {
        let table = "Iface\tDestination\tGateway\neth1\t0000FEA9\t00000000\neth0\t00000000\t010011AC\n";
        assert_eq!(interface_of(table), Some("eth0"));
        assert_eq!(interface_of("Iface\tDestination\tGateway\n"), None);
    }
}

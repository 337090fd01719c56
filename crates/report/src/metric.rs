//! What a report can say. A value that its sender does not know is absent, not 0.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sojourn_dispatch::Report;
use sojourn_dispatch::reports::{AsOne, Totals};
use sojourn_stats::{Span, Time};

/// What a number can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A share of a whole: 0 to 1.
    Share,
    /// A number that goes up and down.
    Level,
    /// What has been done since the sender's start, which never falls.
    Total,
}

macro_rules! metrics {
    ($($(#[doc = $doc:literal])+ $metric:ident $name:literal $kind:ident,)+) => {
        /// A number of a report, in SI units. The order is that of the wire: new ones go to the end.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Metric {
            $($(#[doc = $doc])+ $metric,)+
        }

        impl Metric {
            /// All of them, in the order of the wire.
            pub const ALL: &[Metric] = &[$(Metric::$metric,)+];

            /// Its name in JSON, and among the named metrics of ORCA.
            pub fn name(self) -> &'static str {
                match self { $(Metric::$metric => $name,)+ }
            }

            /// What numbers it can be.
            pub fn kind(self) -> Kind {
                match self { $(Metric::$metric => Kind::$kind,)+ }
            }
        }
    };
}

metrics! {
    /// Processes that run or want to, mean of a minute, as Linux counts them.
    LoadAverage "load_average" Level,
    /// Share of the machine's core time spent in programs.
    CpuUser "cpu_user" Share,
    /// Share of the machine's core time spent in the system, interrupts included.
    CpuSystem "cpu_system" Share,
    /// Share of the memory that is not available to programs.
    Memory "memory" Share,
    /// Share of the swap space that is used.
    Swap "swap" Share,
    /// Reads and writes that the disks have completed.
    DiskAccesses "disk_accesses" Total,
    /// Busy share of the busiest disk.
    Disk "disk" Share,
    /// Processes of the machine.
    Processes "processes" Level,
    /// Processes of the server.
    Workers "workers" Level,
    /// Connections to the server, idle ones included.
    Connections "connections" Level,
    /// Requests that the server has.
    InFlight "in_flight" Level,
    /// Busy share of the server's processor; above 1 where work waits.
    Cpu "cpu" Level,
    /// Requests in the last window, per second.
    RequestRate "requests_per_s" Level,
    /// Bytes of replies in the last window, per second.
    ByteRate "bytes_per_s" Level,
    /// Replies with status 429 or from 500 up in the last window, per second.
    ErrorRate "errors_per_s" Level,
    /// Requests that have come.
    Arrived "arrived" Total,
    /// Requests that have been answered.
    Completed "completed" Total,
    /// Bytes of their replies.
    Bytes "bytes" Total,
    /// Time that they took at the server.
    Stayed "stayed_s" Total,
    /// Core time that the server has spent.
    Busy "busy_s" Total,
    /// Core time that it had.
    CoreTime "core_time_s" Total,
    /// Its cores.
    Cores "cores" Level,
    /// Requests per second that it can take; told by what adds reports up.
    Capacity "capacity_per_s" Level,
    /// Requests per second that it can take in addition; told by what adds reports up.
    Room "room_per_s" Level,
    /// Replies with status 429 or from 500 up.
    Errors "errors" Total,
    /// Mean time that the last requests took; told by what adds reports up.
    Latency "latency_s" Level,
    /// Busy share of the network.
    Net "net" Share,
    /// Requests at the processor of one of the cores, waiting or served.
    CpuQueue "cpu_queue" Level,
    /// Requests at the disk.
    DiskQueue "disk_queue" Level,
    /// Requests at the network.
    NetQueue "net_queue" Level,
}

const COUNT: usize = Metric::ALL.len();
const _: () = assert!(COUNT <= 32, "the wire has 32 marks");

/// Those that have a place of their own in what a dispatcher reads.
const REPORTED: [Metric; 10] = [
    Metric::Cpu,
    Metric::Disk,
    Metric::Net,
    Metric::InFlight,
    Metric::Capacity,
    Metric::Room,
    Metric::Latency,
    Metric::CpuQueue,
    Metric::DiskQueue,
    Metric::NetQueue,
];

/// The most that a number can be: totals are whole up to here.
const MOST: f64 = (1u64 << 53) as f64;

/// The numbers of one report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metrics([Option<f64>; COUNT]);

impl Metrics {
    /// What is known of one of them.
    pub fn value(&self, metric: Metric) -> Option<f64> {
        self.0[metric as usize]
    }

    /// Says it; what is no number, as a share of nothing, is not known.
    pub fn set(&mut self, metric: Metric, value: impl Into<Option<f64>>) {
        self.0[metric as usize] = value.into().filter(|value| value.is_finite());
    }

    /// Those that are known.
    pub fn known(&self) -> impl Iterator<Item = (Metric, f64)> + '_ {
        Metric::ALL.iter().filter_map(|metric| Some((*metric, self.value(*metric)?)))
    }

    /// The first that no server can have.
    pub fn impossible(&self) -> Option<Metric> {
        let most = |metric: Metric| if metric.kind() == Kind::Share { 1.0 } else { MOST };
        self.known().find(|(metric, value)| !(0.0..=most(*metric)).contains(value)).map(|(metric, _)| metric)
    }

    /// The numbers of what adds reports up to one; what is not known of any of them is not known of it.
    pub fn of(as_one: &AsOne, cores: u32) -> Metrics {
        let AsOne { report, totals, is_empty } = as_one;
        let mut metrics = Metrics::default();
        metrics.set(Metric::Completed, totals.completed as f64);
        metrics.set(Metric::Bytes, totals.bytes as f64);
        if *is_empty {
            return metrics;
        }
        metrics.set(Metric::Cpu, f64::from(report.cpu));
        metrics.set(Metric::Disk, f64::from(report.disk));
        metrics.set(Metric::InFlight, f64::from(report.in_flight));
        metrics.set(Metric::Cores, f64::from(cores));
        metrics.set(Metric::Latency, report.latency.map(Span::as_secs_f64));
        if report.capacity > 0.0 {
            metrics.set(Metric::Capacity, f64::from(report.capacity));
            metrics.set(Metric::Room, f64::from(report.room));
        }
        metrics
    }

    /// What a dispatcher reads of it, by the clock that `measured` is of; further numbers by name.
    pub fn report(&self, measured: Time) -> Report {
        let share = |metric| self.value(metric).unwrap_or(0.0) as f32;
        let cpu = self.value(Metric::Cpu).unwrap_or_else(|| self.machine_cpu().unwrap_or(0.0));
        let queue = |metric| self.value(metric).unwrap_or(0.0) as u32;
        let extras = self.known().filter(|(metric, _)| !REPORTED.contains(metric) && metric.kind() != Kind::Total);
        Report {
            measured,
            in_flight: self.value(Metric::InFlight).or(self.value(Metric::Connections)).unwrap_or(0.0) as u32,
            cpu: cpu as f32,
            disk: share(Metric::Disk),
            net: share(Metric::Net),
            queues: [Metric::CpuQueue, Metric::DiskQueue, Metric::NetQueue].map(queue),
            capacity: share(Metric::Capacity),
            room: share(Metric::Room),
            latency: self.value(Metric::Latency).map(Span::from_secs_f64),
            extras: extras.map(|(metric, value)| (metric.name().into(), value)).collect(),
            ..Report::default()
        }
    }

    /// What has been done, where it is known how many requests were answered; a server that does not say how many came has
    /// those.
    pub fn totals(&self) -> Option<Totals> {
        let completed = self.value(Metric::Completed)? as u64;
        let total = |metric| self.value(metric).unwrap_or(0.0);
        let ns = |metric| self.value(metric).map(|seconds| (seconds * 1e9) as u128);
        Some(Totals {
            arrived: self.value(Metric::Arrived).map_or(completed, |arrived| arrived as u64),
            completed,
            bytes: total(Metric::Bytes) as u64,
            stayed_ns: ns(Metric::Stayed),
            busy_ns: ns(Metric::Busy).zip(ns(Metric::CoreTime)),
        })
    }

    /// The busy share of the whole machine.
    pub fn machine_cpu(&self) -> Option<f64> {
        Some(self.value(Metric::CpuUser)? + self.value(Metric::CpuSystem)?)
    }
}

/// Of later versions of the program there may be others, which are passed over.
impl<'de> Deserialize<'de> for Metrics {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Metrics, D::Error> {
        let said = BTreeMap::<String, f64>::deserialize(deserializer)?;
        let mut metrics = Metrics::default();
        for metric in Metric::ALL {
            metrics.set(*metric, said.get(metric.name()).copied());
        }
        Ok(metrics)
    }
}

impl Serialize for Metrics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.known().map(|(metric, value)| (metric.name(), value)).collect::<BTreeMap<_, _>>())
    }
}

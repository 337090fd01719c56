//! Workloads and logs for the tests.

use std::io::Write;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use sojourn_stats::{Dimension, Law, Span, Stream};
use sojourn_traffic::describe::{Description, Value};
use sojourn_traffic::log::{Log, LogError};
use sojourn_traffic::{Arrivals, Closed, Demand, Open, Plan, Planned, Replay, Sizes, Workload};

pub(crate) fn law(text: &str, dimension: Dimension) -> Law {
    Law::parse(text, dimension).unwrap()
}

/// A demand that depends on the size and on a draw of its own.
pub(crate) fn demand() -> Arc<dyn Demand> {
    Arc::new(|_: u8, size: u64, stream: &mut Stream| Span(size * 10 + stream.below(1000) as u64))
}

pub(crate) fn open(arrivals: &str, clients: u32, sizes: &str) -> Open {
    Open { arrivals: Arrivals::parse(arrivals).unwrap(), clients, sizes: Sizes::parse(sizes).unwrap(), patience: None }
}

pub(crate) fn closed(users: u32) -> Closed {
    Closed {
        users,
        think: law("exponential(mean = 2 s)", Dimension::Time),
        sizes: Sizes::parse("exponential(mean = 5 kB)").unwrap(),
        patience: Some(law("exponential(mean = 8 s)", Dimension::Time)),
    }
}

pub(crate) fn first(workload: &Workload, seed: u64, requests: usize) -> Vec<Planned> {
    Plan::new(workload, seed, demand()).unwrap().take(requests).collect()
}

/// A line at so many seconds after midnight.
pub(crate) fn line(second: u32, path: &str, bytes: u64) -> String {
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!(
        "host.example - - [01/Aug/1995:{hour:02}:{minute:02}:{second:02} -0400] \"GET {path} HTTP/1.0\" 200 {bytes}\n"
    )
}

pub(crate) fn read(text: impl AsRef<[u8]>) -> Result<Log, LogError> {
    Log::read_from(text.as_ref(), "access.log", None)
}

pub(crate) fn gzip(text: impl AsRef<[u8]>) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_ref()).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn replay(text: &str, speed: f64) -> Workload {
    Workload::Replay(Replay {
        log: Arc::new(read(text).unwrap()),
        path: "access.log".into(),
        speed,
        classes: None,
        growth: 1.0,
        sampled: 1,
    })
}

/// A fact of a description by its name.
pub(crate) fn value<'a>(description: &'a Description, name: &str) -> &'a Value {
    let found = description.facts.iter().find(|fact| fact.name == name);
    &found.unwrap_or_else(|| panic!("no {name} in {:?}", description.facts)).value
}

/// The same, where it is a number.
pub(crate) fn number(description: &Description, name: &str) -> f64 {
    match value(description, name) {
        Value::Number(number) => *number,
        other => panic!("{name} is {other:?}"),
    }
}

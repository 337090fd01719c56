//! What is known of clients, kept over a restart in a file: a line of JSON per client, with its service and the names of sites.
//!
//! The file is written whole when the DNS is stopped, beside the old one, which it replaces then. A DNS that is killed writes
//! nothing, and the next one has what was known at the last stop. What is too old to count is passed over; a file that cannot be
//! read is said and passed over as well, since everything in it can be learned again.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use sojourn_dispatch::Remembered;
use sojourn_part::clock;
use sojourn_stats::config::of_json;
use sojourn_stats::{Span, input};

use crate::decider::Decider;

/// The first line.
#[derive(Serialize, Deserialize)]
struct Header {
    format: u32,
    /// When it was written (ns since 1970).
    written: u64,
}

/// A service's client. The backends in it are numbers of `sites`.
#[derive(Serialize, Deserialize)]
struct Line {
    service: String,
    sites: Vec<String>,
    client: Remembered,
}

const FORMAT: u32 = 1;

/// Reads the file into the services, if it is there; gives how many clients were recalled.
///
/// # Errors
/// When it cannot be read; what came before the mistake was taken.
pub(crate) fn recall(path: &Path, decider: &Decider) -> Result<u64, String> {
    let wrong = |line: usize, why: String| format!("{}:{line}: {why}", path.display());
    let file = match input::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(format!("{}: {error}", path.display())),
    };
    let mut lines = input::lines(BufReader::new(file));
    let first = lines.next().transpose().map_err(|error| wrong(1, error.to_string()))?.unwrap_or_default();
    let header: Header = serde_json::from_str(&first).map_err(|error| wrong(1, of_json(error)))?;
    if header.format != FORMAT {
        return Err(wrong(1, format!("format {}; this version reads format {FORMAT}", header.format)));
    }
    // A clock that was set back makes nothing younger than it was.
    let since = Span(clock::wall().saturating_sub(header.written));
    let mut count = 0;
    for (number, line) in lines.enumerate() {
        let line = line.map_err(|error| wrong(number + 2, error.to_string()))?;
        let Line { service, sites, mut client } =
            serde_json::from_str(&line).map_err(|error| wrong(number + 2, of_json(error)))?;
        client.rate_age += since;
        client.probed_age = client.probed_age.map(|age| age + since);
        client.round_trips.iter_mut().for_each(|trip| trip.age += since);
        count += u64::from(decider.recall(&service, &sites, client, clock::now()));
    }
    Ok(count)
}

/// Writes what the services know.
///
/// # Errors
/// When the file cannot be written; the old one is there then.
pub(crate) fn keep(path: &Path, decider: &Decider) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let mut out = BufWriter::new(File::create(&name)?);
    let written = clock::wall();
    serde_json::to_writer(&mut out, &Header { format: FORMAT, written })?;
    writeln!(out)?;
    for (service, sites, clients) in decider.remembered(clock::now()) {
        for client in clients {
            serde_json::to_writer(
                &mut out,
                &Line { service: service.clone(), sites: named(&sites, &client), client: numbered(client) },
            )?;
            writeln!(out)?;
        }
    }
    out.into_inner()?.sync_all()?;
    fs::rename(&name, path)
}

/// The names of the sites of a client's round trips.
fn named(sites: &[String], client: &Remembered) -> Vec<String> {
    client.round_trips.iter().map(|trip| sites[trip.from.0 as usize].clone()).collect()
}

/// The same client, with numbers of those names.
fn numbered(mut client: Remembered) -> Remembered {
    client.round_trips.iter_mut().zip(0..).for_each(|(trip, number)| trip.from.0 = number);
    client
}

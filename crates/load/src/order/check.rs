//! The check of flags that contradict each other.

use std::path::Path;

use super::Order;
use super::flag::invalid;
use crate::Version;
use crate::error::LoadError;

impl Order {
    /// LoadSettings that contradict each other in ways that no single flag can know of.
    pub(super) fn check(&self) -> Result<(), LoadError> {
        let flags = &self.settings;
        let open = flags.rate.is_some() || flags.arrivals.is_some();
        let version = self.http()?;
        let zero = [
            ("--threads", flags.threads == 0),
            ("--connections", flags.connections == Some(0)),
            ("--users", flags.users == Some(0)),
            ("--sessions", flags.sessions == Some(0)),
        ];
        if let Some((flag, _)) = zero.into_iter().find(|(_, is_zero)| *is_zero) {
            return Err(invalid(format!("{flag} 0: at least 1")));
        }
        match () {
            () if flags.record.as_deref().is_some_and(is_no_table) => {
                let path = flags.record.as_deref().unwrap_or(Path::new(""));
                let why = "records are written as CSV or Parquet: name a .csv or .parquet file";
                Err(invalid(format!("--record {}: {why}", path.display())))
            }
            () if flags.profile.is_some() && !open => {
                Err(invalid("--profile shapes a rate: give --rate or --arrivals"))
            }
            () if flags.streams.is_some() && version != Version::Http2 => {
                Err(invalid("--streams: only HTTP/2 has streams; say --http 2"))
            }
            () if !flags.address.is_empty() && self.urls.len() != 1 => {
                Err(invalid("--address: the addresses of one URL; several URLs have their own hosts"))
            }
            () if !flags.address.is_empty() && flags.proxy.is_some() => {
                Err(invalid("--address: with --proxy it is the proxy that connects to the URL's host; leave it out"))
            }
            () if (flags.sessions_file.is_some() || flags.wsess.is_some()) && !open => {
                Err(invalid("sessions come at a rate: give --rate or --arrivals, e.g. --rate '10 /s'"))
            }
            () if flags.sessions_file.is_some() && flags.sessions.is_none() => {
                Err(invalid("--sessions-file: say with --sessions how many come, e.g. --sessions 1000"))
            }
            () => Ok(()),
        }
    }
}

/// Whether the name of a file promises something else than a table.
fn is_no_table(path: &Path) -> bool {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
    ending.is_some_and(|ending| !["csv", "parquet", "txt"].contains(&ending.as_str()))
}

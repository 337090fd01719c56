//! Reports of load in a live run: where they are heard, and the key that all who report and hear share.

use std::fs::{self, File};
use std::io::Read;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use sojourn_bed::namespace::TEMPORARY;

/// Where a front node or a DNS hears reports.
const PORT: u16 = 7400;

/// Where one at `address` hears them.
pub(super) fn receiver(address: IpAddr) -> SocketAddr {
    SocketAddr::new(address, PORT)
}

/// The file with the key, which goes with the bed.
pub(super) fn key() -> PathBuf {
    Path::new(TEMPORARY).join("reports.key")
}

/// Makes the key, unless it is there.
pub(super) fn make_key() -> Result<(), String> {
    if key().exists() {
        return Ok(());
    }
    let mut secret = [0; 32];
    let drawn = File::open("/dev/urandom").and_then(|mut random| random.read_exact(&mut secret));
    let text: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    drawn.and_then(|()| fs::write(key(), text)).map_err(|e| format!("cannot make a key for reports: {e}"))
}

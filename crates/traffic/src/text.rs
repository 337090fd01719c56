//! Why a text that describes traffic cannot be read: the same two ways for all of them (sites, traces, file lists, lists
//! of sessions). Access logs have [`crate::log::LogError`], since most of what is wrong with them is counted instead.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use flate2::bufread::MultiGzDecoder;
use sojourn_stats::input;
use thiserror::Error;

/// Why a text is not what it should be; the message begins with its name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TextError {
    /// One line of it cannot be read.
    #[error("{name}:{line}: {fault}")]
    Line {
        /// What was read.
        name: String,
        /// Line number, from 1.
        line: u64,
        /// What is wrong, and what would be right.
        fault: String,
    },
    /// It could not be read, or nothing of use is in it.
    #[error("{name}: {fault}")]
    Whole {
        /// What was read.
        name: String,
        /// What is wrong, and what would be right.
        fault: String,
    },
}

/// The text of `source`, plain, gzip or zstd (told apart by content), without a byte order mark.
///
/// # Errors
/// When its first bytes cannot be read.
pub(crate) fn unpacked(source: impl Read + 'static) -> io::Result<Box<dyn BufRead>> {
    let mut source = BufReader::with_capacity(1 << 16, source);
    let mut magic = Vec::new();
    source.by_ref().take(4).read_to_end(&mut magic)?;
    let (gzip, zstd) = (magic.starts_with(&GZIP), magic == ZSTD);
    let source = Cursor::new(magic).chain(source);
    let text: Box<dyn Read> = match (gzip, zstd) {
        (true, _) => Box::new(MultiGzDecoder::new(source)),
        (_, true) => Box::new(zstd::Decoder::with_buffer(source)?),
        _ => Box::new(source),
    };
    Ok(Box::new(BufReader::with_capacity(1 << 16, input::unmarked(text)?)))
}

/// The first bytes of what gzip has packed.
pub(crate) const GZIP: [u8; 2] = [0x1f, 0x8b];
/// The first bytes of what zstd has packed.
pub(crate) const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

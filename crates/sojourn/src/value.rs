//! Values on the command line: numbers, times, files to write; and what is said of a value that is wrong.

use std::error::Error;
use std::net::AddrParseError;
use std::num::{IntErrorKind, ParseFloatError, ParseIntError};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::builder::{PathBufValueParser, TypedValueParser};
use clap::error::{ContextKind, ErrorKind};
/// Reads how many: nothing is done with none.
pub(crate) fn count<N: FromStr + Default + PartialOrd>(text: &str) -> Result<N, String> {
    let number = text.parse().ok().filter(|number| *number > N::default());
    number.ok_or_else(|| "it is a whole number of at least 1".into())
}

/// Reads the path of a file that is written at the end: that its folder is not there is said before the work, not after.
pub(crate) fn file_to_write() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        match folder.is_dir() {
            true => Ok(path),
            false => Err(format!("there is no folder {}", folder.display())),
        }
    })
}

/// The same error of the command line; a value that cannot be read is told in one line, with what would be right.
pub(crate) fn plain(error: clap::Error) -> clap::Error {
    let of = |kind| error.get(kind).map(ToString::to_string).unwrap_or_default();
    let Some(source) = error.source() else { return error };
    let (flag, value) = (of(ContextKind::InvalidArg), of(ContextKind::InvalidValue));
    let right = what_is_right(source).map_or_else(|| source.to_string(), ToOwned::to_owned);
    clap::Error::raw(ErrorKind::ValueValidation, format!("invalid value '{value}' for '{flag}': {right}\n"))
}

fn what_is_right(unread: &(dyn Error + 'static)) -> Option<&'static str> {
    if let Some(error) = unread.downcast_ref::<ParseIntError>() {
        return Some(match error.kind() {
            IntErrorKind::PosOverflow => "it is too large a number",
            _ => "it is a whole number, such as 4",
        });
    }
    if unread.is::<ParseFloatError>() {
        return Some("it is a number, such as 0.5");
    }
    // One type for all addresses, which only its words tell apart.
    let is_address = unread.is::<AddrParseError>();
    is_address.then(|| match unread.to_string().contains("socket") {
        true => "it is an address and a port, such as 127.0.0.1:8080",
        false => "it is an address, such as 127.0.0.1",
    })
}

//! Values on the command line: numbers, times, files to write; and what is said of a value that is wrong.

use std::error::Error;
use std::net::AddrParseError;
use std::num::{IntErrorKind, ParseFloatError, ParseIntError};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Command;
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

/// The same of a plot: what is written is SVG, and what opens a file goes by its name.
pub(crate) fn svg_to_write() -> impl TypedValueParser<Value = PathBuf> {
    file_to_write().try_map(|path: PathBuf| {
        let is_svg = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("svg"));
        if is_svg { Ok(path) } else { Err("a plot is an SVG file; name it FILE.svg") }
    })
}

/// Verbs by what others call them.
const VERBS: [(&str, &str); 30] = [
    ("describe", "traffic describe"),
    ("analyze", "traffic describe"),
    ("analyse", "traffic describe"),
    ("log", "traffic describe"),
    ("stats", "traffic describe"),
    ("statistics", "traffic describe"),
    ("summary", "traffic describe"),
    ("convert", "import"),
    ("capacity", "plan"),
    ("size", "plan"),
    ("fit", "traffic fit"),
    ("hurst", "traffic hurst"),
    ("simulate", "run --by sim"),
    ("simulation", "run --by sim"),
    ("sim", "run --by sim"),
    ("theory", "run --by theory"),
    ("live", "run --by live"),
    ("ask", "run"),
    ("experiment", "run"),
    ("bench", "load"),
    ("benchmark", "load"),
    ("test", "load"),
    ("attack", "load"),
    ("plot", "report"),
    ("show", "report"),
    ("diff", "compare"),
    ("optimize", "plan"),
    ("optimise", "plan"),
    ("serve", "node"),
    ("proxy", "gateway"),
];
/// Options by what other programs call them.
const OPTIONS: [(&str, &str); 19] = [
    ("--qps", "--rate"),
    ("--rps", "--rate"),
    ("--throughput", "--rate"),
    ("--lambda", "--rate"),
    ("--lambda", "--arrivals"),
    ("--rho", "--arrivals"),
    ("--mu", "--service"),
    ("--concurrency", "--connections"),
    ("--clients", "--users"),
    ("--time", "--duration"),
    ("--interval", "--arrivals"),
    ("--slo", "--objective"),
    ("--output", "--out"),
    ("--data", "--body"),
    ("--cacert", "--ca"),
    ("--policy", "--set policy=NAME"),
    ("--discipline", "--set discipline=NAME"),
    ("--servers", "--set servers=N"),
    ("--utilization", "--set utilization=0.7"),
];

/// The same error of the command line; a value that cannot be read is told in one line, with what would be right, and so is a
/// verb or an option that others have under another name. `command` is the whole program.
pub(crate) fn plain(error: clap::Error, command: &Command) -> clap::Error {
    let of = |kind| error.get(kind).map(ToString::to_string).unwrap_or_default();
    if let Some(told) = called_otherwise(&error, command) {
        return clap::Error::raw(error.kind(), told);
    }
    let Some(source) = error.source() else { return error };
    let (flag, value) = (of(ContextKind::InvalidArg), of(ContextKind::InvalidValue));
    let right = what_is_right(source).map_or_else(|| inside(source.to_string()), ToOwned::to_owned);
    clap::Error::raw(ErrorKind::ValueValidation, format!("invalid value '{value}' for '{flag}': {right}\n"))
}

/// What is said of a verb or an option that others call so, where the verb that was asked has such a one.
fn called_otherwise(error: &clap::Error, command: &Command) -> Option<String> {
    let (kind, all, what) = match error.kind() {
        ErrorKind::InvalidSubcommand => (ContextKind::InvalidSubcommand, &VERBS[..], "subcommand"),
        ErrorKind::UnknownArgument => (ContextKind::InvalidArg, &OPTIONS[..], "option"),
        _ => return None,
    };
    let asked = error.get(kind)?.to_string();
    let name = asked.split('=').next().unwrap_or_default();
    // The verb that was asked is the first argument that names one.
    let verb = std::env::args().skip(1).find_map(|word| command.find_subcommand(word));
    let is_known = |meant: &str| match (what, verb) {
        // Within a verb that has verbs of its own it is none of those.
        ("subcommand", verb) => verb.is_none(),
        (_, Some(verb)) => {
            // What follows is a value.
            let option = meant[2..].split(' ').next().unwrap_or_default();
            verb.get_arguments().any(|arg| arg.get_long() == Some(option))
        }
        (_, None) => false,
    };
    let (_, meant) = all.iter().find(|(other, meant)| *other == name && is_known(meant))?;
    let meant = if what == "subcommand" { format!("sojourn {meant}") } else { (*meant).to_owned() };
    Some(format!("unknown {what} '{name}'; did you mean '{meant}'?\n"))
}

/// What is said of a number outside a range; where that ends with the numbers of 32 bits, without them.
fn inside(told: String) -> String {
    let of_range = || {
        let (number, range) = told.split_once(" is not in ")?;
        let least = range.strip_suffix(&format!("..={}", u32::MAX))?;
        let (number, least): (i64, i64) = (number.parse().ok()?, least.parse().ok()?);
        Some(match number < least {
            true => format!("it is a whole number of {least} or more"),
            false => "it is too large a number".to_owned(),
        })
    };
    of_range().unwrap_or(told)
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

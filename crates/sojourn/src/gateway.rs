//! `sojourn gateway` and `sojourn redirect`: the live parts that forward and redirect, each alone, by a file and by flags. Run by
//! hand they serve until Ctrl-C; as children of a run they stop when their standard input closes.

use sojourn_part::settings::Given;
use sojourn_part::settings::gateway::{Face, InFront};
use sojourn_web::{child, gateway};

use crate::child::failure;
use crate::exit::{Exit, Failure};
use crate::settings::settings;

/// Serves with this face.
pub(crate) fn serve<F: Face>(given: &Given<InFront<F>>) -> Result<Exit, Failure> {
    let Some(settings) = settings(given, gateway::check)? else { return Ok(Exit::Ok) };
    let input = given.is_child().then(std::io::stdin);
    child::gateway(settings, Some(given.clone()), std::io::stdout(), input).map(|()| Exit::Ok).map_err(failure)
}

//! `sojourn node`: one server, by a file and by flags; as a child of a run it stops when its standard input closes.

use sojourn_part::settings::Given;
use sojourn_part::settings::node::NodeSettings;
use sojourn_web::{child, node};

use crate::child::failure;
use crate::exit::{Exit, Failure};
use crate::settings::settings_with;

pub(crate) fn node(given: &Given<NodeSettings>) -> Result<Exit, Failure> {
    let Some(settings) = settings_with(given, node::check, node::notes)? else { return Ok(Exit::Ok) };
    let input = given.is_child().then(std::io::stdin);
    child::node(settings, Some(given.clone()), std::io::stdout(), input).map(|()| Exit::Ok).map_err(failure)
}

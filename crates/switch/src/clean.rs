//! What a switch or a server's half that was killed has left on a host, taken away without a successor.

use sojourn_part::ServeError;

use super::be_the_only_one;
use super::kernel::{before, routes, rules};
use super::server;

/// Takes away all that a switch and servers' halves that were killed have left on this host, open connections included, and puts
/// its settings back to what they were before the first of them; says what there was.
///
/// # Errors
/// When a switch or a server's half runs here, or the system refuses; what was found until then is clean.
pub fn clean() -> Result<Vec<String>, ServeError> {
    let _only_one = be_the_only_one()?;
    let owners = before::owners();
    let halves: Vec<&String> = owners.iter().filter(|owner| *owner != before::FRONT).collect();
    let _halves = halves.iter().map(|half| server::be_the_only_half(half)).collect::<Result<Vec<_>, _>>()?;
    let mut found = Vec::new();
    let service = rules::service();
    if let Some((address, port)) = service.as_ref() {
        found.push(format!("the rules and connections of a front node for {address}:{port}"));
    }
    if routes::remove(service.as_ref().and_then(|(address, _)| address.parse().ok()))? {
        found.push("its ways to servers".into());
    }
    if service.is_some() {
        rules::remove()?;
    }
    if owners.contains(before::FRONT) {
        before::put_back(before::FRONT)?;
        found.push("its settings of the host".into());
    }
    for half in halves {
        before::put_back(half)?;
        found.push(format!("what a server's {} has changed", server::spelled(half)));
    }
    if server::sweep()? {
        found.push("the rules of a server's half".into());
    }
    Ok(found)
}

//! Keys, and who takes zones over as a whole, in the configuration file.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::Deserialize;
use sojourn_part::place::Place;
use toml::Spanned;

use super::super::names::name;
use super::{RawZone, address};
use crate::wire::tsig::TransferKey;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawKey {
    name: Spanned<String>,
    algorithm: Option<Spanned<String>>,
    secret_file: Spanned<PathBuf>,
}

/// Reads the keys; gives their names too.
pub(super) fn keys(raw: &[RawKey], place: &Place<'_>) -> Result<(Vec<String>, Vec<TransferKey>), String> {
    let (mut names, mut keys): (Vec<String>, Vec<TransferKey>) = Default::default();
    for one in raw {
        let called = name(one.name.get_ref()).map_err(|why| place.wrong(one.name.span(), "key.name", why))?;
        if names.contains(&called) {
            return Err(place.wrong(one.name.span(), "key.name", format!("`{called}` is there twice")));
        }
        let algorithm = one.algorithm.as_ref().map_or(TransferKey::ALGORITHMS[0], |text| text.get_ref());
        if let Some(text) = one.algorithm.as_ref().filter(|_| !TransferKey::ALGORITHMS.contains(&algorithm)) {
            let what = format!("`{algorithm}` is not known; known are {}", TransferKey::ALGORITHMS.join(", "));
            return Err(place.wrong(text.span(), "key.algorithm", what));
        }
        let key = TransferKey::read(&called, algorithm, &place.path(one.secret_file.get_ref()));
        keys.push(key.map_err(|why| place.wrong(one.secret_file.span(), "key.secret_file", why))?);
        names.push(called);
    }
    Ok((names, keys))
}

/// Reads the names of the keys that a zone may be asked for with, and who is told of its changes.
pub(super) fn of_zone(
    raw: &RawZone,
    keys: &[String],
    place: &Place<'_>,
) -> Result<(Vec<String>, Vec<SocketAddr>), String> {
    if let Some(first) = raw.transfer.first().or(raw.notify.first()).filter(|_| raw.file.is_none()) {
        let key = if raw.transfer.is_empty() { "zone.notify" } else { "zone.transfer" };
        let right = "a secondary goes by the serial number, which only a zone file has; give the zone a `file`";
        return Err(place.wrong(first.span(), key, right));
    }
    if let (Some(first), true) = (raw.notify.first(), raw.transfer.is_empty()) {
        let right = "who is told of changes has to ask for them: name its key in `transfer`";
        return Err(place.wrong(first.span(), "zone.notify", right));
    }
    let transfer = raw.transfer.iter().map(|text| {
        let wrong = |why: String| place.wrong(text.span(), "zone.transfer", why);
        let called = name(text.get_ref()).map_err(wrong)?;
        match keys.contains(&called) {
            true => Ok(called),
            false => Err(wrong(format!("there is no key `{called}`; add `[[key]]` with this name"))),
        }
    });
    let transfer = transfer.collect::<Result<_, _>>()?;
    let notify = raw.notify.iter().map(|text| address(text.get_ref(), text.span(), "zone.notify", place));
    Ok((transfer, notify.collect::<Result<_, _>>()?))
}

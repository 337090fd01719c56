//! The same file in other codings, made before and put beside it: `a.css.br`, `a.css.zst`, `a.css.gz`.

use hyper::header::{ACCEPT_ENCODING, HeaderMap};

use super::resource::{Coding, Representation, Resource};
use super::root::{Found, Opened, Root};

/// Codings and the endings of their files, the smallest first.
const CODINGS: [(Coding, &str); 3] = [("br", "br"), ("zstd", "zst"), ("gzip", "gz")];

/// What stands beside the file at `relative` and is not older.
pub(super) fn find(root: &Root, relative: &str, plain: &Opened) -> Vec<Representation> {
    let changed = |opened: &Opened| (opened.stat.st_mtime, opened.stat.st_mtime_nsec);
    let beside = |ending: &str| match root.find(&format!("{relative}.{ending}")) {
        Ok(Some(Found::File(file))) if changed(&file) >= changed(plain) => Some(file),
        _ => None,
    };
    CODINGS.iter().filter_map(|(coding, ending)| Some(Representation::new(beside(ending)?, Some(*coding)))).collect()
}

/// The form that the client likes best, and of equal ones the smallest (RFC 9110, section 12.5.3). Where it accepts none, it
/// gets the file as it is: that is more use than an error.
pub(super) fn choose<'a>(resource: &'a Resource, headers: &HeaderMap) -> &'a Representation {
    if resource.variants.is_empty() {
        return &resource.plain;
    }
    let accepted = Accepted::read(headers);
    let mut best = (&resource.plain, accepted.identity());
    for variant in resource.variants.iter().rev() {
        let weight = variant.coding.map_or(0, |coding| accepted.weight(coding));
        if weight > 0 && weight >= best.1 {
            best = (variant, weight);
        }
    }
    best.0
}

/// What a client accepts, with weights in thousandths.
struct Accepted<'a>(Vec<(&'a str, u32)>);

impl<'a> Accepted<'a> {
    fn read(headers: &'a HeaderMap) -> Accepted<'a> {
        let lines = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|line| line.to_str().ok());
        Accepted(lines.flat_map(|line| line.split(',')).filter_map(item).collect())
    }

    fn named(&self, coding: &str) -> Option<u32> {
        let is_it =
            |name: &str| name.eq_ignore_ascii_case(coding) || (coding == "gzip" && name.eq_ignore_ascii_case("x-gzip"));
        self.0.iter().find(|(name, _)| is_it(name)).map(|(_, weight)| *weight)
    }

    fn weight(&self, coding: &str) -> u32 {
        self.named(coding).or_else(|| self.named("*")).unwrap_or(0)
    }

    /// The file as it is, where it is not named, is liked less than whatever is.
    fn identity(&self) -> u32 {
        self.named("identity").unwrap_or(0)
    }
}

/// `gzip;q=0.5`; none of what is nothing of that kind.
fn item(text: &str) -> Option<(&str, u32)> {
    let mut parts = text.split(';').map(str::trim);
    let name = parts.next().filter(|name| !name.is_empty())?;
    let weight = match parts.next() {
        None => 1000,
        Some(weight) => {
            let (key, value) = weight.split_once('=')?;
            let value: f64 = value.trim().parse().ok().filter(|value| (0.0..=1.0).contains(value))?;
            if !key.trim().eq_ignore_ascii_case("q") {
                return None;
            }
            (value * 1000.0).round() as u32
        }
    };
    Some((name, weight))
}

#[cfg(test)]
mod tests {
    use hyper::header::{ACCEPT_ENCODING, HeaderMap, HeaderValue};

    use super::Accepted;

    #[test]
    fn weights_are_read_as_written() {
        for (value, br, gzip, identity) in [
            ("gzip, deflate, br", 1000, 1000, 0),
            ("gzip;q=0.5, br ; q=0.25", 250, 500, 0),
            ("br;q=0, *;q=0.3", 0, 300, 0),
            ("X-GZIP", 0, 1000, 0),
            ("identity, gzip;q=0.1", 0, 100, 1000),
            ("gzip;q=2, br;x=1", 0, 0, 0),
            ("gzip;q=nan", 0, 0, 0),
            ("", 0, 0, 0),
        ] {
            let headers = HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static(value))]);
            let accepted = Accepted::read(&headers);
            let weights = (accepted.weight("br"), accepted.weight("gzip"), accepted.identity());
            assert_eq!(weights, (br, gzip, identity), "{value}");
        }
    }
}

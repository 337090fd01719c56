//! Which requests of a log ask for the same kind of work, by the beginnings of their paths.

use super::Log;

/// What is said of all other paths.
const OTHER: &str = "other";

/// Requests by the beginnings of their paths, such as `/search` and `/api/orders`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathClasses {
    names: Vec<String>,
    of_object: Vec<u8>,
}

impl PathClasses {
    /// The paths of `log` by these beginnings, of which one is meant by its whole segments: `/api` is that of `/api`, `/api/7`
    /// and `/api?id=7`, not of `/apis`; `/` is that of itself only. The longest that fits counts.
    ///
    /// # Panics
    /// With more than 255 beginnings.
    pub fn new(beginnings: &[&str], log: &Log) -> PathClasses {
        assert!(beginnings.len() < 256, "classes of requests have numbers up to 255");
        let class = |path: &String| {
            let fits = (0..beginnings.len()).filter(|at| begins(path, beginnings[*at]));
            fits.max_by_key(|at| beginnings[*at].len()).map_or(0, |at| at as u8 + 1)
        };
        let names = std::iter::once(OTHER).chain(beginnings.iter().copied()).map(String::from).collect();
        PathClasses { names, of_object: log.paths().iter().map(class).collect() }
    }

    /// `other`, and then the beginnings.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The class of an object: an index into [`PathClasses::names`].
    pub fn of(&self, object: u32) -> u8 {
        self.of_object[object as usize]
    }

    /// The share of each class in the requests of `log`, from which it was made.
    pub(crate) fn shares(&self, log: &Log) -> Vec<f64> {
        let mut shares = vec![0.0; self.names.len()];
        log.entries().iter().for_each(|entry| shares[usize::from(self.of(entry.object))] += 1.0);
        shares.iter_mut().for_each(|share| *share /= log.requests().max(1) as f64);
        shares
    }
}

/// Whether `beginning` is made of the first whole segments of `path`.
fn begins(path: &str, beginning: &str) -> bool {
    match path.strip_prefix(beginning) {
        Some("") => true,
        Some(rest) if beginning == "/" => rest.starts_with('?'),
        Some(rest) => rest.starts_with(['/', '?']) || beginning.ends_with('/'),
        None => false,
    }
}

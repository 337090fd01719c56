//! The target of a calibration: an address, and one path or several of different work.

use std::net::SocketAddr;

use sojourn_load::Url;

use crate::settings::CalibrateError;

/// The server under measurement, and its levels of work.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// As it was written.
    pub url: String,
    /// The server's address.
    pub address: SocketAddr,
    /// The `host` header.
    pub host: String,
    /// The quantity that the work depends on.
    pub axis: Axis,
    /// The paths, in ascending order of x.
    pub levels: Vec<WorkLevel>,
    /// Index of the level that loads use.
    pub reference: usize,
    /// Headers that every request carries.
    pub headers: Vec<(String, String)>,
}

/// One path.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkLevel {
    /// Size (bytes), iterations, or another number in the path.
    pub x: f64,
    /// The path.
    pub path: String,
}

/// The quantity in which the levels differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// There is one path.
    None,
    /// Bytes of the reply: `{size}` in the URL.
    Size,
    /// A number in the path: `{x}` in the URL.
    Number,
}

impl Target {
    /// Reads `http://host:port/path`. The path may have one `{size}` or `{x}`, which stands for each of `xs`. Loads use
    /// the level at `at`, or else the middle one.
    ///
    /// # Errors
    /// When the URL is not valid, the host is not known, `xs` do not go with it, or `at` is none of them.
    pub fn parse(url: &str, xs: &[u64], at: Option<u64>) -> Result<Target, CalibrateError> {
        let invalid = |what: String| CalibrateError::Invalid(what);
        let (axis, placeholder) = match (url.contains("{size}"), url.contains("{x}")) {
            (true, true) => return Err(invalid(format!("`{url}`: one of {{size}} and {{x}}, not both"))),
            (true, false) => (Axis::Size, "{size}"),
            (false, true) => (Axis::Number, "{x}"),
            (false, false) => (Axis::None, ""),
        };
        let mut xs = xs.to_vec();
        xs.sort_unstable();
        xs.dedup();
        match axis {
            Axis::None if !xs.is_empty() => {
                return Err(invalid(format!("--x: `{url}` has no place for it; write {{x}} or {{size}} in its path")));
            }
            Axis::Size | Axis::Number if xs.len() < 2 => {
                let example = "e.g. --x 1000,20000,200000";
                return Err(invalid(format!("--x: {placeholder} needs at least 2 different values, {example}")));
            }
            _ => {}
        }
        let texts: Vec<(f64, String)> = match axis {
            Axis::None => vec![(0.0, url.to_owned())],
            _ => xs.iter().map(|x| (*x as f64, url.replace(placeholder, &x.to_string()))).collect(),
        };
        let mut levels = Vec::with_capacity(texts.len());
        let mut first = None;
        for (x, text) in texts {
            let read = Url::parse(&text).map_err(|e| invalid(e.to_string()))?;
            levels.push(WorkLevel { x, path: read.path.clone() });
            first.get_or_insert(read);
        }
        let first = first.expect("there is at least one level");
        let address = first.resolve().map_err(|e| invalid(e.to_string()))?;
        let reference = match at {
            None => (levels.len() - 1) / 2,
            Some(at) => match levels.iter().position(|level| level.x == at as f64) {
                Some(found) => found,
                None => return Err(invalid(format!("--at {at}: it is one of the values of --x"))),
            },
        };
        Ok(Target {
            url: url.to_owned(),
            address,
            host: first.authority(),
            axis,
            levels,
            reference,
            headers: Vec::new(),
        })
    }
}

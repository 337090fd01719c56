//! A file of URLs with weights: one per line, `URL` or `WEIGHT URL`, where a URL may be a template.
//!
//! `#` begins a comment where a line begins with it. A URL without scheme and host is a path of the address that the
//! list is read for.

use std::path::Path;

use sojourn_stats::input;
use thiserror::Error;

use crate::request::Targets;
use crate::request::endpoint::Endpoint;
use crate::request::template::Template;
use crate::request::url::Url;

/// What a file of URLs says: the hosts, and what to ask them for.
#[derive(Clone, Debug, PartialEq)]
pub struct UrlList {
    /// Every host that is asked, in order of its first line.
    pub endpoints: Vec<Endpoint>,
    /// The weighted paths.
    pub targets: Targets,
}

/// Why a file is no list of URLs; the message names file and line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct UrlListError(String);

impl UrlList {
    /// Reads the list in the file `path`; lines that are paths are of `base`.
    ///
    /// # Errors
    /// When there is no such file, it is empty, or a line is neither `URL` nor `WEIGHT URL`.
    pub fn read(path: &Path, base: Option<&Url>) -> Result<UrlList, UrlListError> {
        let text = input::text(path).map_err(|error| UrlListError(format!("{}: {error}", path.display())))?;
        UrlList::parse(&text, &path.display().to_string(), base)
    }

    /// Reads the list in `text`, which comes from the file called `name`.
    ///
    /// # Errors
    /// As [`UrlList::read`].
    pub fn parse(text: &str, name: &str, base: Option<&Url>) -> Result<UrlList, UrlListError> {
        let mut endpoints: Vec<Endpoint> = Vec::new();
        let mut weighted = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = |why: String| UrlListError(format!("{name}:{}: {why}", number + 1));
            let (weight, address) = match line.split_once(char::is_whitespace) {
                Some((first, rest)) if !first.contains('/') => {
                    let weight = first.parse::<f64>().ok().filter(|weight| *weight > 0.0 && weight.is_finite());
                    let weight = weight.ok_or_else(|| {
                        wrong(format!("`{first}` is no weight: expected a number above 0, then the URL"))
                    })?;
                    (weight, rest.trim())
                }
                _ => (1.0, line),
            };
            let url = match base {
                Some(base) if address.starts_with('/') => {
                    // A fragment is for the one who reads the reply.
                    let path = address.split('#').next().unwrap_or_default();
                    Url { path: path.to_owned(), ..base.clone() }
                }
                None if address.starts_with('/') => {
                    return Err(wrong(format!("`{address}` is a path without a host; write the whole URL")));
                }
                _ => Url::parse(address).map_err(|error| wrong(error.to_string()))?,
            };
            let endpoint = match endpoints.iter().position(|endpoint| endpoint.is_origin_of(&url)) {
                Some(endpoint) => endpoint,
                None => {
                    endpoints.push(Endpoint::from(&url));
                    endpoints.len() - 1
                }
            };
            let template = Template::parse(&url.path).map_err(|error| wrong(error.to_string()))?;
            weighted.push((weight, template.at(endpoint)));
        }
        if weighted.is_empty() {
            return Err(UrlListError(format!(
                "{name}: there is no URL in it; one per line, with a weight before it or not"
            )));
        }
        Ok(UrlList { endpoints, targets: Targets::Weighted(weighted) })
    }
}

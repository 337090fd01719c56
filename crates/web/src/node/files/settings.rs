//! Whether files can be served as section `[files]` of the settings has it, and what is made of that.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use hyper::StatusCode;
use hyper::header::HeaderValue;
use sojourn_part::settings::Wrong;
use sojourn_part::settings::node::{CacheControl, FileSettings, Pattern};

use super::path::{encoded, normalized};

/// Whether a node can serve them.
///
/// # Errors
/// What is wrong first, and what would be right.
pub(super) fn check(settings: &FileSettings) -> Result<(), Wrong> {
    settings.root.read_dir().map_err(unfit_root(&settings.root))?;
    if let Some(name) = settings.index.iter().find(|name| name.is_empty() || name.contains('/')) {
        return wrong("index", format!("`{name}`: write the name of a file, as in `index.html`"));
    }
    media_types(settings)?;
    cache_rules(settings)?;
    for (status, page) in error_pages(settings)? {
        let path = settings.root.join(normalized(&page).unwrap_or_default().trim_start_matches('/'));
        if !path.is_file() {
            return wrong("errors", format!("{}: there is no file {}", status.as_u16(), path.display()));
        }
    }
    Ok(())
}

pub(super) fn media_types(settings: &FileSettings) -> Result<HashMap<String, HeaderValue>, Wrong> {
    let types = settings.types.iter().map(|(ending, value)| {
        let read = HeaderValue::from_str(value).ok().filter(|_| value.parse::<mime_guess::Mime>().is_ok());
        let fits = !ending.is_empty() && !ending.contains(['.', '/']);
        match read {
            Some(read) if fits => Ok((ending.to_ascii_lowercase(), read)),
            _ => wrong("types", format!("{ending} = `{value}`: write e.g. `webp = \"image/webp\"`")),
        }
    });
    types.collect()
}

/// The paths of the pages, as URLs have them.
pub(super) fn error_pages(settings: &FileSettings) -> Result<HashMap<StatusCode, String>, Wrong> {
    let pages = settings.errors.iter().map(|(status, page)| {
        let code = status.parse::<u16>().ok().filter(|code| (400..600).contains(code));
        let code = code.and_then(|code| StatusCode::from_u16(code).ok());
        let path = normalized(&encoded(&format!("/{page}"))).filter(|path| !path.ends_with('/'));
        match (code, path) {
            (Some(code), Some(path)) => Ok((code, encoded(&path))),
            (None, _) => wrong("errors", format!("{status}: a status from 400 to 599, as in `404 = \"404.html\"`")),
            (_, None) => wrong("errors", format!("{status} = `{page}`: write a file below the root, as in `404.html`")),
        }
    });
    pages.collect()
}

pub(super) fn cache_rules(settings: &FileSettings) -> Result<Vec<(Pattern, HeaderValue)>, Wrong> {
    let rules = settings.cache_control.iter().map(|CacheControl { path, value }| match HeaderValue::from_str(value) {
        Ok(header) if !value.trim().is_empty() => Ok((path.clone(), header)),
        _ => wrong("cache_control", format!("`{value}`: write e.g. `max-age=3600`")),
    });
    rules.collect()
}

pub(super) fn unfit_root(root: &Path) -> impl FnOnce(io::Error) -> Wrong {
    let root = root.display().to_string();
    move |error| match error.kind() {
        io::ErrorKind::NotADirectory => Wrong::new("root", format!("{root}: not a directory")),
        _ => Wrong::new("root", format!("{root}: {error}")),
    }
}

fn wrong<T>(key: &str, why: String) -> Result<T, Wrong> {
    Err(Wrong::new(key, why))
}

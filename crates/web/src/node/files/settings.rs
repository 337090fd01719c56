//! Which files a node serves, and how: section `[files]` of its settings.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};

use hyper::StatusCode;
use hyper::header::HeaderValue;
use serde::Deserialize;
use sojourn_part::ServeError;

use super::super::pattern::Pattern;
use super::path::{encoded, normalized};

/// The files of a node.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileSettings {
    /// The folder that they are below.
    pub root: PathBuf,
    /// Names of files that stand for their folder, the first that is there.
    #[serde(default = "index")]
    pub index: Vec<String>,
    /// Whether a folder without such a file is listed; else it is 404.
    #[serde(default)]
    pub listing: bool,
    /// Whether `a.css.br`, `a.css.zst` or `a.css.gz` beside `a.css` is sent to clients that accept it.
    #[serde(default = "yes")]
    pub precompressed: bool,
    /// The most ranges of one request; more are answered with the whole file.
    #[serde(default = "ranges_max")]
    pub ranges_max: usize,
    /// Media types by the ending of the name, before those that are usual.
    #[serde(default)]
    pub types: BTreeMap<String, String>,
    /// Pages below the root, by the status that they stand for.
    #[serde(default)]
    pub errors: BTreeMap<String, String>,
    /// How long files may be kept by clients; the first pattern that fits.
    #[serde(default)]
    pub cache_control: Vec<CacheControl>,
}

/// The header `cache-control` of some files.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheControl {
    /// Which files, as `*.css` or `/assets/*`.
    pub path: Pattern,
    /// What is sent, as `max-age=3600`.
    pub value: String,
}

fn index() -> Vec<String> {
    vec!["index.html".into()]
}

fn yes() -> bool {
    true
}

fn ranges_max() -> usize {
    16
}

impl FileSettings {
    /// The files below `root`, otherwise as usual.
    pub fn new(root: impl Into<PathBuf>) -> FileSettings {
        FileSettings {
            root: root.into(),
            index: index(),
            listing: false,
            precompressed: yes(),
            ranges_max: ranges_max(),
            types: BTreeMap::new(),
            errors: BTreeMap::new(),
            cache_control: Vec::new(),
        }
    }

    /// The same, with a root that is relative taken from `folder`.
    #[must_use]
    pub fn below(self, folder: &Path) -> FileSettings {
        FileSettings { root: folder.join(self.root), ..self }
    }

    /// Whether a node can serve them.
    ///
    /// # Errors
    /// What is wrong first, and what would be right.
    pub fn check(&self) -> Result<(), ServeError> {
        self.root.read_dir().map_err(unfit_root(&self.root))?;
        if let Some(name) = self.index.iter().find(|name| name.is_empty() || name.contains('/')) {
            return wrong(format!("index `{name}`: write the name of a file, as in `index.html`"));
        }
        self.media_types()?;
        self.cache_rules()?;
        for (status, page) in self.error_pages()? {
            let path = self.root.join(normalized(&page).unwrap_or_default().trim_start_matches('/'));
            if !path.is_file() {
                return wrong(format!("errors {}: there is no file {}", status.as_u16(), path.display()));
            }
        }
        Ok(())
    }

    pub(super) fn media_types(&self) -> Result<HashMap<String, HeaderValue>, ServeError> {
        let types = self.types.iter().map(|(ending, value)| {
            let read = HeaderValue::from_str(value).ok().filter(|_| value.parse::<mime_guess::Mime>().is_ok());
            let fits = !ending.is_empty() && !ending.contains(['.', '/']);
            match read {
                Some(read) if fits => Ok((ending.to_ascii_lowercase(), read)),
                _ => wrong(format!("types {ending} = `{value}`: write e.g. `webp = \"image/webp\"`")),
            }
        });
        types.collect()
    }

    /// The paths of the pages, as URLs have them.
    pub(super) fn error_pages(&self) -> Result<HashMap<StatusCode, String>, ServeError> {
        let pages = self.errors.iter().map(|(status, page)| {
            let code = status.parse::<u16>().ok().filter(|code| (400..600).contains(code));
            let code = code.and_then(|code| StatusCode::from_u16(code).ok());
            let path = normalized(&encoded(&format!("/{page}"))).filter(|path| !path.ends_with('/'));
            match (code, path) {
                (Some(code), Some(path)) => Ok((code, encoded(&path))),
                (None, _) => wrong(format!("errors {status}: a status from 400 to 599, as in `404 = \"404.html\"`")),
                (_, None) => {
                    wrong(format!("errors {status} = `{page}`: write a file below the root, as in `404.html`"))
                }
            }
        });
        pages.collect()
    }

    pub(super) fn cache_rules(&self) -> Result<Vec<(Pattern, HeaderValue)>, ServeError> {
        let rules = self.cache_control.iter().map(|CacheControl { path, value }| match HeaderValue::from_str(value) {
            Ok(header) if !value.trim().is_empty() => Ok((path.clone(), header)),
            _ => wrong(format!("cache_control `{value}`: write e.g. `max-age=3600`")),
        });
        rules.collect()
    }
}

impl From<PathBuf> for FileSettings {
    fn from(root: PathBuf) -> FileSettings {
        FileSettings::new(root)
    }
}

pub(super) fn unfit_root(root: &Path) -> impl FnOnce(io::Error) -> ServeError {
    move |error| match error.kind() {
        io::ErrorKind::NotADirectory => ServeError::Config(format!("files below {}: not a directory", root.display())),
        _ => ServeError::Config(format!("files below {}: {error}", root.display())),
    }
}

fn wrong<T>(why: String) -> Result<T, ServeError> {
    Err(ServeError::Config(format!("files: {why}")))
}

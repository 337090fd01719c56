//! Which files a node serves and how, and the log of what was asked for: sections `[files]` and `[log]`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use serde::{Deserialize, Serialize};

use super::Pattern;

/// The files of a node.
#[derive(Args, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileSettings {
    /// Folder of static files
    #[arg(id = "files.root", long = "files", value_name = "DIR")]
    pub root: PathBuf,
    /// Names of files that stand for their folder, the first that is there.
    #[arg(skip)]
    #[serde(default = "index")]
    pub index: Vec<String>,
    /// Whether a folder without such a file is listed; else it is 404.
    #[arg(skip)]
    #[serde(default)]
    pub listing: bool,
    /// Whether `a.css.br`, `a.css.zst` or `a.css.gz` beside `a.css` is sent to clients that accept it.
    #[arg(skip)]
    #[serde(default = "yes")]
    pub precompressed: bool,
    /// The most ranges of one request; more are answered with the whole file.
    #[arg(skip)]
    #[serde(default = "ranges_max")]
    pub ranges_max: usize,
    /// Media types by the ending of the name, before those that are usual.
    #[arg(skip)]
    #[serde(default)]
    pub types: BTreeMap<String, String>,
    /// Pages below the root, by the status that they stand for.
    #[arg(skip)]
    #[serde(default)]
    pub errors: BTreeMap<String, String>,
    /// How long files may be kept by clients; the first pattern that fits.
    #[arg(skip)]
    #[serde(default)]
    pub cache_control: Vec<CacheControl>,
}

/// The header `cache-control` of some files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheControl {
    /// Which files, as `*.css` or `/assets/*`.
    pub path: Pattern,
    /// What is sent, as `max-age=3600`.
    pub value: String,
}

/// Where a node writes its access log, and how.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogSettings {
    /// Write an access log to this file, in Combined Log Format
    #[arg(id = "log.file", long = "log", value_name = "FILE")]
    pub file: PathBuf,
    /// The form of its lines.
    #[arg(skip)]
    #[serde(default)]
    pub format: LogFormat,
}

/// The form of the lines of an access log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// With the referrer and the user agent.
    #[default]
    Combined,
    /// Without them.
    Common,
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

impl Default for FileSettings {
    fn default() -> FileSettings {
        FileSettings::new("")
    }
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
}

impl LogSettings {
    /// Lines in Combined Log Format in this file.
    pub fn new(file: impl Into<PathBuf>) -> LogSettings {
        LogSettings { file: file.into(), format: LogFormat::default() }
    }
}

//! Which programs a node runs, and how: sections `[cgi]` and `[fastcgi]` of its settings.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sojourn_stats::Span;

use super::{Pattern, Wrong};

/// Programs that are started for each request (RFC 3875).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CgiSettings {
    /// Which paths are programs, as `/cgi-bin/*` or `*.cgi`.
    pub scripts: Vec<Pattern>,
    /// The folder that paths are below; else that of the files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<PathBuf>,
    /// How long a program may be waited for in all, as `30 s`.
    #[serde(default = "time")]
    pub time: Span,
    /// The most bytes that a program may write.
    #[serde(default = "output")]
    pub output: u64,
    /// The most programs at once; more requests are answered with 503.
    #[serde(default = "at_once")]
    pub at_once: usize,
    /// Variables that programs get besides those of the interface.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Where what they write to standard error goes; else to that of the node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<PathBuf>,
}

/// Programs that a FastCGI server runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FastCgiSettings {
    /// Which paths are programs, as `*.php`.
    pub scripts: Vec<Pattern>,
    /// The folder that paths are below; else that of the files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<PathBuf>,
    /// Where the server listens: the path of its socket, with a slash, or `ADDRESS:PORT`.
    pub server: String,
    /// How long a program may be waited for in all, as `30 s`.
    #[serde(default = "time")]
    pub time: Span,
    /// The most bytes that a program may write.
    #[serde(default = "output")]
    pub output: u64,
    /// The most connections to the server; each keeps one of its processes busy.
    #[serde(default = "at_once")]
    pub connections: usize,
    /// Variables that programs get besides those of the interface.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Where what they write to standard error goes; else to that of the node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<PathBuf>,
}

fn time() -> Span {
    Span(60_000_000_000)
}

fn output() -> u64 {
    1 << 30
}

fn at_once() -> usize {
    8
}

impl CgiSettings {
    /// Programs at the paths that this pattern matches, otherwise as usual.
    pub fn new(scripts: Pattern) -> CgiSettings {
        CgiSettings {
            scripts: vec![scripts],
            root: None,
            time: time(),
            output: output(),
            at_once: at_once(),
            env: BTreeMap::new(),
            errors: None,
        }
    }

    pub(super) fn below(&mut self, folder: &Path) {
        let paths = [&mut self.root, &mut self.errors].into_iter().flatten();
        paths.for_each(|path| *path = folder.join(&*path));
    }

    /// Whether a node can run them.
    ///
    /// # Errors
    /// What is wrong first, and what would be right.
    pub fn check(&self) -> Result<(), Wrong> {
        check(&self.scripts, self.time, &self.env)?;
        if self.at_once == 0 { Err(Wrong::new("at_once", "0: at least 1 runs programs")) } else { Ok(()) }
    }
}

impl FastCgiSettings {
    /// Programs at the paths that this pattern matches, run by this server, otherwise as usual.
    pub fn new(scripts: Pattern, server: impl Into<String>) -> FastCgiSettings {
        FastCgiSettings {
            scripts: vec![scripts],
            root: None,
            server: server.into(),
            time: time(),
            output: output(),
            connections: at_once(),
            env: BTreeMap::new(),
            errors: None,
        }
    }

    pub(super) fn below(&mut self, folder: &Path) {
        let paths = [&mut self.root, &mut self.errors].into_iter().flatten();
        paths.for_each(|path| *path = folder.join(&*path));
        if self.server.contains('/') {
            self.server = folder.join(&self.server).to_string_lossy().into_owned();
        }
    }

    /// Whether a node can ask for them.
    ///
    /// # Errors
    /// What is wrong first, and what would be right.
    pub fn check(&self) -> Result<(), Wrong> {
        check(&self.scripts, self.time, &self.env)?;
        if self.connections == 0 {
            return Err(Wrong::new("connections", "0: at least 1 is needed"));
        }
        if self.server.contains('/') || self.server.parse::<std::net::SocketAddr>().is_ok() {
            return Ok(());
        }
        let right = format!("`{}`: write `/run/php/php-fpm.sock` or `127.0.0.1:9000`", self.server);
        Err(Wrong::new("server", right))
    }
}

fn check(scripts: &[Pattern], time: Span, env: &BTreeMap<String, String>) -> Result<(), Wrong> {
    if scripts.is_empty() {
        return Err(Wrong::new("scripts", "none: write e.g. `scripts = [\"/cgi-bin/*\"]`"));
    }
    if time == Span::ZERO {
        return Err(Wrong::new("time", "a program takes some time, e.g. `30 s`"));
    }
    let unfit = |name: &&String| name.is_empty() || name.contains(['=', '\0']);
    match env.keys().find(unfit).or(env.values().find(|value| value.contains('\0'))) {
        Some(text) => Err(Wrong::new("env", format!("`{text}`: write e.g. `env = {{ LANG = \"C.UTF-8\" }}`"))),
        None => Ok(()),
    }
}

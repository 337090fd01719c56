//! Which programs a node runs, and how: sections `[cgi]` and `[fastcgi]` of its settings.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use sojourn_part::ServeError;
use sojourn_stats::{Dimension, Span, quantity};

use super::super::pattern::Pattern;

/// Programs that are started for each request (RFC 3875).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CgiSettings {
    /// Which paths are programs, as `/cgi-bin/*` or `*.cgi`.
    pub scripts: Vec<Pattern>,
    /// The folder that paths are below; else that of the files.
    pub root: Option<PathBuf>,
    /// How long a program may be waited for in all, as `30 s`.
    #[serde(default = "time", deserialize_with = "span")]
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
    pub errors: Option<PathBuf>,
}

/// Programs that a FastCGI server runs.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FastCgiSettings {
    /// Which paths are programs, as `*.php`.
    pub scripts: Vec<Pattern>,
    /// The folder that paths are below; else that of the files.
    pub root: Option<PathBuf>,
    /// Where the server listens: the path of its socket, with a slash, or `ADDRESS:PORT`.
    pub server: String,
    /// How long a program may be waited for in all, as `30 s`.
    #[serde(default = "time", deserialize_with = "span")]
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

fn span<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Span, D::Error> {
    let text = String::deserialize(deserializer)?;
    let seconds = quantity::parse(&text, Dimension::Time).map_err(serde::de::Error::custom)?;
    Ok(Span::from_secs_f64(seconds.max(0.0)))
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

    /// The same, with paths that are relative taken from `folder`.
    #[must_use]
    pub fn below(self, folder: &Path) -> CgiSettings {
        let join = |path: PathBuf| folder.join(path);
        CgiSettings { root: self.root.map(join), errors: self.errors.map(join), ..self }
    }

    /// Whether a node can run them.
    ///
    /// # Errors
    /// What is wrong first, and what would be right.
    pub fn check(&self) -> Result<(), ServeError> {
        check("cgi", &self.scripts, self.time, &self.env)?;
        if self.at_once == 0 { wrong("cgi: at_once = 0: at least 1 runs programs") } else { Ok(()) }
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

    /// The same, with paths that are relative taken from `folder`.
    #[must_use]
    pub fn below(self, folder: &Path) -> FastCgiSettings {
        let join = |path: PathBuf| folder.join(path);
        let server = match self.server.contains('/') {
            true => folder.join(&self.server).to_string_lossy().into_owned(),
            false => self.server,
        };
        FastCgiSettings { root: self.root.map(join), errors: self.errors.map(join), server, ..self }
    }

    /// Whether a node can ask for them.
    ///
    /// # Errors
    /// What is wrong first, and what would be right.
    pub fn check(&self) -> Result<(), ServeError> {
        check("fastcgi", &self.scripts, self.time, &self.env)?;
        if self.connections == 0 {
            return wrong("fastcgi: connections = 0: at least 1 is needed");
        }
        let is_address = self.server.parse::<std::net::SocketAddr>().is_ok();
        if self.server.contains('/') || is_address {
            return Ok(());
        }
        wrong(format!("fastcgi: server `{}`: write `/run/php/php-fpm.sock` or `127.0.0.1:9000`", self.server))
    }
}

fn check(section: &str, scripts: &[Pattern], time: Span, env: &BTreeMap<String, String>) -> Result<(), ServeError> {
    if scripts.is_empty() {
        return wrong(format!("{section}: scripts is empty: write e.g. `scripts = [\"/cgi-bin/*\"]`"));
    }
    if time == Span::ZERO {
        return wrong(format!("{section}: time: a program takes some time, e.g. `30 s`"));
    }
    let unfit = |name: &&String| name.is_empty() || name.contains(['=', '\0']);
    match env.keys().find(unfit).or(env.values().find(|value| value.contains('\0'))) {
        Some(text) => wrong(format!("{section}: env `{text}`: write e.g. `env = {{ LANG = \"C.UTF-8\" }}`")),
        None => Ok(()),
    }
}

fn wrong<T>(why: impl Into<String>) -> Result<T, ServeError> {
    Err(ServeError::Config(why.into()))
}

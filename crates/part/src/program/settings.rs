//! Programs as text: `nginx`, or `apache-prefork(workers = 16, keep_alive = 0 s)`.

use std::path::PathBuf;

use sojourn_stats::{Dimension, Span, meant_aside, quantity};

use super::{Kind, Program, Workers};
use crate::ServeError;

/// What every kind takes, beside its own.
const COMMON: [&str; 6] = ["keep_alive", "keep_alive_requests", "access_log", "cores", "background", "listen"];

impl Program {
    /// Reads a program: its kind's name and what is not to be as it is by default, in round brackets.
    ///
    /// | kind | settings and their defaults |
    /// |---|---|
    /// | `nginx` | `workers = 1`, `gzip = 0` (1 to 9: compresses) |
    /// | `apache-prefork`, `apache-php` | `workers = 16`, `start = workers`, `spare_min = 1`, `spare_max = workers + 1` |
    /// | `apache-event` | `processes = 1`, `threads = 25` |
    /// | `fork`, `inetd` | |
    /// | `squid` | `origin` (an address and port) or `forward = true`, `cache = 64 MB` |
    ///
    /// All take `cores = 0,1` (any), `background = false` (true: gives way to others there), `listen = 127.0.0.1:0`;
    /// those that can, `keep_alive = 15 s` (`0 s`: off),
    /// `keep_alive_requests = 150` and `access_log = false`.
    ///
    /// # Errors
    /// When the text is none; the message says what would be right.
    pub fn parse(text: &str, root: impl Into<PathBuf>) -> Result<Program, ServeError> {
        let text = text.trim();
        let (name, settings) = match text.split_once('(') {
            None => (text, ""),
            Some((name, rest)) => match rest.strip_suffix(')') {
                Some(settings) => (name.trim(), settings),
                None => return Err(ServeError::Config(format!("program `{text}`: it ends with `)`"))),
            },
        };
        let mut given: Vec<(String, String)> = Vec::new();
        for part in settings.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            match (part.split_once('='), given.last_mut()) {
                (Some((key, value)), _) => given.push((key.trim().into(), value.trim().into())),
                // A further number of a list: `cores = 0, 1`.
                (None, Some((_, value))) => *value = format!("{value},{part}"),
                (None, None) => {
                    return Err(ServeError::Config(format!("program `{text}`: `{part}`: write `key = value`")));
                }
            }
        }
        Program::with(name, &given, root)
    }

    /// The same from settings that are apart already.
    ///
    /// # Errors
    /// As [`Program::parse`].
    pub fn with(name: &str, given: &[(String, String)], root: impl Into<PathBuf>) -> Result<Program, ServeError> {
        let mut settings = Settings { name, given: given.to_vec(), known: Vec::new() };
        let kind = settings.kind()?;
        let mut program = Program::new(kind, root);
        for key in COMMON {
            let Some(value) = settings.take(key) else { continue };
            match key {
                "keep_alive" => program.keep_alive = settings.span(key, &value)?,
                "keep_alive_requests" => program.keep_alive_requests = settings.read(key, &value, "a whole number")?,
                "access_log" => program.access_log = settings.read(key, &value, "true or false")?,
                "background" => program.is_in_background = settings.read(key, &value, "true or false")?,
                "listen" => program.listen = settings.read(key, &value, "an address and port")?,
                _ => {
                    let numbers = value.trim_matches(['[', ']']).split(',').map(str::trim);
                    let read = |number| settings.read(key, number, "numbers of cores, as in 0,1");
                    program.cores = numbers.map(read).collect::<Result<_, _>>()?;
                }
            }
        }
        settings.finish()?;
        program.check()?;
        Ok(program)
    }
}

struct Settings<'a> {
    name: &'a str,
    given: Vec<(String, String)>,
    known: Vec<&'static str>,
}

impl Settings<'_> {
    fn kind(&mut self) -> Result<Kind, ServeError> {
        Ok(match self.name {
            "nginx" => Kind::Nginx { workers: self.number("workers", 1)?, gzip: self.number("gzip", 0)? },
            "apache-prefork" => Kind::ApachePrefork(self.workers()?),
            "apache-php" => Kind::ApachePhp(self.workers()?),
            "apache-event" => {
                Kind::ApacheEvent { processes: self.number("processes", 1)?, threads: self.number("threads", 25)? }
            }
            "fork" => Kind::Fork,
            "inetd" => Kind::Inetd,
            "squid" => {
                let forward =
                    self.take("forward").map_or(Ok(false), |text| self.read("forward", &text, "true or false"))?;
                let origin = self.take("origin");
                let origin = origin.map(|text| self.read("origin", &text, "an address and port")).transpose()?;
                if forward == origin.is_some() {
                    let right = "it needs the web server's address, origin = 127.0.0.1:8080, or forward = true";
                    return Err(self.wrong("origin", "", right));
                }
                let cache = self.take("cache").unwrap_or_else(|| "64 MB".into());
                let bytes = quantity::parse(&cache, Dimension::Size);
                Kind::Squid {
                    origin,
                    cache: bytes.map_err(|error| self.wrong("cache", &cache, &error.to_string()))? as u64,
                }
            }
            other => {
                let names = Kind::NAMES.map(|name| format!("`{name}`")).join(", ");
                let meant = meant_aside(other, Kind::NAMES);
                return Err(ServeError::Config(format!("unknown program `{other}`{meant}; known: {names}")));
            }
        })
    }

    fn workers(&mut self) -> Result<Workers, ServeError> {
        let most = self.number("workers", 16)?;
        let fixed = Workers::fixed(most);
        Ok(Workers {
            most,
            start: self.number("start", fixed.start)?,
            spare_min: self.number("spare_min", fixed.spare_min)?,
            spare_max: self.number("spare_max", fixed.spare_max)?,
        })
    }

    fn take(&mut self, key: &'static str) -> Option<String> {
        self.known.push(key);
        let found = self.given.iter().position(|(given, _)| given == key)?;
        Some(self.given.remove(found).1)
    }

    fn number(&mut self, key: &'static str, default: u32) -> Result<u32, ServeError> {
        self.take(key).map_or(Ok(default), |value| self.read(key, &value, "a whole number"))
    }

    fn span(&self, key: &str, value: &str) -> Result<Span, ServeError> {
        let seconds = quantity::parse(value, Dimension::Time);
        seconds.map(Span::from_secs_f64).map_err(|error| self.wrong(key, value, &error.to_string()))
    }

    fn read<T: std::str::FromStr>(&self, key: &str, value: &str, right: &str) -> Result<T, ServeError> {
        value.parse().map_err(|_| self.wrong(key, value, &format!("it is {right}")))
    }

    fn wrong(&self, key: &str, value: &str, why: &str) -> ServeError {
        let name = self.name;
        match value {
            "" => ServeError::Config(format!("program `{name}`: {key}: {why}")),
            value => ServeError::Config(format!("program `{name}`: {key} = {value}: {why}")),
        }
    }

    /// Refuses what no one took.
    fn finish(self) -> Result<(), ServeError> {
        let Some((key, value)) = self.given.first() else { return Ok(()) };
        if self.known.contains(&key.as_str()) {
            return Err(self.wrong(key, value, "it is given twice"));
        }
        let (known, meant) = (self.known.join(", "), meant_aside(key, self.known.iter().copied()));
        Err(self.wrong(key, "", &format!("no such setting{meant}; there are {known}")))
    }
}

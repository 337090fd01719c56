//! A host of several resources: what a request visits there, and what its memory and its disks hold.

use sojourn_stats::{Dimension, Span, quantity};

use crate::Discipline;
use crate::copies::CopyRules;
use crate::discipline::Keys;

/// What a host consists of besides its processor.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// What a request visits, in this order; the first is the processor, whose discipline is the server's own.
    pub resources: Vec<Resource>,
    /// Memory that caches files; none: nothing is cached.
    pub memory: Option<Memory>,
    /// Where files are; none: every host has all of them.
    pub files: Option<Files>,
    /// Most connections at once, each from when the host takes a request until its reply has arrived; none: any number.
    pub connections: Option<u32>,
}

/// A resource of a host.
#[derive(Clone, Debug, PartialEq)]
pub struct Resource {
    /// Its name: `cpu`, `disk` or `net`.
    pub name: String,
    /// How requests share it.
    pub discipline: Discipline,
    /// Bytes per second, of a disk or a network interface; none for the processor.
    pub rate: Option<f64>,
}

/// Memory that caches files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Its size (bytes).
    pub size: u64,
}

/// Where files are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Files {
    /// How many there are.
    pub number: u32,
    /// The rate at which a host reads a file that another one owns (bytes/s).
    pub remote_rate: Option<f64>,
    /// When a host copies a file that another one owns; none: never.
    pub copies: Option<CopyRules>,
}

/// The shape of `resources = { cpu = { discipline = "ps" }, disk = { ... } }`.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawResource {
    discipline: String,
    helpers: Option<u32>,
    quantum: Option<String>,
    preemptive: Option<bool>,
    rate: Option<String>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawMemory {
    size: String,
    cache: String,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawFiles {
    placed: String,
    number: u32,
    remote_rate: Option<String>,
    copies_after: Option<u32>,
    copies_within: Option<String>,
    copies_max: Option<String>,
}

const NAMES: [&str; 3] = ["cpu", "disk", "net"];

impl Machine {
    /// Reads what `[system.server]` says of resources, memory, files and connections.
    ///
    /// # Errors
    /// One line that names the key.
    pub(crate) fn read(
        resources: Vec<(String, RawResource)>,
        memory: Option<RawMemory>,
        files: Option<RawFiles>,
        connections: Option<u32>,
    ) -> Result<Machine, String> {
        let mut read: Vec<Resource> =
            resources.into_iter().map(|(name, raw)| raw.read(name)).collect::<Result<_, _>>()?;
        read.sort_by_key(|resource| NAMES.iter().position(|name| *name == resource.name));
        if read.first().is_none_or(|first| first.name != "cpu") {
            return Err("resources: a host has a processor, e.g. cpu = { discipline = \"ps\" }".into());
        }
        if connections == Some(0) {
            return Err("limits.connections: a server without any serves nothing; leave it out for no limit".into());
        }
        let (memory, files) = (memory.map(RawMemory::read).transpose()?, files.map(RawFiles::read).transpose()?);
        Ok(Machine { resources: read, memory, files, connections })
    }

    /// The lines of a server's text that say this, but for the limit of connections.
    pub(crate) fn to_toml(&self) -> String {
        let resources: Vec<String> = self.resources.iter().map(Resource::to_toml).collect();
        let mut text = format!("resources = {{ {} }}\n", resources.join(", "));
        if let Some(Memory { size }) = self.memory {
            text += &format!("memory = {{ size = \"{size} B\", cache = \"lru\" }}\n");
        }
        if let Some(Files { number, remote_rate, copies }) = self.files {
            let rate = remote_rate.map_or(String::new(), |rate| format!(", remote_rate = \"{rate} B/s\""));
            let copies = copies.map_or(String::new(), |CopyRules { after, within, max }| {
                format!(", copies_after = {after}, copies_within = \"{} ns\", copies_max = \"{max} B\"", within.0)
            });
            text += &format!("files = {{ placed = \"one-owner\", number = {number}{rate}{copies} }}\n");
        }
        text
    }
}

impl Resource {
    fn to_toml(&self) -> String {
        let mut keys = self.discipline.written();
        keys.extend(self.rate.map(|rate| format!("rate = \"{rate} B/s\"")));
        format!("{} = {{ {} }}", self.name, keys.join(", "))
    }
}

impl RawResource {
    fn read(self, name: String) -> Result<Resource, String> {
        if !NAMES.contains(&name.as_str()) {
            return Err(crate::message::unknown("resource", &name, &NAMES));
        }
        let quantum = self.quantum.as_deref();
        let keys = Keys { helpers: self.helpers, quantum, preemptive: self.preemptive, drops: None };
        let discipline =
            Discipline::read(&self.discipline, &keys).map_err(|misfit| format!("resources.{name}: {misfit}"))?;
        let rate = self.rate.as_deref().map(|text| byte_rate(text, &format!("resources.{name}.rate"))).transpose()?;
        match (name == "cpu", rate) {
            (true, Some(_)) => Err("resources.cpu.rate: a processor has a speed; leave the rate out".into()),
            (false, None) => Err(format!("resources.{name}: it needs a rate, e.g. rate = \"5 MB/s\"")),
            _ => Ok(Resource { name, discipline, rate }),
        }
    }
}

impl RawMemory {
    fn read(self) -> Result<Memory, String> {
        let size = quantity::parse(&self.size, Dimension::Size).map_err(|e| format!("memory.size: {e}"))?;
        match self.cache.as_str() {
            _ if size <= 0.0 => Err("memory.size: memory has bytes; leave it out for none".into()),
            "lru" => Ok(Memory { size: size as u64 }),
            other => Err(crate::message::unknown("cache", other, &["lru"])),
        }
    }
}

impl RawFiles {
    fn read(self) -> Result<Files, String> {
        if self.placed != "one-owner" {
            return Err(crate::message::unknown("placement of files", &self.placed, &["one-owner"]));
        }
        if self.number == 0 {
            return Err("files.number: at least 1 file is needed".into());
        }
        let remote_rate = self.remote_rate.as_deref().map(|text| byte_rate(text, "files.remote_rate")).transpose()?;
        Ok(Files { number: self.number, remote_rate, copies: self.copies()? })
    }

    /// The rules of copies; none where they are made after 0 fetches, or nothing is said.
    fn copies(&self) -> Result<Option<CopyRules>, String> {
        let right = "copies are made after some fetches within a time, as in copies_after = 3, copies_within = \"10 s\", \
                     copies_max = \"24 MB\"";
        match (self.copies_after, &self.copies_within, &self.copies_max) {
            (None, None, None) | (Some(0), _, _) => Ok(None),
            (Some(after), Some(within), Some(max)) => {
                let positive = |text: &str, dimension, key: &str| match quantity::parse(text, dimension) {
                    Ok(value) if value > 0.0 => Ok(value),
                    Ok(_) => Err(format!("files.{key}: it is above 0")),
                    Err(error) => Err(format!("files.{key}: {error}")),
                };
                let within = Span::from_secs_f64(positive(within, Dimension::Time, "copies_within")?);
                Ok(Some(CopyRules { after, within, max: positive(max, Dimension::Size, "copies_max")? as u64 }))
            }
            _ => Err(format!("files: {right}")),
        }
    }
}

/// Reads a rate in bytes per second, as `5 MB/s`; `key` names it in messages.
///
/// # Errors
/// One line: what would be right.
pub fn byte_rate(text: &str, key: &str) -> Result<f64, String> {
    let right = || format!("{key} = `{text}`: bytes per second, e.g. `5 MB/s`");
    let size = text.trim().strip_suffix("/s").ok_or_else(right)?;
    let bytes = quantity::parse(size, Dimension::Size).map_err(|_| right())?;
    if bytes > 0.0 { Ok(bytes) } else { Err(format!("{key}: a rate is above 0")) }
}

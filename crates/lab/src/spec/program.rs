//! Real servers, as `[system]` writes them: `program = { name = "apache-prefork", workers = 16, keep_alive = "0 s" }`.
//!
//! The settings are those of `sojourn_part::program`, and two for a proxy: `origin`, the web server behind it, written
//! in the same way, and `hits`, the part of requests that it may answer from its cache. For that, every file has a
//! second copy below `/miss/`, which Squid never stores. The copy is one byte longer, so that replies tell them apart. With
//! `forward = true` clients ask the proxy for the web server's whole URLs; without, as if it were the web server.

use sojourn_part::program::{self, Kind};
use sojourn_traffic::webstone::FileList;
use sojourn_traffic::{Closed, Open, Sizes, Workload};
use toml::{Spanned, Table, Value};

use super::{Reader, SpecError};

/// Weights of a file list are whole: parts of a million.
const PARTS: f64 = 1e6;

/// The real server of a live run; what it serves is decided by the workload.
#[derive(Clone, Debug)]
pub struct Program {
    /// The program that clients meet.
    pub server: program::Program,
    /// The web server behind it, where it is a proxy.
    pub origin: Option<program::Program>,
    /// The part of requests that the proxy may answer from its cache.
    pub hits: f64,
    /// The keep-alive timeout is written; otherwise sessions bring their own.
    pub has_keep_alive: bool,
}

impl Program {
    /// Whether clients ask it for whole URLs of the web server behind it.
    pub fn is_forward_proxy(&self) -> bool {
        matches!(self.server.kind, Kind::Squid { origin: None, .. })
    }
}

impl Reader<'_> {
    pub(super) fn program(&self, raw: &Spanned<Table>) -> Result<Program, SpecError> {
        let wrong = |message: &str| self.at(raw, "program", message);
        let mut table = raw.get_ref().clone();
        let is_proxy = table.get("name").and_then(Value::as_str) == Some("squid");
        let (mut origin, mut hits) = (None, 1.0);
        if is_proxy {
            let behind = match table.remove("origin") {
                None => Table::from_iter([("name".to_owned(), Value::from("nginx"))]),
                Some(Value::Table(behind)) => behind,
                Some(_) => return Err(wrong("origin is a program too: origin = { name = \"nginx\" }")),
            };
            origin = Some(server(behind).map_err(|e| wrong(&format!("origin: {e}")))?);
            if let Some(value) = table.remove("hits") {
                let number = value.as_float().or(value.as_integer().map(|whole| whole as f64));
                hits = number.filter(|part| (0.0..=1.0).contains(part)).ok_or_else(|| wrong("hits is from 0 to 1"))?;
            }
            // Its address is known once it runs, and a forward proxy need not know it.
            if table.get("forward") != Some(&Value::Boolean(true)) {
                table.insert("origin".into(), "127.0.0.1:0".into());
            }
        }
        let has_keep_alive = table.contains_key("keep_alive");
        Ok(Program { server: server(table).map_err(|e| wrong(&e))?, origin, hits, has_keep_alive })
    }

    /// The workload as a real server can serve it: files, each with a copy to be missed where a proxy is to miss some.
    pub(super) fn with_files(&self, workload: &mut Workload, of: &Program) -> Result<(), SpecError> {
        let sizes = match workload {
            Workload::Sessions(_) if of.hits < 1.0 => {
                return Err(self.at_key("program", "hits are for a file list, not for a site with sessions"));
            }
            Workload::Sessions(_) => return Ok(()),
            Workload::Open(Open { sizes, .. }) | Workload::Closed(Closed { sizes, .. }) => sizes,
            Workload::Trace(traced) => &mut traced.sizes,
            Workload::Replay(_) => {
                return Err(self.at_key("program", "a log names files that are not here; use a WebStone file list"));
            }
        };
        let list = match sizes {
            Sizes::Law(law) if law.variance() == 0.0 => {
                FileList::of(&[(law.mean() as u64, 1)]).map_err(|e| SpecError(e.to_string()))?
            }
            Sizes::Law(_) => {
                let message = "a real program serves files: write a size as a file list, e.g. `webstone`, or one size";
                return Err(self.at_key("program", message));
            }
            Sizes::ByClass(_) if sizes.site().is_none() => {
                let message =
                    "a real program serves files: write the size of every class as a file list, e.g. `webstone`";
                return Err(self.at_key("program", message));
            }
            Sizes::SpecWeb(_) | Sizes::Documents(_) | Sizes::ByClass(_) if of.hits < 1.0 => {
                return Err(self.at_key("program", "hits are for a WebStone file list"));
            }
            Sizes::SpecWeb(_) | Sizes::Documents(_) | Sizes::ByClass(_) => return Ok(()),
            Sizes::WebStone(list) => list.clone(),
        };
        *sizes = Sizes::WebStone(if of.hits < 1.0 { missed(&list, of.hits)? } else { list });
        Ok(())
    }
}

/// Each file with its part of `hits`, and its copy below `/miss/` with the rest.
fn missed(list: &FileList, hits: f64) -> Result<FileList, SpecError> {
    let files = list.paths().iter().zip(list.sizes()).flat_map(|(path, (size, share))| {
        let weight = |part: f64| (share * part * PARTS).round();
        [(path.clone(), weight(hits), size), (format!("/miss{path}"), weight(1.0 - hits), size + 1)]
    });
    let lines: String = files
        .filter(|(_, weight, _)| *weight > 0.0)
        .map(|(path, weight, size)| format!("{path} {weight} {size}\n"))
        .collect();
    FileList::parse(&lines, "hits and misses").map_err(|e| SpecError(e.to_string()))
}

fn server(mut table: Table) -> Result<program::Program, String> {
    let name = match table.remove("name") {
        Some(Value::String(name)) => name,
        _ => return Err("it needs a name, e.g. program = { name = \"nginx\" }".into()),
    };
    // What `apache` has always meant here: Zhang's configuration II, all from the start.
    let name = if name == "apache" {
        table.entry("workers").or_insert(Value::Integer(256));
        "apache-prefork"
    } else {
        &name
    };
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let given: Vec<(String, String)> = table.iter().map(|(key, value)| (key.clone(), text(value))).collect();
    // The root is made when the run begins.
    program::Program::with(name, &given, "").map_err(|e| e.to_string())
}

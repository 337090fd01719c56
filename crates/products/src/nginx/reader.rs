//! Walks over the directives of all files.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sojourn_stats::Span;

use crate::note::{FileLine, ImportError, Notes, Reading, cut};
use crate::pool::{Configuration, Pool, Timeout, WhenFull};

use super::amount::time;
use super::arguments;
use super::context::{Block, Context, Use};
use super::include;
use super::tokens::{Item, Tokens};
use super::upstream::{LOOKS, Upstream};

/// Most blocks inside each other.
const DEPTH_MAX: usize = 100;

/// Most servers of a configuration: as many as an experiment has.
const SERVERS_MAX: usize = 100_000;

/// How long an answer is waited for where nothing is said: `proxy_read_timeout` and its kin.
const DEFAULT_TIMEOUT: Span = Span(60_000_000_000);

/// Beginnings of directives that concern neither who serves a request nor how long it waits. `proxy_` and its kin are looked at
/// before.
const PASSED_OVER: [&str; 94] = [
    "absolute_redirect",
    "accept_mutex",
    "access_log",
    "add_header",
    "add_trailer",
    "aio",
    "alias",
    "autoindex",
    "charset",
    "chunked_transfer_encoding",
    "client_",
    "connection_pool_size",
    "daemon",
    "debug_",
    "default_type",
    "directio",
    "env",
    "error_log",
    "error_page",
    "etag",
    "events",
    "expires",
    "fastcgi_",
    "gzip",
    "grpc_",
    "http2",
    "http3",
    "if_modified_since",
    "ignore_invalid_headers",
    "index",
    "internal",
    "js_",
    "keepalive_",
    "large_client_header_buffers",
    "lingering_",
    "listen",
    "load_module",
    "lock_file",
    "log_",
    "lua_",
    "master_process",
    "max_ranges",
    "merge_slashes",
    "msie_",
    "multi_accept",
    "open_file_cache",
    "open_log_file_cache",
    "limit_req_",
    "limit_conn_",
    "output_buffers",
    "override_charset",
    "pcre_jit",
    "pid",
    "port_in_redirect",
    "postpone_output",
    "preread_",
    "proxy_",
    "quic_",
    "read_ahead",
    "real_ip_",
    "recursive_error_pages",
    "request_pool_size",
    "reset_timedout_connection",
    "resolver",
    "root",
    "satisfy",
    "scgi_",
    "secure_link",
    "send_lowat",
    "send_timeout",
    "sendfile",
    "server_name",
    "server_tokens",
    "set_real_ip_from",
    "ssi",
    "ssl",
    "stub_status",
    "sub_filter",
    "subrequest_output_buffer_size",
    "tcp_",
    "thread_pool",
    "timer_resolution",
    "try_files",
    "types",
    "underscores_in_headers",
    "uninitialized_variable_warn",
    "use",
    "user",
    "userid",
    "uwsgi_",
    "valid_referers",
    "variables_",
    "worker_",
    "working_directory",
];

/// Directives that end a request, hold it up or send it elsewhere.
const ENDING: [&str; 22] = [
    "allow",
    "auth_basic",
    "auth_jwt",
    "auth_request",
    "deny",
    "empty_gif",
    "fastcgi_cache",
    "flv",
    "limit_conn",
    "limit_rate",
    "limit_rate_after",
    "limit_req",
    "memcached_pass",
    "mirror",
    "mp4",
    "perl",
    "proxy_cache",
    "return",
    "rewrite",
    "scgi_cache",
    "set",
    "uwsgi_cache",
];

/// What was read so far.
pub(super) struct Reader {
    folder: PathBuf,
    contexts: Vec<Context>,
    upstreams: Vec<Upstream>,
    names: HashMap<String, FileLine>,
    /// Processes that choose, where the file says how many.
    workers: Option<u32>,
    servers: usize,
    /// The files that are being read, the main one first.
    open: Vec<PathBuf>,
    files: usize,
    bytes: usize,
    notes: Notes,
}

impl Reader {
    pub(super) fn new(path: &Path) -> Reader {
        Reader {
            folder: path.parent().map_or_else(PathBuf::new, Path::to_owned),
            contexts: vec![Context::new(Block::Main, "", &FileLine::new(&path.display().to_string().into(), 1))],
            upstreams: Vec::new(),
            names: HashMap::new(),
            workers: Some(1),
            servers: 0,
            open: Vec::new(),
            files: 0,
            bytes: 0,
            notes: Notes::default(),
        }
    }

    /// Reads a file; it is `depth` files inside the main one.
    pub(super) fn file(&mut self, path: &Path, text: &str, depth: usize) -> Result<(), ImportError> {
        let file: Arc<str> = path.display().to_string().into();
        let at_begin = FileLine::new(&file, 1);
        self.files += 1;
        self.bytes += text.len();
        if self.files > include::FILES_MAX || self.bytes > include::BYTES_MAX {
            let (files, mib) = (include::FILES_MAX, include::BYTES_MAX >> 20);
            return Err(at_begin.refused(format!("with this file they are more than {files} files or {mib} MiB")));
        }
        self.open.push(path.canonicalize().unwrap_or_else(|_| path.to_owned()));
        let outside = self.contexts.len();
        let mut tokens = Tokens::new(text);
        loop {
            let item = tokens.next().map_err(|why| FileLine::new(&file, tokens.line()).refused(why))?;
            let at = FileLine::new(&file, tokens.line());
            match item {
                None => break,
                Some(Item::Directive(words)) if words[0] == "include" && self.block() != Block::Other => {
                    self.include(&words, &at, depth)?;
                }
                Some(Item::Directive(words)) => self.directive(&words, &at)?,
                Some(Item::Open(words)) => self.open_block(&words, &at)?,
                Some(Item::Close) if self.contexts.len() <= outside => {
                    return Err(at.refused("unexpected \"}\": no block is open in this file"));
                }
                Some(Item::Close) => self.close(),
            }
        }
        if self.contexts.len() > outside {
            let at = FileLine::new(&file, tokens.line());
            let open = self.contexts.last().expect("one is open");
            let (name, begin) = (cut(&open.name), &open.at);
            return Err(
                at.refused(format!("the file ends inside `{name}`, which begins at {begin}: \"}}\" is missing"))
            );
        }
        self.open.pop();
        Ok(())
    }

    fn block(&self) -> Block {
        self.contexts.last().expect("the outermost stays").block
    }

    fn include(&mut self, words: &[String], at: &FileLine, depth: usize) -> Result<(), ImportError> {
        let [_, pattern] = words else { return Err(at.refused("`include` names one file or pattern")) };
        let found = include::find(&self.folder, pattern);
        let found = found.map_err(|error| at.refused(format!("include {}: {error}", cut(pattern))))?;
        if found.is_moved {
            let text = format!("include {pattern}: read from the folder of the main file instead");
            self.notes.add(at, Reading::Used, text);
        }
        if found.files.is_empty() {
            let is_fine = include::is_pattern(pattern);
            if !is_fine && self.block() == Block::Upstream {
                return Err(at.refused(format!("include {}: there is no such file, and it has servers", cut(pattern))));
            }
            let text = format!("include {pattern}: there is no such file here, so nothing of it was read");
            let (reading, refuses) = match is_fine {
                true => (Reading::LeftOut, ""),
                false => (Reading::NotUnderstood, "; nginx would refuse to start"),
            };
            self.notes.add(at, reading, text + refuses);
        }
        for path in found.files {
            let refused = |why: String| at.refused(format!("include {}: {why}", path.display()));
            if depth + 1 > include::DEPTH_MAX {
                return Err(refused(format!("more than {} files include one another", include::DEPTH_MAX)));
            }
            let whole = path.canonicalize().unwrap_or_else(|_| path.clone());
            if self.open.contains(&whole) {
                return Err(refused("it includes itself, directly or by another file".into()));
            }
            let text = include::text(&path).map_err(|error| refused(format!("cannot read it: {error}")))?;
            self.file(&path, &text, depth + 1)?;
        }
        Ok(())
    }

    fn open_block(&mut self, words: &[String], at: &FileLine) -> Result<(), ImportError> {
        if self.contexts.len() > DEPTH_MAX {
            return Err(at.refused(format!("more than {DEPTH_MAX} blocks are inside each other")));
        }
        let (around, word) = (self.block(), words[0].as_str());
        let block = match (around, word) {
            (Block::Main, "http") => Block::Http,
            (Block::Main, "stream") => {
                let text = "stream: a server is chosen for each connection; here for each request";
                self.notes.add(at, Reading::LeftOut, text);
                Block::Stream
            }
            (Block::Http | Block::Stream, "upstream") => {
                let [_, name] = words else { return Err(at.refused("`upstream` has one name, e.g. `upstream app {`")) };
                if let Some(before) = self.names.insert(name.clone(), at.clone()) {
                    return Err(at.refused(format!("duplicate upstream `{}`: it was at {before}", cut(name))));
                }
                self.upstreams.push(Upstream::new(name, at.clone()));
                Block::Upstream
            }
            (Block::Http | Block::Stream, "server") => Block::Place,
            (Block::Place, "location" | "if" | "limit_except") => Block::Place,
            (Block::Upstream, _) => {
                let upstream = self.upstreams.last().expect("one is open");
                return Err(at.refused(format!(
                    "`{}` has no place in upstream `{}`, which begins at {}: close it with \"}}\"",
                    cut(word),
                    cut(&upstream.name),
                    upstream.at
                )));
            }
            (Block::Other, _) => Block::Other,
            (_, "events" | "types" | "map" | "geo" | "split_clients" | "match" | "charset_map") => Block::Other,
            _ => {
                let known = ["http", "stream", "upstream", "server", "location", "events", "types", "map", "geo"];
                self.notes.not_known(at, word, known);
                Block::Other
            }
        };
        self.contexts.push(Context::new(block, &words.join(" "), at));
        Ok(())
    }

    fn close(&mut self) {
        let uses = self.contexts.pop().expect("one is open").end();
        self.contexts.last_mut().expect("the outermost stays").uses.extend(uses);
    }

    fn directive(&mut self, words: &[String], at: &FileLine) -> Result<(), ImportError> {
        let (word, rest) = (words[0].as_str(), &words[1..]);
        let first = rest.first().map_or("", String::as_str);
        if self.block() != Block::Other {
            arguments::check(words, self.block() == Block::Upstream, at)?;
        }
        match self.block() {
            Block::Other => return Ok(()),
            Block::Upstream => {
                let upstream = self.upstreams.last_mut().expect("one is open");
                upstream.directive(words, at)?;
                self.servers += usize::from(word == "server");
                return match self.servers > SERVERS_MAX {
                    true => Err(at.refused(format!("these are more than {SERVERS_MAX} servers"))),
                    false => Ok(()),
                };
            }
            _ => {}
        }
        let is_of = |kinds: &[&str], rest: &str| kinds.iter().any(|kind| word == format!("{kind}{rest}"));
        let kinds = ["proxy", "fastcgi", "uwsgi", "scgi", "grpc"];
        match word {
            "worker_processes" => {
                self.workers = match first {
                    "auto" => None,
                    number => {
                        let workers = number.parse().ok().filter(|workers| *workers > 0);
                        let right = || at.refused("worker_processes is a whole number of at least 1, or `auto`");
                        Some(workers.ok_or_else(right)?)
                    }
                };
            }
            _ if is_of(&kinds, "_pass") => self.pass(first, at),
            _ if is_of(&kinds, "_read_timeout") || word == "proxy_timeout" => {
                let span = time(first).map_err(|why| at.refused(format!("{word}: {why}")))?;
                self.contexts.last_mut().expect("the outermost stays").timeout = Some((span, at.clone()));
            }
            _ if is_of(&kinds, "_connect_timeout") || is_of(&kinds, "_send_timeout") => {
                time(first).map_err(|why| at.refused(format!("{word}: {why}")))?;
                self.notes.pass_over(at, word);
            }
            _ if kinds.iter().any(|kind| word.starts_with(&format!("{kind}_next_upstream"))) => {
                let text = format!("{}: a simulated gateway asks another server where one refuses", words.join(" "));
                self.notes.add(at, Reading::LeftOut, text);
            }
            "health_check" | "health_check_timeout" => {
                let text = format!("{}: it is asked which servers are up; {LOOKS}", words.join(" "));
                self.notes.add(at, Reading::LeftOut, text);
            }
            _ if ENDING.contains(&word) => {
                let text =
                    format!("\"{}\": what it ends, holds up or answers comes to the servers here", words.join(" "));
                match (word, first) {
                    ("set", _) | (_, "off") => self.notes.pass_over(at, word),
                    _ => self.notes.add(at, Reading::LeftOut, text),
                }
            }
            _ if PASSED_OVER.iter().any(|start| word.starts_with(start)) => self.notes.pass_over(at, word),
            _ => {
                let known = ["include", "upstream", "server", "location", "proxy_pass", "proxy_read_timeout"];
                self.notes.not_known(at, word, known.into_iter().chain(PASSED_OVER).chain(ENDING));
            }
        }
        Ok(())
    }

    /// A way to an upstream: `http://app/path`, `app:8080`.
    fn pass(&mut self, target: &str, at: &FileLine) {
        let rest = target.split_once("://").map_or(target, |(_, rest)| rest);
        if target.contains('$') {
            let text = format!("\"{target}\": where it leads is known for each request only");
            return self.notes.add(at, Reading::LeftOut, text);
        }
        let host = rest.split(['/', '?']).next().unwrap_or_default();
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.chars().all(|c| c.is_ascii_digit()) => name,
            _ => host,
        };
        let way = Use { upstream: name.into(), at: at.clone(), timeout: None };
        self.contexts.last_mut().expect("the outermost stays").uses.push(way);
    }

    /// The pools of all upstreams.
    pub(super) fn end(mut self) -> Result<Configuration, ImportError> {
        let outermost = self.contexts.pop().expect("the outermost stays");
        let mut uses: BTreeMap<String, Vec<Use>> = BTreeMap::new();
        for way in outermost.end() {
            uses.entry(way.upstream.clone()).or_default().push(way);
        }
        for (name, ways) in &uses {
            if !self.names.contains_key(name) {
                let text = format!("`{}` is no upstream of these files, so its server is alone", cut(name));
                self.notes.add(&ways[0].at, Reading::LeftOut, text);
            }
        }
        self.notes.kept.sort();
        let workers = self.workers;
        let pools =
            self.upstreams.into_iter().map(|upstream| pool(upstream, &uses, workers)).collect::<Result<_, _>>()?;
        Ok(Configuration { pools, notes: self.notes })
    }
}

fn pool(upstream: Upstream, uses: &BTreeMap<String, Vec<Use>>, workers: Option<u32>) -> Result<Pool, ImportError> {
    let Upstream { name, at, rule, servers, has_zone, has_queue, without_max_fails, mut notes } = upstream;
    if servers.is_empty() {
        return Err(at.refused(format!("no servers are inside upstream `{}`", cut(&name))));
    }
    // A server that is alone is never out (ngx_http_upstream_module, `max_fails`).
    if without_max_fails > 0 && servers.len() > 1 {
        let text = format!(
            "max_fails=1 fail_timeout=10s, nginx's own where nothing is said, of {without_max_fails} servers: after one failure \
             a server is out for ten seconds; {LOOKS}"
        );
        notes.add(&at, Reading::LeftOut, text);
    }
    let ways = uses.get(&name).map_or(&[][..], Vec::as_slice);
    for way in ways {
        notes.add(
            &way.at,
            Reading::LeftOut,
            "requests of this place come here; the rate is that of all places together",
        );
    }
    let said = ways.iter().filter_map(|way| way.timeout.as_ref());
    let timeout = match said.clone().next() {
        Some((span, at)) => Timeout { span: *span, said: Some(at.clone()) },
        None => Timeout { span: DEFAULT_TIMEOUT, said: None },
    };
    for (other, at) in said.filter(|(other, _)| *other != timeout.span) {
        notes.add(at, Reading::LeftOut, format!("another time-out, of {other}, holds for a part of the requests"));
    }
    Ok(Pool {
        name,
        at,
        rule,
        servers,
        when_full: if has_queue { WhenFull::Waits } else { WhenFull::Refused },
        timeout: Some(timeout),
        workers: if has_zone { Some(1) } else { workers },
        notes,
        inherited: Vec::new(),
    })
}

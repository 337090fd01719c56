//! Sections of `haproxy.cfg` and what they inherit: `defaults` give their settings to the sections after them, or to those
//! that say `from NAME` (manual, section 4).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::note::{FileLine, ImportError, Notes, Reading, cut};
use crate::pool::{Configuration, Pool, Timeout, WhenFull};
use crate::version::Version;

use super::arguments;
use super::balance::default_rule;
use super::global;
use super::proxy::{Proxy, ProxyKind, Settings};
use super::server::SERVERS_MAX;
use super::words::Variables;

/// Sections that have no part in who serves a request. Of later versions too.
const OTHERS: [&str; 19] = [
    "acme",
    "cache",
    "crt-store",
    "fcgi-app",
    "healthcheck",
    "http-errors",
    "log-forward",
    "log-profile",
    "mailers",
    "namespace_list",
    "peers",
    "program",
    "resolvers",
    "ring",
    "spoe-agent",
    "spoe-group",
    "spoe-message",
    "traces",
    "userlist",
];

/// The section that lines belong to.
enum Section {
    None,
    Global,
    /// The last of the defaults.
    Defaults,
    /// The last of the proxies.
    Proxy,
    Other(String),
}

/// A `defaults` section.
struct Defaults {
    name: Option<String>,
    settings: Settings,
    notes: Arc<Notes>,
}

/// All that was read so far.
pub(super) struct Sections {
    version: Version,
    section: Section,
    defaults: Vec<Defaults>,
    /// The one that counts for a section that names none.
    latest: Option<usize>,
    proxies: Vec<Proxy>,
    /// Where the names of proxies were said: of those that take requests, and of those that have servers.
    names: HashMap<(bool, String), FileLine>,
    /// How many servers there are.
    servers: usize,
    notes: Notes,
}

impl Sections {
    pub(super) fn new(version: Version) -> Sections {
        Sections {
            version,
            section: Section::None,
            defaults: Vec::new(),
            latest: None,
            proxies: Vec::new(),
            names: HashMap::new(),
            servers: 0,
            notes: Notes::default(),
        }
    }

    /// Another file begins: it begins outside of all sections, with the defaults of the one before.
    pub(super) fn begin_file(&mut self) {
        self.section = Section::None;
    }

    /// The kind of the present section, as `"${.SECTION}"` has it.
    pub(super) fn name(&self) -> &str {
        match &self.section {
            Section::None => "",
            Section::Global => "global",
            Section::Defaults => "defaults",
            Section::Proxy => self.proxies.last().map_or("", |proxy| proxy.kind.name()),
            Section::Other(name) => name,
        }
    }

    /// The notes of the present section.
    pub(super) fn notes(&mut self) -> &mut Notes {
        match self.section {
            Section::Defaults => Arc::make_mut(&mut self.defaults.last_mut().expect("it was begun").notes),
            Section::Proxy => &mut self.proxies.last_mut().expect("it was begun").notes,
            _ => &mut self.notes,
        }
    }

    /// Obeys a line, which has a word at least.
    pub(super) fn line(
        &mut self,
        words: &[String],
        at: &FileLine,
        variables: &mut Variables<'_>,
    ) -> Result<(), ImportError> {
        match words[0].as_str() {
            "global" => {
                arguments::of_global(words, at)?;
                self.section = Section::Global;
            }
            "defaults" => self.begin_defaults(words, at)?,
            "frontend" => self.begin_proxy(ProxyKind::Frontend, words, at)?,
            "listen" => self.begin_proxy(ProxyKind::Listen, words, at)?,
            "backend" => self.begin_proxy(ProxyKind::Backend, words, at)?,
            // `cache NAME` begins a section, and in some sections other words are called so.
            name if OTHERS.contains(&name) => {
                self.section = Section::Other(name.to_owned());
                self.notes.pass_over(at, &format!("section {name}"));
            }
            word => match &self.section {
                Section::None => {
                    let message =
                        format!("`{}` stands outside of a section; HAProxy's files begin with one", cut(word));
                    return Err(at.refused(message + ", such as `global`, `defaults`, `frontend` or `backend`"));
                }
                Section::Global => global::line(words, at, variables, &mut self.notes)?,
                Section::Defaults => {
                    let defaults = self.defaults.last_mut().expect("it was begun");
                    defaults.settings.line(words, at, Arc::make_mut(&mut defaults.notes))?;
                }
                Section::Proxy => {
                    let proxy = self.proxies.last_mut().expect("it was begun");
                    let before = proxy.servers.len();
                    proxy.line(words, at)?;
                    self.servers += proxy.servers.len() - before;
                    if self.servers > SERVERS_MAX {
                        return Err(at.refused(format!("these are more than {SERVERS_MAX} servers")));
                    }
                }
                Section::Other(_) => {}
            },
        }
        Ok(())
    }

    /// The settings that the words after a section's name say it begins with: `from NAME`, or the latest defaults.
    fn inherited(&self, rest: &[String], at: &FileLine) -> Result<Option<usize>, ImportError> {
        let Some(from) = rest.iter().position(|word| word == "from") else { return Ok(self.latest) };
        let name = rest.get(from + 1).ok_or_else(|| at.refused("`from` needs the name of a `defaults` section"))?;
        let named = |defaults: &&Defaults| defaults.name.as_ref() == Some(name);
        match self.defaults.iter().filter(named).count() {
            0 => Err(at.refused(format!("there is no `defaults {}` before this line", cut(name)))),
            1 => Ok(self.defaults.iter().position(|defaults| named(&defaults))),
            _ => Err(at
                .refused(format!("several sections are called `defaults {}`: give each a name of its own", cut(name)))),
        }
    }

    fn begin_defaults(&mut self, words: &[String], at: &FileLine) -> Result<(), ImportError> {
        // A lone `from` is a name.
        let is_name = |name: &&String| *name != "from" || words.len() == 2;
        let name = words.get(1).filter(is_name).cloned();
        let rest = &words[1 + usize::from(name.is_some())..];
        let from =
            if rest.is_empty() { None } else { self.inherited(rest, at)?.filter(|_| rest.contains(&"from".into())) };
        let (settings, notes) = match from {
            Some(from) => (self.defaults[from].settings.clone(), Arc::clone(&self.defaults[from].notes)),
            None => Default::default(),
        };
        self.latest = Some(self.defaults.len());
        self.defaults.push(Defaults { name, settings, notes });
        self.section = Section::Defaults;
        Ok(())
    }

    fn begin_proxy(&mut self, kind: ProxyKind, words: &[String], at: &FileLine) -> Result<(), ImportError> {
        let name = words.get(1).filter(|name| !name.is_empty()).ok_or_else(|| {
            let kind = kind.name();
            at.refused(format!("`{kind}` needs a name, e.g. `{kind} app`"))
        })?;
        arguments::of_name(words, at)?;
        for takes_requests in [true, false] {
            if !(if takes_requests { kind.takes_requests() } else { kind.has_servers() }) {
                continue;
            }
            if let Some(before) = self.names.insert((takes_requests, name.clone()), at.clone()) {
                let name = cut(name);
                return Err(at.refused(format!("`{name}` was declared already, at {before}; give it another name")));
            }
        }
        let from = self.inherited(&words[2..], at)?;
        let (settings, inherited) = match from {
            Some(from) => (self.defaults[from].settings.clone(), Some(Arc::clone(&self.defaults[from].notes))),
            None => Default::default(),
        };
        self.proxies.push(Proxy::new(kind, name.clone(), at.clone(), settings, inherited));
        self.section = Section::Proxy;
        Ok(())
    }

    /// The pools of all sections that have servers.
    pub(super) fn end(self) -> Result<Configuration, ImportError> {
        let Sections { version, proxies, mut notes, .. } = self;
        let mut pools = Vec::new();
        // What leads to a backend, by its name.
        let mut ways: HashMap<String, Ways> = HashMap::new();
        let names = || proxies.iter().filter(|proxy| proxy.kind.has_servers()).map(|proxy| proxy.name.as_str());
        let are_there: HashSet<&str> = names().collect();
        for proxy in proxies.iter().filter(|proxy| !proxy.settings.is_disabled) {
            let (leads, nowhere): (Vec<_>, Vec<_>) =
                proxy.uses.iter().partition(|(backend, ..)| are_there.contains(backend.as_str()));
            nowhere.iter().for_each(|(backend, at, _)| notes.not_known(at, backend, names()));
            for (backend, at, text) in &leads {
                ways.entry(backend.clone()).or_default().notes.add(at, Reading::LeftOut, text);
            }
            if proxy.kind != ProxyKind::Frontend {
                continue;
            }
            if leads.is_empty() {
                let text = format!("frontend `{}` leads to no backend of these files", cut(&proxy.name));
                notes.add(&proxy.at, Reading::LeftOut, text);
                notes.extend(&proxy.notes);
            }
            let own = Arc::new(proxy.notes.clone());
            for backend in leads.iter().map(|(backend, ..)| backend).collect::<HashSet<_>>() {
                let way = ways.entry(backend.clone()).or_default();
                way.from.extend(proxy.inherited.iter().chain([&own]).map(Arc::clone));
            }
        }
        for proxy in proxies {
            let (kind, name) = (proxy.kind.name(), cut(&proxy.name));
            if proxy.settings.is_disabled {
                notes.add(&proxy.at, Reading::LeftOut, format!("{kind} `{name}` is disabled"));
            } else if !proxy.servers.is_empty() {
                let ways = ways.remove(&proxy.name).unwrap_or_default();
                pools.push(pool(proxy, version, ways)?);
            } else if proxy.kind.has_servers() {
                notes.add(&proxy.at, Reading::LeftOut, format!("{kind} `{name}` has no servers"));
                notes.extend(&proxy.notes);
            }
        }
        Ok(Configuration { pools, notes })
    }
}

/// What leads to a backend: where that is said, and the notes of the frontends, which several backends may share.
#[derive(Default)]
struct Ways {
    notes: Notes,
    from: Vec<Arc<Notes>>,
}

/// The pool of a section, with what leads to it.
fn pool(mut proxy: Proxy, version: Version, ways: Ways) -> Result<Pool, ImportError> {
    proxy.note_checks();
    let Proxy { name, at, settings, servers, mut notes, inherited, .. } = proxy;
    let mut names: HashMap<&str, &FileLine> = HashMap::new();
    for server in &servers {
        if let Some(before) = names.insert(&server.name, &server.at) {
            let message = format!("a server `{}` was defined already, at {before}", cut(&server.name));
            return Err(server.at.refused(message + "; HAProxy wants distinct names"));
        }
    }
    notes.extend(&ways.notes);
    let mut rule = settings.rule.unwrap_or_else(|| default_rule(version));
    (rule.is_consistent, rule.is_mixed) = settings.hash_type;
    Ok(Pool {
        name,
        at,
        rule,
        servers,
        when_full: WhenFull::Waits,
        timeout: settings.server_timeout.map(|(span, at)| Timeout { span, said: Some(at) }),
        workers: Some(1),
        notes,
        inherited: inherited.into_iter().chain(ways.from).collect(),
    })
}

//! A block `upstream`: its servers and its method (nginx's `src/http/ngx_http_upstream.c` and `src/http/modules`).

use sojourn_stats::unknown;

use crate::note::{FileLine, ImportError, Notes, Reading, cut};
use crate::pool::{HashKey, PoolServer, Rule, Standing};

use super::amount::time;
use super::arguments;

/// What there is of methods that only the commercial nginx has.
const BY_TIME: &str = "a rule by response times that is not here (the nearest policy is `peak-ewma`)";

/// What a simulated gateway does in place of counting failures.
pub(super) const LOOKS: &str = "a simulated gateway looks each second whether it is up";

/// What was read of a block.
pub(super) struct Upstream {
    pub(super) name: String,
    pub(super) at: FileLine,
    pub(super) rule: Rule,
    pub(super) servers: Vec<PoolServer>,
    /// Whether all workers count together.
    pub(super) has_zone: bool,
    /// Whether requests wait while all servers are full.
    pub(super) has_queue: bool,
    /// How many servers do not say after how many failures they are out.
    pub(super) without_max_fails: usize,
    pub(super) notes: Notes,
}

impl Upstream {
    pub(super) fn new(name: &str, at: FileLine) -> Upstream {
        let rule = Rule { name: "round-robin".into(), said: None, key: None, is_consistent: false, is_mixed: true };
        let (servers, notes) = (Vec::new(), Notes::default());
        let (has_zone, has_queue, without_max_fails) = (false, false, 0);
        Upstream { name: name.into(), at, rule, servers, has_zone, has_queue, without_max_fails, notes }
    }

    /// Obeys a directive of the block.
    pub(super) fn directive(&mut self, words: &[String], at: &FileLine) -> Result<(), ImportError> {
        let (word, rest) = (words[0].as_str(), &words[1..]);
        let first = rest.first().map_or("", String::as_str);
        match word {
            "server" => self.server(rest, at)?,
            "least_conn" => self.method(word, None, false, at),
            "ip_hash" => self.method(word, Some(HashKey::Client), false, at),
            "hash" => {
                let is_consistent = match rest.get(1).map(String::as_str) {
                    None => false,
                    Some("consistent") => true,
                    Some(other) => return Err(at.refused(unknown("parameter of hash", &cut(other), ["consistent"]))),
                };
                let key = match first {
                    "" => return Err(at.refused("`hash` needs a key, e.g. `hash $request_uri consistent;`")),
                    "$remote_addr" | "$binary_remote_addr" => HashKey::Client,
                    "$uri" | "$request_uri" | "$document_uri" => HashKey::Path,
                    _ => HashKey::Other,
                };
                self.method("hash", Some(key), is_consistent, at);
            }
            "random" => match (first, rest.get(1).map(String::as_str)) {
                ("", _) => self.method("random", None, false, at),
                ("two", None | Some("least_conn")) => self.method("random two", None, false, at),
                ("two", Some(other)) if other.starts_with("least_time") => {
                    self.method("random two", None, false, at);
                    let text = format!("\"{other}\": {BY_TIME}; taken as `random two`, where connections count");
                    self.notes.add(at, Reading::NotUnderstood, text);
                }
                ("two", Some(other)) => {
                    return Err(at.refused(unknown("parameter of random", &cut(other), ["least_conn"])));
                }
                (other, _) => return Err(at.refused(unknown("parameter of random", &cut(other), ["two"]))),
            },
            "least_time" => {
                self.method("least_conn", None, false, at);
                self.notes.add(at, Reading::NotUnderstood, format!("\"least_time\": {BY_TIME}; taken as least_conn"));
            }
            "zone" => self.has_zone = true,
            "queue" => self.has_queue = true,
            "sticky" | "sticky_cookie_insert" => {
                let text =
                    format!("{}: a client stays at its server; here one is chosen for each request", words.join(" "));
                self.notes.add(at, Reading::LeftOut, text);
            }
            "keepalive" | "keepalive_requests" | "keepalive_time" | "keepalive_timeout" | "ntlm" | "resolver"
            | "resolver_timeout" | "state" => self.notes.pass_over(at, word),
            _ => self.notes.not_known(at, word, arguments::OF_UPSTREAM.map(|(name, ..)| name)),
        }
        Ok(())
    }

    fn method(&mut self, name: &str, key: Option<HashKey>, is_consistent: bool, at: &FileLine) {
        if let Some(before) = &self.rule.said {
            let text = format!("the method was said already, at {before}: the last one counts");
            self.notes.add(at, Reading::Used, text);
        }
        self.rule = Rule { name: name.into(), said: Some(at.clone()), key, is_consistent, is_mixed: true };
    }

    fn server(&mut self, words: &[String], at: &FileLine) -> Result<(), ImportError> {
        let Some(address) = words.first().filter(|address| !address.is_empty()) else {
            return Err(at.refused("`server` needs an address, e.g. `server 10.0.0.1:8080;`"));
        };
        let mut server = PoolServer {
            name: address.clone(),
            address: address.clone(),
            weight: 1,
            at_most: None,
            standing: Standing::Serves,
            at: at.clone(),
        };
        for parameter in &words[1..] {
            let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let number = || {
                let number = value.parse::<u32>();
                number.map_err(|_| at.refused(format!("{key}: `{}` is no whole number of at least 0", cut(value))))
            };
            let has_value = parameter.contains('=');
            match key {
                "weight" if has_value => match number()? {
                    0 => return Err(at.refused("weight: it is at least 1; `down` takes a server out")),
                    weight => server.weight = weight,
                },
                "max_conns" if has_value => server.at_most = Some(number()?).filter(|most| *most > 0),
                "max_fails" if has_value => {
                    let text = match number()? {
                        0 => format!("{parameter}: no failure takes this server out; {LOOKS}"),
                        fails => format!(
                            "{parameter}: so many failures take a server out for a while; {LOOKS} (the nearest of a tier is \
                             `ejection = {{ consecutive = {fails} }}`)"
                        ),
                    };
                    self.notes.add(at, Reading::LeftOut, text);
                }
                "fail_timeout" if has_value => {
                    time(value).map_err(|why| at.refused(format!("fail_timeout: {why}")))?;
                    let text = format!("{parameter}: as long a server is out after failures; {LOOKS}");
                    self.notes.add(at, Reading::LeftOut, text);
                }
                "slow_start" if has_value => {
                    time(value).map_err(|why| at.refused(format!("slow_start: {why}")))?;
                    let text = format!("{parameter}: a server that comes back gets its share bit by bit; here at once");
                    self.notes.add(at, Reading::LeftOut, text);
                }
                "route" | "service" if has_value => self.notes.pass_over(at, key),
                "backup" if !has_value && self.has_backups() => server.standing = Standing::Backup,
                "backup" if !has_value => {
                    let method = &self.rule.name;
                    return Err(at.refused(format!("`{method}` does not support `backup`; nginx refuses it")));
                }
                "down" | "drain" if !has_value => server.standing = Standing::Out,
                "resolve" if !has_value => {
                    let text = "resolve: as many servers as the name has addresses; here one";
                    self.notes.add(at, Reading::LeftOut, text);
                }
                _ => {
                    let known = [
                        "weight=",
                        "max_conns=",
                        "max_fails=",
                        "fail_timeout=",
                        "slow_start=",
                        "route=",
                        "service=",
                        "backup",
                        "down",
                        "drain",
                        "resolve",
                    ];
                    return Err(at.refused(unknown("parameter of server", &cut(parameter), known)));
                }
            }
        }
        self.without_max_fails += usize::from(!words[1..].iter().any(|word| word.starts_with("max_fails=")));
        if is_name(address) && !words[1..].iter().any(|word| word == "resolve") {
            let text = format!("{}: a name is as many servers as it has addresses; here one", cut(address));
            self.notes.add(at, Reading::LeftOut, text);
        }
        self.servers.push(server);
        Ok(())
    }

    /// Whether the method so far takes servers that serve when others do not.
    fn has_backups(&self) -> bool {
        matches!(self.rule.name.as_str(), "round-robin" | "least_conn")
    }
}

/// Whether an address is a name of the DNS.
fn is_name(address: &str) -> bool {
    if address.starts_with("unix:") || address.starts_with('[') {
        return false;
    }
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    host.parse::<std::net::IpAddr>().is_err() && address.parse::<std::net::IpAddr>().is_err()
}

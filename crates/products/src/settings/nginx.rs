//! `nginx.conf`: the upstream, and what is said of passing requests to it at the place that does, and around that.

use std::path::Path;

use sojourn_part::program::Spot;

use super::{Replaced, left_out};
use crate::frame::nginx::{logged, temporary};
use crate::nginx::Directive;
use crate::note::ImportError;
use crate::pool::Pool;

/// What is taken of a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Taken {
    name: String,
    /// The lines of the upstream but its servers.
    upstream: String,
    /// The lines that count around the place, the outermost first, and in it.
    around: [String; 3],
}

impl Taken {
    pub(super) fn of(path: &Path, text: &str, pool: &Pool) -> Result<Taken, ImportError> {
        let tree = crate::nginx::tree(path, text)?;
        let http = tree.iter().find(|directive| directive.words[0] == "http");
        let http = http.and_then(|http| http.block.as_deref()).unwrap_or_default();
        let is_own = |directive: &&Directive| directive.words[..] == ["upstream", pool.name.as_str()];
        let Some(own) = http.iter().find(is_own) else {
            return Err(pool.at.refused("it is in `stream`, and a run asks by HTTP"));
        };
        let place = place(http, &pool.name);
        let lines = own.block.as_deref().unwrap_or_default();
        let upstream =
            lines.iter().filter(|line| line.words[0] != "server").map(|line| written(line, "    ")).collect();
        let around = match place {
            None => [lines_of(http, "  "), String::new(), String::new()],
            Some((server, location)) => [lines_of(http, "  "), lines_of(server, "    "), lines_of(location, "      ")],
        };
        Ok(Taken { name: pool.name.clone(), upstream, around })
    }

    pub(super) fn text(&self, servers: &[Replaced<'_>], spot: &Spot<'_>) -> String {
        let Spot { address, folder, access_log, user } = spot;
        let Taken { name, upstream, around: [http, server, location] } = self;
        let user = user.map_or(String::new(), |user| format!("user {user};\n"));
        let folder = folder.display().to_string();
        let line = |Replaced { behind, at_most }: &Replaced<'_>| {
            let most = at_most.map_or(String::new(), |most| format!(" max_conns={most}"));
            format!("    server {} weight={}{most} max_fails=0;\n", behind.address, behind.weight)
        };
        format!(
            "{user}daemon off;\npid \"{folder}/nginx.pid\";\nworker_processes 1;\nevents {{ worker_connections 8192; }}\n\
             http {{\n{}{}{http}  upstream {name} {{\n{upstream}{}  }}\n  \
             server {{\n    listen {address} backlog=4096;\n{server}    location / {{\n      proxy_pass http://{name};\n\
             {location}      proxy_hide_header x-sojourn-backend;\n      add_header x-sojourn-backend $sojourn_backend \
             always;\n    }}\n  }}\n}}\n",
            temporary(&folder),
            logged(servers.iter().map(|server| server.behind), access_log),
            servers.iter().map(line).collect::<String>(),
        )
    }
}

/// The server and the location that pass requests to an upstream: what they say.
fn place<'a>(http: &'a [Directive], upstream: &str) -> Option<(&'a [Directive], &'a [Directive])> {
    let passes = |directive: &Directive| {
        let target = directive.words.get(1).map_or("", String::as_str);
        let host = target.split_once("://").map_or(target, |(_, rest)| rest);
        directive.words[0] == "proxy_pass" && host.split(['/', '?', ':']).next() == Some(upstream)
    };
    fn location<'a>(block: &'a [Directive], passes: &dyn Fn(&Directive) -> bool) -> Option<&'a [Directive]> {
        let inside = || block.iter().filter_map(|directive| directive.block.as_deref());
        if block.iter().any(passes) { Some(block) } else { inside().find_map(|block| location(block, passes)) }
    }
    let servers = http.iter().filter(|directive| directive.words[0] == "server");
    servers.filter_map(|server| server.block.as_deref()).find_map(|server| Some((server, location(server, &passes)?)))
}

/// Of a block, what is said of passing requests on; not to which server, from which cache, and with what encryption.
fn lines_of(block: &[Directive], indent: &str) -> String {
    let is_ours = |word: &str| {
        let beginnings = ["proxy_cache", "proxy_store", "proxy_ssl", "proxy_bind", "proxy_temp"];
        word == "proxy_pass" || beginnings.iter().any(|start| word.starts_with(start))
    };
    let is_taken = |word: &str| word.starts_with("proxy_") || matches!(word, "set" | "map" | "geo" | "split_clients");
    let one = |line: &Directive| match line.words[0].as_str() {
        word if is_taken(word) && is_ours(word) => {
            left_out(&line.words.join(" ")).replacen("  #", &format!("{indent}#"), 1)
        }
        word if is_taken(word) => written(line, indent),
        _ => String::new(),
    };
    block.iter().map(one).collect()
}

/// A directive as nginx reads it.
fn written(directive: &Directive, indent: &str) -> String {
    let words = directive.words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    match &directive.block {
        None => format!("{indent}{words};\n"),
        Some(block) => {
            let inside: String = block.iter().map(|line| written(line, &format!("{indent}  "))).collect();
            format!("{indent}{words} {{\n{inside}{indent}}}\n")
        }
    }
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:$=,@%*~^|+".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\"")),
    }
}

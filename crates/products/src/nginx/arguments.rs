//! How many arguments a directive takes, as nginx itself counts them (`NGX_CONF_TAKE1` and its kin in the tables of commands of
//! `src/core/nginx.c`, `src/http/ngx_http_upstream.c` and `src/http/modules`). One more is often the next line, where a `;` is
//! missing: `least_conn server 10.0.0.1;` loses a server.

use crate::note::{FileLine, ImportError, cut};

/// Any number from some on.
const MANY: usize = usize::MAX;

/// What an upstream has, and how many arguments: at least and at most.
pub(super) const OF_UPSTREAM: [(&str, usize, usize); 18] = [
    ("hash", 1, 2),
    ("ip_hash", 0, 0),
    ("keepalive", 1, 1),
    ("keepalive_requests", 1, 1),
    ("keepalive_time", 1, 1),
    ("keepalive_timeout", 1, 1),
    ("least_conn", 0, 0),
    ("least_time", 1, MANY),
    ("ntlm", 0, 0),
    ("queue", 1, MANY),
    ("random", 0, 2),
    ("resolver", 1, MANY),
    ("resolver_timeout", 1, 1),
    ("server", 1, MANY),
    ("state", 1, 1),
    ("sticky", 0, MANY),
    ("sticky_cookie_insert", 0, MANY),
    ("zone", 1, 2),
];

/// What matters of the rest.
const ELSEWHERE: [(&str, usize, usize); 9] = [
    ("fastcgi_read_timeout", 1, 1),
    ("grpc_read_timeout", 1, 1),
    ("proxy_connect_timeout", 1, 1),
    ("proxy_pass", 1, 1),
    ("proxy_read_timeout", 1, 1),
    ("proxy_send_timeout", 1, 1),
    ("proxy_timeout", 1, 1),
    ("uwsgi_read_timeout", 1, 1),
    ("worker_processes", 1, 1),
];

/// Refuses a directive with a number of arguments that nginx does not take.
pub(super) fn check(words: &[String], is_upstream: bool, at: &FileLine) -> Result<(), ImportError> {
    let known = if is_upstream { &OF_UPSTREAM[..] } else { &ELSEWHERE };
    let Some((name, least, most)) = known.iter().find(|(name, ..)| *name == words[0]) else { return Ok(()) };
    match words.len() - 1 {
        // Each directive says better what it needs.
        number if number < *least => Ok(()),
        number if number > *most => {
            let extra = cut(&words[1 + most]);
            let more = match most {
                0 => "nothing".into(),
                1 => "one argument".into(),
                most => format!("{most} arguments"),
            };
            Err(at
                .refused(format!("unexpected `{extra}`: `{name}` takes {more}; probably a \";\" is missing before it")))
        }
        _ => Ok(()),
    }
}

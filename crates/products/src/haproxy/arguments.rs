//! How many arguments a directive takes at most, where HAProxy itself counts them (`alertif_too_many_args` in `src/cfgparse*.c`
//! and `src/proxy.c` of 2.6). One more is often a unit after a space: `timeout server 30 s` is no 30 ms.

use crate::note::{FileLine, ImportError, cut};

/// Options that stand alone (`cfg_opts` and `cfg_opts2` in `src/proxy.c`).
const ALONE: [&str; 17] = [
    "abortonclose",
    "allbackups",
    "checkcache",
    "clitcpka",
    "contstats",
    "dontlognull",
    "http-buffer-request",
    "http-no-delay",
    "http-pretend-keepalive",
    "independent-streams",
    "log-health-checks",
    "log-separate-errors",
    "logasap",
    "nolinger",
    "persist",
    "prefer-last-server",
    "socket-stats",
];

/// Refuses what `words` of a section that takes requests or has servers say too much.
pub(super) fn of_proxy(words: &[String], at: &FileLine) -> Result<(), ImportError> {
    let is = |place: usize, known: &[&str]| words.get(place).is_some_and(|word| known.contains(&word.as_str()));
    let most = match words[0].as_str() {
        "timeout" => 2,
        "backlog" | "default_backend" | "dispatch" | "fullconn" | "http-reuse" | "maxconn" | "mode" | "retries" => 1,
        "disabled" | "enabled" => 0,
        "option" if is(1, &ALONE) => 1,
        "use_backend" | "use-server" if words.len() > 2 && !is(2, &["if", "unless"]) => 1,
        _ => return Ok(()),
    };
    refuse(words, most, at)
}

/// The same of `global`.
pub(super) fn of_global(words: &[String], at: &FileLine) -> Result<(), ImportError> {
    match words[0].as_str() {
        "maxconn" | "maxconnrate" | "maxsessrate" | "maxsslconn" | "maxsslrate" | "maxpipes" | "nbthread" => {
            refuse(words, 1, at)
        }
        "global" | "daemon" => refuse(words, 0, at),
        _ => Ok(()),
    }
}

/// The same of the line that begins a section with servers or requests.
pub(super) fn of_name(words: &[String], at: &FileLine) -> Result<(), ImportError> {
    if words.get(2).is_some_and(|word| word != "from") { refuse(words, 1, at) } else { Ok(()) }
}

fn refuse(words: &[String], most: usize, at: &FileLine) -> Result<(), ImportError> {
    let Some(extra) = words.get(1 + most) else { return Ok(()) };
    let before = &words[most];
    let is_unit =
        before.chars().all(|c| c.is_ascii_digit()) && matches!(extra.as_str(), "us" | "ms" | "s" | "m" | "h" | "d");
    let right = if is_unit { format!(": write `{before}{extra}`") } else { String::new() };
    Err(at.refused(format!("unexpected `{}` after `{}`{right}", cut(extra), cut(&words[..=most].join(" ")))))
}

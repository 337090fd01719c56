//! The section `global`: variables, and the few words that matter to who serves a request (manual, section 3).

use crate::note::{FileLine, ImportError, Notes, Reading};

use super::amount::number;
use super::arguments;
use super::server::CHECKS;
use super::words::Variables;

/// Words of which the first letters say that they concern the process and not the requests.
const OF_THE_PROCESS: [&str; 55] = [
    "51degrees",
    "anonkey",
    "busy-polling",
    "ca-base",
    "chroot",
    "close-spread-time",
    "cluster-secret",
    "cpu-",
    "crt-base",
    "daemon",
    "default-path",
    "description",
    "dns-",
    "expose-",
    "external-check",
    "fd-hard-limit",
    "gid",
    "grace",
    "group",
    "h1-",
    "h2-",
    "hard-stop-after",
    "harden",
    "http-client",
    "httpclient.",
    "insecure-",
    "issuers-chain-path",
    "key-base",
    "limited-quic",
    "localpeer",
    "log",
    "lua-",
    "master-worker",
    "mworker-",
    "nbthread",
    "node",
    "no-",
    "noepoll",
    "pidfile",
    "pp2-",
    "profiling",
    "quiet",
    "server-state-",
    "set-dumpable",
    "set-var",
    "ssl-",
    "stats",
    "strict-limits",
    "thread-hard-limit",
    "tune.",
    "uid",
    "ulimit-n",
    "unix-bind",
    "user",
    "zero-warning",
];

/// Obeys a line of `global`.
pub(super) fn line(
    words: &[String],
    at: &FileLine,
    variables: &mut Variables<'_>,
    notes: &mut Notes,
) -> Result<(), ImportError> {
    let (word, rest) = (words[0].as_str(), &words[1..]);
    arguments::of_global(words, at)?;
    match word {
        "setenv" | "presetenv" => {
            let [name, value, ..] = rest else { return Err(at.refused(format!("`{word}` needs a name and a value"))) };
            if word == "setenv" || variables.value(name).is_none() {
                variables.set(name, Some(value));
            }
        }
        "unsetenv" => rest.iter().for_each(|name| variables.set(name, None)),
        "resetenv" => variables.keep_only(rest),
        "maxconn" => {
            let most = rest.first().map_or("", String::as_str);
            number(most, "number of connections", (0, u32::MAX)).map_err(|why| at.refused(why))?;
            let text = format!("maxconn {most}: HAProxy takes so many connections at once; here as many as come");
            notes.add(at, Reading::LeftOut, text);
        }
        "maxconnrate" | "maxsessrate" | "maxsslconn" | "maxsslrate" | "maxpipes" | "maxcomprate"
        | "maxcompcpuusage" | "maxzlibmem" => {
            notes.add(at, Reading::LeftOut, format!("{word}: a limit of the process, which is not here"))
        }
        "spread-checks" | "max-spread-checks" => {
            notes.add(at, Reading::LeftOut, format!("{}: {CHECKS}", words.join(" ")))
        }
        "nbproc" | "thread-groups" if rest.first().is_some_and(|number| number != "1") => {
            let text = format!("{}: each of them chooses for itself; here one chooses for all", words.join(" "));
            notes.add(at, Reading::LeftOut, text);
        }
        "nbthread" if rest.first().is_some_and(|number| number != "1") => {
            let text = format!(
                "{}: threads that choose at one instant may see the same counts; here one chooses at a time",
                words.join(" ")
            );
            notes.add(at, Reading::LeftOut, text);
        }
        "nbproc" | "thread-groups" => notes.pass_over(at, word),
        _ if OF_THE_PROCESS.iter().any(|start| word.starts_with(start)) => notes.pass_over(at, word),
        _ => notes.not_known(
            at,
            word,
            OF_THE_PROCESS.into_iter().chain(["maxconn", "nbproc", "setenv", "thread-groups"]),
        ),
    }
    Ok(())
}

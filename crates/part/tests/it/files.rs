//! Files of the parts that forward packets and report: what they may say, what is written of it, and mistakes in them.

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;

use clap::{Args, Command};
use sojourn_part::settings::dns::DnsSettings;
use sojourn_part::settings::loadd::{ListenSettings, LoaddSettings};
use sojourn_part::settings::switch::{SwitchServer, SwitchServerSettings, SwitchSettings};
use sojourn_part::settings::{Given, Settings, to_toml};

use crate::mutated::are_accepted_or_refused;

/// All that a switch's file may say.
const SWITCH: &str = r#"
service = "10.0.1.100:80"
mode = "tunnel"
backend = [
    "a=10.0.1.11*2",
    "10.0.1.12",
]
drain = ["a"]
control = "switch.sock"
idle = "5 min"
opening = "3 s"
closing = "4 s"
connections = 1000
overflow = ["c2=10.0.2.1"]
overflow_limit = 5
accept = ["10.0.2.100=10.0.2.1"]
key_file = "key"
record = "decisions.jsonl"
explain = true
keep = true

[record_limits]
max_size = "100 MB"
max_age = "24 h"
keep = 7

[decider]
policy = "remaining-capacity"
seed = 7
limit = "20,15"
fall = 2
rise = 3

[health]
probe = "connect"
every = "500 ms"
timeout = "2 s"

[reports]
listen = "10.0.1.1:7400"
estimator = "response-time"

[upstream]
to = ["10.0.0.1:7400"]
name = "paris"
every = "100 ms"
heartbeat = "1 s"
client_rates = "2 s"

[upstream.echoes]
per_second = 5
refresh = "1 min"
port = 8080
"#;

const SERVER: &str = r#"
service = "10.0.1.100:80"
mode = "mac"
front = "10.0.1.1"
key_file = "key"
also = ["10.0.2.100"]
"#;

const LOADD: &str = r#"
name = "a"
to = ["10.0.0.1:7400"]
key_file = "key"
log = "access.log"
workers = "nginx"
port = 80
ask = "http://127.0.0.1:8080/load"
orca = "127.0.0.1:0"
every = "100 ms"
heartbeat = "1 s"
client_rates = "2 s"
watch = "50 ms"

[echoes]
per_second = 5
refresh = "30 s"
port = 8080
"#;

const LISTEN: &str = r#"
on = "127.0.0.1:0"
key_file = "key"
names = ["paris", "rome"]
probe = ["10.8.0.1", "::1"]
"#;

/// Reads `text` as a file, and what is written of it as another one; they say the same.
fn whole<T: Settings + PartialEq + std::fmt::Debug>(folder: &Path, text: &str) -> T {
    let file = folder.join("whole.toml");
    let read = |text: &str| {
        fs::write(&file, text).expect("a file");
        Given::<T>::from_file(&file).read()
    };
    let settings = read(text).expect("it is right");
    assert_eq!(read(&to_toml(&settings)).as_ref(), Ok(&settings));
    settings
}

#[test]
fn a_file_says_all_and_what_is_written_says_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let switch: SwitchSettings = whole(folder.path(), SWITCH);
    assert_eq!(switch.key_file, Some(folder.path().join("key")), "paths start at the file");
    let named = switch.clone().whole();
    let second = SwitchServer::new("server-2", [10, 0, 1, 12].into());
    assert_eq!((named.backends[0].weight, &named.backends[1]), (2.0, &second));
    let limits = [switch.decider.limit, switch.overflow_limit].map(|limit| limit.expect("it is there").to_string());
    assert_eq!(limits, ["20,15", "5,3"], "a quarter below, where nothing is said");
    assert_eq!(whole::<SwitchServerSettings>(folder.path(), SERVER).also, ["10.0.2.100".parse::<Ipv4Addr>().unwrap()]);
    assert_eq!(whole::<LoaddSettings>(folder.path(), LOADD).echoes.port, 8080);
    assert_eq!(whole::<ListenSettings>(folder.path(), LISTEN).probe.len(), 2);
}

/// The flags of a part, in the order in which its help has them.
fn flags<T: Settings>() -> String {
    let command = Given::<T>::augment_args(Command::new("part"));
    let shown = command.get_arguments().filter(|argument| !argument.is_hide_set());
    shown.filter_map(|argument| argument.get_long()).collect::<Vec<_>>().join(" ")
}

/// A flag has a name of its own, which is not the path of its key.
#[test]
fn flags_have_the_names_that_guides_say() {
    let reports = "reports estimator capacity-at report-to name report-every report-heartbeat report-client-rates";
    let echoes = "echoes echo-refresh echo-port";
    assert_eq!(
        flags::<SwitchSettings>(),
        format!(
            "config check service mode backend drain control idle connections overflow redirector overflow-limit accept \
             key classes record record-max-size record-max-age record-keep explain keep policy seed poll limit fall rise \
             heed-reports probe {reports} {echoes}"
        )
    );
    assert_eq!(flags::<SwitchServerSettings>(), "config check service mode front key also");
    assert_eq!(
        flags::<LoaddSettings>(),
        format!("config check name to key log workers port ask orca every heartbeat client-rates watch {echoes}")
    );
    assert_eq!(flags::<ListenSettings>(), "config check on key names probe");
    assert_eq!(
        flags::<DnsSettings>(),
        "config check listen threads seed control metrics metrics-allow-from why-allow-from clients state"
    );
}

#[test]
fn a_file_with_mistakes_is_accepted_or_refused_in_a_line() {
    let folder = tempfile::tempdir().expect("a folder");
    are_accepted_or_refused::<SwitchSettings>(folder.path(), SWITCH, |_| Ok(()));
    are_accepted_or_refused::<SwitchServerSettings>(folder.path(), SERVER, |_| Ok(()));
    are_accepted_or_refused::<LoaddSettings>(folder.path(), LOADD, |_| Ok(()));
    are_accepted_or_refused::<ListenSettings>(folder.path(), LISTEN, |_| Ok(()));
}

//! The files of a gateway and of a redirector: what they may say, what is written of it, and mistakes in them.

use std::fs;

use sojourn_part::settings::gateway::{Face, Forward, GatewaySettings, InFront, Redirect, RedirectorSettings};
use sojourn_part::settings::{Given, to_toml};
use sojourn_stats::Span;

use crate::mutated::are_accepted_or_refused;

/// All that a file may say.
const WHOLE: &str = r#"
listen = "127.0.0.1:8000"
backend = ["a=127.0.0.1:8081*2", "127.0.0.1:8082"]
threads = 2
shared = true
client_header = "x-client"
cookie = "SITE"
classes = ["static", "dynamic"]
record = "decisions.jsonl"
explain = true
key_file = "reports.key"
grace = "5 s"

[decider]
policy = "least-connections"
seed = 7
poll = "100 ms"
limit = "20,15"
fall = 2
rise = 4
heed_reports = "always"

[limits]
keep_alive = "10 s"
head_timeout = "5 s"
connections = 100

[health]
probe = "/up"
every = "500 ms"
timeout = "200 ms"

[timeouts]
connect = "1 s"
reply = "10 s"
idle = "20 s"

[reports]
listen = "127.0.0.1:7400"
estimator = "response-time"

[upstream]
to = ["127.0.0.1:7401"]
name = "paris"
every = "500 ms"
heartbeat = "4 s"
client_rates = "64 s"

[upstream.echoes]
per_second = 5
refresh = "30 s"
port = 8080

[face]
retries = 2
orca_headers = true
orca = ["a=127.0.0.1:7500"]
orca_every = "250 ms"
"#;

/// What a file of this text says, with the file's name taken out of messages.
fn read<F: Face>(text: &str) -> Result<InFront<F>, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("gateway.toml");
    fs::write(&file, text).expect("it is ours");
    Given::from_file(&file).read().map_err(|error| error.replace(&file.display().to_string(), "FILE"))
}

#[test]
fn a_file_says_all() {
    let whole: GatewaySettings = read(WHOLE).expect("it is right");
    assert_eq!((whole.timeouts.reply, whole.limits.connections), (Span(10_000_000_000), Some(100)));
    assert!(whole.record.as_ref().is_some_and(|record| record.is_absolute()), "paths are seen from the file's folder");
    assert_eq!(read(&to_toml(&whole)).as_ref(), Ok(&whole), "what is written is read again");
    let all = whole.clone().whole();
    let names: Vec<_> = all.backends.iter().map(|backend| (backend.name.as_str(), backend.weight)).collect();
    assert_eq!(names, [("a", 2.0), ("server-2", 1.0)]);
    let usual: GatewaySettings = read("backend = [\"127.0.0.1:1\"]").expect("it is right");
    let same: GatewaySettings = read(&to_toml(&usual)).expect("it is right");
    assert_eq!((same.policy(), &same.face), ("least-connections", &Forward::default()));
}

#[test]
fn a_redirector_says_where_clients_ask() {
    let text =
        "backend = [\"a=127.0.0.1:1\", \"b=127.0.0.1:2\"]\n[face]\nstatus = 302\npublic = [\"b=https://b.test\"]";
    let settings: RedirectorSettings = read(text).expect("it is right");
    assert_eq!((settings.policy(), settings.face.status), ("round-robin", 302));
    let all = settings.whole().backends;
    assert_eq!((all[0].public.as_deref(), all[1].public.as_deref()), (None, Some("https://b.test")));
}

#[test]
fn a_mistake_has_a_line() {
    let wrong = |text: &str| read::<Forward>(text).expect_err(text);
    let backend = "backend = [\"a=127.0.0.1:1\"]\n";
    for (text, expected) in [
        ("", "FILE: backend: at least one is needed; write e.g. `a=127.0.0.1:8080`"),
        ("retries = 2\n", "FILE:1: unknown key `retries`; "),
        ("[face]\nretires = 2\n", "FILE:2: unknown key `retires`; did you mean `retries`?"),
        ("[limit]\n", "FILE:1: unknown key `limit`; did you mean `limits`?"),
        ("backend = [\n\"a=127.0.0.1:1\",\n\"a=127.0.0.1:2\"]\n", "FILE:3: backend[1]: backend a is named twice"),
        ("backend = [\"127.0.0.1\"]\n", "FILE:1: "),
    ] {
        assert!(wrong(text).starts_with(expected), "{}", wrong(text));
    }
    for (text, expected) in [
        ("threads = 0\n", "FILE:2: threads: it is a whole number of at least 1"),
        ("threads = 2\n[decider]\nlimit = 5\n", "FILE:4: decider.limit: with 2 deciders, who count apart"),
        ("[decider]\nfall = 0\n", "FILE:3: decider.fall: it is"),
        ("[timeouts]\nreply = \"0 s\"\n", "FILE:3: timeouts.reply: it takes some time"),
        ("[limits]\nhead_timeout = \"0 s\"\n", "FILE:3: limits.head_timeout: a head takes some time"),
        ("[health]\nprobe = \"up\"\n", "FILE:3: health.probe: "),
        ("cookie = \"a b\"\n", "FILE:2: cookie: "),
        ("client_header = \"a b\"\n", "FILE:2: client_header: "),
        ("[reports]\nlisten = \"127.0.0.1:1\"\n", "FILE:3: reports.listen: reports are signed"),
        ("[face]\norca = [\"b=127.0.0.1:1\"]\n", "FILE:3: face.orca[0]: b=127.0.0.1:1: there is no such backend"),
        ("[face]\norca_every = \"1 s\"\n", "FILE:3: face.orca_every: there is no stream"),
    ] {
        let why = wrong(&format!("{backend}{text}"));
        assert!(why.starts_with(expected), "{why}");
    }
    let wrong = |text: &str| read::<Redirect>(text).expect_err(text);
    for (text, expected) in [
        ("[face]\nstatus = 301\n", "FILE:3: face.status: 301: a redirector answers 307 or 302"),
        ("[face]\npublic = [\"a=ftp://a\"]\n", "FILE:1: backend[0]: backend a: public URL"),
        ("[face]\npublic = [\"https://a.test\"]\n", "FILE:3: "),
        ("[face]\nretries = 1\n", "FILE:3: unknown key `retries`"),
    ] {
        let why = wrong(&format!("{backend}{text}"));
        assert!(why.starts_with(expected), "{why}");
    }
}

#[test]
fn a_file_with_mistakes_is_accepted_or_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    are_accepted_or_refused::<GatewaySettings>(folder.path(), WHOLE, |_| Ok(()));
    let (of_both, _) = WHOLE.split_once("[face]").expect("a face");
    let redirector = format!("{of_both}[face]\nstatus = 302\npublic = [\"a=https://a.test\"]\n");
    are_accepted_or_refused::<RedirectorSettings>(folder.path(), &redirector, |_| Ok(()));
}

//! The file of a DNS: what it may say, what is written of it, and mistakes in it.

use std::fs;

use sojourn_dns::check;
use sojourn_part::settings::dns::{DnsSettings, NoneUp, NoneWithRoom, TcpCheck};
use sojourn_part::settings::{Given, to_toml};
use sojourn_stats::Span;
use tempfile::TempDir;

use crate::mutated::are_accepted_or_refused;

/// All that a file may say, but for a table of places.
const WHOLE: &str = r#"
listen = ["127.0.0.1:0", "[::1]:0"]
threads = 2
seed = 7
control = "dns.sock"
metrics = "127.0.0.1:0"
metrics_allow_from = "10.0.0.0/8,::1"
why_allow_from = ["127.0.0.1"]
clients = 5000
state = "dns.state"

[reports]
listen = "127.0.0.1:0"
key_file = "key"
estimator = "response-time"

[limits]
udp_payload = 1232
replies_per_second = 100
slip = 3
amplification = 10
prefix_v4 = 24
prefix_v6 = 48
tcp_connections = 50
tcp_per_prefix = 5
tcp_idle = "3 s"

[[region]]
name = "west"
addresses = ["198.0.0.0/7", "fd01::/16"]
countries = ["US"]
continents = ["NA"]

[[key]]
name = "transfer.Example.org."
secret_file = "transfer.key"
algorithm = "hmac-sha512"

[[zone]]
name = "geo.test"
file = "geo.zone"
transfer = ["transfer.example.org"]
notify = ["127.0.0.1:53"]

[[zone.service]]
name = "www"
policy = "nearest-with-room"
ttl = "adaptive(60 s)"
answers = 2
none_up = "servfail"
none_with_room = "all"
client_rates = "64 s"
probes = { at_most = 2, refresh = "90 s" }
fall = 2
rise = 4
record = "decisions.jsonl"
record_limits = { max_size = "1 MB", keep = 3 }
explain = true

[[zone.service.site]]
name = "c1"
address = "194.0.0.10"
weight = 2.5
region = "west"
location = [48.1, 11.6]
check = "tcp:80"
reports = true
drain = true

[[zone.service.site]]
name = "c2"
address = ["198.0.0.10", "fd01::10"]

[[zone]]
name = "plain.test"
ns = ["ns.elsewhere.test"]
"#;

/// A folder with what the file names.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let zone = "@ 60 IN SOA ns.example.net. h.example.net. 1 2 3 4 5\n@ IN NS ns.example.net.\n";
    for (name, text) in [("key", "a secret of tests"), ("transfer.key", "MDEyMzQ1Njc4OWFiY2RlZg=="), ("geo.zone", zone)]
    {
        fs::write(folder.path().join(name), text).expect("a file");
    }
    folder
}

fn read(folder: &TempDir, text: &str) -> Result<DnsSettings, String> {
    let file = folder.path().join("dns.toml");
    fs::write(&file, text).expect("a file");
    Given::from_file(&file).read_and(check)
}

#[test]
fn a_file_says_all_and_what_is_written_says_the_same() {
    let folder = folder();
    let settings = read(&folder, WHOLE).expect("it is right");
    let [zone, _] = settings.zones.as_slice() else { panic!("there are two zones") };
    let [service] = zone.services.as_slice() else { panic!("there is one service") };
    assert_eq!((settings.seed, settings.limits.tcp_idle), (7, Span(3_000_000_000)));
    assert_eq!(settings.keys[0].name, "transfer.example.org");
    assert_eq!(zone.whole(service), Ok("www.geo.test".into()));
    assert_eq!((service.none_up, service.none_with_room), (NoneUp::ServFail, NoneWithRoom::All));
    assert_eq!((service.fall, service.rise), (2, 4));
    assert_eq!(service.sites[0].check, Some(TcpCheck(80)));
    assert_eq!(service.sites[1].addresses.len(), 2);
    assert!(service.record.as_deref().is_some_and(|path| path.starts_with(folder.path())), "paths start at the file");
    assert_eq!(read(&folder, &to_toml(&settings)), Ok(settings));
}

#[test]
fn a_file_with_mistakes_is_accepted_or_refused_in_a_line() {
    are_accepted_or_refused::<DnsSettings>(folder().path(), WHOLE, check);
}

/// An alias that leads back to itself has no answer: over one zone or two, by a wildcard too.
#[test]
fn aliases_in_a_circle_are_refused_with_their_line() {
    let folder = folder();
    let head = "@ 60 IN SOA ns.example.net. h.example.net. 1 2 3 4 5\n@ IN NS ns.example.net.\n";
    let zones = "listen = [\"127.0.0.1:0\"]\n[[zone]]\nname = \"a.test\"\nfile = \"a.zone\"\n\
                 [[zone]]\nname = \"b.test\"\nfile = \"b.zone\"\n";
    let check = |a: &str, b: &str| {
        fs::write(folder.path().join("a.zone"), format!("{head}{a}")).expect("a file");
        fs::write(folder.path().join("b.zone"), format!("{head}{b}")).expect("a file");
        read(&folder, zones).map(drop)
    };
    for (a, b, place, circle) in [
        ("x 60 CNAME x", "", "a.zone: line 3", "`x.a.test.` -> `x.a.test.`"),
        (
            "www 60 CNAME x\nx 60 CNAME y\ny 60 CNAME x",
            "",
            "a.zone: line 4",
            "`y.a.test.` -> `x.a.test.` -> `y.a.test.`",
        ),
        ("* 60 CNAME other", "", "a.zone: line 3", "`other.a.test.` -> `other.a.test.`"),
        ("p 60 CNAME q.b.test.", "q 60 CNAME P.a.test.", "a.zone: line 3", "`q.b.test.` -> `p.a.test.` -> `q.b.test.`"),
    ] {
        let error = check(a, b).expect_err(circle);
        let is_placed = error.contains("dns.toml:4") && error.contains(place);
        assert!(is_placed && error.contains(&format!("aliases in a circle, {circle}; let")), "{error}");
    }
    // Long, crossed, into nothing and out of the zones they may be; what is delegated others know.
    let chain: String = (0..500).map(|n| format!("c{n} 60 CNAME c{}\n", n + 1)).collect();
    for (a, b) in [
        (&chain[..], "x 60 CNAME c0.a.test.\ny 60 CNAME c0.a.test.\n"),
        ("* 60 CNAME there\nthere 60 A 192.0.2.1\n", "x 60 CNAME elsewhere.example.\n"),
        ("sub 60 NS ns.example.net.\nx 60 CNAME x.sub\n", "x 60 CNAME x.a.test.\n"),
    ] {
        assert_eq!(check(a, b), Ok(()), "{a}");
    }
}

#[test]
fn who_may_ask_is_said_in_one_way() {
    let folder = folder();
    let zone = "listen = [\"127.0.0.1:0\"]\n[[zone]]\nname = \"a.test\"\nns = [\"ns.example.net\"]\n";
    let why =
        |line: &str| read(&folder, &format!("{line}\n{zone}")).map(|settings| settings.why_allow_from.to_string());
    for (line, said) in [
        ("", "127.0.0.0/8,::1/128"),
        ("why_allow_from = \"all\"", "all"),
        ("why_allow_from = []", "none"),
        ("why_allow_from = [\"10.0.0.0/8\", \"192.0.2.1\"]", "10.0.0.0/8,192.0.2.1/32"),
        ("why_allow_from = \"10.0.0.0/8, fd00::/8\"", "10.0.0.0/8,fd00::/8"),
    ] {
        assert_eq!(why(line).as_deref(), Ok(said), "{line}");
    }
    for (line, wrong) in [
        ("why_allow_from = \"10.0.0.1/8\"", "`10.0.0.1/8` is no range of addresses"),
        ("why_allow_from = [\"all\"]", "`all` is no range of addresses"),
        ("metrics_allow_from = \"any\"", "`any` is no range of addresses, as 194.0.0.0/7; or `all`, or `none`"),
        ("metrics_allow_from = 7", "`all`, `none`, or ranges of addresses"),
    ] {
        let error = why(line).expect_err(line);
        assert!(error.contains("dns.toml:1: ") && error.contains(wrong), "{error}");
    }
}

#[test]
fn impossible_limits_of_a_record_are_refused() {
    let folder = folder();
    let zone = "listen = [\"127.0.0.1:0\"]\n[[zone]]\nname = \"a.test\"\nns = [\"ns.example.net\"]\n";
    let site = "[[zone.service.site]]\nname = \"c1\"\naddress = \"10.0.0.1\"\n";
    let with = |lines: &str| {
        let service = "[[zone.service]]\nname = \"www\"\npolicy = \"random\"\nttl = \"60 s\"\n";
        read(&folder, &format!("{zone}{service}{lines}\n{site}")).map(drop)
    };
    for (lines, wrong) in [
        (
            "record_limits = { keep = 3 }",
            ":9: zone[0].service[0].record_limits.keep: there is no record; name its file",
        ),
        (
            "record = \"r\"\nrecord_limits = { max_size = \"1 kB\" }",
            ":10: zone[0].service[0].record_limits.max_size: 1 kB: a file takes at least 100 kB",
        ),
        (
            "record = \"r\"\nrecord_limits = { max_age = \"1 ms\" }",
            ":10: zone[0].service[0].record_limits.max_age: 1 ms: a file lasts at least 1 s",
        ),
        (
            "record = \"r\"\nrecord_limits = { keep = 0 }",
            ":10: zone[0].service[0].record_limits.keep: 0: the file that is written is kept",
        ),
        ("record = \"r\"\nrecord_limits = { max_sise = 3 }", ":10: "),
    ] {
        let error = with(lines).expect_err(lines);
        assert!(error.contains(wrong), "{error}");
    }
    assert_eq!(with("record = \"r\"\nrecord_limits = { max_size = \"100 kB\", max_age = \"24 h\", keep = 1 }"), Ok(()));
}

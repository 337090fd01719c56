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

//! Where clients are by a table in MaxMind's format, and what is known of clients over a restart.

use std::collections::BTreeMap;
use std::fs;
use std::io::BufReader;

use sojourn_bed::Events;
use sojourn_dispatch::record;
use sojourn_dns::{Asker, Dns, ServiceId, check};
use sojourn_part::now;
use sojourn_part::settings::Given;
use sojourn_part::settings::dns::DnsSettings;

use crate::decider::{Reporter, Running, file, reporting, service, start};
use crate::support::until;

/// A row of a table: a range of IPv4 addresses, country, continent, degrees north and east.
type Row<'a> = (&'a str, u8, &'a str, &'a str, Option<(f64, f64)>);

/// Values of the format (https://maxmind.github.io/MaxMind-DB/, version 2.0).
enum Data<'a> {
    Text(&'a str),
    Double(f64),
    /// Type and value of an unsigned number.
    Number(u8, u64),
    Map(Vec<(&'a str, Data<'a>)>),
    Array,
}

fn control(out: &mut Vec<u8>, kind: u8, size: usize) {
    assert!(size < 29, "short enough for its one byte");
    match kind {
        ..8 => out.push(kind << 5 | size as u8),
        8.. => out.extend([size as u8, kind - 7]),
    }
}

fn encode(out: &mut Vec<u8>, data: &Data<'_>) {
    match data {
        Data::Text(text) => {
            control(out, 2, text.len());
            out.extend(text.bytes());
        }
        Data::Double(value) => {
            control(out, 3, 8);
            out.extend(value.to_be_bytes());
        }
        Data::Number(kind, value) => {
            let bytes = value.to_be_bytes();
            let bytes = &bytes[value.leading_zeros() as usize / 8..];
            control(out, *kind, bytes.len());
            out.extend(bytes);
        }
        Data::Map(entries) => {
            control(out, 7, entries.len());
            for (key, value) in entries {
                encode(out, &Data::Text(key));
                encode(out, value);
            }
        }
        Data::Array => control(out, 11, 0),
    }
}

/// A table with these rows.
fn table(rows: &[Row<'_>]) -> Vec<u8> {
    #[derive(Clone, Copy)]
    enum Next {
        Nothing,
        Node(usize),
        Row(usize),
    }
    let (mut nodes, mut data, mut offsets) = (vec![[Next::Nothing; 2]], Vec::new(), Vec::new());
    for (number, (address, length, country, continent, place)) in rows.iter().enumerate() {
        offsets.push(data.len());
        let text = |key: &'static str, value| Data::Map(vec![(key, Data::Text(value))]);
        let mut entries = vec![("continent", text("code", continent)), ("country", text("iso_code", country))];
        if let Some((latitude, longitude)) = place {
            let place = [("latitude", Data::Double(*latitude)), ("longitude", Data::Double(*longitude))];
            entries.push(("location", Data::Map(place.into())));
        }
        encode(&mut data, &Data::Map(entries));
        let bits = address.parse::<std::net::Ipv4Addr>().expect("an address").to_bits();
        let mut node = 0;
        for depth in 0..*length {
            let side = (bits >> (31 - depth) & 1) as usize;
            if depth + 1 == *length {
                nodes[node][side] = Next::Row(number);
                break;
            }
            node = match nodes[node][side] {
                Next::Node(next) => next,
                _ => {
                    nodes.push([Next::Nothing; 2]);
                    let next = nodes.len() - 1;
                    nodes[node][side] = Next::Node(next);
                    next
                }
            };
        }
    }
    let mut out = Vec::new();
    for side in nodes.iter().flatten() {
        let value = match side {
            Next::Nothing => nodes.len(),
            Next::Node(node) => *node,
            Next::Row(row) => nodes.len() + 16 + offsets[*row],
        };
        out.extend(&(value as u32).to_be_bytes()[1..]);
    }
    out.extend([0; 16]);
    out.extend(data);
    out.extend(b"\xab\xcd\xefMaxMind.com");
    let metadata = vec![
        ("binary_format_major_version", Data::Number(5, 2)),
        ("binary_format_minor_version", Data::Number(5, 0)),
        ("build_epoch", Data::Number(9, 1_700_000_000)),
        ("database_type", Data::Text("Test-City")),
        ("description", Data::Map(Vec::new())),
        ("ip_version", Data::Number(5, 4)),
        ("languages", Data::Array),
        ("node_count", Data::Number(6, nodes.len() as u64)),
        ("record_size", Data::Number(5, 24)),
    ];
    encode(&mut out, &Data::Map(metadata));
    out
}

const MUNICH: (f64, f64) = (48.14, 11.58);
const ANKARA: (f64, f64) = (39.93, 32.86);
const BOSTON: (f64, f64) = (42.36, -71.06);
const TOKYO: (f64, f64) = (35.68, 139.69);

fn rows() -> Vec<Row<'static>> {
    vec![
        ("11.0.0.0", 8, "DE", "EU", Some(MUNICH)),
        ("12.0.0.0", 8, "TR", "AS", Some(ANKARA)),
        ("13.0.0.0", 8, "US", "NA", Some(BOSTON)),
        ("14.1.0.0", 16, "JP", "AS", Some(TOKYO)),
        ("15.0.0.0", 8, "FR", "EU", None),
    ]
}

/// A DNS with this table.
fn placed(head: &str, sites: &[(&str, &str)]) -> Running {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("places.mmdb");
    fs::write(&path, table(&rows())).expect("a file");
    let head = format!("geo = {{ file = \"{}\" }}\n{head}", path.display());
    start(&file(&head, &service("geographic", "", sites)))
}

/// Countries and continents are regions; a country is meant before its continent.
#[test]
fn regions_are_countries_and_continents() {
    let regions = "[[region]]\nname = \"east\"\ncontinents = [\"AS\"]\n[[region]]\nname = \"europe\"\ncountries = [\"TR\"]\n\
                   continents = [\"EU\"]\n";
    let sites = [("c1", "region = \"europe\""), ("c2", "region = \"east\""), ("c3", "")];
    let running = placed(regions, &sites);
    for (client, site) in
        [("11.1.2.3", "10.0.1.1"), ("15.1.1.1", "10.0.1.1"), ("12.1.1.1", "10.0.1.1"), ("14.1.1.1", "10.0.2.1")]
    {
        assert_eq!(running.ask(client), [site], "{client}");
    }
    let why = running.dns.chooser().why(ServiceId(0), &Asker { from: [12, 1, 1, 1].into(), subnet: None }, now());
    assert!(why[0].contains("region europe"), "{why:?}");
    // Of a client of which nothing is known, every site is as good.
    let mut got: BTreeMap<String, u32> = BTreeMap::new();
    (0..60).for_each(|_| *got.entry(running.ask("14.2.1.1").remove(0)).or_default() += 1);
    assert_eq!(got.len(), 3, "{got:?}");
}

/// Where regions say nothing, the nearest by great-circle distance is named: over the Pacific, too, and of sites whose
/// coordinates are known before others.
#[test]
fn distance_is_on_the_globe() {
    let at = |(latitude, longitude): (f64, f64)| format!("location = [{latitude:?}, {longitude:?}]");
    let [anchorage, lisbon] = [at((61.22, -149.9)), at((38.72, -9.14))];
    let sites = [("c1", &*anchorage), ("c2", &*lisbon), ("c3", "")];
    let running = placed("", &sites);
    for (client, site, km) in [
        ("14.1.1.1", "10.0.1.1", "distance_km 5563"),
        ("11.1.1.1", "10.0.2.1", "distance_km 1964"),
        ("13.1.1.1", "10.0.2.1", "distance_km 5131"),
    ] {
        assert_eq!(running.ask(client), [site], "{client}");
        let asker = Asker { from: client.parse().expect("an address"), subnet: None };
        let why = running.dns.chooser().why(ServiceId(0), &asker, now());
        assert!(why.iter().any(|line| line.contains(km)), "{km} {why:?}");
    }
}

/// A site without a place of its own is where the table says that its address is.
#[test]
fn a_sites_place_is_that_of_its_address() {
    let running = placed("", &[("c1", "address = \"13.0.0.1\""), ("c2", "address = \"11.0.0.1\"")]);
    assert_eq!((running.ask("13.9.9.9"), running.ask("12.9.9.9")), (vec!["13.0.0.1".into()], vec!["11.0.0.1".into()]));
}

/// What is damaged is no table, or knows nothing: no damage makes the DNS fail.
#[test]
fn a_damaged_table_is_refused_or_knows_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("places.mmdb");
    let whole = table(&rows());
    let text = file(&format!("geo = {{ file = \"{}\" }}", path.display()), &service("geographic", "", &[("c1", "")]));
    let file = folder.path().join("dns.toml");
    fs::write(&file, text).expect("a file");
    let given = Given::<DnsSettings>::from_file(&file);
    let mut begun = 0;
    for place in (0..whole.len()).step_by(7) {
        let mut damaged = whole.clone();
        damaged[place] ^= 0xff;
        fs::write(&path, &damaged).expect("a file");
        match given.read_and(check) {
            Err(why) => assert!(why.contains("places.mmdb") && !why.contains('\n'), "{why}"),
            Ok(settings) => {
                let Ok(dns) = Dns::start(settings, None, Events::nowhere()) else { panic!("it was right") };
                begun += 1;
                for first in 10..16 {
                    let asker = Asker { from: [first, 1, 1, 1].into(), subnet: None };
                    let mut list = Vec::new();
                    dns.chooser().choose(ServiceId(0), &asker, sojourn_dns::Family::V4, now(), &mut list);
                    assert_eq!(list.len(), 1);
                }
            }
        }
    }
    assert!(begun > 0, "some damage is seen only where one looks");
}

/// Rates and round trips outlast a restart, under the names of the sites, and the record with them replays. A file that is
/// damaged is said and passed over.
#[test]
fn what_is_known_of_clients_outlasts_a_restart() {
    let keys = "client_rates = \"64 s\"\nrecord = \"decisions.jsonl\"";
    let text =
        |sites: &[(&str, &str)]| format!("state = \"dns.state\"\n{}", reporting("nearest-with-room", keys, sites));
    let running = start(&text(&[("c1", ""), ("c2", "")]));
    let (mut one, mut two) = (Reporter::new(&running, "c1"), Reporter::new(&running, "c2"));
    until("both are known", || {
        one.tell(100.0, 50.0);
        two.tell(100.0, 50.0);
        running.site("c1")["room_per_s"] == 50.0 && running.site("c2")["room_per_s"] == 50.0
    });
    one.tell_rates(&[("10.0.1.200", 3.0)]);
    two.answer_order(20);
    until("the round trip is known", || running.dns.state()["services"][0]["counts"]["round_trips"] == 1);
    assert_eq!(running.dns.recalled(), Some(&Ok(0)));
    let (folder, path) = (running.folder, running.file);
    running.dns.stop();
    // The sites have changed places meanwhile.
    fs::write(&path, text(&[("c3", ""), ("c2", ""), ("c1", "")])).expect("a file");
    let begin = || {
        let given = Given::<DnsSettings>::from_file(&path);
        Dns::start(given.read().expect("the file is right"), Some(given), Events::nowhere()).expect("it starts")
    };
    let dns = begin();
    assert_eq!(dns.recalled(), Some(&Ok(1)));
    let asker = Asker { from: [10, 0, 1, 200].into(), subnet: None };
    let why = dns.chooser().why(ServiceId(0), &asker, now());
    assert!(why[0].contains("3.00 requests/s"), "{why:?}");
    assert!(why.iter().any(|line| line.starts_with("c2: ") && line.contains("round_trip_s 0.02")), "{why:?}");
    let mut list = Vec::new();
    dns.chooser().choose(ServiceId(0), &asker, sojourn_dns::Family::V4, now(), &mut list);
    assert_eq!(list, ["10.0.2.1".parse::<std::net::IpAddr>().unwrap()], "by its round trip, not by its address");
    dns.stop();
    let recorded = fs::read_to_string(folder.path().join("decisions.jsonl-2")).expect("the record of this start");
    let replay = record::replay(BufReader::new(recorded.as_bytes())).expect("a record");
    assert_eq!((replay.choices, replay.first_difference), (1, None));
    assert!(recorded.contains("\"recall\""), "{recorded}");
    let state = folder.path().join("dns.state");
    let kept = fs::read_to_string(&state).expect("it is kept");
    fs::write(&state, format!("{kept}{{\"service\"")).expect("a file");
    let dns = begin();
    assert!(matches!(dns.recalled(), Some(Err(why)) if why.contains("dns.state:3")), "{:?}", dns.recalled());
    assert!(dns.chooser().why(ServiceId(0), &asker, now())[0].contains("3.00 requests/s"), "what came before counts");
}

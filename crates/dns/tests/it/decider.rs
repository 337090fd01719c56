//! What a DNS decides: turns, pairs of queries, sites that come and go, what is said of it, and the record of it. Queries are
//! asked without packets; reports come over sockets.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, UdpSocket};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sojourn_bed::Events;
use sojourn_dispatch::record;
use sojourn_dns::{Answered, Asker, Chooser, Dns, Family, ServiceId, check};
use sojourn_part::now;
use sojourn_part::settings::Given;
use sojourn_part::settings::dns::DnsSettings;
use sojourn_report::{Echoes, Heard, Key, Load, Metric, Metrics, Outcome, Sender};
use sojourn_stats::{Span, Time};

use crate::support::{Lines, until};

const SECOND: u64 = 1_000_000_000;

/// A DNS of a file in a folder of its own.
pub(crate) struct Running {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) file: PathBuf,
    pub(crate) dns: Dns,
    pub(crate) lines: Lines,
}

/// The head of a file: it listens at a free port, and has a zone without a file.
const HEAD: &str = "listen = [\"127.0.0.1:0\"]\ncontrol = \"dns.sock\"\n";
const ZONE: &str = "[[zone]]\nname = \"geo.test\"\nns = [\"ns.elsewhere.test\"]\n";

/// A service of this policy over sites `c1`, `c2`, ... at 10.0.N.1, with further keys of the service and of each site.
pub(crate) fn service(policy: &str, keys: &str, sites: &[(&str, &str)]) -> String {
    let site = |(name, keys): &(&str, &str)| {
        let number = &name[1..];
        let address =
            if keys.contains("address =") { String::new() } else { format!("address = \"10.0.{number}.1\"\n") };
        format!("[[zone.service.site]]\nname = \"{name}\"\n{address}{keys}\n")
    };
    let sites: String = sites.iter().map(site).collect();
    let ttl = if keys.contains("ttl =") { "" } else { "ttl = \"60 s\"\n" };
    format!("[[zone.service]]\nname = \"www\"\npolicy = \"{policy}\"\n{ttl}{keys}\n{sites}")
}

/// A whole file.
pub(crate) fn file(head: &str, services: &str) -> String {
    format!("{HEAD}{head}\n{ZONE}{services}")
}

pub(crate) fn start(text: &str) -> Running {
    start_with(text, |_| {})
}

/// The same, with further files in its folder.
pub(crate) fn start_with(text: &str, further: impl FnOnce(&Path)) -> Running {
    let folder = tempfile::tempdir().expect("a folder");
    further(folder.path());
    let file = folder.path().join("dns.toml");
    fs::write(folder.path().join("key"), "a secret of tests").expect("a file");
    fs::write(&file, text).expect("a file");
    let given = Given::<DnsSettings>::from_file(&file);
    let settings = given.read_and(check).unwrap_or_else(|why| panic!("{why}"));
    let lines = Lines::default();
    let dns = Dns::start(settings, Some(given), Events::to(lines.clone())).expect("it starts");
    Running { folder, file, dns, lines }
}

pub(crate) fn asker(from: &str) -> Asker {
    Asker { from: from.parse().expect("an address"), subnet: None }
}

impl Running {
    pub(crate) fn ask_as(&self, asker: &Asker, family: Family, at: Time) -> (Vec<String>, Answered) {
        let mut list = Vec::new();
        let answered = self.dns.chooser().choose(ServiceId(0), asker, family, at, &mut list);
        (list.iter().map(IpAddr::to_string).collect(), answered)
    }

    /// The addresses that this client gets.
    pub(crate) fn ask(&self, from: &str) -> Vec<String> {
        self.ask_as(&asker(from), Family::V4, now()).0
    }

    /// What it answers to this line at its socket.
    fn control(&self, line: &str) -> String {
        let mut stream = UnixStream::connect(self.folder.path().join("dns.sock")).expect("it listens");
        writeln!(stream, "{line}").expect("it reads");
        let mut said = String::new();
        BufReader::new(stream).read_line(&mut said).expect("it answers");
        said
    }

    pub(crate) fn rewrite(&self, text: &str) {
        fs::write(&self.file, text).expect("a file");
    }

    /// The state of a site of the first service.
    pub(crate) fn site(&self, name: &str) -> serde_json::Value {
        let state = self.dns.state();
        let sites = state["services"][0]["sites"].as_array().expect("sites").clone();
        sites.into_iter().find(|site| site["name"] == name).unwrap_or_default()
    }
}

fn ttl_s(answered: Answered) -> u64 {
    match answered {
        Answered::Addresses { ttl, .. } => ttl.0 / SECOND,
        Answered::Nothing => panic!("there is an answer"),
    }
}

#[test]
fn round_robin_turns_with_each_question() {
    let running = start(&file("", &service("round-robin", "", &[("c1", ""), ("c2", ""), ("c3", "")])));
    let answers: Vec<String> = (0..4).flat_map(|_| running.ask("10.9.9.9")).collect();
    assert_eq!(answers, ["10.0.1.1", "10.0.2.1", "10.0.3.1", "10.0.1.1"]);
}

/// A and AAAA of one client are one question: it gets the same site by both, and no turn is lost. Later it is a new question,
/// and so is a third one. Where no site has an address of a family, the policy is not asked at all.
#[test]
fn the_other_family_is_the_same_question() {
    let both = |n: u8| format!("address = [\"10.0.{n}.1\", \"fd00::{n}\"]");
    let [one, two, three] = [both(1), both(2), both(3)];
    let running = start(&file("", &service("round-robin", "", &[("c1", &one), ("c2", &two), ("c3", &three)])));
    let (start_at, client) = (now(), asker("10.9.9.9"));
    let ask = |family, ms: u64| running.ask_as(&client, family, start_at + Span(ms * 1_000_000)).0;
    assert_eq!(ask(Family::V4, 0), ["10.0.1.1"]);
    assert_eq!(ask(Family::V6, 5), ["fd00::1"]);
    assert_eq!(ask(Family::V6, 10), ["fd00::2"], "a pair has two halves");
    assert_eq!(ask(Family::V4, 20), ["10.0.2.1"], "whichever comes first");
    assert_eq!(ask(Family::V4, 30), ["10.0.3.1"]);
    assert_eq!(ask(Family::V6, 1500), ["fd00::1"], "what comes later is a new question");
    let other = running.ask_as(&asker("10.9.9.8"), Family::V4, start_at + Span(1_501_000_000)).0;
    assert_eq!(other, ["10.0.2.1"], "of another client it is no pair");
    let state = running.dns.state();
    assert_eq!(state["services"][0]["counts"]["paired"], 2);
    // Two clients that share a slot of what is remembered do not share answers.
    let slot = |address: &str| sojourn_dispatch::key(address) % 8192;
    let other = (0..=u16::MAX).map(|n| format!("10.8.{}.{}", n >> 8, n & 255)).find(|of| slot(of) == slot("10.9.9.9"));
    let (at, other) = (start_at + Span(5_000_000_000), asker(&other.expect("one of 65536 does")));
    let four = running.ask_as(&client, Family::V4, at).0;
    assert_ne!(running.ask_as(&other, Family::V6, at).0[0].trim_start_matches("fd00::"), &four[0][5..6]);
    let plain = start(&file("", &service("round-robin", "", &[("c1", ""), ("c2", "")])));
    assert_eq!(plain.ask_as(&client, Family::V6, now()).0, Vec::<String>::new());
    assert_eq!(plain.ask("10.9.9.9"), ["10.0.1.1"]);
    assert_eq!(plain.dns.state()["services"][0]["decisions"], 1);
}

/// A host with IPv6 alone is never sent to a site without, even where the other family was asked for first.
#[test]
fn a_site_without_the_family_is_no_candidate() {
    let both = "address = [\"10.0.2.1\", \"fd00::2\"]";
    let running = start(&file("", &service("round-robin", "", &[("c1", ""), ("c2", both)])));
    let at = now();
    assert_eq!(running.ask_as(&asker("10.9.9.9"), Family::V4, at).0, ["10.0.1.1"]);
    assert_eq!(running.ask_as(&asker("10.9.9.9"), Family::V6, at).0, ["fd00::2"]);
    assert_eq!(running.ask_as(&asker("10.9.9.9"), Family::V6, at).0, ["fd00::2"]);
}

/// An answer names several sites, the chosen one first, each once, and no site that is out.
#[test]
fn further_sites_follow_the_first() {
    let sites = [("c1", ""), ("c2", ""), ("c3", "drain = true"), ("c4", "")];
    let running = start(&file("", &service("round-robin", "answers = 4", &sites)));
    assert_eq!(running.ask("10.9.9.9"), ["10.0.1.1", "10.0.2.1", "10.0.4.1"]);
    assert_eq!(running.ask("10.9.9.9"), ["10.0.2.1", "10.0.4.1", "10.0.1.1"]);
    // Nearness orders the whole answer: 10.0.4.1 shares more bits with 10.0.5.7 than the others do.
    let near = start(&file("", &service("nearest(probes = false)", "answers = 2", &sites)));
    let answer = near.ask("10.0.5.7");
    assert_eq!(answer[0], "10.0.4.1");
    assert_eq!(answer.len(), 2);
}

#[test]
fn where_no_site_is_up_the_setting_says_what_is_answered() {
    let sites = [("c1", "drain = true"), ("c2", "drain = true")];
    let all = start(&file("", &service("round-robin", "", &sites)));
    assert_eq!(all.ask("10.9.9.9"), ["10.0.1.1", "10.0.2.1"]);
    let none = start(&file("", &service("round-robin", "none_up = \"servfail\"", &sites)));
    let (list, answered) = none.ask_as(&asker("10.9.9.9"), Family::V4, now());
    assert_eq!((list.len(), answered), (0, Answered::Nothing));
    assert_eq!(none.dns.state()["services"][0]["counts"]["none_up"], 1);
}

/// Where sites are up and none has room for the client: what the policy chooses, all that are up, or SERVFAIL; where one has,
/// and where none is up, as ever. A reload may change it, and the record replays.
#[test]
fn where_no_site_has_room_the_setting_says_what_is_answered() {
    let sites = [("c1", ""), ("c2", ""), ("c3", "drain = true")];
    let text = |setting: &str| {
        let keys = format!("client_rates = \"64 s\"\nrecord = \"decisions.jsonl\"\n{setting}");
        reporting("nearest-with-room", &keys, &sites)
    };
    let running = start(&text(""));
    let mut reporters = ["c1", "c2"].map(|name| Reporter::new(&running, name));
    reporters.iter_mut().for_each(|site| site.heartbeat = Span(60 * SECOND));
    let mut told = |rooms: [f64; 2]| {
        until("both are known", || {
            reporters.iter_mut().zip(rooms).for_each(|(site, room)| site.tell(100.0, room));
            running.site("c1")["room_per_s"] == rooms[0] && running.site("c2")["room_per_s"] == rooms[1]
        });
    };
    let ask = || running.ask_as(&asker("10.9.9.9"), Family::V4, now());
    let count = || running.dns.state()["services"][0]["counts"]["none_with_room"].clone();
    told([0.0, 0.0]);
    assert_eq!((ask().0.len(), count()), (1, 0.into()), "drawn by capacity");
    for (setting, addresses) in [("all", &["10.0.1.1", "10.0.2.1"][..]), ("servfail", &[])] {
        running.rewrite(&text(&format!("none_with_room = \"{setting}\"")));
        running.dns.reload().expect("the file is right");
        told([0.0, 0.0]);
        let before = count().as_u64().expect("a count");
        let (list, answered) = ask();
        assert_eq!(
            (list, answered == Answered::Nothing),
            (addresses.iter().map(|at| (*at).into()).collect(), setting != "all")
        );
        assert_eq!(count(), before + 1);
        let why = running.dns.chooser().why(ServiceId(0), &asker("10.9.9.9"), now());
        assert!(why.iter().any(|line| line.contains("no backend has room for 0.0000 requests/s")), "{why:?}");
        told([0.0, 50.0]);
        assert_eq!((ask().0, count()), (vec!["10.0.2.1".into()], (before + 1).into()), "one has room");
    }
    // Room enough for most is none for a client that asks for more.
    reporters[0].tell_rates(&[("10.9.9.9", 60.0), ("10.9.9.8", 1.0)]);
    until("both rates are told", || running.dns.state()["services"][0]["clients"] == 2);
    assert_eq!(ask().1, Answered::Nothing);
    assert_eq!(running.ask("10.9.9.8").len(), 1);
    let before = count();
    for site in ["c1", "c2"] {
        assert!(running.control(&format!("{{\"ask\": \"drain\", \"site\": \"{site}\"}}")).contains("done"));
    }
    assert_eq!((ask().0.len(), count()), (3, before), "where no site is up, that setting counts");
    let record = running.folder.path().join("decisions.jsonl");
    assert!(running.dns.stop().1);
    let replay = record::replay(BufReader::new(fs::File::open(record).expect("the record"))).expect("a record");
    assert_eq!((replay.choices, replay.first_difference), (8, None));
}

/// The client is its network where the resolver tells it: the answer is for that network, and says so. A policy that does not
/// look at clients gives an answer for all.
#[test]
fn the_clients_network_counts_where_it_is_told() {
    let sites = [("c1", "address = \"194.0.0.10\""), ("c2", "address = \"198.0.0.10\"")];
    let near = start(&file("", &service("nearest(probes = false, bits = 7)", "", &sites)));
    let told = |text: &str, bits| Asker { from: [194, 1, 1, 1].into(), subnet: Some((text.parse().unwrap(), bits)) };
    let (list, answered) = near.ask_as(&told("198.51.100.0", 24), Family::V4, now());
    assert_eq!(list, ["198.0.0.10"]);
    assert_eq!(answered, Answered::Addresses { ttl: Span(60 * SECOND), scope: 24 });
    let (list, answered) = near.ask_as(&asker("194.1.1.1"), Family::V4, now());
    assert_eq!((list, answered), (vec!["194.0.0.10".into()], Answered::Addresses { ttl: Span(60 * SECOND), scope: 0 }));
    let turns = start(&file("", &service("round-robin", "", &sites)));
    let (_, answered) = turns.ask_as(&told("198.51.100.0", 24), Family::V4, now());
    assert_eq!(answered, Answered::Addresses { ttl: Span(60 * SECOND), scope: 0 });
}

/// Regions by ranges of addresses, and distances by coordinates of sites, without a table of places.
#[test]
fn regions_are_ranges_of_addresses() {
    let regions = "[[region]]\nname = \"west\"\naddresses = [\"198.0.0.0/7\", \"fd01::/16\"]\n[[region]]\nname = \"inner\"\n\
                   addresses = [\"198.18.0.0/15\"]\n";
    let sites = [("c1", "region = \"inner\""), ("c2", "region = \"west\""), ("c3", "")];
    let running = start(&file(regions, &service("geographic", "", &sites)));
    assert_eq!(running.ask("198.1.1.1"), ["10.0.2.1"]);
    assert_eq!(running.ask("198.18.1.1"), ["10.0.1.1"], "the longest range counts");
    assert_eq!(running.ask("fd01::5"), ["10.0.2.1"]);
    let why = running.dns.chooser().why(ServiceId(0), &asker("198.18.1.1"), now());
    assert!(why[0].contains("you are 198.18.1.1, region inner"), "{why:?}");
}

/// Threads read the clock before they wait for each other: what is decided never goes back in time.
#[test]
fn time_that_seems_to_run_backwards_is_no_harm() {
    let running = start(&file("", &service("round-robin", "record = \"decisions.jsonl\"", &[("c1", ""), ("c2", "")])));
    let at = now() + Span(10 * SECOND);
    for at in [at, Time(at.0 - 5 * SECOND), Time::ZERO, at] {
        assert_eq!(running.ask_as(&asker("10.9.9.9"), Family::V4, at).0.len(), 1);
    }
    let path = running.folder.path().join("decisions.jsonl");
    running.dns.stop();
    let text = fs::read_to_string(path).expect("the record");
    let lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
    let times: Vec<u64> = lines.filter_map(|line| line["choose"]["now"].as_u64()).collect();
    assert_eq!(times, [at.0; 4]);
}

/// A reload adds, removes and changes sites; those that stay go on. A file with a mistake changes nothing, and says so in a line.
#[test]
fn a_reload_takes_a_right_file_whole_and_a_wrong_one_not_at_all() {
    let running = start(&file("", &service("round-robin", "", &[("c1", ""), ("c2", "")])));
    assert_eq!(running.ask("10.9.9.9"), ["10.0.1.1"]);
    running.rewrite(&file("", &service("round-robin", "", &[("c2", ""), ("c3", "address = \"10.0.33.1\"")])));
    running.dns.reload().expect("the file is right");
    let answers: Vec<String> = (0..4).flat_map(|_| running.ask("10.9.9.9")).collect();
    assert_eq!(answers, ["10.0.2.1", "10.0.33.1", "10.0.2.1", "10.0.33.1"], "it goes on after c1");
    for (text, needle) in [
        (file("", &service("round-robbin", "", &[("c1", "")])), "did you mean `round-robin`?"),
        (file("", &service("round-robin", "", &[])), "has no site"),
        (file("threads = 2", &service("round-robin", "", &[("c1", "")])), "threads: it cannot change"),
        ("listen = [".into(), "dns.toml:1"),
        (
            file("", &service("round-robin", "", &[("c1", "")]))
                .replace("ns = [\"ns.elsewhere.test\"]", "file = \"no.zone\""),
            "no.zone",
        ),
        (file("geo = { file = \"missing.mmdb\" }", &service("round-robin", "", &[("c1", "")])), "missing.mmdb"),
    ] {
        running.rewrite(&text);
        let why = running.dns.reload().expect_err("the file is wrong");
        assert!(why.contains(needle) && !why.contains('\n'), "{needle}: {why}");
        assert_eq!(running.ask("10.9.9.9").len(), 1);
    }
    let mut answers: Vec<String> = (0..2).flat_map(|_| running.ask("10.9.9.9")).collect();
    answers.sort();
    assert_eq!(answers, ["10.0.2.1", "10.0.33.1"], "what was in force still is");
    let events = running.lines.text();
    assert_eq!(
        (events.matches("\"reloaded\"").count(), events.matches("\"reload_failed\"").count()),
        (1, 6),
        "{events}"
    );
    // Another policy begins anew with the same sites; a service of another name is another service.
    running.rewrite(&file("", &service("random", "", &[("c2", "")])));
    running.dns.reload().expect("the file is right");
    assert_eq!(running.ask("10.9.9.9"), ["10.0.2.1"]);
    let last = running.dns.chooser().why(ServiceId(0), &asker("10.9.9.9"), now());
    assert!(last.iter().any(|line| line.ends_with("drawn at random among 1")), "{last:?}");
    let renamed = service("random", "", &[("c1", "")]).replace("\"www\"", "\"other\"");
    running.rewrite(&file("", &renamed));
    running.dns.reload().expect("the file is right");
    assert_eq!(running.ask_as(&asker("10.9.9.9"), Family::V4, now()).1, Answered::Nothing, "www is there no more");
    let mut list = Vec::new();
    running.dns.chooser().choose(ServiceId(1), &asker("10.9.9.9"), Family::V4, now(), &mut list);
    assert_eq!(list, ["10.0.1.1".parse::<IpAddr>().unwrap()]);
}

/// What was done by hand outlasts a reload that says nothing of it.
#[test]
fn a_drained_site_stays_drained() {
    let text = file("", &service("round-robin", "", &[("c1", ""), ("c2", "")]));
    let running = start(&text);
    let tell = |line: &str| running.control(line);
    assert!(tell("{\"ask\": \"drain\", \"site\": \"c1\"}").contains("done"));
    assert_eq!((running.ask("10.9.9.9"), running.ask("10.9.9.9")), (vec!["10.0.2.1".into()], vec!["10.0.2.1".into()]));
    assert!(tell("{\"ask\": \"reload\"}").contains("done"));
    assert_eq!(running.ask("10.9.9.9"), ["10.0.2.1"]);
    assert!(tell("{\"ask\": \"undrain\", \"site\": \"c1\"}").contains("done"));
    assert_eq!(running.site("c1")["state"], "up");
    assert!(tell("{\"ask\": \"weight\", \"site\": \"c1\", \"weight\": 3}").contains("done"));
    assert_eq!(running.site("c1")["weight"], 3.0);
    for wrong in [
        "{\"ask\": \"drain\", \"site\": \"c9\"}",
        "{\"ask\": \"sing\"}",
        "no JSON",
        "{\"ask\": \"weight\", \"site\": \"c1\", \"weight\": -1}",
    ] {
        assert!(tell(wrong).contains("refused"), "{wrong}");
    }
    assert!(tell("{\"ask\": \"state\"}").contains("\"wire\""));
}

/// `_why`, the explanation and the record say the same of a decision, and the record replays to the same choices, reloads
/// and all.
#[test]
fn the_record_replays_and_says_what_is_said() {
    let text = file(
        "",
        &service("weighted", "record = \"decisions.jsonl\"\nexplain = true", &[("c1", "weight = 3"), ("c2", "")]),
    );
    let running = start(&text);
    (0..50).for_each(|client| drop(running.ask(&format!("10.9.9.{client}"))));
    running.rewrite(
        &text
            .replace("weight = 3", "weight = 1")
            .replace("[[zone.service.site]]\nname = \"c2\"", "[[zone.service.site]]\nname = \"c3\""),
    );
    running.dns.reload().expect("the file is right");
    (0..50).for_each(|client| drop(running.ask(&format!("10.9.9.{client}"))));
    let why = running.dns.chooser().why(ServiceId(0), &asker("10.9.9.7"), now());
    let explained: serde_json::Value =
        serde_json::from_str(&running.control("{\"ask\": \"explain\", \"last\": 100}")).expect("JSON");
    let before = running.dns.state()["services"][0]["decisions"].clone();
    assert_eq!(before, 100, "who asks why takes nothing");
    let last = running.folder.path().join("decisions.jsonl");
    let (_, is_whole) = running.dns.stop();
    assert!(is_whole);
    let text = fs::read_to_string(&last).expect("the record");
    let replay = record::replay(BufReader::new(text.as_bytes())).expect("a record");
    assert_eq!((replay.choices, replay.first_difference), (100, None));
    let choices: Vec<serde_json::Value> = text
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok()?.get("choose").cloned())
        .collect();
    // Clients asked in order: the 58th decision is the last for 10.9.9.7.
    let recorded = &choices[57]["decision"];
    let reason: sojourn_dispatch::Reason = serde_json::from_value(recorded["reason"].clone()).expect("a reason");
    let said = why.iter().find(|line| line.starts_with("decision 58,")).unwrap_or_else(|| panic!("{why:?}"));
    assert!(said.ends_with(&format!(": {reason}")), "{said} {reason}");
    let site = if recorded["action"]["forward"] == 0 { "c1" } else { "c3" };
    assert!(said.contains(&format!("10.9.9.7 got {site} for 60 s")), "{said} {recorded}");
    assert!(why.iter().any(|line| line.starts_with("c1: ") && line.contains("chance")), "{why:?}");
    // Who asks at the socket is told each decision as it is recorded, and in the same words, but for the time since.
    let explained = explained["decisions"].as_array().expect("decisions");
    assert_eq!(explained.len(), 100);
    for (index, (said, recorded)) in explained.iter().zip(&choices).enumerate() {
        assert_eq!((&said["number"], &said["decision"]), (&serde_json::json!(index + 1), &recorded["decision"]));
    }
    let ending = |words: &str| words.split_once(" ago: ").expect("it says when").1.to_owned();
    assert_eq!(ending(explained[57]["words"].as_str().expect("words")), ending(said));
}

/// Time between two reports, by the clock of who reports.
const EVERY: Span = Span(50_000_000);

/// A site that reports.
pub(crate) struct Reporter {
    socket: UdpSocket,
    sender: Sender,
    /// Ticks of its clock, one a report: each is a whole one.
    ticks: u64,
    /// After two without a report the site is missed.
    pub(crate) heartbeat: Span,
}

impl Reporter {
    pub(crate) fn new(running: &Running, name: &str) -> Reporter {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
        socket.connect(running.dns.reports_address().expect("it takes reports")).expect("an address");
        socket.set_read_timeout(Some(std::time::Duration::from_secs(20))).expect("a timeout");
        let sender = Sender::new(Key::new(b"a secret of tests"), name, 1_700_000_000 * SECOND, 1).expect("a name");
        let mut reporter = Reporter { socket, sender, ticks: 0, heartbeat: Span(100_000_000) };
        reporter.tell(100.0, 50.0);
        reporter.hear();
        reporter
    }

    fn measured(&self) -> u64 {
        1_700_000_000 * SECOND + self.ticks * EVERY.0
    }

    /// Reports so much capacity and room (1/s).
    pub(crate) fn tell(&mut self, capacity: f64, room: f64) {
        let mut metrics = Metrics::default();
        for (metric, value) in [
            (Metric::Cpu, 1.0 - room / capacity),
            (Metric::Capacity, capacity),
            (Metric::Room, room),
            (Metric::Completed, 0.0),
        ] {
            metrics.set(metric, value);
        }
        self.ticks += 1;
        let (every, heartbeat) = (EVERY, self.heartbeat);
        let load = Load { every, heartbeat, metrics, ..Load::default() };
        let datagram = self.sender.load(0, self.measured(), load);
        self.socket.send(&datagram).expect("it is sent");
    }

    pub(crate) fn tell_rates(&mut self, rates: &[(&str, f64)]) {
        let rates = rates.iter().map(|(client, rate)| ((*client).to_owned(), *rate)).collect();
        for datagram in self.sender.rates(0, self.measured(), rates) {
            self.socket.send(&datagram).expect("it is sent");
        }
    }

    /// Answers the next order with this round trip.
    pub(crate) fn answer_order(&mut self, ms: u64) {
        let Heard::Order { order, client } = self.hear() else { panic!("an order comes") };
        let echoes = Echoes { order, client, outcome: Outcome::Icmp, mean: Span(ms * 1_000_000), answers: 3 };
        let datagram = self.sender.echoes(0, self.measured(), echoes);
        self.socket.send(&datagram).expect("it is sent");
    }

    /// What the DNS says to it.
    fn hear(&mut self) -> Heard {
        let mut buffer = [0; 1500];
        let length = self.socket.recv(&mut buffer).expect("the DNS answers");
        self.sender.hear(0, &buffer[..length])
    }
}

pub(crate) fn reporting(policy: &str, keys: &str, sites: &[(&str, &str)]) -> String {
    let head = "reports = { listen = \"127.0.0.1:0\", key_file = \"key\" }";
    file(head, &service(policy, keys, sites))
}

/// The load that sites report decides, and a site that is silent for two heartbeats is named no more until it reports again; one
/// that never reports, too.
#[test]
fn reports_decide_and_silence_ends_a_site() {
    let running = start(&reporting("least-load", "", &[("c1", ""), ("c2", "")]));
    let (mut one, mut two) = (Reporter::new(&running, "c1"), Reporter::new(&running, "c2"));
    until("both are known", || {
        one.tell(100.0, 20.0);
        two.tell(100.0, 60.0);
        running.site("c1")["room_per_s"] == 20.0 && running.site("c2")["room_per_s"] == 60.0
    });
    assert_eq!((running.ask("10.9.9.9"), running.ask("10.9.9.9")), (vec!["10.0.2.1".into()], vec!["10.0.2.1".into()]));
    // Where no rates are waited for, none are kept: they would never expire.
    one.tell_rates(&[("10.0.1.200", 3.0)]);
    one.tell(100.0, 21.0);
    until("what came before is known", || running.site("c1")["room_per_s"] == 21.0);
    assert_eq!(running.dns.state()["services"][0]["clients"], 0);
    until("c2 is missed", || {
        one.tell(100.0, 20.0);
        running.site("c2")["state"] == "down"
    });
    assert_eq!(running.ask("10.9.9.9"), ["10.0.1.1"]);
    assert!(running.lines.text().contains("\"site_down\""), "{}", running.lines.text());
    until("c2 is back", || {
        two.tell(100.0, 60.0);
        let _ = two.socket.set_read_timeout(Some(std::time::Duration::from_millis(5)));
        let mut buffer = [0; 1500];
        if let Ok(length) = two.socket.recv(&mut buffer) {
            two.sender.hear(0, &buffer[..length]);
        }
        one.tell(100.0, 20.0);
        running.site("c2")["state"] == "up"
    });
    assert_eq!(running.ask("10.9.9.9"), ["10.0.2.1"]);
}

/// Of a client whose rate is told round trips are ordered from the sites with room, by its address; what they measure decides
/// the next answer; and the TTL that depends on rates is shorter for a busy client.
#[test]
fn rates_order_round_trips_and_round_trips_decide() {
    let keys = "client_rates = \"64 s\"\nprobes = { at_most = 2, refresh = \"120 s\" }\nttl = \"adaptive(60 s)\"";
    let running = start(&reporting("nearest-with-room", keys, &[("c1", ""), ("c2", "")]));
    let (mut one, mut two) = (Reporter::new(&running, "c1"), Reporter::new(&running, "c2"));
    until("both are known", || {
        one.tell(100.0, 50.0);
        two.tell(100.0, 50.0);
        running.site("c1")["room_per_s"] == 50.0 && running.site("c2")["room_per_s"] == 50.0
    });
    // 10.0.1.200 is nearer to c1 by address.
    assert_eq!(running.ask("10.0.1.200"), ["10.0.1.1"]);
    one.tell_rates(&[("10.0.1.200", 3.0), ("10.0.1.201", 1.0)]);
    (0..2).for_each(|_| one.answer_order(90));
    (0..2).for_each(|_| two.answer_order(20));
    until("four round trips are known", || running.dns.state()["services"][0]["counts"]["round_trips"] == 4);
    assert_eq!(running.dns.state()["services"][0]["counts"]["probes"], 4);
    let (list, answered) = running.ask_as(&asker("10.0.1.200"), Family::V4, now());
    assert_eq!(list, ["10.0.2.1"], "the shortest round trip");
    // Mean 2 per second, this one 3, equal capacities: two thirds of a minute.
    assert_eq!(ttl_s(answered), 40);
    assert_eq!(ttl_s(running.ask_as(&asker("10.0.1.201"), Family::V4, now()).1), 120);
    let why = running.dns.chooser().why(ServiceId(0), &asker("10.0.1.200"), now());
    assert!(why[0].contains("3.00 requests/s") && why.iter().any(|line| line.contains("round_trip_s 0.02")), "{why:?}");
}

/// A site that is tried at a port is out while nothing listens there, and until it has answered `rise` checks in a row.
#[test]
fn a_site_that_refuses_connections_is_out() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let checked = format!("address = \"127.0.0.1\"\ncheck = \"tcp:{port}\"");
    let running = start(&file("", &service("round-robin", "rise = 2", &[("c1", &checked), ("c2", "")])));
    assert_eq!(running.ask("10.9.9.9"), ["127.0.0.1"]);
    drop(listener);
    until("c1 is out", || running.site("c1")["state"] == "down");
    assert_eq!((running.ask("10.9.9.9"), running.ask("10.9.9.9")), (vec!["10.0.2.1".into()], vec!["10.0.2.1".into()]));
    let back = std::net::TcpListener::bind(("127.0.0.1", port)).expect("the port is free again");
    until("c1 is back", || running.site("c1")["state"] == "up");
    back.set_nonblocking(true).expect("it can be");
    assert!(std::iter::from_fn(|| back.accept().ok()).count() >= 2, "it was tried twice");
}

/// One object chooses for all threads, and no choice is lost.
#[test]
fn threads_share_one_decider() {
    let running = start(&file("", &service("round-robin", "", &[("c1", ""), ("c2", "")])));
    let chooser: Arc<dyn Chooser> = running.dns.chooser();
    std::thread::scope(|scope| {
        for thread in 0..4u8 {
            let chooser = Arc::clone(&chooser);
            scope.spawn(move || {
                let mut list = Vec::new();
                for client in 0..250u8 {
                    let asker = Asker { from: [10, 1, thread, client].into(), subnet: None };
                    chooser.choose(ServiceId(0), &asker, Family::V4, now(), &mut list);
                    assert_eq!(list.len(), 1);
                }
            });
        }
    });
    assert_eq!((running.site("c1")["chosen"].as_u64(), running.site("c2")["chosen"].as_u64()), (Some(500), Some(500)));
}

/// Threads that each ask many questions in a row, of two services by turns, get what is asked for and wait for each other, not
/// for ever; what they got is in both records, which replay.
#[test]
fn threads_that_ask_in_a_row_are_answered_rightly_and_recorded() {
    const ROWS: u64 = 50;
    let www = service("round-robin", "record = \"www.jsonl\"", &[("c1", ""), ("c2", "")]);
    let api = service("round-robin", "record = \"api.jsonl\"", &[("c3", ""), ("c4", "")]);
    let running = start(&file("", &(www + &api.replace("\"www\"", "\"api\""))));
    let (done, all_done) = std::sync::mpsc::channel();
    for thread in 0..4u8 {
        let (chooser, done) = (running.dns.chooser(), done.clone());
        std::thread::spawn(move || {
            let mut list = Vec::new();
            for row in 0..ROWS {
                chooser.in_a_row(&mut |choices| {
                    // Threads begin with different services; of each service more questions than others have to wait for.
                    for question in 0..60 {
                        let service = (question / 20 + u32::from(thread)) % 2;
                        let from = Asker { from: [10, thread, row as u8, question as u8].into(), subnet: None };
                        list.clear();
                        choices.choose(ServiceId(service), &from, Family::V4, now(), &mut list);
                        let right: &[IpAddr] =
                            &[[10, 0, 1, 1], [10, 0, 2, 1], [10, 0, 3, 1], [10, 0, 4, 1]].map(Into::into);
                        assert!(
                            right[2 * service as usize..][..2].contains(&list[0]) && list.len() == 1,
                            "{service} {list:?}"
                        );
                    }
                    choices.all(ServiceId(0), Family::V4, &mut list);
                    assert_eq!(
                        choices.why(ServiceId(1), &asker("10.9.9.9"), now())[0].split(' ').next(),
                        Some("api.geo.test")
                    );
                });
            }
            done.send(()).expect("the test waits");
        });
    }
    for _ in 0..4 {
        all_done.recv_timeout(std::time::Duration::from_secs(60)).expect("no thread fails or waits for ever");
    }
    let folder = running.folder;
    assert!(running.dns.stop().1);
    for (name, choices) in [("www", 4 * 30 * ROWS), ("api", 4 * 30 * ROWS)] {
        let text = fs::read(folder.path().join(format!("{name}.jsonl"))).expect("a record");
        let replay = record::replay(BufReader::new(&text[..])).expect("a record");
        assert_eq!((replay.choices as u64, replay.first_difference), (choices, None), "{name}");
    }
}

/// Datagrams that come at once, for names of two services and one of none, are answered each to who asked, by several threads.
#[test]
fn queries_that_come_at_once_are_answered_each() {
    use crate::wire::{bytes, query, read, shown};
    const ASKERS: u16 = 8;
    const EACH: u16 = 60;
    let www = service("round-robin", "record = \"www.jsonl\"", &[("c1", ""), ("c2", "")]);
    let api = service("round-robin", "record = \"api.jsonl\"", &[("c3", ""), ("c4", "")]);
    let head = "threads = 3\n[limits]\nreplies_per_second = 0";
    let running = start(&file(head, &(www + &api.replace("\"www\"", "\"api\""))));
    let askers: Vec<UdpSocket> = (0..ASKERS)
        .map(|_| {
            let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
            socket.connect(running.dns.addresses()[0]).expect("an address");
            socket.set_read_timeout(Some(std::time::Duration::from_secs(20))).expect("a timeout");
            socket
        })
        .collect();
    let names = ["www.geo.test.", "api.geo.test.", "none.geo.test."];
    for number in 0..EACH {
        for (index, socket) in askers.iter().enumerate() {
            let mut packet = bytes(&query(names[(usize::from(number) + index) % 3], "A"));
            packet[..2].copy_from_slice(&number.to_be_bytes());
            socket.send(&packet).expect("it is sent");
        }
    }
    for (index, socket) in askers.iter().enumerate() {
        let mut open: Vec<u16> = (0..EACH).collect();
        while !open.is_empty() {
            let mut buffer = [0; 512];
            let length = socket.recv(&mut buffer).expect("each query is answered");
            let number = u16::from_be_bytes([buffer[0], buffer[1]]);
            let place = open.iter().position(|one| *one == number).expect("each once");
            open.swap_remove(place);
            let said = shown(&read(&buffer[..length]));
            let (right, wrong) = match (usize::from(number) + index) % 3 {
                0 => (["10.0.1.1", "10.0.2.1"], "api"),
                1 => (["10.0.3.1", "10.0.4.1"], "www"),
                _ => (["NXDOMAIN", "NXDomain"], "10.0."),
            };
            assert!(right.iter().any(|one| said.contains(one)) && !said.contains(wrong), "{number}: {said}");
        }
    }
    let folder = running.folder;
    assert!(running.dns.stop().1);
    for name in ["www", "api"] {
        let text = fs::read(folder.path().join(format!("{name}.jsonl"))).expect("a record");
        let replay = record::replay(BufReader::new(&text[..])).expect("a record");
        assert_eq!((replay.choices as u64, replay.first_difference), (u64::from(ASKERS * EACH) / 3, None), "{name}");
    }
}

/// A line of TXT has 255 bytes: what is longer is cut between two letters.
#[test]
fn why_is_said_in_lines_that_fit() {
    let long = "c1-".to_owned() + &"\u{e4}".repeat(30);
    let names: Vec<String> = (1..8).map(|n| format!("c{n}-{}", &long[3..])).collect();
    let site = |name: &String| format!("[[zone.service.site]]\nname = \"{name}\"\naddress = \"10.0.1.1\"\n");
    let sites: String = names.iter().map(site).collect();
    let running = start(&file("", &(service("round-robin", "answers = 8", &[]) + &sites)));
    assert_eq!(running.ask("10.9.9.9").len(), 7);
    let why = running.dns.chooser().why(ServiceId(0), &asker("10.9.9.9"), now());
    assert!(why.iter().all(|line| line.len() <= 255) && why.iter().any(|line| line.len() > 250), "{why:?}");
}

/// Numbers for Prometheus.
#[test]
fn numbers_are_told() {
    let running = start(&file("metrics = \"127.0.0.1:0\"", &service("round-robin", "", &[("c1", ""), ("c2", "")])));
    (0..3).for_each(|_| drop(running.ask("10.9.9.9")));
    let text = crate::support::get(running.dns.metrics_address().expect("they are told"), "/metrics").text();
    for line in [
        "sojourn_dns_decisions_total{service=\"www.geo.test\"} 3",
        "sojourn_dns_site_chosen_total{service=\"www.geo.test\",site=\"c1\"} 2",
        "sojourn_dns_site_up{service=\"www.geo.test\",site=\"c2\"} 1",
        "# TYPE sojourn_dns_queries_total counter",
    ] {
        assert!(text.contains(line), "{line} is not in {text}");
    }
    assert_eq!(crate::support::get(running.dns.metrics_address().unwrap(), "/").status, 404);
}

/// Who may not have them is told so; who only connects keeps nothing from who asks.
#[test]
fn numbers_are_for_those_who_may_and_no_stranger_stands_in_their_way() {
    let service = service("round-robin", "", &[("c1", "")]);
    let start = |allow: &str| start(&file(&format!("metrics = \"127.0.0.1:0\"\n{allow}"), &service));
    for (allow, status) in [
        ("", 200),
        ("metrics_allow_from = \"all\"", 200),
        ("metrics_allow_from = [\"10.0.0.0/8\", \"127.0.0.1\"]", 200),
        ("metrics_allow_from = \"none\"", 403),
        ("metrics_allow_from = \"10.0.0.0/8\"", 403),
    ] {
        let running = start(allow);
        let reply = crate::support::get(running.dns.metrics_address().expect("they are told"), "/metrics");
        assert_eq!((reply.status, reply.text().contains("sojourn_dns")), (status, status == 200), "{allow}");
    }
    let running = start("");
    let address = running.dns.metrics_address().expect("they are told");
    let held: Vec<_> = (0..200).map(|_| std::net::TcpStream::connect(address).expect("it listens")).collect();
    for _ in 0..20 {
        assert_eq!(crate::support::get(address, "/metrics").status, 200);
    }
    drop(held);
}

/// Where a socket was left behind it is taken over; where a DNS answers, or another file is, it is not.
#[test]
fn the_control_socket_is_taken_over_only_where_it_is_left_behind() {
    let text = file("", &service("round-robin", "", &[("c1", "")]));
    let running = start(&text);
    let again =
        |path: &Path| Dns::start(Given::from_file(path).read().expect("right"), None, Events::nowhere()).map(drop);
    let why = again(&running.file).expect_err("one answers there").to_string();
    assert!(why.contains("another DNS answers there"), "{why}");
    let socket = running.folder.path().join("dns.sock");
    let (file, folder) = (running.file.clone(), running.folder);
    running.dns.stop();
    assert!(!socket.exists(), "it goes with its DNS");
    drop(std::os::unix::net::UnixListener::bind(&socket).expect("a socket that is left behind"));
    again(&file).expect("it is taken over");
    fs::write(&socket, "precious").expect("a file");
    let why = again(&file).expect_err("a file is there").to_string();
    assert!(why.contains("no socket"), "{why}");
    assert_eq!(fs::read_to_string(&socket).unwrap(), "precious");
    drop(folder);
}

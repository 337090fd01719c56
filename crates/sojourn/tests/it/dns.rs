//! The DNS as its users meet it: dig, unbound in front of it, load daemons that report and measure, reloads under load, and what
//! is typed wrong.

use std::fs;
use std::io::BufReader;
use std::net::{TcpListener, UdpSocket};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use sojourn_bed::Child;
use sojourn_dispatch::record;
use tempfile::TempDir;

use crate::skip::skipped;
use crate::sojourn::{PROGRAM, await_that, file, sojourn, stderr, stdout};

/// A service of this policy over two sites in different regions of addresses.
pub(crate) fn config(head: &str, policy: &str, keys: &str, sites: &str) -> String {
    format!(
        "listen = [\"127.0.0.1:0\"]\ncontrol = \"dns.sock\"\n{head}\n[[zone]]\nname = \"geo.example.org\"\n\
         ns = [\"ns.example.net\"]\n[[zone.service]]\nname = \"www\"\npolicy = \"{policy}\"\nttl = \"60 s\"\n{keys}\n{sites}"
    )
}

pub(crate) fn site(name: &str, address: &str) -> String {
    format!("[[zone.service.site]]\nname = \"{name}\"\naddress = \"{address}\"\n")
}

fn two() -> String {
    site("c1", "194.0.0.10") + &site("c2", "198.0.0.10")
}

pub(crate) fn child(arguments: &[&str]) -> Child {
    Child::spawn(Path::new(PROGRAM), arguments, Duration::from_secs(30)).expect("a child is ready")
}

/// A DNS of this file.
pub(crate) fn start(folder: &TempDir, text: &str) -> Child {
    let path = file(folder.path(), "dns.toml", text);
    child(&["dns", "--config", &path, "--child"])
}

/// What dig prints; none where there is no dig.
fn dig(port: u16, arguments: &[&str]) -> Option<String> {
    let port = port.to_string();
    let output = Command::new("dig").args(["@127.0.0.1", "-p", &port, "+tries=1", "+time=10"]).args(arguments).output();
    output.ok().map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
}

pub(crate) fn ctl(folder: &TempDir, arguments: &[&str]) -> String {
    let socket = folder.path().join("dns.sock").display().to_string();
    let output = sojourn(&[&["dns", "ctl", "--socket", &socket], arguments].concat());
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
    stdout(&output)
}

pub(crate) fn state(folder: &TempDir, site: &str) -> Value {
    let state: Value = serde_json::from_str(&ctl(folder, &["state", "--json"])).expect("JSON");
    let sites = state["services"][0]["sites"].as_array().expect("sites").clone();
    sites.into_iter().find(|one| one["name"] == site).expect("the site")
}

#[test]
fn dig_reaches_the_nearest_and_is_told_why() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("decisions.jsonl");
    let dns = start(&folder, &config("", "nearest(probes = false, bits = 7)", "record = \"decisions.jsonl\"", &two()));
    let Some(answer) = dig(dns.port(), &["+short", "www.geo.example.org", "+subnet=198.51.100.0/24"]) else {
        return skipped("no dig");
    };
    assert_eq!(answer, "198.0.0.10\n");
    assert_eq!(dig(dns.port(), &["+short", "www.geo.example.org", "+subnet=195.1.0.0/16"]).unwrap(), "194.0.0.10\n");
    let whole = dig(dns.port(), &["www.geo.example.org", "+subnet=198.51.100.0/24"]).unwrap();
    assert!(whole.contains("CLIENT-SUBNET: 198.51.100.0/24/24") && whole.contains(" aa "), "{whole}");
    let by_tcp = dig(dns.port(), &["+tcp", "+short", "www.geo.example.org", "+subnet=195.1.0.0/16"]).unwrap();
    assert_eq!(by_tcp, "194.0.0.10\n");
    assert!(dig(dns.port(), &["www.geo.example.org", "AAAA"]).unwrap().contains("NOERROR"));
    assert!(dig(dns.port(), &["none.geo.example.org"]).unwrap().contains("NXDOMAIN"));
    assert!(dig(dns.port(), &["www.example.com"]).unwrap().contains("REFUSED"));
    let why = dig(dns.port(), &["+short", "_why.www.geo.example.org", "TXT", "+subnet=198.51.100.0/24"]).unwrap();
    let explained = ctl(&folder, &["explain"]);
    // The same sentence, but for the time that has passed.
    let reason = "198.51.100.0/24 got c2 for 60 s: most leading bits in common with the client's address (7)";
    assert!(why.contains(reason) && explained.contains(reason), "{why}\n{explained}");
    assert_eq!(explained.lines().count(), 4, "{explained}");
    assert!(dns.stop().pop().is_some_and(|stopped| stopped["services"][0]["decisions"] == 4));
    let text = fs::read_to_string(&record).unwrap();
    assert!(text.contains("\"longest-prefix\""), "{text}");
    let replay = record::replay(BufReader::new(text.as_bytes())).unwrap();
    assert_eq!((replay.choices, replay.first_difference), (4, None));
}

/// Ended when the test does.
struct Unbound(std::process::Child);

impl Drop for Unbound {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// unbound, whose clients ask it and not the DNS: it finds the zone, holds the answer for its TTL, and asks for the next one
/// after a site was drained and its own memory was emptied.
#[test]
fn a_resolver_stands_in_front() {
    let folder = tempfile::tempdir().unwrap();
    let dns = start(&folder, &config("", "round-robin", "", &two()));
    let text = |port: u16| {
        format!(
            "server:\n  directory: \"{0}\"\n  chroot: \"\"\n  username: \"\"\n  pidfile: \"\"\n  use-syslog: no\n  \
             do-daemonize: no\n  interface: 127.0.0.1\n  port: {port}\n  do-not-query-localhost: no\n  \
             module-config: \"iterator\"\n  do-ip6: no\n\
             stub-zone:\n  name: \"geo.example.org\"\n  stub-addr: 127.0.0.1@{1}\n",
            folder.path().display(),
            dns.port()
        )
    };
    if !Path::new("/usr/sbin/unbound").exists() {
        return skipped("no unbound");
    }
    // A port that is free now may be taken by another test before unbound has it: then it ends, and gets another one.
    let started = (0..5).find_map(|_| {
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = udp.local_addr().unwrap().port();
        drop(TcpListener::bind(("127.0.0.1", port)).ok()?);
        let path = file(folder.path(), "unbound.conf", text(port));
        drop(udp);
        let mut command = Command::new("/usr/sbin/unbound");
        command.args(["-d", "-c", &path]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut unbound = Unbound(command.spawn().unwrap());
        let mut is_over = false;
        await_that("unbound answers", || {
            is_over = unbound.0.try_wait().unwrap().is_some();
            is_over || dig(port, &["+short", "www.geo.example.org"]).unwrap_or_default().contains(".0.0.10")
        });
        (!is_over).then_some((unbound, port))
    });
    let (_unbound, port) = started.expect("one of five ports is free");
    let ask = || dig(port, &["+short", "www.geo.example.org"]).unwrap_or_default();
    let first = ask();
    (0..5).for_each(|_| assert_eq!(ask(), first, "it is held"));
    let decisions = || {
        let state: Value = serde_json::from_str(&ctl(&folder, &["state", "--json"])).expect("JSON");
        state["services"][0]["decisions"].as_u64().expect("a count")
    };
    assert_eq!(decisions(), 1, "six clients of one resolver are one question");
    let ttl: u64 = {
        let answer = dig(port, &["+noall", "+answer", "www.geo.example.org"]).unwrap();
        answer.split_whitespace().nth(1).and_then(|ttl| ttl.parse().ok()).unwrap_or_else(|| panic!("{answer}"))
    };
    assert!(ttl <= 60, "{ttl}");
}

/// Two lone servers with a load daemon beside each: their reports decide, they measure the round trip to a client whose rate
/// their logs tell, and one that is killed is named no more after two heartbeats.
#[test]
fn lone_servers_report_measure_and_are_missed() {
    let folder = tempfile::tempdir().unwrap();
    let key = file(folder.path(), "key", "0123456789abcdef\n");
    let head = "[reports]\nlisten = \"127.0.0.1:0\"\nkey_file = \"key\"";
    let keys = "client_rates = \"1 s\"\nrecord = \"decisions.jsonl\"";
    // By address the client, 127.0.0.1, is nearer to c1.
    let sites = site("c1", "127.0.0.7") + &site("c2", "10.0.0.2");
    let dns = start(&folder, &config(head, "nearest-with-room", keys, &sites));
    let reports = dns.events()[0]["reports"].as_str().expect("it says where").to_owned();
    let node =
        |name: &str| child(&["node", "--child", "--name", name, "--model", "discipline = \"ps\"\ndemand = \"1 ms\""]);
    let (one, two) = (node("c1"), node("c2"));
    let daemon = |name: &str, node: &Child, log: &str| {
        let ask = format!("http://127.0.0.1:{}/load", node.port());
        let who = ["loadd", "--child", "--name", name, "--key", &key, "--to", &reports, "--ask", &ask, "--log", log];
        let times = ["--every", "50 ms", "--heartbeat", "500 ms", "--client-rates", "200 ms", "--echo-refresh", "1 s"];
        child(&[&who[..], &times].concat())
    };
    let logs = ["c1", "c2"].map(|name| file(folder.path(), &format!("{name}.log"), ""));
    let daemons = [daemon("c1", &one, &logs[0]), daemon("c2", &two, &logs[1])];
    let load = |node: &Child, log: &str| {
        let target = format!("http://127.0.0.1:{}/work?demand=2ms", node.port());
        let _ = Command::new("curl").args(["-s", "-o", "/dev/null", &target]).status();
        let line = "127.0.0.1 - - [23/Nov/2026:12:00:00 +0000] \"GET / HTTP/1.1\" 200 100\n";
        fs::write(log, fs::read_to_string(log).unwrap() + line).unwrap();
    };
    await_that("both have capacity", || {
        load(&one, &logs[0]);
        load(&two, &logs[1]);
        ["c1", "c2"].iter().all(|name| state(&folder, name)["capacity_per_s"].is_number())
    });
    let why = || dig(dns.port(), &["+short", "_why.www.geo.example.org", "TXT"]);
    let Some(_) = why() else { return skipped("no dig") };
    await_that("the daemons have measured the client", || {
        load(&one, &logs[0]);
        let why = why().unwrap_or_default();
        why.contains("requests/s") && why.matches("round_trip_s").count() == 2
    });
    let [told_one, told_two] = daemons;
    drop((told_one.stop(), one.stop()));
    await_that("c1 is missed", || {
        load(&two, &logs[1]);
        state(&folder, "c1")["state"] == "down"
    });
    await_that("it says so", || {
        dns.events().iter().any(|event| event["event"] == "site_down" && event["site"] == "c1")
    });
    for _ in 0..5 {
        assert_eq!(dig(dns.port(), &["+short", "www.geo.example.org"]).unwrap(), "10.0.0.2\n");
    }
    let counts = told_two.stop().pop().expect("it says that it stops");
    assert!(counts["probes"].as_u64().is_some_and(|probes| probes > 0), "{counts}");
    dns.stop();
    let text = fs::read_to_string(folder.path().join("decisions.jsonl")).unwrap();
    let replay = record::replay(BufReader::new(text.as_bytes())).unwrap();
    assert!(
        replay.first_difference.is_none() && text.contains("\"round_trip\"") && text.contains("\"rate\""),
        "{replay:?}"
    );
}

/// A cluster whose front node reports for it, and a lone server, side by side: both are named in turn until the cluster says
/// that its last server is gone, and again when the cluster has one.
#[test]
fn clusters_and_lone_servers_mix() {
    let folder = tempfile::tempdir().unwrap();
    let key = file(folder.path(), "key", "0123456789abcdef\n");
    let head = "[reports]\nlisten = \"127.0.0.1:0\"\nkey_file = \"key\"";
    let dns = start(&folder, &config(head, "round-robin", "", &two()));
    let to = dns.events()[0]["reports"].as_str().expect("it says where").to_owned();
    let node =
        |name: &str| child(&["node", "--child", "--name", name, "--model", "discipline = \"ps\"\ndemand = \"1 ms\""]);
    let (inner, lone) = (node("a"), node("c2"));
    let backend = format!("a=127.0.0.1:{}", inner.port());
    let reporting = ["--reports", "127.0.0.1:0", "--key", &key, "--report-to", &to, "--name", "c1"];
    let times = ["--report-every", "50 ms", "--report-heartbeat", "500 ms", "--fall", "1"];
    let front = child(&[&["gateway", "--child", "--backend", &backend][..], &reporting, &times].concat());
    let to_front = front.events()[0]["reports"].as_str().expect("it says where").to_owned();
    let daemon = |name: &str, to: &str, node: &Child| {
        let ask = format!("http://127.0.0.1:{}/load", node.port());
        let who = ["loadd", "--child", "--name", name, "--key", &key, "--to", to, "--ask", &ask];
        child(&[&who[..], &["--every", "50 ms", "--heartbeat", "500 ms"]].concat())
    };
    let _daemons = [daemon("a", &to_front, &inner), daemon("c2", &to, &lone)];
    await_that("both have reported", || {
        ["c1", "c2"].iter().all(|name| state(&folder, name)["report_age_s"].is_number())
    });
    let ask = || dig(dns.port(), &["+short", "www.geo.example.org"]);
    let Some(first) = ask() else { return skipped("no dig") };
    let mut both = [first, ask().unwrap()];
    both.sort();
    assert_eq!(both, ["194.0.0.10\n", "198.0.0.10\n"]);
    inner.freeze();
    await_that("c1 has no server left", || {
        dns.events().iter().any(|event| event["event"] == "site_down" && event["why"] == "it has no server left")
    });
    (0..3).for_each(|_| assert_eq!(ask().unwrap(), "198.0.0.10\n"));
    inner.thaw();
    await_that("c1 has a server again", || {
        dns.events().iter().any(|event| event["event"] == "site_up" && event["site"] == "c1")
    });
    await_that("c1 is named again", || ask().unwrap() == "194.0.0.10\n");
}

/// A query for www.geo.example.org.
pub(crate) fn query(id: u16) -> Vec<u8> {
    let mut query = vec![0; 12];
    query[..2].copy_from_slice(&id.to_be_bytes());
    query[5] = 1;
    for label in ["www", "geo", "example", "org", ""] {
        query.push(label.len() as u8);
        query.extend(label.bytes());
    }
    query.extend([0, 1, 0, 1]);
    query
}

/// While clients ask without a pause the file is read anew again and again, now with three sites, now with two, now broken: each
/// query is answered, and by no site that was never there.
#[test]
fn no_query_is_lost_while_the_file_is_read_anew() {
    let folder = tempfile::tempdir().unwrap();
    let limits = "limits = { replies_per_second = 0 }";
    let texts = [
        config(limits, "round-robin", "", &two()),
        config(limits, "round-robin", "", &(two() + &site("c3", "202.0.0.10"))),
        config(limits, "random", "", &two()),
        config(limits, "no-such-policy", "", &two()),
    ];
    let dns = start(&folder, &texts[0]);
    let (stop, answered, lost) = (AtomicBool::new(false), AtomicU64::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
                socket.connect(("127.0.0.1", dns.port())).unwrap();
                socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
                let mut reply = [0; 512];
                for id in 0.. {
                    socket.send(&query(id)).unwrap();
                    match socket.recv(&mut reply) {
                        // The same question, no error, and one address.
                        Ok(_) if reply[..2] == id.to_be_bytes() && reply[3] & 15 == 0 && reply[7] == 1 => {
                            answered.fetch_add(1, Ordering::Relaxed);
                        }
                        other => lost.lock().unwrap().push(format!("{other:?} {:?}", &reply[..12])),
                    }
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                }
            });
        }
        let path = folder.path().join("dns.toml");
        let told = |event: &str| dns.events().iter().filter(|said| said["event"] == event).count();
        for round in 0..40 {
            let (before, text) = (told("reloaded") + told("reload_failed"), &texts[(round + 1) % 4]);
            fs::write(&path, text).unwrap();
            kill(Pid::from_raw(dns.pid() as i32), Signal::SIGHUP).unwrap();
            await_that("it has read the file anew", || told("reloaded") + told("reload_failed") > before);
        }
        stop.store(true, Ordering::Relaxed);
        assert_eq!((told("reloaded"), told("reload_failed")), (30, 10));
    });
    assert_eq!(*lost.lock().unwrap(), Vec::<String>::new());
    assert!(answered.load(Ordering::Relaxed) > 40);
    let failed = dns.events().into_iter().find(|event| event["event"] == "reload_failed").unwrap();
    assert!(failed["why"].as_str().is_some_and(|why| why.contains("unknown policy `no-such-policy`")), "{failed}");
    assert_eq!(dns.stop().pop().map(|stopped| stopped["wire"]["replies"]["SERVFAIL"].clone()), Some(json!(null)));
}

/// One line: the file, the line, the key, and what would be right; exit code 2, and nothing begun.
#[test]
fn what_is_wrong_in_the_file_is_said_in_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let plain = || config("", "round-robin", "", &two());
    let reports = "[reports]\nlisten = \"127.0.0.1:0\"\nkey_file = \"key\"";
    file(folder.path(), "key", "0123456789abcdef\n");
    file(folder.path(), "short", "abc");
    file(
        folder.path(),
        "bad.zone",
        "@ 60 IN SOA ns.example.net. h.example.net. 1 2 3 4 5\n@ IN NS ns.example.net.\nx IN A 1.2.3\n",
    );
    let (ns, soa) = ("ns = [\"ns.example.net\"]", "@ 60 IN SOA ns.example.net. h.example.net. 1 2 3 4 5\n");
    file(folder.path(), "good.zone", format!("{soa}@ IN NS ns.example.net.\n"));
    file(folder.path(), "tsig", "MDEyMzQ1Njc4OWFiY2RlZg==\n");
    file(folder.path(), "brief", "YWJj\n");
    let key = |name: &str, secret: &str| format!("[[key]]\nname = \"{name}\"\nsecret_file = \"{secret}\"\n");
    let t = key("t.test", "tsig");
    let keyed = |head: String| plain().replace("[[zone]]", &format!("{head}[[zone]]"));
    let made = |keys: &str| plain().replace(ns, &format!("{ns}\n{keys}"));
    let filed = |keys: &str| keyed(t.clone()).replace(ns, &format!("file = \"good.zone\"\n{keys}"));
    let geo = |name: &str| plain().replace("[[zone]]", &format!("[geo]\nfile = \"{name}\"\n[[zone]]"));
    for (text, needle) in [
        ("".to_owned(), "listen: no address"),
        ("listen = [\"127.0.0.1:0\"]".into(), "no zone; add `[[zone]]`"),
        ("listen = []".into(), "listen: no address"),
        (plain().replace("127.0.0.1:0", "localhost"), "it is an address and a port, e.g. 127.0.0.1:8080"),
        (plain().replace("policy", "polizy"), "unknown key `polizy`; did you mean `policy`?"),
        (plain().replace("round-robin", "round-robbin"), "did you mean `round-robin`?"),
        (plain().replace("round-robin", "least-connections"), "which this face does not provide"),
        (plain().replace("round-robin", "least-load"), "add `[reports]`"),
        (config(reports, "nearest-with-room", "", &two()), "add `client_rates`"),
        (plain().replace("60 s", "0 s"), "a TTL is whole seconds from 1 s to 7 days"),
        (plain().replace("60 s", "1500 ms"), "a TTL is whole seconds"),
        (plain().replace("60 s", "fast(60 s)"), "`variable(60 s)` or `adaptive(60 s)`"),
        (plain().replace("60 s", "variable(60 s)"), "add `[reports]`"),
        (config(reports, "round-robin", "", &two()).replace("60 s", "adaptive(60 s)"), "`client_rates`"),
        (config("", "round-robin", "", ""), "has no site"),
        (config("", "round-robin", "", &(two() + &two())), "`c1` is there twice"),
        (plain().replace("\"194.0.0.10\"", "[]"), "at least one, IPv4 or IPv6"),
        (plain().replace("194.0.0.10", "194.0.0"), "`194.0.0` is no IP address"),
        (plain().replace("194.0.0.10", "0.0.0.0"), "is no host's address"),
        (config("", "round-robin", "none_up = \"some\"", &two()), "unknown value `some`; known are all, servfail"),
        (config(reports, "random", "none_with_room = \"some\"", &two()), "known are policy, all, servfail"),
        (config("", "random", "none_with_room = \"servfail\"", &two()), "room is what sites report: add `[reports]`"),
        (config("", "round-robin", "answers = 9", &two()), "1 to 8 sites"),
        (config("", "round-robin", "fall = 0", &two()), "it is a whole number of at least 1"),
        (config("", "round-robin", "probes = { at_most = 3, refresh = \"1 s\" }", &two()), "add `[reports]`"),
        (config(reports, "round-robin", "probes = { at_most = 0, refresh = \"1 s\" }", &two()), "at least 1 site"),
        (config("", "round-robin", "client_rates = \"1 s\"", &two()), "rates of clients come in reports"),
        (plain().replace("\"www\"", "\"www.elsewhere.org.\""), "is not in the zone `geo.example.org`"),
        (plain().replace("\"www\"", "\"w w\""), "is no name"),
        (plain().replace("geo.example.org", "geo..org"), "is no name"),
        (plain().replace("ns = [\"ns.example.net\"]", ""), "neither `file` (a zone file) nor `ns`"),
        (plain().replace("ns = [\"ns.example.net\"]", "file = \"missing.zone\""), "missing.zone"),
        (plain().replace("ns = [\"ns.example.net\"]", "file = \"bad.zone\""), "line 3"),
        (config("[reports]\nlisten = \"127.0.0.1:0\"\nkey_file = \"none\"", "random", "", &two()), "make one by"),
        (config("[reports]\nlisten = \"127.0.0.1:0\"\nkey_file = \"short\"", "random", "", &two()), "too few"),
        (geo("missing.mmdb"), "missing.mmdb"),
        (geo("key"), "it is a table in MaxMind's format"),
        (plain() + "region = \"mars\"\n", "no region `mars`"),
        (plain() + "location = [91, 0]\n", "degrees north (-90 to 90)"),
        (plain() + "check = \"udp:53\"\n", "write e.g. `tcp:80`"),
        (plain() + "weight = -1\n", "at least 0"),
        (plain() + "reports = true\n", "nothing takes reports"),
        (plain().replace("control =", "clients = 0\ncontrol ="), "at least 1 is remembered"),
        (plain().replace("control =", "threads = 0\ncontrol ="), "from 1 to 1024"),
        (plain().replace("control =", "limits = { slip = 2, udp_payload = 7 }\ncontrol ="), "limits"),
        (
            plain().replace("[[zone]]", "[[region]]\nname = \"a\"\naddresses = [\"194.0.0.1/7\"]\n[[zone]]"),
            "no range of addresses",
        ),
        (plain().replace("[[zone]]", "[[region]]\nname = \"a\"\ncountries = [\"de\"]\n[[zone]]"), "two capitals"),
        (made("transfer = [\"t.test\"]"), "only a zone file has"),
        (made("notify = [\"127.0.0.1:53\"]"), "only a zone file has"),
        (filed("transfer = [\"u.test\"]"), "there is no key `u.test`; add `[[key]]`"),
        (filed("notify = [\"127.0.0.1:53\"]"), "name its key in `transfer`"),
        (filed("transfer = [\"t.test\"]\nnotify = [\"ns2\"]"), "it is an address and a port, e.g. 127.0.0.1:8080"),
        (keyed(t.repeat(2)), "`t.test` is there twice"),
        (keyed(key("t t", "tsig")), "is no name"),
        (keyed(t.clone() + "algorithm = \"hmac-md5\"\n"), "known are hmac-sha256"),
        (keyed(key("t.test", "none")), "make one by"),
        (keyed(key("t.test", "bad.zone")), "not base64"),
        (keyed(key("t.test", "brief")), "at least 16"),
    ] {
        let path = file(folder.path(), "dns.toml", &text);
        for check in [&["--check"][..], &["--child"]] {
            let output = sojourn(&[&["dns", "--config", &path], check].concat());
            let message = stderr(&output);
            assert_eq!(output.status.code(), Some(2), "{needle}: {message}");
            assert!(message.contains(needle) && message.lines().count() == 1, "{needle}: {message}");
            assert!(message.contains(&folder.path().display().to_string()), "it says the file: {message}");
            assert_eq!(stdout(&output), "", "nothing has begun");
        }
        assert!(!folder.path().join("dns.sock").exists() && !folder.path().join("decisions.jsonl").exists());
    }
    let path = file(folder.path(), "dns.toml", plain());
    let right = sojourn(&["dns", "--config", &path, "--check"]);
    assert_eq!((right.status.code(), stdout(&right).contains("ok; 1 zone, 1 service\n")), (Some(0), true));
    let none = sojourn(&["dns", "ctl", "--socket", "/nonexistent/dns.sock", "state"]);
    assert_eq!(none.status.code(), Some(2));
    assert!(stderr(&none).contains("no DNS answers there"), "{}", stderr(&none));
}

//! Other settings for a gateway that runs: nothing is lost, and what is wrong changes nothing.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use sojourn_bed::Events;
use sojourn_dispatch::{Limit, Signals, policies, record};
use sojourn_model::Discipline;
use sojourn_part::Probe;
use sojourn_part::settings::gateway::{GatewaySettings, RedirectorSettings};
use sojourn_part::settings::{Checks, Given, to_toml};
use sojourn_web::Gateway;
use tempfile::TempDir;

use crate::support::{Client, Lines, Origin, backends, gateway, get, ms, node, ok, until};

/// A gateway and its file.
struct Reloaded {
    gateway: Gateway,
    file: PathBuf,
    said: Lines,
    _folder: TempDir,
}

impl Reloaded {
    fn new(settings: &GatewaySettings) -> Reloaded {
        let folder = tempfile::tempdir().expect("a folder");
        let said = Lines::default();
        let gateway = Gateway::start(settings.clone(), Events::to(said.clone())).expect("a gateway starts");
        Reloaded { gateway, file: folder.path().join("gateway.toml"), said, _folder: folder }
    }

    /// Reads its file anew, which says this.
    fn reads(&self, text: &str) {
        fs::write(&self.file, text).expect("it is ours");
        self.gateway.reload(Given::<GatewaySettings>::from_file(&self.file))();
    }
}

fn unchecked() -> Checks {
    Checks { probe: Probe::Off, ..Checks::default() }
}

/// A flag that is raised at the end, also where a test fails: else its threads would go on for ever.
struct Raised<'a>(&'a AtomicBool);

impl Drop for Raised<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Clients ask all the while; the file changes twice: one backend leaves and one comes, then the policy, its weights and its
/// limits are others.
#[test]
fn no_request_and_no_count_is_lost() {
    for (threads, shared) in [(1, false), (2, false), (2, true)] {
        let origins: Vec<Origin> = (0..3).map(|_| Origin::new(|_, stream| ok(stream, "page"))).collect();
        let all = backends(&origins.iter().map(|origin| origin.address).collect::<Vec<_>>());
        let first = GatewaySettings {
            threads,
            shared,
            health: unchecked(),
            ..GatewaySettings::new("weighted-round-robin", vec![all[0].clone(), all[1].clone()])
        };
        let running = Reloaded::new(&first);
        let (address, stop, served) = (running.gateway.address(), AtomicBool::new(false), AtomicU64::new(0));
        std::thread::scope(|scope| {
            let _stop = Raised(&stop);
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut client = Client::new(address);
                    while !stop.load(Ordering::SeqCst) {
                        assert_eq!(client.get("/").status, 200);
                        served.fetch_add(1, Ordering::SeqCst);
                    }
                });
            }
            let more = |name: &str, from: &Origin| {
                let before = from.requests();
                until(name, || from.requests() > before + 50);
            };
            more("the second is asked", &origins[1]);
            let mut settings = GatewaySettings { backends: vec![all[0].clone(), all[2].clone()], ..first.clone() };
            settings.backends[0].weight = 3.0;
            running.reads(&to_toml(&settings));
            more("the third is asked", &origins[2]);
            let left = origins[1].requests();
            more("it goes on", &origins[0]);
            assert!(origins[1].requests() <= left + 4, "one that has left gets nothing new");
            settings.decider.policy = Some("least-connections".into());
            settings.decider.limit = (shared || threads == 1).then(|| Limit::new(100, 80).expect("a limit"));
            settings.timeouts.reply = ms(9000);
            settings.backends.push(all[1].clone());
            running.reads(&to_toml(&settings));
            more("the second is back", &origins[1]);
        });
        let counts = running.gateway.stop();
        assert_eq!(running.said.text().matches("\"reloaded\"").count(), 2, "{}", running.said.text());
        let served = served.into_inner();
        assert_eq!((counts.requests, counts.refused, counts.failed, counts.retried), (served, 0, 0, 0), "{counts:?}");
        assert_eq!(counts.backends.iter().map(|backend| backend.completed).sum::<u64>(), served, "{counts:?}");
        for (backend, origin) in counts.backends.iter().zip(&origins) {
            assert_eq!(
                (backend.requests, backend.completed),
                (origin.requests() as u64, backend.requests),
                "{counts:?}"
            );
            assert_eq!((backend.in_flight, backend.in_flight_table, backend.connections), (0, 0, 0), "{counts:?}");
        }
    }
}

#[test]
fn what_leaves_ends_what_it_has() {
    let goes_on = Arc::new(AtomicBool::new(false));
    let may = Arc::clone(&goes_on);
    let slow = Origin::new(move |_, stream| {
        until("it may answer", || may.load(Ordering::SeqCst));
        ok(stream, "late")
    });
    let quick = Origin::new(|_, stream| ok(stream, "page"));
    let all = backends(&[slow.address, quick.address]);
    let first = GatewaySettings { health: unchecked(), ..GatewaySettings::new("round-robin", vec![all[0].clone()]) };
    let running = Reloaded::new(&first);
    let address = running.gateway.address();
    let mut waiting = Client::new(address);
    waiting.send("GET / HTTP/1.1\r\nhost: t\r\n\r\n");
    let of_slow = || running.gateway.counts().backends[0].clone();
    until("it is inside", || of_slow().in_flight_table == 1);
    // It stays, and another policy counts what it has.
    let both = GatewaySettings { health: unchecked(), ..GatewaySettings::new("least-connections", all.clone()) };
    running.gateway.take(both.clone()).expect("it can be so");
    for _ in 0..20 {
        assert_eq!(get(address, "/").text(), "page", "the idle one has less");
    }
    until("it is counted", || of_slow().in_flight_table == 1);
    running.gateway.take(GatewaySettings { backends: vec![all[1].clone()], ..both }).expect("it can be so");
    assert_eq!(get(address, "/").text(), "page");
    assert_eq!((of_slow().in_flight, of_slow().up), (1, false));
    goes_on.store(true, Ordering::SeqCst);
    assert_eq!(waiting.reply(true).expect("a reply").text(), "late");
    until("its connection is closed", || of_slow().connections == 0);
    until("nothing is counted", || (of_slow().in_flight, of_slow().in_flight_table) == (0, 0));
    assert_eq!((of_slow().requests, of_slow().completed), (1, 1));
}

#[test]
fn a_backend_that_moves_is_found_where_it_is() {
    let (here, there) = (Origin::new(|_, stream| ok(stream, "here")), Origin::new(|_, stream| ok(stream, "there")));
    let running = gateway(GatewaySettings::new("random", backends(&[here.address])));
    let mut client = Client::new(running.address());
    assert_eq!(client.get("/").text(), "here");
    running.take(GatewaySettings::new("random", backends(&[there.address]))).expect("it can be so");
    assert_eq!(client.get("/").text(), "there", "an idle connection leads to where it was");
}

#[test]
fn what_is_wrong_changes_nothing() {
    let origin = Origin::new(|_, stream| ok(stream, "page"));
    let settings = GatewaySettings::new("round-robin", backends(&[origin.address]));
    let running = Reloaded::new(&settings);
    let good = to_toml(&settings);
    let mut fixed = settings.clone();
    fixed.threads = 2;
    for (text, expected) in [
        (good.replace("round-robin", "rnd-robin"), "decider.policy: unknown policy `rnd-robin`"),
        (format!("thread = 1\n{good}"), "gateway.toml:1: unknown key `thread`; did you mean `threads`?"),
        ("backend = []\n".into(), "backend: at least one"),
        (to_toml(&fixed), "threads: it cannot change in a running gateway"),
        (format!("grace = \"1 s\"\n{good}"), "gateway.toml:1: grace: it cannot change in a running gateway"),
    ] {
        running.reads(&text);
        let said = running.said.text();
        let last = said.lines().last().expect("it is said");
        assert!(last.contains("reload_failed") && last.contains(expected), "{last}");
        assert_eq!(get(running.gateway.address(), "/").status, 200);
    }
    running.reads(&good);
    assert!(running.said.text().lines().last().expect("it is said").contains("\"reloaded\""));
    assert_eq!(running.gateway.counts().backends.len(), 1);
}

/// Each policy goes on when backends come and go, and its record can be made again, also that of the one before it.
#[test]
fn every_policy_lives_through_it() {
    let nodes = ["s1", "s2", "s3"].map(|name| node(name, Discipline::Ps));
    let all = backends(&nodes.each_ref().map(|node| node.address()));
    let folder = tempfile::tempdir().expect("a folder");
    let names = policies::POLICIES.iter().map(|entry| entry.name);
    let seen = |name: &&str| {
        let policy = sojourn_dispatch::Catalogue::default().build(name).expect("it has a name");
        Signals::GATEWAY.contains(policy.requires())
    };
    for name in names.filter(seen) {
        let path = folder.path().join(name);
        let with = |policy: &str, of: &[usize]| GatewaySettings {
            record: Some(path.clone()),
            backends: of.iter().map(|index| all[*index].clone()).collect(),
            ..GatewaySettings::new(policy, Vec::new())
        };
        let running = gateway(with(name, &[0, 1]));
        let mut client = Client::new(running.address());
        let mut ask = || (0..6).for_each(|_| assert_eq!(client.get("/bytes/1").status, 200, "{name}"));
        ask();
        for settings in [with(name, &[0, 1, 2]), with(name, &[2]), with(name, &[1, 2]), with("random", &[0, 1])] {
            running.take(settings).expect(name);
            ask();
        }
        assert_eq!(running.stop().records_failed, 0);
        let records = [path.clone(), path.with_file_name(format!("{name}.1"))];
        let choices = records.into_iter().filter(|path| path.exists()).map(|path| {
            let file = std::io::BufReader::new(fs::File::open(path).expect("a record"));
            let replay = record::replay(file).expect("a whole record");
            assert_eq!(replay.first_difference, None, "{name}");
            replay.choices
        });
        assert_eq!(choices.sum::<u64>(), 30, "{name}");
    }
}

#[test]
fn a_redirector_names_other_places() {
    let nodes = ["s1", "s2"].map(|name| node(name, Discipline::Ps));
    let all = backends(&nodes.each_ref().map(|node| node.address()));
    let running = gateway(RedirectorSettings::new("round-robin", vec![all[0].clone()]));
    let mut other = RedirectorSettings::new("round-robin", vec![all[1].clone()]);
    other.face.status = 302;
    running.take(other).expect("it can be so");
    let reply = get(running.address(), "/x");
    let place = format!("http://{}/x", nodes[1].address());
    assert_eq!((reply.status, reply.header("location")), (302, Some(place.as_str())));
}

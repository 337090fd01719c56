//! `sojourn bed`: real programs on hosts of their own, and nothing left when it ends, however it ends.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::Value;
use sojourn_bed::clock::since_boot;
use sojourn_stats::{Span, Stream};

use crate::skip::skipped;
use crate::sojourn::{PROGRAM, await_that, command, estimates, file, sojourn, stderr, stdout};

/// A server in America and clients in Europe: 100 ms and 8 Mbit/s apart.
const FAR: &str = r#"
name = "a continent away"
seed = 1
[workload]
kind = "open"
arrivals = "exponential(rate = 1 /s)"
clients = [{ region = "europe", number = 1 }]
[[system.region]]
name = "america"
addresses = "198.0.0.0/7"
[[system.region]]
name = "europe"
addresses = "194.0.0.0/7"
[system.paths]
within = { rtt = "2 ms" }
between = { rtt = "100 ms", rate = "8 Mbit/s" }
[system.server]
discipline = "ps"
demand = "1 ms"
"#;

/// Whether this machine lets beds be; says so where it does not.
pub(crate) fn can() -> bool {
    let output = sojourn(&["bed", "run", "continents", "europe", "--", "true"]);
    if !output.status.success() {
        skipped(stderr(&output));
    }
    output.status.success()
}

/// A bed that is taken down at the end of a test.
pub(crate) struct Bed(pub(crate) String);

impl Bed {
    pub(crate) fn up(what: &str) -> Bed {
        let name = name();
        let output = sojourn(&["bed", "up", "--detach", "--name", &name, what]);
        assert!(output.status.success(), "{}", stderr(&output));
        Bed(name)
    }

    pub(crate) fn exec(&self, host: &str, order: &[&str]) -> Output {
        self.command(host, order).output().expect("the program can be run")
    }

    pub(crate) fn start(&self, host: &str, order: &[&str]) -> Child {
        let mut command = self.command(host, order);
        // Apache ends its whole process group with itself.
        command.process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it can be run")
    }

    pub(crate) fn command(&self, host: &str, order: &[&str]) -> Command {
        let mut command = command(&["bed", "exec", "--name", &self.0, host, "--"]);
        command.args(order);
        command
    }

    /// The same as the root of the bed.
    pub(crate) fn as_root(&self, host: &str, order: &[&str]) -> Command {
        let mut command = command(&["bed", "exec", "--root", "--name", &self.0, host, "--"]);
        command.args(order);
        command
    }

    pub(crate) fn state(&self) -> Value {
        let output = sojourn(&["bed", "status", "--name", &self.0, "--json"]);
        let states: Value =
            serde_json::from_str(&stdout(&output)).unwrap_or_else(|e| panic!("{e}: {}", stderr(&output)));
        states[0].clone()
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        sojourn(&["bed", "down", "--name", &self.0]);
    }
}

/// A name that no other test uses, in this process or another one.
fn name() -> String {
    static BEDS: AtomicU32 = AtomicU32::new(0);
    format!("test-{}-{}", std::process::id(), BEDS.fetch_add(1, Ordering::Relaxed))
}

pub(crate) fn has(program: &str) -> bool {
    let found = ["/usr/bin", "/usr/sbin", "/bin"].iter().any(|folder| Path::new(folder).join(program).exists());
    if !found {
        skipped(format!("no {program}"));
    }
    found
}

/// A real nginx as an ordinary user on port 80 of the server, below `folder`.
fn nginx(bed: &Bed, folder: &Path) -> Child {
    fs::write(folder.join("million"), vec![b'.'; 1_000_000]).unwrap();
    fs::write(folder.join("style.css"), format!("/*{}*/", " ".repeat(400_000))).unwrap();
    let page = "<!doctype html><link rel=stylesheet href=style.css><pre id=seen></pre><script>addEventListener('load', () => \
                setTimeout(() => document.getElementById('seen').textContent = 'loaded after ' + \
                performance.getEntriesByType('navigation')[0].loadEventStart + ' ms'))</script>";
    fs::write(folder.join("index.html"), page).unwrap();
    let conf = format!(
        "daemon off; pid nginx.pid; events {{ }}\nhttp {{ types {{ text/html html; text/css css; }} access_log off;\n\
         client_body_temp_path b; proxy_temp_path p; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;\n\
         server {{ listen 80; root {}; }} }}\n",
        folder.display()
    );
    let conf = file(folder, "nginx.conf", conf);
    let errors = folder.join("error.log").display().to_string();
    let prefix = folder.display().to_string();
    let child = bed.start("server-1", &["/usr/sbin/nginx", "-p", &prefix, "-c", &conf, "-e", &errors]);
    await_that("nginx answers", || {
        bed.exec("server-1", &["curl", "-sf", "http://server-1/style.css"]).status.success()
    });
    child
}

#[test]
fn curl_dig_and_chromium_reach_a_real_nginx_over_a_continent() {
    if !can() || !["nginx", "curl"].into_iter().all(has) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let bed = Bed::up(&file(folder.path(), "far.toml", FAR));
    let mut server = nginx(&bed, folder.path());

    let told = bed.exec(
        "europe",
        &[
            "curl",
            "-s",
            "-o",
            "/dev/null",
            "-w",
            "%{time_connect} %{time_total} %{size_download}",
            "http://198.0.0.2/million",
        ],
    );
    let told: Vec<f64> = stdout(&told).split(' ').map(|number| number.parse().expect("a number")).collect();
    let [connect_s, total_s, bytes] = told[..] else { panic!("{told:?}") };
    assert_eq!(bytes, 1e6);
    // No connection is set up in less than a round trip, and none takes two.
    assert!((0.1..0.2).contains(&connect_s), "{connect_s}");
    // 691 packets of 1500 bytes at 8 Mbit/s take 1.036 s, after two round trips; slow start and recovery cost some more.
    assert!((1.236..3.0).contains(&total_s), "{total_s}");

    if has("dig") && has("dnsmasq") {
        let order = ["dnsmasq", "--no-daemon", "--port=53", "--no-resolv", "--no-hosts", "--pid-file=", "--user="];
        let record = "--host-record=www.example,198.0.0.2";
        let mut names = bed.start("server-1", &[&order[..], &[record]].concat());
        await_that("the DNS answers", || {
            stdout(&bed.exec("server-1", &["dig", "+short", "+tries=1", "+timeout=1", "@198.0.0.2", "www.example"]))
                .trim()
                == "198.0.0.2"
        });
        // A round trip; on a busy machine the shortest of three is less than two of them.
        let shortest_ms = shortest_of_three(200.0, || {
            let told = stdout(&bed.exec("europe", &["dig", "+tries=1", "@198.0.0.2", "www.example"]));
            let time = told.lines().find_map(|line| line.strip_prefix(";; Query time: ")).expect("dig says its time");
            assert!(told.contains("198.0.0.2"), "{told}");
            time.trim_end_matches(" msec").parse().expect("a number")
        });
        assert!((100.0..200.0).contains(&shortest_ms), "{shortest_ms}");
        names.kill().unwrap();
        names.wait().unwrap();
    }

    if has("chromium") {
        let loads = AtomicU32::new(0);
        let load_ms = |host: &str| {
            let number = loads.fetch_add(1, Ordering::Relaxed);
            let profile = folder.path().join(format!("profile-{number}")).display().to_string();
            let order = [
                "chromium",
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--disable-dev-shm-usage",
                "--timeout=60000",
                &format!("--user-data-dir={profile}"),
                "--dump-dom",
                "http://198.0.0.2/index.html",
            ];
            let told = bed.exec(host, &order);
            let page = stdout(&told);
            let after = page.split_once("loaded after ").and_then(|(_, rest)| rest.split_once(" ms</pre>"));
            let after = after.unwrap_or_else(|| panic!("{page}{}", stderr(&told))).0;
            after.parse::<f64>().expect("a number")
        };
        // Connection, page, style sheet: three round trips, and 277 packets of 1500 bytes at 8 Mbit/s. A line half as
        // fast would take twice as long; what the browser itself takes is what it takes on the server's own host.
        let least_ms = 300.0 + 415.0;
        let here_ms = load_ms("server-1");
        let after_ms = shortest_of_three(here_ms + 2.0 * least_ms, || load_ms("europe"));
        assert!(
            after_ms >= least_ms && after_ms < here_ms + 2.0 * least_ms,
            "{after_ms}, and {here_ms} without the line"
        );
    }
    // Taken down, the bed takes the server along.
    drop(bed);
    server.wait().unwrap();
}

/// The shortest of three times, or the first that is below `enough`: a busy machine makes some of them long.
fn shortest_of_three(enough: f64, mut time: impl FnMut() -> f64) -> f64 {
    let mut shortest = f64::INFINITY;
    for _ in 0..3 {
        shortest = shortest.min(time());
        if shortest < enough {
            break;
        }
    }
    shortest
}

#[test]
fn apache_runs_as_an_ordinary_user_too() {
    if !can() || !["apache2", "curl"].into_iter().all(has) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("index.html"), "from Apache").unwrap();
    let path = folder.path().display();
    let modules = "/usr/lib/apache2/modules";
    let conf = format!(
        "ServerRoot {path}\nDefaultRuntimeDir {path}\nPidFile {path}/pid\nErrorLog {path}/errors\nServerName far\nListen 80\n\
         LoadModule mpm_prefork_module {modules}/mod_mpm_prefork.so\nLoadModule authz_core_module \
         {modules}/mod_authz_core.so\nLoadModule dir_module {modules}/mod_dir.so\nDocumentRoot {path}\n"
    );
    let conf = file(folder.path(), "apache.conf", conf);
    let bed = Bed::up("dsl");
    let mut server = bed.start("server", &["/usr/sbin/apache2", "-X", "-f", &conf]);
    await_that("Apache answers", || {
        stdout(&bed.exec("client", &["curl", "-s", "http://server/index.html"])) == "from Apache"
    });
    drop(bed);
    server.wait().unwrap();
}

#[test]
fn a_way_is_cut_and_mended_while_a_load_runs() {
    if !can() {
        return;
    }
    let bed = Bed::up("continents");
    let order = ["node", "--listen", "10.1.0.1:8080", "--model", "discipline = \"ps\"\ndemand = \"1 ms\""];
    let mut server = bed.start("america", &[&[PROGRAM], &order[..]].concat());
    let load = |rest: &[&str]| {
        let first = [PROGRAM, "load", "http://10.1.0.1:8080/work", "--json", "--quiet", "--timeout", "300 ms"];
        bed.command("europe", &[&first[..], rest].concat())
    };
    await_that("the node listens", || {
        load(&["--rate", "20 /s", "--requests", "1"]).output().unwrap().status.code() != Some(3)
    });
    let between = |verb: &str, one: &str| {
        let output = sojourn(&["bed", verb, "--name", &bed.0, one, "america"]);
        assert!(output.status.success(), "{}", stderr(&output));
    };
    let offered =
        || bed.state()["links"].as_array().unwrap().iter().map(|link| link["offered"].as_u64().unwrap()).sum::<u64>();
    let before = offered();
    let mut running = load(&["--rate", "50 /s", "--requests", "200"]);
    let running = running.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    await_that("the load is under way", || offered() > before + 100);
    // The whole continent is cut off, by both of its neighbours.
    between("cut", "europe");
    between("cut", "europe-2");
    await_that("packets meet the cut", || bed.state()["cut_packets"].as_u64().unwrap() > 0);
    between("mend", "europe");
    let output = running.wait_with_output().unwrap();
    let told: Value = serde_json::from_str(&stdout(&output)).unwrap_or_else(|e| panic!("{e}: {}", stderr(&output)));
    let counts = &told["counts"];
    let (planned, ok) = (counts["planned"].as_u64().unwrap(), counts["ok"].as_u64().unwrap());
    assert!(planned == 200 && 0 < ok && ok < planned, "{counts}");
    // The server's host loses what runs on it, and the bed stays.
    server.kill().unwrap();
    server.wait().unwrap();
    await_that("what ran there has ended", || {
        !bed.exec("europe", &["curl", "-s", "http://10.1.0.1:8080/"]).status.success()
    });
    assert!(bed.exec("america", &["true"]).status.success());
}

/// What is running with this mark in its environment, and in which namespaces that are not this process's.
pub(crate) fn marked(mark: &str) -> (Vec<String>, BTreeSet<String>) {
    let (mut processes, mut namespaces) = (Vec::new(), BTreeSet::new());
    let of = |folder: &Path, kind: &str| {
        fs::read_link(folder.join("ns").join(kind)).ok().map(|link| link.display().to_string())
    };
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let folder = entry.path();
        let has_mark = fs::read(folder.join("environ"))
            .is_ok_and(|environment| environment.windows(mark.len()).any(|words| words == mark.as_bytes()));
        if has_mark {
            processes.push(folder.display().to_string());
            let kinds = ["user", "net", "mnt", "pid", "ipc"];
            let own = |kind: &&str| of(&folder, kind) == of(Path::new("/proc/self"), kind);
            namespaces.extend(kinds.into_iter().filter(|kind| !own(kind)).filter_map(|kind| of(&folder, kind)));
        }
    }
    (processes, namespaces)
}

/// The namespaces of all processes.
fn namespaces() -> BTreeSet<String> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let links = processes.filter_map(|entry| fs::read_dir(entry.path().join("ns")).ok()).flatten().flatten();
    links.filter_map(|link| fs::read_link(link.path()).ok()).map(|link| link.display().to_string()).collect()
}

#[test]
fn killed_at_any_instant_a_bed_leaves_nothing() {
    if !can() {
        return;
    }
    let mut instants = Stream::new(15, "bed", "killed");
    let mut most = 0;
    for round in 0..10 {
        let name = name();
        let mark = format!("SOJOURN_TEST_MARK={name};");
        let (key, value) = mark.split_once('=').unwrap();
        let script = format!("echo here > $TMPDIR/{name}; sleep 600 & setsid sleep 600 & sleep 600");
        let mut bed = command(&["bed", "run", "--name", &name, "continents", "europe", "--", "sh", "-c", &script])
            .env(key, value)
            .spawn()
            .unwrap();
        // Some die while they are being built, others when all runs; the last one when all runs, however slow the machine.
        let start = since_boot();
        let until = Span::from_secs_f64(0.5 * instants.uniform());
        let awaits_all = |most: usize| round == 9 && most < 6 && since_boot() - start < Span::from_secs_f64(60.0);
        let mut seen = BTreeSet::new();
        while since_boot() - start < until || awaits_all(most) {
            std::thread::park_timeout(Duration::from_millis(2));
            let (processes, namespaces) = marked(&mark);
            most = most.max(processes.len());
            seen.extend(namespaces);
        }
        bed.kill().unwrap();
        bed.wait().unwrap();
        await_that("all of its processes have ended", || marked(&mark).0.is_empty());
        // An orphan that has ended keeps two of them until the machine's first process has reaped it.
        await_that("its namespaces are gone", || namespaces().is_disjoint(&seen));
        for folder in [Path::new("/run/tmp"), Path::new("/tmp"), &std::env::temp_dir()] {
            assert!(!folder.join(&name).exists(), "round {round}: a file in {}", folder.display());
        }
        let status = sojourn(&["bed", "status", "--name", &name]);
        assert_eq!(status.status.code(), Some(2), "round {round}: its name is free");
    }
    assert!(
        most >= 6,
        "in at least one round all was running: the keeper, the first, the shell, three sleepers; {most}"
    );
}

/// Of an experiment that runs live in a bed of its own, the process that was called and the bed's first one.
#[test]
fn a_live_run_that_is_killed_leaves_nothing() {
    if !can() {
        return;
    }
    for victim in ["called", "first"] {
        let name = name();
        let mark = format!("SOJOURN_TEST_MARK={name};");
        let (key, value) = mark.split_once('=').unwrap();
        let [folder, temporary] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let long = LIVE.replace("\"3 s\"", "\"600 s\"");
        let path = file(folder.path(), "live.toml", long);
        let out = folder.path().join("out");
        let mut run = command(&["run", &path, "--out", &out.display().to_string()])
            .env(key, value)
            .env("TMPDIR", temporary.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let cmdline = |process: &String| fs::read(Path::new(process).join("cmdline")).unwrap_or_default();
        let has =
            |process: &String, word: &str| cmdline(process).split(|byte| *byte == 0).any(|of| of == word.as_bytes());
        await_that("its node runs", || marked(&mark).0.iter().any(|process| has(process, "node")));
        let (processes, seen) = marked(&mark);
        assert!(processes.len() >= 4 && seen.len() >= 5, "{victim}: {processes:?}, {seen:?}");
        match victim {
            "called" => run.kill().unwrap(),
            _ => {
                let first = processes.iter().find(|process| has(process, "base")).expect("the bed's first process");
                let id = first.trim_start_matches("/proc/").parse().unwrap();
                nix::sys::signal::kill(nix::unistd::Pid::from_raw(id), nix::sys::signal::Signal::SIGKILL).unwrap();
            }
        }
        assert!(!run.wait().unwrap().success());
        await_that("all of its processes have ended", || marked(&mark).0.is_empty());
        await_that("its namespaces are gone", || namespaces().is_disjoint(&seen));
        let left = |folder: &Path| {
            let names = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.file_name().into_string().unwrap());
            names.collect::<BTreeSet<String>>()
        };
        assert_eq!(left(temporary.path()), BTreeSet::new(), "{victim}");
        // What had happened until then, and nothing that looks like an answer.
        assert_eq!(left(folder.path()), ["live.toml", "out"].map(String::from).into(), "{victim}");
        assert_eq!(left(&out), ["events.jsonl".to_owned()].into(), "{victim}");
    }
}

#[test]
fn two_beds_need_two_names_and_a_bed_may_be_in_a_bed() {
    if !can() {
        return;
    }
    let bed = Bed::up("dsl");
    let second = sojourn(&["bed", "up", "--name", &bed.0, "dsl"]);
    assert_eq!(second.status.code(), Some(2));
    assert!(stderr(&second).contains("is up already") && stderr(&second).contains("--name"), "{}", stderr(&second));
    let other = Bed::up("modem");
    let hosts = |bed: &Bed| bed.state()["hosts"].as_array().unwrap().len();
    assert_eq!((hosts(&bed), hosts(&other)), (2, 2));
    // They do not know one another, though they have the same addresses.
    let inner = bed.exec("client", &[PROGRAM, "bed", "status"]);
    assert_eq!(stdout(&inner).trim(), "no bed is up", "{}", stderr(&inner));
    let inner = bed
        .exec("client", &[PROGRAM, "bed", "run", "continents", "america", "--", "ip", "-o", "address", "show", "eth0"]);
    assert!(stdout(&inner).contains("10.1.0.1"), "{}{}", stdout(&inner), stderr(&inner));
    // A command's exit code is its own.
    assert_eq!(bed.exec("client", &["sh", "-c", "exit 7"]).status.code(), Some(7));
    assert_eq!(bed.exec("client", &["no-such-program"]).status.code(), Some(127));
    assert_eq!(stdout(&bed.exec("client", &["id", "-u"])).trim(), "1000");
}

/// `kill` of what started a command is meant for the command, which may have something to put back.
#[test]
fn a_command_hears_of_a_polite_end() {
    if !can() {
        return;
    }
    let bed = Bed::up("dsl");
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let order =
        format!("trap 'echo bye > {}; exit 9' TERM; echo > {}; while :; do sleep 0.05; done", at("end"), at("on"));
    let mut exec = bed.start("client", &["sh", "-c", &order]);
    await_that("the command runs", || Path::new(&at("on")).exists());
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(exec.id() as i32), nix::sys::signal::Signal::SIGTERM).unwrap();
    assert_eq!(exec.wait().unwrap().code(), Some(9));
    assert_eq!(fs::read_to_string(at("end")).unwrap(), "bye\n");
}

#[test]
fn what_cannot_be_a_bed_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let with = |from: &str, to: &str| file(folder.path(), "wrong.toml", FAR.replace(from, to));
    let refused = |what: &str, rest: &[&str], expected: &[&str]| {
        let output = sojourn(&[&["bed", "run", what, "europe"], rest, &["--", "true"]].concat());
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{what}: {said}");
        assert_eq!(said.trim_end().lines().count(), 1, "{said}");
        assert!(expected.iter().all(|word| said.contains(word)), "{said}");
    };
    refused("no-such", &[], &["neither a file nor a preset", "continents"]);
    refused("continents", &["--set", "seed=2"], &["is a preset"]);
    refused("modem", &[], &["no host `europe`", "client, server"]);
    fs::create_dir(folder.path().join("modem")).unwrap();
    let beside = command(&["bed", "run", "modem", "europe", "--", "true"]).current_dir(folder.path()).output().unwrap();
    assert!(stderr(&beside).contains("no host `europe`"), "a folder is no file: {}", stderr(&beside));
    refused(&with("8 Mbit/s", "0 bit/s"), &[], &["wrong.toml:16: rate", "above 0"]);
    refused(&with("100 ms", "uniform(-10 ms, 10 ms)"), &[], &["wrong.toml:16: "]);
    refused(&with("100 ms", "-10 ms"), &[], &["wrong.toml:16: ", "negative"]);
    refused(&with("between =", "\"america..asia\" ="), &[], &["wrong.toml:16: ", "asia"]);
    refused(&with("between = { rtt = \"100 ms\", rate = \"8 Mbit/s\" }", ""), &[], &["no path joins"]);
    refused(&with("198.0.0.0/7", "198.0.0.0/31"), &[], &["region `america`", "shorter prefix"]);
    refused(&with("[system.paths]", "[system.paths"), &[], &["wrong.toml:14"]);
    let output = sojourn(&["bed", "exec", "--name", &name(), "europe", "--", "true"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("no bed named"), "{}", stderr(&output));
}

/// As an administrator forbids it: in a user namespace that allows no further ones.
#[test]
fn a_machine_that_forbids_user_namespaces_is_told_the_remedy() {
    let forbid = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"";
    let order =
        ["--user", "--map-root-user", "sh", "-c", forbid, "sh", PROGRAM, "bed", "run", "dsl", "client", "--", "true"];
    let Ok(output) = Command::new("unshare").args(order).output() else {
        return skipped("no `unshare` (package util-linux)");
    };
    let said = stderr(&output);
    if !said.contains("sojourn: ") || said.contains("/dev/net/tun") {
        return skipped(said);
    }
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("sudo sysctl -w user.max_user_namespaces=10000"), "{said}");
}

/// Clients of two regions, 20 and 60 ms from a server, over one link.
const LIVE: &str = r#"
name = "clients of two regions"
seed = 3
[workload]
kind = "open"
arrivals = "exponential(rate = 40 /s)"
size = "constant(2 kB)"
clients = [{ region = "near", number = 5 }, { region = "far", number = 5 }]
http = "1.0"
[[system.region]]
name = "home"
[[system.region]]
name = "near"
[[system.region]]
name = "far"
[system.paths]
within = { rtt = "1 ms" }
between = { rtt = "60 ms" }
"home..near" = { rtt = "20 ms", medium = "link" }
"home..far" = { rtt = "60 ms", medium = "link" }
[system.medium.link]
rate = "20 Mbit/s"
[system.tcp]
stack = "linux-6"
[system.server]
discipline = "ps"
demand = "1 ms"
[run]
by = ["live"]
live = { duration = "3 s", warm_up = "0 s" }
"#;

/// Emulated servers and a real one; each request opens a connection, so it takes two round trips at least.
#[test]
fn experiments_with_paths_run_live_in_a_bed_of_their_own() {
    if !can() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let real = LIVE.replace("[system.server]", "[system]\nprogram = { name = \"nginx\" }\n[system.server]");
    let texts = if has("nginx") { vec![LIVE.to_owned(), real] } else { vec![LIVE.to_owned()] };
    for (number, text) in texts.into_iter().enumerate() {
        let path = file(folder.path(), "live.toml", text);
        // Two round trips are 80 ms in the mean; over the longer of the paths alone they would be 120 ms. On a busy
        // machine a run may take longer, but not all of three.
        let (mut run, most_s) = (0, 0.11);
        let mut out = PathBuf::new();
        let shortest_s = shortest_of_three(most_s, || {
            run += 1;
            out = folder.path().join(format!("out-{number}-{run}"));
            let output = sojourn(&["run", &path, "--out", &out.display().to_string()]);
            assert!(matches!(output.status.code(), Some(0 | 1)), "{}{}", stdout(&output), stderr(&output));
            estimates(&out, "live", "response_time_mean")[0]
        });
        assert!(shortest_s < most_s, "{shortest_s}");
        let [mean_s, twin_s] = ["live", "twin"].map(|engine| estimates(&out, engine, "response_time_mean")[0]);
        // Both hosts send their parts of one plan, which is the twin's.
        let run: Value = serde_json::from_str(&fs::read_to_string(out.join("run.json")).unwrap()).unwrap();
        let facts = run["variants"][0]["live"]["facts"].as_array().unwrap();
        let requests = facts.iter().find(|fact| fact[0] == "requests").expect("it is told how many there were");
        let planned: f64 = requests[1].as_str().unwrap().parse().unwrap();
        let twin = 3.0 * estimates(&out, "twin", "throughput")[0];
        assert!((planned / twin - 1.0).abs() < 0.1, "{planned} requests, of the same plan {twin}");
        // Half of the clients are 20 ms away, half 60 ms: two round trips are 80 ms in the mean, of 120 requests with a
        // standard error of 3.7 ms. It may be longer on a busy machine, but not shorter.
        assert!(mean_s > 0.08 - 5.0 * 0.0037, "{mean_s}");
        assert!(twin_s > 0.08 - 5.0 * 0.0037 && twin_s < 0.08 + 5.0 * 0.0037 + 0.01, "{twin_s}");
    }
    // Round trips that differ need a host for each machine of clients.
    let several = LIVE.replace("\"20 ms\"", "\"uniform(10 ms, 30 ms)\"").replace("number = 5", "number = 50");
    let out = folder.path().join("refused").display().to_string();
    let output = sojourn(&["run", &file(folder.path(), "several.toml", several), "--out", &out]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("hosts for 64 machines of clients, not for 100"), "{}", stderr(&output));
}

/// A bed whose hosts are a front node and servers behind it, with rules, routes, devices and settings.
#[test]
fn a_killed_bed_whose_hosts_are_switches_leaves_nothing() {
    if !can() || !["nft", "iptables", "ip"].into_iter().all(has) {
        return;
    }
    /// What the machine's own network is like.
    fn machine() -> Vec<String> {
        let asked = |arguments: &[&str]| {
            let output =
                Command::new("ip").args(arguments).env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").output().unwrap();
            stdout(&output)
        };
        let settings = ["ip_forward", "conf/all/arp_ignore", "conf/all/arp_announce", "conf/all/send_redirects"];
        let settings = settings.map(|name| fs::read_to_string(Path::new("/proc/sys/net/ipv4").join(name)).unwrap());
        let names = fs::read_to_string("/proc/net/unix").unwrap();
        let names = names.lines().filter_map(|line| line.split('@').nth(1)).map(ToOwned::to_owned);
        let own = names
            .filter(|name| ["sojourn-switch", "sojourn-half", "sojourn-before"].iter().any(|of| name.starts_with(of)));
        let devices = asked(&["-o", "-br", "link", "show"])
            .lines()
            .map(|line| line.split(' ').next().unwrap().to_owned())
            .collect::<Vec<_>>();
        [
            settings.into(),
            own.collect(),
            devices,
            vec![asked(&["rule", "show"]), asked(&["address", "show", "dev", "lo"])],
        ]
        .concat()
    }
    let before = machine();
    let name = name();
    let mark = format!("SOJOURN_TEST_MARK={name};");
    let (key, value) = mark.split_once('=').unwrap();
    let mut run = command(&["bed", "run", "--name", &name, "cluster", "client", "--", "sleep", "600"])
        .env(key, value)
        .spawn()
        .unwrap();
    await_that("it is up", || sojourn(&["bed", "exec", "--name", &name, "front", "--", "true"]).status.success());
    let part = |host: &str, order: &[&str]| {
        let into = ["bed", "exec", "--root", "--name", &name, host, "--", "env", &mark, PROGRAM, "switch"];
        let all = [&into[..], order, &["--child", "--service", "10.0.1.100:80", "--mode", "tunnel"]].concat();
        sojourn_bed::Child::spawn(Path::new(PROGRAM), all, Duration::from_secs(20)).expect("it starts")
    };
    let half = ["server", "--front", "10.0.1.1"];
    let front = ["front", "--backend", "web-1=10.0.1.11", "--backend", "web-2=10.0.1.12"];
    let parts = [part("web-1", &half), part("web-2", &half), part("front", &front)];
    let (processes, seen) = marked(&mark);
    let has = |process: &String, word: &str| {
        let words = fs::read(Path::new(process).join("cmdline")).unwrap_or_default();
        words.split(|byte| *byte == 0).any(|of| of == word.as_bytes())
    };
    assert!(processes.iter().filter(|process| has(process, "switch")).count() >= 3, "{processes:?}");
    run.kill().unwrap();
    run.wait().unwrap();
    await_that("all of its processes have ended", || marked(&mark).0.is_empty());
    // What has ended keeps two of them until its parent has heard of it.
    drop(parts);
    await_that("its namespaces are gone", || namespaces().is_disjoint(&seen));
    assert_eq!(sojourn(&["bed", "status", "--name", &name]).status.code(), Some(2), "its name is free");
    assert_eq!(machine(), before);
}

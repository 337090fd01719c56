//! Load daemons beside two servers that know nothing of them, nginx and Apache, behind a packet switch on hosts of a bed: a
//! switch that goes by what they tell, and what both say of a server that was killed, frozen or cut off.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use sojourn_bed::Child;
use sojourn_bed::clock::since_boot;
use sojourn_stats::{Span, Stream};
use tempfile::TempDir;

use crate::bed::{self, Bed};
use crate::sojourn::{PROGRAM, await_that, command, file, sojourn, stderr};

const SERVERS: [&str; 2] = ["web-1", "web-2"];
const SERVICE: &str = "10.0.1.100:80";

/// nginx as web-1, Apache as web-2, a daemon beside each, and a switch in front that goes by the room that they have. Both
/// compress one page for each request, and Apache's is four times as long. Their logs are in Combined.
struct Cluster {
    switch: Child,
    daemons: [Child; 2],
    _halves: [Child; 2],
    servers: [std::process::Child; 2],
    folder: TempDir,
    bed: Bed,
}

impl Cluster {
    /// None where this machine lacks something, which has been said then.
    fn new(times: &[&str]) -> Option<Cluster> {
        let needed = ["nginx", "apache2", "nft", "iptables", "ip"];
        if !bed::can() || !needed.into_iter().all(bed::has) {
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let bed = Bed::up("cluster");
        let mut words = Stream::new(9, "page", "words");
        let page: String = (0..60_000).map(|_| char::from(b'a' + words.below(16) as u8)).collect();
        for (server, repeats) in SERVERS.iter().zip([1, 4]) {
            let root = folder.path().join(server);
            fs::create_dir(&root).unwrap();
            file(&root, "page.txt", page.repeat(repeats));
            file(&root, "access.log", "");
        }
        let key = file(folder.path(), "key", "0123456789abcdef");
        let servers = [nginx(&bed, &folder.path().join("web-1")), apache(&bed, &folder.path().join("web-2"))];
        let child = |host: &str, is_root: bool, order: &[&str]| {
            let mut exec = command(&["bed", "exec", "--name", &bed.0]);
            exec.args(is_root.then_some("--root")).args([host, "--", PROGRAM]).args(order).arg("--child");
            Child::start(exec, Duration::from_secs(20)).expect("a child is ready")
        };
        let halves = SERVERS.map(|host| child(host, true, &["switch", "server", "--service", SERVICE]));
        let front =
            ["switch", "front", "--service", SERVICE, "--backend", "web-1=10.0.1.11", "--backend", "web-2=10.0.1.12"];
        let policy =
            ["--policy", "remaining-capacity", "--probe", "200 ms", "--reports", "10.0.1.1:7400", "--key", &key];
        let switch = child("front", true, &[&front[..], &policy].concat());
        let daemon = |host: &str, workers: &str| {
            let log = folder.path().join(host).join("access.log").display().to_string();
            let who = ["loadd", "--name", host, "--to", "10.0.1.1:7400", "--key", &key];
            let sources = ["--port", "80", "--workers", workers, "--log", &log];
            child(host, false, &[&who[..], &sources, times].concat())
        };
        let daemons = [daemon("web-1", "nginx"), daemon("web-2", "apache2")];
        Some(Cluster { switch, daemons, _halves: halves, servers, folder, bed })
    }

    /// A load from the client, with a connection per request, that goes on meanwhile.
    fn load(&self, rate: &str, duration: &str) -> std::process::Child {
        let mut load = command(&["bed", "exec", "--name", &self.bed.0, "client", "--", PROGRAM, "load"]);
        let arrivals = format!("exponential(rate = {rate})");
        load.args(["http://10.0.1.100/page.txt", "--http", "1.0", "-H", "accept-encoding: gzip", "--json", "--quiet"]);
        load.args(["--arrivals", &arrivals, "--duration", duration, "--timeout", "3 s"]);
        load.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it can be run")
    }

    /// What the switch says of both servers now.
    fn servers(&mut self) -> [Value; 2] {
        let said = |switch: &Child| switch.events().iter().filter(|said| said["event"] == "counts").count();
        let before = said(&self.switch);
        self.switch.say(&json!({"ask": "counts"})).expect("it listens");
        await_that("it answers", || said(&self.switch) > before);
        let counts = self.switch.events().into_iter().rfind(|said| said["event"] == "counts").expect("it was there");
        [0, 1].map(|server| counts["backends"][server].clone())
    }

    /// Runs a line of a shell on a host as its root.
    fn shell(&self, host: &str, line: &str) {
        let output = sojourn(&["bed", "exec", "--name", &self.bed.0, "--root", host, "--", "sh", "-c", line]);
        assert!(output.status.success(), "{line}: {}", stderr(&output));
    }

    /// Sends a signal to all processes of Apache.
    fn signal(&self, signal: &str) {
        let pid = self.folder.path().join("web-2/pid");
        let line = format!("p=$(cat {}); kill -{signal} $p $(cat /proc/$p/task/$p/children)", pid.display());
        self.shell("web-2", &line);
    }

    /// Waits until a child says something of web-2 that it had not said so often before.
    #[track_caller]
    fn await_said(&self, child: &Child, event: &str, times: usize) {
        await_that(&format!("{event} for the {times}th time"), || times_said(child, event) >= times);
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        sojourn(&["bed", "down", "--name", &self.bed.0]);
        self.servers.iter_mut().for_each(|server| drop(server.wait()));
    }
}

fn times_said(child: &Child, event: &str) -> usize {
    let of_it = |said: &&Value| said["event"] == event && ["name", "backend"].iter().all(|key| said[*key] != "web-1");
    child.events().iter().filter(of_it).count()
}

fn knows_both(cluster: &mut Cluster) -> bool {
    let is_known = |server: &Value| server["load"]["capacity_per_s"].as_f64().is_some_and(|capacity| capacity > 0.0);
    cluster.servers().iter().all(is_known)
}

/// Asks ten times a second.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = since_boot();
    while !holds() {
        assert!(since_boot() - start < Span(60_000_000_000), "never came: {what}");
        wait(Span(100_000_000));
    }
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn wait(span: Span) {
    let start = since_boot();
    while since_boot() - start < span {
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

fn start(bed: &Bed, host: &str, order: &[&str]) -> std::process::Child {
    let server = bed.start(host, order);
    await_that("the server listens", || {
        bed.exec(host, &["sh", "-c", "ss -Hltn sport = :80 | grep -q ."]).status.success()
    });
    server
}

fn nginx(bed: &Bed, folder: &Path) -> std::process::Child {
    let at = folder.display().to_string();
    let temporary =
        ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(|of| format!("{of}_temp_path {at}/{of};\n"));
    let conf = format!(
        "daemon off; pid {at}/pid; worker_processes 2; events {{ }}\nhttp {{ access_log {at}/access.log combined;\n\
         types {{ text/plain txt; }} gzip on; gzip_comp_level 9; gzip_types text/plain; gzip_http_version 1.0;\n\
         {} server {{ listen 80; root {at}; }} }}\n",
        temporary.concat()
    );
    let conf = file(folder, "conf", conf);
    start(bed, "web-1", &["/usr/sbin/nginx", "-p", &at, "-c", &conf, "-e", &format!("{at}/errors")])
}

fn apache(bed: &Bed, folder: &Path) -> std::process::Child {
    let at = folder.display();
    let modules = ["mpm_prefork", "authz_core", "mime", "filter", "deflate"]
        .map(|name| format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n"));
    let combined = r#"%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\""#;
    let conf = format!(
        "ServerRoot {at}\nDefaultRuntimeDir {at}\nPidFile {at}/pid\nErrorLog {at}/errors\nServerName web-2\nListen 80\n{}\
         TypesConfig /dev/null\nAddType text/plain .txt\nAddOutputFilterByType DEFLATE text/plain\n\
         DeflateCompressionLevel 9\nStartServers 8\nMaxRequestWorkers 32\nKeepAlive Off\nDocumentRoot {at}\n\
         CustomLog {at}/access.log \"{combined}\"\n",
        modules.concat()
    );
    let conf = file(folder, "conf", conf);
    start(bed, "web-2", &["/usr/sbin/apache2", "-f", &conf, "-DFOREGROUND"])
}

#[test]
fn servers_that_know_nothing_of_it_share_by_the_room_that_their_daemons_tell() {
    let Some(mut cluster) = Cluster::new(&[]) else { return };
    let load = cluster.load("40 /s", "15 s");
    // What each has room for is learned from its first reports.
    until("the capacity of both is known", || knows_both(&mut cluster));
    let before = cluster.servers();
    let output = load.wait_with_output().expect("it ends");
    let after = cluster.servers();
    let told: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", stderr(&output)));
    assert_eq!(told["counts"]["ok"], told["counts"]["planned"], "{}", told["counts"]);
    let given = [0, 1].map(|server| number(&after[server]["connections"]) - number(&before[server]["connections"]));
    assert!(given[0] > 2.0 * given[1] && given[1] > 0.0, "{given:?}: {after:?}");
    for server in &after {
        let load = &server["load"];
        // Four seconds are the heartbeat; half a second is the tick.
        assert!((0.0..4.6).contains(&number(&load["age_s"])), "{after:?}");
        assert!((0.0..=1.0).contains(&number(&load["cpu"])) && number(&load["in_flight"]) < 16.0, "{after:?}");
        assert!(number(&load["room_per_s"]) <= number(&load["capacity_per_s"]), "{after:?}");
    }
    let capacity = [0, 1].map(|server| number(&after[server]["load"]["capacity_per_s"]));
    assert!(capacity[0] > 2.0 * capacity[1], "a page that is four times as long: {after:?}");
    let [first, second] = cluster.daemons.each_ref().map(|daemon| times_said(daemon, "overload"));
    assert_eq!((first, second), (0, 0));
}

#[test]
fn a_server_that_is_killed_frozen_or_cut_off_is_said_and_gets_nothing_new() {
    let Some(mut cluster) = Cluster::new(&["--every", "100 ms", "--heartbeat", "500 ms"]) else { return };
    let mut load = cluster.load("60 /s", "120 s");
    until("the capacity of both is known", || knows_both(&mut cluster));

    // Killed: the daemon finds no server, the switch's next probe is refused, and reports are missed.
    cluster.signal("KILL");
    cluster.await_said(&cluster.daemons[1], "server_absent", 1);
    cluster.await_said(&cluster.switch, "backend_down", 1);
    cluster.await_said(&cluster.switch, "reports_silent", 1);
    let at = cluster.folder.path().join("web-2");
    fs::remove_file(at.join("pid")).unwrap();
    let dead = std::mem::replace(&mut cluster.servers[1], apache(&cluster.bed, &at));
    { dead }.wait().expect("it was killed");
    cluster.await_said(&cluster.daemons[1], "server_found", 1);
    cluster.await_said(&cluster.switch, "backend_up", 1);
    cluster.await_said(&cluster.switch, "reports_heard", 1);

    // Frozen: its kernel takes connections for it, so that no probe fails; but they are not accepted, which is an overload,
    // and a server that answers nothing has no room.
    cluster.signal("STOP");
    cluster.await_said(&cluster.daemons[1], "overload", 1);
    let load_of = |cluster: &mut Cluster| cluster.servers()[1]["load"].clone();
    let mut last = Value::Null;
    until("it has no room", || {
        last = load_of(&mut cluster);
        number(&last["room_per_s"]) == 0.0 && number(&last["in_flight"]) > 8.0
    });
    let before = cluster.servers();
    wait(Span(1_500_000_000));
    let after = cluster.servers();
    let given = [0, 1].map(|server| number(&after[server]["connections"]) - number(&before[server]["connections"]));
    assert!(given[0] > 20.0 && given[1] == 0.0, "{given:?}: {last}");
    assert_eq!(times_said(&cluster.switch, "backend_down"), 1, "it was not down");
    cluster.signal("CONT");
    cluster.await_said(&cluster.daemons[1], "underload", 1);
    until("it has room again", || number(&load_of(&mut cluster)["room_per_s"]) > 0.0);

    // Cut off, at its port of the Ethernet: nothing answers, and nothing is heard.
    let way = sojourn(&["bed", "cut", "--name", &cluster.bed.0, "front", "web-2"]);
    assert_eq!(way.status.code(), Some(2), "frames pass no link: {}", stderr(&way));
    assert!(stderr(&way).contains("`sojourn bed exec --root router -- ip link set port4 down`"), "{}", stderr(&way));
    cluster.shell("router", "ip link set port4 down");
    cluster.await_said(&cluster.switch, "backend_down", 2);
    cluster.await_said(&cluster.switch, "reports_silent", 2);
    cluster.shell("router", "ip link set port4 up");
    cluster.await_said(&cluster.switch, "backend_up", 2);
    cluster.await_said(&cluster.switch, "reports_heard", 2);
    let before = number(&cluster.servers()[1]["connections"]);
    until("it gets connections again", || number(&cluster.servers()[1]["connections"]) > before);
    assert_eq!(times_said(&cluster.switch, "queue_failed"), 0);
    load.kill().expect("it runs");
    load.wait().expect("it ends");
}

//! Clusters in three regions, reached by name: a DNS that is authoritative for a delegated zone, unbound as the resolver in
//! front of it, which finds it from the root on and tells the networks of its clients, and curl, dig and Chromium as clients.
//! Then a whole site dies.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use sojourn_bed::clock::since_boot;
use tempfile::TempDir;

use crate::bed::{self, Bed, has};
use crate::sojourn::{PROGRAM, await_that, file, sojourn, stderr, stdout};

/// A DNS, and in each region a client and a cluster: a front node and two servers. Clients are 20 ms from their own cluster and
/// 120 ms from others.
const REGIONS: &str = r#"
name = "clusters in three regions"
seed = 17
[workload]
kind = "open"
arrivals = "exponential(rate = 1 /s)"
clients = [{ region = "europe", number = 1 }, { region = "america", number = 1 }, { region = "pacific", number = 1 }]
[[system.region]]
name = "europe"
addresses = "194.0.0.0/7"
[[system.region]]
name = "america"
addresses = "198.0.0.0/7"
[[system.region]]
name = "pacific"
addresses = "202.0.0.0/7"
[system.paths]
within = { rtt = "20 ms" }
between = { rtt = "120 ms" }
[[system.site]]
name = "c1"
region = "europe"
[[system.site]]
name = "c2"
region = "america"
[[system.site]]
name = "c3"
region = "pacific"
[[system.tier]]
name = "dns"
face = "dns"
policy = "round-robin"
ttl = "5 s"
targets = { sites = ["c1", "c2", "c3"] }
[[system.tier]]
name = "front"
face = "switch"
policy = "round-robin"
targets = { servers = 2 }
[system.server]
discipline = "ps"
demand = "1 ms"
"#;

const CLUSTERS: [(&str, &str); 3] = [("c1", "europe"), ("c2", "america"), ("c3", "pacific")];

/// The root of names, and the resolver of all clients, each beside the client of a region.
const ROOT: &str = "europe";
const RESOLVER: &str = "pacific";

const NAME: &str = "www.geo.example.org";
const BIG: u64 = 3_000_000;

/// A front node is down after two of these without a report (s), and a look at the clock.
const HEARTBEAT_S: f64 = 2.0;

/// A page that says whose it is, and in a browser what its name and its connection took, and when all was there.
const PAGE: &str = "<!doctype html><title>CLUSTER</title><p>this is CLUSTER</p><pre id=seen></pre><script>\
                    addEventListener('load', () => setTimeout(() => { \
                    const of = performance.getEntriesByType('navigation')[0]; \
                    document.getElementById('seen').textContent = 'name ' + (of.domainLookupEnd - of.domainLookupStart) + \
                    ' connection ' + (of.connectEnd - of.connectStart) + ' loaded ' + of.loadEventStart + ' end'; }))</script>";

/// The bed with everything that runs in it, which ends with it.
struct World {
    folder: TempDir,
    addresses: BTreeMap<String, String>,
    /// The address of each cluster's service.
    services: Vec<String>,
    /// By cluster; the last are those of none.
    running: Vec<Vec<Child>>,
    bed: Bed,
}

#[test]
fn clients_reach_the_nearest_cluster_by_name_and_leave_one_that_dies() {
    let programs = ["nginx", "curl", "dig", "unbound", "nft", "iptables", "chromium"];
    if !bed::can() || !programs.into_iter().all(has) {
        return;
    }
    let mut world = World::new();
    world.dns();
    (0..CLUSTERS.len()).for_each(|number| world.cluster(number));
    world.names();
    await_that("the DNS has heard each cluster", || {
        CLUSTERS.iter().zip(&world.services).all(|((_, region), service)| world.told_by_dns(region).contains(service))
    });
    world.ask_by_name();
    world.browse();
    world.lose_a_site();
    world.read_record();
}

impl World {
    fn new() -> World {
        let folder = tempfile::tempdir().unwrap();
        let bed = Bed::up(&file(folder.path(), "regions.toml", REGIONS));
        let state = bed.state();
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let hosts = state["hosts"].as_array().unwrap().iter();
        let addresses = hosts.map(|host| (text(&host["name"]), text(&host["address"]))).collect();
        let services = state["services"].as_array().unwrap().iter().map(|of| text(&of["addresses"][0])).collect();
        file(folder.path(), "key", "0123456789abcdef\n");
        let running = (0..=CLUSTERS.len()).map(|_| Vec::new()).collect();
        World { folder, addresses, services, running, bed }
    }

    fn address(&self, host: &str) -> &str {
        &self.addresses[host]
    }

    /// The path of a file of this test.
    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// Starts what goes on until the end.
    fn start(&mut self, cluster: usize, mut command: Command) {
        let null = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.running[cluster].push(null.spawn().expect("it can be run"));
    }

    /// The DNS of the zone geo.example.org.
    fn dns(&mut self) {
        let own = self.address("dns").to_owned();
        let zone = format!("$TTL 300\n@ SOA ns1 hostmaster ( 1 1h 15m 2w 60 )\n  NS ns1\nns1 A {own}\n");
        file(self.folder.path(), "geo.zone", zone);
        let site = |((name, _), address): (&(&str, &str), &String)| {
            format!("[[zone.service.site]]\nname = \"{name}\"\naddress = \"{address}\"\n")
        };
        let sites: String = CLUSTERS.iter().zip(&self.services).map(site).collect();
        let config = format!(
            "listen = [\"{own}:53\"]\n[reports]\nlisten = \"{own}:7400\"\nkey_file = \"key\"\n[[zone]]\n\
             name = \"geo.example.org\"\nfile = \"geo.zone\"\n[[zone.service]]\nname = \"www\"\n\
             policy = \"nearest(probes = false, bits = 7)\"\nttl = \"5 s\"\nanswers = 2\nrecord = \"decisions.jsonl\"\n{sites}"
        );
        let config = file(self.folder.path(), "dns.toml", config);
        let command = self.bed.command("dns", &[PROGRAM, "dns", "--config", &config]);
        self.start(CLUSTERS.len(), command);
    }

    /// Two servers with their load daemons, and a front node that reports for them.
    fn cluster(&mut self, number: usize) {
        let ((site, _), service) = (CLUSTERS[number], format!("{}:80", self.services[number]));
        let (front, key) = (format!("front-{}", number + 1), self.path("key"));
        let [to_front, to_dns] = [front.as_str(), "dns"].map(|host| format!("{}:7400", self.address(host)));
        let mut backends = Vec::new();
        for server in [2 * number + 1, 2 * number + 2].map(|server| format!("server-{server}")) {
            let own = self.folder.path().join(&server);
            fs::create_dir(&own).unwrap();
            fs::write(own.join("index.html"), PAGE.replace("CLUSTER", site)).unwrap();
            fs::write(own.join("big"), vec![b'.'; BIG as usize]).unwrap();
            let (own, root) = (own.display().to_string(), own.display());
            let conf = format!(
                "daemon off; master_process off; pid nginx.pid; events {{ }}\nhttp {{ types {{ text/html html; }} \
                 access_log off; client_body_temp_path b; proxy_temp_path p; fastcgi_temp_path f; uwsgi_temp_path u; \
                 scgi_temp_path s; server {{ listen 80; root {root}; }} }}\n"
            );
            let conf = file(Path::new(&own), "nginx.conf", conf);
            let nginx = ["/usr/sbin/nginx", "-p", &own, "-c", &conf, "-e", "errors"];
            let half = [PROGRAM, "switch", "server", "--service", &service];
            let who = [PROGRAM, "loadd", "--name", &server, "--to", &to_front, "--key", &key, "--port", "80"];
            let commands = [
                self.bed.command(&server, &nginx),
                self.bed.as_root(&server, &half),
                self.bed.command(&server, &[&who[..], &["--workers", "nginx"]].concat()),
            ];
            commands.into_iter().for_each(|command| self.start(number, command));
            backends.push(format!("{server}={}", self.address(&server)));
        }
        let fresh = self.bed.command(&format!("server-{}", 2 * number + 1), &["curl", "-sf", "http://127.0.0.1/"]);
        await_output("nginx answers", fresh);
        let heartbeat = format!("{HEARTBEAT_S} s");
        let order = [PROGRAM, "switch", "front", "--service", &service, "--policy", "round-robin"];
        let servers = ["--backend", &backends[0], "--backend", &backends[1], "--reports", &to_front, "--key", &key];
        let reports = ["--report-to", &to_dns, "--name", site, "--report-heartbeat", &heartbeat];
        let command = self.bed.as_root(&front, &[&order[..], &servers, &reports].concat());
        self.start(number, command);
    }

    /// A root that delegates the zone, a resolver, and what all programs of the bed know of it.
    fn names(&mut self) {
        let (root, resolver, dns) = (self.address(ROOT), self.address(RESOLVER), self.address("dns"));
        let zone = format!(
            ". 86400 IN SOA root.test. hostmaster.test. 1 1800 900 604800 86400\n. 86400 IN NS root.test.\n\
             root.test. 86400 IN A {root}\ngeo.example.org. 86400 IN NS ns1.geo.example.org.\n\
             ns1.geo.example.org. 86400 IN A {dns}\n"
        );
        file(self.folder.path(), "root.zone", zone);
        file(self.folder.path(), "root.hints", format!(". 86400 IN NS root.test.\nroot.test. 86400 IN A {root}\n"));
        let server = |address: &str| {
            format!(
                "server:\n  directory: \"{}\"\n  chroot: \"\"\n  username: \"\"\n  pidfile: \"\"\n  use-syslog: no\n  \
                 do-daemonize: no\n  do-ip6: no\n  num-threads: 1\n  interface: {address}\n",
                self.folder.path().display()
            )
        };
        let of_root = server(root)
            + "  module-config: \"iterator\"\n  access-control: 0.0.0.0/0 allow_snoop\nauth-zone:\n  name: \".\"\n  \
               zonefile: \"root.zone\"\n  for-downstream: yes\n  for-upstream: no\n  fallback-enabled: no\n";
        let of_resolver = server(resolver)
            + &format!(
                "  module-config: \"subnetcache iterator\"\n  access-control: 0.0.0.0/0 allow\n  root-hints: \
                 \"root.hints\"\n  rrset-roundrobin: no\n  send-client-subnet: {dns}\n"
            );
        let confs = [("root.conf", of_root), ("resolver.conf", of_resolver)];
        let confs = confs.map(|(name, text)| file(self.folder.path(), name, text));
        let resolv = file(self.folder.path(), "resolv.conf", format!("nameserver {resolver}\n"));
        for (host, conf) in [ROOT, RESOLVER].into_iter().zip(&confs) {
            let command = self.bed.command(host, &["/usr/sbin/unbound", "-d", "-c", conf]);
            self.start(CLUSTERS.len(), command);
        }
        let mounted = self.bed.as_root(ROOT, &["mount", "--bind", &resolv, "/etc/resolv.conf"]).output().unwrap();
        assert!(mounted.status.success(), "{}", stderr(&mounted));
        let fresh = self.bed.command(RESOLVER, &["dig", "+tries=1", "+time=1", "+short", NAME]);
        await_output("the resolver finds the zone", fresh);
    }

    /// What the DNS itself says to the network of a region's client.
    fn told_by_dns(&self, region: &str) -> String {
        let (server, subnet) = (format!("@{}", self.address("dns")), format!("+subnet={}/24", self.address(region)));
        stdout(&self.bed.exec("dns", &["dig", &server, "+tries=1", "+time=1", "+short", NAME, &subnet]))
    }

    /// curl and dig of each region: all ask one resolver, and each is sent to its own region.
    fn ask_by_name(&self) {
        let url = format!("http://{NAME}/");
        let told = "%{stderr}%{remote_ip} %{time_namelookup} %{time_connect} %{time_total}";
        for ((site, region), service) in CLUSTERS.iter().zip(&self.services) {
            let output = self.bed.exec(region, &["curl", "-s", "-w", told, &url]);
            let (page, told) = (stdout(&output), stderr(&output));
            assert!(page.contains(&format!("this is {site}")), "{region}: {page}{told}");
            let (address, times) = told.split_once(' ').expect("an address and times");
            let times: Vec<f64> = times.split(' ').map(|time| time.parse().expect("a time")).collect();
            let [name_s, connect_s, total_s] = times[..] else { panic!("{told}") };
            assert_eq!(address, service, "{region}");
            // A round trip for the connection and one for the page: 20 ms each at least.
            assert!(connect_s - name_s >= 0.02 && total_s - name_s >= 0.04, "{region}: {told}");
            let far = if *region == RESOLVER { 0.0 } else { 0.12 };
            assert!(name_s >= far, "{region}: the resolver is a round trip away: {told}");
            let told = stdout(&self.bed.exec(region, &["dig", "+tries=1", NAME]));
            let first = told.lines().find(|line| line.starts_with(NAME)).unwrap_or_default();
            assert!(first.ends_with(service.as_str()), "{region}: {told}");
            let took = told.lines().find_map(|line| line.strip_prefix(";; Query time: ")).expect("dig says its time");
            let took_ms: f64 = took.trim_end_matches(" msec").parse().expect("a number");
            assert!(took_ms >= 1e3 * far, "{region}: {told}");
        }
    }

    /// Though one resolver asked, the DNS decided for the network of each client: its record says so, which is whole at the end.
    fn read_record(&mut self) {
        // It was the first to start.
        let dns = &mut self.running[CLUSTERS.len()][0];
        kill(Pid::from_raw(dns.id() as i32), Signal::SIGTERM).unwrap();
        dns.wait().unwrap();
        let record = fs::read_to_string(self.path("decisions.jsonl")).unwrap();
        for (_, region) in CLUSTERS {
            let network = self.address(region).rsplit_once('.').expect("four numbers").0;
            assert!(record.contains(&format!("\"{network}.")), "{region}: {record}");
        }
    }

    /// A browser of each region.
    fn browse(&self) {
        for (site, region) in CLUSTERS {
            let profile = format!("--user-data-dir={}", self.path(&format!("profile-{region}")));
            let quiet = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"];
            let alone = ["--disable-background-networking", "--disable-component-update", "--disable-sync"];
            let rest = ["--disable-dev-shm-usage", "--timeout=60000", &profile, "--dump-dom"];
            let url = format!("http://{NAME}/");
            let order = [&["chromium"][..], &quiet, &alone, &rest, &[&url]].concat();
            let output = self.bed.exec(region, &order);
            let page = stdout(&output);
            assert!(page.contains(&format!("this is {site}")), "{region}: {page}{}", stderr(&output));
            let seen = page.split_once("name ").and_then(|(_, rest)| rest.split_once(" end"));
            let seen =
                seen.unwrap_or_else(|| panic!("{region}: {page}")).0.replace("connection ", "").replace("loaded ", "");
            let times: Vec<f64> = seen.split(' ').map(|time| time.parse().expect("a time")).collect();
            let [name_ms, connection_ms, loaded_ms] = times[..] else { panic!("{seen}") };
            assert!(name_ms >= 0.0 && loaded_ms >= 40.0, "{region}: {seen}");
            // A browser that has opened a connection ahead of the page shows none.
            assert!(connection_ms == 0.0 || connection_ms >= 20.0, "{region}: {seen}");
        }
    }

    /// The front node of the first cluster is killed, with its servers and all beside them. Its clients go elsewhere, by the next
    /// address or by the next answer; a connection to another cluster does not notice.
    fn lose_a_site(&mut self) {
        let url = format!("http://{NAME}/");
        let [dead, near] = ["europe", "america"];
        let big = self.path("big");
        let order = ["curl", "-sf", "--limit-rate", "400k", "-o", &big, "-w", "%{size_download} %{remote_ip}"];
        let mut download = self.bed.command(near, &[&order[..], &[&format!("{url}big")]].concat());
        let download = download.stdout(Stdio::piped()).spawn().expect("curl can be run");
        await_that("the download is under way", || fs::metadata(&big).is_ok_and(|file| file.len() > 0));

        let killed = since_boot();
        self.running[0].iter_mut().for_each(|child| child.kill().unwrap());
        // The answer that its client has may be held for its TTL: the next address of it works. curl gives half of the time that
        // is left to each but the last.
        let output =
            self.bed.exec(dead, &["curl", "-s", "--connect-timeout", "8", "-w", "%{stderr}%{remote_ip}", &url]);
        let page = stdout(&output);
        assert!(["c2", "c3"].iter().any(|site| page.contains(&format!("this is {site}"))), "{page}{}", stderr(&output));
        let address = self.services[0].clone();
        await_that("the DNS does not name it", || {
            let told = self.told_by_dns(dead);
            !told.is_empty() && !told.contains(&address)
        });
        let named_s = (since_boot() - killed).as_secs_f64();
        // Two heartbeats, half a second to look, and what two commands of a busy machine take.
        assert!(named_s < 2.0 * HEARTBEAT_S + 0.5 + 3.0, "named for {named_s} s");
        // A TTL later no client has its address, whoever resolved.
        let resolved = since_boot();
        await_that("its TTL is over", || (since_boot() - resolved).as_secs_f64() > 5.0);
        for _ in 0..3 {
            let output = self.bed.exec(dead, &["curl", "-s", "-w", "%{stderr}%{remote_ip} %{time_total}", &url]);
            let told = stderr(&output);
            assert!(self.services[1..].iter().any(|service| told.starts_with(service.as_str())), "{told}");
        }
        let output = download.wait_with_output().unwrap();
        let expected = format!("{BIG} {}", self.services[1]);
        assert!(output.status.success() && stdout(&output) == expected, "{:?} {}", output.status, stdout(&output));
        assert_eq!(fs::metadata(&big).unwrap().len(), BIG);
    }
}

impl Drop for World {
    fn drop(&mut self) {
        for child in self.running.iter_mut().flatten() {
            // One that has ended is waited for all the same.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Waits until a command succeeds and says something.
fn await_output(what: &str, mut command: Command) {
    await_that(what, || {
        let output = command.output().expect("it can be run");
        output.status.success() && !output.stdout.is_empty()
    });
}

/// Whoever starts a packet switch by hand has to know which address it can take.
#[test]
fn a_bed_names_the_addresses_of_services() {
    if !bed::can() {
        return;
    }
    let bed = Bed::up("cluster");
    let status = stdout(&sojourn(&["bed", "status", "--name", &bed.0]));
    assert!(status.contains("  10.0.1.100, for a service on the Ethernet of front\n"), "{status}");
    assert_eq!(bed.state()["services"][0]["hosts"], serde_json::json!(["front", "web-1", "web-2"]));
}

//! Logs that nginx, Apache, HAProxy and Squid write themselves: what is read of them is what a client saw, and which of two
//! servers answered. Each is Debian's program with a configuration of its own.

use std::fs::{self, File, Permissions};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sojourn_traffic::log::{Entry, Fault, Log, LogFormat, Method};

use crate::skip::skipped;

/// How long the servers behind take.
const SERVICE: Duration = Duration::from_millis(30);
/// What they send.
const BODY: &str = "thirty bytes are in this body\n";
/// A loaded machine may take this long between two lines of ours.
const SLACK_S: f64 = 2.0;

/// A program that ends with the test.
struct Running {
    child: Child,
    folder: tempfile::TempDir,
    address: SocketAddr,
}

impl Drop for Running {
    fn drop(&mut self) {
        // Its workers end with it only if it is asked.
        let _ = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        let _ = self.child.wait();
    }
}

/// What a client saw of a request.
struct Seen {
    method: &'static str,
    path: String,
    status: u16,
    begin_s: f64,
    taken_s: f64,
}

/// Starts what `write` configures in a folder for an address, and waits until it accepts; none where it is not installed.
fn start(program: &str, write: impl Fn(&Path, SocketAddr) -> Vec<String>) -> Option<Running> {
    let found =
        ["/usr/sbin", "/usr/bin"].map(|folder| Path::new(folder).join(program)).into_iter().find(|path| path.is_file());
    let Some(path) = found else {
        skipped(format!("{program} is not installed"));
        return None;
    };
    // Another test may take the port between our letting it go and the program's taking it.
    for _ in 0..5 {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let output = File::create(folder.path().join("stdout")).unwrap();
        let mut command = Command::new(&path);
        command.args(write(folder.path(), address)).stdin(Stdio::null()).stdout(output).stderr(Stdio::null());
        let child = command.spawn().unwrap();
        let mut running = Running { child, folder, address };
        let is_up =
            within(|| TcpStream::connect(running.address).is_ok() || running.child.try_wait().unwrap().is_some());
        if is_up && running.child.try_wait().unwrap().is_none() {
            return Some(running);
        }
    }
    panic!("{program} does not start");
}

/// Whether this comes true within twenty seconds.
#[allow(clippy::disallowed_methods, reason = "another program is waited for")]
fn within(mut is_so: impl FnMut() -> bool) -> bool {
    let (_held, pause) = mpsc::channel::<()>();
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(20) {
        if is_so() {
            return true;
        }
        let _ = pause.recv_timeout(Duration::from_millis(10));
    }
    false
}

/// A server behind a proxy that answers each request after [`SERVICE`], and lives as long as the process.
fn origin() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (_held, pause) = mpsc::channel::<()>();
        for connection in listener.incoming() {
            let Ok(mut connection) = connection else { continue };
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && connection.read(&mut byte).unwrap_or(0) == 1 {
                head.push(byte[0]);
            }
            let _ = pause.recv_timeout(SERVICE);
            let body = if head.starts_with(b"HEAD") { "" } else { BODY };
            let reply = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", BODY.len());
            let _ = connection.write_all(reply.as_bytes());
        }
    });
    address
}

#[allow(clippy::disallowed_methods, reason = "what a log says is held against the clock")]
fn ask(address: SocketAddr, method: &'static str, path: &str) -> Seen {
    let since_1970 = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
    let begin_s = since_1970();
    let mut connection = TcpStream::connect(address).unwrap();
    let request =
        format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nUser-Agent: a \"b\" c\r\nConnection: close\r\n\r\n");
    connection.write_all(request.as_bytes()).unwrap();
    let mut reply = Vec::new();
    connection.read_to_end(&mut reply).unwrap();
    let status = std::str::from_utf8(&reply[9..12]).unwrap().parse().unwrap();
    Seen { method, path: path.into(), status, begin_s, taken_s: since_1970() - begin_s }
}

/// The log at `path`, once it has as many lines as there were requests.
fn log_of(path: &Path, requests: usize, format: Option<&str>) -> Log {
    let lines =
        || fs::read_to_string(path).map_or(0, |text| text.lines().filter(|line| line.contains("/page")).count());
    assert!(within(|| lines() >= requests), "{}: {}", path.display(), fs::read_to_string(path).unwrap_or_default());
    let format = format.map(|text| LogFormat::parse(text).unwrap_or_else(|error| panic!("{error}")));
    let text = fs::read(path).unwrap();
    Log::read_from(&*text, "log", format.as_ref()).unwrap_or_else(|error| panic!("{error}"))
}

/// What a log must say of what a client saw, one request after the other.
fn agree(log: &Log, seen: &[Seen], least_s: f64) {
    let mut entries: Vec<&Entry> =
        log.entries().iter().filter(|entry| log.paths()[entry.object as usize].contains("/page")).collect();
    // Of what ended within a second, a log of whole seconds does not tell what came first.
    entries.sort_by_key(|entry| log.paths()[entry.object as usize].clone());
    let mut seen: Vec<&Seen> = seen.iter().collect();
    seen.sort_by_key(|seen| seen.path.clone());
    assert_eq!(entries.len(), seen.len(), "{:?}", log.warnings());
    for (entry, seen) in entries.iter().zip(seen) {
        assert!(
            log.paths()[entry.object as usize].ends_with(&seen.path),
            "{} for {}",
            log.paths()[entry.object as usize],
            seen.path
        );
        let method = match seen.method {
            "GET" => Method::Get,
            "HEAD" => Method::Head,
            _ => Method::Post,
        };
        assert_eq!(
            (entry.method, entry.status, &*log.hosts()[entry.client as usize]),
            (method, seen.status, "127.0.0.1")
        );
        // A step before, since it is cut, and another one, since a response time is too.
        let came_s = entry.time_us as f64 / 1e6;
        let step_s = log.resolution_s() + 0.01;
        assert!(
            (seen.begin_s - 2.0 * step_s..seen.begin_s + seen.taken_s + step_s).contains(&came_s),
            "{came_s} for {} and {}",
            seen.begin_s,
            seen.taken_s
        );
        if let Some(taken_s) = entry.response_s() {
            let step_s = log.response_step_s() + 0.001;
            assert!((least_s - step_s..seen.taken_s + step_s).contains(&taken_s), "{taken_s} for {}", seen.taken_s);
            assert!(seen.taken_s < least_s + SLACK_S);
        }
    }
}

/// What was asked of a proxy, and what of its log must be true: that the two servers share what reached them.
fn through_a_proxy(running: &Running) -> Vec<Seen> {
    let mut seen = vec![ask(running.address, "GET", "/page/0"), ask(running.address, "HEAD", "/page/1?a=1&b=%20")];
    seen.extend((2..10).map(|n| ask(running.address, "GET", &format!("/page/{n}"))));
    seen
}

fn is_shared(log: &Log, origins: &[SocketAddr], named: impl Fn(&SocketAddr) -> String, at_server_least_s: f64) {
    let mut names: Vec<String> = origins.iter().map(named).collect();
    names.sort();
    let mut found = log.servers().to_vec();
    found.sort();
    assert_eq!(found, names);
    for server in 0..2 {
        let of_server = log.entries().iter().filter(|entry| entry.server() == Some(server));
        assert_eq!(of_server.clone().count(), 5);
        for entry in of_server {
            let at_server_s = entry.at_server_s().expect("the log has the time at the server");
            assert!(at_server_s + 0.002 > at_server_least_s && at_server_s <= entry.response_s().unwrap() + 0.002);
        }
    }
}

fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

#[test]
fn nginx_writes_what_is_read() {
    let origins = [origin(), origin()];
    let timed = concat!(
        r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" ""#,
        r#"$http_user_agent" $request_time $upstream_addr $upstream_response_time $msec"#
    );
    let behind = concat!(
        r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" ""#,
        r#"$http_user_agent" $request_time"#
    );
    let json = concat!(
        r#"{"time":"$time_iso8601","remote_addr":"$remote_addr","request":"$request","status":$status,"bod"#,
        r#"y_bytes_sent":$body_bytes_sent,"request_time":$request_time,"upstream_addr":"$upstream_addr","u"#,
        r#"pstream_response_time":"$upstream_response_time","agent":"$http_user_agent"}"#
    );
    let running = start("nginx", |folder, address| {
        let folder = folder.display();
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|part| format!("{part}_temp_path {folder}/{part};\n"))
            .concat();
        let user = if is_root() { "user root;\n" } else { "" };
        let text = format!(
            "{user}daemon off;\npid {folder}/nginx.pid;\nerror_log {folder}/error.log;\nworker_processes 1;\nevents {{}}\n\
             http {{\n{temporary}log_format timed '{timed}';\nlog_format behind '{behind}';\n\
             log_format json escape=json '{json}';\n\
             access_log {folder}/combined.log;\naccess_log {folder}/timed.log timed;\naccess_log {folder}/behind.log behind;\n\
             access_log {folder}/json.log json;\n\
             upstream web {{ server {}; server {}; }}\n\
             server {{ listen {address}; location / {{ proxy_pass http://web; }} }}\n}}\n",
            origins[0], origins[1]
        );
        fs::write(format!("{folder}/nginx.conf"), text).unwrap();
        ["-c", "nginx.conf", "-e", "error.log"]
            .map(|word| if word.starts_with('-') { word.to_owned() } else { format!("{folder}/{word}") })
            .to_vec()
    });
    let Some(running) = running else { return };
    let seen = through_a_proxy(&running);
    let file = |name: &str| -> PathBuf { running.folder.path().join(name) };
    let least_s = SERVICE.as_secs_f64();
    let log = log_of(&file("timed.log"), seen.len(), Some(timed));
    agree(&log, &seen, least_s);
    is_shared(&log, &origins, SocketAddr::to_string, least_s);
    assert_eq!((log.bad_lines(), log.resolution_s()), (0, 1e-3));
    assert_eq!(log.entries()[0].bytes, BODY.len() as u64);
    let of_json = log_of(&file("json.log"), seen.len(), None);
    agree(&of_json, &seen, least_s);
    is_shared(&of_json, &origins, SocketAddr::to_string, least_s);
    agree(&log_of(&file("json.log"), seen.len(), Some(json)), &seen, least_s);
    let behind = log_of(&file("behind.log"), seen.len(), None);
    agree(&behind, &seen, least_s);
    assert!(behind.entries().iter().all(|entry| entry.response_s().is_some()));
    assert_eq!(behind.formats(), ["combined with nginx's $request_time"]);
    let combined = log_of(&file("combined.log"), seen.len(), None);
    agree(&combined, &seen, least_s);
    assert_eq!(combined.formats(), ["combined"]);
}

#[test]
fn apache_writes_what_is_read() {
    let formats = [
        ("timed", r#"%v %h %l %u %t "%r" %>s %O "%{Referer}i" "%{User-Agent}i" %D"#),
        ("milliseconds", r#"%h %{usec}t "%m %U %H" %s %B %{ms}T"#),
        ("seconds", r#"%h %l %u %t "%r" %>s %b %T"#),
    ];
    let running = start("apache2", |folder, address| {
        fs::write(folder.join("page.txt"), BODY).unwrap();
        let folder = folder.display();
        let modules = "/usr/lib/apache2/modules";
        let logs: String = formats
            .map(|(name, format)| format!("CustomLog \"{folder}/{name}.log\" \"{}\"\n", format.replace('"', "\\\"")))
            .concat();
        let user = if is_root() { "User www-data\nGroup www-data\n" } else { "" };
        let text = format!(
            "ServerRoot {folder}\nDefaultRuntimeDir {folder}\nPidFile {folder}/pid\nErrorLog {folder}/error.log\n\
             ServerName localhost\n\
             Listen {address}\nLoadModule mpm_event_module {modules}/mod_mpm_event.so\n\
             LoadModule authz_core_module {modules}/mod_authz_core.so\n{user}StartServers 1\nThreadsPerChild 4\n\
             MaxRequestWorkers 4\nServerLimit 1\nMinSpareThreads 1\nMaxSpareThreads 4\n\
             DocumentRoot {folder}\n<Directory {folder}>\nRequire all granted\n</Directory>\n{logs}\
             CustomLog {folder}/combined.log \"%h %l %u %t \\\"%r\\\" %>s %O \\\"%{{Referer}}i\\\" \\\"%{{User-Agent}}i\\\"\"\n"
        );
        fs::write(format!("{folder}/apache.conf"), text).unwrap();
        vec!["-DFOREGROUND".into(), "-f".into(), format!("{folder}/apache.conf")]
    });
    let Some(running) = running else { return };
    let seen = ["/page.txt", "/page.none", "/page.txt"].map(|path| ask(running.address, "GET", path));
    let head = ask(running.address, "HEAD", "/page.txt");
    let seen: Vec<Seen> = seen.into_iter().chain([head]).collect();
    for (name, format) in formats {
        let log = log_of(&running.folder.path().join(format!("{name}.log")), seen.len(), Some(format));
        agree(&log, &seen, 0.0);
        assert_eq!(log.bad_lines(), 0, "{name}: {:?}", log.warnings());
        assert!(log.entries().iter().all(|entry| entry.response_s().is_some()), "{name}");
    }
    let combined = log_of(&running.folder.path().join("combined.log"), seen.len(), None);
    agree(&combined, &seen, 0.0);
    assert_eq!((combined.formats(), combined.bad_lines()), (&["combined".to_owned()][..], 0));
}

#[test]
fn haproxy_writes_what_is_read() {
    let origins = [origin(), origin()];
    for form in ["raw", "rfc3164", "rfc5424"] {
        let running = start("haproxy", |folder, address| {
            let text = format!(
                "global\n log stdout format {form} local0\ndefaults\n mode http\n log global\n option httplog\n \
                 timeout client 30s\n timeout server 30s\n timeout connect 30s\nfrontend in\n bind {address}\n \
                 http-request deny if {{ path /page/denied }}\n default_backend web\nbackend web\n balance roundrobin\n \
                 server a {}\n server b {}\n",
                origins[0], origins[1]
            );
            let path = folder.join("haproxy.cfg");
            fs::write(&path, text).unwrap();
            vec!["-db".into(), "-f".into(), path.display().to_string()]
        });
        let Some(running) = running else { return };
        let seen = through_a_proxy(&running);
        let log = log_of(&running.folder.path().join("stdout"), seen.len(), None);
        agree(&log, &seen, SERVICE.as_secs_f64());
        let named = |origin: &SocketAddr| if *origin == origins[0] { "web/a".into() } else { "web/b".into() };
        is_shared(&log, &origins, named, SERVICE.as_secs_f64());
        assert_eq!((log.formats(), log.resolution_s()), (&["haproxy".to_owned()][..], 1e-3));
        // What reached no server.
        assert_eq!(ask(running.address, "GET", "/page/denied").status, 403);
        let log = log_of(&running.folder.path().join("stdout"), seen.len() + 1, None);
        let denied = log.entries().last().unwrap();
        assert_eq!((denied.status, denied.server(), denied.at_server_s()), (403, None, None));
    }
}

#[test]
fn squid_writes_what_is_read() {
    let origins = [origin(), origin()];
    let running = start("squid", |folder, address| {
        let peers: String = origins
            .iter()
            .enumerate()
            .map(|(n, origin)| {
                let (host, port) = (origin.ip(), origin.port());
                format!("cache_peer {host} parent {port} 0 no-query no-digest originserver round-robin name=peer{n}\n")
            })
            .collect();
        let folder = folder.display();
        let text = format!(
            "http_port {address} accel defaultsite=localhost no-vhost\n{peers}http_access allow all\nnever_direct allow all\n\
             strip_query_terms off\nvisible_hostname localhost\npid_filename none\ncache_log {folder}/cache.log\n\
             access_log stdio:{folder}/access.log squid\ncache_store_log none\nnetdb_filename none\npinger_enable off\n\
             memory_cache_shared off\ncache deny all\nshutdown_lifetime 0 seconds\ncoredump_dir {folder}\n"
        );
        fs::write(format!("{folder}/squid.conf"), text).unwrap();
        let name = format!("sojournlog{}", std::process::id());
        vec!["-N".into(), "-n".into(), name, "-f".into(), format!("{folder}/squid.conf")]
    });
    let Some(running) = running else { return };
    let seen = through_a_proxy(&running);
    let log = log_of(&running.folder.path().join("access.log"), seen.len(), None);
    agree(&log, &seen, SERVICE.as_secs_f64());
    assert_eq!((log.formats(), log.resolution_s()), (&["squid".to_owned()][..], 1e-3));
    // A connection without a request, by which we see that it is up, is logged too.
    assert!(log.bad_by_reason().all(|(fault, _)| fault == Fault::Request), "{:?}", log.warnings());
    assert!(log.entries().iter().all(|entry| entry.server().is_some() && entry.response_s().is_some()));
}

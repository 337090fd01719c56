//! `nginx.conf`: what its words mean, and what is refused, beside nginx's own verdict.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use sojourn_products::{Configuration, HashKey, ImportError, Pool, Reading, Standing, WhenFull, nginx};
use sojourn_stats::Span;

use crate::judge::{configuration, configurations, has, nginx_refuses};

fn main_file() -> PathBuf {
    configurations("nginx").join("nginx.conf")
}

fn pool<'a>(configuration: &'a Configuration, name: &str) -> &'a Pool {
    configuration.pools.iter().find(|pool| pool.name == name).unwrap()
}

fn read(text: &str) -> Result<Configuration, ImportError> {
    nginx::read(Path::new("nginx.conf"), text)
}

/// The notes of the configuration or a pool that were left out or not understood, without the folder of the tests.
fn texts(notes: &sojourn_products::Notes) -> String {
    let folder = configurations("nginx").display().to_string() + "/";
    let used = |reading: Reading| reading != Reading::Used;
    let kept = notes.kept.iter().filter(|note| used(note.reading));
    kept.map(|note| format!("{}: {}\n", note.at, note.text)).collect::<String>().replace(&folder, "")
}

#[test]
fn upstreams_and_what_leads_to_them_are_read_from_all_files() {
    let configuration = nginx::read(&main_file(), &configuration("nginx", "nginx.conf")).unwrap();
    let rules: Vec<_> = configuration.pools.iter().map(|pool| (pool.name.as_str(), pool.rule.name.as_str())).collect();
    let expected = [
        ("app", "least_conn"),
        ("media", "hash"),
        ("spread", "random two"),
        ("turns", "round-robin"),
        ("sticky_by_ip", "ip_hash"),
    ];
    assert_eq!(rules, expected);

    let app = pool(&configuration, "app");
    let servers: Vec<_> = app.servers.iter().map(|s| (s.address.as_str(), s.weight, s.at_most, s.standing)).collect();
    use Standing::{Backup, Out, Serves};
    let expected = [
        ("127.0.0.1:9001", 2, Some(32), Serves),
        ("[::1]:9002", 1, Some(32), Serves),
        ("unix:/run/app.sock", 1, Some(32), Serves),
        ("127.0.0.1:9004", 1, None, Out),
        ("127.0.0.1:9005", 1, None, Backup),
    ];
    assert_eq!(servers, expected);
    assert_eq!((app.when_full, app.workers), (WhenFull::Refused, Some(1)), "its zone counts for all workers");
    let timeout = app.timeout.clone().unwrap();
    assert_eq!(timeout.span, Span(45_000_000_000));
    assert!(timeout.said.unwrap().to_string().ends_with("nginx/nginx.conf:18"), "what is said around it");
    let left_out = texts(&app.notes);
    assert!(left_out.contains("conf.d/app.conf:5: max_fails=3") && left_out.contains("conf.d/site.conf:8: requests"));

    let media = pool(&configuration, "media");
    assert_eq!((media.servers.len(), media.rule.key, media.rule.is_consistent), (3, Some(HashKey::Path), true));
    assert!(media.servers[2].at.to_string().ends_with("snippets/more-media.inc:1"));
    assert_eq!(media.timeout.clone().unwrap().span, Span(90_000_000_000));
    assert_eq!(pool(&configuration, "turns").workers, Some(2), "without a zone each worker counts for itself");
    assert!(texts(&pool(&configuration, "turns").notes).contains("localhost:9303: a name"));
    // No location is known to lead there; nginx's own time-out counts.
    assert_eq!(pool(&configuration, "spread").timeout.clone().unwrap().said, None);

    let left_out = texts(&configuration.notes);
    for part in [
        "conf.d/site.conf:12: \"limit_req zone=one burst=20\"",
        "conf.d/site.conf:16: \"http://$where\"",
        "conf.d/site.conf:18: `127.0.0.1` is no upstream",
        "snippets/proxy.inc:5: proxy_next_upstream error timeout http_502",
        "nginx.conf:21: include nothing.d/*.conf: there is no such file here",
    ] {
        assert!(left_out.contains(part), "{part} in\n{left_out}");
    }
    assert!(!left_out.contains("not understood"), "{left_out}");
}

/// `nginx -T` prints the files that it has read.
#[test]
fn nginx_reads_the_same_files() {
    if !has("nginx") {
        return;
    }
    let output = nginx_prints(&main_file());
    let its_own: BTreeSet<String> = output
        .lines()
        .filter_map(|line| line.strip_prefix("# configuration file ")?.strip_suffix(':'))
        .map(str::to_owned)
        .collect();
    let configuration = nginx::read(&main_file(), &configuration("nginx", "nginx.conf")).unwrap();
    let pools = configuration.pools.iter().flat_map(|pool| pool.servers.iter().map(|server| &server.at));
    let notes =
        configuration.notes.passed_over.values().flatten().chain(configuration.notes.kept.iter().map(|note| &note.at));
    let ours: BTreeSet<String> = pools.chain(notes).map(|at| at.file.to_string()).collect();
    // Of types nothing is noted.
    let expected: BTreeSet<String> = its_own.into_iter().filter(|file| !file.ends_with("mime.types")).collect();
    assert_eq!(ours, expected);
}

fn nginx_prints(path: &Path) -> String {
    let folder = tempfile::tempdir().unwrap();
    let globals = format!("error_log stderr; pid {}/pid;", folder.path().display());
    let mut nginx = Command::new("nginx");
    nginx.args(["-T", "-c"]).arg(path).arg("-p").arg(folder.path()).args(["-g", &globals]);
    let output = nginx.output().expect("nginx runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Mistakes: each is refused with its line, and nginx refuses it too.
#[test]
fn mistakes_are_refused_with_their_line() {
    let cases = [
        ("http {", 1, "\"}\" is missing"),
        ("http { upstream a { server 127.0.0.1:80; }\n}\n}", 3, "no block is open"),
        ("http {\n upstream a {\n }\n}", 2, "no servers are inside"),
        (
            "http {\n upstream a { server 127.0.0.1:1; }\n upstream a { server 127.0.0.1:2; }\n}",
            3,
            "it was at nginx.conf:2",
        ),
        ("http {\n upstream a {\n server 127.0.0.1:1 wieght=2;\n }\n}", 3, "did you mean `weight=`?"),
        ("http {\n upstream a {\n server 127.0.0.1:1 weight=0;\n }\n}", 3, "at least 1"),
        ("http {\n upstream a {\n server 127.0.0.1:1 max_conns=x;\n }\n}", 3, "no whole number"),
        ("http {\n upstream a {\n ip_hash; server 127.0.0.1:1 backup;\n }\n}", 3, "does not support `backup`"),
        ("http {\n upstream a {\n hash $uri consistant; server 127.0.0.1:1;\n }\n}", 3, "did you mean `consistent`?"),
        ("http {\n upstream a {\n random three; server 127.0.0.1:1;\n }\n}", 3, "unknown parameter of random"),
        ("http {\n upstream a {\n server 127.0.0.1:1 fail_timeout=1y1y;\n }\n}", 3, "is no time"),
        ("http {\n upstream a { server 127.0.0.1:1; }\n proxy_read_timeout x;\n}", 3, "is no time"),
        ("http {\n upstream a { server \"127.0.0.1:1\"x; }\n}", 2, "after a quoted word"),
        ("worker_processes none;", 1, "or `auto`"),
        ("worker_processes 1 2;", 1, "takes one argument"),
        (
            "http {\n upstream a {\n server 127.0.0.1:1;\n server {\n }\n}",
            4,
            "in upstream `a`, which begins at nginx.conf:2: close it",
        ),
        ("http {\n server {\n location / {\n }\n}", 5, "inside `http`, which begins at nginx.conf:1"),
        ("http { upstream a { server; } }", 1, "needs an address"),
        ("http {\n include /nowhere/at-all.conf;\n upstream a { include none.inc; }\n}", 3, "and it has servers"),
    ];
    let arguments = [
        "least_conn server 127.0.0.1:2;",
        "ip_hash x;",
        "keepalive 1 2;",
        "keepalive 1; keepalive_timeout 1s 2;",
        "keepalive 1; keepalive_requests 1 2;",
        "keepalive 1; keepalive_time 1s 2;",
        "random two least_conn x;",
        "hash $uri consistent x;",
        "zone a 64k x;",
    ];
    let arguments =
        arguments.map(|directive| format!("http {{\n upstream a {{\n server 127.0.0.1:1;\n {directive}\n }}\n}}"));
    let places = [
        "proxy_read_timeout 1s 2;",
        "proxy_connect_timeout 1s 2;",
        "proxy_pass http://a b;",
        "uwsgi_read_timeout 1s x;",
    ];
    let server = "http {\n upstream a { server 127.0.0.1:1; }\n server { location / {\n";
    let places = places.map(|directive| format!("{server} {directive}\n }} }}\n}}"));
    let of_arguments = arguments.iter().chain(&places).map(|text| (text.as_str(), 4, "probably a \";\" is missing"));
    let judged = has("nginx");
    let folder = tempfile::tempdir().unwrap();
    for (text, line, part) in cases.into_iter().chain(of_arguments) {
        let said = read(text).unwrap_err().to_string();
        assert!(said.starts_with(&format!("nginx.conf:{line}: ")) && said.contains(part), "{text}: {said}");
        if judged {
            let path = folder.path().join("nginx.conf");
            fs::write(&path, format!("events {{}}\n{text}\n")).unwrap();
            assert!(nginx_refuses(&path).is_some(), "nginx takes {text}");
        }
    }
}

/// What nginx does not know is said, with what was probably meant; a file that is not there may have had servers.
#[test]
fn what_is_not_known_is_said() {
    let blocks = "http {\n include more.conf;\n upstrem b {\n server 127.0.0.1:2;\n }\n upstream a {\n least_con;\n";
    let text = &format!("{blocks} server 127.0.0.1:1;\n }}\n server {{ location / {{ proxi_pass http://a; }} }}\n}}");
    let configuration = read(text).unwrap();
    let unknown = |notes: &sojourn_products::Notes| {
        let of = notes.kept.iter().filter(|note| note.reading == Reading::NotUnderstood);
        of.map(|note| format!("{}: {}", note.at.line, note.text)).collect::<Vec<_>>()
    };
    assert_eq!(
        unknown(&configuration.pools[0].notes),
        ["7: \"least_con\" is not understood (did you mean `least_conn`?)"]
    );
    let of_all = unknown(&configuration.notes);
    assert!(
        of_all[0].starts_with("2: include more.conf: there is no such file") && of_all[0].ends_with("refuse to start")
    );
    assert_eq!(of_all[1], "3: \"upstrem\" is not understood (did you mean `upstream`?)");
    assert_eq!(of_all[2], "10: \"proxi_pass\" is not understood (did you mean `proxy_pass`?)");
    assert_eq!((configuration.notes.unknown(), configuration.pools[0].notes.unknown()), (3, 1));
}

/// Files that include one another without end, too many of them, and those that are devices or folders.
#[test]
fn includes_have_bounds() {
    let folder = tempfile::tempdir().unwrap();
    let main = folder.path().join("nginx.conf");
    let refused = |text: &str| nginx::read(&main, text).unwrap_err().to_string();
    fs::write(&main, "").unwrap();
    fs::write(folder.path().join("a.conf"), "include b.conf;").unwrap();
    fs::write(folder.path().join("b.conf"), "\ninclude a.conf;").unwrap();
    let said = refused("include a.conf;");
    assert!(said.contains("b.conf:2: ") && said.contains("includes itself"), "{said}");
    assert!(refused("http { include nginx.conf; }").contains("nginx.conf:1: "));
    for depth in 0..30 {
        fs::write(folder.path().join(format!("{depth}.inc")), format!("include {}.inc;", depth + 1)).unwrap();
    }
    assert!(refused("include 0.inc;").contains("more than 20 files include one another"));
    assert!(refused("include /dev/zero;").contains("a device, not a file"));
    assert!(refused("include /tmp;").contains("a folder, not a file"));
    let many = folder.path().join("many");
    fs::create_dir(&many).unwrap();
    (0..1100).for_each(|file| fs::write(many.join(format!("{file}.conf")), "").unwrap());
    assert!(refused("include many/*.conf;").contains("more than 1000 files"));
    // A link to its own folder is no circle without an end.
    symlink(folder.path(), folder.path().join("self")).unwrap();
    assert!(read("include self/self/*/nothing*;").is_ok());
}

/// What takes a server out has its note, said or not: nginx counts failures where nothing is said, too.
#[test]
fn how_servers_are_found_to_be_down_is_never_passed_over() {
    let told = |servers: &str, location: &str| {
        let text = format!(
            "http {{\n upstream a {{\n {servers}\n }}\n server {{ location / {{ proxy_pass http://a; {location} }} }}\n}}"
        );
        let configuration = read(&text).unwrap();
        let of = |notes: &sojourn_products::Notes| {
            let kept = notes.kept.iter().filter(|note| note.reading == Reading::LeftOut);
            kept.map(|note| format!("{}: {}\n", note.at.line, note.text)).collect::<String>()
        };
        of(&configuration.pools[0].notes) + &of(&configuration.notes)
    };
    let unsaid = told("server 10.0.0.1; server 10.0.0.2 fail_timeout=5s; server 10.0.0.3 max_fails=3;", "");
    for part in [
        "2: max_fails=1 fail_timeout=10s, nginx's own where nothing is said, of 2 servers",
        "3: fail_timeout=5s: as long a server is out",
        "3: max_fails=3: so many failures take a server out",
        "`ejection = { consecutive = 3 }`",
    ] {
        assert!(unsaid.contains(part), "{part} in\n{unsaid}");
    }
    let off = told("server 10.0.0.1 max_fails=0; server 10.0.0.2 max_fails=0;", "health_check interval=5s;");
    assert!(
        off.contains("3: max_fails=0: no failure takes this server out") && !off.contains("where nothing"),
        "{off}"
    );
    assert!(off.contains("5: health_check interval=5s: it is asked which servers are up"), "{off}");
    assert!(!told("server 10.0.0.1;", "").contains("max_fails"), "a server that is alone is never out");
}

/// A configuration that was copied is read from where it is now.
#[test]
fn files_of_another_machine_are_read_beside_the_main_file() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("sites")).unwrap();
    fs::write(folder.path().join("sites/a"), "upstream a { server 127.0.0.1:1; }").unwrap();
    let text = "http {\n include /etc/nginx/sites/*;\n}";
    let configuration = nginx::read(&folder.path().join("nginx.conf"), text).unwrap();
    assert_eq!(configuration.pools[0].name, "a");
    assert!(configuration.notes.kept[0].text.contains("from the folder of the main file"), "{:?}", configuration.notes);
}

//! Configurations with mistakes, by hundreds: refused in one line that says where, or read; no panic, no hang. What the product
//! itself reads is read.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use sojourn_products::{Configuration, ImportError, envoy, haproxy, nginx};

use crate::judge::{configuration, configurations, haproxy_refuses, has, mutated, nginx_refuses};

/// Mistakes in each file.
const FILES: usize = 200;

/// Of how many files the product itself is asked.
const JUDGED: usize = 150;

/// What HAProxy's `atol` reads as zero, a server without requests, is refused here.
const READ_AS_ZERO: [&str; 3] = ["is no weight", "is no number of", "of a server needs an argument"];

const OF_HAPROXY: &[&str] = &[
    "server",
    "backend",
    "defaults",
    "from",
    "listen",
    "frontend",
    "global",
    "default-server",
    "weight",
    "maxconn",
    "-1",
    "0",
    "257",
    "99999999999999999999",
    "1s",
    "1y",
    ".if",
    ".else",
    ".endif",
    ".elif 1",
    "0",
    "\"",
    "'",
    "\\x4",
    "\"${",
    "\"${A-b}\"",
    "no",
    "balance",
    "leastconn",
    "random(3)",
    "random(x)",
    "uri depth 0",
    "option",
    "timeout server 5",
    "check",
    "backup",
    "#",
    "backend app",
    "server a 10.0.0.1:80",
    "server-template a 5 10.0.0.1:80",
    "stick-table type ip",
    "setenv A b",
    "nonsense",
];

/// Whether it is one line that begins with the file and a line of it.
fn is_one_line(error: &ImportError, file: &str, text: &str) {
    let said = error.to_string();
    let line = said.strip_prefix(&format!("{file}:")).and_then(|rest| rest.split(':').next()?.parse::<usize>().ok());
    let line = line.unwrap_or_else(|| panic!("no file and line: {said}\n{text}"));
    assert!((1..=text.lines().count() + 1).contains(&line), "{said}\n{text}");
    assert!(!said.chars().any(char::is_control) && said.chars().count() < 500, "{said}");
}

/// The line that an error is about.
fn line_of<'a>(error: &ImportError, text: &'a str) -> &'a str {
    let number: Option<usize> = error.0.split(':').nth(1).and_then(|number| number.parse().ok());
    number.and_then(|number| text.lines().nth(number - 1)).unwrap_or_default()
}

#[test]
fn haproxys_files_with_mistakes_are_read_or_refused_in_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let judged = has("haproxy");
    let (mut read, mut refused, mut taken, mut differ) = (0, 0, 0, Vec::new());
    for (name, seed) in ["debian.cfg", "shop.cfg", "conditions.cfg"].into_iter().zip(1..) {
        for (index, text) in mutated(&configuration("haproxy", name), OF_HAPROXY, FILES, seed).enumerate() {
            let path = folder.path().join(name);
            let answer = haproxy::read(&[(name.into(), text.clone())], haproxy::NEWEST_MEASURED, &|_| None);
            match &answer {
                Ok(_) => read += 1,
                Err(error) => {
                    is_one_line(error, name, &text);
                    refused += 1;
                }
            }
            if judged && index < JUDGED / 3 {
                fs::write(&path, &text).unwrap();
                let its_own = haproxy_refuses(&path);
                taken += usize::from(its_own.is_none());
                if let (None, Err(error)) = (&its_own, &answer)
                    && !READ_AS_ZERO.iter().any(|part| error.0.contains(part))
                {
                    differ.push(format!("{error}: {}", line_of(error, &text)));
                }
            }
        }
    }
    assert!(differ.is_empty(), "HAProxy reads what is refused here:\n{}", differ.join("\n"));
    assert!(read >= FILES / 2 && refused >= FILES / 2, "{read} {refused}");
    assert!(!judged || taken >= JUDGED / 6, "{taken}");
}

const OF_NGINX: &[&str] = &[
    "server",
    "upstream",
    "upstream a {",
    "}",
    "{",
    ";",
    "weight=0",
    "weight=3",
    "weight=x",
    "max_conns=",
    "backup",
    "down;",
    "server 127.0.0.1:1;",
    "least_conn;",
    "ip_hash;",
    "hash $uri consistent;",
    "random two;",
    "include *.conf;",
    "include nothing;",
    "proxy_pass http://app;",
    "proxy_read_timeout 1x;",
    "worker_processes auto;",
    "#",
    "\"",
    "'",
    "${",
    "nonsense on;",
    "zone a 64k;",
];

#[test]
fn nginxs_files_with_mistakes_are_read_or_refused_in_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let judged = has("nginx");
    // In one file, for the mistakes to stand anywhere.
    let sites = configuration("nginx", "conf.d/app.conf") + &configuration("nginx", "conf.d/site.conf");
    let main = configuration("nginx", "nginx.conf").replace("include conf.d/*.conf;", &sites);
    for name in ["mime.types", "snippets/proxy.inc", "snippets/more-media.inc"] {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::copy(configurations("nginx").join(name), path).unwrap();
    }
    let path = folder.path().join("nginx.conf");
    let name = path.display().to_string();
    let (mut read, mut refused, mut taken, mut differ) = (0, 0, 0, Vec::new());
    for (index, text) in mutated(&main, OF_NGINX, 3 * FILES, 4).enumerate() {
        let answer = nginx::read(&path, &text);
        match &answer {
            Ok(_) => read += 1,
            Err(error) => {
                let in_another = error.0.contains(".inc:") || error.0.contains("mime.types:");
                if !in_another {
                    is_one_line(error, &name, &text);
                }
                refused += 1;
            }
        }
        if judged && index < JUDGED {
            fs::write(&path, &text).unwrap();
            let its_own = nginx_refuses(&path);
            taken += usize::from(its_own.is_none());
            if let (None, Err(error)) = (&its_own, &answer) {
                differ.push(format!("{error}: {}", line_of(error, &text)));
            }
        }
    }
    assert!(differ.is_empty(), "nginx reads what is refused here:\n{}", differ.join("\n"));
    assert!(read >= FILES / 2 && refused >= FILES / 2, "{read} {refused}");
    assert!(!judged || taken >= JUDGED / 10, "{taken}");
}

const OF_ENVOY: &[&str] = &[
    "- name: x",
    "lb_policy: RANDOM",
    "lb_policy: NONE",
    "clusters:",
    "load_assignment:",
    "name:",
    "-1",
    "0",
    "[",
    "]",
    "{",
    "}",
    "- ",
    "*here",
    "&here",
    "\"",
    "'",
    ": ",
    "!!binary x",
    "connect_timeout: 1",
    "nonsense: 1",
    "<<: *here",
    "%YAML 1.1",
    "---",
];

#[test]
fn envoys_files_with_mistakes_are_read_or_refused_in_a_line() {
    let (mut read, mut refused) = (0, 0);
    for (name, seed) in [("front.yaml", 5), ("tcp.json", 6)] {
        for text in mutated(&configuration("envoy", name), OF_ENVOY, 2 * FILES, seed) {
            match envoy::read(name, &text) {
                Ok(_) => read += 1,
                Err(error) => {
                    is_one_line(&error, name, &text);
                    refused += 1;
                }
            }
        }
    }
    // YAML forgives little.
    assert!(read >= FILES / 4 && refused >= FILES / 2, "{read} {refused}");
}

/// A reader of a text.
type Reader = fn(&str) -> Result<Configuration, ImportError>;

const READERS: [Reader; 3] = [
    |text| haproxy::read(&[("file".into(), text.into())], haproxy::NEWEST_MEASURED, &|_| None),
    |text| nginx::read(Path::new("file"), text),
    |text| envoy::read("file", text),
];

/// Ten megabytes of anything are refused or read, soon and in little memory.
#[test]
#[allow(clippy::disallowed_methods, reason = "a test of how long it takes")]
fn large_files_take_little_time() {
    let noise: String =
        (0..10 << 20).map(|i: u32| char::from(32 + (i.wrapping_mul(2_654_435_761) >> 24) as u8 % 95)).collect();
    let servers: String = (0..200_000).map(|i| format!("server s{i} 10.0.0.1:80\n")).collect();
    let texts = [
        format!("backend app\n{}", noise.replace(['"', '\''], "\n")),
        noise,
        format!("backend app\nserver a 10.0.0.1:80\n{}", "nonsense\n".repeat(1 << 18)),
        format!("backend app\n{servers}"),
        ".if 1\n".repeat(1 << 18),
        format!(".if {}\n", "(".repeat(1 << 20)),
        format!("backend app\n{}\n", "a ".repeat(1 << 19)),
        format!("backend app\n{}\n", "a".repeat(10 << 20)),
        "a {".repeat(1 << 19),
        format!("http {{ {} }}", "nonsense on;".repeat(1 << 17)),
        format!("http {{ upstream a {{ {} }} }}", "server 127.0.0.1:1;".repeat(200_000)),
        "a ".repeat(1 << 19),
        "# comment\n".repeat(1 << 18),
        "a: b\n".repeat(1 << 19),
        "- [a, b, c]\n".repeat(1 << 18),
        "\0".repeat(1 << 20),
        "\u{feff}".repeat(1 << 18),
    ];
    for text in texts {
        for (product, reader) in READERS.into_iter().enumerate() {
            let begin = Instant::now();
            let head: String = text.chars().take(40).collect();
            match reader(&text) {
                Ok(configuration) => assert!(configuration.pools.iter().all(|pool| pool.notes.kept.len() <= 200)),
                Err(error) => assert!(error.0.starts_with("file:") && error.0.lines().count() == 1, "{error}"),
            }
            assert!(begin.elapsed() < Duration::from_secs(20), "{product} {head}: {:?}", begin.elapsed());
        }
    }
}

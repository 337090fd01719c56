//! Configurations with mistakes, by hundreds: refused in one line that says where, or read; no panic, no hang. What the product
//! itself reads is read.

use std::fs;
use std::time::{Duration, Instant};

use sojourn_products::{ImportError, haproxy};

use crate::judge::{configuration, haproxy_refuses, has, mutated};

/// Mistakes in each file.
const FILES: usize = 400;

/// Of how many files the product itself is asked.
const JUDGED: usize = 240;

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

/// Ten megabytes of anything are refused or read, soon and in little memory.
#[test]
#[allow(clippy::disallowed_methods, reason = "a test of how long it takes")]
fn large_files_take_little_time() {
    let noise: String =
        (0..10 << 20).map(|i: u32| char::from(32 + (i.wrapping_mul(2_654_435_761) >> 24) as u8 % 95)).collect();
    let in_section = format!("backend app\n{}", noise.replace(['"', '\''], "\n"));
    let notes = format!("backend app\n{}", "nonsense\n".repeat(1 << 20));
    let servers: String = (0..200_000).map(|i| format!("server s{i} 10.0.0.1:80\n")).collect();
    let nested = ".if 1\n".repeat(1 << 20);
    let parentheses = format!(".if {}\n", "(".repeat(10 << 20));
    let words = format!("backend app\n{}\n", "a ".repeat(5 << 20));
    let one_word = format!("backend app\n{}\n", "a".repeat(10 << 20));
    let servers = format!("backend app\n{servers}");
    for text in [noise, in_section, notes, servers, nested, parentheses, words, one_word] {
        let begin = Instant::now();
        let head: String = text.chars().take(40).collect();
        match haproxy::read(&[("h.cfg".into(), text)], haproxy::NEWEST_MEASURED, &|_| None) {
            Ok(configuration) => assert!(configuration.pools.iter().all(|pool| pool.notes.kept.len() <= 200)),
            Err(error) => assert!(error.to_string().starts_with("h.cfg:"), "{error}"),
        }
        assert!(begin.elapsed() < Duration::from_secs(20), "{head}: {:?}", begin.elapsed());
    }
}

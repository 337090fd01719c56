//! Real servers as the system of an experiment.

use std::path::Path;

use crate::skip::skipped;
use crate::sojourn::{estimates, file, sojourn, stderr, stdout};

/// Says so too.
pub(crate) fn is_missing(program: &str) -> bool {
    let missing = !["/usr/sbin", "/usr/bin"].iter().any(|folder| Path::new(folder).join(program).exists());
    if missing {
        skipped(format!("{program} is not installed"));
    }
    missing
}

fn experiment(workload: &str, program: &str) -> String {
    format!(
        "name = \"real\"\nseed = 1\n[workload]\n{workload}\n[system]\nprogram = {program}\n\
         [run]\nby = [\"live\"]\nlive = {{ duration = \"900 ms\", warm_up = \"200 ms\" }}\n"
    )
}

#[test]
fn a_file_list_is_served_and_each_of_its_files_timed() {
    if is_missing("nginx") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let closed = "kind = \"webstone\"\nusers = 4\nsize = \"webstone(1: 1 kB, 1: 40 kB)\"";
    let open = "kind = \"open\"\narrivals = \"exponential(rate = 200 /s)\"\nsize = \"constant(3 kB)\"";
    let kinds =
        [(closed, "{ name = \"nginx\", workers = 2, keep_alive = \"0 s\" }", 2), (open, "{ name = \"nginx\" }", 0)];
    for (index, (workload, program, files)) in kinds.into_iter().enumerate() {
        let out = folder.path().join(format!("out{index}"));
        let path = file(folder.path(), "real.toml", experiment(workload, program));
        let output = sojourn(&["run", &path, "--out", &out.display().to_string()]);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}", stderr(&output));
        assert_eq!(estimates(&out, "live", "error_ratio"), [0.0], "every file was there");
        for file in 1..=2 {
            let metric = format!("response_time_mean_file_{file}");
            assert_eq!(estimates(&out, "live", &metric).len(), usize::from(file <= files), "{metric}");
        }
    }
}

#[test]
fn a_proxy_answers_hits_itself_and_asks_for_the_rest() {
    if is_missing("squid") || is_missing("nginx") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let workload = "kind = \"webstone\"\nusers = 2\nsize = \"constant(2 kB)\"";
    for (index, more) in ["", ", forward = true", ", forward = true, origin = { name = \"nginx\", background = true }"]
        .iter()
        .enumerate()
    {
        let out = folder.path().join(format!("out{index}"));
        let program = format!("{{ name = \"squid\", hits = 0.5{more} }}");
        let path = file(folder.path(), "proxy.toml", experiment(workload, &program));
        // So long that a busy machine has requests in it.
        let output = sojourn(&["run", &path, "--out", &out.display().to_string(), "--set", "run.live.duration=3 s"]);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}", stderr(&output));
        assert_eq!(estimates(&out, "live", "error_ratio"), [0.0], "{program}: {}", stdout(&output));
        assert_eq!(estimates(&out, "live", "response_time_mean_file_1").len(), 1, "hits, by their size");
        assert_eq!(estimates(&out, "live", "response_time_mean_file_2").len(), 1, "misses, by theirs");
    }
}

/// Clients, proxy and web server each on a host of its own: clients ask the proxy alone, which asks the web server.
#[test]
fn a_forward_proxy_and_its_origin_are_in_a_bed() {
    if is_missing("squid") || is_missing("nginx") || !crate::bed::can() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let text = experiment(
        "kind = \"webstone\"\nusers = 2\nsize = \"constant(2 kB)\"",
        "{ name = \"squid\", forward = true, hits = 0.5 }\n[system.network]\nrtt = \"20 ms\"",
    );
    let path = file(folder.path(), "bed.toml", text);
    let hosts = sojourn(&["bed", "run", &path, "server-1", "--", "cat", "/etc/hosts"]);
    let hosts = String::from_utf8_lossy(&hosts.stdout).into_owned();
    assert!(["client", "server-1", "server-1-origin"].iter().all(|name| hosts.contains(name)), "{hosts}");
    let out = folder.path().join("out");
    let output = sojourn(&["run", &path, "--out", &out.display().to_string()]);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", stderr(&output));
    assert_eq!(estimates(&out, "live", "error_ratio"), [0.0]);
    for metric in ["response_time_mean_file_1", "response_time_mean_file_2"] {
        let [mean_s] = estimates(&out, "live", metric)[..] else { panic!("{metric}: hits and misses are told apart") };
        assert!(mean_s > 0.019, "{metric}: {mean_s} s over a network of 20 ms");
    }
}

#[test]
fn what_a_program_cannot_be_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let list = "kind = \"webstone\"\nusers = 4";
    let two = "{ name = \"squid\", forward = true }\n[[system.tier]]\nface = \"gateway\"\npolicy = \"random\"\n\
               targets = { servers = 2 }";
    let cases = [
        (list, "{ name = \"ngins\" }", "unknown program `ngins`"),
        (list, "{ workers = 4 }", "it needs a name"),
        (list, "{ name = \"nginx\", workers = 0 }", "it is from 1 to 1024"),
        (list, "{ name = \"nginx\", hits = 0.5 }", "hits: no such setting"),
        (list, "{ name = \"squid\", hits = 2 }", "hits is from 0 to 1"),
        (list, "{ name = \"squid\", origin = \"nginx\" }", "origin is a program too"),
        (list, "{ name = \"squid\", forward = 1 }", "forward = 1: it is true or false"),
        (list, "{ name = \"nginx\", forward = true }", "forward: no such setting"),
        (list, two, "one server and no tier"),
        (list, "{ name = \"inetd\", keep_alive = \"1 s\" }", "it closes every connection"),
        ("kind = \"closed\"\nusers = 1\nsize = \"exponential(mean = 1 kB)\"", "{ name = \"nginx\" }", "serves files"),
    ];
    for (workload, program, part) in cases {
        let path = file(folder.path(), "bad.toml", experiment(workload, program));
        let output = sojourn(&["run", &path, "--out", &folder.path().join("out").display().to_string()]);
        let words = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{program}: {words}");
        assert!(words.contains(part) && words.contains("bad.toml:"), "{program}: {words}");
    }
}

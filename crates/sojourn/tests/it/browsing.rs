//! Users who browse: a site on disk, sessions in every engine, a real Apache, and a folder of experiments.

use std::fs;
use std::path::Path;

use crate::programs::is_missing;
use crate::sojourn::{estimates, experiment, file, sojourn, stderr, stdout};

#[test]
fn a_site_is_described_written_and_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("site").display().to_string();
    let output = sojourn(&["traffic", "site", "--files", "200", "--seed", "7", "--out", &out]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let described = stdout(&output);
    assert!(
        described.contains("bytes_per_request") && described.contains("top_1_percent_of_pages_share"),
        "{described}"
    );
    let table = fs::read_to_string(Path::new(&out).join("site.csv")).unwrap();
    assert_eq!(table.lines().count(), 201, "a line per file");
    let read = sojourn(&["traffic", "site", "--read", &out]);
    let line = |text: &str, name: &str| text.lines().find(|line| line.starts_with(name)).map(str::to_owned);
    for name in ["files ", "bytes ", "embedded_per_request", "bytes_per_request"] {
        assert_eq!(line(&described, name), line(&stdout(&read), name));
    }
    let again = sojourn(&["traffic", "site", "--files", "200", "--out", &out]);
    assert_eq!(again.status.code(), Some(2));
    assert!(
        stderr(&again).contains("not empty") && stderr(&again).trim_end().lines().count() == 1,
        "{}",
        stderr(&again)
    );
}

/// 20 users for a second, on two nodes behind the gateway.
fn browse(out: &str, more: &[&str]) -> std::process::Output {
    let path = experiment("browsing.toml").display().to_string();
    let short = [
        ["--set", "users=20"],
        ["--set", "workload.site.files=100"],
        ["--set", "servers=2"],
        ["--set", "run.duration=20 s"],
        ["--set", "run.warm_up=1 s"],
        ["--set", "run.replications=2"],
        ["--set", "run.live={ duration = \"1500 ms\", warm_up = \"300 ms\" }"],
        ["--out", out],
    ];
    sojourn(&[&["run", path.as_str()], short.as_flattened(), more].concat())
}

#[test]
fn the_same_users_browse_in_sim_and_live() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let output = browse(&out.display().to_string(), &[]);
    // A short live run on a busy machine may be SUSPECT: that is an answer too.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", stderr(&output));
    for metric in
        ["response_time_mean", "page_response_time_mean", "file_throughput", "byte_throughput", "quality_high"]
    {
        for engine in ["sim", "live", "twin"] {
            assert_eq!(estimates(&out, engine, metric).len(), 3, "{engine}, {metric}: one per policy");
        }
    }
    // The live users are the twin's users: how much they ask for in a second and a half differs by what is under way.
    for (live, twin) in
        estimates(&out, "live", "file_throughput").iter().zip(estimates(&out, "twin", "file_throughput"))
    {
        assert!((live / twin - 1.0).abs() < 0.25, "{live} and {twin} files per second");
    }
    for file in ["replications.csv", "connections.csv", "report.html"] {
        assert!(fs::metadata(out.join(file)).unwrap().len() > 0, "{file}");
    }
}

#[test]
fn they_browse_a_real_apache() {
    if is_missing("apache2") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let path = file(
        folder.path(),
        "apache.toml",
        "name = \"apache\"\n[workload]\nkind = \"sessions\"\nusers = 20\nsite = { files = 100 }\ntime_scale = 10\n\
         [system]\nprogram = { name = \"apache\", workers = 30 }\n\
         [run]\nby = [\"live\"]\nlive = { duration = \"1500 ms\", warm_up = \"300 ms\" }\n",
    );
    let output = sojourn(&["run", &path, "--out", &out.display().to_string()]);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", stderr(&output));
    assert_eq!(estimates(&out, "live", "response_time_mean").len(), 1);
    assert_eq!(estimates(&out, "live", "error_ratio"), [0.0], "every file was there");
    let refused = sojourn(&["run", &path, "--by", "sim"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("[system.server]"), "{}", stderr(&refused));
}

#[test]
fn a_folder_of_experiments_is_run_in_order_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let (one, out) = (folder.path().join("all"), folder.path().join("out"));
    fs::create_dir(&one).unwrap();
    let text = "seed = 1\n[workload]\nkind = \"open\"\narrivals = \"exponential(utilization = 0.5)\"\n\
                [system]\nserver = { discipline = \"ps\", demand = \"1 ms\" }\n[run]\nby = [\"theory\"]\n";
    file(&one, "b.toml", format!("name = \"second\"\n{text}"));
    file(&one, "a.toml", format!("name = \"first\"\n{text}"));
    file(&one, "notes.md", "not an experiment");
    let run = || sojourn(&["run", &one.display().to_string(), "--out", &out.display().to_string()]);
    let output = run();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let told = stdout(&output);
    assert!(told.find("first").unwrap() < told.find("second").unwrap(), "{told}");
    assert_eq!(estimates(&out.join("b"), "theory", "response_time_mean").len(), 1);
    fs::remove_dir_all(&out).unwrap();
    file(&one, "c.toml", format!("name = \"third\"\n{text}nonsense = 1\n"));
    let output = run();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("c.toml") && !out.exists(), "{}", stderr(&output));
}

#[test]
fn without_an_answer_no_empty_table_is_shown_and_the_run_has_failed() {
    let folder = tempfile::tempdir().unwrap();
    let output = browse(&folder.path().join("out").display().to_string(), &["--by", "theory"]);
    let complaint = stderr(&output);
    assert_eq!((output.status.code(), complaint.trim_end().lines().count()), (Some(3), 1), "{complaint}");
    assert!(complaint.contains("no engine that was asked has an answer: theory: "), "{complaint}");
    let said = stdout(&output);
    assert!(said.contains("No engine has an answer.") && !said.contains("Mean response time"), "{said}");
}

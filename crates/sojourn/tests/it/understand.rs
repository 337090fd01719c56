//! From an input to its description and to a workload that runs.

use std::fs;
use std::io::Write;

use sojourn_stats::{Dimension, Law, Stream};

use crate::sojourn::{estimates, file, sojourn, stderr, stdout};

/// A log of four hours at two requests a second, the second half twice as busy as the first.
fn log() -> String {
    let size = Law::parse("lognormal(mu = 8.2, sigma = 1.3, unit = B)", Dimension::Size).unwrap();
    let gap = Law::exponential(1.0);
    let mut stream = Stream::new(1, "understand", "log");
    let (mut text, mut at_s, mut request) = (String::new(), 0.0f64, 0);
    while at_s < 14_400.0 {
        let (hour, minute, second) = (at_s as u32 / 3600, at_s as u32 / 60 % 60, at_s as u32 % 60);
        text += &format!(
            "h{} - - [01/Aug/1995:{hour:02}:{minute:02}:{second:02} +0000] \"GET /{} HTTP/1.0\" 200 {}\n",
            request % 37,
            stream.below(50),
            size.sample(&mut stream) as u64 + 1
        );
        request += 1;
        at_s += gap.sample(&mut stream) / if at_s < 7200.0 { 4.0 / 3.0 } else { 8.0 / 3.0 };
    }
    text
}

#[test]
fn a_log_becomes_a_page_and_a_workload_that_runs() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let log = file(folder.path(), "a<b>.log", log());
    let output = sojourn(&["traffic", "describe", &log, "--report", &path("page.html"), "--plot", &path("plots")]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let told = stdout(&output);
    for part in ["requests\n", "sizes\n", "lognormal(mu = 8.", "Sizes of the replies", "zipf_exponent", "Beware"] {
        assert!(told.contains(part), "no `{part}` in {told}");
    }
    let seconds = told.lines().filter_map(|line| line.strip_suffix(" s")?.split_whitespace().last());
    let long: Vec<&str> = seconds.filter(|number| number.parse::<f64>().is_ok_and(|s| s >= 1000.0)).collect();
    assert!(long.len() > 1 && long.iter().all(|number| !number.contains('.')), "thousands need no decimals: {long:?}");
    let page = fs::read_to_string(path("page.html")).unwrap();
    for part in [
        "id=\"plot-rate\"",
        "id=\"plot-size-distribution\"",
        "id=\"plot-size-hill\"",
        "id=\"plot-popularity\"",
        "id=\"memory\"",
    ] {
        assert!(page.contains(part), "no `{part}`");
    }
    assert!(page.contains("a&lt;b&gt;.log") && !page.contains("a<b>") && !page.contains("src="));
    for name in ["rate", "size-distribution", "size-hill", "popularity", "cache"] {
        let drawing = fs::read_to_string(folder.path().join(format!("plots/{name}.svg"))).unwrap();
        assert!(drawing.starts_with("<svg xmlns=") && drawing.contains("<style>"), "{name}");
    }

    let workload = path("workload.toml");
    let output = sojourn(&["traffic", "fit", &log, "--out", &workload]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("note: the server in it is made up"), "{}", stderr(&output));
    let again = sojourn(&["traffic", "fit", &log, "--out", &workload]);
    assert!(again.status.code() == Some(2) && stderr(&again).contains("exists"), "{}", stderr(&again));
    let out = path("out");
    let output = sojourn(&["run", &workload, "--out", &out]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    // Two a second on average: some 28,800 in all, so 6 errors are 3.5 %, twice over for log and run.
    let throughput = estimates(folder.path().join("out").as_path(), "sim", "throughput")[0];
    assert!((throughput / 2.0 - 1.0).abs() < 0.08, "{throughput}");
}

#[test]
fn counts_are_a_column_again() {
    let folder = tempfile::tempdir().unwrap();
    let log = file(folder.path(), "access.log", log());
    let counts = folder.path().join("counts.txt").display().to_string();
    let output = sojourn(&["traffic", "describe", &log, "--counts", &counts, "--every", "10 s"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("wrote ") && stderr(&output).contains("counts.txt"), "{}", stderr(&output));
    let text = fs::read_to_string(&counts).unwrap();
    let sum: u64 = text.lines().map(|line| line.parse::<u64>().unwrap()).sum();
    // Without the first and the last second, of which a log may have a part only.
    let log = fs::read_to_string(&log).unwrap();
    let seconds: Vec<&str> =
        log.lines().map(|line| line.split_once(" [").unwrap().1.split_once(']').unwrap().0).collect();
    let whole = seconds.iter().filter(|second| **second != seconds[0] && second != &seconds.last().unwrap()).count();
    assert!((1435..=1441).contains(&text.lines().count()) && sum == whole as u64, "{sum} of {whole}");
    let output = sojourn(&["traffic", "describe", &counts]);
    assert!(stdout(&output).contains("autocorrelation_lag_1"), "{}", stdout(&output));
    let output = sojourn(&["traffic", "describe", &counts, "--counts", "x.txt"]);
    assert!(output.status.code() == Some(2) && stderr(&output).contains("does not say when"), "{}", stderr(&output));
}

/// What `describe` says of H is what `hurst` says of the same counts, plain or packed.
#[test]
fn two_verbs_have_one_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let log = file(folder.path(), "access.log", log());
    let counts = folder.path().join("counts.txt").display().to_string();
    let told = stdout(&sojourn(&["traffic", "describe", &log, "--counts", &counts]));
    let plain = stdout(&sojourn(&["traffic", "hurst", &counts, "--json"]));
    let json: serde_json::Value = serde_json::from_str(&plain).unwrap();
    let verdict = json["verdict"].as_str().unwrap();
    assert!(told.contains("Counts of 1 s, as they are") && told.contains(verdict), "{verdict}\n{told}");
    for warning in json["warnings"].as_array().unwrap() {
        assert!(told.contains(&format!("  warning: {}\n", warning.as_str().unwrap())), "{warning}\n{told}");
    }
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(&fs::read(&counts).unwrap()).unwrap();
    let packed = file(folder.path(), "counts.txt.gz", gzip.finish().unwrap());
    assert_eq!(stdout(&sojourn(&["traffic", "hurst", &packed, "--json"])), plain);
}

#[test]
fn a_part_of_a_log_is_taken_by_its_clock() {
    let folder = tempfile::tempdir().unwrap();
    let text = log();
    let in_hour = |hour: &str| text.lines().filter(|line| line.contains(&format!("1995:{hour}:"))).count() as u64;
    let path = file(folder.path(), "access.log", &text);
    let requests = |window: &[&str]| {
        let output = sojourn(&[&["traffic", "describe", &path, "--json"], window].concat());
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
        let facts = json["facts"].as_array().unwrap().clone();
        facts.iter().find(|fact| fact["name"] == "requests").unwrap()["value"].as_u64().unwrap()
    };
    assert_eq!(requests(&["--from", "01:00", "--to", "02:00"]), in_hour("01"));
    assert_eq!(requests(&["--from", "1995-08-01 01:00:00", "--to", "2 h"]), in_hour("01"));
    assert_eq!(requests(&["--to", "3600 s"]), in_hour("00"));
    assert_eq!(requests(&["--busy-hour"]), in_hour("02").max(in_hour("03")));
    // An hour in which the rate is steady has no profile.
    let fitted = stdout(&sojourn(&["traffic", "fit", &path, "--busy-hour"]));
    assert!(fitted.contains("arrivals = ") && !fitted.contains("profile = "), "{fitted}");
    assert!(
        fitted.lines().all(|line| !line.starts_with("# ") || line.contains(" = \"") || line.chars().count() <= 80),
        "{fitted}"
    );
    let column = file(folder.path(), "column.txt", "1\n2\n3\n");
    for (arguments, expected) in [
        (&[path.as_str(), "--from", "noon"][..], "12:30"),
        (&[&path, "--from", "1995-02-30 12:00"], "12:30"),
        (&[&path, "--from", "1999-01-01 12:00"], "1995-08-01 03:59"),
        (&[&path, "--from", "02:00", "--to", "01:00"], "nothing of"),
        (&[&column, "--busy-hour"], "is no log"),
    ] {
        let output = sojourn(&[&["traffic", "fit"], arguments].concat());
        let complaint = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{complaint}");
        assert!(complaint.contains(expected) && complaint.trim_end().lines().count() == 1, "{complaint}");
    }
}

#[test]
fn everything_as_json() {
    let folder = tempfile::tempdir().unwrap();
    let log = file(folder.path(), "access.log", log());
    let output = sojourn(&["traffic", "describe", &log, "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let fact = |name: &str| {
        let facts = json["facts"].as_array().unwrap();
        facts.iter().find(|fact| fact["name"] == name).unwrap_or_else(|| panic!("{name}"))["value"].clone()
    };
    assert!(fact("arrival_rate").as_f64().is_some_and(|rate| (rate - 2.0).abs() < 0.1));
    assert_eq!(json["variables"][0]["name"], "size");
    assert!(json["variables"][0]["fits"][0]["law"].as_str().unwrap().starts_with("lognormal("), "{json:#}");
    assert!(json["variables"][0]["tail"]["plot"].as_array().unwrap().len() > 50);
    assert!(json["popularity"]["zipf"]["s"].is_number() && json["rate"]["counts"].is_array());
}

#[test]
fn a_column_with_its_unit() {
    let folder = tempfile::tempdir().unwrap();
    let law = Law::parse("gamma(shape = 2, scale = 5 ms)", Dimension::Time).unwrap();
    let mut stream = Stream::new(1, "understand", "column");
    let column: String = (0..5000).map(|_| format!("{}\n", law.sample(&mut stream) * 1e3)).collect();
    let path = file(folder.path(), "gaps.txt", column);
    let output = sojourn(&["traffic", "fit", &path, "--unit", "ms"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let told = stdout(&output);
    let fitted = Law::parse(told.trim_end().lines().last().unwrap(), Dimension::Time).unwrap();
    // The mean to 6 of its errors, whichever law is the likeliest.
    assert!((fitted.mean() / 0.01 - 1.0).abs() < 6.0 * (0.5f64 / 5000.0).sqrt(), "{fitted}");
    // A plain file of numbers is one, said or not, wherever it is said; a column of a table has one name in all commands.
    let said = |arguments: &[&str]| {
        let output = sojourn(&[&["traffic"], arguments].concat());
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
        stdout(&output)
    };
    assert_eq!(said(&["fit", "--numbers", &path, "--unit", "ms"]), told);
    assert_eq!(said(&["fit", &path, "--unit", "ms", "--numbers"]), told);
    let text = fs::read_to_string(&path).unwrap();
    let rows: String = (0..).zip(text.lines()).map(|(n, number)| format!("{n},{number}\n")).collect();
    let table = file(folder.path(), "table.csv", format!("request,gap\n{rows}"));
    assert_eq!(said(&["fit", &table, "--column", "gap", "--unit", "ms"]), told);
    assert_eq!(
        said(&["describe", &table, "--column", "gap", "--json"]),
        said(&["describe", "--numbers", &path, "--json"])
    );
    assert_eq!(said(&["hurst", &table, "--column", "gap", "--json"]), said(&["hurst", &path, "--json"]));
    for (arguments, expected) in [
        (&["traffic", "fit", &table, "--numbers", "gap"][..], "if it is a column of a CSV file, write --column gap"),
        (&["traffic", "fit", "--numbers", &table], "is not a number; of a CSV file name a column: --column NAME"),
        (&["traffic", "describe", &table], "of a CSV file name a column: --column request"),
        (&["traffic", "describe", &path, "--unit", "parsecs"][..], "--unit"),
        (&["traffic", "describe", &path, "--connections", "x.csv"], "is no capture"),
        (&["traffic", "fit", &path, "--column", "gap"], "no column `gap`"),
    ] {
        let output = sojourn(arguments);
        let complaint = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{complaint}");
        assert!(complaint.contains(expected) && complaint.trim_end().lines().count() == 1, "{complaint}");
    }
}

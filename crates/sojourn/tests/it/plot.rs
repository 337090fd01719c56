//! `--plot`: what a report draws first, in a file of its own.

use std::fs;

use crate::sojourn::{file, sojourn, stderr, stdout};

const SWEEP: &str = r#"
name = "random or least connections"
[workload]
kind = "open"
utilization = 0.5
[[system.tier]]
face = "gateway"
policy = "random"
targets = { servers = 4 }
[system.server]
discipline = "fcfs"
demand = "exponential(mean = 1 s)"
[vary]
policy = ["random", "least-connections"]
utilization = [0.5, 0.6, 0.7]
[run]
by = ["theory", "sim"]
# Each replication is longer than ten relaxation times at 0.7, 1,240 requests: shorter ones have no intervals.
max_jobs = 20000
precision = "none"
replications = 4
"#;

/// The class of the line that stands before a name in a legend.
fn color<'a>(drawing: &'a str, name: &str) -> &'a str {
    let before = drawing.split(&format!(">\n{name}\n</text>")).next().expect("split gives one");
    assert!(before.len() < drawing.len(), "{name} is in the legend: {drawing}");
    before.rsplit("class=\"s-").next().and_then(|of| of.split('"').next()).expect("a class")
}

#[test]
fn a_run_of_many_points_has_its_curves_in_a_file_and_one_point_has_dots() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let experiment = file(folder.path(), "sweep.toml", SWEEP);
    let (run, mean) = (path("run"), path("mean.svg"));
    let ran = sojourn(&["run", &experiment, "--out", &run, "--plot", &mean]);
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    assert!(stderr(&ran).contains(&format!("wrote {mean}")), "{}", stderr(&ran));
    let drawn = |name: &str| fs::read_to_string(path(name)).unwrap();
    let curves = drawn("mean.svg");
    assert!(curves.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"640\""), "{curves}");
    assert!(curves.trim_end().ends_with("</svg>") && curves.matches("<svg").count() == 1, "one panel: {curves}");
    for part in ["mean response time", "utilization", "theory", "sim"] {
        assert!(curves.contains(&format!(">\n{part}\n</text>")), "{part}: {curves}");
    }
    let page = fs::read_to_string(folder.path().join("run/report.html")).unwrap();
    let figure = page.split("id=\"plot-sweep\"").nth(1).expect("a figure");
    for policy in ["random", "least-connections"] {
        assert_eq!(color(&curves, policy), color(figure, policy), "{policy}");
    }
    assert_ne!(color(&curves, "random"), color(&curves, "least-connections"));

    // Of the folder the same, and nothing else is written; another time in the same colours.
    fs::remove_file(folder.path().join("run/report.html")).unwrap();
    let again = sojourn(&["report", &run, "--plot", &path("again.svg")]);
    assert_eq!(again.status.code(), Some(0), "{}", stderr(&again));
    assert_eq!(drawn("again.svg"), curves);
    assert!(!folder.path().join("run/report.html").exists(), "a plot is all that was asked for");
    let wrote = format!("wrote {}\n", path("again.svg"));
    assert!(stdout(&again).is_empty() && stderr(&again).ends_with(&wrote), "{}{}", stdout(&again), stderr(&again));
    let rows = sojourn(&["report", &run, "--plot", &path("again.svg"), "--json"]);
    assert!(stdout(&rows).starts_with('['), "{}", stdout(&rows));
    let tail = sojourn(&["report", &run, "--plot", &path("p90.svg"), "--metric", "p90", "--out", &path("page.html")]);
    assert_eq!(tail.status.code(), Some(0), "{}", stderr(&tail));
    assert!(folder.path().join("page.html").exists());
    assert!(stdout(&tail).contains("least-connections"), "a page has its table: {}", stdout(&tail));
    assert!(drawn("p90.svg").contains(">\n90th percentile of the response time\n</text>"), "{}", drawn("p90.svg"));
    assert_eq!(color(&drawn("p90.svg"), "random"), color(&curves, "random"));

    let point =
        ["--set", "policy=random", "--set", "utilization=0.5", "--out", &path("one"), "--plot", &path("one.svg")];
    let ran = sojourn(&[&["run", &experiment], &point[..]].concat());
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    let dots = drawn("one.svg");
    assert!(dots.contains("<title>Mean response time by variant and engine</title>"), "{dots}");
    assert!(dots.contains("class=\"f-theory\"") && dots.contains("class=\"f-sim\""), "{dots}");

    // Two runs are two kinds of lines.
    let both = sojourn(&["report", &run, &path("one"), "--plot", &path("both.svg")]);
    assert_eq!(both.status.code(), Some(0), "{}", stderr(&both));
    assert_eq!(color(&drawn("both.svg"), "random \u{b7} run"), "series-0");
    assert!(stdout(&both).is_empty(), "{}", stdout(&both));
    let rows = ["--out", &path("rows.csv"), "--plot", &path("swept.svg")];
    let swept = sojourn(&[&["sweep", &experiment], &rows[..]].concat());
    assert!(swept.status.success(), "{}", stderr(&swept));
    assert_eq!(color(&drawn("swept.svg"), "random"), "series-0");
}

/// What cannot be drawn is told in one line, and nothing is written.
#[test]
fn plots_that_cannot_be() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let experiment = file(folder.path(), "sweep.toml", SWEEP);
    let (run, plot) = (path("run"), path("x.svg"));
    let ran = sojourn(&["run", &experiment, "--by", "theory", "--out", &run]);
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    let all = folder.path().display().to_string();
    for (arguments, says) in [
        (
            &["report", &run, "--plot", &plot, "--metric", "lateness_p99"][..],
            "no engine has a number of `lateness_p99`",
        ),
        (&["run", &all, "--plot", &plot], "--plot draws one run, and this is a folder of experiments"),
        (&["report", &run, "--metric", "p99"], "--plot <FILE.svg>"),
    ] {
        let output = sojourn(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(says), "{arguments:?}: {}", stderr(&output));
        assert!(!folder.path().join("x.svg").exists(), "{arguments:?}");
    }
}

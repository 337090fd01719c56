//! Fujita's models (2000, chapter 4): what his text says in numbers.

use std::fs;
use std::path::Path;

use crate::sojourn::{estimates, experiment, sojourn, stderr};

/// Section 4.1: for 10 requests a second within 100 ms he reads about 1.4 Mbit/s.
#[test]
fn the_line_that_he_reads_from_his_figure_is_what_a_plan_finds() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("plan").display().to_string();
    let file = experiment("fujita-2000/plan/line.toml").display().to_string();
    let output = sojourn(&["plan", &file, "--out", &out]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let plan: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(Path::new(&out).join("plan.json")).unwrap()).unwrap();
    assert_eq!(plan["offers"][0]["settings"][0][1], "1400 kbit/s");
}

/// Section 4.2: 300 ms with 6 Mbit/s and a backbone of 100 ms, three fourths of what it is with 1.5 Mbit/s. Section 4.3: his
/// analysis is near the exact one while the line limits, and less so where the web server does.
#[test]
fn users_and_visitors_give_the_two_numbers_that_they_were_inferred_from() {
    let folder = tempfile::tempdir().unwrap();
    let totals = |name: &str| {
        let out = folder.path().join(name).display().to_string();
        let file = experiment(&format!("fujita-2000/models/{name}.toml")).display().to_string();
        let output = sojourn(&["run", &file, "--by", "theory", "--out", &out]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        estimates(Path::new(&out), "theory", "response_time_mean_users_miss")
    };
    // Seven backbones with 1.5 Mbit/s, of which the third takes 100 ms, then with 6 Mbit/s.
    let exact = totals("8-backbone-shared");
    let (slow, fast) = (exact[2], exact[7 + 2]);
    assert!((fast / 0.3 - 1.0).abs() < 0.05 && (fast / slow / 0.75 - 1.0).abs() < 0.05, "{fast} and {slow}");
    let his = totals("8-backbone");
    let off = |number: usize| his[number] / exact[number] - 1.0;
    for backbone in 0..7 {
        assert!(off(backbone).abs() < 0.05 && off(backbone).abs() < off(7 + backbone), "{his:?} {exact:?}");
    }
}

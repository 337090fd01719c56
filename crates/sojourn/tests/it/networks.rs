//! Networks of queues, as a user runs them.

use crate::sojourn::{estimates, experiment, file, root, sojourn, stderr, stdout};

#[test]
fn a_network_is_answered_by_theory() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out").display().to_string();
    let path = experiment("web-server-in-series.toml").display().to_string();
    let output = sojourn(&["run", &path, "--by", "theory", "--out", &out]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    // A queue in order of four threads, three shared stations and a delay: M/M/1, M/M/4 and times that no job shares.
    let response = estimates(folder.path().join("out").as_path(), "theory", "response_time_mean_requests");
    for (response, rate) in response.iter().zip([10.0f64, 25.0, 34.0]) {
        let shared = |demand: f64| demand / (1.0 - rate * demand);
        let offered = rate * 0.1;
        let empty: f64 = (0..4).map(|n| offered.powi(n) / f64::from((1..=n).product::<i32>())).sum();
        let busy = offered.powi(4) / 24.0 * 4.0 / (4.0 - offered);
        let threads = 0.1 + busy / (empty + busy) * 0.1 / (4.0 - offered);
        let wanted = shared(0.01) + threads + shared(5275.0 * 8.0 / 1.5e6) + 5275.0 * 8.0 / 707e3;
        assert!((response / wanted - 1.0).abs() < 1e-9, "{rate}: {response} is not {wanted}");
    }
    assert!(stdout(&output).contains("bottleneck: `io`"), "{}", stdout(&output));
}

#[test]
fn the_guide_to_networks_works() {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(root().join("docs/networks.md")).unwrap();
    let block = text.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let path = file(folder.path(), "isp.toml", block);
    let out = folder.path().join("out").display().to_string();
    let output = sojourn(&["run", &path, "--by", "theory", "--out", &out]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let line = estimates(folder.path().join("out").as_path(), "theory", "utilization_access-line");
    assert!(line.len() == 3 && line[0] > line[1] && line[1] > line[2], "a faster line is used less: {line:?}");
    let live = sojourn(&["run", &path, "--by", "live"]);
    assert_eq!(live.status.code(), Some(2));
    assert!(stderr(&live).contains("live has no networks"), "{}", stderr(&live));
    let plan = sojourn(&["traffic", "generate", &path, "--requests", "3"]);
    assert_eq!(plan.status.code(), Some(2), "{}", stderr(&plan));
}

//! What `sojourn sweep` says of its points beside their rows.

use crate::sojourn::{file, sojourn, stderr};

/// Random over processor-sharing servers is exact: n of them that get 100 /s for 20 ms each answer after 20 ms / (1 - 2 / n), so
/// that five are quick enough; with 200 /s seven take 46.7 ms, and eight take 40 ms.
#[test]
fn how_many_servers_are_enough_is_said_for_each_load() {
    let folder = tempfile::tempdir().unwrap();
    let text = "name = \"enough\"\n[workload]\nkind = \"open\"\narrivals = \"exponential(rate = 100 /s)\"\n\
                [[system.tier]]\nface = \"gateway\"\npolicy = \"random\"\ntargets = { servers = 5 }\n\
                [system.server]\ndiscipline = \"ps\"\ndemand = \"exponential(mean = 20 ms)\"\n\
                [objective]\nmean = \"< 45 ms\"\n\
                [vary]\narrivals = [\"exponential(rate = 100 /s)\", \"exponential(rate = 200 /s)\"]\n\
                servers = [5, 6, 7, 8, 9]\n";
    let path = file(folder.path(), "enough.toml", text);
    let rows = folder.path().join("rows.csv").display().to_string();
    let swept = sojourn(&["sweep", &path, "--by", "theory", "--out", &rows]);
    let told = stderr(&swept);
    assert_eq!(swept.status.code(), Some(0), "{told}");
    for line in [
        "By theory, the values of servers that meet the objective:",
        "  exponential(rate = 100 /s): 5 to 9 (all)",
        "  exponential(rate = 200 /s): 8 to 9",
    ] {
        assert!(told.lines().any(|of| of == line), "{line}: {told}");
    }
}

//! Does live agree with the simulator on the same plan? Ten live runs of the demo's five policies with ten seeds; the
//! bar: for each policy, live's mean response time is within 10 % of its twin's in nine runs of ten, none SUSPECT.
//!
//! `cargo bench --profile dev -p sojourn-cli --bench agreement [-- RUNS]`. Takes about 90 s a run; leave the machine alone.

use std::path::Path;
use std::process::Command;

use sojourn_lab::Folder;

const POLICIES: [&str; 5] = ["round-robin", "random", "least-connections", "round-trip", "transmitted-size"];
const WITHIN: f64 = 0.10;

#[allow(clippy::print_stdout, reason = "a bench answers on the terminal")]
fn main() {
    let runs: u64 = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(10);
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let experiment = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/four-servers.toml");
    let mut agreed = [0; POLICIES.len()];
    let mut suspect = 0;
    println!("live against its twin, difference of the mean response time in percent");
    println!("seed  {}", POLICIES.map(|policy| format!("{policy:>18}")).concat());
    for seed in 1..=runs {
        let out = folder.path().join(seed.to_string());
        let status = Command::new(env!("CARGO_BIN_EXE_sojourn"))
            .args(["run", experiment, "--by", "live", "--json", "--seed", &seed.to_string(), "--out"])
            .arg(&out)
            .stdout(std::process::Stdio::null())
            .status()
            .expect("the program runs");
        assert!(matches!(status.code(), Some(0 | 1)), "seed {seed}: {status}");
        let folder = Folder::read(Path::new(&out)).expect("a run leaves its folder");
        let mut line = format!("{seed:>4}  ");
        for (at, agreed) in agreed.iter_mut().enumerate() {
            let mean = |engine| {
                let mut rows = folder.rows(at, engine).filter(|row| row.measure.metric == "response_time_mean");
                rows.next().and_then(|row| row.measure.estimate.value()).expect("both have a mean")
            };
            let difference = mean("live") / mean("twin") - 1.0;
            *agreed += u64::from(difference.abs() <= WITHIN);
            line += &format!("{:>+18.1}", difference * 100.0);
        }
        let reasons = &folder.run.reasons;
        suspect += u64::from(!reasons.is_empty());
        println!(
            "{line}  {}",
            if reasons.is_empty() { "VALID".into() } else { format!("SUSPECT: {}", reasons.join("; ")) }
        );
    }
    println!("agreed{}", agreed.map(|count| format!("{:>18}", format!("{count} of {runs}"))).concat());
    println!("runs that were SUSPECT: {suspect}");
    assert!(agreed.iter().all(|count| count * 10 >= runs * 9) && suspect == 0, "the bar is missed");
}

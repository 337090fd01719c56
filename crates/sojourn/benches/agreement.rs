//! Does live agree with the simulator on the same requests? Ten live runs of each experiment with ten seeds; the bar: for
//! each variant, live's mean response time is within 10 % of its twin's in nine runs of ten, none SUSPECT.
//!
//! `cargo bench --profile dev -p sojourn-cli --bench agreement [-- RUNS] [EXPERIMENT...]`. The demo takes about 90 s a run,
//! the systems of several tiers as long again; leave the machine alone.

use std::process::Command;

use sojourn_lab::{Answers, Engine, Metric};

/// Experiments by their path below `experiments/`, and how many of their variants are judged: of the demo the policies.
const EXPERIMENTS: [(&str, usize); 4] = [
    ("four-servers.toml", 5),
    ("tiers/two-gateways.toml", 3),
    ("tiers/central-redirector.toml", 2),
    ("tiers/hybrid.toml", 1),
];
const WITHIN: f64 = 0.10;

#[allow(clippy::print_stdout, reason = "a bench answers on the terminal")]
fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let runs: u64 = words.iter().find_map(|word| word.parse().ok()).unwrap_or(10);
    let asked =
        |file: &str| words.iter().all(|word| word.parse::<u64>().is_ok()) || words.iter().any(|word| word == file);
    println!("live against its twin, difference of the mean response time in percent, by variant");
    let mut missed = Vec::new();
    for (file, variants) in EXPERIMENTS.into_iter().filter(|(file, _)| asked(file)) {
        println!("{file}");
        let (agreed, suspect) = agree(file, variants, runs);
        println!(
            "agreed{}",
            agreed.iter().map(|count| format!("{:>12}", format!("{count} of {runs}"))).collect::<String>()
        );
        println!("runs that were SUSPECT: {suspect}");
        if !agreed.iter().all(|count| count * 10 >= runs * 9) || suspect > 0 {
            missed.push(file);
        }
    }
    assert!(missed.is_empty(), "the bar is missed: {}", missed.join(", "));
}

/// In how many runs each variant agreed, and how many runs were SUSPECT.
#[allow(clippy::print_stdout, reason = "a bench answers on the terminal")]
fn agree(file: &str, variants: usize, runs: u64) -> (Vec<u64>, u64) {
    let experiment = format!("{}/../../experiments/{file}", env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let mut agreed = vec![0; variants];
    let mut suspect = 0;
    for seed in 1..=runs {
        let out = folder.path().join(seed.to_string());
        let status = Command::new(env!("CARGO_BIN_EXE_sojourn"))
            .args(["run", &experiment, "--by", "live", "--json", "--seed", &seed.to_string(), "--out"])
            .arg(&out)
            .stdout(std::process::Stdio::null())
            .status()
            .expect("the program runs");
        assert!(matches!(status.code(), Some(0 | 1)), "seed {seed}: {status}");
        let answers = Answers::open(&out).expect("a run leaves its folder");
        let mut line = format!("{seed:>4}  ");
        for (at, agreed) in agreed.iter_mut().enumerate() {
            let mean = |engine| {
                let answer = answers.variants[at].answer(engine).expect("both answer");
                answer.metric(Metric::RESPONSE_TIME_MEAN).expect("both have a mean").value()
            };
            let difference = mean(Engine::Live) / mean(Engine::Twin) - 1.0;
            *agreed += u64::from(difference.abs() <= WITHIN);
            line += &format!("{:>+12.1}", difference * 100.0);
        }
        let reasons = &answers.reasons;
        suspect += u64::from(!reasons.is_empty());
        let verdict = if reasons.is_empty() { "VALID".into() } else { format!("SUSPECT: {}", reasons.join("; ")) };
        println!("{line}  {verdict}");
    }
    (agreed, suspect)
}

//! In which settings the experiments of runs differ.
//!
//! What counts is the value that a run had, not whether its file says it: a default that is written is no difference, and one
//! that is not written is told where another file has another value.

use crate::answer::Answers;

/// What a run has where its file does not say it, of settings whose default does not depend on anything else.
const DEFAULTS: [(&str, &str); 9] = [
    ("run.precision", "5% at 95%"),
    ("run.max_jobs", "50000000"),
    ("run.replications", "10"),
    ("run.engine", "auto"),
    ("run.live.duration", "15 s"),
    ("run.live.timeout", "10 s"),
    ("run.live.threads", "1"),
    ("run.live.pacing", "timer"),
    ("run.live.record", "false"),
];
/// Of a setting that a file does not have, and whose default depends on others, or that has none.
pub(crate) const NOT_SET: &str = "not set";
const SEED: &str = "seed";
/// Its default is no number that a file could have.
const CONNECTIONS: (&str, &str) = ("run.live.connections", "as many as needed");

/// The settings of runs, in the order of the first that has each, with the value in each of `runs`: those that are not the
/// same in all. Of a file that lacks a setting the value is its default, or `not set`.
pub fn differing(runs: &[&Answers]) -> Vec<(String, Vec<String>)> {
    let all: Vec<Vec<(String, String)>> = runs.iter().map(|run| effective(run)).collect();
    let mut keys: Vec<&str> = Vec::new();
    for (key, _) in all.iter().flatten() {
        if !keys.contains(&key.as_str()) {
            keys.push(key);
        }
    }
    let value = |(run, written): (&&Answers, &Vec<(String, String)>), key: &str| {
        let written = written.iter().find(|(of, _)| of == key).map(|(_, value)| value.clone());
        written.or_else(|| default_of(run, key)).unwrap_or_else(|| NOT_SET.to_owned())
    };
    let values = |key: &str| {
        let values = runs.iter().zip(&all).map(|of| value(of, key));
        (key.to_owned(), values.collect::<Vec<String>>())
    };
    let differ = |(_, values): &(String, Vec<String>)| values.windows(2).any(|two| two[0] != two[1]);
    keys.into_iter().map(values).filter(differ).collect()
}

/// What a run had at `key` where its file does not say it; none where that depends on other settings.
pub(super) fn default_of(run: &Answers, key: &str) -> Option<String> {
    match key {
        SEED => Some(run.seed.to_string()),
        key if key == CONNECTIONS.0 => Some(CONNECTIONS.1.to_owned()),
        key => DEFAULTS.iter().find(|(of, _)| *of == key).map(|(_, value)| (*value).to_owned()),
    }
}

/// The settings of a run as its file says them, with the seed that it had: by its file, or by default.
fn effective(run: &Answers) -> Vec<(String, String)> {
    let mut all = settings(&run.spec);
    let seed = run.seed.to_string();
    match all.iter_mut().find(|(key, _)| key == SEED) {
        Some((_, written)) => *written = seed,
        None => all.push((SEED.to_owned(), seed)),
    }
    all
}

/// The settings of an experiment as paths and values, as `--set` takes them: `system.servers`, `fault.0.what`.
fn settings(spec: &str) -> Vec<(String, String)> {
    fn walk(path: &str, value: &toml::Value, into: &mut Vec<(String, String)>) {
        let inner = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        match value {
            toml::Value::Table(table) => table.iter().for_each(|(key, value)| walk(&inner(key), value, into)),
            toml::Value::Array(all) if all.iter().any(toml::Value::is_table) => {
                all.iter().enumerate().for_each(|(at, value)| walk(&inner(&at.to_string()), value, into));
            }
            toml::Value::String(text) => into.push((path.to_owned(), text.clone())),
            other => into.push((path.to_owned(), other.to_string())),
        }
    }
    let mut all = Vec::new();
    // What cannot be read was never run: there is nothing to list of it.
    let table: toml::Table = toml::from_str(spec).unwrap_or_default();
    walk("", &toml::Value::Table(table), &mut all);
    all
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::spec::Spec;

    #[test]
    fn settings_are_paths_and_values() {
        let spec =
            "name = \"a\"\n[system]\nservers = 4\n[[fault]]\nwhat = \"down\"\nat = \"5 s\"\n[vary]\nx = [1, 2]\n";
        let expected = [
            ("name", "a"),
            ("system.servers", "4"),
            ("fault.0.what", "down"),
            ("fault.0.at", "5 s"),
            ("vary.x", "[1, 2]"),
        ];
        let mut found = settings(spec);
        found.sort();
        let mut expected = expected.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
        expected.sort();
        assert_eq!(found, expected);
    }

    #[test]
    fn only_what_is_not_the_same_in_all_differs() {
        let (four, eight) =
            ("[system]\nservers = 4\nkind = \"x\"\n", "[system]\nservers = 8\nkind = \"x\"\n[run]\nby = \"sim\"\n");
        let of = |key: &str, values: [&str; 2]| (key.to_owned(), values.map(str::to_owned).to_vec());
        let (four, eight) = (run(four, 1), run(eight, 1));
        assert_eq!(differing(&[&four, &eight]), [of("system.servers", ["4", "8"]), of("run.by", ["not set", "sim"])]);
        assert!(differing(&[&four, &four]).is_empty());
    }

    fn run(spec: &str, seed: u64) -> Answers {
        Answers { spec: spec.to_owned(), seed, ..Answers::default() }
    }

    /// A file that says nothing of the seed has a seed all the same.
    #[test]
    fn what_a_file_leaves_out_has_its_default() {
        let of = |key: &str, values: [&str; 2]| (key.to_owned(), values.map(str::to_owned).to_vec());
        let (bare, seeded) = (run("name = \"x\"\n", 1), run("name = \"x\"\nseed = 2\n", 2));
        assert_eq!(differing(&[&bare, &seeded]), [of("seed", ["1", "2"])]);
        let told = run("name = \"x\"\nseed = 1\n[run]\nreplications = 10\nlive = { threads = 1 }\n", 1);
        assert!(differing(&[&bare, &told]).is_empty(), "{:?}", differing(&[&bare, &told]));
        let bounded = run("name = \"x\"\n[run]\nlive = { connections = 64 }\n", 1);
        let connections = of("run.live.connections", ["64", "as many as needed"]);
        assert_eq!(differing(&[&bounded, &bare]), [connections]);
        let more = run("name = \"x\"\n[run]\nreplications = 20\n", 1);
        assert_eq!(differing(&[&more, &bare]), [of("run.replications", ["20", "10"])]);
    }

    /// Each default is what a file means that does not have it.
    #[test]
    fn defaults_are_those_of_a_file_that_says_nothing() {
        const FILE: &str = "name = \"x\"\n[workload]\nkind = \"open\"\narrivals = \"exponential(rate = 10 /s)\"\n\
                            [system.server]\ndiscipline = \"ps\"\ndemand = \"10 ms\"\n";
        let read = |text: &str| format!("{:?}", Spec::parse(text, Path::new("x.toml")).unwrap().run);
        let bare = read(FILE);
        for (key, value) in DEFAULTS {
            let key = key.strip_prefix("run.").unwrap();
            let is_text = value.parse::<f64>().is_err() && value != "false";
            let value = if is_text { format!("{value:?}") } else { value.to_owned() };
            assert_eq!(read(&format!("{FILE}[run]\n{key} = {value}\n")), bare, "{key}");
        }
    }
}

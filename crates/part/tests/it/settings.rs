//! Settings by a file and by flags, of a part that serves nothing.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, Command, FromArgMatches};
use serde::{Deserialize, Serialize};
use sojourn_part::Backend;
use sojourn_part::settings::{
    Checks, Given, Reports as Taken, Settings, Upstream, Wrong, backends, check_reporting, seed, to_toml,
};

#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Example {
    /// Threads
    #[arg(long)]
    threads: u32,
    /// Whether to say why
    #[arg(long, action = clap::ArgAction::Set, num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    explain: bool,
    /// Seed
    #[arg(long)]
    #[serde(with = "seed")]
    seed: u64,
    /// A record
    #[arg(long)]
    record: Option<PathBuf>,
    /// A server
    #[arg(long = "backend")]
    #[serde(rename = "backend")]
    backends: Vec<String>,
    #[command(flatten)]
    reports: Reports,
}

/// Reports
#[derive(Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Reports {
    /// Where reports come
    #[arg(id = "reports.listen", long = "reports")]
    listen: Option<u16>,
}

impl Default for Example {
    fn default() -> Example {
        let backends = Vec::new();
        Example { threads: 1, explain: false, seed: 1, record: None, backends, reports: Reports::default() }
    }
}

impl Settings for Example {
    fn below(&mut self, folder: &Path) {
        self.record = self.record.take().map(|file| folder.join(file));
    }

    fn check(&self) -> Result<(), Wrong> {
        if self.threads == 0 {
            return Err(Wrong::new("threads", "it is at least 1"));
        }
        if let Some(index) = self.backends.iter().position(String::is_empty) {
            return Err(Wrong::new(format!("backend[{index}]"), "it has a name"));
        }
        match self.reports.listen {
            Some(0) => Err(Wrong::new("listen", "it is above 0").inside("reports")),
            _ => Ok(()),
        }
    }

    fn summary(&self) -> String {
        format!("{} threads", self.threads)
    }
}

fn command() -> Command {
    Given::<Example>::augment_args(Command::new("example").about("Serve nothing"))
}

fn given(flags: &[&str]) -> Given<Example> {
    let matches = command().try_get_matches_from([&["example"], flags].concat()).expect("known flags");
    Given::from_arg_matches(&matches).expect("all are optional")
}

/// What a file of this text and these flags say, with the file's name taken out of messages.
fn read(text: &str, flags: &[&str]) -> Result<Example, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("example.toml");
    fs::write(&file, text).expect("it is ours");
    let file = file.display().to_string();
    given(&[&["--config", &file], flags].concat()).read().map_err(|error| error.replace(&file, "FILE"))
}

#[test]
fn flags_win_over_the_file_and_both_over_the_defaults() {
    assert_eq!(given(&[]).read(), Ok(Example::default()));
    let text = "threads = 4\nexplain = true\nbackend = [\"a\", \"b\"]\n[reports]\nlisten = 7400\n";
    let file = read(text, &[]).expect("it is right");
    assert!(file.threads == 4 && file.explain && file.reports.listen == Some(7400) && file.seed == 1);
    let flags = read(text, &["--threads", "2", "--backend", "c", "--explain=false"]).expect("it is right");
    assert!(flags.threads == 2 && !flags.explain && flags.backends == ["c"] && flags.reports.listen == Some(7400));
    assert!(given(&["--explain"]).read().expect("it is right").explain);
}

#[test]
fn a_mistake_is_told_where_it_was_made() {
    let wrong = |text: &str, flags: &[&str]| read(text, flags).expect_err("it is wrong");
    assert_eq!(wrong("seed = 3\nthreads = 0\n", &[]), "FILE:2: threads: it is at least 1");
    assert_eq!(wrong("seed = 3\nthreads = 4\n", &["--threads", "0"]), "--threads: it is at least 1");
    assert_eq!(given(&["--threads", "0"]).read(), Err("--threads: it is at least 1".into()));
    assert_eq!(wrong("backend = [\n\"a\",\n\"\"]\n", &[]), "FILE:3: backend[1]: it has a name");
    assert_eq!(wrong("\n[reports]\n\nlisten = 0\n", &[]), "FILE:4: reports.listen: it is above 0");
    assert_eq!(wrong("", &["--reports", "0"]), "--reports: it is above 0");
    assert_eq!(wrong("\nthread = 1\n", &[]), "FILE:2: unknown key `thread`; did you mean `threads`?");
    assert!(wrong("threads = \"four\"\n", &[]).starts_with("FILE:1: "), "a type");
    assert!(wrong("threads = \n", &[]).starts_with("FILE:1: "), "no TOML");
}

#[test]
fn paths_start_where_the_file_is_unless_a_flag_says_them() {
    let file = read("record = \"decisions.jsonl\"\n", &[]).expect("it is right").record.expect("it is there");
    assert!(file.is_absolute() && file.ends_with("decisions.jsonl"), "{}", file.display());
    let flag = read("", &["--record", "decisions.jsonl"]).expect("it is right").record;
    assert_eq!(flag, Some(PathBuf::from("decisions.jsonl")));
}

#[test]
fn what_is_written_is_read_again() {
    let reports = Reports { listen: Some(1) };
    let whole =
        Example { threads: 3, explain: true, seed: u64::MAX, record: None, backends: vec!["a".into()], reports };
    for settings in [Example::default(), whole] {
        assert_eq!(read(&to_toml(&settings), &[]), Ok(settings));
    }
}

#[test]
fn help_shows_the_defaults() {
    let help = command().render_help().to_string();
    assert!(help.starts_with("Serve nothing\n"), "not what is said of a section: {help}");
    assert!(help.contains("Threads [default: 1]") && help.contains("A server\n"), "{help}");
    assert!(help.contains("Whether to say why\n"), "{help}");
}

#[test]
fn a_backend_is_a_text_or_a_table() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Some {
        backend: Vec<Backend>,
    }
    let read = |text: &str| toml::from_str::<Some>(text).map_err(|error| error.message().to_owned());
    let text = "backend = [\"a=10.0.0.1:80*2\", \"10.0.0.2:80\"]\n";
    let plain = read(text).expect("it is right");
    assert_eq!(toml::to_string(&plain).expect("TOML"), text);
    let names: Vec<String> = backends(&plain.backend).into_iter().map(|backend| backend.name).collect();
    assert_eq!(names, ["a", "server-2"]);
    let table = read("[[backend]]\naddress = \"10.0.0.1:80\"\nname = \"a\"\npublic = \"http://a.test\"\n");
    let table = table.expect("it is right");
    assert_eq!(table.backend[0].public.as_deref(), Some("http://a.test"));
    assert_eq!(read(&toml::to_string(&table).expect("TOML")), Ok(table));
    for (wrong, why) in [("a=10.0.0.1", "IP:PORT"), ("a=10.0.0.1:80*0", "weight"), ("a=10.0.0.1:80*inf", "weight")] {
        assert!(read(&format!("backend = [\"{wrong}\"]")).expect_err(wrong).contains(why), "{wrong}");
    }
}

#[test]
fn reports_need_a_key_and_a_key_needs_reports() {
    let (key, listen) = (Some(Path::new("reports.key")), Some(([127, 0, 0, 1], 7400).into()));
    let none = (Taken::default(), Upstream::default());
    let taken = (Taken { listen, ..Taken::default() }, Upstream::default());
    let made =
        (Taken::default(), Upstream { to: listen.into_iter().collect(), name: Some("paris".into()), ..none.1.clone() });
    let nameless = (Taken::default(), Upstream { name: None, ..made.1.clone() });
    let unread = (Taken { estimator: "response-time".into(), ..Taken::default() }, Upstream::default());
    let wrong = |(reports, upstream): &(Taken, Upstream), key, is_used| {
        check_reporting(key, reports, upstream, is_used).err().map(|wrong| wrong.key)
    };
    for right in [(&none, None), (&taken, key), (&made, key)] {
        assert_eq!(wrong(right.0, right.1, false), None, "{right:?}");
    }
    assert_eq!(wrong(&none, key, true), None);
    assert_eq!(wrong(&none, key, false).as_deref(), Some("key_file"));
    assert_eq!(wrong(&taken, None, false).as_deref(), Some("reports.listen"));
    assert_eq!(wrong(&made, None, true).as_deref(), Some("upstream.to"));
    assert_eq!(wrong(&nameless, key, false).as_deref(), Some("upstream.to"));
    assert_eq!(wrong(&unread, key, true).as_deref(), Some("reports.estimator"));
}

#[test]
fn health_checks_say_what_is_tried() {
    let read = |text: &str| toml::from_str::<Checks>(text).expect("it is right");
    for probe in ["off", "connect", "/health"] {
        let checks = read(&format!("probe = \"{probe}\""));
        assert_eq!((checks.probe.to_string().as_str(), checks.check()), (probe, Ok(())));
    }
    assert_eq!(read("probe = \"health\"").check().expect_err("no path").key, "probe");
    assert_eq!(read("every = \"0 s\"").check().expect_err("no time").key, "every");
}

#[test]
fn a_file_with_mistakes_is_accepted_or_refused_in_a_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "threads = 4\nexplain = true\nseed = 7\nrecord = \"d.jsonl\"\n\
                backend = [\"a\", \"b\"]\n[reports]\nlisten = 7400\n";
    crate::mutated::are_accepted_or_refused::<Example>(folder.path(), text, |_| Ok(()));
}

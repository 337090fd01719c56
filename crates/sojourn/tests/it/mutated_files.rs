//! Files with mistakes such as people make, by hundreds: experiments, the files of the guides, and settings of parts. Each is
//! accepted, or refused in one line that says the file and nearly always the line; nothing panics, hangs or takes much memory.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use sojourn_lab::Experiment;
use sojourn_part::settings::gateway::{GatewaySettings, RedirectorSettings};
use sojourn_part::settings::loadd::{ListenSettings, LoaddSettings};
use sojourn_part::settings::switch::{SwitchServerSettings, SwitchSettings};
use sojourn_part::settings::{Reports, to_toml};

use crate::mutated::{Refusals, mutated};
use crate::sojourn::{PROGRAM, experiment, file, root, stderr};

/// Mistakes in each experiment.
const OF_EXPERIMENT: usize = 3;

/// Mistakes in each file that the program itself reads.
const OF_PART: usize = 30;

/// All experiments of the project.
fn experiments() -> Vec<PathBuf> {
    let (mut folders, mut files) = (vec![experiment("")], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            match entry.extension() {
                _ if entry.is_dir() => folders.push(entry),
                Some(extension) if extension == "toml" => files.push(entry),
                _ => {}
            }
        }
    }
    files.sort();
    files
}

/// The file `name` that a guide lets its reader write.
fn of_guide(guide: &str, name: &str) -> String {
    let text = fs::read_to_string(root().join("docs/guides").join(guide)).expect("the guide is there");
    let begin = format!("cat > {name} <<'END'\n");
    let (_, rest) = text.split_once(&begin).expect("the guide has the file");
    rest.split_once("END\n").expect("it ends").0.to_owned()
}

/// The program with 200 MB of memory at most and 20 s of a core's time.
fn within_limits(arguments: &[&str]) -> Output {
    let limits = "ulimit -v 204800 && ulimit -t 20 && exec \"$0\" \"$@\"";
    Command::new("sh").args(["-c", limits, PROGRAM]).args(arguments).output().expect("a shell runs")
}

/// Lets the program check `text` with mistakes in it; it stands in `folder` beside what it names.
fn check(refusals: &mut Refusals, arguments: &[&str], text: &str, (folder, seed, files): (&Path, u64, usize)) {
    let path = folder.join("mutated.toml");
    let arguments = [arguments, &[path.to_str().expect("plain"), "--check"]].concat();
    for text in mutated(text, files, seed) {
        fs::write(&path, &text).expect("a file");
        let output = within_limits(&arguments);
        let said = stderr(&output);
        let why = match output.status.code() {
            Some(0) => None,
            Some(2) => Some(said.trim_end_matches('\n').trim_start_matches("sojourn: ").to_owned()),
            other => panic!("{arguments:?} ends by {other:?}: {said}\n{text}"),
        };
        refusals.count(&path, &text, why);
    }
}

#[test]
fn experiments_with_mistakes_are_accepted_or_refused_in_a_line() {
    let mut refusals = Refusals::default();
    let experiments = experiments();
    assert!(experiments.len() * OF_EXPERIMENT >= 300, "{}", experiments.len());
    for (path, seed) in experiments.iter().zip(0..) {
        let text = fs::read_to_string(path).expect("an experiment");
        // What it names is beside it.
        let path = path.with_file_name("mutated.toml");
        for text in mutated(&text, OF_EXPERIMENT, seed) {
            let read = Experiment::new(&path, text.clone(), &[]).and_then(|experiment| experiment.variants());
            refusals.count(&path, &text, read.err().map(|error| error.to_string()));
        }
    }
    refusals.are_plausible();
}

#[test]
fn the_program_checks_files_with_mistakes() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let key = PathBuf::from(file(at, "key", "0123456789abcdef"));
    fs::create_dir(at.join("htdocs")).expect("a folder");
    let tls = "[tls]\nlisten = [\"127.0.0.1:8443\"]\n\n[[tls.certificate]]\nchain = \"site.pem\"\nkey = \"site.key\"\n";
    let node = of_guide("serve-a-site.md", "node.toml");
    assert!(node.contains(tls));
    let switch = SwitchSettings {
        key_file: Some(key.clone()),
        reports: Reports { listen: Some(([10, 0, 1, 1], 7400).into()), ..Default::default() },
        ..SwitchSettings::new(
            "10.0.1.100:80".parse().expect("an address"),
            "least-load",
            vec!["a=10.0.1.11*2".parse().expect("a server"), "10.0.1.12".parse().expect("a server")],
        )
    };
    let backend = || vec!["a=127.0.0.1:8080*2".parse().expect("a server")];
    let gateway = GatewaySettings::new("least-connections", backend());
    let redirector = RedirectorSettings::new("round-robin", backend());
    let half = SwitchServerSettings { service: switch.service, ..SwitchServerSettings::default() };
    let to = vec![([10, 0, 1, 1], 7400).into()];
    let loadd = LoaddSettings { to, key_file: Some(key.clone()), ..LoaddSettings::default() };
    let listen = ListenSettings { on: Some(([127, 0, 0, 1], 0).into()), key_file: Some(key), ..Default::default() };
    let mut refusals = Refusals::default();
    let files = [
        (&["dns", "--config"][..], of_guide("geographic-dns.md", "dns.toml")),
        // Its certificate would have to be made.
        (&["node", "--config"], node.replace(tls, "")),
        (&["gateway", "--config"], to_toml(&gateway)),
        (&["redirect", "--config"], to_toml(&redirector)),
        (&["switch", "front", "--config"], to_toml(&switch)),
        (&["switch", "server", "--config"], to_toml(&half)),
        (&["loadd", "--config"], to_toml(&loadd)),
        (&["listen", "--config"], to_toml(&listen)),
        (&["run"], fs::read_to_string(experiment("four-servers.toml")).expect("an experiment")),
    ];
    for ((arguments, text), seed) in files.into_iter().zip(0..) {
        let right = within_limits(&[arguments, &[&file(at, "right.toml", &text), "--check"]].concat());
        assert_eq!(right.status.code(), Some(0), "{arguments:?}: {}", stderr(&right));
        check(&mut refusals, arguments, &text, (at, seed, OF_PART));
    }
    refusals.are_plausible();
}

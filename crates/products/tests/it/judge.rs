//! The products' own parsers, and configurations with mistakes for both to judge.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sojourn_stats::Stream;

/// The folder of the configurations of a product.
pub(crate) fn configurations(product: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/configurations").join(product)
}

/// A configuration of the tests.
pub(crate) fn configuration(product: &str, name: &str) -> String {
    fs::read_to_string(configurations(product).join(name)).expect("it is there")
}

/// Whether the program is on this machine.
pub(crate) fn has(program: &str) -> bool {
    let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output().expect("a shell runs");
    if !found.status.success() {
        crate::skip::skipped(format!("no {program} on this machine"));
    }
    found.status.success()
}

/// What HAProxy itself says of a file: none where it is valid.
pub(crate) fn haproxy_refuses(path: &Path) -> Option<String> {
    let output = Command::new("haproxy").args(["-c", "-f"]).arg(path).output().expect("haproxy runs");
    (!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

/// So many texts with one to three mistakes such as people make, of `text`; `words` are those that may come in.
pub(crate) fn mutated(text: &str, words: &'static [&str], files: usize, seed: u64) -> impl Iterator<Item = String> {
    let mut draw = Stream::new(seed, "configuration", "mistakes");
    (0..files).map(move |_| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        for _ in 0..=draw.below(3) {
            mutate(&mut lines, words, &mut draw);
        }
        lines.join("\n") + "\n"
    })
}

fn mutate(lines: &mut Vec<String>, words: &[&str], draw: &mut Stream) {
    if lines.is_empty() {
        return;
    }
    let at = draw.below(lines.len());
    let other = draw.below(lines.len());
    let word = words[draw.below(words.len())];
    match draw.below(8) {
        0 => drop(lines.remove(at)),
        1 => lines.insert(at, lines[other].clone()),
        2 => lines.swap(at, other),
        3 => lines[at] += &format!(" {word}"),
        4 => {
            let mut of_line: Vec<&str> = lines[at].split(' ').collect();
            let place = draw.below(of_line.len());
            of_line[place] = word;
            lines[at] = of_line.join(" ");
        }
        5 => {
            let mut of_line: Vec<&str> = lines[at].split(' ').collect();
            of_line.remove(draw.below(of_line.len()));
            lines[at] = of_line.join(" ");
        }
        6 => lines.insert(at, word.to_owned()),
        _ => {
            let odd = ['"', '\'', '\\', '#', '$', '{', '}', ';', '\u{1b}', '\u{e9}', '\u{feff}', '\t', '\r'];
            let odd = odd[draw.below(odd.len())];
            let place = draw.below(lines[at].len() + 1);
            if lines[at].is_char_boundary(place) {
                lines[at].insert(place, odd);
            }
        }
    }
}

/// What nginx itself says of a file: none where it is valid.
pub(crate) fn nginx_refuses(path: &Path) -> Option<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let globals = format!("error_log stderr; pid {}/pid;", folder.path().display());
    let mut command = Command::new("nginx");
    command.arg("-t").arg("-c").arg(path).arg("-p").arg(folder.path()).args(["-g", &globals]);
    let output = command.output().expect("nginx runs");
    (!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

/// What Envoy itself says of a file: none where it is valid. `SOJOURN_ENVOY` names the program.
pub(crate) fn envoy_refuses(path: &Path) -> Option<String> {
    let program = std::env::var_os("SOJOURN_ENVOY").expect("SOJOURN_ENVOY names Envoy's program");
    let output = Command::new(program).args(["--mode", "validate", "-l", "warn", "-c"]).arg(path).output();
    let output = output.expect("envoy runs");
    (!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

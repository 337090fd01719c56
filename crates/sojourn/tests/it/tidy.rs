//! Style as a test: what reviewers would otherwise have to say again and again.

use std::fs;
use std::path::{Path, PathBuf};

use crate::imports::circles;
use crate::sojourn::root;

/// Words that mark something unfinished; written in parts so that this file does not contain them.
const UNFINISHED: [&str; 4] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X:"), concat!("dbg", "!(")];

fn files(extensions: &[&str]) -> Vec<PathBuf> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("the project can be read") {
            let path = entry.expect("the project can be read").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() && !["target", "runs", ".git"].contains(&name.as_str()) {
                walk(&path, found);
            } else if path.is_file() {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(root(), &mut found);
    found.retain(|path| path.extension().is_some_and(|e| extensions.contains(&e.to_string_lossy().as_ref())));
    assert!(!found.is_empty());
    found
}

fn complaints(extensions: &[&str], wrong: impl Fn(&Path, &str) -> Option<String>) -> Vec<String> {
    let mut all = Vec::new();
    for path in files(extensions) {
        let text = fs::read_to_string(&path).expect("sources are text");
        for (index, line) in text.lines().enumerate() {
            if let Some(what) = wrong(&path, line) {
                all.push(format!("{}:{}: {what}", path.display(), index + 1));
            }
        }
    }
    all
}

#[test]
fn lines_are_short_and_nothing_is_left_unfinished() {
    let all = complaints(&["rs"], |_, line| match line {
        // cargo fmt keeps code within 120; a text or a reference may stick out a little.
        line if line.chars().count() > 130 => Some("longer than 130 characters".into()),
        line if UNFINISHED.iter().any(|word| line.contains(word)) => Some("left unfinished".into()),
        line if line.trim_end() != line => Some("ends in white space".into()),
        _ => None,
    });
    assert!(all.is_empty(), "{}", all.join("\n"));
}

#[test]
fn the_sans_io_crates_do_no_io() {
    let pure = ["stats", "traffic", "model", "dispatch", "theory", "sim"];
    let banned = ["std::net", "std::thread::sleep", "Instant::now", "SystemTime", "std::process", "tokio"];
    let all = complaints(&["rs"], |path, line| {
        let inside = pure.iter().any(|name| path.starts_with(root().join("crates").join(name).join("src")));
        let found = banned.iter().find(|word| line.contains(*word) && !line.trim_start().starts_with("//"));
        found.filter(|_| inside).map(|word| format!("`{word}` in a crate that does no I/O"))
    });
    assert!(all.is_empty(), "{}", all.join("\n"));
}

/// Files that a user names are read by `stats::input`, which takes byte order marks and refuses what has no end. What is read
/// otherwise is the system's, or was written by the program itself.
/// Clippy takes the nearest file alone: that of stats must forbid what the workspace forbids.
#[test]
fn stats_forbids_what_all_forbid() {
    let read = |path: &str| fs::read_to_string(root().join(path)).expect("sources are text");
    let of_stats = read("crates/stats/clippy.toml");
    let missing: Vec<String> = read("clippy.toml")
        .lines()
        .filter(|line| line.contains("path = ") && !of_stats.contains(line))
        .map(str::to_owned)
        .collect();
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn files_that_a_user_names_are_read_in_one_place() {
    let others = [
        "stats/src/input.rs",
        "bed/src/namespace.rs",
        "bed/src/run_queue.rs",
        "lab/src/host.rs",
        "load/src/generator/awake.rs",
        "part/src/program/running.rs",
        "report/src/loadd/proc.rs",
        "switch/src/kernel/system.rs",
    ];
    let calls = ["fs::read(", "fs::read_to_string(", " File::open(", "(File::open(", "fs::File::open(", ".from_path("];
    let mut all = Vec::new();
    for path in files(&["rs"]) {
        let Ok(inside) = path.strip_prefix(root().join("crates")) else { continue };
        let is_code = inside.iter().nth(1).is_some_and(|folder| folder == "src");
        if !is_code || others.iter().any(|other| inside == Path::new(other)) || path.ends_with("proof.rs") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("sources are text");
        for (index, line) in text.split("#[cfg(test)]").next().unwrap_or_default().lines().enumerate() {
            let names_its_own = ["\"/proc", "\"/sys", "\"/etc", "\"/dev"].iter().any(|start| line.contains(start));
            let is_comment = line.trim_start().starts_with("//");
            if calls.iter().any(|call| line.contains(call))
                && !names_its_own
                && !is_comment
                && !path.ends_with("tests.rs")
            {
                all.push(format!("{}:{}: read it by `sojourn_stats::input`", path.display(), index + 1));
            }
        }
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}

#[test]
fn links_in_documents_lead_somewhere() {
    let all = complaints(&["md"], |path, line| {
        let folder = path.parent().expect("a file is in a folder");
        if folder.ends_with("studies/templates") {
            return None; // the pages that are made of them are read
        }
        line.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next()).find_map(|link| {
            let elsewhere = link.is_empty() || link.contains("://");
            (!elsewhere && !folder.join(link).exists()).then(|| format!("`{link}` does not exist"))
        })
    });
    assert!(all.is_empty(), "{}", all.join("\n"));
}

/// A crate whose manifest builds no tests of its own files has none there, where nothing would run them.
#[test]
fn every_test_is_run() {
    for manifest in files(&["toml"]).into_iter().filter(|path| path.ends_with("Cargo.toml")) {
        if fs::read_to_string(&manifest).unwrap().contains("\ntest = false") {
            let sources = manifest.with_file_name("src");
            let has_tests = |path: &&PathBuf| fs::read_to_string(path).unwrap().contains("#[test]");
            let of_crate: Vec<PathBuf> = files(&["rs"]).into_iter().filter(|path| path.starts_with(&sources)).collect();
            assert_eq!(of_crate.iter().find(has_tests), None, "{}", manifest.display());
        }
    }
}

#[test]
fn no_file_is_large() {
    for path in files(&["rs", "md", "toml", "csv", "html", "css", "py", "gz", "lock"]) {
        let size = fs::metadata(&path).expect("it was just listed").len();
        assert!(size < 1_000_000, "{} has {size} bytes", path.display());
    }
}

#[test]
fn the_changelog_begins_with_what_is_unreleased() {
    let text = fs::read_to_string(root().join("CHANGELOG.md")).expect("there is a changelog");
    let heading = text.lines().find(|line| line.starts_with("## "));
    assert_eq!(heading, Some("## Unreleased"));
}

/// A mistake that no longer applies would guard nothing.
#[test]
fn the_mistakes_of_make_mutants_still_apply() {
    let folder = root().join("mutants");
    let entries = fs::read_dir(&folder).expect("the project can be read").map(|entry| entry.expect("it can").path());
    let patches: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|e| e == "patch")).collect();
    assert!(patches.len() >= 28, "{patches:?}");
    let applies = |patch: &PathBuf| {
        let mut git = std::process::Command::new("git");
        git.current_dir(root()).args(["apply", "--check"]).arg(patch).status().expect("git runs").success()
    };
    let stale: Vec<PathBuf> = patches.into_iter().filter(|patch| !applies(patch)).collect();
    assert!(stale.is_empty(), "no longer apply: {stale:?}");
}

#[test]
fn no_files_import_one_another_in_circles() {
    let mut crates: Vec<PathBuf> = fs::read_dir(root().join("crates"))
        .expect("the project can be read")
        .map(|entry| entry.expect("the project can be read").path())
        .chain([root().join("studies")])
        .collect();
    crates.sort();
    let mut found = Vec::new();
    for folder in crates {
        let name = folder.file_name().expect("a folder has a name").to_string_lossy().into_owned();
        found.extend(circles(&folder.join("src")).into_iter().map(|circle| format!("{name}: {circle}")));
    }
    assert!(found.is_empty(), "files that import one another in circles:\n{}", found.join("\n"));
}

//! `mutants/run`: a mistake is caught where its test passes without it and fails with it, and in no other case.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use sojourn_bed::install;

use crate::bed::has;
use crate::sojourn::{file, root, stderr, stdout};

/// Says of each test whether it passes, by the word in `code`: the test `sound` notices a mistake, `blind` does not, `rotten`
/// fails anyway, and `hollow` runs nothing. What is asked is written down. Of its two packages `two` depends on `one`.
const CARGO: &str = r#"#!/bin/sh
case "$*" in
*--no-run*) exit 0 ;;
metadata*)
    package() { echo "{\"name\": \"$1\", \"manifest_path\": \"$PWD/$1/Cargo.toml\", \"dependencies\": [$2]}"; }
    echo "{\"packages\": [$(package one), $(package two '{"name": "one"}')]}"
    exit 0 ;;
mutants*)
    [ -e "$ASKED-is-refused" ] && { echo "a test fails anyway" >&2; exit 4; }
    echo "$*" >> "$ASKED"
    for last; do :; done
    while [ "$1" != --output ]; do shift; done
    mkdir -p "$2/mutants.out"
    echo "one/src/code.rs:1:5: replace + with -" > "$2/mutants.out/missed.txt"
    echo "one/src/code.rs:7:5: replace + with -" >> "$2/mutants.out/missed.txt"
    [ "$last" = near ] && echo "one/src/code.rs:9:5: replace < with >" >> "$2/mutants.out/missed.txt"
    echo "one/src/code.rs:5:5: replace += with -=" > "$2/mutants.out/timeout.txt"
    exit 2 ;;
esac
shift 2
while [ "${1#--config=}" != "$1" ]; do shift; done   # how it is built
echo "$* $(cat code)" >> "$ASKED"
for word; do :; done
case "$word $(cat code)" in
"sound good" | "blind "*) echo "1 passed; 0 failed" ;;
hollow*) echo "0 passed; 0 failed" ;;
*) echo "0 passed; 1 failed"; exit 101 ;;
esac
"#;

/// A tree with one file and a mistake in it for each of these tests.
fn tree(folder: &Path, mistakes: &[(&str, &str)]) {
    fs::create_dir(folder.join("mutants")).unwrap();
    fs::copy(root().join("mutants/run"), folder.join("mutants/run")).unwrap();
    file(folder, "mutants/files.txt", "");
    file(folder, "mutants/equivalent.txt", "");
    file(folder, ".gitignore", "target\nbin\nasked*\n");
    file(folder, "code", "good\n");
    for (name, test) in mistakes {
        let patch = format!(
            "What: a mistake\nTest: {test}\n\ndiff --git a/code b/code\n--- a/code\n+++ b/code\n@@ -1 +1 @@\n-good\n+bad\n"
        );
        file(folder, &format!("mutants/{name}.patch"), patch);
    }
    for package in ["one", "two"] {
        fs::create_dir(folder.join(package)).unwrap();
        file(folder, &format!("{package}/code"), "good\n");
        fs::create_dir(folder.join(package).join("src")).unwrap();
        file(folder, &format!("{package}/src/code.rs"), "");
        fs::create_dir(folder.join(package).join("tests")).unwrap();
        file(folder, &format!("{package}/tests/it.rs"), "one\n");
        file(folder, &format!("{package}/Cargo.toml"), format!("name = \"{package}\"\n"));
    }
    fs::create_dir(folder.join("bin")).unwrap();
    install(&folder.join("bin/cargo"), CARGO).unwrap();
    git(folder, &["init", "--quiet"]);
    commit(folder);
}

fn commit(folder: &Path) {
    git(folder, &["add", "."]);
    git(folder, &["commit", "--quiet", "-m", "all"]);
}

fn git(folder: &Path, words: &[&str]) {
    let name = ["-c", "user.name=test", "-c", "user.email=test@example.org"];
    let done = Command::new("git").args(name).args(words).current_dir(folder).output().unwrap();
    assert!(done.status.success(), "{}", stderr(&done));
}

/// A call of `mutants/run` in `folder`, over the patches or the files.
fn run(folder: &Path, over: &str) -> Output {
    let path = format!("{}:{}", folder.join("bin").display(), std::env::var("PATH").unwrap());
    let mut python = Command::new("python3");
    python.args(["mutants/run", over]).current_dir(folder);
    python.env("PATH", &path).env("ASKED", folder.join("asked")).output().unwrap()
}

#[test]
fn a_test_that_fails_anyway_catches_no_mistake() {
    if !["git", "python3"].into_iter().all(has) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mistakes =
        [("a-seen", "sound"), ("b-seen-again", "sound"), ("c-unseen", "blind"), ("d", "rotten"), ("e", "hollow")];
    tree(folder.path(), &mistakes);
    let asked = folder.path().join("asked");
    let output = run(folder.path(), "--patches");
    let told = stdout(&output);
    assert_eq!(output.status.code(), Some(1), "{told}{}", stderr(&output));
    let wanted = [
        "a-seen: caught",
        "b-seen-again: caught",
        "c-unseen: UNNOTICED",
        "d: BROKEN (without the mistake: fails)",
        "e: BROKEN (without the mistake: NO SUCH TEST)",
        "2 of 5 caught",
    ];
    assert_eq!(told.lines().collect::<Vec<_>>(), wanted, "{}", stderr(&output));
    // Each test is run once without a mistake, and what is broken is not run with one.
    let ran = fs::read_to_string(&asked).unwrap();
    let wanted = ["sound good", "sound bad", "sound bad", "blind good", "blind bad", "rotten good", "hollow good"];
    assert_eq!(ran.lines().collect::<Vec<_>>(), wanted);
    // The next call knows it all.
    assert_eq!(stdout(&run(folder.path(), "--patches")), told);
    assert_eq!(fs::read_to_string(&asked).unwrap(), ran);
}

#[test]
fn an_answer_is_kept_until_its_package_changes() {
    if !["git", "python3"].into_iter().all(has) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    tree(folder, &[("a", "-p one sound"), ("b", "-p two sound"), ("c", "sound")]);
    let asked = || {
        let output = run(folder, "--patches");
        assert_eq!(stdout(&output), "a: caught\nb: caught\nc: caught\n3 of 3 caught\n", "{}", stderr(&output));
        let told = fs::read_to_string(folder.join("asked")).unwrap_or_default();
        file(folder, "asked", "");
        told.lines().filter(|line| line.ends_with("bad")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(asked(), ["-p one sound bad", "-p two sound bad", "sound bad"]);
    assert_eq!(asked(), [""; 0]);
    file(folder, "two/code", "better\n");
    commit(folder);
    assert_eq!(asked(), ["-p two sound bad", "sound bad"]);
    // What is below changes what is above.
    file(folder, "one/code", "better\n");
    commit(folder);
    assert_eq!(asked(), ["-p one sound bad", "-p two sound bad", "sound bad"]);
    // Its tests do not.
    file(folder, "one/tests/it.rs", "\n");
    commit(folder);
    assert_eq!(asked(), ["-p one sound bad", "sound bad"]);
}

#[test]
fn what_the_nearest_tests_miss_is_put_to_all_and_what_is_argued_away_is_no_miss() {
    if !["git", "python3"].into_iter().all(has) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    tree(folder, &[]);
    file(folder, "mutants/files.txt", "# Files.\none/src/code.rs far near\n");
    let files = |argued: &str| {
        file(folder, "mutants/equivalent.txt", argued);
        commit(folder);
        let output = run(folder, "--files");
        (stdout(&output), output.status.code())
    };
    file(folder, "asked-is-refused", "");
    let failed = "one/src/code.rs: FAILED: ['a test fails anyway']\n0 of 1 caught\n";
    assert_eq!(files("# None.\n"), (failed.into(), Some(1)));
    fs::remove_file(folder.join("asked-is-refused")).unwrap();
    // Two mistakes survive all tests, in the same words; a line stands for one of them.
    let line = "one/src/code.rs: replace + with - | adds 0\n";
    let unnoticed = "one/src/code.rs: UNNOTICED\n    one/src/code.rs:7:5: replace + with -\n0 of 1 caught\n";
    assert_eq!(files(line), (unnoticed.into(), Some(1)));
    let asked = fs::read_to_string(folder.join("asked")).unwrap();
    let tests = asked.lines().map(|line| line.split_once(" -- ").map_or("", |(_, tests)| tests));
    assert_eq!(tests.collect::<Vec<_>>(), ["--tests -- far near", "--tests -- --"]);
    let quickly_built: Vec<bool> =
        asked.lines().map(|line| line.contains("profile.dev.package.one.opt-level=0")).collect();
    assert_eq!(quickly_built, [true, false], "{asked}");
    assert_eq!(asked.matches("--iterate").count(), 1, "what is caught is not asked again: {asked}");
    // What cargo-mutants reads of what it need not ask again.
    let caught = fs::read_to_string(folder.join("target/mutants/out/one_src_code.rs/mutants.out/caught.txt")).unwrap();
    assert!(caught.contains("one/src/code.rs:5:5: replace += with -="), "what hangs is caught: {caught}");
    assert_eq!(files(&line.repeat(2)), ("one/src/code.rs: caught\n1 of 1 caught\n".into(), Some(0)));
    assert_eq!(fs::read_to_string(folder.join("asked")).unwrap(), asked, "the answer was kept");
    // With more tests only what is left is asked again; with fewer, or with other code, everything is.
    let anew = |path: &str, text: &str| {
        file(folder, path, text);
        file(folder, "asked", "");
        files(&line.repeat(2));
        !fs::read_to_string(folder.join("asked")).unwrap().lines().next().unwrap().contains("--iterate")
    };
    assert!(!anew("one/tests/it.rs", "one\ntwo\n"));
    assert!(!anew("one/tests/it.rs", "one\nand\ntwo\n"));
    assert!(anew("one/tests/it.rs", "one\nor\ntwo\n"));
    assert!(anew("one/src/code.rs", "other\n"));
}

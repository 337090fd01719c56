//! `mutants/run`: a mistake is caught where its test passes without it and fails with it, and in no other case.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::bed::has;
use crate::sojourn::{file, root, stderr, stdout};

/// Says of each test whether it passes, by the word in `code`: the test `sound` notices a mistake, `blind` does not, `rotten`
/// fails anyway, and `hollow` runs nothing. What is asked is written down.
const CARGO: &str = r#"#!/bin/sh
case "$*" in *--no-run*) exit 0 ;; esac
echo "$3 $(cat code)" >> "$ASKED"
case "$3 $(cat code)" in
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
    file(folder, ".gitignore", "target\nbin\nasked\n");
    file(folder, "code", "good\n");
    for (name, test) in mistakes {
        let patch = format!(
            "What: a mistake\nTest: {test}\n\ndiff --git a/code b/code\n--- a/code\n+++ b/code\n@@ -1 +1 @@\n-good\n+bad\n"
        );
        file(folder, &format!("mutants/{name}.patch"), patch);
    }
    fs::create_dir(folder.join("bin")).unwrap();
    let cargo = file(folder, "bin/cargo", CARGO);
    fs::set_permissions(cargo, fs::Permissions::from_mode(0o755)).unwrap();
    let name = ["-c", "user.name=test", "-c", "user.email=test@example.org"];
    for words in [&["init", "--quiet"][..], &["add", "."], &["commit", "--quiet", "-m", "all"]] {
        let done = Command::new("git").args(name).args(words).current_dir(folder).output().unwrap();
        assert!(done.status.success(), "{}", stderr(&done));
    }
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
    let path = format!("{}:{}", folder.path().join("bin").display(), std::env::var("PATH").unwrap());
    let asked = folder.path().join("asked");
    let run = || {
        let mut python = Command::new("python3");
        python.args(["mutants/run", "--patches"]).current_dir(folder.path());
        python.env("PATH", &path).env("ASKED", &asked).output().unwrap()
    };
    let output = run();
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
    assert_eq!(stdout(&run()), told);
    assert_eq!(fs::read_to_string(&asked).unwrap(), ran);
}

//! What a file is, told by its content.

use std::path::PathBuf;

use sojourn_traffic::Input;

use crate::support::{gzip, line};

fn written(folder: &tempfile::TempDir, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn logs_and_columns_plain_and_packed() {
    let folder = tempfile::tempdir().unwrap();
    for (index, text) in ["1\n2.5\n", "# made by hand\n\nsize\n1\n2.5\n", "1\n2.5"].into_iter().enumerate() {
        for (kind, bytes) in [("plain", text.as_bytes().to_vec()), ("packed", gzip(text))] {
            let path = written(&folder, &format!("{kind}{index}"), bytes);
            let Input::Numbers(numbers) = Input::read(&path, None).unwrap() else { panic!("{text}") };
            assert_eq!(numbers, [1.0, 2.5]);
        }
    }
    let log = line(0, "/a", 7) + &line(1, "/b", 9);
    for (name, bytes) in [("log", log.clone().into_bytes()), ("log.gz", gzip(&log))] {
        let Input::Log(log) = Input::read(&written(&folder, name, bytes), None).unwrap() else { panic!() };
        assert_eq!(log.requests(), 2);
    }
    let table = written(&folder, "t.csv", "at_s,size\n0.5,7\n0.75,9\n");
    let Input::Numbers(numbers) = Input::read(&table, Some(Some("size"))).unwrap() else { panic!() };
    assert_eq!(numbers, [7.0, 9.0]);
}

#[test]
fn what_is_none_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let told = |name: &str, bytes: &[u8]| {
        let error = Input::read(&written(&folder, name, bytes), None).unwrap_err().to_string();
        assert!(!error.contains('\n'), "{error}");
        error
    };
    let table = told("t.csv", b"at_s,size\n0.5,7\n");
    assert!(table.contains("line 1") && table.ends_with("of a CSV file name a column: --numbers at_s"), "{table}");
    assert!(told("x.txt", b"Once upon a time\nthere was a log\n").contains("line 1 has no [dd/Mon/yyyy"), "a story");
    assert!(told("e.txt", b"").contains("empty"));
    let bad = told("n.txt", b"1\n2\nthree\n");
    assert!(bad.ends_with("n.txt:3: `three` is not a number"), "{bad}");
    assert!(told("nan.txt", b"1\nNaN\n").ends_with("nan.txt:2: `NaN` is not a number"));
    assert!(Input::read(&folder.path().join("none"), None).unwrap_err().to_string().contains("cannot read"));
}

//! What a file is, told by its content.

use std::path::PathBuf;

use sojourn_traffic::Input;
use sojourn_traffic::trace::{Pairs, Trace};

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
            let Input::Numbers(numbers) = Input::read(&path, None, None).unwrap() else { panic!("{text}") };
            assert_eq!(numbers.values, [1.0, 2.5]);
        }
    }
    let log = line(0, "/a", 7) + &line(1, "/b", 9);
    for (name, bytes) in [("log", log.clone().into_bytes()), ("log.gz", gzip(&log))] {
        let Input::Log(log) = Input::read(&written(&folder, name, bytes), None, None).unwrap() else { panic!() };
        assert_eq!(log.requests(), 2);
    }
    let table = written(&folder, "t.csv", "at_s,size\n0.5,7\n0.75,9\n");
    let Input::Numbers(numbers) = Input::read(&table, Some(Some("size")), None).unwrap() else { panic!() };
    assert_eq!(numbers.values, [7.0, 9.0]);
}

#[test]
fn what_is_none_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let told = |name: &str, bytes: &[u8]| {
        let error = Input::read(&written(&folder, name, bytes), None, None).unwrap_err().to_string();
        assert!(!error.contains('\n'), "{error}");
        error
    };
    let table = told("t.csv", b"at_s,size\n0.5,7\n");
    assert!(table.contains("line 1") && table.ends_with("of a CSV file name a column: --column at_s"), "{table}");
    assert!(told("x.txt", b"Once upon a time\nthere was a log\n").contains("line 1 has no [dd/Mon/yyyy"), "a story");
    assert!(told("e.txt", b"").contains("empty"));
    let bad = told("n.txt", b"1\n2\nthree\n");
    assert!(bad.ends_with("n.txt:3: `three` is not a number"), "{bad}");
    assert!(told("nan.txt", b"1\nNaN\n").ends_with("nan.txt:2: `NaN` is not a number"));
    assert!(Input::read(&folder.path().join("none"), None, None).unwrap_err().to_string().contains("cannot read"));
}

/// Editors and tools of some systems put a byte order mark before a text. It is no part of the first host, number or name.
#[test]
fn a_byte_order_mark_is_no_part_of_a_text() {
    let folder = tempfile::tempdir().unwrap();
    let log = line(0, "/a", 7) + &line(1, "/b", 9);
    let read = |bytes: Vec<u8>, column| Input::read(&written(&folder, "marked", bytes), column, None).unwrap();
    for pack in [false, true] {
        let marked = |text: &str| {
            let text = format!("\u{feff}{text}");
            if pack { gzip(text) } else { text.into_bytes() }
        };
        // Of files that were put together, each begins with its own.
        let Input::Log(read_log) = read([marked(&log), marked(&log)].concat(), None) else { panic!() };
        assert_eq!((read_log.hosts(), read_log.requests()), (&["host.example".to_owned()][..], 4));
        let Input::Numbers(numbers) = read(marked("1\n2.5\n"), None) else { panic!() };
        assert_eq!(numbers.values, [1.0, 2.5]);
        let Input::Numbers(numbers) = read(marked("at_s,size\n0.5,7\n"), Some(Some("at_s"))) else { panic!() };
        assert_eq!(numbers.values, [0.5]);
        let trace = Trace::read(&written(&folder, "trace", marked("0.5,1\n0.25,2\n"))).unwrap();
        assert_eq!(trace.gaps().len(), 2);
        let pairs = Pairs::open(&written(&folder, "trace", marked("0.5,1\n0.25,2\n"))).unwrap().unwrap();
        assert_eq!(pairs.count(), 2);
    }
    let utf_16: Vec<u8> = "\u{feff}1\n2\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let error = Input::read(&written(&folder, "utf16", &utf_16), None, None).unwrap_err().to_string();
    assert!(error.ends_with("utf16: it is text in UTF-16; save it as UTF-8"), "{error}");
}

/// Rotated logs are one log in the order of time, whatever the order of the files; columns are one column.
#[test]
fn several_files_are_one() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (line(0, "/a", 7), line(9000, "/b", 9) + &line(9001, "/a", 9).replace("host.example", "10.0.0.1"));
    let (old, new) = (written(&folder, "log.1.gz", gzip(&old)), written(&folder, "log", &new));
    let Input::Log(log) = Input::read_all(&[&new, &old], None, None).unwrap() else { panic!() };
    assert_eq!((log.requests(), log.lines()), (3, 3));
    let told: Vec<(&str, &str)> = log
        .entries()
        .iter()
        .map(|entry| (&*log.hosts()[entry.client as usize], &*log.paths()[entry.object as usize]))
        .collect();
    assert_eq!(told, [("host.example", "/a"), ("host.example", "/b"), ("10.0.0.1", "/a")]);
    let column = written(&folder, "column", "1\n2\n");
    let Input::Numbers(numbers) = Input::read_all(&[&column, &column], None, None).unwrap() else { panic!() };
    assert_eq!(numbers.values, [1.0, 2.0, 1.0, 2.0]);
    let error = Input::read_all(&[&column, &old], None, None).unwrap_err().to_string();
    assert!(error.starts_with("logs and columns of numbers: several files are read as one"), "{error}");
}

#[test]
fn devices_and_folders_are_no_input() {
    let folder = tempfile::tempdir().unwrap();
    for (path, why) in [(std::path::Path::new("/dev/zero"), "it is a device"), (folder.path(), "it is a folder")] {
        let error = Input::read(path, None, None).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

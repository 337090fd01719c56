//! Files that are no log.

use sojourn_traffic::log::{Log, LogError};

use crate::support::{gzip, line, read};

#[test]
fn empty_files() {
    for text in [Vec::new(), b"\n\n  \n".to_vec(), gzip("")] {
        let error = read(&text).unwrap_err();
        assert_eq!(error, LogError::Empty { name: "access.log".into() });
        assert_eq!(error.to_string(), "access.log: the log is empty");
    }
}

#[test]
fn binary_files() {
    let binary: Vec<u8> = (0..10_000u32).map(|n| (n * 7 % 256) as u8).collect();
    for text in [binary.clone(), gzip(&binary), b"\x7fELF\x02\x01\x01\0\0\0".to_vec()] {
        assert_eq!(read(&text).unwrap_err(), LogError::Binary { name: "access.log".into() });
    }
}

#[test]
fn other_packers_are_named() {
    for (start, by) in [(&b"\xfd7zXZ\0\0\x04"[..], "xz"), (b"BZh91AY&SY", "bzip2")] {
        let error = read(start).unwrap_err().to_string();
        assert!(error.contains(&format!("packed by {by}; unpack it first")), "{error}");
    }
}

#[test]
fn truncated_gzip() {
    // Lines that do not pack well, so that a good part of them is in what is left.
    let text: String = (0..20_000u32).map(|n| line(n, &format!("/{}", n.wrapping_mul(2_654_435_761)), 7)).collect();
    let packed = gzip(&text);
    for kept in [packed.len() / 2, packed.len() - 1] {
        let error = read(&packed[..kept]).unwrap_err();
        let LogError::Truncated { good_lines, .. } = error else { panic!("{error}") };
        assert!((8_000..=20_000).contains(&good_lines), "{good_lines} of 20000");
        assert!(error.to_string().contains(&format!("cut off after {good_lines} good lines")), "{error}");
    }
    for kept in [3, 12] {
        assert_eq!(
            read(&packed[..kept]).unwrap_err(),
            LogError::Truncated { name: "access.log".into(), by: "gzip", good_lines: 0 }
        );
    }
}

#[test]
fn damaged_gzip() {
    let mut packed = gzip(line(0, "/a", 1).repeat(100));
    let checksum = packed.len() - 6;
    packed[checksum] ^= 1;
    let error = read(&packed).unwrap_err().to_string();
    assert!(error.contains("damaged after 100 good lines"), "{error}");
    let mut single = gzip(line(0, "/a", 1));
    let checksum = single.len() - 6;
    single[checksum] ^= 1;
    let error = read(&single).unwrap_err().to_string();
    assert!(error.contains("damaged after 1 good line: "), "{error}");
}

#[test]
fn no_good_line() {
    let error = read("\nOnce upon a time\nthere was no log\n").unwrap_err().to_string();
    assert_eq!(
        error,
        "access.log: none of 2 lines is in a log format that is known (docs/log-formats.md; `sojourn traffic` takes one by \
         --format); as Common Log Format; \
         line 2 has no [dd/Mon/yyyy:hh:mm:ss +zzzz]: `Once upon a time`"
    );
}

#[test]
fn files_put_together_in_the_wrong_order() {
    let text = [line(7000, "/a", 1), line(9000, "/b", 1), line(8990, "/c", 1), line(1000, "/d", 1)].concat();
    let error = read(&text).unwrap_err();
    assert_eq!(error, LogError::Unsorted { name: "access.log".into(), line: 4, back_s: 8000, than_line: 2 });
    assert!(error.to_string().starts_with("access.log: line 4 is 8000 s earlier than line 2: not in order of time"));
    // An hour is what a slow request may take.
    assert!(read([line(4000, "/a", 1), line(400, "/b", 1)].concat()).is_ok());
    assert!(read([line(4000, "/a", 1), line(399, "/b", 1)].concat()).is_err());
}

#[test]
fn unreadable_files() {
    let dir = tempfile::tempdir().unwrap();
    for path in [dir.path().join("none.log"), dir.path().to_path_buf()] {
        let error = Log::read(&path).unwrap_err();
        assert!(matches!(error, LogError::Io { .. }));
        assert!(error.to_string().starts_with(&path.display().to_string()), "{error}");
    }
}

//! Files that a user names: with and without a byte order mark, special and endless ones.

use std::fs;
use std::io::{BufReader, Read};
use std::path::Path;

use sojourn_stats::config::ConfigFile;
use sojourn_stats::input::{self, LINE_MAX};
use sojourn_stats::{Dimension, Law};

#[test]
fn a_text_has_no_byte_order_mark() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("text");
    for (bytes, expected) in
        [(&b"\xef\xbb\xbfa = 1\n"[..], "a = 1\n"), (b"a = 1\n", "a = 1\n"), (b"\xef\xbb\xbf", ""), (b"", "")]
    {
        fs::write(&path, bytes).unwrap();
        assert_eq!(input::text(&path).unwrap(), expected);
        assert_eq!(input::bytes(&path).unwrap(), bytes);
        let mut read = String::new();
        input::unmarked(bytes).unwrap().read_to_string(&mut read).unwrap();
        assert_eq!(read, expected);
        let lines: Vec<String> = input::lines(bytes).map(Result::unwrap).collect();
        assert_eq!(lines.concat(), expected.trim_end());
    }
    fs::write(&path, b"\xef\xbb\xbf1\n3\n").unwrap();
    let law = Law::parse(&format!("empirical(file = \"{}\", unit = s)", path.display()), Dimension::Time).unwrap();
    assert_eq!(law.mean(), 2.0);
    fs::write(&path, b"\xef\xbb\xbfa = \n").unwrap();
    let wrong = ConfigFile::open(&path).unwrap().read::<toml::Table>().unwrap_err();
    assert!(wrong.0.contains("text:1:"), "{wrong}");
}

#[test]
fn what_is_no_text_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("text");
    for (bytes, why) in [
        (&b"\xff\xfea\0"[..], "it is text in UTF-16; save it as UTF-8"),
        (b"\xfe\xff\0a", "it is text in UTF-16; save it as UTF-8"),
        (b"a\nb\xe9\n", "it is not text in UTF-8 (line 2)"),
    ] {
        fs::write(&path, bytes).unwrap();
        assert_eq!(input::text(&path).unwrap_err().to_string(), why);
    }
}

/// They would give bytes without end, or none for ever.
#[test]
fn only_files_are_read_whole_and_only_files_and_pipes_as_streams() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let socket = folder.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    for (path, why) in [
        (Path::new("/dev/zero"), "it is a device, not a file"),
        (folder.path(), "it is a folder, not a file"),
        (&socket, "it is a socket, not a file"),
    ] {
        assert_eq!(input::text(path).unwrap_err().to_string(), why);
        assert_eq!(input::bytes(path).unwrap_err().to_string(), why);
        assert_eq!(input::open(path).unwrap_err().to_string(), why);
    }
    assert_eq!(input::text(&pipe).unwrap_err().to_string(), "it is a named pipe, not a file");
    assert_eq!(input::text(Path::new("/dev/null")).unwrap(), "");
    let missing = input::text(&folder.path().join("none")).unwrap_err();
    assert_eq!(missing.kind(), std::io::ErrorKind::NotFound);
}

#[test]
fn a_line_without_end_is_refused_at_its_limit() {
    let line = input::lines(BufReader::new(std::io::repeat(b'x').take(LINE_MAX + 2))).next().unwrap();
    assert_eq!(line.unwrap_err().to_string(), "a line is longer than 64 MiB");
}

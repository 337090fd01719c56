//! Versions and ranges of files (RFC 9110, sections 13 and 14).

use std::fs;

use super::{node, write};
use crate::support::{Client, until};

const DATE: &str = "Tue, 14 Nov 2023 22:13:20 GMT";
const EARLIER: &str = "Tue, 14 Nov 2023 22:13:19 GMT";
const LATER: &str = "Tue, 14 Nov 2023 22:13:21 GMT";
const DATE_S: u64 = 1_700_000_000;

#[test]
fn conditions_hold_in_the_order_of_the_standard() {
    let root = tempfile::tempdir().expect("a folder");
    write(&root.path().join("a.txt"), "0123456789", DATE_S);
    let node = node(root.path(), |_| {});
    let mut client = Client::new(node.address());
    let first = client.get("/a.txt");
    assert_eq!((first.status, first.text().as_str(), first.header("last-modified")), (200, "0123456789", Some(DATE)));
    assert_eq!(first.header("accept-ranges"), Some("bytes"));
    let tag = first.header("etag").expect("a tag").to_owned();
    assert!(tag.starts_with('"') && tag.ends_with('"'), "a strong one: {tag}");
    let none_match = |tags: &str| format!("if-none-match: {tags}\r\n");
    let matches = |tags: &str| format!("if-match: {tags}\r\n");
    let since = |date: &str| format!("if-modified-since: {date}\r\n");
    let unless = |date: &str| format!("if-unmodified-since: {date}\r\n");
    let range = |of: &str| format!("range: bytes=2-3\r\nif-range: {of}\r\n");
    let weak = format!("W/{tag}");
    let cases = [
        (none_match(&tag), 304),
        (none_match(&weak), 304),
        (none_match("*"), 304),
        (none_match("\"x\""), 200),
        (none_match(&format!("\"x\", \"a,b\" ,{tag}")), 304),
        (none_match("\"x\"") + &none_match(&tag), 304),
        (none_match(tag.trim_matches('"')), 200),
        (since(DATE), 304),
        (since(LATER), 304),
        (since(EARLIER), 200),
        (since("yesterday"), 200),
        (since(DATE) + &since(DATE), 200),
        // A tag overrules a date.
        (none_match("\"x\"") + &since(DATE), 200),
        (matches(&tag), 200),
        (matches("*"), 200),
        (matches(&format!("\"x\",{tag}")), 200),
        (matches("\"x\""), 412),
        // A weak tag is never the same bytes.
        (matches(&weak), 412),
        (unless(DATE), 200),
        (unless(EARLIER), 412),
        (unless("yesterday"), 200),
        (matches(&tag) + &unless(EARLIER), 200),
        // What fails comes before what the client has.
        (matches("\"x\"") + &none_match(&tag), 412),
        (unless(EARLIER) + &none_match(&tag), 412),
        (matches(&tag) + &none_match(&tag), 304),
        (unless(DATE) + &since(DATE), 304),
        // And that comes before ranges.
        (none_match(&tag) + "range: bytes=99-\r\n", 304),
        (matches("\"x\"") + "range: bytes=0-1\r\n", 412),
        ("range: bytes=2-3\r\n".into(), 206),
        ("range: bytes=99-\r\n".into(), 416),
        (range(&tag), 206),
        (range(DATE), 206),
        (range(&weak), 200),
        (range("\"x\""), 200),
        (range(EARLIER), 200),
        (range(LATER), 200),
        (range("yesterday"), 200),
        ("range: bytes=99-\r\nif-range: \"x\"\r\n".into(), 200),
    ];
    for (headers, status) in cases {
        let reply = client.ask("GET", "/a.txt", &headers);
        assert_eq!(reply.status, status, "{headers:?}");
        let body = match status {
            200 => "0123456789",
            206 => "23",
            304 => "",
            412 => "the file is another version\n",
            _ => "the file has no such bytes\n",
        };
        assert!(reply.whole && reply.text() == body, "{headers:?}: {:?}", reply.text());
        let is_file = [200, 206, 304].contains(&status);
        assert_eq!(reply.header("etag"), Some(tag.as_str()).filter(|_| is_file), "{headers:?}");
        assert_eq!(reply.header("content-type").is_some(), status != 304, "{headers:?}");
        let place = [(206, "bytes 2-3/10"), (416, "bytes */10")].into_iter().find(|(of, _)| *of == status);
        assert_eq!(reply.header("content-range"), place.map(|(_, place)| place), "{headers:?}");
        // A HEAD has no range, and is otherwise the same without its body.
        let head = client.ask("HEAD", "/a.txt", &headers);
        let expected = if [206, 416].contains(&status) { 200 } else { status };
        assert_eq!(head.status, expected, "HEAD {headers:?}");
        let length = (expected != 304).then_some(if expected == 200 { "10" } else { "28" });
        assert_eq!(head.header("content-length"), length, "HEAD {headers:?}");
    }
}

#[test]
fn several_ranges_come_in_parts() {
    let root = tempfile::tempdir().expect("a folder");
    let large: String = (0..300_000).map(|number| format!("{number:09}\n")).collect();
    fs::write(root.path().join("large.txt"), &large).expect("a file");
    let node = node(root.path(), |files| files.ranges_max = 3);
    let mut client = Client::new(node.address());
    for (range, parts) in [
        ("10-19,30-", vec![(10, 19), (30, 2_999_999)]),
        ("-10,0-9,1000000-1999999", vec![(2_999_990, 2_999_999), (0, 9), (1_000_000, 1_999_999)]),
    ] {
        let reply = client.ask("GET", "/large.txt", &format!("range: bytes={range}\r\n"));
        let media_type = reply.header("content-type").expect("a type").to_owned();
        let separator = media_type.strip_prefix("multipart/byteranges; boundary=").expect("parts");
        let mut expected = String::new();
        for (first, last) in parts {
            expected += &format!(
                "\r\n--{separator}\r\ncontent-type: text/plain; charset=utf-8\r\n\
                 content-range: bytes {first}-{last}/3000000\r\n\r\n{}",
                &large[first..=last]
            );
        }
        expected += &format!("\r\n--{separator}--\r\n");
        assert!(reply.status == 206 && reply.whole && reply.text() == expected, "{range}: {}", reply.body.len());
        assert_eq!(reply.header("content-range"), None);
    }
    for range in ["0-0,2-2,4-4,6-6", "0-10,5-20", "x"] {
        let reply = client.ask("GET", "/large.txt", &format!("range: bytes={range}\r\n"));
        assert_eq!((reply.status, reply.body.len()), (200, large.len()), "{range}");
    }
    let one = client.ask("GET", "/large.txt", "range: bytes=500000-2499999\r\n");
    assert!(one.status == 206 && one.text() == large[500_000..2_500_000]);
}

#[test]
fn a_file_that_shrinks_while_it_is_sent_does_not_look_whole() {
    let root = tempfile::tempdir().expect("a folder");
    let file = fs::File::create(root.path().join("large.bin")).expect("a file");
    // More than the buffers of both sides hold.
    file.set_len(256 << 20).expect("a file with a hole");
    let node = node(root.path(), |_| {});
    for range in ["", "range: bytes=1-\r\n", "range: bytes=0-1,3-\r\n"] {
        file.set_len(256 << 20).expect("a file with a hole");
        let mut client = Client::new(node.address());
        client.send(&format!("GET /large.bin HTTP/1.1\r\nhost: t\r\n{range}\r\n"));
        let (status, headers) = client.head().expect("a head");
        assert_eq!(status, if range.is_empty() { 200 } else { 206 });
        file.set_len(1 << 20).expect("a shorter file");
        let length = headers.iter().find(|(name, _)| name == "content-length").expect("a length");
        let read = client.rest();
        assert!((read as u64) < length.1.parse().expect("a number"), "{range:?}: {read} bytes");
    }
}

/// What was opened for one request serves others for a second, but not beyond what it was.
#[test]
fn what_changes_is_seen() {
    let root = tempfile::tempdir().expect("a folder");
    let path = root.path().join("a.txt");
    fs::write(&path, "one").expect("a file");
    let node = node(root.path(), |_| {});
    let mut client = Client::new(node.address());
    let mut last = client.get("/a.txt");
    assert_eq!(last.text(), "one");
    // Written in place: at once, longer, shorter, and of the same length.
    for content in ["longer", "s", "t"] {
        fs::write(&path, content).expect("a file");
        let next = client.get("/a.txt");
        assert_eq!(next.text(), content);
        assert_ne!(next.header("etag"), last.header("etag"), "{content}");
        last = next;
    }
    // Replaced and removed: within a second.
    let next = root.path().join("next");
    fs::write(&next, "new").expect("a file");
    fs::rename(&next, &path).expect("it is renamed");
    until("the new file is served", || client.get("/a.txt").text() == "new");
    fs::remove_file(&path).expect("it is removed");
    until("it is gone", || client.get("/a.txt").status == 404);
    // Nothing holds its place on the disk.
    fs::write(&path, "again").expect("a file");
    assert_eq!(client.get("/a.txt").text(), "again");
    fs::remove_file(&path).expect("it is removed");
    let is_open = || {
        let open = fs::read_dir("/proc/self/fd").expect("this process").flatten();
        open.filter_map(|entry| fs::read_link(entry.path()).ok())
            .any(|link| link.to_string_lossy().starts_with(path.to_string_lossy().as_ref()))
    };
    until("its descriptor is closed, without any request", || !is_open());
    // The whole root too, as when a new release takes the place of the old one.
    let other = tempfile::tempdir().expect("a folder");
    fs::write(other.path().join("a.txt"), "another root").expect("a file");
    let moved = root.path().with_extension("old");
    fs::rename(root.path(), &moved).expect("it is renamed");
    fs::rename(other.path(), root.path()).expect("it is renamed");
    until("the new root is served", || client.get("/a.txt").text() == "another root");
    fs::remove_dir_all(&moved).expect("it is removed");
    fs::create_dir(other.path()).expect("what the test removes");
}

//! Files in other codings, made before.

use std::fs;

use super::{node, write};
use crate::support::Client;

#[test]
fn a_client_gets_the_coding_that_it_likes_best() {
    let root = tempfile::tempdir().expect("a folder");
    let file = |name: &str, content: &str, changed_s| write(&root.path().join(name), content, changed_s);
    file("a.css", "plain", 1_700_000_000);
    file("a.css.br", "B", 1_700_000_000);
    file("a.css.zst", "ZS", 1_700_000_001);
    file("a.css.gz", "GZI", 1_700_000_002);
    // Older than what it was made of.
    file("b.js", "plain", 1_700_000_001);
    file("b.js.gz", "old", 1_700_000_000);
    file("b.js.br", "B", 1_700_000_001);
    // Small already, whatever lies beside it.
    file("c.png", "picture", 1_700_000_000);
    file("c.png.gz", "GZI", 1_700_000_000);
    let node = node(root.path(), |_| {});
    let mut client = Client::new(node.address());
    for (path, accepts, body, coding) in [
        ("/a.css", "", "plain", None),
        ("/a.css", "gzip, deflate, br, zstd", "B", Some("br")),
        ("/a.css", "gzip, zstd", "ZS", Some("zstd")),
        ("/a.css", "GZIP", "GZI", Some("gzip")),
        ("/a.css", "x-gzip", "GZI", Some("gzip")),
        ("/a.css", "gzip;q=0.9, br;q=0.8", "GZI", Some("gzip")),
        ("/a.css", "gzip;q=0.001, br;q=0", "GZI", Some("gzip")),
        ("/a.css", "*", "B", Some("br")),
        ("/a.css", "*, br;q=0", "ZS", Some("zstd")),
        ("/a.css", "identity, gzip;q=0.5", "plain", None),
        ("/a.css", "deflate", "plain", None),
        ("/a.css", "br;q=0", "plain", None),
        ("/a.css", "identity;q=0", "plain", None),
        ("/b.js", "gzip", "plain", None),
        ("/b.js", "gzip, br", "B", Some("br")),
        ("/c.png", "gzip", "picture", None),
    ] {
        let reply = client.ask("GET", path, &format!("accept-encoding: {accepts}\r\n"));
        assert_eq!((reply.text().as_str(), reply.header("content-encoding")), (body, coding), "{path} {accepts}");
        assert_eq!(reply.header("vary"), Some("accept-encoding").filter(|_| path != "/c.png"), "{path}");
        let media_type = reply.header("content-type").expect("a type");
        assert!(["text/css; charset=utf-8", "text/javascript; charset=utf-8", "image/png"].contains(&media_type));
    }
    // Each has a version of its own, and ranges are of its own bytes.
    let plain = client.get("/a.css").header("etag").expect("a tag").to_owned();
    let gzip = client.ask("GET", "/a.css", "accept-encoding: gzip\r\n").header("etag").expect("a tag").to_owned();
    assert_ne!(plain, gzip);
    let ask = |client: &mut Client, tag: &str, accepts: &str| {
        client.ask("GET", "/a.css", &format!("accept-encoding: {accepts}\r\nif-none-match: {tag}\r\n"))
    };
    assert_eq!(ask(&mut client, &gzip, "gzip").status, 304);
    assert_eq!(ask(&mut client, &gzip, "gzip").header("vary"), Some("accept-encoding"));
    assert_eq!((ask(&mut client, &gzip, "").status, ask(&mut client, &plain, "gzip").status), (200, 200));
    let part = client.ask("GET", "/a.css", "accept-encoding: gzip\r\nrange: bytes=1-\r\n");
    assert_eq!((part.text().as_str(), part.header("content-range")), ("ZI", Some("bytes 1-2/3")));
    // What they were made of has changed: they are out of date at once.
    fs::write(root.path().join("a.css"), "newer").expect("a file");
    assert_eq!(client.ask("GET", "/a.css", "accept-encoding: gzip, br\r\n").text(), "newer");
    // And where that is set, there are none.
    let node = super::node(root.path(), |files| files.precompressed = false);
    let reply = Client::new(node.address()).ask("GET", "/b.js", "accept-encoding: br\r\n");
    assert_eq!((reply.text().as_str(), reply.header("vary")), ("plain", None));
}

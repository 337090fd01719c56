//! Folders, pages for errors, types, and what is said about keeping; and settings that cannot be right.

use std::fs;

use sojourn_part::settings::node::{CacheControl, FileSettings, NodeSettings, Pattern};
use sojourn_web::Node;

use super::node;
use crate::support::Client;

#[test]
fn a_folder_has_a_slash_at_its_end() {
    let root = tempfile::tempdir().expect("a folder");
    for folder in ["sub", "a b?", "empty", "evil.example"] {
        fs::create_dir(root.path().join(folder)).expect("a folder");
    }
    fs::write(root.path().join("sub/home.htm"), "home").expect("a file");
    fs::write(root.path().join("sub/index.html"), "index").expect("a file");
    fs::write(root.path().join("a b?/index.html"), "odd").expect("a file");
    let node = node(root.path(), |files| files.index = vec!["home.htm".into(), "index.html".into()]);
    let mut client = Client::new(node.address());
    for (path, location) in [
        ("/sub", "/sub/"),
        ("/sub?a=b&c", "/sub/?a=b&c"),
        ("/a%20b%3f", "/a%20b%3F/"),
        // Two slashes at the beginning would be another host.
        ("//evil.example", "/evil.example/"),
        ("/./evil.example", "/evil.example/"),
    ] {
        let reply = client.get(path);
        assert_eq!((reply.status, reply.header("location")), (301, Some(location)), "{path}");
    }
    assert_eq!(client.get("/sub/").text(), "home");
    assert_eq!(client.get("/a%20b%3F/").text(), "odd");
    assert_eq!(client.get("/sub/index.html/").status, 404, "a file has nothing below it");
    assert_eq!((client.get("/empty/").status, client.get("/").status), (404, 404), "nothing is listed");
}

#[test]
fn a_folder_is_listed_where_that_is_set() {
    let root = tempfile::tempdir().expect("a folder");
    for folder in ["b", "b/c"] {
        fs::create_dir(root.path().join(folder)).expect("a folder");
    }
    for file in ["a<b>&.txt", "b/x:y \"q\"", "b/.hidden"] {
        fs::write(root.path().join(file), file).expect("a file");
    }
    let node = node(root.path(), |files| files.listing = true);
    let mut client = Client::new(node.address());
    let page = client.get("/");
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    let lines = |text: &str| {
        let items = text.lines().filter_map(|line| line.strip_prefix("<li>")?.strip_suffix("</li>").map(str::to_owned));
        items.collect::<Vec<_>>()
    };
    assert_eq!(
        lines(&page.text()),
        ["<a href=\"./b/\">b/</a>", "<a href=\"./a%3Cb%3E%26.txt\">a&lt;b&gt;&amp;.txt</a>"]
    );
    assert_eq!(
        lines(&client.get("/b/").text()),
        ["<a href=\"../\">../</a>", "<a href=\"./c/\">c/</a>", "<a href=\"./x%3Ay%20%22q%22\">x:y &quot;q&quot;</a>"]
    );
    assert_eq!(client.get("/b/x%3Ay%20%22q%22").text(), "b/x:y \"q\"");
}

#[test]
fn the_site_has_its_own_words_types_and_times() {
    let root = tempfile::tempdir().expect("a folder");
    for (file, content) in [("404.html", "<p>nowhere"), ("a.css", "css"), ("b.webmanifest", "{}"), ("c.js", "js")] {
        fs::write(root.path().join(file), content).expect("a file");
    }
    let node = node(root.path(), |files| {
        files.errors = [("404".into(), "404.html".into()), ("405".into(), "/404.html".into())].into();
        files.types = [("webmanifest".into(), "application/x-own".into()), ("JS".into(), "text/x-own".into())].into();
        let rule = |path: &str, value: &str| CacheControl {
            path: Pattern::parse(path).expect("a pattern"),
            value: value.into(),
        };
        files.cache_control = vec![rule("*.css", "max-age=3600"), rule("/*", "no-cache")];
    });
    let mut client = Client::new(node.address());
    let missing = client.get("/missing");
    let told = (missing.status, missing.text(), missing.header("content-type").map(str::to_owned));
    assert_eq!(told, (404, "<p>nowhere".into(), Some("text/html; charset=utf-8".into())));
    assert_eq!(client.ask("HEAD", "/missing", "").header("content-length"), Some("10"));
    // A page that stands for an error is no version of anything, and keeps what the error says.
    let refused = client.ask("DELETE", "/a.css", "");
    assert_eq!((refused.status, refused.text().as_str()), (405, "<p>nowhere"));
    assert_eq!((refused.header("allow"), refused.header("etag")), (Some("GET, HEAD"), None));
    assert_eq!(client.get("/404.html").status, 200);
    for (path, media_type, cache) in [
        ("/a.css", "text/css; charset=utf-8", "max-age=3600"),
        ("/b.webmanifest", "application/x-own", "no-cache"),
        ("/c.js", "text/x-own", "no-cache"),
    ] {
        let reply = client.get(path);
        let told = (reply.header("content-type"), reply.header("cache-control"));
        assert_eq!(told, (Some(media_type), Some(cache)), "{path}");
        let tag = reply.header("etag").expect("a tag");
        let again = client.ask("GET", path, &format!("if-none-match: {tag}\r\n"));
        assert_eq!((again.status, again.header("cache-control")), (304, Some(cache)), "{path}");
    }
}

#[test]
fn settings_that_cannot_be_right_are_said_in_a_line() {
    let root = tempfile::tempdir().expect("a folder");
    fs::write(root.path().join("file"), "").expect("a file");
    let refusal = |change: &dyn Fn(&mut FileSettings)| {
        let mut files = FileSettings::new(root.path());
        change(&mut files);
        let config = NodeSettings { files: files.into(), ..NodeSettings::new("n") };
        Node::start(config).err().expect("it cannot start").to_string()
    };
    let cache = |value: &str| CacheControl { path: Pattern::parse("*").expect("a pattern"), value: value.into() };
    for (said, expected) in [
        (refusal(&|files| files.root = root.path().join("file")), "not a directory"),
        (refusal(&|files| files.root = root.path().join("none")), "none: No such file"),
        (refusal(&|files| files.index = vec!["a/b".into()]), "files.index: `a/b`"),
        (refusal(&|files| files.types = [(".css".into(), "text/css".into())].into()), "files.types: .css"),
        (refusal(&|files| files.types = [("css".into(), "css".into())].into()), "files.types: css"),
        (refusal(&|files| files.errors = [("200".into(), "file".into())].into()), "files.errors: 200"),
        (
            refusal(&|files| files.errors = [("404".into(), "none.html".into())].into()),
            "files.errors: 404: there is no file",
        ),
        (refusal(&|files| files.errors = [("404".into(), "../x".into())].into()), "files.errors: 404 = `../x`"),
        (refusal(&|files| files.cache_control = vec![cache("")]), "files.cache_control: ``"),
        (refusal(&|files| files.cache_control = vec![cache("a\nb")]), "cache_control"),
    ] {
        assert!(said.contains(expected), "{said} lacks {expected}");
        assert!(said.lines().count() == 1 || expected == "cache_control", "{said}");
    }
}

//! Addresses to load.

use sojourn_load::Url;

#[test]
fn addresses_are_read() {
    for (text, host, port, path, authority) in [
        ("http://example.org", "example.org", 80, "/", "example.org"),
        ("HTTP://127.0.0.1:8080/a/b?c=d#e", "127.0.0.1", 8080, "/a/b?c=d", "127.0.0.1:8080"),
        ("http://[::1]:81?x", "::1", 81, "/?x", "[::1]:81"),
        ("http://[::1]/", "::1", 80, "/", "[::1]"),
    ] {
        let url = Url::parse(text).unwrap();
        assert_eq!((url.host.as_str(), url.port, url.path.as_str()), (host, port, path), "{text}");
        assert_eq!(url.authority(), authority, "{text}");
    }
}

#[test]
fn what_is_no_address_says_why() {
    for (text, why) in [
        ("127.0.0.1:8080", "`http://`"),
        ("ftp://example.org/", "`ftp` is not a scheme"),
        ("http://", "host is missing"),
        ("http://:80/", "host is missing"),
        ("http://h:0/", "not a port from 1 to 65535"),
        ("http://h:65536/", "not a port from 1 to 65535"),
        ("http://h:http/", "not a port from 1 to 65535"),
        ("http://[::1/", "`[` without `]`"),
        ("http://[::1]81/", "after `]`"),
        ("http://me@h/", "user name"),
        ("http://h/a b", "%XX"),
    ] {
        let error = Url::parse(text).expect_err(text).to_string();
        assert!(error.contains(why), "{text}: {error}");
        assert!(!error.contains('\n'), "{text}: {error}");
    }
}

#[test]
fn a_name_that_nobody_has_is_said() {
    let error = Url::parse("http://no-such-host.invalid/").unwrap().resolve().unwrap_err().to_string();
    assert!(error.contains("no-such-host.invalid"), "{error}");
}

//! Sessions of browsers, from HTTP archives.

use std::path::PathBuf;

use sojourn_stats::{Dimension, Law};
use sojourn_traffic::describe::{Value, describe_har};
use sojourn_traffic::har::{Har, LeftOut};
use sojourn_traffic::{Arrivals, Input, Sessions};

use crate::support::gzip;

/// An entry: its page, when it began (ms), how long it took (ms), its URL, status and size, and more fields.
fn entry(page: &str, begin_ms: u32, taken_ms: f64, url: &str, status: i32, size: i64, more: &str) -> String {
    format!(
        concat!(
            r#"{{"pageref":"{page}","startedDateTime":"2026-11-28T10:00:{:02}.{:03}+01:00","time":{taken_ms},"#,
            r#""request":{{"method":"GET","url":"{url}","headers":[],"bodySize":0}},"#,
            r#""response":{{"status":{status},"bodySize":{size},"content":{{"size":900}}}}{more}}}"#
        ),
        begin_ms / 1000,
        begin_ms % 1000,
        page = page,
        taken_ms = taken_ms,
        url = url,
        status = status,
        size = size,
        more = more
    )
}

/// As Chrome writes it: two pages of a shop with a picture from elsewhere; on the second a timer asks again.
fn shop() -> String {
    let entries = [
        entry("p1", 0, 100.0, "https://shop.example/", 200, 5000, ""),
        entry("p1", 120, 30.0, "https://shop.example/style.css?v=2#top", 200, -1, ""),
        entry("p1", 120, 500.0, "https://cdn.example:8443/logo.png", 200, 700, ""),
        entry("p1", 130, 0.5, "https://shop.example/old.js", 200, 0, ",\"_fromCache\":\"disk\""),
        entry("p1", 140, 20.0, "https://shop.example/blocked.js", 0, -1, ""),
        entry("p1", 150, 0.0, "data:image/png;base64,AAAA", 200, 4, ""),
        // 3 s after the last reply of the first page, at 620 ms.
        entry("p2", 3620, 200.0, "https://shop.example/item?id=7", 200, 6000, ""),
        entry("p2", 3700, 10.0, "wss://shop.example/live", 101, 0, ""),
        entry("p2", 5820, 100.0, "https://shop.example/item?id=7", 304, 0, ""),
    ];
    format!(
        "{{ \"log\": {{\"version\":\"1.2\",\"creator\":{{\"name\":\"x\",\"version\":\"1\"}},\"pages\":[],\n\"entries\":[{}]}}}}",
        entries.join(",\n")
    )
}

fn har() -> Har {
    Har::parse(shop().as_bytes(), "shop.har").unwrap()
}

#[test]
fn an_archive_is_a_session_with_its_thinking_times() {
    let har = har();
    assert_eq!((har.sessions(), har.bursts(), har.requests()), (1, 3, 5));
    assert_eq!(
        har.left_out().collect::<Vec<_>>(),
        [(LeftOut::Cached, 1), (LeftOut::Unanswered, 1), (LeftOut::NotHttp, 2)]
    );
    assert_eq!(har.hosts(), [("shop.example", 4), ("cdn.example:8443", 1)]);
    assert_eq!(har.thinks_s(), [3.0, 2.0]);
    assert_eq!(har.sizes(), [5000.0, 900.0, 700.0, 6000.0, 0.0]);
    let warnings = har.warnings();
    assert!(warnings[0].contains("1 from the browser's cache, 1 without an answer, 2 not of HTTP"), "{warnings:?}");
    assert!(warnings[1].contains("unless `hosts` names them: cdn.example:8443 (1)"), "{warnings:?}");
}

/// A workload has the sizes that were seen, and asks the site that was visited, or the hosts that are named.
#[test]
fn a_session_becomes_a_workload() {
    let har = har();
    let list = har.list(&[]).unwrap();
    let paths: Vec<&str> = list.calls().iter().map(|call| call.path.as_str()).collect();
    assert_eq!(paths, ["/", "/style.css?v=2", "/item?id=7", "/item?id=7"], "of one path two sizes");
    let told: Vec<_> = list.sessions()[0]
        .iter()
        .map(|burst| (burst.calls.clone(), burst.think.map(|think| think.as_secs_f64())))
        .collect();
    assert_eq!(told, [(vec![0, 1], Some(3.0)), (vec![2], Some(2.0)), (vec![3], None)]);
    let size = Law::parse("constant(1 MB)", Dimension::Size).unwrap();
    let sessions =
        Sessions::written(list, 10, Arrivals::parse("constant(1 s)").unwrap(), Law::constant(0.0), &size, 1).unwrap();
    let sizes: Vec<u64> = sessions.site.files().iter().map(|file| file.size).collect();
    assert_eq!(sizes, [5000, 900, 6000, 0]);
    // Of another host, the time in which only others were asked is no work of it.
    let cdn = har.list(&["cdn.example:8443".into()]).unwrap();
    assert_eq!((cdn.calls()[0].path.as_str(), cdn.sessions()[0].len()), ("/logo.png", 1));
    let both = har.list(&["shop.example".into(), "cdn.example:8443".into()]).unwrap();
    assert_eq!(both.sessions()[0][0].calls.len(), 3);
    let wrong = har.list(&["other.example".into()]).unwrap_err();
    assert_eq!(wrong, "session 1 asks none of other.example for anything; most requests go to shop.example");
}

/// While a user waits for what others serve, the site's servers have a pause.
#[test]
fn what_others_serve_is_a_pause() {
    let text = shop().replace("https://shop.example/item?id=7", "https://pay.example/item");
    let again = entry("p3", 9000, 10.0, "https://shop.example/thanks", 200, 10, "");
    let text = text.replacen("]}}", &format!(",{again}]}}}}"), 1);
    let list = Har::parse(text.as_bytes(), "x.har").unwrap().list(&[]).unwrap();
    let thinks: Vec<_> = list.sessions()[0].iter().map(|burst| burst.think.map(|think| think.as_secs_f64())).collect();
    // From the last reply of the first page to the beginning of the last one.
    assert_eq!(thinks, [Some(8.38), None]);
}

#[test]
fn several_archives_are_several_sessions() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: Vec<u8>| -> PathBuf {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let files = [
        write("a.har", shop().into_bytes()),
        write("b.har.gz", gzip(shop().replace("shop.example/item", "shop.example/bag"))),
    ];
    let Input::Har(both) = Input::read_all(&files, None, None).unwrap() else { panic!("archives") };
    assert_eq!((both.sessions(), both.requests(), both.left_out().count()), (2, 10, 3));
    let list = both.list(&[]).unwrap();
    assert_eq!((list.sessions().len(), list.calls().len()), (2, 6), "what both ask for is one call");
    let description = describe_har(&both);
    let fact = |name: &str| description.facts.iter().find(|fact| fact.name == name).unwrap().value.clone();
    assert!(matches!(fact("sessions"), Value::Count(2)) && matches!(fact("cdn.example:8443"), Value::Count(2)));
    assert!(matches!(fact("think_mean"), Value::Number(mean) if (mean - 2.5).abs() < 1e-9));
    assert_eq!(
        description.variables.iter().map(|variable| variable.count).collect::<Vec<_>>(),
        [4, 8, 10],
        "what has 0 bytes has no law"
    );
    let log = write("x.log", b"h - - [01/Aug/1995:00:00:00 -0400] \"GET / HTTP/1.0\" 200 5\n".to_vec());
    let mixed = Input::read_all(&[&files[0], &log], None, None).unwrap_err().to_string();
    assert!(mixed.starts_with("logs and HTTP archives: several files"), "{mixed}");
}

#[test]
fn what_is_no_archive() {
    let refused = |text: &str| Har::parse(text.as_bytes(), "x.har").unwrap_err().to_string();
    assert!(refused("{\"log\":\n{\"creator\":{},\n\"entries\":7}}").starts_with("x.har:3: no HTTP archive"));
    assert!(refused(&shop()[..300]).contains("EOF while parsing"));
    assert!(
        refused(&shop().replacen("2026-11-28T10", "28.11.2026 10", 1))
            .contains("entry 1: `startedDateTime` is `28.11.2026")
    );
    let nothing = refused("{\"log\":{\"creator\":{},\"entries\":[]}}");
    assert!(nothing.contains("no request in it reached a server") && !nothing.contains('\n'), "{nothing}");
    // Lines of a log that is JSON are no archive.
    assert!(!Har::is_one(b"{\"log\":{\"level\":\"info\"},\"msg\":\"x\"}\n"));
    assert!(Har::is_one(shop().as_bytes()));
}

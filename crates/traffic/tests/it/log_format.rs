//! Lines of logs.

use sojourn_traffic::log::{Fault, Log, LogError, Method};

use crate::support::{gzip, line, read};

#[test]
fn common_and_combined() {
    let log = read(concat!(
        "pppa006.compuserve.com - - [01/Aug/1995:00:00:01 -0400] \"GET /images/logo.gif HTTP/1.0\" 200 1713\n",
        "::1 - frank [01/Aug/1995:00:00:01 -0400] \"HEAD /index.html HTTP/1.1\" 304 - \"http://a/ b\" \"Mozilla/4.08 [en]\"\r\n",
        "10.0.0.7 - [01/Jan] [01/Aug/1995:06:00:02 +0200] \"POST /images/logo.gif HTTP/1.0\" 500 0 \"-\" \"-\"",
    ))
    .unwrap();
    assert_eq!(log.hosts(), ["pppa006.compuserve.com", "::1", "10.0.0.7"]);
    assert_eq!(log.paths(), ["/images/logo.gif", "/index.html"]);
    let entries = log.entries();
    // 1995-08-01 04:00:01 UTC.
    assert_eq!(entries.iter().map(|entry| entry.time_s()).collect::<Vec<_>>(), [807_249_601, 807_249_601, 807_249_602]);
    assert_eq!(entries.iter().map(|entry| entry.client).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(entries.iter().map(|entry| entry.object).collect::<Vec<_>>(), [0, 1, 0]);
    assert_eq!(entries.iter().map(|entry| entry.status).collect::<Vec<_>>(), [200, 304, 500]);
    assert_eq!(entries.iter().map(|entry| entry.bytes).collect::<Vec<_>>(), [1713, 0, 0]);
    assert_eq!(entries.iter().map(|entry| entry.method).collect::<Vec<_>>(), [Method::Get, Method::Head, Method::Post]);
    assert_eq!((log.bad_lines(), log.lines(), log.span().as_secs_f64()), (0, 3, 2.0));
    assert_eq!(log.local_time(entries[2].time_s()), "1995-08-01 00:00:02 -0400");
    assert!(log.warnings().is_empty());
}

#[test]
fn requests_as_they_really_are() {
    for (request, path) in [
        ("GET /old", Some("/old")),
        ("GET /a b.html HTTP/1.0", Some("/a b.html")),
        ("GET /say\"hello\".html HTTP/1.0", Some("/say\"hello\".html")),
        (r#"GET /say\"hello\".html HTTP/1.0"#, Some(r#"/say\"hello\".html"#)),
        (r#"GET /trap\" 200 5 HTTP/1.0"#, Some(r#"/trap\" 200 5"#)),
        (r"GET /back\", Some(r"/back\")),
        ("GET http://other.example/x HTTP/1.1", Some("http://other.example/x")),
        ("VERSION-CONTROL /x HTTP/1.1", Some("/x")),
        ("GET /caf\u{e9} HTTP/1.1", Some("/caf\u{e9}")),
        ("-", None),
        ("", None),
        ("GET", None),
        ("GET  HTTP/1.0", None),
        (r"\x16\x03\x01\x02 \x01", None),
    ] {
        let text = format!("{}h - - [01/Aug/1995:00:00:00 -0400] \"{request}\" 200 5\n", line(0, "/", 1));
        let log = read(&text).unwrap();
        match path {
            Some(path) => assert_eq!(log.paths()[1..], [path.to_owned()], "{request}"),
            None => assert_eq!(log.bad_by_reason().collect::<Vec<_>>(), [(Fault::Request, 1)], "{request}"),
        }
    }
}

/// What servers, containers and collectors of logs put before the client is never taken for it (goaccess reports 2409 and
/// 2717 are of this kind); Apache's `vhost_combined` is read.
#[test]
fn only_a_host_is_taken_for_the_client() {
    let lines = |before: &str, after: &str| -> String {
        let clients = ["10.0.0.1", "client.example", "2001:db8::7"];
        let line = |(n, client): (usize, &str)| {
            format!(
                "{before}{client}{after} [10/Oct/2024:13:0{n}:00 +0000] \"GET /p{n} HTTP/1.1\" 200 100 \"-\" \"curl/7\"\n"
            )
        };
        clients.into_iter().enumerate().map(line).collect()
    };
    for (before, after) in [
        ("", " - -"),
        ("", " - frank"),
        ("", " ident frank"),
        ("", " - John Smith"),
        ("", " -"),
        ("www.example.org:80 ", " - -"),
        ("www.example.org:443 ", " - John Smith"),
        ("[2001:db8::1]:80 ", " - -"),
    ] {
        let log = read(lines(before, after)).unwrap();
        assert_eq!(log.hosts(), ["10.0.0.1", "client.example", "2001:db8::7"], "{before:?} {after:?}");
        assert_eq!(log.bad_lines(), 0);
    }
    for (before, after) in [
        ("nginx-1  | ", " - -"),
        ("0.005 ", " - -"),
        ("0.005 ", " -"),
        ("532 ", " - -"),
        ("web ", " - -"),
        ("Oct 10 13:00:00 web nginx: ", " - -"),
        ("<13>1 2024-10-10T13:00:00Z web nginx - - - ", " - -"),
        ("2024-10-10T13:00:00.000000000Z ", " - -"),
        ("[pod/nginx-abc/nginx] ", " - -"),
        ("203.0.113.9, ", " - -"),
        ("203.0.113.9 ", " - -"),
        ("- ", " - -"),
    ] {
        let bad = lines(before, after);
        let error = read(&bad).expect_err(before);
        assert!(matches!(error, LogError::NoGoodLine { fault: Fault::Before, .. }), "{before:?}: {error}");
        let log = read(lines("", " - -") + &bad).unwrap();
        assert_eq!(log.bad_by_reason().collect::<Vec<_>>(), [(Fault::Before, 3)]);
        assert_eq!(log.hosts().len(), 3);
        assert!(log.warnings()[0].contains("3 with something else than `host ident user` before the time"));
    }
}

/// nginx's `$request_time`; other numbers, and lines without one, say nothing.
#[test]
fn response_times_at_the_end_of_lines() {
    for (end, expected) in [
        ("", None),
        (" 0.012", Some(0.012)),
        (" \"-\" \"Mozilla 5.0\" 0.012", Some(0.012)),
        (" \"-\" \"a\" \"10.0.0.1\" 12.345 0.344 .", None),
        (" \"-\" \"a\" rt=0.000", Some(0.0)),
        (" \"-\" \"a\" urt=0.100", None),
        (" \"-\" \"a\" 532", None),
        (" \"-\" \"a\" 0.12", None),
        (" \"-\" \"a\" .123", None),
        (" \"-\" \"0.012\"", None),
        (" \"-\" \"a\" -", None),
        (" \"-\" \"a\" 99999999999.000", None),
        (" \"-\" \"a \\\" b\" 0.012", Some(0.012)),
        (" \"-\" \"a \"b\"c\\\" 0.012", Some(0.012)),
    ] {
        let text = line(0, "/", 1).trim_end().to_owned() + end;
        assert_eq!(read(&text).unwrap().entries()[0].response_s(), expected, "{end}");
    }
}

#[test]
fn bytes_that_are_no_text_are_kept_apart() {
    let mut text = line(0, "/", 1).into_bytes();
    for byte in [0xe9, 0xe8] {
        text.extend(b"h - - [01/Aug/1995:00:00:00 -0400] \"GET /caf");
        text.extend([byte]);
        text.extend(b" HTTP/1.0\" 200 5\n");
    }
    assert_eq!(read(&text).unwrap().entries().iter().map(|entry| entry.object).collect::<Vec<_>>(), [0, 1, 2]);
}

#[test]
fn bad_lines_are_counted_by_reason() {
    let good = line(10, "/good", 1);
    let with = |from: &str, to: &str| good.replace(from, to);
    let bad = [
        (" leading space is trimmed, then no time\n".to_owned(), Fault::Time),
        ("one-word\n".to_owned(), Fault::Host),
        (with("01/Aug", "32/Aug"), Fault::Time),
        (with("01/Aug", "31/Jun"), Fault::Time),
        (with("01/Aug/1995", "29/Feb/1900"), Fault::Time),
        (with("Aug", "aug"), Fault::Time),
        (with("01/Aug", "0:/Aug"), Fault::Time),
        (with("1995", ":995"), Fault::Time),
        (with("00:00:10", "24:00:10"), Fault::Time),
        (with(" -0400", ""), Fault::Time),
        (with("\"GET /good HTTP/1.0\"", "GET /good HTTP/1.0"), Fault::Request),
        (with("HTTP/1.0\"", "HTTP/1.0"), Fault::Request),
        (with("200 1", "200"), Fault::Reply),
        (with("200 1", "OK 1"), Fault::Reply),
        (with("200 1", "200 1.5"), Fault::Reply),
        (with("200 1", "200 99999999999999999999"), Fault::Reply),
        (with("200 1", "200 -1"), Fault::Reply),
        (with("/good", &"/long".repeat(60_000)), Fault::Long),
        (with("/good", "/ni\0l"), Fault::Nul),
    ];
    for (line, fault) in &bad {
        // Far enough from the start that a NUL is no sign of a binary file.
        let text = good.repeat(200) + line + "\n\n" + &good;
        let log = read(&text).unwrap();
        assert_eq!(log.bad_by_reason().collect::<Vec<_>>(), [(*fault, 1)], "{line:.100}");
        let [first] = log.first_bad() else { panic!("{:?}", log.first_bad()) };
        assert_eq!((&*first.file, first.line, first.fault, &first.other), ("access.log", 201, *fault, &None));
        assert_eq!(log.requests(), 201);
    }
    let log = read(good.repeat(200) + &bad.map(|(line, _)| line).concat()).unwrap();
    assert_eq!(log.bad_lines(), 19);
    assert_eq!(log.first_bad().len(), 5);
    let warnings = log.warnings();
    assert_eq!(warnings.len(), 6);
    assert!(warnings[0].starts_with("19 of 219 lines are bad and left out (1 with no host, 9 with"), "{warnings:?}");
    assert_eq!(warnings[2], "access.log:202 has no host: `one-word`");
}

#[test]
fn calendars() {
    for (date, days) in [("01/Jan/1970", 0), ("29/Feb/2000", 11_016), ("31/Dec/1999", 10_956), ("28/Feb/2100", 47_540)]
    {
        let log = read(line(0, "/", 1).replace("01/Aug/1995", date).replace("-0400", "+0000")).unwrap();
        assert_eq!(log.entries()[0].time_s(), days * 86_400, "{date}");
        let day = log.local_time(days * 86_400);
        assert_eq!(day[8..10], date[..2], "{day}");
        let written = sojourn_traffic::log::date(days * 86_400 + 45_296);
        assert_eq!(written, format!("[{date}:12:34:56 +0000]"));
    }
}

/// Every day of a century and a half, counted one by one.
#[test]
fn the_calendar_is_that_of_one_who_counts_days() {
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let is_leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let (mut days, mut text) = (0, String::new());
    for year in 1970..2110 {
        for (month, name) in months.iter().enumerate() {
            let length = [31, if is_leap(year) { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month];
            for day in 1..=length {
                let date = format!("[{day:02}/{name}/{year}:00:00:00 +0000]");
                assert_eq!(sojourn_traffic::log::date(86_400 * days), date);
                text += &format!("h - - {date} \"GET / HTTP/1.0\" 200 {days}\n");
                days += 1;
            }
        }
    }
    let log = read(text).unwrap();
    assert_eq!((log.requests() as i64, log.bad_lines()), (days, 0));
    assert!(log.entries().iter().all(|entry| entry.time_s() == 86_400 * entry.bytes as i64));
    let log = read(line(0, "/", 1)).unwrap();
    assert_eq!(log.instant("2109-12-31 24:00"), Some(86_400 * days + 4 * 3600), "in the zone of its log");
}

/// The instants of a line in zones of whole and of broken hours; periods, days and clocks are the zone's.
#[test]
fn zones_have_hours_and_minutes() {
    for (zone, ahead_s) in
        [("+0000", 0), ("+0530", 19_800), ("-0330", -12_600), ("+1245", 45_900), ("-0015", -900), ("+0059", 3_540)]
    {
        let at = |clock: &str| line(0, "/", 1).replace("00:00:00 -0400", &format!("{clock} {zone}"));
        let log = read([at("05:58:20"), at("06:00:00"), at("06:59:59"), at("07:00:00")].concat()).unwrap();
        // 1995-08-01 00:00:00 UTC.
        let six_s = 807_235_200 + 6 * 3600 - ahead_s;
        let times: Vec<i64> = log.entries().iter().map(|entry| entry.time_s() - six_s).collect();
        assert_eq!(times, [-100, 0, 3_599, 3_600], "{zone}");
        assert_eq!(log.local_time(six_s), format!("1995-08-01 06:00:00 {zone}"));
        assert_eq!(
            (log.second_of_day(six_s), log.instant("06:00"), log.busiest(3600)),
            (6 * 3600, Some(six_s), Some((six_s, 2)))
        );
    }
    // The last second of a minute may be a leap second.
    for (from, to, is_good) in [
        ("00:00:00", "23:59:60", true),
        ("00:00:00", "00:00:61", false),
        ("00:00:00", "00:60:00", false),
        ("-0400", "-0460", false),
        ("-0400", " 0400", false),
        ("01/Aug", "31/Aug", true),
        ("01/Aug", "00/Aug", false),
        ("01/Aug", "30/Nov", true),
        ("01/Aug", "31/Nov", false),
        ("1995:", "1995 ", false),
    ] {
        let text = line(0, "/", 1) + &line(0, "/", 1).replace(from, to);
        assert_eq!(read(&text).map(|log| log.bad_lines()), Ok(u64::from(!is_good)), "{to}");
    }
}

/// What is known of the parts is the sum of what is known of each, in the zone of the first.
#[test]
fn what_is_known_of_several_logs_is_added_up() {
    let by = |host: &str, second: u32, path: &str| line(second, path, 10).replace("host.example", host);
    let first = [by("a", 0, "/x"), by("b", 9, "/y"), by("b", 5, "/x"), "bad\n".into()].concat();
    let second = [by("c", 3, "/y"), by("a", 2, "/z"), "no time at all\n".into(), "bad\n".into()].concat();
    let second = second.replace("00:00:03 -0400", "01:00:03 -0300");
    let log = Log::joined([read(first).unwrap(), read(second).unwrap()]);
    assert_eq!((log.requests(), log.lines(), log.bad_lines(), log.unsorted()), (5, 8, 3, (2, 4.0)));
    assert_eq!(log.bad_by_reason().collect::<Vec<_>>(), [(Fault::Host, 2), (Fault::Time, 1)]);
    assert!(log.local_time(0).ends_with("-0400") && log.bytes() == 50);
    let of = |entry: &sojourn_traffic::log::Entry| {
        format!("{}{}", log.hosts()[entry.client as usize], log.paths()[entry.object as usize])
    };
    assert_eq!(log.entries().iter().map(of).collect::<Vec<_>>(), ["a/x", "a/z", "c/y", "b/x", "b/y"]);
    assert_eq!((log.hosts().len(), log.paths().len()), (3, 3));
    let warnings = log.warnings();
    assert_eq!(
        warnings[0],
        "3 of 8 lines are bad and left out (2 with no host, 1 with no [dd/Mon/yyyy:hh:mm:ss +zzzz]):"
    );
}

#[test]
fn gzip_is_told_by_content() {
    let text: String = (0..5000).map(|second| line(second, "/a", 7)).collect();
    let plain = read(&text).unwrap();
    let packed = read(gzip(&text)).unwrap();
    assert_eq!(plain.entries(), packed.entries());

    // Two gzip files put together are one.
    let (first, second) = text.split_at(text.len() / 2);
    let joined = [gzip(first), gzip(second)].concat();
    assert_eq!(plain.entries(), read(&joined).unwrap().entries());

    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("access.txt");
    std::fs::write(&path, &joined).unwrap();
    assert_eq!(plain.entries(), Log::read(&path).unwrap().entries());
}

#[test]
fn lines_across_buffers_are_whole() {
    // Lines of many lengths, so that one straddles every possible edge of the reader's buffer.
    let text: String =
        (0..20_000u32).map(|n| line(n / 10, &format!("/{}", "x".repeat(n as usize % 97)), u64::from(n))).collect();
    let log = read(&text).unwrap();
    assert_eq!((log.bad_lines(), log.requests(), log.paths().len()), (0, 20_000, 97));
    assert!(log.entries().iter().enumerate().all(|(n, entry)| entry.bytes == n as u64));
}

#[test]
fn slightly_unsorted_lines_are_sorted_and_counted() {
    let log = read([line(5, "/a", 1), line(9, "/b", 2), line(7, "/c", 3), line(9, "/d", 4), line(5, "/e", 5)].concat());
    let log = log.unwrap();
    let order: Vec<u64> = log.entries().iter().map(|entry| entry.bytes).collect();
    assert_eq!(order, [1, 5, 3, 2, 4]);
    assert_eq!(log.unsorted(), (2, 4.0));
    assert_eq!(log.warnings(), ["2 of 5 requests were logged after a later one (by up to 4 s) and sorted"]);
    let one = read([line(5, "/a", 1), line(4, "/b", 2), "bad\n".into()].concat()).unwrap().warnings();
    assert!(one[0].starts_with("1 of 3 lines is bad and left out (1 with "), "{one:?}");
    assert_eq!(one.last().unwrap(), "1 of 2 requests was logged after a later one (by up to 1 s) and sorted");
}

#[test]
fn a_part_of_a_log_has_its_own_hosts_and_paths() {
    let by = |host: &str, second: u32, path: &str| line(second, path, 100).replace("host.example", host);
    let text = [by("a", 0, "/x"), by("b", 5, "/y"), by("c", 5, "/x"), by("b", 9, "/z"), by("a", 60, "/x")].concat();
    let log = read(text).unwrap();
    let from_s = log.instant("00:00:05").unwrap();
    assert_eq!(log.instant("1995-08-01 00:00:05"), Some(from_s));
    assert_eq!(
        (log.instant("1995-08-02 00:00"), log.instant("24:00")),
        (Some(from_s - 5 + 86_400), Some(from_s - 5 + 86_400))
    );
    for wrong in ["", "12", "12:60", "25:00", "1995-13-01 12:00", "1995-02-29 12:00", "yesterday 12:00", "1:2:3:4"] {
        assert_eq!(log.instant(wrong), None, "{wrong}");
    }
    let part = log.between(from_s, from_s + 5);
    assert_eq!(
        (part.hosts(), part.paths()),
        (&["b".to_owned(), "c".into()][..], &["/y".to_owned(), "/x".into(), "/z".into()][..])
    );
    let numbers: Vec<(u32, u32)> = part.entries().iter().map(|entry| (entry.client, entry.object)).collect();
    assert_eq!(numbers, [(0, 0), (1, 1), (0, 2)]);
    assert_eq!(log.between(from_s + 5, from_s).requests(), 0);
}

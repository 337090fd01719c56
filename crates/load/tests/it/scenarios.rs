//! Users who follow scenarios: values taken from replies, checks, data, places, and over every transport.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use sojourn_load::{Coming, Load, Outcome, Passes, Report, Scenarios, Schedule, Stop, Targets, Url, Version};
use sojourn_stats::Span;

use crate::run::{MS, run, steady};
use crate::server::{Act, Asked, Server, ok, reply};
use crate::web::{Certificate, Speak, Web};

fn scenarios(texts: &[&str]) -> Scenarios {
    let names: Vec<String> = (0..texts.len()).map(|number| format!("scenario-{number}.toml")).collect();
    let named: Vec<_> = texts.iter().copied().zip(names.iter().map(Path::new)).collect();
    Scenarios::parse(&named).unwrap_or_else(|error| panic!("{error}"))
}

/// A load of so many passes of closed users.
fn closed(url: &str, texts: &[&str], users: u32, passes: u64) -> Load {
    let schedule = Schedule::Scenarios { scenarios: Arc::new(scenarios(texts)), coming: Coming::Users(users) };
    of(url, schedule, passes)
}

/// A load of so many passes that come one a millisecond.
fn open(url: &str, texts: &[&str], passes: u64) -> Load {
    let coming = Coming::Plan(Box::new(steady(passes, Span(MS))));
    of(url, Schedule::Scenarios { scenarios: Arc::new(scenarios(texts)), coming }, passes)
}

fn of(url: &str, schedule: Schedule, passes: u64) -> Load {
    let mut load = Load::to(&[Url::parse(url).unwrap()], schedule, Targets::Fixed("/".into()));
    load.stop = Stop::Requests(passes);
    load.keep_records = true;
    load
}

fn url_of(server: &Server) -> String {
    format!("http://{}", server.address)
}

fn passes(report: &Report) -> &Passes {
    report.passes.as_ref().expect("a run of scenarios has passes")
}

/// The fault of a step that happened, and how often; the step number is counted over all scenarios.
fn faults(report: &Report, step: usize) -> Vec<(&str, u64)> {
    passes(report).steps[step].faults.iter().map(|(fault, count)| (fault.as_str(), *count)).collect()
}

fn path_of(asked: &Asked) -> String {
    asked.head.split(' ').nth(1).unwrap().to_owned()
}

/// A shop that hands out a token to each who logs in, and serves only who brings it.
fn shop() -> Server {
    Server::start(|asked| {
        let path = path_of(asked);
        let token = format!("t{}", asked.number);
        let cookie = format!("x-token: {token}\r\nset-cookie: lang=en\r\nset-cookie: sid={token}; Path=/\r\n");
        match path.as_str() {
            "/login" => vec![reply("200 OK", &cookie, &format!("{{\"items\":[{{\"id\":\"{token}\"}}],\"n\":7}}"))],
            path if path.starts_with("/cart/") => {
                let brought = &path[6..];
                let good = ["authorization: Bearer ", "cookie: sid="]
                    .iter()
                    .all(|field| asked.head.contains(&format!("{field}{brought}\r\n")));
                vec![if good { ok(&format!("order={brought};")) } else { reply("403 Forbidden", "", "") }]
            }
            _ => vec![reply("404 Not Found", "", "")],
        }
    })
}

const BUY: &str = r#"
name = "buy"

[[step]]
name = "login"
method = "POST"
path = "/login"
body = '{{"n": {uniform(low = 1, high = 9)}}}'
[[step.take]]
name = "token"
json = "/items/0/id"
[[step.take]]
name = "same"
header = "X-Token"
[[step.take]]
name = "sid"
cookie = "sid"
[step.check]
json = { "/n" = 7.0 }

[[step]]
name = "cart"
path = "/cart/{token}"
headers = { authorization = "Bearer {same}", cookie = "sid={sid}" }
[[step.take]]
name = "order"
regex = "order=(t\\d+);"

[[step]]
name = "order"
path = "/cart/{order}"
headers = { authorization = "Bearer {order}", cookie = "sid={order}" }
[step.check]
status = 200
body_contains = "order="
body_matches = "^order=t[0-9]+;$"
max_size = "1 kB"
"#;

#[test]
fn what_is_taken_is_sent_on_and_belongs_to_its_pass() {
    for (threads, is_open) in [(1, false), (2, false), (1, true), (2, true)] {
        let server = shop();
        let mut load =
            if is_open { open(&url_of(&server), &[BUY], 40) } else { closed(&url_of(&server), &[BUY], 4, 40) };
        load.threads = threads;
        let report = run(load);
        assert_eq!((report.counts.ok, report.counts.planned), (120, 120), "{:?}", report.passes);
        let told = passes(&report);
        assert_eq!((told.whole, told.failed, told.unfinished), (40, 0, 0));
        assert!(told.steps.iter().all(|step| step.ok == 40 && step.failed == 0 && step.faults.is_empty()));
        assert!(report.value("pass_time_mean").is_some());
        // No token of one pass is used in another, and none is written with its braces.
        let heads = server.heads();
        assert!(heads.iter().all(|head| !head.contains('{')), "{heads:?}");
        let carts: BTreeSet<&str> =
            heads.iter().filter_map(|head| head.split(' ').nth(1)?.strip_prefix("/cart/")).collect();
        assert_eq!(carts.len(), 40);
        // Open passes leave: each has a connection of its own.
        assert_eq!(report.connections.opened, if is_open { 40 } else { 4 });
        assert!(server.bodies().iter().all(|body| body.is_empty() || body.starts_with("{\"n\": ")));
        // The steps of a pass have its number, and follow one another.
        let mut records = report.records.unwrap();
        records.sort_by_key(|record| (record.k, record.planned));
        for pass in records.chunk_by(|one, next| one.k == next.k) {
            assert_eq!(pass.iter().map(|record| record.class).collect::<Vec<_>>(), [0, 1, 2]);
            assert!(pass.windows(2).all(|two| two[1].planned >= two[0].done));
        }
    }
}

#[test]
fn what_does_not_come_out_is_counted_by_name_and_ends_the_pass() {
    let after = "\n[[step]]\npath = \"/after/{v}\"\n";
    let take = |from: &str| format!("[[step]]\npath = \"/\"\n[[step.take]]\nname = \"v\"\n{from}\n{after}");
    let check = |check: &str| format!("[[step]]\npath = \"/\"\n[step.check]\n{check}\n[[step]]\npath = \"/after\"\n");
    let body = "{\"id\": 12, \"none\": null, \"on\": true}";
    for (text, outcome, fault) in [
        (take("header = \"x-not\""), Outcome::Take, "take `v` from header `x-not`"),
        (take("cookie = \"sid\""), Outcome::Take, "take `v` from cookie `sid`"),
        (take("json = \"/not/there\""), Outcome::Take, "take `v` from json `/not/there`"),
        (take("json = \"/none\""), Outcome::Take, "take `v` from json `/none`"),
        (take("regex = \"id=(.*)\""), Outcome::Take, "take `v` from regex `id=(.*)`"),
        (check("status = [201, 204]"), Outcome::Check, "status 201 or 204"),
        (check("max_size = \"10 B\""), Outcome::Check, "body of at most 10 B"),
        (check("body_contains = [\"id\", \"Hello\"]"), Outcome::Check, "body contains `Hello`"),
        (check("body_matches = \"^id\""), Outcome::Check, "body matches `^id`"),
        (check("json = { \"/id\" = 13 }"), Outcome::Check, "json `/id` is 13"),
        (check("json = { \"/on\" = false }"), Outcome::Check, "json `/on` is false"),
    ] {
        let server = Server::start(move |_| vec![ok(body)]);
        let report = run(closed(&url_of(&server), &[&text], 1, 3));
        assert_eq!((report.counts.failed(), report.counts.ok), (3, 0), "{text}");
        assert!(report.records.as_ref().unwrap().iter().all(|record| record.outcome == outcome), "{text}");
        assert_eq!(faults(&report, 0), [(fault, 3)], "{text}");
        let told = passes(&report);
        assert_eq!((told.failed, told.steps[0].ok, told.steps[0].failed, told.steps[1].ok), (3, 0, 3, 0), "{text}");
        let named = if outcome == Outcome::Take { ("value not there to take", 3) } else { ("check failed", 3) };
        assert_eq!(report.counts.causes(), [named], "{text}");
        assert!(report.failed_statuses.is_empty() && report.value("failed_response_time_mean").is_some());
        assert!(server.heads().iter().all(|head| head.starts_with("GET / ")), "nothing comes after: {text}");
        assert!(matches!(report.verdict, sojourn_load::Proof::Suspect(_)), "{text}");
    }
    // What is there and holds does not fail, with the same texts.
    for text in [take("json = \"/id\""), check("json = { \"/on\" = true, \"/id\" = 12 }\nmax_size = \"36 B\"")] {
        let server = Server::start(move |_| vec![ok(body)]);
        assert_eq!(run(closed(&url_of(&server), &[&text], 1, 3)).counts.ok, 6, "{text}");
    }
}

#[test]
fn a_status_is_bad_unless_it_is_expected() {
    let expects = |status: &str| format!("[[step]]\npath = \"/\"\n{status}");
    for (text, good, named) in [
        (expects(""), 0, vec![]),
        (expects("check.status = 404"), 3, vec![]),
        (expects("check.status = 200"), 0, vec![("status 200", 3)]),
    ] {
        let server = Server::start(|_| vec![reply("404 Not Found", "", "no")]);
        let report = run(closed(&url_of(&server), &[&text], 1, 3));
        assert_eq!((report.counts.ok, report.counts.client_error), (good, 3 - good), "{text}");
        assert_eq!(faults(&report, 0), named, "{text}");
        assert_eq!(report.failed_statuses, if good == 3 { vec![] } else { vec![(404, 3)] });
    }
}

#[test]
fn a_body_beyond_the_bound_is_not_looked_into_and_says_so() {
    let body = format!("{}id=7", "x".repeat(3000));
    for (hold, failed) in [("3004 B", 0), ("3003 B", 2)] {
        for text in [
            format!("hold = \"{hold}\"\n[[step]]\npath = \"/\"\n[step.check]\nbody_contains = \"id\""),
            format!("hold = \"{hold}\"\n[[step]]\npath = \"/\"\n[[step.take]]\nname = \"v\"\nregex = \"id=(.)\""),
        ] {
            // In chunks too: the bound is of the body, not of a read.
            for chunked in [false, true] {
                let body = body.clone();
                let server = Server::start(move |_| match chunked {
                    false => vec![ok(&body)],
                    true => {
                        let (one, two) = body.split_at(1234);
                        let chunk = |text: &str| format!("{:x}\r\n{text}\r\n", text.len());
                        let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
                        vec![
                            Act::Send(format!("{head}{}", chunk(one)).into_bytes()),
                            Act::Send(format!("{}0\r\n\r\n", chunk(two)).into_bytes()),
                        ]
                    }
                });
                let report = run(closed(&url_of(&server), &[&text], 1, 2));
                assert_eq!((report.counts.ok, report.counts.failed()), (2 - failed, failed), "{text}");
                let beyond = "a body of at most 3003 B (`hold`): longer ones are not looked into";
                assert_eq!(faults(&report, 0), if failed == 0 { vec![] } else { vec![(beyond, 2)] }, "{text}");
                // The bytes are counted all the same.
                assert_eq!(report.bytes, 2 * 3004);
            }
        }
    }
}

#[test]
fn values_cannot_break_a_request() {
    let server = Server::start(|asked| match path_of(asked).as_str() {
        "/take" => vec![ok("{\"v\": \"a b\\r\\nx-evil: 1\\r\\n\\r\\nGET /\u{e9}#?c=1\"}")],
        _ => vec![ok("")],
    });
    let text = r#"
        [[step]]
        path = "/take"
        take = [{ name = "v", json = "/v" }]
        [[step]]
        path = "/{v}"
        method = "POST"
        headers = { x-v = "<{v}>" }
        body = "{v}"
    "#;
    assert_eq!(run(closed(&url_of(&server), &[text], 1, 2)).counts.ok, 4);
    let heads = server.heads();
    assert_eq!(heads.len(), 4);
    let told = heads.iter().find(|head| head.starts_with("POST")).unwrap();
    assert!(told.starts_with("POST /a%20b%0D%0Ax-evil:%201%0D%0A%0D%0AGET%20/%C3%A9%23?c=1 HTTP/1.1\r\n"), "{told}");
    assert!(told.contains("x-v: <a b  x-evil: 1    GET /\u{e9}#?c=1>\r\n"), "{told}");
    assert!(server.bodies().iter().any(|body| body == "a b\r\nx-evil: 1\r\n\r\nGET /\u{e9}#?c=1"));
}

#[test]
fn rows_of_data_are_a_users_or_a_passs() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("users.csv"), "user,note\nann,1\n\"b o\",2\ncat,3\n").unwrap();
    let asked = |by: &str, users: u32, threads: usize| {
        let server = Server::start(|_| vec![ok("")]);
        let path = folder.path().join("with-data.toml");
        let text = format!("[data]\nfile = \"users.csv\"\nby = \"{by}\"\n[[step]]\npath = \"/{{user}}?{{note}}\"\n");
        std::fs::write(&path, text).unwrap();
        let scenarios = Arc::new(Scenarios::read(&[path]).unwrap());
        let mut load = of(&url_of(&server), Schedule::Scenarios { scenarios, coming: Coming::Users(users) }, 12);
        load.threads = threads;
        assert_eq!(run(load).counts.ok, 12);
        let mut paths: Vec<String> =
            server.heads().iter().map(|head| head.split(' ').nth(1).unwrap().to_owned()).collect();
        paths.sort();
        paths
    };
    let each_four = ["/ann?1", "/b%20o?2", "/cat?3"].map(|path| vec![path; 4]).concat();
    assert_eq!(asked("pass", 1, 1), each_four, "row by row, and again from the top");
    assert_eq!(asked("pass", 4, 2), each_four, "whoever comes first");
    assert_eq!(asked("user", 1, 1), vec!["/ann?1"; 12]);
    let of_three: BTreeSet<String> = asked("user", 3, 1).into_iter().collect();
    assert!(of_three.contains("/ann?1") && of_three.len() <= 3, "{of_three:?}");
}

#[test]
fn scenarios_are_followed_by_weight() {
    let server = Server::start(|_| vec![ok("")]);
    let often = "name = \"often\"\nweight = 9\n[[step]]\npath = \"/often\"\n";
    let seldom = "name = \"seldom\"\n[[step]]\npath = \"/seldom\"\n";
    let report = run(open(&url_of(&server), &[often, seldom], 400));
    assert_eq!(report.counts.ok, 400);
    let told: Vec<(&str, u64)> = passes(&report).steps.iter().map(|step| (step.name.as_str(), step.ok)).collect();
    assert_eq!((told[0].0, told[1].0), ("often: 1 GET /often", "seldom: 1 GET /seldom"));
    // Binomial(400, 0.1) from a fixed seed: 5 standard deviations are 30 (two-sided 6e-7).
    assert!((10..=70).contains(&told[1].1) && told[0].1 + told[1].1 == 400, "{told:?}");
    // What an open pass does hangs on its number alone.
    let again = run(open(&url_of(&server), &[often, seldom], 400));
    assert_eq!(passes(&again).steps[1].ok, told[1].1);
}

#[test]
fn a_pass_without_a_place_waits_and_its_waiting_is_measured() {
    // Each pass keeps its connection for 20 ms, they come each millisecond, and there are two connections.
    let server = Server::start(|_| vec![Act::Stall(std::time::Duration::from_millis(20)), ok("")]);
    let mut load = open(&url_of(&server), &["[[step]]\npath = \"/\"\n"], 20);
    load.connections_max = 2;
    let report = run(load);
    assert_eq!(report.counts.ok, 20);
    assert!(report.counts.queued >= 16, "{:?}", report.counts);
    let last = report.records.as_ref().unwrap().iter().map(|record| record.done.0 - record.planned.0).max().unwrap();
    // Ten turns of 20 ms, less the 20 ms in which they came.
    assert!(last >= 170 * MS, "{last} ns");
    let sojourn_load::Proof::Suspect(doubts) = &report.verdict else { panic!("{:?}", report.verdict) };
    assert!(doubts.iter().any(|doubt| doubt.text.contains("had to wait for one of the 2 connections")), "{doubts:?}");
}

#[test]
fn thinking_is_before_a_step_and_no_part_of_response_times() {
    let server = Server::start(|_| vec![ok("")]);
    let text = "think = \"30 ms\"\n[[step]]\npath = \"/a\"\n[[step]]\npath = \"/b\"\nthink = \"10 ms\"\n";
    let report = run(closed(&url_of(&server), &[text], 1, 3));
    let records = report.records.as_ref().unwrap();
    let thinks: Vec<u64> = records.windows(2).map(|two| (two[1].planned.0 - two[0].done.0) / MS).collect();
    assert_eq!(thinks, [10, 30, 10, 30, 10]);
    assert_eq!(records[0].planned.0 / MS, 30);
    // An open pass begins when it comes.
    let report = run(open(&url_of(&server), &[text], 3));
    let begun: Vec<u64> = report.records.unwrap().iter().filter(|r| r.class == 0).map(|r| r.planned.0 / MS).collect();
    assert_eq!(begun, [0, 1, 2]);
}

#[test]
fn the_end_of_the_run_cuts_passes_short() {
    let server = Server::start(|_| vec![ok("")]);
    let text = "[[step]]\npath = \"/a\"\n[[step]]\npath = \"/b\"\nthink = \"1 h\"\n";
    for is_open in [false, true] {
        let mut load =
            if is_open { open(&url_of(&server), &[text], 5) } else { closed(&url_of(&server), &[text], 5, 1) };
        load.stop = Stop::After(Span(100 * MS));
        let report = run(load);
        let told = passes(&report);
        assert_eq!((told.whole, told.failed, told.unfinished), (0, 0, 5), "open: {is_open}");
        assert_eq!((report.counts.ok, report.counts.unfinished), (5, 0));
    }
}

#[test]
fn scenarios_run_over_every_transport() {
    // `/N` is N bytes, all alike.
    let text = r#"
        [[step]]
        path = "/3"
        take = [{ name = "all", regex = "^(x+)$" }, { name = "length", header = "content-length" }]
        [[step]]
        path = "/{length}?{all}"
        check = { status = 200, body_matches = "^x{3}$", max_size = "3 B" }
        [[step]]
        method = "POST"
        path = "/to/4"
        body = "{length}"
        check.body_matches = "^x{4}$"
    "#;
    for (version, speak, secure) in [
        (Version::Http11, Speak::Http1, false),
        (Version::Http11, Speak::Http1, true),
        (Version::Http10, Speak::Http1, false),
        (Version::Http2, Speak::Http2, false),
        (Version::Http2, Speak::Http2, true),
    ] {
        let alpn: &[&[u8]] = if version == Version::Http2 { &[b"h2"] } else { &[b"http/1.1"] };
        let certificate = secure.then(|| Certificate::of("localhost", false, alpn));
        for is_open in [false, true] {
            let web = Web::start(speak, certificate.as_ref());
            let scheme = if secure { "https" } else { "http" };
            let url = format!("{scheme}://localhost:{}", web.address.port());
            let mut load = if is_open { open(&url, &[text], 10) } else { closed(&url, &[text], 2, 10) };
            load.http = version;
            load.redirects = 1;
            load.tls.ca = certificate.as_ref().map(|certificate| certificate.pem.clone());
            let report = run(load);
            let what = format!("{version:?}, secure: {secure}, open: {is_open}");
            assert_eq!((report.counts.ok, report.counts.failed()), (30, 0), "{what}: {:?}", report.passes);
            assert_eq!(passes(&report).whole, 10, "{what}");
            let connections = match (version, is_open) {
                (Version::Http10, _) => 40,
                (_, true) => 10,
                (_, false) => 2,
            };
            assert_eq!(report.connections.opened, connections, "{what}");
            // A redirect that asks with GET leaves the body behind.
            for (path, length) in [("/to/4", 1), ("/4", 0)] {
                let bodies: Vec<usize> =
                    web.requests().iter().filter(|(_, asked, _)| asked == path).map(|(_, _, length)| *length).collect();
                assert_eq!(bodies, [length; 10], "{what}: {path}");
            }
        }
    }
}

#[test]
fn a_file_that_is_no_scenario_says_where_and_what_would_be_right() {
    let step = "[[step]]\npath = \"/\"\n";
    for (text, parts) in [
        (String::new(), &["no step", "[[step]]"][..]),
        (format!("{step}pat = 1\n"), &[":3: unknown key `pat`", "did you mean `path`?"]),
        (format!("{step}[step.check]\nstaus = 1\n"), &[":4: unknown key `staus`", "`status`"]),
        (format!("weight = -1.0\n{step}"), &[":1: weight", "above 0"]),
        (format!("weight = \"two\"\n{step}"), &[":1: invalid type: string \"two\": it is a number, without quotes"]),
        (format!("data = 3\n{step}"), &[":1: invalid type: integer `3`: it is a table"]),
        ("step = 3\n".to_owned(), &[":1: invalid type: integer `3`: it is a list"]),
        (format!("think = \"2 sec\"\n{step}"), &[":1: think", "sec"]),
        (format!("{step}[[step]]\npath = \"/{{token}}\"\n"), &[":4: path", "`token` is not known here", "takes it"]),
        (
            format!("{step}take = [{{ name = \"v\", header = \"h\" }}]\nbody = \"{{v}}\"\n"),
            &[":4: body", "`v` is not known"],
        ),
        (format!("{step}body = '{{\"a\": 1}}'\n"), &[":3: body", "write `{{` for a brace"]),
        (format!("{step}body = '''\n{{\n  \"a\": 1\n}}'''\n"), &[":3: body", "write `{{` for a brace"]),
        (format!("{step}headers = {{ x = \"{{size}}\" }}\n"), &[":3: headers", "`size` is not known"]),
        (format!("{step}headers = {{ Content-Length = \"1\" }}\n"), &[":3: headers", "is said for you"]),
        (format!("{step}headers = {{ \"a b\" = \"1\" }}\n"), &[":3: headers", "not a header name"]),
        (format!("{step}method = \"FETCH\"\n"), &[":3: method", "GET, HEAD, POST, PUT, DELETE"]),
        (format!("{step}method = \"GETT\"\n"), &[":3: method", "(did you mean `GET`?)"]),
        (format!("{step}[[step.take]]\nname = \"v\"\njson = \"items\"\n"), &[":5: json", "/items/0/id"]),
        (format!("{step}[[step.take]]\nname = \"v\"\njson = \"/a~b\"\n"), &[":5: json", "~1"]),
        (format!("{step}[[step.take]]\nname = \"v\"\nregex = \"a(\"\n"), &[":5: regex", "unclosed group"]),
        (format!("{step}[[step.take]]\nname = \"v\"\nregex = \"a\"\n"), &[":5: regex", "no group"]),
        (format!("{step}[[step.take]]\nname = \"v\"\n"), &[":4: take", "`header`, `cookie`, `json` or `regex`"]),
        (format!("{step}[[step.take]]\nname = \"k\"\nheader = \"h\"\n"), &[":4: name", "`k` cannot be a variable"]),
        (format!("{step}check.status = 99\n"), &[":3: status", "[200, 204]"]),
        (format!("{step}check.body_matches = \"[\"\n"), &[":3: body_matches", "regular expression"]),
        (format!("{step}check.body_contains = 1\n"), &[":3: body_contains", "a text"]),
        (format!("{step}check.json = {{ a = 1 }}\n"), &[":3: json", "/items/0/id"]),
        (format!("{step}check.max_size = \"many\"\n"), &[":3: max_size", "many"]),
        ("[[step]]\npath = \"x\"\n".into(), &[":2: path", "starts with `/`"]),
        ("[[step]]\nname = \"a\"\n".into(), &[":1: missing field `path`"]),
        (format!("{step}body_file = \"not-there\"\n"), &[":3: body_file", "not-there"]),
        (format!("[data]\nfile = \"not-there.csv\"\n{step}"), &[":2: file", "not-there.csv"]),
        (format!("name = 7\n{step}"), &[":1: invalid type: integer `7`: it is a text in quotes"]),
    ] {
        let error = Scenarios::parse(&[(&text, Path::new("x.toml"))]).expect_err(&text).to_string();
        assert!(error.starts_with("x.toml") && !error.contains('\n'), "{text}: {error}");
        for part in parts {
            assert!(error.contains(part), "{text}: no `{part}` in {error}");
        }
    }
    let twice = Scenarios::parse(&[(step, Path::new("a/x.toml")), (step, Path::new("b/x.toml"))]);
    assert!(twice.expect_err("of one name").to_string().contains("two scenarios `x`"));
    let folder = tempfile::tempdir().unwrap();
    for (table, why) in [
        ("a,b\n1\n", "fields"),
        ("a\n", "no row"),
        ("a,a\n1,2\n", "two columns"),
        ("a b\n1\n", "`a b` cannot be a variable"),
    ] {
        let path = folder.path().join("table.csv");
        std::fs::write(&path, table).unwrap();
        let text = format!("[data]\nfile = \"{}\"\n{step}", path.display());
        let error = Scenarios::parse(&[(&text, Path::new("x.toml"))]).expect_err(table).to_string();
        assert!(error.starts_with("x.toml:2: file: ") && error.contains(why) && !error.contains('\n'), "{error}");
    }
}

//! Requests that clients gave up: told by what each product writes, and no response times.

use sojourn_traffic::describe::{Description, Served, Value, describe};
use sojourn_traffic::fit;
use sojourn_traffic::log::{Log, LogFormat};

fn read_as(format: Option<&str>, text: &str) -> Log {
    let format = format.map(|format| LogFormat::parse(format).unwrap_or_else(|error| panic!("{error}")));
    Log::read_from(text.as_bytes(), "access.log", format.as_ref()).unwrap_or_else(|error| panic!("{error}"))
}

/// HAProxy's manual, sections 8.2.3 and 8.5; Envoy, "Access logging"; Apache, `mod_log_config`; Squid's wiki, "Squid Log Files".
#[test]
fn each_product_says_that_a_client_gave_up() {
    let nginx = |status| {
        format!("10.0.0.1 - - [10/Oct/2024:13:00:10 +0000] \"GET /a HTTP/1.1\" {status} 0 \"-\" \"agent\" 2.500\n")
    };
    let haproxy = |state: &str, times: &str, status: i32| {
        format!(
            "10.0.1.2:33317 [06/Feb/2009:12:14:14.655] in app/s1 {times} {status} 2750 - - {state} 1/1/1/1/0 0/0 \
             \"GET / HTTP/1.1\"\n"
        )
    };
    let envoy = |flags: &str| {
        format!(
            "[2016-04-15T20:17:00.310Z] \"GET / HTTP/2\" 0 {flags} 154 0 2500 100 \"10.0.35.28\" \"nsq2http\" \"cc21d9b0\" \
             \"locations\" \"tcp://10.0.2.1:80\"\n"
        )
    };
    let json = |flags: &str| {
        format!(
            "{{\"start_time\":\"2020-11-25T21:26:18.409Z\",\"method\":\"GET\",\"path\":\"/\",\"response_code\":0,\
             \"response_flags\":\"{flags}\",\"duration\":2500}}\n"
        )
    };
    let squid =
        |code: &str| format!("1728565210.125 2500 10.0.0.1 {code}/200 10 GET http://a/ - HIER_DIRECT/10.0.0.2 -\n");
    let apache = Some("%h %t \"%r\" %>s %b %D %X");
    let ended = |how: &str| format!("10.0.0.1 [10/Oct/2024:13:00:10 +0000] \"GET /a HTTP/1.1\" 200 5 2500000 {how}\n");
    let whole = "0/0/0/100/2500";
    for (format, line, expected) in [
        (None, nginx(499), true),
        (None, nginx(200), false),
        (None, nginx(500), false),
        (Some("vhost_combined"), nginx(499), true),
        (None, haproxy("CD--", whole, 200), true),
        (None, haproxy("cD--", whole, 200), true),
        (None, haproxy("CH--", "0/0/0/-1/2500", -1), true),
        (None, haproxy("CDVN", whole, 200), true),
        (None, haproxy("----", whole, 200), false),
        (None, haproxy("SD--", whole, 200), false),
        (None, haproxy("sH--", "0/0/0/-1/2500", 504), false),
        (None, envoy("DC"), true),
        (None, envoy("UF,DC"), true),
        (None, envoy("DR"), true),
        (None, envoy("UC"), false),
        (None, envoy("-"), false),
        (None, json("DC"), true),
        (None, json("-"), false),
        (None, squid("TCP_MISS_ABORTED"), true),
        (None, squid("TCP_MISS"), false),
        (apache, ended("X"), true),
        (apache, ended("+"), false),
        (apache, ended("-"), false),
    ] {
        let log = read_as(format, &line);
        let entry = log.entries()[0];
        let times = (entry.is_abandoned(), entry.waited_s(), entry.response_s(), entry.there_s(false));
        let (waited, response) = if expected { (Some(2.5), None) } else { (None, Some(2.5)) };
        assert_eq!(times, (expected, waited, response, Some(2.5)), "{line}");
        assert!(!expected || entry.at_server_s().is_none(), "{line}");
    }
    // Its status is 460 where a load balancer of Amazon's writes it, and nothing else's.
    assert!(!read_as(None, &nginx(460)).entries()[0].is_abandoned());
    // Where the head had come, its time is the server's.
    let head = |line: String| read_as(None, &line).entries()[0].to_header_s();
    assert_eq!((head(haproxy("CD--", whole, 200)), head(haproxy("CH--", "0/0/0/-1/2500", -1))), (Some(0.1), None));
    let with_head = Some("$remote_addr [$time_local] \"$request\" $status $body_bytes_sent $upstream_header_time");
    let of_nginx = |status| {
        let line = format!("10.0.0.1 [10/Oct/2024:13:00:10 +0000] \"GET /a HTTP/1.1\" {status} 0 2.500\n");
        read_as(with_head, &line).entries()[0].to_header_s()
    };
    assert_eq!((of_nginx(200), of_nginx(499)), (Some(2.5), None), "nginx gives up before the head");
}

fn value<'a>(description: &'a Description, name: &str) -> Option<&'a Value> {
    description.facts.iter().find(|fact| fact.name == name).map(|fact| &fact.value)
}

/// Two requests of 100 ms in each of a hundred seconds, one at each of two servers, and every tenth second one that its client
/// gave up after 30 s.
fn mixed() -> String {
    let line = |second: u32, ms: u32, server: &str, state: &str, times: &str, status: i32| {
        format!(
            "10.0.1.2:3 [06/Feb/2009:12:{:02}:{:02}.{ms:03}] in w/{server} {times} {status} 2750 - - {state} 1/1/1/1/0 0/0 \
             \"GET / HTTP/1.1\"\n",
            second / 60,
            second % 60
        )
    };
    (0..100)
        .map(|second| {
            let given_up = match second % 10 {
                0 => line(second, 500, "b", "CH--", "0/0/0/-1/30000", -1),
                _ => String::new(),
            };
            line(second, 0, "a", "----", "0/0/0/90/100", 200)
                + &line(second, 1, "b", "----", "0/0/0/90/100", 200)
                + &given_up
        })
        .collect()
}

#[test]
fn how_long_a_client_waited_is_told_apart() {
    let description = describe(&read_as(None, &mixed()));
    let number = |name: &str| match value(&description, name) {
        Some(Value::Number(number)) => *number,
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!(value(&description, "abandoned"), Some(&Value::Count(10)));
    assert_eq!(value(&description, "response_times"), Some(&Value::Count(200)));
    assert!((number("response_time_mean") - 0.1).abs() < 1e-12 && (number("response_time_max") - 0.1).abs() < 1e-12);
    assert!((number("abandoned_ratio") - 10.0 / 210.0).abs() < 1e-12);
    assert_eq!((number("abandoned_after_mean"), number("error_ratio")), (30.0, 0.0));
    let told = description
        .remarks
        .iter()
        .find(|remark| remark.starts_with("10 of 210 requests were given up by their clients"));
    assert!(told.is_some(), "{:?}", description.remarks);
    let served = description.served.as_ref().unwrap();
    assert_eq!(served.servers.iter().map(|one| (one.errors, one.abandoned)).collect::<Vec<_>>(), [(0, 10), (0, 0)]);
    let column = |served: &Served| served.by_server().header.iter().any(|head| head == "given up");
    assert!(column(served) && served.over_time().header.iter().any(|head| head == "given up"));
    assert!(
        served.words.iter().any(|words| words.starts_with("10 requests at a server were given up")),
        "{:?}",
        served.words
    );
    // Of a log without any there is no word of it.
    let without: String =
        mixed().lines().filter(|line| !line.contains("CH--")).map(|line| format!("{line}\n")).collect();
    let plain = describe(&read_as(None, &without));
    assert_eq!((value(&plain, "abandoned"), column(plain.served.as_ref().unwrap())), (None, false));
    assert!(!plain.remarks.iter().any(|remark| remark.contains("given up")));
}

/// A server is busy with what its client gave up for as long as that one waited: there is no telling for how long else.
#[test]
fn the_load_holds_what_was_given_up() {
    let text: String = (0..1200)
        .map(|second| {
            let (status, took) = if second % 2 == 0 { (499, "0.600") } else { (200, "0.200") };
            format!(
                "10.0.0.1 [10/Oct/2024:13:{:02}:{:02} +0000] \"GET /a HTTP/1.1\" {status} 5 {took} 10.0.0.9:80 {took}\n",
                second / 60,
                second % 60
            )
        })
        .collect();
    let format = "$remote_addr [$begin] \"$request\" $status $bytes $response_s $server $server_time_s";
    let served = describe(&read_as(Some(format), &text)).served.unwrap();
    let [one] = &served.servers[..] else { panic!("{served:?}") };
    assert!((one.load.unwrap() - 0.4).abs() < 1e-3, "{:?}", one.load);
    assert!((one.at_server.unwrap().mean_s - 0.2).abs() < 1e-12);
}

#[test]
fn a_workload_leaves_out_what_was_given_up() {
    let workload = fit::of_log(&read_as(None, &mixed()), "haproxy.log").unwrap();
    let text = workload.replace("\n# ", " ");
    assert!(text.contains("10 requests given up before the reply was over are left out."), "{workload}");
    assert!(!text.contains("with a status of 400 or more"), "{workload}");
}

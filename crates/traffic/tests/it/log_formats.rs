//! The formats of logs: each product's documented example, and what is not of a format.

use std::io::Write;

use sojourn_traffic::describe::{Value, describe};
use sojourn_traffic::log::{Entry, Fault, Log, LogError, LogFormat, Method, Stamped};

use crate::support::{gzip, line};

fn read(text: &str) -> Log {
    Log::read_from(text.as_bytes(), "access.log", None).unwrap_or_else(|error| panic!("{error}"))
}

fn read_as(format: &str, text: &str) -> Log {
    let format = LogFormat::parse(format).unwrap_or_else(|error| panic!("{error}"));
    Log::read_from(text.as_bytes(), "access.log", Some(&format)).unwrap_or_else(|error| panic!("{error}"))
}

/// What is known of a request, in words.
fn told(log: &Log, entry: &Entry) -> String {
    let ms = |time_s: Option<f64>| time_s.map_or("-".into(), |time_s| format!("{}", (time_s * 1e6).round() / 1e3));
    format!(
        "{}.{:06} {} {:?} {} {} {} {} ms at {} {} ms queue {} ms",
        log.local_time(entry.time_s()),
        entry.time_us.rem_euclid(1_000_000),
        log.hosts()[entry.client as usize],
        entry.method,
        log.paths()[entry.object as usize],
        entry.status,
        entry.bytes,
        ms(entry.response_s()),
        entry.server().map_or("-", |server| &log.servers()[server as usize]),
        ms(entry.at_server_s()),
        ms(entry.queue_s()),
    )
}

fn all(log: &Log) -> Vec<String> {
    log.entries().iter().map(|entry| told(log, entry)).collect()
}

/// HAProxy, configuration manual 8.2.3; its other lines are of the field notes on keep-alive, `option logasap` and errors.
#[test]
fn haproxy() {
    let documented = "10.0.1.2:33317 [06/Feb/2009:12:14:14.655] http-in static/srv1 10/0/30/69/109 200 2750 - - ---- \
                      1/1/1/1/0 0/0 {1wt.eu} {} \"GET /index.html HTTP/1.1\"";
    let record = "2009-02-06 12:14:14.655000 10.0.1.2 Get /index.html 200 2750 109 ms at static/srv1 99 ms queue 0 ms";
    for before in [
        "",
        "Feb  6 12:14:14 localhost haproxy[14389]: ",
        "2009-02-06T12:14:14+00:00 localhost haproxy[14389]: ",
        "<134>1 2009-02-06T12:14:14Z localhost haproxy 14389 - - ",
    ] {
        let log = read(&format!("{before}{documented}\n"));
        assert_eq!((log.formats(), all(&log)), (&["haproxy".to_owned()][..], vec![record.to_owned()]), "{before}");
        assert_eq!((log.resolution_s(), log.response_step_s()), (1e-3, 1e-3));
        assert!(log.warnings()[0].contains("names no zone"), "{:?}", log.warnings());
    }
    let with = |from: &str, to: &str| documented.replacen(from, to, 1);
    for (line, expected) in [
        (
            with("static/srv1 10/0/30/69/109 200", "static/<NOSRV> 10/-1/-1/-1/20 503"),
            "503 2750 20 ms at - - ms queue - ms",
        ),
        (with("10/0/30/69/109", "10/25/30/69/+140"), "200 2750 - ms at static/srv1 - ms queue 25 ms"),
        (with("10/0/30/69/109 200", "10/25/30/-1/3065 504"), "504 2750 3065 ms at static/srv1 - ms queue 25 ms"),
        (with(" 2750 ", " +2750 "), "200 2750 109 ms at static/srv1 99 ms queue 0 ms"),
        (with(" {1wt.eu} {}", ""), "200 2750 109 ms at static/srv1 99 ms queue 0 ms"),
        (with("HTTP/1.1\"", "HTTP/1.1\" 0/0000000000000000/0/0/0 1wt.eu/TLSv1.3/TLS_AES"), "queue 0 ms"),
        // A line that was cut at the longest that is logged.
        (with(" HTTP/1.1\"", ""), "/index.html 200"),
        (with("10.0.1.2:33317", "2001:db8::7:33317"), "2001:db8::7 Get"),
    ] {
        let log = read(&line);
        assert!(told(&log, &log.entries()[0]).contains(expected), "{line}: {}", told(&log, &log.entries()[0]));
    }
    for (line, fault) in [
        (with("10/0/30/69/109", "10/0/30/109"), Fault::Number),
        (with("10/0/30/69/109", "10/0/30/69/109/5"), Fault::Number),
        (with("10/0/30/69/109", "10/0/30/69/x"), Fault::Number),
        (with("static/srv1", "srv1"), Fault::Shape),
        (with(" 0/0 ", " "), Fault::Shape),
        (with("GET /index.html HTTP/1.1", "<BADREQ>"), Fault::Request),
        (with("HTTP/1.1\"", "HTTP/1.1\" more"), Fault::Extra),
        (with("10.0.1.2", "web-1 10.0.1.2"), Fault::Before),
        (with("06/Feb", "30/Feb"), Fault::Instant),
        ("Feb  6 12:14:14 localhost haproxy[14389]: Server static/srv1 is DOWN.".into(), Fault::Instant),
        ("10.0.1.2:33313 [06/Feb/2009:12:12:51.443] fnt bck/srv1 0/0/5007 212 -- 0/0/0/0/3 0/0".into(), Fault::Shape),
    ] {
        let log = read(&format!("{documented}\n{line}\n"));
        assert_eq!(log.bad_by_reason().collect::<Vec<_>>(), [(fault, 1)], "{line}");
    }
}

/// Envoy, "Access logging", the default format's example; Istio's adds fields in its midst and behind.
#[test]
fn envoy() {
    let documented = "[2016-04-15T20:17:00.310Z] \"POST /api/v1/locations HTTP/2\" 204 - 154 0 226 100 \"10.0.35.28\" \
                      \"nsq2http\" \"cc21d9b0-cf5c-432b-8c7e-98aeb7988cd2\" \"locations\" \"tcp://10.0.2.1:80\"";
    let log = read(documented);
    assert_eq!(log.formats(), ["envoy"]);
    assert_eq!(
        all(&log),
        [
            "2016-04-15 20:17:00 +0000.310000 10.0.35.28 Post /api/v1/locations 204 0 226 ms at tcp://10.0.2.1:80 100 ms \
          queue - ms"
        ]
    );
    let refused = documented
        .replace(" 204 - 154 0 226 100 \"10.0.35.28\"", " 0 DC 154 0 12 - \"-\"")
        .replace("tcp://10.0.2.1:80", "-");
    assert_eq!(
        all(&read(&refused)),
        ["2016-04-15 20:17:00 +0000.310000 - Post /api/v1/locations 0 0 - ms at - - ms queue - ms"],
        "its client gave up after 12 ms"
    );
    let istio = "[2020-11-25T21:26:18.409Z] \"GET /status/418 HTTP/1.1\" 418 - via_upstream - \"-\" 0 135 4 3 \"-\" \
                 \"curl/7.73.0-DEV\" \"84961386-6d84-929d-98bd-c5aee93b5c88\" \"httpbin:8000\" \"127.0.0.1:80\" \
                 inbound|8000|| 127.0.0.1:41854 10.44.1.27:80 10.44.1.23:37652 \
                 outbound_.8000_._.httpbin.foo.svc.cluster.local default";
    let log = read(istio);
    assert_eq!(log.formats(), ["istio"]);
    assert_eq!(
        all(&log),
        ["2020-11-25 21:26:18 +0000.409000 10.44.1.23 Get /status/418 418 135 4 ms at 127.0.0.1:80 3 ms queue - ms"]
    );
    // The same fields as JSON objects, as Istio names them.
    let json = concat!(
        r#"{"authority":"httpbin:8000","bytes_received":0,"bytes_sent":135,"downstream_remote_address":"10"#,
        r#".44.1.23:37652","duration":4,"method":"GET","path":"/status/418","response_code":418,"response_"#,
        r#"flags":"-","start_time":"2020-11-25T21:26:18.409Z","upstream_host":"127.0.0.1:80","upstream_ser"#,
        r#"vice_time":"3","x_forwarded_for":null}"#
    );
    let of_json = read(json);
    assert_eq!((of_json.formats(), all(&of_json)), (&["Envoy, JSON".to_owned()][..], all(&log)));
}

/// Elastic Load Balancing, "Access logs for your Application Load Balancer", example entries.
#[test]
fn alb() {
    let documented = concat!(
        "http 2018-07-02T22:23:00.186641Z app/my-loadbalancer/50dc6c495c0c9188 ",
        "192.168.131.39:2817 10.0.0.1:80 0.000 0.001 0.000 200 200 34 366 ",
        "\"GET http://www.example.com:80/ HTTP/1.1\" \"curl/7.46.0\" - - ",
        "arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/my-targets/73e2d6bc24d8a067 ",
        "\"Root=1-58337262-36d228ad5d99923122bbe354\" \"-\" \"-\" ",
        "0 2018-07-02T22:22:48.364000Z \"forward\" \"-\" \"-\" \"10.0.0.1:80\" \"200\" \"-\" \"-\"\n",
        "https 2018-07-02T22:23:00.186641Z app/my-loadbalancer/50dc6c495c0c9188 ",
        "192.168.131.39:2817 - -1 -1 -1 460 - 57 0 ",
        "\"GET https://www.example.com:443/x?y=1 HTTP/1.1\" \"curl/7.46.0\" ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2 ",
        "- \"Root=1-58337281-1d84f3d73c47ec4e58577259\" \"www.example.com\" \"-\" ",
        "1 2018-07-02T22:22:49.364000Z \"-\" \"-\" \"-\" \"-\" \"-\" \"-\" \"-\" TID_1234abcd\n",
    );
    let log = Log::read_from(&*gzip(documented), "alb.log.gz", None).unwrap();
    assert_eq!(log.formats(), ["alb"]);
    assert_eq!(
        all(&log),
        [
            "2018-07-02 22:22:48 +0000.364000 192.168.131.39 Get / 200 366 1 ms at 10.0.0.1:80 - ms queue - ms",
            "2018-07-02 22:22:49 +0000.364000 192.168.131.39 Get /x?y=1 460 0 - ms at - - ms queue - ms",
        ]
    );
}

/// Traefik: its Common Log Format ("Access Logs", "Common Log Format"), and the fields of its JSON.
#[test]
fn traefik_and_caddy() {
    let common = "192.0.2.1 - - [25/Nov/2024:10:00:00 +0100] \"GET /whoami HTTP/1.1\" 200 428 \"-\" \"curl/7.88\" 17 \
                  \"whoami@docker\" \"http://172.17.0.3:80\" 12ms";
    let log = read(common);
    assert_eq!(log.formats(), ["traefik"]);
    assert_eq!(
        all(&log),
        [
            "2024-11-25 10:00:00 +0100.000000 192.0.2.1 Get /whoami 200 428 12 ms at http://172.17.0.3:80 - ms queue - ms"
        ]
    );
    let json = concat!(
        r#"{"ClientAddr":"192.0.2.1:40622","ClientHost":"192.0.2.1","DownstreamContentSize":428,"Downstrea"#,
        r#"mStatus":200,"Duration":12345678,"OriginDuration":11000000,"RequestMethod":"GET","RequestPath":"#,
        r#""/whoami","RouterName":"whoami@docker","ServiceAddr":"172.17.0.3:80","ServiceURL":{"Scheme":"ht"#,
        r#"tp","Host":"172.17.0.3:80"},"StartUTC":"2024-11-25T09:00:00.123456789Z","level":"info","msg":"""#,
        r#","time":"2024-11-25T09:00:00Z"}"#
    );
    let log = read(json);
    assert_eq!(log.formats(), ["Traefik, JSON"]);
    assert_eq!(
        all(&log),
        ["2024-11-25 09:00:00 +0000.123456 192.0.2.1 Get /whoami 200 428 12.345 ms at 172.17.0.3:80 11 ms queue - ms"]
    );
    // Caddy, "How Logging Works", the access log's example, without its headers.
    let caddy = concat!(
        r#"{"level":"info","ts":1646861401.5241024,"logger":"http.log.access","msg":"handled request","req"#,
        r#"uest":{"remote_ip":"127.0.0.1","remote_port":"41342","client_ip":"127.0.0.1","proto":"HTTP/2.0""#,
        r#","method":"GET","host":"localhost","uri":"/","headers":{"User-Agent":["curl/7.82.0"],"Accept":["#,
        r#""*/*"]},"tls":{"resumed":false,"version":772}},"bytes_read": 0,"user_id":"","duration":0.000929"#,
        r#"675,"size":10900,"status":200,"resp_headers":{"Server":["Caddy"]}}"#
    );
    let log = read(caddy);
    assert_eq!(log.formats(), ["Caddy, JSON"]);
    assert_eq!(
        all(&log),
        ["2022-03-09 21:30:01 +0000.523173 127.0.0.1 Get / 200 10900 0.929 ms at - - ms queue - ms"],
        "its line is written at the end"
    );
}

/// W3C: IIS ("W3C Logging") has milliseconds, CloudFront ("Standard log file fields") seconds, with tabs.
#[test]
fn w3c() {
    let iis = "#Software: Microsoft Internet Information Services 10.0\r\n#Version: 1.0\r\n#Date: 2024-11-25 10:00:00\r\n\
               #Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) cs(Referer) \
               sc-status sc-substatus sc-win32-status time-taken\r\n\
               2024-11-25 10:00:05 10.0.0.9 GET /a b=1 80 - 192.0.2.1 curl/7.88 - 200 0 0 1500\r\n\
               2024-11-25 10:00:06 10.0.0.9 POST /a - 80 - 192.0.2.2 curl/7.88 - 500 0 0 20\r\n";
    let log = read(iis);
    assert_eq!(log.formats(), ["w3c"]);
    assert_eq!(
        all(&log),
        [
            "2024-11-25 10:00:04 +0000.000000 192.0.2.1 Get /a?b=1 200 0 1500 ms at 10.0.0.9 - ms queue - ms",
            "2024-11-25 10:00:06 +0000.000000 192.0.2.2 Post /a 500 0 20 ms at 10.0.0.9 - ms queue - ms",
        ]
    );
    assert!(log.arrivals_in_words().contains("less the response time"), "{}", log.arrivals_in_words());
    // Fields may change in the middle, where a line names them anew.
    let changed = iis.to_owned()
        + "#Fields: time date c-ip cs-method cs-uri-stem sc-status\n10:00:07 2024-11-25 ::1 GET /b 404\n";
    let log = read(&changed);
    assert_eq!((log.requests(), log.bad_lines(), log.paths().last().unwrap().as_str()), (3, 0, "/b"));
    // One field too many, or too few.
    let wrong = iis.to_owned()
        + "2024-11-25 10:00:06 10.0.0.9 GET /a - 80 - 192.0.2.2 curl/7.88 - 500 0 0 20 7\n2024-11-25 10:00:06\n";
    assert_eq!(read(&wrong).bad_by_reason().collect::<Vec<_>>(), [(Fault::Shape, 1), (Fault::Extra, 1)]);
    let cloudfront = "#Version: 1.0\n#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status \
                      time-taken\n\
                      2019-12-04\t21:02:31\tLAX1\t392\t192.0.2.100\tGET\td1.cloudfront.net\t/index.html\t200\t0.125\n";
    let log = read(cloudfront);
    assert_eq!(
        all(&log),
        ["2019-12-04 21:02:31 +0000.000000 192.0.2.100 Get /index.html 200 392 125 ms at - - ms queue - ms"]
    );
    // Whole numbers of an unknown program: seconds by the draft, milliseconds as most write them.
    let unknown = cloudfront.replace("0.125", "125");
    let log = read(&unknown);
    assert_eq!(log.entries()[0].response_s(), None);
    assert!(log.warnings().iter().any(|warning| warning.contains("`time-taken`")), "{:?}", log.warnings());
}

/// Squid, "Squid Log Files", native format, whose times are written in columns.
#[test]
fn squid() {
    let text = "1066036250.603    310 192.168.0.68 TCP_MISS/200 2048 GET http://www.example.org/a - \
                HIER_DIRECT/10.0.0.1 text/html\n\
                1066036251.000      2 192.168.0.68 TCP_MEM_HIT/200 2048 GET http://www.example.org/a - HIER_NONE/- text/html\n\
                1066036252.000   1000 192.168.0.69 TCP_MISS_ABORTED/000 0 GET http://www.example.org/b - \
                HIER_DIRECT/10.0.0.1 -\n";
    let log = read(text);
    assert_eq!((log.formats(), log.bad_lines()), (&["squid".to_owned()][..], 0));
    assert_eq!(
        all(&log)[..2],
        [
            "2003-10-13 09:10:50 +0000.293000 192.168.0.68 Get http://www.example.org/a 200 2048 310 ms at 10.0.0.1 - ms \
             queue - ms",
            "2003-10-13 09:10:50 +0000.998000 192.168.0.68 Get http://www.example.org/a 200 2048 2 ms at - - ms queue - ms",
        ]
    );
    assert_eq!(log.entries()[2].status, 0);
}

/// nginx stamps a line at its end: what came is that less `$request_time`. Of servers that were tried in turn the last counts.
#[test]
fn nginx_format_strings() {
    let format = concat!(
        r#"'$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "#,
        r#""$http_user_agent" $request_time $upstream_addr $upstream_response_time $upstream_status $msec'"#
    );
    let lines = [
        "10.0.0.1 - John Smith [10/Oct/2024:13:00:10 +0000] \"GET /a HTTP/1.1\" 200 5 \"-\" \"a \\x22b\\x22\" 0.250 \
         192.168.1.1:80 0.200 200 1728565210.125",
        "10.0.0.2 - - [10/Oct/2024:13:00:11 +0000] \"GET /b HTTP/1.1\" 200 5 \"-\" \"-\" 1.000 \
         192.168.1.1:80, 192.168.1.2:80 0.005, 0.990 502, 200 1728565211.500",
        "10.0.0.2 - - [10/Oct/2024:13:00:12 +0000] \"GET /c HTTP/1.1\" 200 5 \"-\" \"-\" 0.010 \
         192.168.1.1:80 : unix:/tmp/app.sock 0.001 : 0.008 404 : 200 1728565212.000",
        "10.0.0.3 - - [10/Oct/2024:13:00:13 +0000] \"GET /d HTTP/1.1\" 304 0 \"-\" \"-\" 0.000 - - - 1728565213.000",
    ];
    let log = read_as(format, &lines.join("\n"));
    assert_eq!(
        all(&log),
        [
            "2024-10-10 13:00:09 +0000.875000 10.0.0.1 Get /a 200 5 250 ms at 192.168.1.1:80 200 ms queue - ms",
            "2024-10-10 13:00:10 +0000.500000 10.0.0.2 Get /b 200 5 1000 ms at 192.168.1.2:80 990 ms queue - ms",
            "2024-10-10 13:00:11 +0000.990000 10.0.0.2 Get /c 200 5 10 ms at unix:/tmp/app.sock 8 ms queue - ms",
            "2024-10-10 13:00:13 +0000.000000 10.0.0.3 Get /d 304 0 0 ms at - - ms queue - ms",
        ]
    );
    assert_eq!(log.resolution_s(), 1e-3, "the finer of two stamps");
    assert!(
        log.warnings().iter().any(|warning| warning.starts_with("2 requests were tried at several")),
        "{:?}",
        log.warnings()
    );
    for (from, to, fault) in [
        ("0.250", "0.25x", Fault::Number),
        ("1728565210.125", "1728565210.125 1", Fault::Extra),
        ("10/Oct/2024:13", "10/Oct/2024:25", Fault::Instant),
        ("\"GET /a", "GET /a", Fault::Shape),
        (" 200 5 ", " OK 5 ", Fault::Reply),
    ] {
        let text = lines[1].to_owned() + "\n" + &lines[0].replace(from, to);
        assert_eq!(read_as(format, &text).bad_by_reason().collect::<Vec<_>>(), [(fault, 1)], "{to}");
    }
    // ingress-nginx, "Log format", is known by its name and told from its lines.
    let ingress = "10.1.2.3 - - [10/Oct/2024:13:00:11 +0000] \"GET /b HTTP/1.1\" 200 5 \"-\" \"curl/7\" 120 1.000 \
                   [default-web-80] [] 192.168.1.1:80, 192.168.1.2:80 0, 5 0.005, 0.990 502, 200 8f9c1b";
    let log = read(ingress);
    assert_eq!(log.formats(), ["ingress-nginx"]);
    assert_eq!(
        all(&log),
        ["2024-10-10 13:00:10 +0000.000000 10.1.2.3 Get /b 200 5 1000 ms at 192.168.1.2:80 990 ms queue - ms"]
    );
    // The same by `escape=json`: as its format string, and by the names of its fields.
    let json = concat!(
        r#"{"time":"$time_iso8601","remote_addr":"$remote_addr","request":"$request","status":$status,"bod"#,
        r#"y_bytes_sent":$body_bytes_sent,"request_time":$request_time,"upstream_addr":"$upstream_addr","u"#,
        r#"pstream_response_time":"$upstream_response_time"}"#
    );
    let line = concat!(
        r#"{"time":"2024-10-10T13:00:11+00:00","remote_addr":"10.1.2.3","request":"GET /b?q=\"x\" HTTP/1.1"#,
        r#"","status":200,"body_bytes_sent":5,"request_time":1.000,"upstream_addr":"192.168.1.1:80, 192.16"#,
        r#"8.1.2:80","upstream_response_time":"0.005, 0.990"}"#
    );
    for log in [read_as(json, line), read(line)] {
        assert!(all(&log)[0].ends_with("200 5 1000 ms at 192.168.1.2:80 990 ms queue - ms"), "{:?}", all(&log));
        assert!(all(&log)[0].starts_with("2024-10-10 13:00:10 +0000.000000 10.1.2.3 Get /b"), "{:?}", all(&log));
    }
    // Combined with `$request_time` behind it, alone or by its name.
    for (end, name) in [("1.250", "combined with nginx's $request_time"), ("urt=1.249 rt=1.250", "combined")] {
        let log = read(&format!("{} {end}", lines[0].split(" 0.250").next().unwrap()));
        assert_eq!(
            (log.entries()[0].response_s(), log.entries()[0].time_us % 60_000_000),
            (Some(1.25), 9_000_000),
            "{end}"
        );
        assert_eq!(log.formats(), [name]);
    }
}

/// Fields behind those of a format are counted and shown, and none of them is taken for another: the format string that the
/// warning proposes has the places of all of them, and with their names in it each is read.
#[test]
fn fields_beyond_the_format() {
    let plain = "10.0.0.1 - - [10/Oct/2024:13:00:10 +0000] \"GET /a HTTP/1.1\" 200 5";
    let (combined, agent) = (format!("{plain} \"-\" \"a \\\"b\\\" c\""), "\"$http_referer\" \"$http_user_agent\"");
    for (line, proposed, response_s) in [
        // The time of a connection, that of a server, and nginx's `$msec` look like a response time.
        (format!("{combined} 0.250 61.000"), format!("{agent} $skip $skip"), None),
        (format!("{combined} 120 0.005 0.250"), format!("{agent} $skip $skip $skip"), None),
        (format!("{combined} 0.250 10.0.0.9:80 1728565210.125"), format!("{agent} $skip $skip $skip"), None),
        // Microseconds, milliseconds or bytes.
        (format!("{combined} 1532"), format!("{agent} $skip"), None),
        (format!("{combined} \"203.0.113.9, 10.0.0.2\""), format!("{agent} \"$skip\""), None),
        (format!("{combined} \"10.0.0.9:80\" 0.250"), format!("{agent} \"$skip\" $skip"), None),
        (format!("{combined} 0.250 \"x y\""), format!("{agent} $skip \"$skip\""), None),
        (format!("{plain} 0.250 \"-\" \"a\""), "$skip \"$skip\" \"$skip\"".into(), None),
        (format!("{plain} 0.250 0.251"), "$skip $skip".into(), None),
        (format!("{combined} urt=0.250"), format!("{agent} urt=$skip"), None),
        (format!("{combined} rt=0.250 urt=\"0.2\""), format!("{agent} rt=$request_time urt=\"$skip\""), Some(0.25)),
        (
            format!("{combined} request_time=\"0.250\" x"),
            format!("{agent} request_time=\"$request_time\" $skip"),
            Some(0.25),
        ),
        (format!("{combined} rt=0.250 rt=0.251"), format!("{agent} rt=$request_time rt=$request_time"), None),
        (format!("www.example.org:443 {combined} 7"), format!("{agent} $skip"), None),
    ] {
        let log = read(&format!("{line}\n{line}\n"));
        assert_eq!((log.requests(), log.bad_lines(), log.with_more_fields()), (2, 0, 2), "{line}");
        assert_eq!(log.entries()[0].response_s(), response_s, "{line}");
        assert_eq!(log.entries()[0].time_us % 60_000_000, 10_000_000, "{line}");
        let warnings = log.warnings();
        let [warning] = &warnings[..] else { panic!("{line}: {warnings:?}") };
        let string = warning.split("as '").nth(1).and_then(|rest| rest.split("', with names").next()).expect(warning);
        assert!(string.ends_with(&proposed) && warning.starts_with("access.log: 2 of 2 requests"), "{line}: {warning}");
        assert!(warning.contains("`format`") && warning.contains("--format"), "{warning}");
        let again = read_as(string, &line);
        assert_eq!((again.requests(), again.bad_lines(), again.with_more_fields()), (1, 0, 0), "{line}: {string}");
        let Value::Count(count) =
            describe(&log).facts.iter().find(|fact| fact.name == "lines_with_more_fields").unwrap().value
        else {
            panic!("a count")
        };
        assert_eq!(count, 2);
    }
    // What is read is not said to be not read: not among others, and not alone.
    let told = read(&format!("{combined} rt=0.250 urt=\"0.2 0.3\" uct=-\n")).warnings();
    assert!(told[0].contains("that are not read, as `urt=\"0.2 0.3\" uct=-`: say"), "{told:?}");
    for named in ["rt=0.250", "rt=\"0.250\"", "request_time=0.250"] {
        let log = read(&format!("{combined} {named}\n"));
        assert_eq!((log.entries()[0].response_s(), log.with_more_fields()), (Some(0.25), 0), "{named}");
        assert_eq!(
            (log.warnings(), log.formats()[0].as_str()),
            (vec![], "combined with nginx's $request_time"),
            "{named}"
        );
    }
    // Where some lines have more, they are as many.
    let mixed = read(&format!("{combined} 0.250\n{combined}\n{combined} 0.250 -\n{combined} 0.251\n"));
    assert_eq!(
        (mixed.with_more_fields(), mixed.formats()),
        (1, &["combined with nginx's $request_time".to_owned()][..])
    );
    let joined = Log::joined([mixed.clone(), mixed]);
    assert_eq!((joined.with_more_fields(), joined.warnings().len()), (2, 1));
}

/// A name says what a number is only where its unit is known: nginx's variables have seconds with digits behind the point, those
/// of others of the same name may have milliseconds; Caddy may be told to write nanoseconds.
#[test]
fn durations_of_json_without_a_sure_unit() {
    let nginx = |time: &str| {
        format!(
            "{{\"msec\":\"1728565210.125\",\"remote_addr\":\"10.0.0.1\",\"request\":\"GET /a\",\"request_time\":{time}}}"
        )
    };
    let caddy = |time: &str| {
        format!(
            "{{\"ts\":1646861401.5,\"request\":{{\"method\":\"GET\",\"uri\":\"/a\"}},\"status\":200,\"duration\":{time}}}"
        )
    };
    let other = |time: &str| nginx(time).replace("remote_addr", "client").replace("msec", "time");
    for (line, response_s, doubtful) in [
        (nginx("0.250"), Some(0.25), None),
        (nginx("\"0.250\""), Some(0.25), None),
        (nginx("\"-\""), None, None),
        (nginx("250"), None, Some("request_time")),
        (other("250"), None, Some("request_time")),
        (other("12.5"), None, Some("request_time")),
        (caddy("0.25"), Some(0.25), None),
        (caddy("\"250ms\""), Some(0.25), None),
        (caddy("250000000"), None, Some("duration")),
    ] {
        let log = read(&line);
        assert_eq!(log.entries()[0].response_s(), response_s, "{line}");
        let told = log.warnings().into_iter().find(|warning| warning.contains("is not known, so it is not read"));
        let name = doubtful.map(|name| told.as_ref().expect(&line).contains(&format!("the unit of `{name}`")));
        assert_eq!((name, told.is_some()), (doubtful.map(|_| true), doubtful.is_some()), "{line}: {told:?}");
    }
}

/// Many programs write whole numbers of JSON as `5.0`: this is no finer clock.
#[test]
fn a_whole_number_of_json_with_a_point() {
    let line = |ts: &str, ms: &str| {
        format!("{{\"ts\":{ts},\"method\":\"GET\",\"path\":\"/a\",\"status\":200,\"bytes\":5.0,\"latency_ms\":{ms}}}\n")
    };
    let whole = read(&(line("1728565210.0", "12.0") + &line("1728565211.0", "13.0")));
    assert_eq!((whole.resolution_s(), whole.response_step_s(), whole.entries()[0].bytes), (1.0, 1e-3, 5));
    let finer = read(&(line("1728565210.0", "12.0") + &line("1728565211.5", "13.5")));
    assert_eq!((finer.resolution_s(), finer.response_step_s()), (0.1, 1e-4));
    // A text has its digits as they are.
    let text = read(&line("\"2024-10-10T13:00:10.0Z\"", "12.0"));
    assert_eq!(text.resolution_s(), 0.1);
}

/// Apache's `%t` is the beginning, and its durations have the unit that the directive says.
#[test]
fn apache_format_strings() {
    let line = |end: &str| {
        format!(
            "www.example.org 10.0.0.1 - - [10/Oct/2024:13:00:10 +0000] \"GET /a HTTP/1.1\" 200 5120 \"-\" \"a \\\"b\" {end}"
        )
    };
    for (format, end, response_ms) in [
        ("%D", "1500", 1.5),
        ("%T", "2", 2000.0),
        ("%{ms}T", "15", 15.0),
        ("%{us}T", "1500", 1.5),
        ("%{s}T", "3", 3000.0),
    ] {
        let format =
            format!("\"%v %h %l %u %t \\\"%r\\\" %>s %O \\\"%{{Referer}}i\\\" \\\"%{{User-Agent}}i\\\" {format}\"");
        let log = read_as(&format, &line(end));
        assert_eq!(
            all(&log),
            [format!(
                "2024-10-10 13:00:10 +0000.000000 10.0.0.1 Get /a 200 5120 {response_ms} ms at - - ms queue - ms"
            )]
        );
        assert_eq!(log.arrivals_in_words(), "as the log has it");
    }
    let log = read_as(
        "%h %{usec}t \"%m %U %H\" %s %B %{BALANCER_WORKER_NAME}e %D",
        "10.0.0.1 1728565210125000 \"GET /a HTTP/1.1\" 200 0 http://10.0.0.2:80 77",
    );
    assert_eq!(
        all(&log),
        ["2024-10-10 13:00:10 +0000.125000 10.0.0.1 Get /a 200 0 0.077 ms at http://10.0.0.2:80 - ms queue - ms"]
    );
}

#[test]
fn formats_that_say_too_little_or_too_much() {
    for (format, says) in [
        ("combine", "did you mean `combined`?"),
        ("$remote_addr $request", "no field that says when"),
        ("$time_local $remote_addr", "no field with the request"),
        ("$time_local$request", "two fields with nothing between them"),
        ("%h %t %m", "no field with the request"),
        ("%h %{%H:%M}t \"%r\"", "`%{%H:%M}t` is a form of time that is not read"),
        ("$remote_adr [$msec] \"$request\" $status", "`$remote_adr`: did you mean `$remote_addr`?"),
        (
            "$remote_addr [$msec] \"$request\" $status $upstream_repsonse_time",
            "did you mean `$upstream_response_time`?",
        ),
        ("$remote_addr [$msec] \"$request\" $satus", "`$satus`: did you mean `$status`?"),
        (
            "[%START_TIME%] \"%REQ(:METHOD)% %REQ(:PATH)%\" %RESPONSE_COD%",
            "`%RESPONSE_COD%`: did you mean `%RESPONSE_CODE%`?",
        ),
        ("%h %t \"%m %U%q\"", "write `%r` in place"),
        ("%h %t \"%r\" %{min}T", "its unit is s, ms or us"),
        ("%ci:%cp [%tr] %ft %b/%s", "use --format haproxy"),
        ("%START_TIME(%H:%M)% %REQ(:METHOD)% %REQ(:PATH)%", "`%START_TIME(%H:%M)%` is a form of time"),
        ("json", "leave --format out"),
        ("json time=ts request=r response=took", "say its unit, as `response=took:ms`"),
        ("json time=ts request=r response=took:min", "a unit is s, ms, us or ns"),
        ("json time=ts colour=red", "a field is time, client"),
        ("json request=r", "a time is needed"),
    ] {
        let error = LogFormat::parse(format).expect_err(format).to_string();
        assert!(error.contains(says) && !error.contains('\n'), "{format}: {error}");
    }
    assert_eq!(LogFormat::parse("haproxy").unwrap().stamped(), Stamped::Begin);
}

/// Fields by the names that a user gives, in s, ms, us and ns; a duration without a unit is not read, and this is said.
#[test]
fn json_with_named_fields() {
    let line = |extra: &str| {
        let line = concat!(
            r#"{"ts":1728565210125,"ip":"10.0.0.1","http":{"verb":"GET","url":"/a"},"code":200,"took":12.5,"#,
            r#""q":1500"#,
        );
        format!("{line}{extra}}}")
    };
    let log = read_as(
        "json time=ts@end client=ip method=http.verb path=http.url status=code response=took:ms queue=q:us",
        &line(""),
    );
    assert_eq!(all(&log), ["2024-10-10 13:00:10 +0000.112500 10.0.0.1 Get /a 200 0 12.5 ms at - - ms queue 1.5 ms"]);
    let text = concat!(
        r#"{"timestamp":"2024-10-10T13:00:10.5Z","method":"GET","path":"/a","status":200,"latency_us":250,"#,
        r#""duration":3}"#
    );
    let log = read(text);
    assert_eq!(log.entries()[0].response_s(), Some(0.00025));
    assert!(log.arrivals_in_words().contains("may be the beginning or the end"), "{}", log.arrivals_in_words());
    assert!(log.warnings().iter().any(|w| w.contains("the unit of `duration` is not known")), "{:?}", log.warnings());
    for bad in ["[1,2]", "{\"ts\":", "{\"a\":1} x", "{}", "null"] {
        let text = format!("{text}\n{bad}\n");
        assert_eq!(read(&text).bad_lines(), 1, "{bad}");
    }
}

/// A line of another format is counted, shown with its file and line, and named; never read.
#[test]
fn formats_that_change_in_the_middle() {
    let haproxy = "10.0.1.2:33317 [06/Feb/2009:12:14:14.655] http-in static/srv1 10/0/30/69/109 200 2750 - - ---- \
                   1/1/1/1/0 0/0 \"GET /index.html HTTP/1.1\"\n";
    let text = line(0, "/a", 1).repeat(300) + haproxy + haproxy;
    let log = read(&text);
    assert_eq!((log.requests(), log.bad_lines(), log.formats()), (300, 2, &["common".to_owned()][..]));
    let first = &log.first_bad()[0];
    assert_eq!((first.line, first.other.as_deref()), (301, Some("haproxy")));
    let warnings = log.warnings();
    assert!(
        warnings[1].starts_with("access.log:301 has ")
            && warnings[1].contains("and is in the format haproxy: `10.0.1.2"),
        "{warnings:?}"
    );
    // Asked for one format, nothing is read as another.
    let format = LogFormat::parse("haproxy").unwrap();
    let log = Log::read_from(text.as_bytes(), "access.log", Some(&format)).unwrap();
    assert_eq!((log.requests(), log.bad_lines()), (2, 300));
    let error = Log::read_from(line(0, "/a", 1).as_bytes(), "access.log", Some(&format)).unwrap_err().to_string();
    assert!(error.starts_with("access.log: none of 1 line is in haproxy; line 1 has"), "{error}");
}

#[test]
fn zstd_is_told_by_content() {
    let text: String = (0..5000).map(|second| line(second, "/a", 7)).collect();
    let plain = read(&text);
    let pack = |text: &str| {
        let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
        encoder.include_checksum(true).unwrap();
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    let (first, second) = text.split_at(text.len() / 2);
    for packed in [pack(&text), [pack(first), pack(second)].concat()] {
        assert_eq!(Log::read_from(&*packed, "a.zst", None).unwrap().entries(), plain.entries());
    }
    let mut packed = pack(&text);
    let cut = Log::read_from(&packed[..packed.len() - 1], "a.zst", None).unwrap_err();
    assert!(matches!(cut, LogError::Truncated { by: "zstd", .. }), "{cut}");
    let checksum = packed.len() - 2;
    packed[checksum] ^= 1;
    let damaged = Log::read_from(&*packed, "a.zst", None).unwrap_err().to_string();
    assert!(damaged.starts_with("a.zst: the zstd file is damaged after"), "{damaged}");
}

/// A clock that steps back is seen where a line says begin and duration: lines are written in the order of their ends.
#[test]
fn a_clock_that_steps_back() {
    let at = |second: u32, ms: u32| {
        format!(
            "10.0.1.2:3 [06/Feb/2009:12:{:02}:{:02}.000] in b/s 0/0/0/{ms}/{ms} 200 27 - - ---- 1/1/1/1/0 0/\
                0 \"GET / HTTP/1.1\"\n",
            second / 60,
            second % 60
        )
    };
    // A slow request is no clock.
    let slow = (0..60).map(|second| at(second, 10)).collect::<String>() + &at(5, 55_000);
    assert!(!read(&slow).warnings().iter().any(|warning| warning.contains("a clock was set back")));
    let back = (0..60).chain(30..90).map(|second| at(second, 10)).collect::<String>();
    let warnings = read(&back).warnings();
    assert!(warnings.iter().any(|warning| warning.contains("a clock was set back")), "{warnings:?}");
    assert_eq!(read(&back).entries().iter().filter(|entry| entry.method == Method::Get).count(), 120);
}

/// Of a log of ends, what came before the first of them is not all there: one request of ten hours makes no rate of eleven.
#[test]
fn a_log_of_ends_covers_what_came_after_the_first() {
    let at = |second: u32, taken: &str| format!("{} \"-\" \"-\" {taken}\n", line(36_000 + second, "/a", 1).trim_end());
    let text = (0..3600).map(|second| at(second, "0.010")).collect::<String>() + &at(3600, "36000.000");
    let log = read(&text);
    assert_eq!(log.entries()[0].response_s(), Some(36_000.0));
    let description = describe(&log);
    let rate = description.facts.iter().find(|fact| fact.name == "arrival_rate").unwrap();
    assert!(matches!(rate.value, Value::Number(rate) if (rate - 1.0).abs() < 1e-3), "{rate:?}");
    assert!(log.warnings().iter().any(|warning| warning.contains("before the first end")), "{:?}", log.warnings());
    // A few lines are taken as they are.
    let (from_us, to_us) = read(&at(0, "20.000")).covered();
    assert_eq!(to_us - from_us, 1_000_000);
    // The same of rotated files, whatever came before in the second.
    let (first, second) = text.split_at(text.len() / 2);
    let (from_us, to_us) = Log::joined([read(first), read(&second[second.find('\n').unwrap() + 1..])]).covered();
    assert_eq!((to_us - from_us) / 60_000_000, 59);
    // What takes more than a year is no duration.
    assert_eq!(read(&(at(0, "0.010") + &at(1, "99999999999.000"))).entries()[1].response_s(), None);
    let format = "$remote_addr - - [$time_local] \"$request\" $status $bytes \"-\" \"-\" $request_time";
    assert_eq!(read_as(format, &(at(0, "0.010") + &at(1, "99999999999.000"))).bad_lines(), 1);
    // As it stands in nginx.conf, over several lines.
    let written = "'$remote_addr - - [$time_local] '\n    '\"$request\" $status $bytes \"-\" \"-\" $request_time'";
    assert_eq!(read_as(written, &at(0, "0.010")).entries()[0].response_s(), Some(0.01));
}

/// Long lines, marks and formats of several files; a log is as exact as the least exact of its files.
#[test]
fn several_formats_are_one_log() {
    let long = line(1, &format!("/{}", "x".repeat(70_000)), 5);
    let log = read(&format!("\u{feff}{long}"));
    assert_eq!((log.bad_lines(), log.paths()[0].len()), (0, 70_001), "a line of more than 64 kB");
    let haproxy = "10.0.1.2:33317 [01/Aug/1995:04:00:00.655] http-in static/srv1 10/0/30/69/109 200 2750 - - ---- \
                   1/1/1/1/0 0/0 \"GET /index.html HTTP/1.1\"\n";
    // A million requests are to stay below 100 MB.
    assert_eq!(size_of::<Entry>(), 64);
    let both = Log::joined([read(&line(0, "/a", 1)), read(haproxy)]);
    assert_eq!(both.formats(), ["common", "haproxy"]);
    assert_eq!(both.resolution_s(), 1.0);
    assert_eq!(all(&both).len(), 2);
    assert_eq!(both.servers(), ["static/srv1"]);
    let part = both.between(both.entries()[1].time_s(), i64::MAX / 2_000_000);
    assert_eq!((part.requests(), part.servers()), (2, &["static/srv1".to_owned()][..]));
}

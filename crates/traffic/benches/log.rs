//! How fast are logs read? Lines per second on one core, of each format, plain, gzip and zstd. The bars are a time for a million
//! lines, and a ratio: so many times as long as it takes to find the lines of the same text and to count the blanks in them, byte
//! by byte.
//!
//! `cargo bench --profile dev -p sojourn-traffic`

use std::fmt::Write as _;
use std::io::Write;
use std::time::Instant;

use sojourn_stats::Stream;
use sojourn_traffic::log::Log;

const LINES: usize = 1_000_000;
/// Reading takes at most so many times as long as counting blanks, and unpacking so many times as long besides.
const RATIO: f64 = 8.0;
const RATIO_PACKED: f64 = 16.0;

/// So long at most (s), plain and packed.
const MOST_S: f64 = 1.5;
const MOST_PACKED_S: f64 = 3.0;

const ROUNDS: usize = 3;

/// One format: what a line of it is, of a second, a client, a path, a size and a duration (ms).
type Lines = fn(&mut String, usize, usize, usize, usize, usize);

const FORMATS: [(&str, Lines); 9] = [
    ("common", |text, second, client, path, size, _| {
        let (h, m, s) = (second / 3600, second / 60 % 60, second % 60);
        let _ = writeln!(
            text,
            "host{client}.example.net - - [01/Aug/1995:{h:02}:{m:02}:{s:02} -0400] \"GET /images/page{path}.\
                html HTTP/1.0\" 200 {size}"
        );
    }),
    ("nginx, timed", |text, second, client, path, size, ms| {
        let (h, m, s) = (second / 3600, second / 60 % 60, second % 60);
        let _ = writeln!(
            text,
            "10.0.{}.{} - - [01/Aug/1995:{h:02}:{m:02}:{s:02} -0400] \"GET /images/page{path}.html HTTP/1.1\
                \" 200 {size} \"-\" \"{AGENT}\" 0.{ms:03}",
            client / 256,
            client % 256
        );
    }),
    ("haproxy", |text, second, client, path, size, ms| {
        let (h, m, s) = (second / 3600, second / 60 % 60, second % 60);
        let _ = writeln!(
            text,
            "Feb  6 {h:02}:{m:02}:{s:02} lb haproxy[14389]: 10.0.1.2:{} [06/Feb/2009:{h:02}:{m:02}:{s:02}.65\
                5] http-in static/srv{} 0/0/1/{ms}/{ms} 200 {size} - - ---- 1/1/1/1/0 0/0 \"GET /images/page\
                {path}.html HTTP/1.1\"",
            client + 1024,
            client % 4
        );
    }),
    ("envoy", |text, second, client, path, size, ms| {
        let (h, m, s) = (second / 3600, second / 60 % 60, second % 60);
        let _ = writeln!(
            text,
            "[2016-04-15T{h:02}:{m:02}:{s:02}.310Z] \"GET /images/page{path}.html HTTP/2\" 200 - 154 {size} \
                {ms} {ms} \"10.0.35.28\" \"{AGENT}\" \"cc21d9b0-cf5c-432b-8c7e-98aeb7988cd2\" \"locations\" \"1\
                0.0.2.{}:80\"",
            client % 4
        );
    }),
    ("alb", |text, second, client, path, size, ms| {
        let (h, m, s) = (second / 3600, second / 60 % 60, second % 60);
        let _ = writeln!(
            text,
            "http 2018-07-02T{h:02}:{m:02}:{s:02}.186641Z app/my-loadbalancer/50dc6c495c0c9188 192.168.131.3\
                9:{} 10.0.0.{}:80 0.000 0.{ms:03} 0.000 200 200 34 {size} \"GET http://www.example.com:80/image\
                s/page{path}.html HTTP/1.1\" \"{AGENT}\" - - arn:aws:elasticloadbalancing:us-east-2:12345678901\
                2:targetgroup/my-targets/73e2d6bc24d8a067 \"Root=1-58337262-36d228ad5d99923122bbe354\" \"-\" \"\
                -\" 0 2018-07-02T{h:02}:{m:02}:{s:02}.364000Z \"forward\" \"-\" \"-\" \"10.0.0.1:80\" \"200\" \
                \"-\" \"-\"",
            client + 1024,
            client % 4
        );
    }),
    ("caddy", |text, second, client, path, size, ms| {
        let _ = writeln!(
            text,
            "{{\"level\":\"info\",\"ts\":{}.5241024,\"logger\":\"http.log.access\",\"msg\":\"handled request\
                \",\"request\":{{\"remote_ip\":\"10.0.1.{}\",\"remote_port\":\"41342\",\"proto\":\"HTTP/2.0\",\
                \"method\":\"GET\",\"host\":\"localhost\",\"uri\":\"/images/page{path}.html\",\"headers\":{{\"U\
                ser-Agent\":[\"{AGENT}\"],\"Accept\":[\"*/*\"],\"Accept-Encoding\":[\"gzip, deflate, br\"]}},\"\
                tls\":{{\"resumed\":false,\"version\":772,\"cipher_suite\":4865,\"proto\":\"h2\",\"server_name\
                \":\"example.com\"}}}},\"bytes_read\": 0,\"user_id\":\"\",\"duration\":0.{ms:03}929675,\"size\"\
                :{size},\"status\":200,\"resp_headers\":{{\"Server\":[\"Caddy\"],\"Content-Encoding\":[\"gzip\"\
                ],\"Content-Type\":[\"text/html; charset=utf-8\"],\"Vary\":[\"Accept-Encoding\"]}}}}",
            1_646_861_401 + second,
            client % 256
        );
    }),
    ("nginx, json", |text, second, client, path, size, ms| {
        let (h, m, s) = (second / 3600, second / 60 % 60, second % 60);
        let _ = writeln!(
            text,
            "{{\"time_iso8601\":\"2024-10-10T{h:02}:{m:02}:{s:02}+00:00\",\"remote_addr\":\"10.0.1.{}\",\"re\
                quest\":\"GET /images/page{path}.html HTTP/1.1\",\"status\":200,\"body_bytes_sent\":{size},\"re\
                quest_time\":0.{ms:03},\"upstream_addr\":\"10.0.0.{}:80\",\"upstream_response_time\":\"0.\
                {ms:03}\",\"http_user_agent\":\"{AGENT}\"}}",
            client % 256,
            client % 4
        );
    }),
    ("iis", |text, second, client, path, size, ms| {
        if text.is_empty() {
            text.push_str(
                "#Software: Microsoft Internet Information Services 10.0\n#Fields: date time s-ip cs-method cs-uri-stem \
                 cs-uri-query s-port cs-username c-ip cs(User-Agent) sc-status sc-bytes time-taken\n",
            );
        }
        let (h, m, s) = (second / 3600, second / 60 % 60, second % 60);
        let _ = writeln!(
            text,
            "2024-11-25 {h:02}:{m:02}:{s:02} 10.0.0.9 GET /images/page{path}.html - 80 - 10.0.1.{} Mozilla/5\
                .0+(X11;+Linux+x86_64) 200 {size} {ms}",
            client % 256
        );
    }),
    ("squid", |text, second, client, path, size, ms| {
        let _ = writeln!(
            text,
            "{}.603 {ms:6} 10.0.1.{} TCP_MISS/200 {size} GET http://www.example.org/images/page{path}.html \
                - HIER_DIRECT/10.0.0.{} text/html",
            1_066_036_250 + second,
            client % 256,
            client % 4
        );
    }),
];

const AGENT: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";

#[allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench reads the clock and answers on the terminal"
)]
fn main() {
    let taken_s = |work: &dyn Fn()| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    };
    let mut missed = Vec::new();
    for (name, write) in FORMATS {
        let mut stream = Stream::new(1, "bench", "log");
        let mut text = String::new();
        for line in 0..LINES {
            // 100 lines a second: 10,000 seconds, in order.
            let (client, path) = (stream.below(5000), stream.below(2000));
            write(&mut text, line / 100, client, path, stream.below(100_000), stream.below(1000));
        }
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(text.as_bytes()).expect("a Vec takes all");
        let gzip = gzip.finish().expect("a Vec takes all");
        let zstd = zstd::encode_all(text.as_bytes(), 1).expect("a Vec takes all");
        let count = || {
            let lines = text.as_bytes().split(|byte| *byte == b'\n');
            let blanks: usize = lines.map(|line| line.iter().filter(|byte| **byte == b' ').count()).sum();
            assert!(blanks > LINES, "there are blanks in every line");
        };
        for (packed, bytes, bar, most_s) in [
            ("", text.as_bytes(), RATIO, MOST_S),
            (", gzip", &gzip, RATIO_PACKED, MOST_PACKED_S),
            (", zstd", &zstd, RATIO_PACKED, MOST_PACKED_S),
        ] {
            let read = || {
                let log = Log::read_from(bytes, name, None).expect("the log is good");
                assert_eq!((log.requests(), log.bad_lines()), (LINES, 0));
            };
            // By turns, so that a busy machine slows down both.
            let (mut counted_s, mut read_s) = (f64::INFINITY, f64::INFINITY);
            for _ in 0..ROUNDS {
                counted_s = counted_s.min(taken_s(&count));
                read_s = read_s.min(taken_s(&read));
            }
            let (ratio, rate) = (read_s / counted_s, LINES as f64 / read_s / 1e6);
            println!(
                "log, {name}{packed}: {rate:.2} million lines/s, {read_s:.2} s for {LINES} lines (bar {most_s}), {:.0} B each; \
                 {ratio:.1} times as long as counting blanks (bar {bar})",
                text.len() as f64 / LINES as f64
            );
            if read_s > most_s {
                missed.push(format!("{name}{packed}: {read_s:.2} s is above {most_s} s"));
            }
            if ratio > bar {
                missed.push(format!("{name}{packed}: {ratio:.1} is above {bar}"));
            }
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

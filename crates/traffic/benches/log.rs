//! How fast are logs read? Lines per second on one core, plain and gzip; the bar is a million.
//!
//! `cargo bench --profile dev -p sojourn-traffic`

use std::io::Write;
use std::time::Instant;

use sojourn_stats::Stream;
use sojourn_traffic::log::Log;

const LINES: usize = 1_000_000;
const FLOOR: f64 = 1e6;

#[allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench reads the clock and answers on the terminal"
)]
fn main() {
    let mut stream = Stream::new(1, "bench", "log");
    let mut text = Vec::new();
    for line in 0..LINES {
        // 100 lines a second: 10,000 seconds, in order.
        let second = line / 100;
        writeln!(
            text,
            "host{}.example.net - - [01/Aug/1995:{:02}:{:02}:{:02} -0400] \"GET /images/page{}.html HTTP/1.0\" 200 {}",
            stream.below(5000),
            second / 3600,
            second / 60 % 60,
            second % 60,
            stream.below(2000),
            stream.below(100_000)
        )
        .expect("a Vec takes all");
    }
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&text).expect("a Vec takes all");
    let gzip = gzip.finish().expect("a Vec takes all");
    for (name, bytes) in [("plain", &text), ("gzip", &gzip)] {
        let rate = (0..3)
            .map(|_| {
                let start = Instant::now();
                let log = Log::read_from(bytes.as_slice(), name).expect("the log is good");
                assert_eq!(log.requests(), LINES);
                LINES as f64 / start.elapsed().as_secs_f64()
            })
            .fold(0.0, f64::max);
        println!("log, {name}: {:.2} million lines/s (floor {:.0})", rate / 1e6, FLOOR / 1e6);
        assert!(rate >= FLOOR, "{name} is below the floor");
    }
}

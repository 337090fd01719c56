//! Server models from logs alone: logs of stations whose truth is known.

use std::fmt::Write;

use sojourn_calibrate::{LogCalibration, calibrate_log};
use sojourn_model::{Discipline, Server};
use sojourn_sim::single::{Arrival, Queue, play};
use sojourn_stats::{Dimension, Law, Span, Stream, Time};
use sojourn_traffic::log::{Log, LogFormat};

/// Requests at servers of one kind, each with its own arrivals.
struct Truth {
    discipline: Discipline,
    cores: u32,
    /// The demand of a path (s): a law by path, of which each is as frequent as the others.
    paths: &'static [(&'static str, &'static str)],
    per_byte_s: f64,
    speeds: &'static [f64],
    /// Requests per second at each server, and how many.
    rate: f64,
    requests: usize,
    /// From this share of them on, each demand is so many times as much.
    later: (f64, f64),
    seed: u64,
}

const PLAIN: Truth = Truth {
    discipline: Discipline::Fcfs,
    cores: 1,
    paths: &[("/a", "exponential(mean = 20 ms)")],
    per_byte_s: 0.0,
    speeds: &[1.0],
    rate: 35.0,
    requests: 6_000,
    later: (1.0, 1.0),
    seed: 1,
};

impl Truth {
    /// Lines with the instant of the beginning and the time at the server, to the microsecond.
    fn lines(&self) -> String {
        let laws: Vec<(&str, Law)> =
            self.paths.iter().map(|(path, law)| (*path, Law::parse(law, Dimension::Time).unwrap())).collect();
        let sizes = Law::parse("lognormal(mean = 10 kB, cv = 1)", Dimension::Size).unwrap();
        let queue = Queue { discipline: self.discipline.clone(), cores: self.cores, capacity: None };
        let mut lines = Vec::new();
        for (number, speed) in self.speeds.iter().enumerate() {
            let mut stream = Stream::new(self.seed, &format!("server {number}"), "log");
            let gap = Law::exponential(1.0 / self.rate);
            let mut at_s = 0.0;
            let mut asked = Vec::new();
            let arrivals: Vec<Arrival> = (0..self.requests)
                .map(|request| {
                    at_s += gap.sample(&mut stream);
                    let (path, law) = &laws[stream.below(laws.len())];
                    let bytes = sizes.sample(&mut stream).round();
                    asked.push((*path, bytes));
                    let is_later = request as f64 >= self.later.0 * self.requests as f64;
                    let factor = if is_later { self.later.1 } else { 1.0 };
                    let demand_s = (law.sample(&mut stream) + self.per_byte_s * bytes) * factor / speed;
                    Arrival {
                        at: Time((at_s * 1e6).round() as u64 * 1000),
                        demand: Span::from_secs_f64(demand_s),
                        class: 0,
                    }
                })
                .collect();
            play(&queue, arrivals, |job| {
                let (path, bytes) = asked[job.number as usize];
                let at_us = job.arrival.at.0 / 1000;
                let taken_us = (job.left - job.arrival.at).0 / 1000;
                lines.push((
                    at_us,
                    format!(
                        "{}.{:06} 10.0.0.1 \"GET {path} HTTP/1.1\" 200 {bytes} web{number} {taken_us}",
                        1_700_000_000 + at_us / 1_000_000,
                        at_us % 1_000_000
                    ),
                ));
            });
        }
        lines.sort();
        lines.into_iter().fold(String::new(), |mut text, (_, line)| {
            let _ = writeln!(text, "{line}");
            text
        })
    }

    fn log(&self) -> Log {
        read(&self.lines(), "$begin $client \"$request\" $status $bytes $server $server_time_us")
    }

    fn found(&self) -> LogCalibration {
        calibrate_log(&self.log(), 1).unwrap()
    }
}

fn read(text: &str, format: &str) -> Log {
    Log::read_from(std::io::Cursor::new(text.to_owned()), "x.log", Some(&LogFormat::parse(format).unwrap())).unwrap()
}

/// Cores and helpers come out exactly: another sharing than the true one is at least e^10 times less likely here.
#[test]
fn the_sharing_and_the_demand_are_found() {
    let shared = Discipline::LimitedPs { helpers: 4 };
    let truths = [
        (Discipline::Fcfs, 1, 35.0, "exponential(mean = 20 ms)"),
        (Discipline::Fcfs, 3, 120.0, "lognormal(mean = 20 ms, cv = 1.5)"),
        (Discipline::Fcfs, 1, 40.0, "20 ms"),
        (Discipline::Ps, 1, 35.0, "exponential(mean = 20 ms)"),
        (Discipline::Ps, 2, 80.0, "gamma(mean = 20 ms, cv = 0.5)"),
        (shared, 1, 33.0, "hyperexponential(mean = 20 ms, cv = 2)"),
    ];
    for (discipline, cores, rate, law) in truths {
        let paths: &'static [(&str, &str)] = Box::leak(Box::new([("/a", law)]));
        let truth = Truth { discipline: discipline.clone(), cores, rate, paths, requests: 40_000, ..PLAIN };
        let found = truth.found();
        assert_eq!(
            (&found.server.discipline, found.server.cores),
            (&discipline, cores),
            "{law}: {:?}",
            found.not_told_apart
        );
        assert_eq!(found.reasons, Vec::<String>::new(), "{discipline:?}, {law}");
        // The interval of 95 % and as much again on both sides: missed less than once in ten thousand, and there are six.
        let of = found.demand_mean_s;
        assert!((of.value - 0.02).abs() < 2.0 * (of.high - of.value) + 1e-6, "{law}: {of:?}");
        // What is written is read.
        let text = found.to_toml("x.log");
        assert_eq!(Server::from_toml(&text).unwrap().discipline, discipline, "{text}");
    }
}

/// A line of the day before says nothing of how busy the server was: 35 requests of 20 ms in a second keep it busy for 0.7 of the
/// time. Six standard errors of the sum of 3,000 exponential demands that come at random.
#[test]
fn a_line_of_another_day_makes_no_server_idle() {
    let text = format!("1699900000.000000 10.0.0.1 \"GET /a HTTP/1.1\" 200 9 web0 20000\n{}", PLAIN.lines());
    let log = read(&text, "$begin $client \"$request\" $status $bytes $server $server_time_us");
    let busy = calibrate_log(&log, 1).unwrap().servers[0].utilization;
    assert!((busy / 0.7 - 1.0).abs() < 6.0 * (2.0 / 3000.0_f64).sqrt(), "{busy}");
}

#[test]
fn the_demand_depends_on_path_and_size() {
    let paths: &[_] =
        &[("/search/a", "exponential(mean = 30 ms)"), ("/search/b", "exponential(mean = 30 ms)"), ("/img/1", "2 ms")];
    let found = Truth { paths, per_byte_s: 2e-7, rate: 30.0, requests: 10_000, ..PLAIN }.found();
    let of = |class: &str| found.server.demand(class).clone();
    let (search, img) = (of("/search"), of("/img"));
    // 6,700 exponential demands know their mean to 1.2 %; seven standard errors.
    assert!((search.fixed.mean() / 0.03 - 1.0).abs() < 0.09, "{search}");
    assert!((img.fixed.mean() / 0.002 - 1.0).abs() < 0.3, "{img}");
    assert!((search.per_byte / 2e-7 - 1.0).abs() < 0.5, "{search}");
    assert_eq!(found.reasons, Vec::<String>::new());
}

#[test]
fn servers_differ_in_speed() {
    let found = Truth { speeds: &[1.0, 1.0, 0.5], rate: 20.0, requests: 4_000, ..PLAIN }.found();
    let speed = |name: &str| found.servers.iter().find(|server| server.server == name).unwrap().speed;
    assert!((speed("web0") / speed("web2") - 2.0).abs() < 0.3, "{:?}", found.servers);
    assert!(found.notes.iter().any(|note| note.contains("speeds = [")), "{:?}", found.notes);
}

/// What the second half does and the first does not is no model's.
#[test]
fn a_fit_that_does_not_explain_the_log_is_refused() {
    let refused = calibrate_log(&Truth { later: (0.5, 1.35), rate: 30.0, ..PLAIN }.log(), 1).unwrap_err().to_string();
    assert!(refused.contains("no model of the family explains the second half"), "{refused}");
    assert!(refused.contains("all: it predicts a mean of") && refused.contains("was seen (-"), "{refused}");
    assert_eq!(refused.lines().count(), 1);
    // A little slower is a reason, not the end.
    let slower = Truth { later: (0.5, 1.12), rate: 30.0, requests: 20_000, ..PLAIN }.found();
    assert_eq!(slower.verdict(), "SUSPECT", "{:?}", slower.judged);
}

#[test]
fn a_load_without_queues_tells_no_cores() {
    let found = Truth { discipline: Discipline::Fcfs, cores: 8, rate: 10.0, ..PLAIN }.found();
    assert_eq!(found.verdict(), "SUSPECT");
    assert!(found.reasons[0].contains("none was seen to wait or to share"), "{:?}", found.reasons);
}

/// Of 100 intervals of 95 % no more than 20 miss but once in 10 million sets.
#[test]
fn intervals_of_the_mean_demand_cover() {
    let misses = (0..100).filter(|seed| !Truth { seed: 100 + seed, requests: 1_200, ..PLAIN }.found_or_none()).count();
    assert!(misses <= 20, "{misses} of 100 intervals miss");
}

impl Truth {
    /// Whether the interval covers; of a log that chance makes one of another model there is none.
    fn found_or_none(&self) -> bool {
        calibrate_log(&self.log(), 1).is_ok_and(|found| found.demand_mean_s.covers(0.02))
    }
}

#[test]
fn logs_that_say_too_little_are_refused() {
    let refused = |log: &Log| calibrate_log(log, 1).unwrap_err().to_string();
    let log = PLAIN.log();
    assert!(refused(&log.clone().with_sampling(10)).contains("of a sample"), "a sample");
    assert!(refused(&Truth { requests: 900, ..PLAIN }.log()).contains("900 requests with a time at a server"), "few");
    // Whole seconds: which requests were there together is not known.
    let lines: String = (0..3_000)
        .map(|at| format!("{} 10.0.0.1 \"GET / HTTP/1.1\" 200 10 web1 20000\n", 1_700_000_000 + at / 30))
        .collect();
    let whole = read(&lines, "$begin $client \"$request\" $status $bytes $server $server_time_us");
    assert!(refused(&whole).contains("in steps of 1 s") && refused(&whole).contains("$msec"), "{}", refused(&whole));
    let plain = read(&lines, "$begin $client \"$request\" $status $bytes $server $other");
    assert!(refused(&plain).contains("no response times"), "{}", refused(&plain));
}

/// What cannot be mended by a longer log is said before what can.
#[test]
fn of_a_short_log_of_whole_seconds_the_clock_is_said_first() {
    let lines: String = (0..300)
        .map(|at| format!("{} 10.0.0.1 \"GET / HTTP/1.1\" 200 10 web1 20000\n", 1_700_000_000 + at / 30))
        .collect();
    let log = read(&lines, "$begin $client \"$request\" $status $bytes $server $server_time_us");
    let refused = calibrate_log(&log, 1).unwrap_err().to_string();
    let (clock, count) = (refused.find("in steps of 1 s"), refused.find("300 requests with a time at a server"));
    assert!(clock.is_some() && count.is_some() && clock < count, "{refused}");
    assert_eq!(refused.lines().count(), 1);
    assert!(refused.contains("logged in steps of 1 s and take less than that in the median"), "{refused}");
    let long = lines.replace(" 20000\n", " 2000000\n");
    let long = read(&long, "$begin $client \"$request\" $status $bytes $server $server_time_us");
    assert!(calibrate_log(&long, 1).unwrap_err().to_string().contains("and take 2 s in the median"));
}

/// What helps against a coarse clock is what the log has not yet: of nginx's `$msec` and `$request_time` nothing finer can be
/// had, and where their milliseconds would not do, whole seconds are not told to become them.
#[test]
fn what_helps_against_a_coarse_clock_is_not_there_already() {
    let refused = |instant: &str, taken: &str| {
        let line = |at: u32| {
            let (second, ms) = (1_700_000_000 + at / 30, at % 30 * 30);
            let instant = instant.replace("SECOND", &second.to_string()).replace("MS", &format!("{ms:03}"));
            format!("{instant} 10.0.0.1 \"GET / HTTP/1.1\" 200 10 {taken}\n")
        };
        let lines: String = (0..3_000).map(line).collect();
        let log = read(&lines, "$msec $remote_addr \"$request\" $status $body_bytes_sent $request_time");
        calibrate_log(&log, 1).unwrap_err().to_string()
    };
    for (instant, taken, step, helps) in [
        ("SECOND.MS", "0.001", "in steps of 1 ms", "`sojourn calibrate URL`"),
        ("SECOND", "0.001", "in steps of 1 s", "`sojourn calibrate URL`"),
        ("SECOND", "0.020", "in steps of 1 s", "$msec in place of $time_local"),
        ("SECOND.MS", "1", "in steps of 1 s", "log finer durations (nginx: $request_time"),
        ("SECOND", "1", "in steps of 1 s", "and finer durations"),
    ] {
        let refused = refused(instant, taken);
        assert!(refused.contains(step) && refused.contains(helps), "{instant} {taken}: {refused}");
        let has_msec = instant.contains("MS");
        assert!(!(has_msec && refused.contains("$msec in place")), "{instant} {taken}: {refused}");
        assert_eq!(refused.lines().count(), 1);
    }
}

/// Clients that gave up say how long they waited, and not what the server needs: one in a hundred changes nothing and is told,
/// one in twenty leaves too much unknown.
#[test]
fn what_clients_gave_up_is_not_fitted_to() {
    let format = "$begin $client \"$request\" $status $bytes $server $server_time_us";
    let with = |every: usize, status: &str| {
        let lines = PLAIN.lines();
        let more = |(at, line): (usize, &str)| {
            let begin = line.rsplit_once(' ').unwrap().0.replace("\" 200 ", &format!("\" {status} "));
            let given_up = if at % every == 0 { format!("{begin} 30000000\n") } else { String::new() };
            format!("{line}\n{given_up}")
        };
        calibrate_log(&read(&lines.lines().enumerate().map(more).collect::<String>(), format), 1)
    };
    let (plain, found) = (PLAIN.found(), with(100, "499").unwrap());
    assert_eq!((&found.server, found.demand_mean_s), (&plain.server, plain.demand_mean_s));
    let note = "60 of 6060 requests at web0 were given up by their clients, and how long these waited is not what the server \
                needed; left out";
    assert!(found.notes.iter().any(|one| one == note), "{:?}", found.notes);
    let refused = with(20, "499").unwrap_err().to_string();
    assert!(refused.contains("300 of 6300 requests at web0 were given up by their clients"), "{refused}");
    assert!(refused.contains("more than 2 %"), "{refused}");
    // As served requests they would be demands of up to half a minute.
    assert!(!with(100, "200").is_ok_and(|found| found.server == plain.server));
}

/// Of a reply that its client did not take to the end the head came from the server all the same.
#[test]
fn what_was_given_up_behind_the_head_is_fitted_to() {
    let truth = Truth { requests: 20_000, ..PLAIN };
    let lines: String = haproxy(&truth)
        .lines()
        .enumerate()
        .map(|(at, line)| {
            format!("{}\n", if at % 20 == 0 { line.replace(" ---- ", " CD-- ") } else { line.to_owned() })
        })
        .collect();
    let (found, plain) = (calibrate_log(&read(&lines, "haproxy"), 1).unwrap(), calibrate_log(&cut(&truth), 1).unwrap());
    assert_eq!((&found.server, found.demand_mean_s), (&plain.server, plain.demand_mean_s));
    assert!(
        found.notes.iter().any(|note| note.starts_with("1000 requests were given up by their clients after the head"))
    );
}

/// Milliseconds cut as HAProxy cuts them: half of one is added, and said.
#[test]
fn what_was_cut_is_added() {
    let truth = Truth { requests: 20_000, ..PLAIN };
    let found = calibrate_log(&cut(&truth), 1).unwrap();
    assert!(found.notes.iter().any(|note| note.contains("half of it was added")), "{:?}", found.notes);
    assert_eq!((found.server.discipline.name(), found.server.cores), ("fcfs", 1));
    assert_eq!(found.verdict(), "VALID", "{:?}", found.reasons);
    // At a low load most requests find the server free, and what is cut from each is missing from its demand. The same log not
    // cut differs by the cut parts less their mean: 10,000 of them with a deviation of 0.29 ms are 3 us; without what is added
    // it would be 0.4 ms.
    let low = Truth { rate: 10.0, ..truth };
    let (whole, mended) = (low.found().demand_mean_s.value, calibrate_log(&cut(&low), 1).unwrap().demand_mean_s.value);
    assert!((whole - mended).abs() < 0.1e-3, "{whole} s, {mended} s");
}

/// Times in whole milliseconds, cut or rounded: that requests share a core is found all the same. A clock's step must not make
/// demands that are whole steps, as those of requests that meet no others, the likeliest.
#[test]
fn whole_milliseconds_tell_how_a_server_is_shared() {
    for (seed, cores, rate, speeds) in [(1, 1, 45.0, &[1.0; 4]), (2, 1, 60.0, &[1.0; 4]), (3, 2, 110.0, &[1.0; 4])] {
        let paths: &[_] = &[("/a", "exponential(mean = 12 ms)")];
        let truth = Truth { discipline: Discipline::Ps, cores, paths, speeds, rate, requests: 5_000, seed, ..PLAIN };
        for log in [cut(&truth), rounded(&truth)] {
            let found = calibrate_log(&log, 1).unwrap();
            let others = &found.not_told_apart;
            assert_eq!((found.server.discipline.name(), found.server.cores), ("ps", cores), "{seed}: {others:?}");
            assert!((found.demand_mean_s.value / 0.012 - 1.0).abs() < 0.06, "{seed}: {:?}", found.demand_mean_s);
            assert!(found.servers.iter().all(|server| server.speed == 1.0), "{seed}: {:?}", found.servers);
        }
    }
}

/// The log with begins and durations rounded to milliseconds.
fn rounded(truth: &Truth) -> Log {
    let text: String = truth
        .lines()
        .lines()
        .map(|line| {
            let (begin, rest) = line.split_once(' ').unwrap();
            let (rest, taken_us) = rest.rsplit_once(' ').unwrap();
            let taken_ms = (taken_us.parse::<f64>().unwrap() / 1e3).round();
            format!("{:.3} {rest} {taken_ms}\n", begin.parse::<f64>().unwrap())
        })
        .collect();
    read(&text, "$begin $client \"$request\" $status $bytes $server $server_time_ms")
}

/// The log with its times cut to milliseconds, as HAProxy writes it.
fn cut(truth: &Truth) -> Log {
    read(&haproxy(truth), "haproxy")
}

fn haproxy(truth: &Truth) -> String {
    truth
        .lines()
        .lines()
        .map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            let (second, fraction) = words[0].split_once('.').unwrap();
            let second = second.parse::<u64>().unwrap() - 1_700_000_000;
            let ms = words[8].parse::<u64>().unwrap() / 1000;
            let clock = format!("{:02}:{:02}:{:02}.{}", second / 3600, second / 60 % 60, second % 60, &fraction[..3]);
            format!(
                "10.0.1.2:33317 [06/Feb/2024:{clock}] http-in app/{} 0/0/0/{ms}/{ms} 200 2750 - - ---- 1/1/1/1/0 0/0 \
                 \"GET /a HTTP/1.1\"\n",
                words[7]
            )
        })
        .collect()
}

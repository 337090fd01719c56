//! Silences of a log: which are in its rate, which are not, and what is said of them.

use sojourn_stats::{Law, Stream};
use sojourn_traffic::describe::{Description, Value, covered, describe};
use sojourn_traffic::fit;
use sojourn_traffic::log::{Log, LogFormat};

use crate::support::{line, number, read, value};

/// Requests at 50 a second from second 1000 on, in this many pieces of 2,000 with ten minutes between them; and the second of the
/// last one.
fn pieces(count: usize) -> (Vec<u32>, u32) {
    let mut stream = Stream::new(1, "describe", "silence");
    let gap = Law::exponential(1.0 / 50.0);
    let mut at_s = 1000.0;
    let seconds: Vec<u32> = (0..count * 2_000)
        .map(|n| {
            at_s += if n > 0 && n % 2_000 == 0 { 600.0 } else { gap.sample(&mut stream) };
            at_s as u32
        })
        .collect();
    let last = *seconds.last().unwrap();
    (seconds, last)
}

/// The log of requests in these seconds, given in any order, over as many days as they need.
fn log_of(seconds: &[u32]) -> Log {
    let mut all = seconds.to_vec();
    all.sort_unstable();
    let on_its_day = |second: &u32| {
        let day = format!("[{:02}/Aug", 1 + second / 86_400);
        line(second % 86_400, "/a", 7).replace("[01/Aug", &day)
    };
    read(all.iter().map(on_its_day).collect::<String>()).unwrap()
}

/// A request long before the others, or long after them, is none of the traffic: the rate, the gaps, the counts and what is
/// fitted are those of the log without it, what was left out is said with its number, and who wants it keeps it.
#[test]
fn a_silence_at_an_end_is_no_part_of_the_rate() {
    let (seconds, last) = pieces(1);
    let plain = describe(&log_of(&seconds));
    let rate = number(&plain, "arrival_rate");
    assert!((rate / 50.0 - 1.0).abs() < 6.0 / 2000f64.sqrt(), "{rate}");
    assert!(plain.facts.iter().all(|fact| !fact.name.contains("silence")), "{:?}", plain.facts);
    let same = ["arrival_rate", "gap_mean", "dispersion_per_second"];
    let first = "--from '1995-08-01 00:06:40' keeps it";
    // One line, two with a pause each, a few, one of another day, some at both ends.
    for (early, late, told, keeps) in [
        (vec![400], vec![], "after its first 1 of 2001 requests", first),
        (vec![400, 700], vec![], "after its first 2 of 2002 requests", first),
        (vec![400; 15], vec![], "after its first 15 of 2015 requests", first),
        (vec![], vec![last + 2 * 86_400], "before its last 1 of 2001 requests", "keeps it"),
        (vec![400], vec![last + 600; 2], "before its last 2 of 2003 requests", "keeps it"),
    ] {
        let log = log_of(&[early.clone(), seconds.clone(), late.clone()].concat());
        let description = describe(&log);
        for name in same {
            assert_eq!(number(&description, name), number(&plain, name), "{name} with {early:?} and {late:?}");
        }
        let drawn = description.rate.as_ref().unwrap().counts.iter().sum::<u64>();
        assert_eq!(drawn, covered(&log).range.len() as u64, "the plot is of the same time");
        let with = number(&description, "arrival_rate_with_silence");
        let whole = number(&description, "duration") - 2.0;
        assert!((with * whole / 2000.0 - 1.0).abs() < 0.1 && with < rate / 5.0, "{with} of {whole} s");
        let remark = description.remarks.iter().find(|remark| remark.contains(told));
        let remark = remark.unwrap_or_else(|| panic!("{told}: {:?}", description.remarks));
        assert!(remark.starts_with("the log has a silence of ") && remark.ends_with("keeps it"), "{remark}");
        assert!(description.remarks.iter().any(|remark| remark.ends_with(keeps)), "{:?}", description.remarks);
        // What is fitted is of the same time.
        let fitted = |log: &Log| fit::of_log(log, "a.log").unwrap();
        let when = |workload: &str| {
            let of_time = |line: &&str| line.starts_with("arrivals = ") || line.starts_with("profile = ");
            workload.lines().filter(of_time).map(str::to_owned).collect::<Vec<_>>()
        };
        let workload = fitted(&log);
        assert_eq!(when(&workload), when(&fitted(&log_of(&seconds))));
        assert!(workload.replace("\n# ", " ").contains("The log has a silence of"), "{workload}");
        // Who asks for all of the time gets it.
        let kept = describe(&log.keeping_silence(true, true));
        assert!((number(&kept, "arrival_rate") / with - 1.0).abs() < 1e-9, "{with}");
        let asked: Vec<_> = kept.facts.iter().filter(|fact| fact.name == "arrival_rate_without_silence").collect();
        assert_eq!(asked.len(), 1, "what is kept is still told: {:?}", kept.facts);
    }
}

/// A silence amid the traffic is a part of what happened: it is in the rate, and the rate without it stands beside. Traffic that
/// has such silences amid it has them at its ends too.
#[test]
fn a_silence_amid_the_traffic_is_told_with_both_rates() {
    let (seconds, _) = pieces(3);
    let description = describe(&log_of(&seconds));
    assert_eq!(value(&description, "silences_amid"), &Value::Count(2));
    assert!((number(&description, "longest_silence_amid") - 600.0).abs() <= 1.0);
    let (with, without) = (number(&description, "arrival_rate"), number(&description, "arrival_rate_without_silence"));
    assert!((with * (1200.0 + 120.0) / 6000.0 - 1.0).abs() < 0.05, "{with}");
    assert!((without / 50.0 - 1.0).abs() < 6.0 / 6000f64.sqrt() + 0.03, "{without}");
    let remark = description.remarks.iter().find(|remark| remark.contains("2 silences, the longest of 600 s"));
    assert!(remark.is_some_and(|remark| remark.contains("after 2000 of 6000 requests")), "{:?}", description.remarks);
    let early = describe(&log_of(&[vec![400], seconds].concat()));
    assert!(early.facts.iter().all(|fact| fact.name != "silence_at_start"), "{:?}", early.facts);
    assert_eq!(value(&early, "silences_amid"), &Value::Count(3));
    // Of few requests it is not known how long a gap may be.
    let few: Vec<u32> = [400].into_iter().chain(1000..1020).collect();
    assert!(describe(&log_of(&few)).facts.iter().all(|fact| !fact.name.contains("silence")));
}

/// A log grows where its traffic is: a copy that came in the silence would be less traffic than before, not twice as much.
#[test]
fn a_silence_at_an_end_stays_one_as_a_log_grows() {
    let (seconds, last) = pieces(1);
    let plain = describe(&log_of(&seconds).grown(2.0, 1));
    let rate = number(&plain, "arrival_rate");
    assert!((rate / 100.0 - 1.0).abs() < 0.2, "{rate}");
    for (early, late) in [(vec![900], vec![]), (vec![], vec![last + 100]), (vec![900; 3], vec![last + 100])] {
        let grown = log_of(&[early.clone(), seconds.clone(), late.clone()].concat()).grown(2.0, 1);
        assert_eq!(grown.requests(), 2 * (2_000 + early.len() + late.len()));
        assert_eq!(number(&describe(&grown), "arrival_rate"), rate, "with {early:?} and {late:?}");
    }
}

/// A request by when it ended (us from a midnight), and how long it took (us).
type Ended = (u64, u64);

/// A way to write one: what it is called, the line of a request, and the format where that is told.
type Way<'a> = (&'a str, &'a dyn Fn(Ended) -> String, Option<&'a LogFormat>);

/// As nginx writes it: whole seconds, of the end where the time that it took is there.
fn in_seconds((end_us, taken_us): Ended, is_timed: bool) -> String {
    let line = line((end_us / 1_000_000) as u32, "/a", 7);
    let taken = format!(" \"-\" \"-\" {}.{:03}\n", taken_us / 1_000_000, taken_us / 1_000 % 1_000);
    if is_timed { line.trim_end().to_owned() + &taken } else { line }
}

/// As nginx writes it by `$msec` and `$request_time`, with so many decimals.
fn with_decimals((end_us, taken_us): Ended, decimals: u32) -> String {
    let (width, cut) = (decimals as usize, 10_u64.pow(6 - decimals));
    let seconds = |us: u64| format!("{}.{:0width$}", us / 1_000_000, us % 1_000_000 / cut);
    format!("10.0.0.1 [{}] \"GET /a HTTP/1.1\" 200 7 {}\n", seconds(1_728_518_400_000_000 + end_us), seconds(taken_us))
}

/// Whatever the step of its times, whichever end of a request they are of, and however short it is: a log with requests before
/// or behind a silence has exactly the numbers of the same log without them, and no part of a second is taken for a whole one.
/// Requests come at 100 /s: of a second that has as many in the mean, 200 are seen less than once in 10^15.
#[test]
fn a_log_with_a_silence_at_an_end_has_the_numbers_of_the_one_without() {
    let format = LogFormat::parse("$remote_addr [$msec] \"$request\" $status $body_bytes_sent $request_time").unwrap();
    let ways: [Way<'_>; 4] = [
        ("seconds", &|ended| in_seconds(ended, false), None),
        ("seconds of the ends", &|ended| in_seconds(ended, true), None),
        ("milliseconds", &|ended| with_decimals(ended, 3), Some(&format)),
        ("microseconds", &|ended| with_decimals(ended, 6), Some(&format)),
    ];
    for (requests, (way, written, format)) in [1_500, 400].into_iter().flat_map(|many| ways.map(|way| (many, way))) {
        let mut stream = Stream::new(1, "describe", "silence at an end");
        let gap = Law::exponential(0.01);
        let mut at_s = 1000.7;
        let mut traffic: Vec<Ended> = (0..requests)
            .map(|_| {
                at_s += gap.sample(&mut stream);
                let taken_s = if stream.uniform() < 0.6 { 0.0 } else { 0.4 * stream.uniform() };
                (((at_s + taken_s) * 1e6) as u64, (taken_s * 1e6) as u64)
            })
            .collect();
        traffic.sort_unstable();
        let (early, late) = ([(400_500_000, 360_000); 3], [(1_700_500_000, 20_000); 2]);
        let read = |all: &[&[Ended]]| {
            let text: String = all.concat().into_iter().map(written).collect();
            Log::read_from(text.as_bytes(), "access.log", format).unwrap()
        };
        let plain_log = read(&[&traffic[..]]);
        let (plain, plain_covered) = (describe(&plain_log), covered(&plain_log));
        let rows = |description: &Description| description.served.as_ref().map(|served| served.periods.clone());
        if way == "seconds of the ends" {
            let rows = rows(&plain).expect("it has times");
            assert!(rows.iter().all(|row| row.rate < 200.0), "{requests}: {rows:?}");
        }
        let (early, traffic, late) = (&early[..], &traffic[..], &late[..]);
        for all in [vec![early, traffic], vec![traffic, late], vec![early, traffic, late]] {
            let log = read(&all);
            let (description, covered) = (describe(&log), covered(&log));
            let what = format!("{requests} requests, {way}, {} with {}", log.requests(), all.len());
            for name in ["arrival_rate", "gap_mean", "dispersion_per_second"] {
                assert_eq!(number(&description, name), number(&plain, name), "{name} of {what}");
            }
            assert_eq!(log.covered(), plain_log.covered(), "{what}");
            assert_eq!(covered.instants_s, plain_covered.instants_s, "{what}");
            assert_eq!(rows(&description), rows(&plain), "{what}");
            // The rate of the others is of the same time.
            assert_eq!(log.silences().rate, number(&plain, "arrival_rate"), "{what}");
        }
    }
}

//! Silences of a log: which are in its rate, which are not, and what is said of them.

use sojourn_stats::{Law, Stream};
use sojourn_traffic::describe::{Description, Value, covered, describe};
use sojourn_traffic::fit;
use sojourn_traffic::log::Log;

use crate::support::{line, read};

fn value<'a>(description: &'a Description, name: &str) -> &'a Value {
    let found = description.facts.iter().find(|fact| fact.name == name);
    &found.unwrap_or_else(|| panic!("no {name} in {:?}", description.facts)).value
}

fn number(facts: &Description, name: &str) -> f64 {
    match value(facts, name) {
        Value::Number(number) => *number,
        other => panic!("{name} is {other:?}"),
    }
}

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

//! Whether a load was as before once its requests had ceased to fail.
//!
//! `sojourn load` knows of no fault, but its seconds show a break. What stands before and after it is judged by the rule of the
//! simulator and of live runs ([`Usual`]): five seconds in a row as those before. Failures with fewer than five seconds between
//! them are one break. Nothing is said where that could be wrong: with under five seconds past the warm-up before the first
//! failure in which good replies came, after many breaks, as of failures that come now and then, and where another rate was
//! planned afterwards. Seconds without a reply show nothing, and five of them no recovery.

use sojourn_load::{Report, Second};
use sojourn_sim::{CALM, SPREADS, Seen, USUAL, Usual};

use crate::report::number::quantity;

/// After more breaks than this nothing is said.
const BREAKS_MOST: usize = 3;

/// What came after the last failure of a load, in words; none where that says nothing.
pub fn after_failures(report: &Report) -> Option<String> {
    let end_s = report.warm_up_s + report.measured_s;
    told(&report.seconds, (report.warm_up_s, end_s), report.gaps.is_some())
}

/// The same of seconds of which those of the warm-up say nothing, and those past the end are of the last replies only.
fn told(seconds: &[Second], (warm_up_s, end_s): (f64, f64), is_open: bool) -> Option<String> {
    let whole = seconds.len().min(end_s as usize);
    let seconds = &seconds[..whole];
    let (first, last) = breaks(seconds)?;
    let answers = |second: &&Second| second.ok > 0;
    let tells = |before: &&[Second]| before.iter().filter(answers).count() >= USUAL;
    let before = seconds.get(warm_up_s.ceil() as usize..first).filter(tells)?;
    // Of failures until the end it is said that they are.
    let after = seconds.get(last..).filter(|after| !after.is_empty())?;
    let ago_s = after.len();
    if is_open && !is_planned_alike(before, &after[after.len().saturating_sub(CALM)..]) {
        return None;
    }
    // Too few replies have no percentile, in all seconds or in none.
    let has_p99 = before.iter().any(|second| second.response_time_p99_s.is_some());
    let seen = |second: &Second| Seen {
        good: second.ok,
        failed: second.failed,
        p99_s: second.response_time_p99_s.filter(|_| has_p99),
    };
    let usual = Usual::of(&before.iter().map(seen).collect::<Vec<_>>());
    let is_calm: Vec<bool> = after.iter().map(|second| usual.has(&seen(second))).collect();
    // Of the calm seconds from one on, so many with a reply before one that is not calm.
    let lasts = |begin: &usize| {
        let calm = after.iter().zip(&is_calm).skip(*begin).take_while(|(_, is_calm)| **is_calm);
        calm.filter(|(second, _)| second.ok > 0).count() >= CALM
    };
    let begins = (0..ago_s).find(lasts);
    Some(match begins {
        Some(0) => format!("from {last} s on all was as before"),
        Some(later) => format!("from {} s on, {later} s after the last of them, all was as before", last + later),
        None if is_calm.last() == Some(&true) || ago_s < CALM => format!(
            "whether all was as before afterwards could not be seen: the load ended {ago_s} s after the last of them, and \
             it takes {CALM} s as before, with good replies"
        ),
        None => {
            let (was, is) = (in_words(before), in_words(&after[after.len() - CALM..]));
            format!("{ago_s} s after the last of them it was not as before: {is}, and before {was}")
        }
    })
}

/// Where the first break begins and the last one ends (s); none without a failure, and of too many breaks.
fn breaks(seconds: &[Second]) -> Option<(usize, usize)> {
    let mut all: Vec<(usize, usize)> = Vec::new();
    for (at, _) in seconds.iter().enumerate().filter(|(_, second)| second.failed > 0) {
        match all.last_mut() {
            Some((_, end)) if at < *end + CALM => *end = at + 1,
            _ => all.push((at, at + 1)),
        }
    }
    let (first, last) = (all.first()?.0, all.last()?.1);
    (all.len() <= BREAKS_MOST).then_some((first, last))
}

/// Whether as many requests were planned after as before, but for chance.
fn is_planned_alike(before: &[Second], after: &[Second]) -> bool {
    let mean = |of: &[Second]| of.iter().map(|second| second.planned as f64).sum::<f64>() / of.len() as f64;
    let (was, is) = (mean(before), mean(after));
    let squares: f64 = before.iter().map(|second| (second.planned as f64 - was).powi(2)).sum();
    let deviation = (squares / (before.len() as f64 - 1.0)).sqrt();
    let chance = SPREADS * deviation * (1.0 / after.len() as f64 + 1.0 / before.len() as f64).sqrt();
    (is - was).abs() <= chance.max(1.0)
}

/// What came of the requests in these seconds.
fn in_words(seconds: &[Second]) -> String {
    let count = seconds.len() as f64;
    let good = seconds.iter().map(|second| second.ok).sum::<u64>() as f64;
    let sum_s: f64 = seconds.iter().map(|second| second.response_time_mean_s * second.ok as f64).sum();
    let rate = quantity(good / count, "1/s").replace('\u{a0}', " ");
    match good > 0.0 {
        true => {
            format!("{rate} of good replies, after {} on average", quantity(sum_s / good, "s").replace('\u{a0}', " "))
        }
        false => format!("{rate} of good replies"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(ok: u64, failed: u64, mean_s: f64) -> Second {
        Second {
            planned: ok + failed,
            ok,
            failed,
            response_time_mean_s: mean_s,
            response_time_p99_s: (ok > 50).then_some(2.0 * mean_s),
            ..Second::default()
        }
    }

    /// Good seconds with some spread, then `middle`, then `after`.
    fn run(middle: &[Second], after: &[Second]) -> Vec<Second> {
        let before = (0..20).map(|at| second(98 + at % 5, 0, 0.01));
        before.chain(middle.iter().copied()).chain(after.iter().copied()).collect()
    }

    fn of(seconds: &[Second]) -> Option<String> {
        told(seconds, (5.0, seconds.len() as f64), true)
    }

    const BROKEN: (u64, u64) = (50, 50);

    #[test]
    fn what_comes_after_a_break_is_told() {
        let broken = [second(BROKEN.0, BROKEN.1, 0.01); 7];
        let (good, slow) = (second(100, 0, 0.01), second(100, 0, 0.05));
        assert_eq!(of(&run(&broken, &[good; 10])).unwrap(), "from 27 s on all was as before");
        let later = [&[slow; 3][..], &[good; 8]].concat();
        assert_eq!(of(&run(&broken, &later)).unwrap(), "from 30 s on, 3 s after the last of them, all was as before");
        let stays = of(&run(&broken, &[slow; 12])).unwrap();
        assert_eq!(
            stays,
            "12 s after the last of them it was not as before: 100 /s of good replies, after 50.0 ms on average, and before 100 \
             /s of good replies, after 10.0 ms on average"
        );
        for few in [&[good; 3][..], &[slow; 3], &[&[slow; 5][..], &[good; 3]].concat()] {
            let told = of(&run(&broken, few)).unwrap();
            assert!(told.contains(&format!("the load ended {} s after", few.len())), "{told}");
        }
        assert_eq!(of(&run(&broken, &[])), None, "they failed until the end, as is said of them");
    }

    #[test]
    fn what_would_be_a_guess_is_not_told() {
        let (broken, good) = (second(BROKEN.0, BROKEN.1, 0.01), second(100, 0, 0.01));
        assert_eq!(of(&run(&[], &[good; 10])), None, "nothing failed");
        // Failures now and then: a break every six seconds.
        let now_and_then: Vec<Second> = (0..60).map(|at| if at % 6 == 0 { broken } else { good }).collect();
        assert_eq!(of(&run(&now_and_then, &[good; 10])), None);
        // The first failure is in the warm-up, or soon after it.
        let mut early = run(&[broken], &[good; 10]);
        early[7] = broken;
        assert_eq!(of(&early), None);
        // Half as many are planned afterwards.
        let half = [second(50, 0, 0.01); 10];
        assert_eq!(of(&run(&[broken], &half)), None);
        assert!(told(&run(&[broken], &half), (5.0, 31.0), false).unwrap().contains("not as before"), "a closed load");
    }

    /// A load of few requests has seconds without any: these are neither what is usual nor a recovery.
    #[test]
    fn seconds_without_a_reply_show_nothing() {
        let (one, none, broken) = (second(1, 0, 0.01), second(0, 0, 0.0), second(0, 1, 0.01));
        // One request in three seconds: of the 25 before, past the warm-up, 4 or 5 with a reply.
        let before = |replies: usize| -> Vec<Second> {
            (0..30).map(|at| if at >= 5 && at % 3 == 0 && at < 5 + 3 * replies { one } else { none }).collect()
        };
        let run = |replies: usize, after: usize| {
            let after: Vec<Second> = (0..after).map(|at| if at % 3 == 1 { one } else { none }).collect();
            of(&[before(replies), vec![broken], after].concat())
        };
        assert_eq!(run(5, 15).as_deref(), Some("from 31 s on all was as before"));
        assert_eq!(run(4, 15), None);
        let early = run(5, 12).expect("it ends too soon");
        assert!(early.contains("could not be seen: the load ended 12 s after"), "{early}");
    }

    /// Failures with fewer calm seconds between them than it takes are one break.
    #[test]
    fn what_fails_again_soon_is_one_break() {
        let (broken, good) = (second(BROKEN.0, BROKEN.1, 0.01), second(100, 0, 0.01));
        let again = [&[broken][..], &[good; 4], &[broken], &[good; 6]].concat();
        assert_eq!(of(&run(&[], &again)).unwrap(), "from 26 s on all was as before");
        // The seconds past the end have the last replies only.
        let seconds = [run(&[broken], &[good; 10]), vec![second(3, 0, 0.01)]].concat();
        assert_eq!(told(&seconds, (5.0, 31.0), true).unwrap(), "from 21 s on all was as before");
    }
}

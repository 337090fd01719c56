//! What each other reading makes of what is printed, and which of them moves a figure that is missed the furthest towards it.

use std::fmt::Write;

use super::readings::{self, AS_READ, Reading, together};
use super::search::{Cell, KEY_CELLS};
use super::settings::{at, lent, sized};
use super::{LARGE, LOCALITY, MEAN, POLICY, READ_ANEW, ROTATION, SWEB, Study};
use crate::answers::Answers;
use crate::number::{Number, interval, known};

/// The section of the page.
pub(super) fn text(study: &Study) -> String {
    let keys = keys(study);
    let all = readings::all(study.found.patience_s);
    let heads: Vec<&str> = keys.iter().map(|key| key.name).collect();
    let mut text = format!(
        "\n## What each reading does\n\nEach row changes one reading alone (the numbers are those of the \
         [readings](../../experiments/sweb-1996/READINGS.md)); empty where it changes nothing of the \
         experiment.\n\n| reading | {} |\n|---|{}\n",
        heads.join(" | "),
        "---|".repeat(keys.len())
    );
    let _ = writeln!(text, "| *printed* | {} |", keys.iter().map(printed).collect::<Vec<_>>().join(" | "));
    let row = |reading: Option<(usize, &Reading)>| {
        let cell =
            |key: &Key| (key.of)(study, reading).map_or(String::new(), |number| interval(Some(number), key.digits));
        keys.iter().map(cell).collect::<Vec<_>>().join(" | ")
    };
    let _ = writeln!(text, "| {} | {} |", AS_READ.1, row(None));
    for (index, reading) in all.iter().enumerate() {
        let _ = writeln!(text, "| {}: {} | {} |", reading.number, reading.name, row(Some((index, reading))));
    }
    text += "\nWhere a printed figure is missed by more than 15 %, the reading that moves it the furthest towards what is \
             printed:\n\n";
    let missed: Vec<String> = keys.iter().filter_map(|key| moved(study, key, &all)).collect();
    text + &if missed.is_empty() { "none is.\n".to_owned() } else { missed.concat() }
}

/// A figure of the study as read, or under a reading with its place in the list.
type Of = Box<dyn Fn(&Study, Option<(usize, &Reading)>) -> Option<Number>>;

/// A figure that other readings may move.
struct Key {
    name: &'static str,
    /// What is printed: a number, or a range that is open where one end is none.
    printed: (Option<f64>, Option<f64>),
    digits: usize,
    of: Of,
}

/// The answers of an experiment under a reading, or as read; none where the reading does not concern it.
fn answers<'a>(study: &'a Study, reading: Option<(usize, &Reading)>, run: &str) -> Option<&'a Answers> {
    let Some((index, _)) = reading else { return Some(study.of(run)) };
    let place = READ_ANEW.iter().position(|name| *name == run)?;
    study.readings[index][place].as_ref()
}

fn keys(study: &Study) -> Vec<Key> {
    let of = |key: &str| Some(study.published.of(key));
    let most = |cell: Cell| -> Of {
        Box::new(move |study, reading| {
            let number = reading.map_or(AS_READ.0, |(_, reading)| reading.number);
            known(f64::from(study.found.most(number, cell)?))
        })
    };
    let dropped: Of =
        Box::new(|study, reading| answers(study, reading, "nodes")?.number(&sized(LARGE, "1"), "error_ratio"));
    let mean = |policy: &'static str| -> Of {
        Box::new(move |study, reading| answers(study, reading, "skewed")?.number(&[(POLICY, policy)], MEAN))
    };
    let ratio = |run: &'static str, rate: u32, one: &'static str, other: &'static str| -> Of {
        Box::new(move |study, reading| {
            let arrivals = reading.map_or(together(rate), |(_, reading)| reading.arrivals(rate));
            let [one, other] = [one, other].map(|policy| {
                let policy = reading.map_or(policy.to_owned(), |(_, reading)| reading.policy(policy));
                at(&policy, &arrivals)
            });
            answers(study, reading, run)?.ratio(MEAN, &lent(&one), &lent(&other))
        })
    };
    let number = |key: &str| (of(key), of(key));
    let gain = (of("gain_high").map(|gain| 1.0 - gain), of("gain_low").map(|gain| 1.0 - gain));
    let [burst, long, ethernet_burst, ethernet_long] = KEY_CELLS;
    vec![
        Key { name: "Meiko, 30 s (/s)", printed: (None, None), digits: 0, of: most(burst) },
        Key { name: "Meiko, 120 s (/s)", printed: number("meiko_120s"), digits: 0, of: most(long) },
        Key { name: "Ethernet, 30 s (/s)", printed: number("ethernet_30s"), digits: 0, of: most(ethernet_burst) },
        Key { name: "Ethernet, 120 s (/s)", printed: number("ethernet_120s"), digits: 0, of: most(ethernet_long) },
        Key { name: "one node drops (share)", printed: (Some(0.4), None), digits: 2, of: dropped },
        Key { name: "hot file, rotation (s)", printed: number("skewed_rotation"), digits: 2, of: mean(ROTATION) },
        Key { name: "hot file, locality (s)", printed: number("skewed_locality"), digits: 2, of: mean(LOCALITY) },
        Key {
            name: "non-uniform, 20/s: SWEB / rotation",
            printed: gain,
            digits: 2,
            of: ratio("non-uniform", 20, SWEB, ROTATION),
        },
        Key {
            name: "non-uniform, 20/s: SWEB / locality",
            printed: gain,
            digits: 2,
            of: ratio("non-uniform", 20, SWEB, LOCALITY),
        },
        Key {
            name: "Meiko, 16/s: locality / rotation",
            printed: (Some(0.85), Some(1.15)),
            digits: 2,
            of: ratio("burst", 16, LOCALITY, ROTATION),
        },
        Key {
            name: "Ethernet, 1/s: locality / rotation",
            printed: (None, Some(1.0)),
            digits: 2,
            of: ratio("shared-ethernet", 1, LOCALITY, ROTATION),
        },
        Key {
            name: "far clients, 1/s: locality / rotation",
            printed: (None, of("far_gain").map(|gain| 1.0 - gain)),
            digits: 2,
            of: ratio("far-clients", 1, LOCALITY, ROTATION),
        },
    ]
}

fn printed(key: &Key) -> String {
    let digits = key.digits.min(1);
    match key.printed {
        (Some(low), Some(high)) if low == high => format!("*{low}*"),
        (Some(low), Some(high)) => format!("*{low:.2} to {high:.2}*"),
        (None, Some(high)) => format!("*below {high:.digits$}*"),
        (Some(low), None) => format!("*at least {low:.digits$}*"),
        (None, None) => String::new(),
    }
}

/// How far a number is from what is printed: the factor by which it is beyond the nearer end; 1 inside.
fn distance(key: &Key, number: Number) -> f64 {
    let below = key.printed.0.map_or(1.0, |low| low / number.value);
    let above = key.printed.1.map_or(1.0, |high| number.value / high);
    below.max(above).max(1.0)
}

/// A line about a figure that is missed.
fn moved(study: &Study, key: &Key, all: &[Reading]) -> Option<String> {
    let own = (key.of)(study, None)?;
    // What is a range has its ends for a tolerance.
    let tolerance = if key.printed.0 == key.printed.1 { 1.15 } else { 1.0 };
    if distance(key, own) <= tolerance {
        return None;
    }
    let under = all.iter().enumerate().filter_map(|(index, reading)| {
        let number = (key.of)(study, Some((index, reading)))?;
        Some((distance(key, number), reading, number))
    });
    let best = under.min_by(|a, b| a.0.total_cmp(&b.0)).filter(|(nearest, ..)| *nearest < distance(key, own));
    let shown = |number: Number| interval(Some(number), key.digits);
    let by = match best {
        Some((_, reading, number)) => {
            format!("reading {} ({}) moves it to {}", reading.number, reading.name, shown(number))
        }
        None => "no reading moves it nearer".into(),
    };
    Some(format!("- {}: printed {}, as read {}; {by}.\n", key.name, printed(key).replace('*', ""), shown(own)))
}

//! The name that a misspelt word was probably meant to be, and the sentence that says so.

/// What other programs and textbooks call a thing, letters and digits only, and its name here: nginx's `least_conn`,
/// HAProxy's `leastconn`, Envoy's `LEAST_REQUEST`, which draws two, and so on.
const ELSEWHERE: [(&str, &str); 150] = [
    ("poisson", "exponential"),
    ("markovian", "exponential"),
    ("markov", "exponential"),
    ("deterministic", "constant"),
    ("det", "constant"),
    ("fixed", "constant"),
    ("gaussian", "normal"),
    ("m", "exponential"),
    ("d", "constant"),
    ("e", "erlang"),
    ("ek", "erlang"),
    ("e2", "erlang"),
    ("e3", "erlang"),
    ("h2", "hyperexponential"),
    ("u", "uniform"),
    ("leastconn", "least-connections"),
    ("leastconnection", "least-connections"),
    ("jsq", "least-connections"),
    ("joinshortestqueue", "least-connections"),
    ("jointheshortestqueue", "least-connections"),
    ("shortestqueue", "least-connections"),
    ("leastloaded", "least-connections"),
    ("leastoutstanding", "least-connections"),
    ("leastoutstandingrequests", "least-connections"),
    ("lor", "least-connections"),
    ("leastrequest", "power-of-d"),
    ("p2c", "power-of-d"),
    ("poweroftwo", "power-of-d"),
    ("randomtwo", "power-of-d"),
    ("pow2", "power-of-d"),
    ("p2", "power-of-d"),
    ("powerof2", "power-of-d"),
    ("poweroftwochoices", "power-of-d"),
    ("twochoices", "power-of-d"),
    ("pod", "power-of-d"),
    ("sq", "power-of-d"),
    ("ewma", "peak-ewma"),
    ("peakewma", "peak-ewma"),
    ("rnd", "random"),
    ("rdm", "random"),
    ("randomchoice", "random"),
    ("uniformlyrandom", "random"),
    ("randomly", "random"),
    ("roundrobin", "round-robin"),
    ("rr", "round-robin"),
    ("wrr", "weighted-round-robin"),
    ("wlc", "weighted-least-connections"),
    ("iphash", "address-hash"),
    ("source", "address-hash"),
    ("uri", "path-hash"),
    ("fifo", "fcfs"),
    ("lambda", "rate"),
    ("mu", "demand"),
    ("service", "demand"),
    ("servicetime", "demand"),
    ("servicerate", "demand"),
    ("work", "demand"),
    ("mu", "rate"),
    ("average", "mean"),
    ("avg", "mean"),
    ("sigma", "cv"),
    ("std", "cv"),
    ("stddev", "cv"),
    ("load", "utilization"),
    ("rho", "utilization"),
    ("balance", "policy"),
    ("algorithm", "policy"),
    ("replicas", "servers"),
    ("backends", "servers"),
    ("processorsharing", "ps"),
    ("firstcomefirstserved", "fcfs"),
    ("simulation", "sim"),
    ("simulator", "sim"),
    ("simulate", "sim"),
    ("formula", "theory"),
    ("formulas", "theory"),
    ("analytic", "theory"),
    ("analytical", "theory"),
    ("real", "live"),
    ("measured", "live"),
    ("measurement", "live"),
    ("qps", "rate"),
    ("rps", "rate"),
    ("concurrency", "connections"),
    ("qps", "throughput"),
    ("rps", "throughput"),
    ("errors", "error_ratio"),
    ("errorrate", "error_ratio"),
    ("failures", "error_ratio"),
    ("failed", "error_ratio"),
    ("availability", "error_ratio"),
    ("attempts", "attempts_ratio"),
    ("reps", "replications"),
    ("repetitions", "replications"),
    ("median", "p50"),
    ("lateness", "late"),
    ("retry", "retries"),
    ("retrycount", "retries"),
    ("maxretries", "retries"),
    ("maxretries", "at_most"),
    ("max", "at_most"),
    ("maxattempts", "at_most"),
    ("jobs", "max_jobs"),
    ("requests", "max_jobs"),
    ("maxrequests", "max_jobs"),
    ("crash", "down"),
    ("crashed", "down"),
    ("dead", "down"),
    ("die", "down"),
    ("dies", "down"),
    ("kill", "down"),
    ("killed", "down"),
    ("stop", "down"),
    ("stopped", "down"),
    ("failed", "down"),
    ("outage", "down"),
    ("hang", "frozen"),
    ("hangs", "frozen"),
    ("stuck", "frozen"),
    ("partition", "cut"),
    ("partitioned", "cut"),
    ("maxfails", "ejection"),
    ("failtimeout", "ejection"),
    ("outlierdetection", "ejection"),
    ("circuitbreaker", "breakers"),
    ("maxconn", "limit"),
    ("maxconns", "limit"),
    ("maxconnections", "limit"),
    ("p999", "p99.9"),
    ("latencyp50", "p50"),
    ("latencyp90", "p90"),
    ("latencyp95", "p95"),
    ("latencyp99", "p99"),
    ("latencyp999", "p99.9"),
    ("latency", "mean"),
    ("latencymean", "mean"),
    ("responsetime", "mean"),
    ("hurst", "h"),
    ("monday", "mon"),
    ("tuesday", "tue"),
    ("wednesday", "wed"),
    ("thursday", "thu"),
    ("friday", "fri"),
    ("saturday", "sat"),
    ("sunday", "sun"),
    ("body", "contents"),
    ("data", "contents"),
    ("wait", "think"),
    ("pause", "think"),
    ("sleep", "think"),
];

/// Rules of the literature that there are not here, letters and digits only, and what each is. To whatever name of ours one is
/// near, it means something else.
const ABSENT: [(&str, &str); 5] = [
    ("jiq", "join the idle queue"),
    ("joinidlequeue", "join the idle queue"),
    ("jointheidlequeue", "join the idle queue"),
    ("lwl", "least work left"),
    ("leastworkleft", "least work left"),
];

/// So many letters of a name from elsewhere may have one edit: it is offered under another name, and has to be meant.
const LETTERS_PER_EDIT: usize = 5;
/// A shorter word is no slip of another: most of what is as short is one.
const SLIP_LEAST: usize = 3;

/// What the rule is that goes by `word` in the literature and is known under no name here: join the idle queue, of `JIQ`.
pub fn absent(word: &str) -> Option<&'static str> {
    let letters = letters_of(&word.to_lowercase());
    ABSENT.iter().find(|(other, _)| *other == letters).map(|(_, is)| *is)
}

/// The letters and digits of a word.
fn letters_of(word: &str) -> String {
    word.chars().filter(|c| c.is_alphanumeric()).collect()
}

/// The candidate nearest to `word`, where one is near enough to be offered: one that is called so elsewhere, the only one with
/// these initials (`lc` of `least-connections`), one within a third of its length in edits (insert, delete, replace, swap
/// neighbours; a change of case is free), the only one that `word` begins, or one that is nearly called so elsewhere.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let candidates: Vec<&str> = candidates.into_iter().collect();
    if absent(&word).is_some() {
        return None;
    }
    let letters = letters_of(&word);
    let here = |name: &&str| ELSEWHERE.iter().any(|(other, ours)| *other == letters && *ours == *name);
    if let Some(meant) = candidates.iter().copied().find(here) {
        return Some(meant);
    }
    let mut abbreviated = candidates.iter().copied().filter(|name| !letters.is_empty() && initials(name) == letters);
    if let (Some(meant), None) = (abbreviated.next(), abbreviated.next()) {
        return Some(meant);
    }
    let mut best: Option<(usize, &str)> = None;
    let (mut begun, mut begun_count) = (None, 0);
    for &candidate in &candidates {
        let lower = candidate.to_lowercase();
        if word.chars().count() >= 3 && lower.starts_with(&word) {
            begun = Some(candidate);
            begun_count += 1;
        }
        let edits = distance(&word, &lower);
        let allowed = (lower.chars().count().max(word.chars().count()) + 1) / 3;
        if edits <= allowed && best.is_none_or(|(least, _)| edits < least) {
            best = Some((edits, candidate));
        }
    }
    match best {
        Some((_, candidate)) => Some(candidate),
        None if begun_count == 1 => begun,
        None => nearly_called(&letters, &candidates),
    }
}

/// The first letters of the words of a name, in small letters; empty of a single word.
fn initials(name: &str) -> String {
    let words = || name.split(['-', '_', ' ']).filter(|word| !word.is_empty());
    if words().count() < 2 {
        return String::new();
    }
    words().filter_map(|word| word.chars().next()).flat_map(char::to_lowercase).collect()
}

/// Whether `word` is `name` but for a slip of the finger: a letter that was hit twice, or two neighbours that are swapped
/// (`jsqq`, `jqs`). Both are in small letters; a name of one or two letters has no slips.
pub fn is_slip(word: &str, name: &str) -> bool {
    let undoubled = |text: &str| {
        let mut letters: Vec<char> = text.chars().collect();
        letters.dedup();
        letters
    };
    let sorted = |text: &str| {
        let mut letters: Vec<char> = text.chars().collect();
        letters.sort_unstable();
        letters
    };
    let is_close = word.len().min(name.len()) >= SLIP_LEAST && distance(word, name) == 1;
    is_close && (undoubled(word) == undoubled(name) || sorted(word) == sorted(name))
}

/// The candidate of which the name elsewhere was misspelt: `poison`, or of a short one slipped: `jsqq`.
fn nearly_called<'a>(letters: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let near = |(other, ours): &(&str, &str)| {
        let candidate = candidates.iter().copied().find(|name| name == ours)?;
        let edits = distance(letters, other);
        (edits <= other.len() / LETTERS_PER_EDIT || is_slip(letters, other)).then_some((edits, candidate))
    };
    ELSEWHERE.iter().filter_map(near).min_by_key(|(edits, _)| *edits).map(|(_, candidate)| candidate)
}

/// One line about a word that is none of the `known` ones: "unknown policy `rnd`; " and the [`suggestion`].
pub fn unknown<'a>(what: &str, word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    format!("unknown {what} `{word}`; {}", suggestion(word, known))
}

/// What would be right in place of `word`: "did you mean `random`?", or where none is near, "known are a, b", and of a rule that
/// is known elsewhere only, what it is.
pub fn suggestion<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().filter(|known| !known.is_empty()).collect();
    match nearest(word, known.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None if known.is_empty() => "none is known".into(),
        None => {
            let is = absent(word).map_or(String::new(), |is| format!("{is} is not among them; "));
            format!("{is}known are {}", known.join(", "))
        }
    }
}

/// The same for a sentence that goes on or has the known words already: " (did you mean `random`?)", and nothing where none is
/// near.
pub fn meant_aside<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, known).map_or(String::new(), |meant| format!(" (did you mean `{meant}`?)"))
}

/// Optimal string alignment distance: Levenshtein's, with neighbours swapped as one edit.
fn distance(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=to.len()).collect();
    for i in 1..=from.len() {
        let mut row = vec![i; to.len() + 1];
        for j in 1..=to.len() {
            let replaced = above[j - 1] + usize::from(from[i - 1] != to[j - 1]);
            row[j] = replaced.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut above, row);
    }
    above[to.len()]
}

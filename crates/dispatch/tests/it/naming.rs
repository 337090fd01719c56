//! Policies as text, and what is said of a bad one.

use sojourn_dispatch::{Code, Dispatcher, Information, Reason, Signals, policies};

use crate::common::{dispatcher, equal, every_policy};

fn refusal(policy: &str) -> String {
    let made = Dispatcher::new(policy, &equal(2), Information::Immediate, Signals::GATEWAY, 1, "test");
    made.expect_err(policy).to_string()
}

#[test]
fn good_texts() {
    for policy in every_policy().chain([
        " round-trip ( window = 100 ms ) ",
        "random()",
        "least-connections(ties = first)",
        "least-connections(ties = \"drawn\")",
        "round-trip(window = 1 s, slide = true, ties = first)",
        "round-trip(unseen = in-flight)",
        "round-trip(unseen = zero, slide = true)",
        "transmitted-size(slide = false, window = 8 s)",
        "round-trip(slide = true, reads = present)",
        "transmitted-size(reads = last, slide = false, ties = first)",
        "cookie(policy = cookie(policy = round-trip(window = 1 s)))",
    ]) {
        assert_eq!(dispatcher(policy, &equal(2)).policy(), policy);
    }
}

#[test]
fn bad_texts_say_what_would_be_right() {
    let cases = [
        ("least-conections", "unknown policy `least-conections`; did you mean `least-connections`?"),
        ("xyz", "unknown policy `xyz`; known are round-robin, random, least-connections,"),
        ("round-trip(windw = 1 s)", "policy `round-trip` has no parameter `windw`; did you mean `window`?"),
        (
            "round-trip(colour = 1 s)",
            "policy `round-trip` has no parameter `colour`; it takes `window`, `slide`, `reads`, `ties`, `unseen`",
        ),
        ("round-trip(window = 1 s, window = 2 s)", "policy `round-trip`: `window` is given twice"),
        ("random(window = 1 s)", "policy `random` has no parameter `window`; it takes none"),
        ("round-trip(window = 1)", "policy `round-trip`: window = 1: "),
        ("round-trip(window = 0 s)", "must be at least 1 ns"),
        ("round-trip(window = -1 s)", "policy `round-trip`: window = -1 s: "),
        ("round-trip(slide = yes)", "policy `round-trip`: slide = yes: it is `true` or `false`"),
        ("round-trip(reads = next)", "policy `round-trip`: reads = next: it is `present` or `last`"),
        (
            "transmitted-size(slide = true, reads = last)",
            "policy `transmitted-size`: reads = last: a window that slides has no last one; leave out `slide = true`",
        ),
        ("round-trip(reads = last, slide = true)", "policy `round-trip`: reads = last: a window that slides"),
        ("round-trip(unseen = 0)", "policy `round-trip`: unseen = 0: it is `in-flight` or `zero`"),
        ("least-connections(ties = last)", "policy `least-connections`: ties = last: it is `drawn` or `first`"),
        ("least-connections(ties = \"\")", "a parameter is written `name = value`"),
        ("round-trip(1 s)", "`1 s`: did you mean `round-trip(window = 1 s)`?"),
        ("power-of-d(2)", "`2`: did you mean `power-of-d(d = 2)`?"),
        ("round-trip(nonsense)", "a parameter is written `name = value`, as in `round-trip(window = 1 s)`"),
        ("JSQ(3)", "unknown policy `JSQ`; did you mean `power-of-d(d = 3)`?"),
        ("jsq2", "unknown policy `jsq2`; did you mean `power-of-d(d = 2)`?"),
        ("POD(d = 4)", "unknown policy `POD`; did you mean `power-of-d(d = 4)`?"),
        ("pod", "unknown policy `pod`; did you mean `power-of-d`?"),
        ("power-of-3", "unknown policy `power-of-3`; did you mean `power-of-d(d = 3)`?"),
        ("ewma", "unknown policy `ewma`; did you mean `peak-ewma`?"),
        ("round-trip(window = 1 s", "it must end with `)`"),
        ("lc", "unknown policy `lc`; did you mean `least-connections`?"),
        ("rr", "unknown policy `rr`; did you mean `round-robin`?"),
        ("wrr", "unknown policy `wrr`; did you mean `weighted-round-robin`?"),
        ("wlc", "unknown policy `wlc`; did you mean `weighted-least-connections`?"),
        ("rnd", "unknown policy `rnd`; did you mean `random`?"),
        ("sq", "unknown policy `sq`; did you mean `power-of-d`?"),
        ("sq(2)", "unknown policy `sq`; did you mean `power-of-d(d = 2)`?"),
        ("po2", "unknown policy `po2`; did you mean `power-of-d(d = 2)`?"),
        ("pow2", "unknown policy `pow2`; did you mean `power-of-d(d = 2)`?"),
        ("p2", "unknown policy `p2`; did you mean `power-of-d(d = 2)`?"),
        ("random-choice", "unknown policy `random-choice`; did you mean `random`?"),
        ("jiq", "unknown policy `jiq`; join the idle queue is not among them; known are round-robin, random,"),
        ("plc", "unknown policy `plc`; did you mean `probabilistic-least-connections`?"),
        ("cookie(policy = randon)", "unknown policy `randon`; did you mean `random`?"),
        (
            "poisson",
            "unknown policy `poisson`; a Poisson process is one of arrivals: `arrivals = \"exponential(rate = 100 /s)\"`; \
             `sojourn policies` lists what chooses a server",
        ),
        ("Poisson(rate = 8 /s)", "a Poisson process is one of arrivals: "),
        (
            "lognormal(mean = 1 s, cv = 2)",
            "unknown policy `lognormal`; this is a law, as `arrivals` or `demand` have one; ",
        ),
        ("constant", "unknown policy `constant`; this is a law, "),
        ("fgn", "unknown policy `fgn`; this is a process of arrivals: it stands in `arrivals`; "),
        ("", "unknown policy ``"),
    ];
    for (text, part) in cases {
        let said = refusal(text);
        assert!(said.contains(part), "`{text}` got: {said}");
        assert!(!said.contains('\n'));
    }
}

#[test]
fn impossible_backends() {
    let refusal = |backends: &[(String, f64)]| {
        let made = Dispatcher::new("random", backends, Information::Immediate, Signals::GATEWAY, 1, "test");
        made.expect_err("impossible").to_string()
    };
    assert_eq!(refusal(&[("a".into(), 1.0), ("a".into(), 1.0)]), "two backends are called `a`; names must differ");
    for weight in [-1.0, f64::NAN, f64::INFINITY, 1e-300] {
        assert!(refusal(&[("a".into(), weight)]).starts_with("backend `a` has weight"), "{weight}");
    }
}

#[test]
fn every_policy_has_a_name_of_its_own_and_a_summary() {
    let mut names: Vec<_> = policies::POLICIES.iter().map(|entry| entry.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), policies::POLICIES.len());
    assert!(policies::POLICIES.iter().all(|entry| !entry.summary.is_empty()));
}

#[test]
fn reasons_read_as_the_end_of_a_sentence() {
    let said = |code, ties, value| Reason { code, ties, value }.to_string();
    assert_eq!(said(Code::Turn, 1, 0.0), "it was its turn");
    assert_eq!(said(Code::Drawn, 4, 0.0), "drawn at random among 4");
    assert_eq!(said(Code::Drawn, 4, 0.5), "drawn among 4 with a chance of 0.5000");
    assert_eq!(said(Code::LeastInFlight, 3, 2.0), "fewest requests in flight (2), one of 3 such");
    assert_eq!(said(Code::LeastRoundTrip, 1, 0.0125), "shortest mean round trip in the window (12.5 ms)");
}

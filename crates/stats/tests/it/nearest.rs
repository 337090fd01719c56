//! The name a misspelt word was meant to be.

use sojourn_stats::{nearest, suggestion, unknown};

#[test]
fn misspellings_find_their_name() {
    let policies = ["round-robin", "random", "least-connections", "transmitted-size", "round-trip"];
    let cases = [
        ("round-robbin", Some("round-robin")),
        ("Random", Some("random")),
        ("randmo", Some("random")),
        ("least_connection", Some("least-connections")),
        ("join-shortest-queue", Some("least-connections")),
        ("least", Some("least-connections")),
        ("round", None),
        ("fastest", None),
        ("", None),
    ];
    for (word, meant) in cases {
        assert_eq!(nearest(word, policies), meant, "{word}");
    }
    assert_eq!(nearest("men", ["max", "mean"]), Some("mean"));
}

#[test]
fn a_line_offers_the_nearest_name_or_all_of_them() {
    let known = ["random", "round-robin"];
    assert_eq!(unknown("policy", "randm", known), "unknown policy `randm`; did you mean `random`?");
    assert_eq!(unknown("policy", "fastest", known), "unknown policy `fastest`; known are random, round-robin");
    assert_eq!(suggestion("x", []), "none is known");
}

/// What other programs call it is no misspelling, and far from the name that it has here.
#[test]
fn names_of_other_programs_are_known() {
    let policies = ["round-robin", "least-connections", "least-load", "power-of-d", "address-hash"];
    for (word, meant) in [
        ("least_conn", "least-connections"),
        ("leastconn", "least-connections"),
        ("least-conn", "least-connections"),
        ("round_robin", "round-robin"),
        ("LEAST_REQUEST", "power-of-d"),
        ("ip_hash", "address-hash"),
    ] {
        assert_eq!(nearest(word, policies), Some(meant), "{word}");
    }
    for (letter, law) in [("M", "exponential"), ("D", "constant"), ("E2", "erlang"), ("H2", "hyperexponential")] {
        assert_eq!(nearest(letter, ["constant", "exponential", "erlang", "hyperexponential"]), Some(law));
    }
    // The rate of a law, but of a system that of its work.
    assert_eq!((nearest("mu", ["mean", "rate"]), nearest("mu", ["demand", "rate"])), (Some("rate"), Some("demand")));
    assert_eq!(nearest("poisson", ["constant", "exponential"]), Some("exponential"));
    assert_eq!(nearest("poisson", policies), None, "no such thing there");
}

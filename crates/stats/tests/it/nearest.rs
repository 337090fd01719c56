//! The name a misspelt word was meant to be.

use sojourn_stats::{absent, is_slip, meant_aside, nearest, suggestion, unknown};

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
    assert_eq!(nearest("reps", ["duration", "replications"]), Some("replications"));
}

#[test]
fn a_line_offers_the_nearest_name_or_all_of_them() {
    let known = ["random", "round-robin"];
    assert_eq!(unknown("policy", "randm", known), "unknown policy `randm`; did you mean `random`?");
    assert_eq!(unknown("policy", "fastest", known), "unknown policy `fastest`; known are random, round-robin");
    assert_eq!(suggestion("x", []), "none is known");
    assert_eq!(meant_aside("randm", known), " (did you mean `random`?)");
    assert_eq!(meant_aside("fastest", known), "");
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
        ("pow2", "power-of-d"),
        ("p2", "power-of-d"),
        ("power-of-two-choices", "power-of-d"),
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

/// Join the idle queue is another rule than the shortest, however near the letters are.
#[test]
fn a_rule_that_is_not_here_is_not_taken_for_another() {
    for word in ["JIQ", "jiq", "join-idle-queue", "join_the_idle_queue"] {
        assert_eq!(
            (nearest(word, ["JSQ", "FCFS", "join-idle"]), absent(word)),
            (None, Some("join the idle queue")),
            "{word}"
        );
    }
    assert_eq!(nearest("jqs", ["JSQ", "FCFS"]), Some("JSQ"), "a slip of the finger");
    assert_eq!(
        unknown("policy", "jiq", ["random", "round-robin"]),
        "unknown policy `jiq`; join the idle queue is not among them; known are random, round-robin"
    );
    assert_eq!((absent("random"), absent("")), (None, None));
}

/// Initials of one name only; of two with the same nothing is said.
#[test]
fn initials_are_an_abbreviation() {
    let policies = ["round-robin", "round-trip", "random", "least-connections", "least-load", "power-of-d"];
    for (word, meant) in [
        ("lc", Some("least-connections")),
        ("LL", Some("least-load")),
        ("rt", Some("round-trip")),
        ("rr", Some("round-robin")),
        ("rnd", Some("random")),
        ("sq", Some("power-of-d")),
        ("lor", Some("least-connections")),
        ("zz", None),
    ] {
        assert_eq!(nearest(word, policies), meant, "{word}");
    }
    assert_eq!(nearest("lc", ["least-connections", "longest-chain"]), None);
    // A unit has no initials.
    assert_eq!(nearest("ms", ["Mbit/s", "Gbit/s"]), None);
}

/// A misspelt name of another program is answered with ours; a short word has to be right.
#[test]
fn misspelt_names_of_other_programs_are_known() {
    let laws = ["constant", "uniform", "exponential", "normal"];
    for (word, meant) in [
        ("poison", Some("exponential")),
        ("Poison", Some("exponential")),
        ("gausian", Some("normal")),
        ("determinstic", Some("constant")),
        ("person", None),
        ("dat", None),
    ] {
        assert_eq!(nearest(word, laws), meant, "{word}");
    }
    assert_eq!(nearest("leastcon", ["round-robin", "least-connections", "least-load"]), Some("least-connections"));
}

/// A short name of another program has no letters to spare; only what a finger does by itself is forgiven.
#[test]
fn a_slip_of_the_finger_in_a_short_name_is_known() {
    let policies = ["round-robin", "random", "least-connections", "least-load", "power-of-d", "peak-ewma"];
    for (word, meant) in [
        ("jsqq", Some("least-connections")),
        ("JJSQ", Some("least-connections")),
        ("jqs", Some("least-connections")),
        ("pod2", None),
        ("jsx", None),
        ("jsqx", None),
        ("jiqq", None),
        ("roundrobbin", Some("round-robin")),
        ("least_con", Some("least-connections")),
        ("leastcon", Some("least-connections")),
    ] {
        assert_eq!(nearest(word, policies), meant, "{word}");
    }
    assert!(is_slip("fiffo", "fifo") && is_slip("fio", "foi") && !is_slip("fifo", "fifo") && !is_slip("pss", "ps"));
}

//! His statements, each as comparisons of measurements.

use super::{MEAN, Runs, Setting};
use crate::finding::{self, Finding};
use crate::number::{Number, between, scaled, shown, slope};
use crate::verdict::{below, near, near_number};

/// The kinds of server of experiment 1; an empty value is a setting that the kind does not name.
pub(super) const WAYS: [(&str, [Setting<'static>; 2]); 6] = [
    ("helpers (16)", [("system.program.name", "apache-prefork"), ("system.program.workers", "16")]),
    ("helpers and fork (5 at first)", [("system.program.name", "apache-prefork"), ("system.program.workers", "256")]),
    ("fork", [("system.program.name", "fork"), ("system.program.workers", "")]),
    ("inetd", [("system.program.name", "inetd"), ("system.program.workers", "")]),
    ("threads (Apache event)", [("system.program.name", "apache-event"), ("system.program.workers", "")]),
    ("events (nginx)", [("system.program.name", "nginx"), ("system.program.workers", "")]),
];

pub(super) const CLIENTS: [&str; 3] = ["30", "60", "110"];
pub(super) const HELPERS: [&str; 4] = ["8", "16", "32", "48"];
/// As written in the file, and in bytes.
pub(super) const SIZES: [(&str, f64); 6] = [
    ("constant(500 B)", 500.0),
    ("constant(2 kB)", 2e3),
    ("constant(10 kB)", 10e3),
    ("constant(50 kB)", 50e3),
    ("constant(200 kB)", 200e3),
    ("constant(1 MB)", 1e6),
];
/// From 50 kB only to 500 kB only.
pub(super) const MIXES: [&str; 5] = [
    "webstone(1000: 50 kB, 0: 500 kB)",
    "webstone(750: 50 kB, 250: 500 kB)",
    "webstone(500: 50 kB, 500: 500 kB)",
    "webstone(250: 50 kB, 750: 500 kB)",
    "webstone(0: 50 kB, 1000: 500 kB)",
];
pub(super) const LISTS: [&str; 3] =
    ["webstone", "webstone(file = \"lognormal.filelist\", mean = 9.5 kB)", "webstone(mean = 9.5 kB)"];
/// The first two are below his break of 20 kB.
pub(super) const PROXY_SIZES: [(&str, f64); 5] = [
    ("constant(1 kB)", 1e3),
    ("constant(10 kB)", 10e3),
    ("constant(50 kB)", 50e3),
    ("constant(200 kB)", 200e3),
    ("constant(1 MB)", 1e6),
];
pub(super) const HITS: [&str; 4] = ["0.2", "0.5", "0.8", "0.95"];

/// All statements as a table.
pub(super) fn table(runs: &Runs) -> String {
    finding::table(&findings(runs))
}

pub(super) fn findings(runs: &Runs) -> Vec<Finding> {
    let mut all = ways(runs);
    all.extend(helpers(runs));
    all.extend(sizes(runs));
    all.extend(mixes(runs));
    all.extend(network(runs));
    all.extend(proxy(runs));
    all
}

/// The measurement of a kind of server with this number of clients.
pub(super) fn way(runs: &Runs, way: usize, users: &str, metric: &str) -> Option<Number> {
    let [name, workers] = WAYS[way].1;
    runs.measured("1-daemons", &[name, workers, ("users", users)], metric)
}

fn ways(runs: &Runs) -> Vec<Finding> {
    let mean = |of: usize, users: &str| way(runs, of, users, MEAN);
    let faster = |a: usize, b: usize| CLIENTS.map(|users| below(mean(a, users), mean(b, users)));
    let at60 = |of: &[usize]| {
        let one = |of: &usize| format!("{} {}", WAYS[*of].0, shown(mean(*of, "60"), "s"));
        format!("60 clients: {}", of.iter().map(one).collect::<Vec<_>>().join("; "))
    };
    let rates = |of: usize| {
        ["60", "110"].map(|users| near(way(runs, of, users, "throughput"), way(runs, of, "30", "throughput"), 1.0, 0.1))
    };
    let times = |of: usize| {
        [("60", 2.0), ("110", 110.0 / 30.0)].map(|(users, ratio)| near(mean(of, users), mean(of, "30"), ratio, 0.15))
    };
    let rate = |users: &str| shown(way(runs, 0, users, "throughput"), "/s");
    vec![
        Finding {
            place: "2.2.1",
            claim: "Helpers are faster than helpers that are forked as needed",
            comparisons: faster(0, 1).to_vec(),
            ours: at60(&[0, 1]),
            why: "today's Apache forks while clients arrive and then keeps the processes, so that a run that is \
                  warm pays for no fork; what is left is the cost of more processes.",
        },
        Finding {
            place: "2.2.1",
            claim: "Both are faster than a fork for each connection",
            comparisons: [faster(0, 2), faster(1, 2)].concat(),
            ours: at60(&[0, 1, 2]),
            why: "a fork is cheap today, copy on write; the server that forks here is a much smaller \
                  program than Apache, and may do less per request than Apache does without a fork.",
        },
        Finding {
            place: "2.2.1",
            claim: "Fork is faster than inetd",
            comparisons: faster(2, 3).to_vec(),
            ours: at60(&[2, 3]),
            why: "an exec of a small, shared program that is in memory is cheap beside the rest.",
        },
        Finding {
            place: "2.2.1",
            claim: "The connection rate does not depend on the number of clients (30, 60, 110: within 10 %)",
            comparisons: (0..4).flat_map(rates).collect(),
            ours: format!("helpers: {}, {}, {}", rate("30"), rate("60"), rate("110")),
            why: "a client that shares the machine, and a standard list whose 5 MB document is asked for a few \
                  times a second, make short runs uneven.",
        },
        Finding {
            place: "2.2.1",
            claim: "The response time grows in proportion to the clients (from 30: within 15 %)",
            comparisons: (0..4).flat_map(times).collect(),
            ours: ["30", "60", "110"].map(|users| shown(mean(0, users), "s")).join(", "),
            why: "a connection that finds the listen backlog full tries again after a second, and the mean of a \
                  short run hangs on those who do.",
        },
    ]
}

/// The measurement with this number of helpers.
pub(super) fn helper(runs: &Runs, workers: &str, users: &str, metric: &str) -> Option<Number> {
    runs.measured("2-helpers", &[("system.program.workers", workers), ("users", users)], metric)
}

fn helpers(runs: &Runs) -> Vec<Finding> {
    let rate = |workers: &str, users: &str| helper(runs, workers, users, "throughput");
    let alike = ["8", "32"]
        .iter()
        .flat_map(|workers| ["30", "60", "110"].map(|users| near(rate(workers, users), rate("16", users), 1.0, 0.1)));
    let ours = HELPERS.map(|workers| format!("{workers}: {}", shown(rate(workers, "60"), "/s"))).join("; ");
    vec![
        Finding {
            place: "2.2.2",
            claim: "8, 16 and 32 helpers serve at nearly the same rate (within 10 %)",
            comparisons: alike.collect(),
            ours: format!("60 clients, {ours}"),
            why: "with few helpers one 5 MB document holds a larger part of them.",
        },
        Finding {
            place: "2.2.2",
            claim: "48 helpers are slower, because resources run out",
            comparisons: ["60", "110"].map(|users| below(rate("48", users), rate("16", users))).to_vec(),
            ours: format!("60 clients, {ours}"),
            why: "a process of Apache has some megabytes of its own: 48 filled a machine of 320 MB, and are nothing \
                  to one of today.",
        },
    ]
}

/// The measurement with documents of one size.
pub(super) fn sized(runs: &Runs, size: &str, users: &str) -> Option<Number> {
    runs.measured("3-sizes", &[("size", size), ("users", users)], MEAN)
}

fn sizes(runs: &Runs) -> Vec<Finding> {
    let users = ["4", "16", "64"];
    let of = |index: usize, users: &str| sized(runs, SIZES[index].0, users);
    let flat = users.iter().flat_map(|users| [1, 2].map(|index| near(of(index, users), of(0, users), 1.0, 0.25)));
    let rises = users
        .iter()
        .flat_map(|users| [(2, 3), (3, 4), (4, 5)].map(|(small, large)| below(of(small, users), of(large, users))));
    let steep = |small: usize, large: usize, users: &str| {
        slope(of(small, users), of(large, users), SIZES[large].1 - SIZES[small].1)
    };
    let demand = |index: usize, users: &str| scaled(of(index, users), 1.0 / users.parse::<f64>().expect("a number"));
    let same = (0..SIZES.len()).map(|index| near(demand(index, "64"), demand(index, "16"), 1.0, 0.15));
    let row = |users: &str| (0..SIZES.len()).map(|index| shown(of(index, users), "s")).collect::<Vec<_>>().join(", ");
    vec![
        Finding {
            place: "2.2.3",
            claim: "The response time hardly depends on the size up to 10 kB (within 25 % of 500 B)",
            comparisons: flat.collect(),
            ours: format!("16 clients, 500 B to 1 MB: {}", row("16")),
            why: "the smaller the fixed cost of a request, the earlier bytes begin to count.",
        },
        Finding {
            place: "2.2.3",
            claim: "Then it rises",
            comparisons: rises.collect(),
            ours: "as above".into(),
            why: "the kernel sends a file from memory at gigabytes a second, so that 50 kB may cost next to nothing.",
        },
        Finding {
            place: "2.2.3",
            claim: "Finally it is linear in the size (slope from 200 kB to 1 MB as from 50 to 200 kB, within 30 %)",
            comparisons: users.iter().map(|users| near(steep(4, 5, users), steep(3, 4, users), 1.0, 0.3)).collect(),
            ours: format!(
                "16 clients: {} and {}",
                shown(scaled(steep(3, 4, "16"), 1e12), "ms/GB"),
                shown(scaled(steep(4, 5, "16"), 1e12), "ms/GB")
            ),
            why: "socket buffers hold some hundred kB: what fits is handed over at once, the rest in turns with the \
                  client.",
        },
        Finding {
            place: "2.2.3",
            claim: "The work demand (response time / clients) does not depend on the clients (64 and 16: within 15 \
                  %)",
            comparisons: same.collect(),
            ours: format!("10 kB: {} and {}", shown(demand(2, "16"), "s"), shown(demand(2, "64"), "s")),
            why: "with few clients the server also waits for the client, which shares the machine.",
        },
    ]
}

/// The measurement with a mix.
pub(super) fn mixed(runs: &Runs, mix: usize, users: &str, metric: &str) -> Option<Number> {
    runs.measured("4-mix", &[("size", MIXES[mix]), ("users", users)], metric)
}

fn mixes(runs: &Runs) -> Vec<Finding> {
    const SMALL: &str = "response_time_mean_file_1";
    let straight = ["4", "16", "32"].into_iter().flat_map(|users| {
        let (first, last) = (mixed(runs, 0, users, MEAN), mixed(runs, 4, users, MEAN));
        [1, 2, 3].map(|mix| {
            let expected = between(first, last, 1.0 - mix as f64 / 4.0);
            near(mixed(runs, mix, users, MEAN), expected, 1.0, 0.15)
        })
    });
    let small = |mix: usize, users: &str| mixed(runs, mix, users, SMALL);
    let shown_small = |users: &str| [0, 1, 2, 3].map(|mix| shown(small(mix, users), "s")).join(", ");
    let of_list = |list: usize| runs.measured("4-distributions", &[("size", LISTS[list])], MEAN);
    let three = [0, 1, 2].map(|list| shown(of_list(list), "s")).join(", ");
    vec![
        Finding {
            place: "2.2.4",
            claim: "The mean response time is a straight line in the mix of 50 kB and 500 kB (within 15 % of the \
                  line)",
            comparisons: straight.collect(),
            ours: format!(
                "16 clients: {}",
                [0, 1, 2, 3, 4].map(|mix| shown(mixed(runs, mix, "16", MEAN), "s")).join(", ")
            ),
            why: "the two sizes keep different resources busy today (the processor and the copying of bytes), and a \
                  mix lets them overlap.",
        },
        Finding {
            place: "2.2.4",
            claim: "32 clients, 16 helpers: 50 kB documents get slower as those of 500 kB become more, since they \
                  wait behind them",
            comparisons: [1, 2, 3].map(|mix| below(small(0, "32"), small(mix, "32"))).to_vec(),
            ours: shown_small("32"),
            why: "the wait for a helper is there, but the work of a 500 kB document hardly exceeds that of 50 kB.",
        },
        Finding {
            place: "2.2.4",
            claim: "4 clients: they do not, by his own reason (his text also says they do); within 15 %",
            comparisons: [1, 2, 3].map(|mix| near(small(mix, "4"), small(0, "4"), 1.0, 0.15)).to_vec(),
            ours: shown_small("4"),
            why: "without waiting for a helper there is still the processor, which a process keeps for a whole time \
                  slice: a short job waits for the longer ones of others, as it would not under ideal processor \
                  sharing.",
        },
        Finding {
            place: "2.2.4",
            claim: "The standard list and the log-normal trace differ strongly (more than 10 %)",
            comparisons: vec![!near(of_list(0), of_list(1), 1.0, 0.1)],
            ours: format!("list, trace, list scaled to the trace's mean: {three}"),
            why: "with little work per byte, a list of twice the mean size is hardly more work.",
        },
        Finding {
            place: "2.2.4",
            claim: "The list scaled to the trace's mean of 9.5 kB behaves as the trace (within 15 %)",
            comparisons: vec![near(of_list(2), of_list(1), 1.0, 0.15)],
            ours: "as above".into(),
            why: "a thousand files are opened and looked up instead of five.",
        },
    ]
}

/// Mbit/s of documents through a network, by the simulator.
pub(super) fn carried(runs: &Runs, network: &str, size: &str, bytes: f64) -> Option<Number> {
    let rate = runs.measured("5-network", &[("cluster_rate", network), ("size", size)], "throughput");
    scaled(rate, bytes * 8.0 / 1e6)
}

fn network(runs: &Runs) -> Vec<Finding> {
    let (slow, fast) = ("10 Mbit/s", "1 Gbit/s");
    let of = |network: &str| carried(runs, network, "constant(500 kB)", 500e3);
    vec![Finding {
        place: "2.2.5",
        claim: "With large documents a network of 10 Mbit/s limits what is carried, a fast one leaves the limit to \
                  the server (simulated, his own work demand)",
        comparisons: vec![
            near_number(of(slow), 10.0, 0.1),
            below(of(slow), of(fast)),
            near_number(of(fast), 15.0, 0.1),
        ],
        ours: format!("500 kB: {} and {}; his 7.5 and 15", shown(of(slow), "Mbit/s"), shown(of(fast), "Mbit/s")),
        why: "the simulated network has no headers, collisions or acknowledgements, which cost his Ethernet a \
                  quarter.",
    }]
}

/// The measurement through the proxy.
pub(super) fn through(runs: &Runs, hits: &str, size: &str, users: &str) -> Option<Number> {
    runs.measured("6-proxy-sizes", &[("system.program.hits", hits), ("size", size), ("users", users)], MEAN)
}

/// The measurement at a hit ratio: all documents (`response_time_mean`), or the cached ones alone.
pub(super) fn hit(runs: &Runs, hits: &str, size: &str, metric: &str) -> Option<Number> {
    runs.measured("7-hit-ratio", &[("system.program.hits", hits), ("size", size)], metric)
}

fn proxy(runs: &Runs) -> Vec<Finding> {
    const CACHED: &str = "response_time_mean_file_1";
    let of = |hits: &str, size: usize, users: &str| through(runs, hits, PROXY_SIZES[size].0, users);
    let per_client = |hits: &str, size: usize, users: &str| {
        scaled(of(hits, size, users), 1.0 / users.parse::<f64>().expect("a number"))
    };
    let flat = ["8", "32"]
        .iter()
        .flat_map(|users| [1, 2].map(|size| near(of("1.0", size, users), of("1.0", 0, users), 1.0, 0.25)));
    let independent = ["0.0", "1.0"].iter().flat_map(|hits| {
        (0..PROXY_SIZES.len()).map(|size| near(per_client(hits, size, "32"), per_client(hits, size, "8"), 1.0, 0.15))
    });
    let dearer = ["8", "32"]
        .iter()
        .flat_map(|users| (0..PROXY_SIZES.len()).map(|size| below(of("1.0", size, users), of("0.0", size, users))));
    let mean = |hits: &str, size: usize| hit(runs, hits, PROXY_SIZES[size].0, MEAN);
    let cached = |hits: &str, size: usize| hit(runs, hits, PROXY_SIZES[size].0, CACHED);
    let row = |of: &dyn Fn(&str, usize) -> Option<Number>, size: usize| {
        HITS.map(|hits| shown(of(hits, size), "s")).join(", ")
    };
    vec![
        Finding {
            place: "3.2.1",
            claim: "All in the cache: the response time hardly depends on the size up to 100 kB (10 and 50 kB \
                  within 25 % of 1 kB)",
            comparisons: flat.collect(),
            ours: (0..5).map(|size| shown(of("1.0", size, "8"), "s")).collect::<Vec<_>>().join(", "),
            why: "Squid copies what it keeps in pages of 4 kB, one by one: beside a fixed cost that is small today, \
                  they count.",
        },
        Finding {
            place: "3.2.1",
            claim: "The work demand (response time / clients) does not depend on the clients (32 and 8: within 15 %)",
            comparisons: independent.collect(),
            ours: format!(
                "10 kB, hits: {} and {}",
                shown(per_client("1.0", 1, "8"), "s"),
                shown(per_client("1.0", 1, "32"), "s")
            ),
            why: "the web server and the clients share a core here: with many clients they wait for each other.",
        },
        Finding {
            place: "3.2.1",
            claim: "A miss takes longer than a hit, at every size",
            comparisons: dearer.collect(),
            ours: format!("10 kB, 8 clients: {} and {}", shown(of("0.0", 1, "8"), "s"), shown(of("1.0", 1, "8"), "s")),
            why: "for large documents, passing bytes on as they come may cost no more than taking them out of the \
                  cache.",
        },
        Finding {
            place: "3.2.2",
            claim: "The mean response time falls as the hit ratio rises (20 % to 95 %)",
            comparisons: (0..PROXY_SIZES.len()).map(|size| below(mean("0.95", size), mean("0.2", size))).collect(),
            ours: format!("10 kB, 20 to 95 %: {}", row(&mean, 1)),
            why: "for large documents, passing bytes on as they come may cost no more than taking them out of the \
                  cache.",
        },
        Finding {
            place: "3.2.2",
            claim: "Cached documents below 20 kB alone get slower as the hit ratio rises",
            comparisons: [0, 1].map(|size| below(cached("0.2", size), cached("0.95", size))).to_vec(),
            ours: format!("10 kB, 20 to 95 %: {}", row(&cached, 1)),
            why: "while others wait for the web server, a hit has the proxy for itself; where the proxy is busy \
                  with misses all the time, because a miss costs it more work than a hit, a hit waits longer among \
                  them.",
        },
        Finding {
            place: "3.2.2",
            claim: "Larger ones get faster",
            comparisons: [2, 3, 4].map(|size| below(cached("0.95", size), cached("0.2", size))).to_vec(),
            ours: format!("200 kB, 20 to 95 %: {}", row(&cached, 3)),
            why: "the proxy passes misses on at the pace of the web server, and serves hits in between.",
        },
    ]
}

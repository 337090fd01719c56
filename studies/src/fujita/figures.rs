//! The figures of the page: our data, drawn like his figures.

use super::findings::{CLIENTS, HELPERS, HITS, MIXES, PROXY_SIZES, SIZES, WAYS, carried, helper, hit, mixed, sized};
use super::findings::{through, way};
use super::{MEAN, Runs};
use crate::number::Number;
use crate::picture::{Figure, Series, curves};

/// Every figure, in his order.
pub(super) fn all(runs: &Runs) -> Vec<Figure> {
    let clients = |of: &dyn Fn(&str) -> Option<Number>| points(CLIENTS.map(|users| (number(users), of(users))));
    let users = ["4", "16", "64"];
    let networks = [("10 Mbit/s", "10 Mbit/s"), ("1 Gbit/s", "network that does not matter")];
    let network_sizes = [1.0, 10.0, 50.0, 100.0, 200.0, 500.0];
    vec![
        figure(
            "daemons",
            "Response time by the way to serve (his figure 2.2)",
            ("clients", "seconds"),
            (0..WAYS.len()).map(|of| (WAYS[of].0.to_owned(), clients(&|users| way(runs, of, users, MEAN)))).collect(),
        ),
        figure(
            "helpers",
            "Response time by the number of helpers (2.4)",
            ("clients", "seconds"),
            HELPERS.map(|of| (format!("{of} helpers"), clients(&|users| helper(runs, of, users, MEAN)))).to_vec(),
        ),
        figure(
            "sizes",
            "Response time by document size (2.9)",
            ("kB", "seconds"),
            users
                .map(|of| {
                    (format!("{of} clients"), points(SIZES.map(|(text, bytes)| (bytes / 1e3, sized(runs, text, of)))))
                })
                .to_vec(),
        ),
        figure(
            "mix",
            "Response time of 50 kB documents, of 500 kB documents and of all by the mix (2.11, 2.12)",
            ("per mille of 500 kB", "seconds"),
            ["4", "32"]
                .into_iter()
                .flat_map(|users| {
                    let kinds = [
                        ("all", MEAN),
                        ("50 kB", "response_time_mean_file_1"),
                        ("500 kB", "response_time_mean_file_2"),
                    ];
                    kinds.map(|(name, metric)| {
                        let of = |mix: usize| (mix as f64 * 250.0, mixed(runs, mix, users, metric));
                        (format!("{users} clients, {name}"), points((0..MIXES.len()).map(of)))
                    })
                })
                .collect(),
        ),
        figure(
            "network",
            "Carried by document size, simulated with his demand (2.15)",
            ("kB", "Mbit/s"),
            networks
                .map(|(rate, name)| {
                    let of = |kb: f64| (kb, carried(runs, rate, &format!("constant({kb} kB)"), kb * 1e3));
                    (name.to_owned(), points(network_sizes.map(of)))
                })
                .to_vec(),
        ),
        figure(
            "proxy",
            "Response time through the proxy by document size (3.2, 3.5)",
            ("kB", "seconds"),
            [("1.0", "hits"), ("0.0", "misses")]
                .into_iter()
                .flat_map(|(hits, name)| {
                    ["8", "32"].map(|users| {
                        let of = PROXY_SIZES.map(|(text, bytes)| (bytes / 1e3, through(runs, hits, text, users)));
                        (format!("{users} clients, {name}"), points(of))
                    })
                })
                .collect(),
        ),
        figure(
            "cached",
            "Response time of cached documents alone by the hit ratio (3.8)",
            ("hits (%)", "seconds"),
            PROXY_SIZES
                .map(|(text, bytes)| {
                    let of = |hits: &str| (number(hits) * 100.0, hit(runs, hits, text, "response_time_mean_file_1"));
                    (format!("{} kB", bytes / 1e3), points(HITS.map(of)))
                })
                .to_vec(),
        ),
    ]
}

fn figure(
    file: &'static str,
    title: &'static str,
    (x, y): (&str, &str),
    series: Vec<(String, Vec<(f64, f64)>)>,
) -> Figure {
    let drawn = |(colour, (name, points)): (usize, (String, Vec<(f64, f64)>))| Series {
        name,
        published: false,
        colour,
        points,
    };
    let series: Vec<Series> = series.into_iter().enumerate().map(drawn).collect();
    Figure { file, title, svg: curves(title, x, y, &series) }
}

fn points(of: impl IntoIterator<Item = (f64, Option<Number>)>) -> Vec<(f64, f64)> {
    of.into_iter().filter_map(|(x, number)| Some((x, number?.value))).collect()
}

fn number(text: &str) -> f64 {
    text.parse().expect("a number of the experiment's file")
}

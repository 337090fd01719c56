//! Networks of queues as text.

use sojourn_model::Discipline;
use sojourn_model::network::{Cache, Keeps, Kind, Network, Population, Room};
use sojourn_stats::Span;

const ISP: &str = r#"
[[station]]
name = "web"
discipline = "limited-ps"
helpers = 16
cores = 2

[[station]]
name = "line"
rate = "1 Mbit/s"

[[station]]
name = "backbone"
discipline = "delay"

[[station]]
name = "proxy"
discipline = "ps"
rates = [1, 1.5]
speed = 2

[[chain]]
name = "users"
users = 40
think = "exponential(mean = 5 s)"
size = "exponential(mean = 8 kB)"

[[chain.branch]]
name = "hit"
share = 0.25
steps = [{ station = "proxy", demand = "10 ms" }]

[[chain.branch]]
name = "miss"
steps = [
  { station = "proxy", demand = "10 ms + 1 us/B", visits = 2 },
  { station = "line" },
  { station = "backbone", demand = "erlang(k = 4, mean = 195 ms)" },
]

[[chain]]
name = "strangers"
arrivals = "exponential(rate = 2 /s)"
steps = [{ station = "line", size = "1250 B" }, { station = "web", demand = "exponential(mean = 20 ms)" }]
"#;

#[test]
fn a_network_is_read() {
    let network = Network::from_toml(ISP).unwrap();
    let names: Vec<_> = network.stations.iter().map(|station| station.name.as_str()).collect();
    assert_eq!(names, ["web", "line", "backbone", "proxy"]);
    let [web, line, backbone, proxy] = network.stations.as_slice() else { panic!("four") };
    let limited = Discipline::LimitedPs { helpers: 16 };
    assert_eq!(web.kind, Kind::Queue { discipline: limited, cores: 2, rates: Vec::new() });
    assert_eq!(line.kind, Kind::Queue { discipline: Discipline::Ps, cores: 1, rates: Vec::new() });
    assert_eq!((web.rate(0), web.rate(1), web.rate(5), web.largest_rate()), (0.0, 1.0, 2.0, 2.0));
    assert_eq!((backbone.is_delay(), backbone.rate(1)), (true, f64::INFINITY));
    assert_eq!((proxy.rate(1), proxy.rate(2), proxy.rate(9), proxy.largest_rate()), (2.0, 3.0, 3.0, 3.0));

    let [users, strangers] = network.chains.as_slice() else { panic!("two") };
    assert!(matches!(users.population, Population::Closed { users: 40, ref think } if think.mean() == 5.0));
    assert_eq!((users.arrival_rate(), strangers.arrival_rate()), (None, Some(2.0)));
    assert_eq!(users.shares(f64::NAN), [0.25, 0.75]);
    let miss = &users.branches[1];
    assert_eq!((miss.name.as_str(), miss.steps[0].visits, miss.steps[1].station), ("miss", 2, 1));
    // 8 kB at 1 Mbit/s are 64 ms, and their variance that of the exponential law.
    let (mean_s, variance_s2) = users.demand_moments(&miss.steps[1]);
    assert!((mean_s - 0.064).abs() < 1e-15 && (variance_s2 - 0.064 * 0.064).abs() < 1e-15);
    assert!(users.demand_is_exponential(&miss.steps[1]) && !users.demand_is_exponential(&miss.steps[0]));
    assert!((strangers.demand_mean(&strangers.branches[0].steps[0]) - 0.01).abs() < 1e-15);
    // Work of a user: at the proxy 0.25 x 10 + 0.75 x 2 x (10 + 8) ms, at the line 0.75 x 64 ms.
    let work = network.work(users, f64::NAN);
    for (got, wanted) in work.iter().zip([0.0, 0.048, 0.75 * 0.195, 0.0025 + 0.027]) {
        assert!((got - wanted).abs() < 1e-15, "{work:?}");
    }
}

#[test]
fn what_open_chains_ask_is_summed_and_too_much_is_named() {
    let network = Network::from_toml(ISP).unwrap();
    let loads = network.open_loads(&[f64::NAN, f64::NAN]);
    for (got, wanted) in loads.iter().zip([0.02, 0.02, 0.0, 0.0]) {
        assert!((got - wanted).abs() < 1e-15, "{loads:?}");
    }
    assert_eq!(network.unstable(&[f64::NAN, f64::NAN]), None);
    let fast = ISP.replace("rate = 2 /s", "rate = 150 /s");
    let unstable = Network::from_toml(&fast).unwrap().unstable(&[f64::NAN, f64::NAN]).unwrap();
    assert_eq!((unstable.chain, unstable.station), (1, 0), "web: 3 cores' worth of work for 2");
    assert!((unstable.load - 1.5).abs() < 1e-12 && (unstable.largest_rate - 100.0).abs() < 1e-9);
}

#[test]
fn sizes_are_told_apart_by_class() {
    let classed = |limits: &str| {
        let text = ISP.replace("size = \"exponential", &format!("size_limits = {limits}\nsize = \"exponential"));
        Network::from_toml(&text).map(|network| network.chains[0].clone())
    };
    let classes = classed(r#"["4 kB", "16 kB"]"#).unwrap().size_classes();
    // Exponential of mean m: P(X <= x) = 1 - e^(-x/m), E[X; X <= x] = m - (m + x) e^(-x/m).
    let part = |x: f64| 8e3 - (8e3 + x) * (-x / 8e3).exp();
    let shares = [1.0 - (-0.5f64).exp(), (-0.5f64).exp() - (-2.0f64).exp(), (-2.0f64).exp()];
    let parts = [part(4e3), part(16e3) - part(4e3), 8e3 - part(16e3)];
    for ((got, share), part) in classes.iter().zip(shares).zip(parts) {
        assert!((got.0 - share).abs() < 1e-12 && (got.1 / (part / share) - 1.0).abs() < 1e-12, "{classes:?}");
    }
    assert!(Network::from_toml(ISP).unwrap().chains[0].size_classes().is_empty());
    for (limits, needle) in
        [(r#"["16 kB", "4 kB"]"#, "ascending"), (r#"["0 B"]"#, "not above 0"), (r#"["4 s"]"#, "size_limits")]
    {
        let message = classed(limits).expect_err(limits);
        assert!(message.contains(needle) && message.contains("line") && !message.contains('\n'), "{message}");
    }
    let nothing = ISP.replace("name = \"strangers\"", "name = \"strangers\"\nsize_limits = [\"1 kB\"]");
    assert!(Network::from_toml(&nothing).unwrap_err().contains("`size`"));
}

#[test]
fn a_cache_chooses_between_two_branches() {
    let cached = |cache: &str| {
        let text = ISP.replace("size = \"exp", &format!("cache = {{ {cache} }}\nsize = \"exp"));
        let text = text.replace("share = 0.25\n", "");
        Network::from_toml(&text).map(|network| network.chains[0].clone())
    };
    let chain = cached(r#"policy = "lru", size = 2, objects = 4, popularity = 1"#).unwrap();
    assert_eq!(chain.shares(0.6), [0.6, 0.4]);
    let Some(Cache { keeps, popularity }) = chain.cache else { panic!("a cache") };
    assert_eq!(keeps, Keeps::Lru(Room::Objects(2)));
    let wanted = [12.0, 6.0, 4.0, 3.0].map(|weight| weight / 25.0);
    assert!(popularity.iter().zip(wanted).all(|(got, wanted)| (got - wanted).abs() < 1e-15), "{popularity:?}");
    let bytes = cached(r#"policy = "lfu", size = "1 MB", popularity = [1, 3.0, 2]"#).unwrap().cache.unwrap();
    assert_eq!(bytes.keeps, Keeps::Lfu(Room::Bytes(1_000_000)));
    assert_eq!(bytes.popularity[..], [0.5, 2.0 / 6.0, 1.0 / 6.0], "the most popular first");
    let timed = cached(r#"policy = "ttl", ttl = "1 min", renewed = true, objects = 9, popularity = 0"#).unwrap();
    assert!(matches!(timed.cache.unwrap().keeps, Keeps::Ttl { ttl, renewed: true } if ttl == Span(60_000_000_000)));
    let cases = [
        (r#"policy = "lru", objects = 9, popularity = 1"#, &["size = 100"][..]),
        (r#"policy = "lruu", size = 9, objects = 9, popularity = 1"#, &["did you mean `lru`"]),
        (r#"policy = "lru", size = 0, objects = 9, popularity = 1"#, &["size", "above 0"]),
        (r#"policy = "lru", size = 9, popularity = 1"#, &["objects = 1000"]),
        (r#"policy = "lru", size = 9, objects = 3, popularity = [1, 2]"#, &["leave it out"]),
        (r#"policy = "lru", size = 9, popularity = [1, 0]"#, &["above 0"]),
        (r#"policy = "lru", size = 9, popularity = "none.txt""#, &["cannot read", "none.txt"]),
        (r#"policy = "lru", size = 9, objects = 9, popularity = 1, ttl = "1 s""#, &["ttl", "not lru"]),
        (r#"policy = "ttl", objects = 9, popularity = 1"#, &["ttl = \"60 s\""]),
        (r#"policy = "ttl", ttl = "1 s", size = 3, objects = 9, popularity = 1"#, &["size", "leave it out"]),
    ];
    for (cache, needles) in cases {
        let message = cached(cache).expect_err(cache);
        for needle in needles {
            assert!(message.contains(needle), "{cache} said {message:?}, not {needle:?}");
        }
    }
    // The cache is there, and so is a share.
    let both = ISP
        .replace("size = \"exp", "cache = { policy = \"lru\", size = 1, objects = 3, popularity = 1 }\nsize = \"exp");
    assert!(Network::from_toml(&both).unwrap_err().contains("the cache chooses"));
}

#[test]
fn bad_networks_are_refused_in_one_line_with_the_place_and_the_remedy() {
    let cases: &[(&str, &str, &[&str])] = &[
        ("station = \"backbone\"", "station = \"backbon\"", &["line 38", "`backbon`", "did you mean `backbone`"]),
        ("name = \"backbone\"", "name = \"spine\"", &["line 38", "`backbone`"]),
        ("{ station = \"line\" },", "", &[]),
        ("share = 0.25", "share = 1.25", &["line 33", "sum to 1.25"]),
        ("share = 0.25", "", &["line 33", "share", "one branch"]),
        ("name = \"miss\"", "name = \"miss\"\nshare = 0.8", &["line 23", "`users`", "sum to 1.05"]),
        ("helpers = 16", "", &["line 4", "helpers = N"]),
        ("helpers = 16", "helpers = 0", &["line 5", "at least 1"]),
        ("discipline = \"ps\"", "discipline = \"pss\"", &["line 18", "pss", "did you mean `ps`"]),
        ("discipline = \"delay\"", "discipline = \"delay\"\ncores = 2", &["line 15", "cores"]),
        ("discipline = \"delay\"", "discipline = \"priority\"", &["line 14", "the jobs of a chain have none"]),
        ("discipline = \"delay\"", "discipline = \"round-robin\"", &["line 14", "quantum"]),
        ("discipline = \"delay\"", "discipline = \"lcfs\"\nquantum = \"1 ms\"", &["line 15", "only round-robin"]),
        ("discipline = \"delay\"", "discipline = \"time-slices\"", &["line 14", "time-slices needs `quantum`"]),
        ("discipline = \"delay\"", "discipline = \"delay\"\nquantum = \"1 ms\"", &["line 15", "all jobs at once"]),
        ("discipline = \"delay\"", "discipline = \"fcfs\"\npreemptive = true", &["line 15", "only lcfs"]),
        ("discipline = \"delay\"", "discipline = \"least-attained-service\"\ncores = 2", &["line 13", "1 core only"]),
        ("cores = 2", "cores = 0", &["line 3", "cores", "at least 1"]),
        (
            "cores = 2",
            "cores = \"two\"",
            &["line 6: invalid type: string \"two\": it is a whole number, without quotes"],
        ),
        ("speed = 2", "speed = 0.0", &["line 17", "speed", "above 0"]),
        ("rates = [1, 1.5]", "rates = [1, 0]", &["line 17", "rates", "above 0"]),
        ("rates = [1, 1.5]", "rates = [1, 2]\ncores = 2", &["line 20", "either cores or rates"]),
        ("discipline = \"ps\"", "discipline = \"fcfs\"", &["rates", "\"ps\""]),
        ("rate = \"1 Mbit/s\"", "rate = \"1 MB\"", &["line 10", "rate"]),
        ("rate = \"1 Mbit/s\"", "", &["line 9", "how does it serve"]),
        ("{ station = \"line\" }", "{ station = \"line\", demand = \"1 ms\" }", &["is a link", "500 B"]),
        ("demand = \"10 ms\"", "size = \"3 B\"", &["only a link"]),
        (", demand = \"10 ms\"", "", &["what work is it at `proxy`"]),
        ("size = \"exponential(mean = 8 kB)\"", "", &["line 36", "demand", "`users` a `size`"]),
        ("visits = 2", "visits = 0", &["visits", "at least 1"]),
        ("visits = 2", "vists = 2", &["`vists`", "did you mean `visits`"]),
        ("users = 40", "users = 0", &["line 23", "at least 1"]),
        ("users = 40", "", &["line 23", "users = 40", "arrivals"]),
        ("users = 40", "users = 40\narrivals = \"2 s\"", &["line 24", "either users"]),
        ("arrivals = \"exponential(rate = 2 /s)\"", "arrivals = \"pareto(alpha = 0.9, min = 1 s)\"", &["finite"]),
        ("name = \"strangers\"", "name = \"users\"", &["line 42", "`users`", "two"]),
        ("name = \"strangers\"", "name = \"web\"", &["line 42", "`web`", "two"]),
        ("name = \"strangers\"", "name = \"my users\"", &["line 42", "`my users`", "`-`"]),
        ("name = \"hit\"", "name = \"miss\"", &["line 33", "two branches"]),
        ("exponential(mean = 20 ms)", "-1 s", &["line 44", "demand"]),
    ];
    for (good, bad, needles) in cases {
        assert!(ISP.contains(good), "{good}");
        let text = ISP.replacen(good, bad, 1);
        if needles.is_empty() {
            Network::from_toml(&text).expect("the line is still visited by strangers");
            continue;
        }
        let message = Network::from_toml(&text).expect_err(bad);
        assert!(!message.contains('\n'), "{message}");
        for needle in *needles {
            assert!(message.contains(needle), "{good} -> {bad:?} said {message:?}, not {needle:?}");
        }
    }
    let lonely = format!("{ISP}\n[[station]]\nname = \"lonely\"\ndiscipline = \"ps\"\n");
    let message = Network::from_toml(&lonely).unwrap_err();
    assert!(message.contains("no step visits the station `lonely`") && message.contains("line 47"), "{message}");
    let idle = ISP.replace("size = \"1250 B\"", "size = \"0 B\"").replace("exponential(mean = 20 ms)", "0 s");
    let message = Network::from_toml(&idle).unwrap_err();
    assert!(message.contains("`strangers` has no work") && message.contains("line 42"), "{message}");
    assert!(Network::from_toml("").unwrap_err().contains("[[station]]"));
}

//! GI/G/1: exact where service is exponential, and how wrong the approximations are.

use sojourn_stats::Stream;
use sojourn_theory::formula::general::gig1::{self, GiM1};
use sojourn_theory::formula::general::gimc::GiMc;
use sojourn_theory::formula::general::{ekm1, mg1};
use sojourn_theory::formula::markovian::{mm1, mmc};
use sojourn_theory::law::{Gaps, Moments, balanced_means};

use crate::naive::{Rule, drawn, is_mean_of, law, play};
use crate::oracle::Chain;
use crate::{agree, printed};

fn wait(gaps: Moments) -> f64 {
    GiM1::solve(&Gaps::all(gaps), 1.0).unwrap().waiting_time_mean(1)
}

#[test]
fn round_robin_over_exponential_servers() {
    printed(ekm1::response_time_mean(1, 0.8, 1.0), "5");
    printed(ekm1::response_time_mean(2, 0.8, 1.0), "3.843980");
    let constant = GiM1::solve(&Gaps::all(Moments::constant(1.25)), 1.0).unwrap();
    printed(constant.response_time_mean(), "2.692731");
    // The limit of many servers, from above.
    let many = ekm1::response_time_mean(1_000_000, 0.8, 1.0);
    assert!(many > constant.response_time_mean());
    agree(many, constant.response_time_mean(), 1e-5);
    assert_eq!(ekm1::response_time_mean(4, 1.0, 1.0), f64::INFINITY);
    // The response time is exponential.
    agree(ekm1::response_time_quantile(0.99, 1, 0.8, 1.0), 5.0 * 100f64.ln(), 1e-12);
}

#[test]
fn round_robin_against_the_chain() {
    for servers in [1, 2, 4, 8] {
        for rho in [0.3, 0.7, 0.9] {
            for places in [1, 3] {
                let chain = Chain {
                    arrival_phases: servers,
                    arrival_rate: rho,
                    branches: balanced_means(1.0),
                    cores: 1,
                    places,
                    cut: 400,
                };
                let chain = chain.solve();
                let gaps = Gaps::every_nth(Moments::exponential(1.0 / rho / servers as f64), servers as u32);
                let solved = GiM1::solve(&gaps, 1.0).unwrap();
                agree(solved.response_time_mean(), chain.response_time_mean, 1e-9);
                agree(solved.waiting_time_mean(places as u32), chain.waiting_time_mean, 1e-9);
                agree(ekm1::response_time_mean(servers as u32, rho, 1.0), chain.response_time_mean, 1e-9);
            }
        }
    }
}

#[test]
fn exact_and_approximate_waits() {
    let (h2, d) = (Moments::hyperexponential(2.0, 4.0), Moments::constant(1.25));
    printed(wait(h2), "2.162278");
    printed(gig1::kraemer_langenbach_belz(&Gaps::all(h2), 1.0, 1.0), "2.0726");
    printed(wait(d), "1.692731");
    printed(gig1::kraemer_langenbach_belz(&Gaps::all(d), 1.0, 1.0), "1.692963");
    printed(gig1::allen_cunneen(1, &Gaps::all(d), 1.0, 1.0), "2.0");
}

#[test]
fn all_of_them_are_exact_for_poisson_arrivals() {
    for rho in [0.1, 0.5, 0.9, 0.999_999] {
        let poisson = Gaps::all(Moments::exponential(1.0 / rho));
        let exact = GiM1::solve(&poisson, 1.0).unwrap();
        agree(exact.sigma, rho, 1e-12);
        agree(exact.response_time_mean(), mm1::response_time_mean(rho, 1.0), 1e-9);
        for scv in [0.0, 1.0, 4.0] {
            let pollaczek = mg1::waiting_time_mean(rho, 1.0, scv);
            agree(gig1::kraemer_langenbach_belz(&poisson, 1.0, scv), pollaczek, 1e-12);
            agree(gig1::allen_cunneen(1, &poisson, 1.0, scv), pollaczek, 1e-12);
        }
        let shared = Gaps::all(Moments::exponential(0.25 / rho));
        agree(gig1::allen_cunneen(4, &shared, 1.0, 1.0), mmc::waiting_time_mean(4, 4.0 * rho, 1.0), 1e-12);
    }
}

#[test]
fn kingman_bounds_the_exact_wait_and_is_its_limit() {
    let laws = |mean| {
        [
            Moments::constant(mean),
            Moments::erlang(3, mean),
            Moments::exponential(mean),
            Moments::hyperexponential(mean, 4.0),
        ]
    };
    for rho in [0.2, 0.5, 0.8, 0.95] {
        for gaps in laws(1.0 / rho) {
            assert!(wait(gaps) <= gig1::kingman_bound(&Gaps::all(gaps), 1.0, 1.0) * (1.0 + 1e-12));
        }
    }
    for gaps in laws(1.0 / 0.99999) {
        agree(wait(gaps), gig1::kingman_bound(&Gaps::all(gaps), 1.0, 1.0), 1e-4);
    }
}

#[test]
fn parts_of_a_stream() {
    let poisson = Moments::exponential(0.5);
    // A part of a Poisson stream taken by chance is Poisson; every second arrival of it is Erlang.
    let thinned = Gaps::each_with_probability(poisson, 0.25);
    assert!(thinned.is_poisson() && !Gaps::every_nth(poisson, 2).is_poisson());
    assert_eq!((thinned.mean_s(), thinned.scv()), (2.0, 1.0));
    for s in [1e-9, 0.1, 1.0, 30.0] {
        let transform = |gaps: &Gaps| gaps.transform_complement(s).unwrap();
        agree(transform(&thinned), transform(&Gaps::all(Moments::exponential(2.0))), 1e-12);
        let dealt = Gaps::every_nth(poisson, 3);
        agree(transform(&dealt), transform(&Gaps::all(Moments::erlang(3, 1.5))), 1e-12);
        let constant = Gaps::every_nth(Moments::constant(0.5), 4);
        agree(transform(&constant), transform(&Gaps::all(Moments::constant(2.0))), 1e-12);
    }
    // The transform's slope at 0 is the mean, its curvature the second moment.
    for shape in [Moments::erlang(4, 3.0), Moments::hyperexponential(3.0, 5.0), Moments::constant(3.0)] {
        for gaps in [Gaps::all(shape), Gaps::each_with_probability(shape, 0.3), Gaps::every_nth(shape, 3)] {
            let s = 1e-4 / gaps.mean_s();
            let u = gaps.transform_complement(s).unwrap();
            let second = 2.0 * (s * gaps.mean_s() - u) / (s * s);
            // What is left is s times the third moment.
            let error = second / gaps.mean_s().powi(2) - 1.0 - gaps.scv();
            assert!(error.abs() < 5e-3 * (1.0 + gaps.scv()), "{gaps:?}: {error}");
        }
    }
}

#[test]
fn any_law_of_gaps_has_its_root() {
    // A bound that cuts nothing off makes the transform an integral.
    for (bounded, plain) in [
        ("erlang(k = 2, mean = 1.25 s, max = 90 s)", "erlang(k = 2, mean = 1.25 s)"),
        ("hyperexponential(mean = 1.25 s, cv = 3, cap = 900 s)", "hyperexponential(mean = 1.25 s, cv = 3)"),
    ] {
        let solve = |text: &str, servers: u32, service_s: f64| {
            let law = law(text);
            GiMc::solve(&Gaps::all(Moments::of(&law)).with_law(&law), servers, service_s).unwrap()
        };
        for (servers, service_s) in [(1, 1.0), (4, 4.5)] {
            let (computed, known) = (solve(bounded, servers, service_s), solve(plain, servers, service_s));
            agree(computed.response_time_mean(), known.response_time_mean(), 1e-9);
            agree(computed.delay_probability, known.delay_probability, 1e-9);
        }
    }
    // One server, jobs played one by one; an interval fails a right formula with a chance below 1e-8.
    for (seed, gaps) in
        ["pareto(alpha = 1.8, mean = 1.5 s)", "lognormal(mean = 1.5 s, cv = 2)", "uniform(low = 1 s, high = 2 s)"]
            .into_iter()
            .enumerate()
    {
        let gaps_law = law(gaps);
        let solved = GiMc::solve(&Gaps::all(Moments::of(&gaps_law)).with_law(&gaps_law), 1, 1.0).unwrap();
        let jobs = drawn(400_000, gaps, "exponential(mean = 1 s)", seed as u64);
        let served = play(Rule::First, usize::MAX, &jobs, &mut Stream::new(1, "", ""));
        let series = |of: &dyn Fn(f64) -> f64| served.iter().map(|job| of(job.wait)).collect::<Vec<f64>>();
        is_mean_of(solved.waiting_time_mean(1), &series(&|wait| wait), 0.2, gaps);
        is_mean_of(solved.delay_probability, &series(&|wait| f64::from(u8::from(wait > 0.0))), 0.1, gaps);
    }
}

#[test]
fn several_servers_at_the_ends() {
    let poisson = |rate: f64| Gaps::all(Moments::exponential(1.0 / rate));
    for (servers, rate) in [(1, 0.5), (3, 2.0), (50, 45.0), (1000, 900.0)] {
        let solved = GiMc::solve(&poisson(rate), servers, 1.0).unwrap();
        agree(solved.delay_probability, mmc::erlang_c(rate, servers), 1e-9);
        agree(solved.response_time_mean(), mmc::response_time_mean(servers, rate, 1.0), 1e-12);
    }
    // Where c (1-omega) is a whole number the sum has a term of 0 by 0: a Poisson stream of 3 for 4 servers.
    agree(GiMc::solve(&poisson(3.0), 4, 1.0).unwrap().delay_probability, mmc::erlang_c(3.0, 4), 1e-9);
    // Constant gaps, at which no job has to wait.
    let idle = GiMc::solve(&Gaps::all(Moments::constant(1.0)), 400, 1.0).unwrap();
    assert!(idle.delay_probability < 1e-12, "{idle:?}");
    assert!(GiMc::solve(&poisson(2.0), 2, 1.0).is_none() && GiMc::solve(&poisson(2.0), 100_000, 1.0).is_none());
    // What is known by two moments only has no transform.
    assert!(GiMc::solve(&Gaps::all(Moments::general(2.0, 0.7)), 1, 1.0).is_none());
}

//! Limited PS: the two-moment form against exact solutions, with its stated error.

use serde::Deserialize;
use sojourn_theory::formula::general::{gig1, mg1};
use sojourn_theory::formula::markovian::mm1;
use sojourn_theory::formula::sharing::{lps, mg1_ps};
use sojourn_theory::law::{Gaps, Moments, balanced_means};

use crate::oracle::{Chain, Steady};
use crate::{agree, printed};

#[derive(Deserialize)]
struct Table {
    case: Vec<Case>,
}

/// Exact numbers of M/H2/1-LPS(K) as printed, for each K.
#[derive(Deserialize)]
pub(crate) struct Case {
    pub(crate) scv: f64,
    pub(crate) utilisation: f64,
    pub(crate) places: Vec<u32>,
    pub(crate) response: Vec<String>,
    #[serde(default)]
    pub(crate) wait: Vec<String>,
}

pub(crate) fn exact_table() -> Vec<Case> {
    toml::from_str::<Table>(include_str!("../data/limited_ps.toml")).unwrap().case
}

fn chain(arrival_phases: usize, scv: f64, utilisation: f64, cores: usize, places: u32) -> Steady {
    let chain = Chain {
        arrival_phases,
        arrival_rate: utilisation * cores as f64,
        branches: balanced_means(scv),
        cores,
        places: places as usize,
        cut: if places > 20 { 400 } else { 1500 },
    };
    chain.solve()
}

#[test]
fn the_exact_table_and_the_chain_agree_and_the_form_is_as_near_as_it_says() {
    for case in exact_table() {
        for (i, &places) in case.places.iter().enumerate() {
            let exact = chain(1, case.scv, case.utilisation, 1, places);
            printed(exact.response_time_mean, &case.response[i]);
            if let Some(wait) = case.wait.get(i) {
                printed(exact.full, wait);
            }
            let wanted: f64 = case.response[i].parse().unwrap();
            let form = lps::response_time_mean(Some(places), case.utilisation, 1.0, case.scv);
            if places == 1 {
                agree(form, wanted, 1e-12);
            }
            let error = form / wanted - 1.0;
            let stated = if case.scv == 4.0 { 0.033 } else { 0.089 };
            assert!((-1e-5..=stated + 0.0005).contains(&error), "K = {places}: {error}");
        }
    }
    // The worst cases that the module names.
    let error =
        |scv| lps::response_time_mean(Some(2), 0.5, 1.0, scv) / chain(1, scv, 0.5, 1, 2).response_time_mean - 1.0;
    printed(100.0 * error(4.0), "3.3");
    printed(100.0 * error(10.0), "8.9");
    printed(lps::response_time_mean(Some(8), 0.8, 1.0, 10.0), "8.775");
}

#[test]
fn the_form_is_exact_where_it_says_so() {
    for rho in [0.01, 0.3, 0.5, 0.8, 0.99] {
        for scv in [0.0, 0.5, 1.0, 4.0, 10.0, 110.0] {
            let form = |k| lps::response_time_mean(k, rho, 1.0, scv);
            agree(form(Some(1)), mg1::response_time_mean(rho, 1.0, scv), 1e-12);
            agree(form(None), mg1_ps::response_time_mean(rho, 1.0), 1e-12);
            agree(form(Some(1_000_000)), mg1_ps::response_time_mean(rho, 1.0), 1e-12);
            for k in [1, 2, 7, 50] {
                agree(lps::response_time_mean(Some(k), rho, 1.0, 1.0), mm1::response_time_mean(rho, 1.0), 1e-12);
                // The general form contains it.
                let gaps = Gaps::all(Moments::exponential(1.0 / rho));
                let wait = gig1::kraemer_langenbach_belz(&gaps, 1.0, scv);
                let general = lps::sharing_response_time_mean(wait, rho, 1.0, 1.0, scv, Some(k - 1));
                agree(general, form(Some(k)), 1e-12);
            }
        }
    }
    assert_eq!(lps::response_time_mean(Some(4), 1.0, 1.0, 4.0), f64::INFINITY);
    assert_eq!(lps::response_time_mean(Some(4), 0.5, 1.0, f64::INFINITY), f64::INFINITY);
    assert_eq!(lps::response_time_mean(None, 0.5, 1.0, f64::INFINITY), 2.0);
}

#[test]
fn with_renewal_arrivals_and_several_cores_it_is_as_near_as_it_says() {
    let mut worst = [0.0f64; 6];
    let mut check = |phases: u32, cores: u32, scv: f64, rho: f64, places: u32| {
        let exact = chain(phases as usize, scv, rho, cores as usize, places);
        let source = Moments::exponential(1.0 / (rho * f64::from(cores * phases)));
        let gaps = Gaps::every_nth(source, phases);
        let wait = match cores {
            1 => gig1::kraemer_langenbach_belz(&gaps, 1.0, scv),
            _ => gig1::allen_cunneen(cores, &gaps, 1.0, scv),
        };
        let beyond = Some(places - cores);
        let form = lps::sharing_response_time_mean(wait, rho, gaps.scv(), 1.0, scv, beyond);
        let error = form / exact.response_time_mean - 1.0;
        let stated = lps::largest_error(gaps.is_poisson(), cores, scv).unwrap();
        let case = format!("E{phases}/H2({scv})/{cores}-LPS({places}) at {rho}: {error}");
        assert!((-0.011..=stated).contains(&error), "{case}");
        let group = match (phases, cores) {
            (1, 1) => 0,
            (_, 1) => 2,
            _ => 4,
        };
        let group = group + usize::from(scv > 4.0);
        worst[group] = worst[group].max(error / stated);
    };
    for (phases, cores) in [(1, 1), (2, 1), (4, 1), (1, 2), (4, 2), (1, 4), (4, 4)] {
        for scv in [1.5, 4.0, 10.0] {
            for rho in [0.1, 0.4, 0.5, 0.7, 0.9] {
                for places in [1, 2, 3, 4, 8] {
                    if places >= cores {
                        check(phases, cores, scv, rho, places);
                    }
                }
            }
        }
    }
    for (cores, scv, rho, places) in
        [(1, 4.0, 0.5, 3), (1, 10.0, 0.5, 3), (1, 10.0, 0.1, 1), (2, 4.0, 0.5, 2), (4, 10.0, 0.6, 4)]
    {
        check(8, cores, scv, rho, places);
    }
    // And not by much: the error stated is met within a twentieth of it.
    assert!(worst.iter().all(|&part| part > 0.95), "{worst:?}");
}

#[test]
fn sharing_renewal_arrivals_without_limit() {
    for (phases, rho) in [(2, 0.5), (4, 0.5), (4, 0.7)] {
        for scv in [1.0, 4.0, 10.0] {
            // 30 places at these loads are as good as no limit.
            let exact = chain(phases, scv, rho, 1, 30).response_time_mean;
            let gaps = Gaps::every_nth(Moments::exponential(1.0 / rho / phases as f64), phases as u32);
            let wait = gig1::kraemer_langenbach_belz(&gaps, 1.0, scv);
            let form = lps::sharing_response_time_mean(wait, rho, gaps.scv(), 1.0, scv, None);
            let error = form / exact - 1.0;
            assert!((-0.011..0.09).contains(&error), "E{phases}/H2({scv})/1-PS at {rho}: {error}");
        }
    }
}

//! Retry storms by means alone, against what an event loop without any randomness has exactly, and states against what is
//! known.

use sojourn_model::system::Budget;
use sojourn_theory::storm::fluid::{Outcome, after};
use sojourn_theory::storm::{Storm, answer, states};

/// One server of 0.1 s, a time-out just below 0.5 s, three retries each 50 ms after a time-out, and one pause: the cells
/// are those of `crates/sim/tests/it/storms.rs`.
fn storm(rate: f64) -> Storm {
    Storm {
        rate,
        service_s: 0.1,
        timeout_s: 0.5,
        retries: 3,
        backoff_s: 0.05,
        budget: None,
        work_goes_on: true,
        is_markovian: false,
        gaps_scv: 0.0,
        service_scv: 0.0,
        standstill_s: Some(1.0),
    }
}

fn tokens(per_request: f64) -> Option<Budget> {
    Some(Budget::Tokens { per_request, most: 10 })
}

fn recovers(storm: &Storm, pause_s: f64) -> Option<f64> {
    match after(storm, pause_s).expect("it is followed to its end") {
        Outcome::Recovers(after_s) => Some(after_s),
        Outcome::Stays => None,
    }
}

#[test]
fn the_fluid_has_the_states_of_the_event_loop() {
    assert_eq!(recovers(&storm(7.0), 1.0), None);
    for alive in [
        Storm { retries: 0, ..storm(7.0) },
        Storm { budget: tokens(0.1), ..storm(7.0) },
        Storm { budget: tokens(0.2), ..storm(7.0) },
        Storm { budget: Some(Budget::Share(0.1)), ..storm(7.0) },
        Storm { budget: tokens(0.2), ..storm(8.2) },
        Storm { budget: tokens(0.2), ..storm(8.3) },
        Storm { budget: tokens(0.1), ..storm(9.0) },
    ] {
        assert!(recovers(&alive, 1.0).is_some(), "{alive:?}");
    }
    // The bounds: 10 / 1.1 = 9.09 with the budget, 10 / 4 = 2.5 without one.
    assert_eq!(recovers(&Storm { budget: tokens(0.1), ..storm(9.1) }, 1.0), None);
    assert_eq!(recovers(&storm(2.6), 10.0), None);
    assert!(recovers(&storm(2.4), 10.0).is_some());
    // 8.0 s in the event loop, which tells by whole seconds.
    let after_s = recovers(&Storm { budget: tokens(0.1), ..storm(7.0) }, 1.0).unwrap();
    assert!((after_s - 8.0).abs() < 2.0, "{after_s}");
    // Near its bound it takes longer than 270 s and less than 570 s.
    let after_s = recovers(&Storm { budget: tokens(0.2), ..storm(8.3) }, 1.0).unwrap();
    assert!(after_s > 270.0 && after_s < 570.0, "{after_s}");
}

/// Within a step of 50 ms of .65, .50, .45 and .40 s; of .95 s at the lowest rate, at which three requests come in such a
/// pause and are no fluid, within three.
#[test]
fn the_shortest_fatal_pause_of_the_fluid() {
    for (rate, fatal_s, within_s) in
        [(3.0, 0.95, 0.151), (5.0, 0.65, 0.051), (7.0, 0.5, 0.051), (8.0, 0.45, 0.051), (9.0, 0.4, 0.051)]
    {
        let is_fatal = |step: &u32| recovers(&storm(rate), f64::from(*step) * 0.05).is_none();
        let found_s = f64::from((1..40).find(is_fatal).unwrap()) * 0.05;
        assert!((found_s - fatal_s).abs() < within_s, "{rate} /s: {found_s} s");
    }
}

/// HotOS 2021, section 2.1: 300 queries a second, one retry at once after 1 s, an outage of 10 s. 121 s in the event loop.
#[test]
fn a_database_with_one_retry() {
    let database = |rate| Storm { service_s: 1.0 / 300.0, timeout_s: 1.0, retries: 1, backoff_s: 0.0, ..storm(rate) };
    assert_eq!(recovers(&database(280.0), 10.0), None);
    assert_eq!(recovers(&database(151.0), 10.0), None);
    let after_s = recovers(&database(140.0), 10.0).unwrap();
    assert!((after_s - 121.0).abs() < 2.0, "{after_s}");
}

fn markovian(rate: f64) -> Storm {
    Storm { service_s: 0.01, timeout_s: 0.2, is_markovian: true, standstill_s: None, ..storm(rate) }
}

/// Without retries the states are M/M/1's own: its tail beyond the time-out, and a dam of that capacity.
#[test]
fn without_retries_there_is_one_state() {
    let alone = Storm { retries: 0, timeout_s: 0.05, ..markovian(50.0) };
    let [state] = states::all(&alone)[..] else { panic!() };
    assert!((state.goodput - 50.0 * (1.0 - (-50.0 * 0.05f64).exp())).abs() < 1e-9, "{state:?}");
    let [dam] = states::all(&Storm { work_goes_on: false, ..alone })[..] else { panic!() };
    // By hand at a = mu / 2, T mu = 5: P0 = 1 / (1 + (1 - e^-2.5)), and 1 - p from the integral of the density.
    let idle = 1.0 / (2.0 - (-2.5f64).exp());
    let in_time = idle * ((1.0 - (-5.0f64).exp()) + (1.0 - (-2.5f64).exp()) - (-5.0f64).exp() * (2.5f64.exp() - 1.0));
    assert!((dam.goodput - 50.0 * in_time).abs() < 1e-9, "{dam:?}, {in_time}");
}

#[test]
fn a_second_state_is_there_above_the_hidden_capacity() {
    let bad = |storm: &Storm| states::all(storm).get(1).map(|state| (state.attempts.round(), state.goodput.round()));
    assert_eq!(bad(&markovian(50.0)), Some((200.0, 0.0)));
    assert_eq!(bad(&markovian(26.0)), Some((104.0, 0.0)));
    assert_eq!(bad(&markovian(24.0)), None);
    assert_eq!(bad(&Storm { budget: tokens(0.1), ..markovian(50.0) }), None);
    let said = answer(&markovian(50.0)).unwrap().notes.join("\n");
    assert!(said.contains("a second stable state") && said.contains("below 25 requests/s"), "{said}");
    let said = answer(&markovian(24.0)).unwrap().notes.join("\n");
    assert!(said.contains("no second stable state"), "{said}");
}

/// Means alone know of no request that fails before the standstill; the states do, and to such a state there is no recovery.
#[test]
fn there_is_no_recovery_to_a_state_in_which_requests_fail() {
    let random = |timeout_s: f64| Storm { timeout_s, retries: 0, is_markovian: true, ..storm(7.0) };
    // Of M/M/1 with 7 of 10 requests a second e^(-3 * 0.5) = 22.3 % take longer than half a second.
    let refused = answer(&random(0.5)).unwrap_err().to_string();
    assert!(refused.contains("before the standstill 22.3 % of the requests fail already"), "{refused}");
    // e^(-3 * 1.6) is 0.8 %, and e^(-3 * 1.5) is 1.1 %.
    assert!(answer(&random(1.5)).is_err());
    let answered = answer(&random(1.6)).unwrap();
    assert!(answered.measures.iter().any(|measure| measure.metric == "recovery_time"), "{answered:?}");
    // Where nothing is random none fails.
    assert!(answer(&Storm { is_markovian: false, ..random(0.5) }).is_ok());
}

#[test]
fn what_there_is_no_model_of_is_refused() {
    for (storm, expected) in [
        (Storm { is_markovian: false, ..markovian(50.0) }, "unless gaps and service are exponential"),
        (markovian(100.0), "unstable"),
        (Storm { timeout_s: 0.0, ..markovian(50.0) }, "must be positive"),
        (Storm { work_goes_on: false, ..storm(7.0) }, "abandoned = \"cancelled\""),
    ] {
        let refused = answer(&storm).unwrap_err().to_string();
        assert!(refused.contains(expected), "{refused}");
    }
}

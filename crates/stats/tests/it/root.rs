//! The root finder: to the last digit, whatever the shape, and never at a price beyond that of bisection by much.

use std::cell::Cell;

use sojourn_stats::root::{find, find_above, try_find};

#[test]
fn roots_are_found_to_the_last_digit_at_any_magnitude() {
    for wanted in [1e-200, 1e-9, 0.3, 1.0, 77.0, 1e12] {
        let cube = find(0.0, 1e13, 0.0, |x| (x / wanted).powi(3) - 1.0).unwrap();
        assert!((cube / wanted - 1.0).abs() < 1e-15, "{cube} is not {wanted}");
        let falling = find(-1.0, 1e13, 0.0, |x| wanted - x).unwrap();
        assert!((falling / wanted - 1.0).abs() < 1e-15, "{falling} is not {wanted}");
    }
    let negative = find(-10.0, 1.0, 0.0, |x| x.exp() - 0.01).unwrap();
    assert!((negative - 0.01f64.ln()).abs() < 1e-14);
}

#[test]
fn a_jump_is_a_root_and_its_place_is_found() {
    let jump = find(0.0, 10.0, 0.0, |x| if x < std::f64::consts::E { -1.0 } else { 1e9 }).unwrap();
    assert!((jump - std::f64::consts::E).abs() < 1e-15);
}

#[test]
fn no_change_of_sign_is_no_root() {
    assert_eq!(find(0.0, 1.0, 0.0, |x| x + 1.0), None);
    assert_eq!(find(0.0, 1.0, 0.0, |_| f64::NAN), None);
    assert_eq!(find_above(0.0, 1.0, 0.0, |x| -1.0 - x), None);
    assert_eq!(find(2.0, 3.0, 0.0, |x| x - 2.0), Some(2.0), "an end may be the root");
    assert_eq!(find(1.0, 2.0, 0.0, |x| x - 2.0), Some(2.0));
}

#[test]
fn a_bracket_grows_until_the_sign_changes() {
    let root = find_above(5.0, 1e-3, 0.0, |x| x.ln() - 10.0).unwrap();
    assert!((root / 10f64.exp() - 1.0).abs() < 4e-15);
}

#[test]
fn a_smooth_function_takes_some_ten_evaluations_and_a_hard_one_at_most_four_times_bisection() {
    let count = |f: fn(f64) -> f64, tolerance: f64| {
        let evaluations = Cell::new(0);
        let root = find(0.0, 4.0, tolerance, |x| {
            evaluations.set(evaluations.get() + 1);
            f(x)
        });
        assert!(root.is_some());
        evaluations.get()
    };
    assert!(count(|x| x.exp() - 5.0, 1e-10) <= 12);
    // A root of the ninth order, and a wall: bisection halves 4 to the last digit of a number near 1 in 54 steps.
    assert!(count(|x| (x - 1.1).powi(9), 0.0) <= 4 * 54 + 2);
    assert!(count(|x| if x < 1.1 { -1e-300 } else { 1e300 }, 0.0) <= 4 * 54 + 2);
}

#[test]
fn the_first_error_ends_the_search() {
    let calls = Cell::new(0);
    let found = try_find(0.0, 1.0, 0.0, |x| {
        calls.set(calls.get() + 1);
        if calls.get() < 4 { Ok(x.powi(3) - 0.3) } else { Err("no more") }
    });
    assert_eq!(found, Err("no more"));
    assert_eq!(calls.get(), 4);
    assert_eq!(try_find(0.0, 1.0, 0.0, |_| Err("never")), Err("never"));
}

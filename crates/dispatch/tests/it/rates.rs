//! Rates of clients on their way up: which are passed on, and their sums over those who tell them.

use sojourn_dispatch::reports::{Rates, above_mean};

#[test]
fn clients_above_the_mean_are_passed_on_and_no_others() {
    assert_eq!(above_mean(vec![("a", 1.0), ("b", 3.0), ("c", 2.0)]), [("b", 3.0)]);
    // Of equal ones none is above.
    assert_eq!(above_mean(vec![("a", 2.0), ("b", 2.0)]), []);
    assert_eq!(above_mean(Vec::<(&str, f64)>::new()), []);
}

#[test]
fn sums_follow_what_each_backend_tells() {
    let mut rates = Rates::new(2);
    assert_eq!(rates.replace(0, [("a", 1.0), ("b", 2.0)]), [("a", 1.0), ("b", 2.0)]);
    assert_eq!(rates.replace(1, [("a", 4.0)]), [("a", 5.0)]);
    assert_eq!(rates.all(), [("a", 5.0), ("b", 2.0)]);
    // The first names `a` no more, so its sum is another one.
    assert_eq!(rates.replace(0, [("b", 3.0)]), [("a", 4.0), ("b", 3.0)]);
    assert_eq!(rates.extend(1, [("c", 1.0)]), [("c", 1.0)]);
    assert_eq!(rates.all(), [("a", 4.0), ("b", 3.0), ("c", 1.0)]);
    // Of those that only the second named there is no news.
    assert_eq!(rates.forget(1), []);
    assert_eq!(rates.all(), [("b", 3.0)]);
}

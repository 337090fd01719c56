//! A delay that depends on the users attached is fitted, and judged where it was not.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use sojourn_calibrate::{CalibrateError, CurveFound, Settings, Target, delay_curve, fit_delay_curve};
use sojourn_model::{DelayCurve, Denied, Discipline, Piece, Server};
use sojourn_stats::{Law, Span};
use sojourn_web::Node;

use crate::support::{beside_others, node};

/// The numbers of users of Zhang's stress test (2002, Table 4.4).
const USERS: [u32; 16] = [1, 10, 20, 40, 60, 100, 120, 140, 200, 260, 320, 400, 480, 640, 800, 960];

#[test]
fn a_curve_of_two_pieces_is_found_again() {
    let _machine = beside_others();
    let known = DelayCurve {
        // Both pieces meet at 140 users.
        pieces: vec![
            Piece { up_to: 140, seconds: vec![0.012, 1e-4, 2e-6, 1e-8, 2e-10] },
            Piece { up_to: 960, seconds: vec![0.012 + 0.014 + 0.0392 + 0.02744 + 0.076_832 - 2.8, 0.02] },
        ],
        denied: Some(Denied { above: 320, share: vec![0.0, 1e-5, 8e-8], penalty: Span(180_000_000_000) }),
    };
    let of = |value: &dyn Fn(u32) -> f64| USERS.map(|users| (f64::from(users), value(users)));
    // In nanoseconds a delay is rounded; the polynomials bear it.
    let (delays, denied) = (of(&|users| known.stay(users).as_secs_f64()), of(&|users| known.denied_share(users)));
    let found = fit_delay_curve(&delays, &denied, Span(180_000_000_000)).unwrap();
    assert_eq!(found.pieces.iter().map(|piece| piece.up_to).collect::<Vec<_>>(), [140, 960]);
    assert_eq!(found.denied.as_ref().map(|denied| (denied.above, denied.penalty)), Some((320, Span(180_000_000_000))));
    for users in [1, 5, 33, 77, 139, 141, 290, 333, 555, 900, 960] {
        let (delay_s, wanted_s) = (found.stay(users).as_secs_f64(), known.stay(users).as_secs_f64());
        assert!((delay_s / wanted_s - 1.0).abs() < 1e-4, "{users}: {delay_s} is not {wanted_s}");
        assert!((found.denied_share(users) - known.denied_share(users)).abs() < 1e-9, "{users}");
    }
    // Few points make one polynomial; without denials there is no share.
    let line = fit_delay_curve(&[(1.0, 2.0), (2.0, 3.0), (4.0, 5.0)], &[(1.0, 0.0), (4.0, 0.0)], Span::ZERO).unwrap();
    assert_eq!((line.pieces.len(), line.denied.clone(), line.stay(3)), (1, None, Span(4_000_000_000)));
    let wrong: [&[(f64, f64)]; 3] = [&delays[..2], &[(1.0, 1.0); 9], &[(1.0, f64::NAN), (2.0, 1.0), (3.0, 1.0)]];
    for wrong in wrong {
        assert!(fit_delay_curve(wrong, &[], Span::ZERO).is_err(), "{wrong:?}");
    }
}

fn measured(node: &Node, users: &[u32], settings: &Settings) -> Result<CurveFound, CalibrateError> {
    let target = Target::parse(&format!("http://{}/work", node.address()), &[], None).unwrap();
    let cancel = Arc::new(AtomicBool::new(false));
    delay_curve(&target, settings, users, &Law::constant(0.0), &|_| {}, &cancel)
}

/// No law of errors: delays of tens of milliseconds are held to a fifth, which a busy machine does not move them by.
#[test]
fn the_delay_of_a_node_is_found_between_the_numbers_it_was_fitted_to() {
    let _machine = beside_others();
    let text = "discipline = \"delay-curve\"\n[[delay]]\nup_to = 8\nseconds = [0.03, 0.001]\n\
                [[delay]]\nup_to = 100\nseconds = [-0.002, 0.005]";
    let node = node(text);
    let known = Server::from_toml(text).unwrap();
    let settings = Settings { time: Span(5_000_000_000), ..Settings::default() };
    let found = measured(&node, &[1, 2, 4, 6, 8, 12, 16, 20, 24], &settings).unwrap();
    let (Discipline::DelayCurve(known), Discipline::DelayCurve(fitted)) = (known.discipline, &found.server.discipline)
    else {
        panic!("both are curves")
    };
    let kept_out: Vec<u32> = found.points.iter().filter(|point| point.kept_out).map(|point| point.users).collect();
    assert_eq!(kept_out, [4, 16]);
    for point in &found.points {
        let truth_s = known.stay(point.users).as_secs_f64();
        assert!((point.delay.value / truth_s - 1.0).abs() < 0.2, "{truth_s} s: {point:?}");
        assert!((point.predicted_s / truth_s - 1.0).abs() < 0.2, "{truth_s} s: {point:?}");
        assert_eq!((point.denied_share.value, point.predicted_share), (0.0, 0.0));
        assert!(point.delay.low <= point.delay.value && point.delay.value <= point.delay.high, "{point:?}");
    }
    assert!(found.largest_error() < 0.4);
    assert!(fitted.denied.is_none());
    let text = found.to_toml();
    let read = Server::from_toml(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(read, found.server);
    let table: toml::Table = text.parse().unwrap();
    assert_eq!(table["measured"]["curve"].as_array().map(Vec::len), Some(9));
}

#[test]
fn a_full_server_denies() {
    let _machine = beside_others();
    let node = node("discipline = \"ps\"\ndemand = \"4 ms\"\nlimits = { jobs = 3 }");
    let settings = Settings { time: Span(5_000_000_000), ..Settings::default() };
    let found = measured(&node, &[1, 2, 3, 6, 8, 10, 12], &settings).unwrap();
    let Discipline::DelayCurve(curve) = &found.server.discipline else { panic!("a curve") };
    let denied = curve.denied.as_ref().expect("users above three are denied");
    assert_eq!(denied.above, 2, "three are kept out of the fit: {found:?}");
    for point in &found.points {
        assert_eq!(point.denied_share.value > 0.0, point.users > 3, "{point:?}");
    }
    assert!(curve.denied_share(12) > 0.5 * found.points[6].denied_share.value, "{found:?}");
}

#[test]
fn what_makes_no_curve_is_refused_in_a_line() {
    let _machine = beside_others();
    let node = node("discipline = \"fcfs\"\ndemand = \"5 ms\"");
    let settings = Settings { time: Span(5_000_000_000), ..Settings::default() };
    let short = Settings { time: Span(1), ..settings.clone() };
    let slow = Settings { rate_max: 10.0, ..settings.clone() };
    let cases: [(&[u32], &Settings, &str); 5] = [
        (&[1, 2, 3, 3, 3, 3], &settings, "at least 6"),
        (&[0, 1, 2, 3, 4, 5], &settings, "0 users"),
        (&[1, 2, 3, 4, 5, 1000], &settings, "--connections-max"),
        (&[1, 2, 3, 4, 5, 6], &short, "--time"),
        (&[1, 2, 3, 4, 5, 6], &slow, "--rate-max"),
    ];
    for (users, settings, words) in cases {
        let error = measured(&node, users, settings).unwrap_err().to_string();
        assert!(error.contains(words) && error.lines().count() == 1, "{error}");
    }
}

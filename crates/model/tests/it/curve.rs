//! Delay curves: what is read is what the polynomials say, and a station stays as long.

use sojourn_model::{Admission, Discipline, Server, Station};
use sojourn_stats::{Span, Time};

/// The very file that the experiments use.
const CURVE: &str = include_str!("../../../../experiments/zhang-2002/servers/apache-1.143.toml");

#[test]
fn the_delay_is_the_polynomial_and_agrees_with_the_published_predictions() {
    let server = Server::from_toml(CURVE).unwrap();
    let Discipline::DelayCurve(curve) = &server.discipline else { panic!("{server:?}") };
    // Zhang 2002, Table 4.4, sigma 1.143: what his polynomials predict (s), as far as their printed digits bear.
    let predicted = [
        (1, 0.014),
        (10, 0.029),
        (20, 0.039),
        (40, 0.051),
        (60, 0.065),
        (100, 0.190),
        (120, 0.346),
        (140, 0.600),
        (200, 2.131),
        (320, 4.695),
        (640, 11.458),
        (960, 18.113),
    ];
    for (users, seconds) in predicted {
        let n = f64::from(users);
        let exact = if users <= 140 {
            1.206e-2 + 2.046e-3 * n - 4.154e-5 * n.powi(2) + 3.428e-7 * n.powi(3) + 4.554e-10 * n.powi(4)
        } else {
            -2.177 + 2.165e-2 * n - 5.327e-7 * n * n
        };
        let stay = curve.stay(users).as_secs_f64();
        assert!((stay - exact).abs() < 2e-9, "{users}: {stay} against {exact}");
        assert!((stay - seconds).abs() < 0.0035, "{users}: {stay}, predicted {seconds}");
    }
    assert_eq!((curve.denied_share(320), curve.denied_share(321)), (0.0, 0.0), "a negative share is none");
    let x = 640f64;
    let share = -7.353e-4 + 1.249e-5 * x + 8.135e-8 * x * x + 3.493e-12 * x.powi(3) - 1.527e-14 * x.powi(4);
    assert!((curve.denied_share(960) - share).abs() < 1e-12);
    assert_eq!(curve.denied.as_ref().unwrap().penalty, Span(180_000_000_000));
    assert_eq!(Server::from_toml(&server.to_toml()).unwrap(), server);
}

/// Jobs do not wait for each other: the curve gives the stay of each job at its arrival.
#[test]
fn a_station_keeps_a_job_as_long_as_the_curve_says_when_it_comes() {
    let text =
        "discipline = \"delay-curve\"\n[[delay]]\nup_to = 2\nseconds = [0, 1]\n[[delay]]\nup_to = 9\nseconds = [0.5]";
    let server = Server::from_toml(text).unwrap();
    let mut station = Station::new(server.discipline.clone(), server.cores, server.capacity);
    let second = 1_000_000_000;
    for (job, at) in [(1, 0), (2, second / 4), (3, second / 2)] {
        assert!(matches!(station.arrive(Time(at), job, Span(77)), Admission::Admitted(_)));
    }
    let mut left = Vec::new();
    while let Some(at) = station.next_departure() {
        left.push((station.depart(at).unwrap().job, at.0));
    }
    // 1 s alone, 2 s as the second, 0.5 s as the third.
    assert_eq!(left, [(1, second), (3, second), (2, 9 * second / 4)]);
    // Busy while a job was inside.
    assert_eq!(station.busy(Time(4 * second)), Span(9 * second / 4));
}

#[test]
fn bad_curves_are_refused_in_one_line() {
    let cases = [
        ("discipline = \"delay-curve\"", &["[[delay]]", "up_to"][..]),
        ("discipline = \"delay-curve\"\ndemand = \"1 ms\"", &["demand", "leave it out"]),
        ("discipline = \"ps\"\ndemand = \"1 ms\"\n[[delay]]\nup_to = 1\nseconds = [1]", &["delay-curve"]),
        ("discipline = \"delay-curve\"\n[[delay]]\nup_to = 0\nseconds = [1]", &["up_to"]),
        (
            "discipline = \"delay-curve\"\n[[delay]]\nup_to = 5\nseconds = [1]\n[[delay]]\nup_to = 5\nseconds = [1]",
            &["up_to", "grow"],
        ),
        ("discipline = \"delay-curve\"\n[[delay]]\nup_to = 5\nseconds = []", &["seconds", "a0"]),
        (
            "discipline = \"delay-curve\"\n[[delay]]\nup_to = 5\nseconds = [1]\n[denied]\nabove = 1\nshare = [0]\n\
             penalty = \"3 parsec\"",
            &["denied.penalty"],
        ),
    ];
    for (text, needles) in cases {
        let message = Server::from_toml(text).expect_err(text).to_string();
        assert!(!message.contains('\n'), "{message}");
        for needle in needles {
            assert!(message.contains(needle), "{text:?} said {message:?}, not {needle:?}");
        }
    }
}

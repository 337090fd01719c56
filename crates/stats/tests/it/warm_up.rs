//! MSER-5 on series whose answer is known.

use sojourn_stats::warm_up::{mser, mser5};
use sojourn_stats::{Law, Stream};

fn noise(length: usize) -> Vec<f64> {
    let law = Law::exponential(1.0);
    let mut stream = Stream::new(1, "noise", "warm-up");
    (0..length).map(|_| law.sample(&mut stream)).collect()
}

#[test]
fn a_step_is_cut_where_it_ends() {
    let mut series = noise(2000);
    series[..100].iter_mut().for_each(|value| *value += 50.0);
    // Exactly there, or beyond a batch or few that happen to lie far from the mean.
    let cut = mser5(&series).expect("settles");
    assert!((100..200).contains(&cut), "{cut}");
    assert_eq!(cut % 5, 0);
}

#[test]
fn what_never_settles_has_no_answer() {
    let ramp: Vec<f64> = (0..2000).map(f64::from).collect();
    assert_eq!(mser5(&ramp), None);
    let mut late = noise(1000);
    late[..600].iter_mut().for_each(|value| *value += 50.0);
    assert_eq!(mser5(&late), None);
    assert_eq!(mser5(&noise(49)), None, "too short");
}

#[test]
fn a_constant_series_loses_nothing() {
    assert_eq!(mser5(&[3.0; 50]), Some(0));
    assert_eq!(mser(&[3.0; 10]), Some(0));
    assert_eq!(mser(&[]), None);
}

/// The recurrence against the definition: the smallest minimiser of sum((y - mean)^2) / count^2 over what is left.
#[test]
fn the_cut_minimises_the_statistic() {
    for length in [10, 11, 40, 201] {
        let series = noise(length);
        let statistic = |cut: usize| {
            let left = &series[cut..];
            let mean = left.iter().sum::<f64>() / left.len() as f64;
            left.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / (left.len() as f64).powi(2)
        };
        let best = (0..=length - 5).min_by(|one, other| statistic(*one).total_cmp(&statistic(*other)));
        let best = best.filter(|cut| *cut <= length / 2);
        assert_eq!(mser(&series), best, "{length} batches");
    }
}

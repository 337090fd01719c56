//! The open plan.

use sojourn_stats::{Dimension, Span, Time};
use sojourn_traffic::{Closed, Open, Plan, Planned, Workload};

use crate::support::{closed, demand, first, law, open};

fn poisson(sizes: &str) -> Workload {
    Workload::Open(open("exponential(rate = 374 /s)", 100, sizes))
}

#[test]
fn same_seed_same_plan() {
    let workload = poisson("exponential(mean = 5 kB)");
    assert_eq!(first(&workload, 7, 1000), first(&workload, 7, 1000));
    assert_ne!(first(&workload, 7, 1000), first(&workload, 8, 1000));
}

#[test]
fn one_law_never_shifts_anothers_numbers() {
    let heavy = first(&poisson("lognormal(mu = 7.881, sigma = 1.339, unit = B)"), 1, 1000);
    let constant = first(&poisson("5 kB"), 1, 1000);
    let webstone = first(&poisson("webstone"), 1, 1000);
    let mut patient = open("exponential(rate = 374 /s)", 100, "5 kB");
    patient.patience = Some(law("exponential(mean = 8 s)", Dimension::Time));
    let patient = first(&Workload::Open(patient), 1, 1000);
    let others = [&constant, &webstone, &patient];
    let who_and_when = |plan: &[Planned]| plan.iter().map(|p| (p.at, p.request.client)).collect::<Vec<_>>();
    for other in others {
        assert_eq!(who_and_when(&heavy), who_and_when(other));
    }
    // The demand's own draw (what it has beyond 10 ns per byte) stays as well.
    let drawn = |plan: &[Planned]| plan.iter().map(|p| p.request.demand.0 - 10 * p.request.size).collect::<Vec<_>>();
    for other in others {
        assert_eq!(drawn(&heavy), drawn(other));
    }
    assert!(constant.iter().all(|p| p.request.size == 5000 && p.request.patience == Span::FOREVER));
    assert!(patient.iter().all(|p| p.request.patience < Span::FOREVER));

    let slower = first(&Workload::Open(open("erlang(k = 2, mean = 1 s)", 100, "webstone")), 1, 1000);
    assert!(webstone.iter().zip(&slower).all(|(a, b)| a.request == b.request && a.at != b.at));
}

#[test]
fn instants_never_step_back_and_objects_are_numbered() {
    let plan = first(&poisson("exponential(mean = 5 kB)"), 3, 10_000);
    assert!(plan.windows(2).all(|pair| pair[0].at <= pair[1].at));
    assert!(plan.iter().enumerate().all(|(index, p)| p.request.object == index as u32));
}

/// False alarm: 1e-6 (5.1 sigma two-sided is 3e-7, for each of three laws; the sum of 200,000 gaps is normal).
#[test]
fn the_rate_is_right() {
    let n = 200_000;
    for (text, scv) in [
        ("exponential(rate = 374 /s)", 1.0),
        ("erlang(k = 2, rate = 374 /s)", 0.5),
        ("hyperexponential(rate = 374 /s, cv = 2)", 4.0),
    ] {
        let last = first(&Workload::Open(open(text, 1, "5 kB")), 11, n)[n - 1].at.as_secs_f64();
        let expected = n as f64 / 374.0;
        let sigma = (scv * n as f64).sqrt() / 374.0;
        assert!((last - expected).abs() < 5.1 * sigma, "{text}: {last} s for {expected} s");
    }
}

/// Rounding every gap to the nanosecond would turn 333.33 ns into 333 ns: 0.1 % more requests.
#[test]
fn rounding_does_not_change_the_rate() {
    let plan = first(&Workload::Open(open("constant(rate = 3000000 /s)", 1, "5 kB")), 1, 3_000_000);
    let last = plan[plan.len() - 1].at;
    assert!(last.0.abs_diff(1_000_000_000) <= 1, "{last:?}");
    assert!(plan.windows(2).all(|pair| matches!((pair[1].at - pair[0].at).0, 333 | 334)));
}

/// False alarm: 7e-7 (5.4 sigma two-sided is 7e-8, for each of ten clients).
#[test]
fn clients_are_equally_likely() {
    let n = 100_000;
    let mut counts = [0u32; 10];
    for planned in first(&Workload::Open(open("exponential(rate = 374 /s)", 10, "5 kB")), 5, n) {
        counts[planned.request.client as usize] += 1;
    }
    let sigma = (n as f64 * 0.1 * 0.9).sqrt();
    for count in counts {
        assert!((f64::from(count) - n as f64 * 0.1).abs() < 5.4 * sigma, "{counts:?}");
    }
}

#[test]
fn a_plan_can_be_taken_up_to_an_instant() {
    let workload = poisson("5 kB");
    let end = Time::from_secs_f64(2.0);
    let taken = Plan::new(&workload, 1, demand()).unwrap().collect_until(end);
    assert_eq!(taken, first(&workload, 1, taken.len()));
    assert!(taken.iter().all(|planned| planned.at < end));
    assert!(first(&workload, 1, taken.len() + 1)[taken.len()].at >= end);
}

#[test]
fn what_cannot_be_planned_is_said() {
    let no_clients = Workload::Open(Open { clients: 0, ..open("exponential(rate = 1 /s)", 1, "5 kB") });
    let no_users = Workload::Closed(Closed { users: 0, ..closed(1) });
    for (workload, says) in
        [(no_clients, "clients = 0"), (no_users, "users = 0"), (Workload::Closed(closed(3)), "closed")]
    {
        let error = Plan::new(&workload, 1, demand()).err().unwrap().to_string();
        assert!(error.contains(says), "{error}");
    }
}

/// Streams that were the same under two names would tie purposes together: a long gap, then always a large reply.
/// False alarm: under 1e-6 (a correlation of n independent pairs is normal with deviation 1/sqrt(n); 5.4 sigma two-sided
/// is 7e-8, for each of ten pairs).
#[test]
fn purposes_are_independent() {
    // Uniform laws take one draw each: streams that begin alike stay alike.
    let mut workload = open("uniform(low = 0 s, high = 1 s)", 1000, "uniform(low = 0 B, high = 100 kB)");
    workload.patience = Some(law("uniform(low = 0 s, high = 8 s)", Dimension::Time));
    let plan = first(&Workload::Open(workload), 1, 100_001);
    let columns: [Vec<f64>; 5] = [
        plan.windows(2).map(|pair| (pair[1].at - pair[0].at).as_secs_f64()).collect(),
        plan[1..].iter().map(|planned| f64::from(planned.request.client)).collect(),
        plan[1..].iter().map(|planned| planned.request.size as f64).collect(),
        plan[1..].iter().map(|planned| planned.request.patience.as_secs_f64()).collect(),
        plan[1..].iter().map(|planned| (planned.request.demand.0 - 10 * planned.request.size) as f64).collect(),
    ];
    for (index, one) in columns.iter().enumerate() {
        for other in &columns[index + 1..] {
            let r = correlation(one, other);
            assert!(r.abs() * (one.len() as f64).sqrt() < 5.4, "column {index}: {r}");
        }
    }
}

fn correlation(xs: &[f64], ys: &[f64]) -> f64 {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (x_mean, y_mean) = (mean(xs), mean(ys));
    let sum = |f: &dyn Fn(f64, f64) -> f64| xs.iter().zip(ys).map(|(x, y)| f(x - x_mean, y - y_mean)).sum::<f64>();
    sum(&|x, y| x * y) / (sum(&|x, _| x * x) * sum(&|_, y| y * y)).sqrt()
}

//! Hit ratios against another way to them.

use sojourn_model::network::{Cache, Keeps, Room};
use sojourn_stats::Span;
use sojourn_theory::cache::{che, hit_ratio, lru, most_popular, time_to_live};

use crate::{agree, printed};

fn zipf(objects: u64, exponent: f64) -> Vec<f64> {
    Cache::zipf(Keeps::Lru(Room::Objects(1)), objects, exponent).popularity.to_vec()
}

/// LRU in another way: an object is hit when fewer than `capacity` others were asked for since its last request. In
/// Poisson time the others are there independently (Flajolet, Gardy and Thimonier, Discrete Applied Mathematics 39,
/// 1992), so that their number is a sum of coins, and the time since the last request exponential: an integral over it.
fn by_integral(popularity: &[f64], capacity: usize) -> f64 {
    // u = e^(-t) turns the integral into one over (0, 1): p u^(p-1) du, and with v = u^p into dv.
    let steps = 20_000;
    let hit = |object: usize| {
        let at = |v: f64| {
            let t = -v.ln() / popularity[object];
            // Chances of 0, 1, ..., capacity-1 others.
            let mut few = vec![0.0; capacity];
            few[0] = 1.0;
            for (_, p) in popularity.iter().enumerate().filter(|(other, _)| *other != object) {
                let there = -(-p * t).exp_m1();
                for count in (0..capacity).rev() {
                    let from = if count == 0 { 0.0 } else { few[count - 1] };
                    few[count] = few[count] * (1.0 - there) + from * there;
                }
            }
            few.iter().sum::<f64>()
        };
        (0..steps).map(|step| at((f64::from(step) + 0.5) / f64::from(steps))).sum::<f64>() / f64::from(steps)
    };
    popularity.iter().enumerate().map(|(object, p)| p * hit(object)).sum()
}

#[test]
fn lru_is_exact_for_few_objects_and_near_by_che() {
    let few = zipf(5, 1.0);
    printed(lru(&few, 2), ".518885");
    printed(che(&few, 2.0), ".510826");
    printed(che(&zipf(1000, 1.0), 100.0), ".576525");
    for (objects, exponent, capacity) in [(5, 1.0, 2), (6, 0.7, 1), (8, 1.2, 5), (10, 0.0, 4)] {
        let popularity = zipf(objects, exponent);
        let exact = lru(&popularity, capacity);
        agree(exact, by_integral(&popularity, capacity), 1e-4);
        agree(che(&popularity, capacity as f64), exact, 0.05);
    }
    // Equal objects: the ratio is what fits, and so says Che.
    agree(lru(&zipf(10, 0.0), 4), 0.4, 1e-12);
    agree(che(&zipf(10, 0.0), 4.0), 0.4, 1e-12);
    assert_eq!((lru(&few, 5), lru(&few, 9), che(&few, 5.0)), (1.0, 1.0, 1.0));
    // The larger the cache the better.
    let (small, large) = (zipf(6, 0.8), zipf(16, 0.8));
    let error =
        |popularity: &[f64], capacity: usize| che(popularity, capacity as f64) / lru(popularity, capacity) - 1.0;
    assert!(error(&large, 8).abs() < error(&small, 3).abs());
}

#[test]
fn the_other_policies() {
    let popularity = zipf(5, 1.0);
    agree(most_popular(&popularity, 2.0), 1.5 / (137.0 / 60.0), 1e-12);
    agree(most_popular(&popularity, 2.5), (1.5 + 0.5 / 3.0) / (137.0 / 60.0), 1e-12);
    assert!(most_popular(&popularity, 2.0) > lru(&popularity, 2), "no cache beats one that knows the popularity");
    // One object at 2 /s for 3 s: renewed, a hit unless a gap is longer; else 6 hits to every miss.
    agree(time_to_live(&[1.0], 3.0, true, 2.0), 1.0 - (-6.0f64).exp(), 1e-12);
    agree(time_to_live(&[1.0], 3.0, false, 2.0), 6.0 / 7.0, 1e-12);
}

#[test]
fn a_cache_says_how_its_ratio_is_known() {
    let of = |keeps, objects| hit_ratio(&Cache::zipf(keeps, objects, 1.0), 1000.0, 5.0);
    let few = of(Keeps::Lru(Room::Objects(2)), 5);
    assert!(few.exact && (few.value - 0.518885).abs() < 1e-6, "{few:?}");
    let many = of(Keeps::Lru(Room::Objects(100)), 1000);
    assert!(!many.exact && (many.value - 0.576525).abs() < 1e-6, "{many:?}");
    let bytes = of(Keeps::Lru(Room::Bytes(100_000)), 1000);
    assert!(!bytes.exact && bytes.value == many.value, "{bytes:?}");
    let known = of(Keeps::Lfu(Room::Objects(2)), 5);
    assert!(known.exact && (known.value - 1.5 / (137.0 / 60.0)).abs() < 1e-12, "{known:?}");
    assert!(of(Keeps::Lru(Room::Objects(5)), 5).value == 1.0);
    let timed = of(Keeps::Ttl { ttl: Span::from_secs_f64(3.0), renewed: false }, 1);
    assert!(timed.exact && timed.reads_rate && (timed.value - 15.0 / 16.0).abs() < 1e-12, "{timed:?}");
}

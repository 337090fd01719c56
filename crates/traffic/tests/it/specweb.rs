//! SPECweb99's files.

use sojourn_traffic::specweb::SpecWeb;
use sojourn_traffic::{Sizes, Workload};

use crate::support::{first, open};

/// The published table of accesses within a class.
const WITHIN: [f64; 9] = [0.039, 0.059, 0.088, 0.177, 0.353, 0.118, 0.071, 0.050, 0.044];

#[test]
fn classes_and_files_are_as_published() {
    let set = SpecWeb::new(3).unwrap();
    let files: Vec<(u64, f64)> = set.sizes().collect();
    assert_eq!((files.len(), set.paths().len()), (108, 108));
    assert!((files.iter().map(|(_, chance)| chance).sum::<f64>() - 1.0).abs() < 1e-12);
    for (class, share) in [0.35, 0.50, 0.14, 0.01].into_iter().enumerate() {
        let unit = 100 * 10u64.pow(class as u32);
        for (step, within) in WITHIN.into_iter().enumerate() {
            // Zipf over three directories: 6/11, 3/11 and 2/11.
            for (directory, popularity) in [6.0 / 11.0, 3.0 / 11.0, 2.0 / 11.0].into_iter().enumerate() {
                let (size, chance) = files[directory * 36 + class * 9 + step];
                assert_eq!(size, unit * (step as u64 + 1));
                assert!((chance / share / popularity - within).abs() < 6e-4, "{class} {step} {directory}: {chance}");
            }
        }
    }
    assert_eq!(set.paths()[36 + 9 + 4], "/file_set/dir00001/class1_4");
    assert_eq!(Sizes::SpecWeb(set).site().unwrap().pages().len(), 108);
}

/// A harmonic mean of 9 terms: sum over files of size/rank, with H9 = 7129/2520.
#[test]
fn moments_are_exact() {
    let h9 = 7129.0 / 2520.0;
    // 1/9 + 2/6 + 3/4 + 4/2 + 5/1 + 6/3 + 7/5 + 8/7 + 9/8, and the same with squares.
    let steps =
        [(1.0, 9.0), (2.0, 6.0), (3.0, 4.0), (4.0, 2.0), (5.0, 1.0), (6.0, 3.0), (7.0, 5.0), (8.0, 7.0), (9.0, 8.0)];
    let first = steps.iter().map(|(step, rank)| step / rank).sum::<f64>() / h9;
    let second = steps.iter().map(|(step, rank): &(f64, f64)| step * step / rank).sum::<f64>() / h9;
    let mean = (0.35 * 100.0 + 0.5 * 1e3 + 0.14 * 1e4 + 0.01 * 1e5) * first;
    let square = (0.35 * 1e4 + 0.5 * 1e6 + 0.14 * 1e8 + 0.01 * 1e10) * second;
    for directories in [1, 100] {
        let (is, variance) = SpecWeb::new(directories).unwrap().moments();
        assert!((is / mean - 1.0).abs() < 1e-12, "{is} for {mean}");
        assert!((variance / (square - mean * mean) - 1.0).abs() < 1e-12);
    }
    assert!((mean - 14.4e3).abs() < 100.0, "about 14 kB, as Ruan and Pai say: {mean}");
}

/// False alarm: 1e-6 (5.5 sigma two-sided is 4e-8, for each of 4 classes and 5 directories).
#[test]
fn files_are_drawn_by_their_chances() {
    let n = 200_000;
    let plan = first(&Workload::Open(open("constant(1 ms)", 1, "specweb99(directories = 5)")), 7, n);
    let share =
        |is: &dyn Fn(u32) -> bool| plan.iter().filter(|planned| is(planned.request.object)).count() as f64 / n as f64;
    let near = |is: f64, expected: f64| {
        assert!((is - expected).abs() < 5.5 * (expected * (1.0 - expected) / n as f64).sqrt(), "{is} for {expected}");
    };
    for (class, expected) in [0.35, 0.50, 0.14, 0.01].into_iter().enumerate() {
        near(share(&|object| object as usize % 36 / 9 == class), expected);
    }
    for directory in 0..5 {
        let h5 = 137.0 / 60.0;
        near(share(&|object| object / 36 == directory), 1.0 / f64::from(directory + 1) / h5);
    }
    // More directories change where files are, not which.
    let one = first(&Workload::Open(open("constant(1 ms)", 1, "specweb99")), 7, 1000);
    assert!(one.iter().zip(&plan).all(|(one, many)| one.request.object == many.request.object % 36));
    assert!(one.iter().zip(&plan).all(|(one, many)| one.request.size == many.request.size));
}

#[test]
fn texts() {
    assert!(matches!(Sizes::parse("specweb99").unwrap(), Sizes::SpecWeb(_)));
    for text in
        ["specweb99(directories = 0)", "specweb99(directories = 1000000)", "specweb99(files = 3)", "specweb99(3)"]
    {
        let error = Sizes::parse(text).unwrap_err().to_string();
        assert!(error.contains("specweb99(directories = 100)"), "{error}");
    }
    let error = Sizes::parse("specweb").unwrap_err().to_string();
    assert!(error.contains("did you mean `specweb99`"), "{error}");
}

//! WebStone file lists.

use sojourn_stats::Stream;
use sojourn_traffic::Sizes;
use sojourn_traffic::webstone::FileList;

/// Sizes and weights per mille of `filelist.standard`: Fujita (2000), section 1.2.
const STANDARD: [(u64, f64); 5] = [(500, 350.0), (5_000, 500.0), (50_000, 140.0), (500_000, 9.0), (5_000_000, 1.0)];

#[test]
fn the_standard_list() {
    let list = FileList::standard();
    let sizes: Vec<(u64, f64)> = list.sizes().collect();
    assert_eq!(sizes.len(), 5);
    for ((size, chance), (printed, per_mille)) in sizes.iter().zip(STANDARD) {
        assert_eq!(*size, printed);
        assert!((chance * 1000.0 - per_mille).abs() < 1e-12);
    }
    let (mean, variance) = list.moments();
    // 175 + 2500 + 7000 + 4500 + 5000 bytes.
    assert!((mean - 19_175.0).abs() < 1e-6);
    let square = STANDARD.iter().map(|(size, per_mille)| (*size as f64).powi(2) * per_mille / 1000.0).sum::<f64>();
    assert!((variance / (square - mean * mean) - 1.0).abs() < 1e-9);
}

#[test]
fn sizes_come_from_the_name_or_the_third_column() {
    let text = "# a comment\n\n/file5k.html 500  # 5 kB\r\n/dir9/file5M.html 1\n/a/b7.tar.gz 2\n\
         /index.html 3 4096\n/x.html\t1 2k\n/file10.html 4 99\n";
    let list = FileList::parse(text, "list").unwrap();
    let sizes: Vec<u64> = list.sizes().map(|(size, _)| size).collect();
    assert_eq!(sizes, [5_000, 5_000_000, 7, 4096, 2_000, 99]);
    assert_eq!(list.paths()[3], "/index.html");
}

#[test]
fn bad_lines_are_named() {
    for (text, says) in [
        ("/file500.html 350\nfile5k.html 500\n", "list:2: `file5k.html` is not a path"),
        ("/file500.html\n", "list:1: no weight"),
        ("/file500.html 35%\n", "list:1: the weight `35%`"),
        ("/file500.html -1\n", "list:1: the weight `-1`"),
        ("\n\n/index.html 20\n", "list:3: no size in the name"),
        ("/index.html 20 5kB\n", "list:1: the size `5kB`"),
        ("/index.html 20 5 6\n", "list:1: `6` is too much"),
        ("/file99999999999999999999.html 1\n", "list:1: no size"),
        ("# nothing\n", "list: no file with a weight above 0"),
        ("/file500.html 0\n", "list: no file with a weight above 0"),
    ] {
        let error = FileList::parse(text, "list").unwrap_err().to_string();
        assert!(error.starts_with(says), "{text:?}: {error}");
        assert_eq!(error.lines().count(), 1);
    }
}

/// False alarm: under 1e-6 (5.3 sigma two-sided is 1.2e-7 per file; the rarest is expected 1000 times, where the
/// binomial law's skewness at most doubles it).
#[test]
fn files_are_drawn_by_weight() {
    let (list, mut stream) = (FileList::standard(), Stream::new(1, "test", "sizes"));
    let n = 1_000_000;
    let mut counts = [0u32; 5];
    for _ in 0..n {
        let (index, size) = list.sample(&mut stream);
        assert_eq!(size, STANDARD[index as usize].0);
        counts[index as usize] += 1;
    }
    for (count, (size, per_mille)) in counts.iter().zip(STANDARD) {
        let chance = per_mille / 1000.0;
        let (expected, sigma) = (chance * f64::from(n), (chance * (1.0 - chance) * f64::from(n)).sqrt());
        assert!((f64::from(*count) - expected).abs() < 5.3 * sigma, "{size} B: {count} for {expected}");
    }
}

#[test]
fn a_file_without_weight_is_never_drawn() {
    let list = FileList::parse("/a1.html 0\n/b2.html 1\n/c3.html 0\n/d4.html 1\n/e5.html 0\n", "list").unwrap();
    let mut stream = Stream::new(1, "test", "sizes");
    assert!((0..1000).all(|_| [1, 3].contains(&list.sample(&mut stream).0)));
}

/// Fujita (2000), section 2.2.3: x per mille of 50 kB, the rest of 500 kB, x from 1000 down to 0.
#[test]
fn mixes_are_written_by_weight() {
    for per_mille in [1000u32, 700, 1, 0] {
        let text = format!("webstone({per_mille}: 50 kB, {}: 500 kB)", 1000 - per_mille);
        let sizes = Sizes::parse(&text).unwrap();
        let mean = 50e3 * f64::from(per_mille) / 1e3 + 500e3 * (1.0 - f64::from(per_mille) / 1e3);
        assert!((sizes.moments().0 - mean).abs() < 1e-6, "{text}");
        assert_eq!(sizes.objects(), ["/file50k.html", "/file500k.html"]);
    }
}

/// Fujita (2000), section 2.2.4: the standard list at the mean of a trace, 9.5 kB.
#[test]
fn a_list_is_scaled_to_a_mean() {
    let Sizes::WebStone(list) = Sizes::parse("webstone(mean = 9.5 kB)").unwrap() else { panic!("a list") };
    let scaled: Vec<(u64, f64)> = list.sizes().collect();
    let factor = 9500.0 / 19_175.0;
    for ((size, chance), (standard, per_mille)) in scaled.iter().zip(STANDARD) {
        assert!((*size as f64 - standard as f64 * factor).abs() <= 0.5, "{size}");
        assert!((chance - per_mille / 1e3).abs() < 1e-12);
    }
    assert!((list.moments().0 - 9500.0).abs() < 0.5);
    assert_eq!(list.paths()[0], "/file248.html");
    // As a site, for a real server: the paths name the sizes.
    let site = Sizes::WebStone(list).site().unwrap();
    assert_eq!(
        site.files().iter().map(|file| file.size).collect::<Vec<_>>(),
        scaled.iter().map(|(size, _)| *size).collect::<Vec<_>>()
    );
    assert!(Sizes::parse("9.5 kB").unwrap().site().is_none());
}

#[test]
fn bad_mixes_are_named() {
    for (text, told) in [
        ("webstone(700)", "`700` has no name"),
        ("webstone(0.7: 50 kB, 0.3: 500 kB)", "the weight `0.7`"),
        ("webstone(0: 50 kB)", "weight above 0"),
        ("webstone(7: 50 ms)", "50 ms"),
        ("webstone(7: 0 B)", "at least 1 B"),
        ("webstone(mean = 1 B)", "one size"),
        ("webstone(file = \"x\", 7: 50 kB)", "either"),
        ("webston", "did you mean `webstone`"),
    ] {
        let error = Sizes::parse(text).unwrap_err().to_string();
        assert!(error.contains(told) && !error.contains('\n'), "{text}: {error}");
    }
}

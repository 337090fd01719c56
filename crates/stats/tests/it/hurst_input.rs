//! Series that have no Hurst parameter, and series that are odd.

use sojourn_stats::Stream;
use sojourn_stats::hurst::{HurstError, estimate, whittle};

use crate::noise;

#[test]
fn what_cannot_be_measured_is_said() {
    let good = noise::white(1000, &mut Stream::new(1, "input", "noise"));
    assert_eq!(estimate(&good[..255]), Err(HurstError::TooShort { needed: 256, found: 255 }));
    assert!(estimate(&good[..256]).is_ok());
    assert_eq!(whittle::fgn(&good[..127]), Err(HurstError::TooShort { needed: 128, found: 127 }));
    assert!(whittle::fgn(&good[..128]).is_ok());
    assert_eq!(whittle::fgn(&[]), Err(HurstError::TooShort { needed: 128, found: 0 }));
    assert_eq!(estimate(&[7.5; 1000]), Err(HurstError::Constant { value: 7.5 }));
    let alternating: Vec<f64> = (0..1000).map(|i| f64::from(i % 2)).collect();
    assert_eq!(estimate(&alternating), Err(HurstError::Alternating));
    for bad in [f64::NAN, f64::INFINITY] {
        let mut series = good.clone();
        series[499] = bad;
        let error = estimate(&series).unwrap_err().to_string();
        assert_eq!(error, format!("number 500 of the series is {bad}: every number must be finite"));
    }
}

/// Whatever is finite and not constant is answered, in finite words.
#[test]
fn odd_series_are_answered() {
    let index = |i: usize| i as f64;
    let odd: [(&str, Vec<f64>); 7] = [
        ("a line", (0..1000).map(index).collect()),
        ("a wave", (0..1000).map(|i| (index(i) * 0.1).sin()).collect()),
        ("one spike", (0..1000).map(|i| f64::from(u8::from(i == 500))).collect()),
        ("a step", (0..1000).map(|i| f64::from(u8::from(i >= 500))).collect()),
        ("a period of four", (0..1024).map(|i| index(i % 4)).collect()),
        ("huge", (0..1000).map(|i| if i % 3 == 0 { f64::MAX } else { -f64::MAX }).collect()),
        ("rare", (0..4096).map(|i| f64::from(u8::from(i % 1000 == 7))).collect()),
    ];
    for (name, series) in odd {
        let hurst = estimate(&series).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(
            !hurst.verdict.contains("NaN") && !hurst.verdict.starts_with("Self-similar"),
            "{name}: {}",
            hurst.verdict
        );
        for (estimator, reading) in hurst.readings() {
            let plot = reading.plot.points.iter().chain(&reading.plot.line);
            assert!(plot.clone().all(|(x, y)| *x > 0.0 && *y >= 0.0 && y.is_finite()), "{name}: {estimator}");
        }
    }
}

/// The verdict shuffles the series, and always in the same way.
#[test]
fn the_same_series_gives_the_same_answer() {
    let series = noise::fgn(0.7, 1000, &mut Stream::new(1, "same", "noise"));
    assert_eq!(estimate(&series), estimate(&series));
}

/// What other programs read.
#[test]
fn the_json_has_every_estimator_the_verdict_and_the_warnings() {
    let series = noise::fgn(0.7, 1000, &mut Stream::new(1, "json", "noise"));
    let text = serde_json::to_string(&estimate(&series).unwrap()).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let with_interval = ["whittle_fgn", "whittle_farima", "local_whittle", "wavelet"];
    let biased = [
        "aggregated_variance",
        "absolute_value",
        "differenced_variance",
        "rescaled_range",
        "residual_variance",
        "periodogram",
    ];
    for name in with_interval {
        let reading = json[name].as_object().unwrap();
        assert_eq!(reading.keys().collect::<Vec<_>>().len(), 3, "{name}");
        let [low, h, high] = ["ci_low", "h", "ci_high"].map(|key| reading[key].as_f64().unwrap());
        assert!(low < h && h < high, "{name}: {low} {h} {high}");
    }
    for name in biased {
        assert!(json[name]["h"].is_f64() && json[name]["known_bias"].is_string(), "{name}");
        assert_eq!(json[name]["ci_low"].is_null(), name != "periodogram", "{name}");
    }
    assert!(json["verdict"].is_string() && json["warnings"].is_array());
    assert_eq!(json.as_object().unwrap().len(), 12);
}

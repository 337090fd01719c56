//! Which bytes of a file a request asks for (RFC 9110, section 14).
//!
//! What is no range, and more ranges than are allowed or that overlap, which only who wants to do harm asks for, is answered
//! with the whole file (section 14.2).

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};

use http_range_header::{RangeUnsatisfiableError, parse_range_header_with_max_ranges};
use hyper::header::{HeaderMap, RANGE};
use sojourn_part::clock;

/// What of a file is asked for; first and last byte of each range.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Whole,
    One(u64, u64),
    Several(Vec<(u64, u64)>),
    Unsatisfiable,
}

/// What the headers ask for of a file of `size` bytes; more than `most` ranges are not served.
pub(super) fn asked(headers: &HeaderMap, size: u64, most: usize) -> Asked {
    let mut lines = headers.get_all(RANGE).iter();
    let (Some(line), None) = (lines.next(), lines.next()) else { return Asked::Whole };
    let (Ok(line), Some(most)) = (line.to_str(), NonZeroUsize::new(most)) else { return Asked::Whole };
    let Ok(parsed) = parse_range_header_with_max_ranges(line, most) else { return Asked::Whole };
    match parsed.validate(size) {
        Ok(ranges) => match ranges.as_slice() {
            [] => Asked::Whole,
            [one] => Asked::One(*one.start(), *one.end()),
            several => {
                let mut ranges: Vec<_> = several.iter().map(|range| (*range.start(), *range.end())).collect();
                let asked = ranges.clone();
                ranges.sort_unstable();
                let overlap = ranges.windows(2).any(|pair| pair[1].0 <= pair[0].1);
                if overlap { Asked::Whole } else { Asked::Several(asked) }
            }
        },
        Err(RangeUnsatisfiableError::Unsatisfiable) => Asked::Unsatisfiable,
        Err(_) => Asked::Whole,
    }
}

/// What stands between the ranges of a reply. No file can have it by chance, nor know it before.
pub(super) fn separator() -> String {
    static REPLIES: AtomicU64 = AtomicU64::new(0);
    let number = REPLIES.fetch_add(1, Ordering::Relaxed);
    format!("{:016x}{:016x}", clock::wall() ^ number.rotate_left(48), clock::now().0 ^ number)
}

#[cfg(test)]
mod tests {
    use hyper::header::{HeaderMap, HeaderValue, RANGE};

    use super::{Asked, asked, separator};

    #[test]
    fn what_is_no_range_or_too_many_is_the_whole_file() {
        let of = |size, value: &'static str| {
            let headers = HeaderMap::from_iter([(RANGE, HeaderValue::from_static(value))]);
            asked(&headers, size, 3)
        };
        for (value, right) in [
            ("bytes=0-0", Asked::One(0, 0)),
            ("bytes=2-", Asked::One(2, 9)),
            ("bytes=-3", Asked::One(7, 9)),
            ("bytes=-30", Asked::One(0, 9)),
            ("bytes=5-99", Asked::One(5, 9)),
            ("Bytes=1-2", Asked::One(1, 2)),
            ("bytes=0-1,4-5", Asked::Several(vec![(0, 1), (4, 5)])),
            ("bytes=8-9, 0-0 ,", Asked::Several(vec![(8, 9), (0, 0)])),
            ("bytes=0-1,20-30", Asked::One(0, 1)),
            ("bytes=10-", Asked::Unsatisfiable),
            ("bytes=-0", Asked::Unsatisfiable),
            ("bytes=20-30,40-", Asked::Unsatisfiable),
            ("bytes=3-2", Asked::Whole),
            ("bytes=", Asked::Whole),
            ("bytes=a-b", Asked::Whole),
            ("bytes=+1-2", Asked::Whole),
            ("lines=0-1", Asked::Whole),
            ("bytes=0-0,2-2,4-4,6-6", Asked::Whole),
            ("bytes=0-5,5-9", Asked::Whole),
            ("bytes=0-,0-,0-", Asked::Whole),
        ] {
            assert_eq!(of(10, value), right, "{value}");
        }
        assert_eq!(of(0, "bytes=0-"), Asked::Unsatisfiable);
        assert_eq!(of(0, "bytes=-1"), Asked::Whole);
        let both = HeaderMap::from_iter([
            (RANGE, HeaderValue::from_static("bytes=0-0")),
            (RANGE, HeaderValue::from_static("bytes=1-1")),
        ]);
        let mut twice = both.clone();
        twice.append(RANGE, HeaderValue::from_static("bytes=0-0"));
        assert_eq!(asked(&twice, 10, 3), Asked::Whole);
        assert_ne!(separator(), separator());
    }
}

//! A run's histograms as an HDR interval log (V2, compressed), which the tools of other load generators read.
//!
//! The lines without a tag are the response times of each second of the run, warm-up included: a time series. Three
//! lines with a tag hold the whole run after the warm-up: `response` (from planned), `service` (from sent) and
//! `lateness` (the generator's own). Values are nanoseconds with three significant digits; ours come from buckets of
//! 0.8 %, each as its middle. The format is described with G. Tene's HdrHistogram.

use std::time::{Duration, SystemTime};

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use sojourn_stats::{Histogram, Span, Time};

use crate::report::Report;

/// Divides what is said of each line's maximum: nanoseconds as milliseconds, as is usual in these logs.
const MAX_DIVISOR: f64 = 1e6;

impl Report {
    /// The run's histograms as the text of an HDR interval log; see the module `hdr`.
    pub fn hdr_log(&self) -> String {
        let start = SystemTime::UNIX_EPOCH + Duration::from_nanos(self.started_at_ns);
        let mut text = Vec::new();
        let mut serializer = V2DeflateSerializer::new();
        let mut log = IntervalLogWriterBuilder::new()
            .add_comment("Response times in ns of each second; tagged lines are the whole run after its warm-up.")
            .with_start_time(start)
            .with_base_time(start)
            .with_max_value_divisor(MAX_DIVISOR)
            .begin_log_with(&mut text, &mut serializer)
            .expect("a Vec takes all");
        let mut write = |histogram: &Histogram, at: Time, length: Span, tag: Option<&'static str>| {
            let tag = tag.map(|tag| Tag::new(tag).expect("a word"));
            let (at, length) = (Duration::from_nanos(at.0), length.as_std());
            log.write_histogram(&hdr(histogram), at, length, tag).expect("a Vec takes all, of any histogram");
        };
        for interval in &self.intervals {
            write(&Histogram::from(interval.response.clone()), interval.start, interval.length, None);
        }
        let warm_up = Time::from_secs_f64(self.warm_up_s);
        let measured = Span::from_secs_f64(self.measured_s);
        for (tag, histogram) in [("response", &self.response), ("service", &self.service), ("lateness", &self.lateness)]
        {
            write(histogram, warm_up, measured, Some(tag));
        }
        String::from_utf8(text).expect("a log is text")
    }
}

fn hdr(histogram: &Histogram) -> hdrhistogram::Histogram<u64> {
    let mut hdr = hdrhistogram::Histogram::new(3).expect("three digits are possible");
    for (low, high, count) in histogram.buckets() {
        hdr.record_n(low + (high - low) / 2, count).expect("it grows with its values");
    }
    hdr
}

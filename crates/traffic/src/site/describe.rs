//! What a site is, in numbers: whether it is what was meant.

use sojourn_stats::fit::hill::DISTINCT_LEAST;

use super::{CLASSES, Kind, Site};
use crate::describe::{Fact, Facts};

/// The share of files, or of requests, that is the tail.
const TAIL: f64 = 0.1;
/// Fewer files in the tail tell nothing of it.
const LEAST_TAIL: usize = 10;

impl Site {
    /// How many files and bytes, of which kinds and classes; what a page request brings; how concentrated requests are;
    /// how heavy the tails are. Sizes are in bytes; `request` is a request for a page with all that it shows.
    pub fn describe(&self) -> Vec<Fact> {
        let mut facts = Facts::default();
        let kinds = [("base_", Some(Kind::Base)), ("embedded_", Some(Kind::Embedded)), ("loner_", Some(Kind::Loner))];
        for (name, kind) in [("", None)].into_iter().chain(kinds) {
            let sizes =
                self.files.iter().filter(|file| kind.is_none_or(|kind| kind == file.kind)).map(|file| file.size);
            let (files, bytes) = (sizes.clone().count(), sizes.clone().map(u128::from).sum::<u128>());
            facts.count(&format!("{name}files"), files as u64);
            facts.number(&format!("{name}bytes"), bytes as f64, "B");
            facts.number(&format!("{name}size_mean"), bytes as f64 / files as f64, "B");
            facts.number(&format!("{name}size_max"), sizes.max().map_or(f64::NAN, |size| size as f64), "B");
        }
        facts.count("pages", self.pages.len() as u64);
        let base = |file: u32| self.files[file as usize].kind == Kind::Base;
        let shown: Vec<f64> =
            self.pages.iter().filter(|page| base(page.file)).map(|page| page.embedded.len() as f64).collect();
        facts.number("embedded_per_base_mean", shown.iter().sum::<f64>() / shown.len() as f64, "1");
        facts.number("embedded_per_base_max", shown.iter().copied().fold(f64::NAN, f64::max), "1");

        // Each file with the share of page requests that brings it.
        let mut asked = vec![0.0; self.files.len()];
        for page in &self.pages {
            for file in std::iter::once(&page.file).chain(&page.embedded) {
                asked[*file as usize] += page.popularity;
            }
        }
        let over_pages = |value: &dyn Fn(usize) -> f64| {
            self.pages.iter().enumerate().map(|(index, page)| page.popularity * value(index)).sum::<f64>()
        };
        let size = |file: u32| self.files[file as usize].size as f64;
        let page_size = |index: usize| size(self.pages[index].file);
        let base_share = over_pages(&|index| f64::from(u8::from(base(self.pages[index].file))));
        facts.number("base_request_share", base_share, "1");
        facts.number("embedded_per_request", over_pages(&|index| self.pages[index].embedded.len() as f64), "1");
        facts.number("files_per_request", asked.iter().sum(), "1");
        let bytes = self.files.iter().zip(&asked).map(|(file, share)| file.size as f64 * share).sum();
        facts.number("bytes_per_request", bytes, "B");
        facts.number("requested_page_size_mean", over_pages(&page_size), "B");
        facts.number("requested_file_size_mean", self.size_moments.0, "B");
        facts.number("request_size_deviation", self.request_size_deviation.unwrap_or(f64::NAN), "1");
        for (class, name) in CLASSES.iter().enumerate().skip(1) {
            let of = |index: &usize| usize::from(self.files[*index].class) == class;
            let files = (0..self.files.len()).filter(of);
            if files.clone().next().is_some() {
                facts.count(&format!("{name}_files"), files.clone().count() as u64);
                let share = files.map(|index| asked[index]).sum::<f64>() / asked.iter().sum::<f64>();
                facts.number(&format!("{name}_file_request_share"), share, "1");
            }
        }
        for (name, share) in [("1", 0.01), ("10", 0.1), ("50", 0.5)] {
            let top = (share * self.pages.len() as f64).ceil() as usize;
            let requests = self.pages[..top].iter().map(|page| page.popularity).sum();
            facts.number(&format!("top_{name}_percent_of_pages_share"), requests, "1");
        }
        let stored: Vec<(f64, f64)> = self.files.iter().map(|file| (file.size as f64, 1.0)).collect();
        let pages: Vec<(f64, f64)> = self.pages.iter().map(|page| (size(page.file), page.popularity)).collect();
        let fetched: Vec<(f64, f64)> = stored.iter().zip(&asked).map(|(file, share)| (file.0, *share)).collect();
        facts.number("file_size_tail_index", tail_index(stored), "1");
        facts.number("requested_page_size_tail_index", tail_index(pages), "1");
        facts.number("requested_file_size_tail_index", tail_index(fetched), "1");
        facts.all
    }
}

/// Hill's estimate of alpha in P(X > x) ~ x^-alpha (Annals of Statistics 3(5), 1975) from the largest tenth by weight
/// of (size, weight); NaN where too few files are in it, or too few of different sizes.
fn tail_index(mut sizes: Vec<(f64, f64)>) -> f64 {
    sizes.retain(|(size, weight)| *size > 0.0 && *weight > 0.0);
    sizes.sort_by(|one, other| other.0.total_cmp(&one.0));
    let total: f64 = sizes.iter().map(|size| size.1).sum();
    let mut above = 0.0;
    let end = sizes.iter().position(|size| {
        above += size.1;
        above > TAIL * total
    });
    let distinct = |end: usize| sizes[..end].chunk_by(|one, other| one.0 == other.0).count();
    let is_a_tail = |end: &usize| *end >= LEAST_TAIL && distinct(*end) >= DISTINCT_LEAST;
    let Some(end) = end.filter(is_a_tail) else { return f64::NAN };
    let threshold = sizes[end].0;
    let (weight, logs) = sizes[..end]
        .iter()
        .fold((0.0, 0.0), |(weight, logs), size| (weight + size.1, logs + size.1 * (size.0 / threshold).ln()));
    weight / logs
}

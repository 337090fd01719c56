//! A web site as SURGE draws it: files of three kinds with laws of their sizes, pages made of them, and how often each
//! page is asked for (Barford and Crovella, SIGMETRICS 1998; the numbers are those of Zhang 2002, Table 3.2).
//!
//! A page is a base file with the embedded files that it shows, or a loner. Embedded files are shared between pages.
//! How often a page is asked for follows Zipf's law, and which file sits at which rank is chosen so that the sizes of
//! the page files asked for follow a law of their own ([`SiteLaw::requests`]; see `matching`).
//!
//! A site is drawn once from a seed and never changes: it can be shared between users, runs and threads, and with it
//! everything that is worth computing once.

mod describe;
mod folder;
mod locality;
mod matching;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use sojourn_stats::{Dimension, Law, Stream, math};

pub(crate) use self::locality::Depth;
pub use self::locality::Locality;
use crate::alias::Alias;
use crate::error::WorkloadError;

/// The names of the classes of files and requests, by class number.
pub(crate) const CLASSES: &[&str] = &["static", "dynamic", "secure"];

/// What a file is to its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// An HTML file that shows embedded files.
    Base,
    /// Shown by base files.
    Embedded,
    /// A page of its own, such as a document or a film.
    Loner,
}

/// One file of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File {
    /// What it is to its page.
    pub kind: Kind,
    /// Index into the classes of a session workload: 0 `static`, 1 `dynamic`, 2 `secure`.
    pub class: u8,
    /// Bytes.
    pub size: u64,
}

/// One page of a site: what a user asks for with one click ("Web object" in Zhang 2002, section 3.2.1).
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    /// Its own file, base or loner: an index into [`Site::files`].
    pub file: u32,
    /// The files it shows, in their order: indices into [`Site::files`].
    pub embedded: Vec<u32>,
    /// Share of all page requests that go to it; the shares of a site sum to 1.
    pub popularity: f64,
}

/// What sites are drawn from.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteLaw {
    /// Files in all.
    pub files: u32,
    /// Shares of the files that are base, embedded and loner; they sum to 1.
    pub shares: [f64; 3],
    /// Laws of the sizes of base, embedded and loner files (bytes).
    pub sizes: [Law; 3],
    /// The smallest base, embedded and loner file (bytes): smaller draws become this.
    pub smallest: [u64; 3],
    /// Law of the sizes of the page files asked for (bytes); its tail is cut at the largest page file.
    pub requests: Law,
    /// Exponent s of Zipf's law: the page of rank r has a share proportional to r^-s.
    pub popularity: f64,
    /// Law of the number of embedded files of a base file; its draws are rounded down.
    pub references: Law,
    /// Share of the page requests that go to base files; none: a page's kind plays no part in its popularity.
    pub base_requests: Option<f64>,
    /// Share of the files whose class is dynamic.
    pub dynamic: f64,
    /// Share of the files whose class is secure.
    pub secure: f64,
}

/// A site. See the module.
#[derive(Debug)]
pub struct Site {
    files: Vec<File>,
    /// Most popular first, and among equals in the order of their files.
    pages: Vec<Page>,
    paths: Vec<String>,
    /// Draws a page by popularity.
    choice: Alias,
    size_moments: (f64, f64),
    /// Largest distance between the distribution function of the sizes asked for and the law's, where there is a law.
    request_size_deviation: Option<f64>,
    /// Those asked for so far: all users of all runs share them.
    localities: Mutex<Vec<(Law, Arc<Locality>)>>,
}

impl SiteLaw {
    /// SURGE's 2000 files as Zhang (2002, Table 3.2 and section 4.3) used them, at the smallest of his three sigmas of
    /// the loners, 1.143. Zipf's exponent, which he does not print, is 1.
    pub fn surge() -> SiteLaw {
        let law = |text: &str, dimension| Law::parse(text, dimension).expect("a law of Table 3.2 is well-formed");
        let bytes = |text: &str| law(text, Dimension::Size);
        SiteLaw {
            files: 2000,
            shares: [0.30, 0.38, 0.32],
            sizes: [
                bytes(
                    "mix(0.93: lognormal(mu = 7.63, sigma = 1.001, unit = B), 0.07: pareto(alpha = 1, min = 10000 B))",
                ),
                bytes("lognormal(mu = 8.215, sigma = 1.460, unit = B)"),
                bytes(&loner_sizes(1.143)),
            ],
            smallest: [75, 1, 1],
            requests: bytes(
                "mix(0.93: lognormal(mu = 7.881, sigma = 1.339, unit = B), 0.07: pareto(alpha = 1.177, min = 34102 B))",
            ),
            popularity: 1.0,
            references: law("pareto(alpha = 1.245, min = 2, max = 150)", Dimension::Number),
            base_requests: None,
            dynamic: 0.0,
            secure: 0.0,
        }
    }

    /// The same with another sigma of the large loners, which Zhang varied (1.143, 1.7145, 2.5): more of it means more
    /// and larger films.
    ///
    /// # Errors
    /// When `sigma` is not above 0.
    pub fn with_loner_sigma(mut self, sigma: f64) -> Result<SiteLaw, WorkloadError> {
        self.sizes[2] = Law::parse(&loner_sizes(sigma), Dimension::Size)?;
        Ok(self)
    }

    /// How many base, embedded and loner files there are: the shares of the files, to the nearest file.
    fn counts(&self) -> [usize; 3] {
        let files = self.files as usize;
        let base = ((self.shares[0] * f64::from(self.files)).round() as usize).min(files);
        let embedded = ((self.shares[1] * f64::from(self.files)).round() as usize).min(files - base);
        [base, embedded, files - base - embedded]
    }

    fn check(&self) -> Result<(), WorkloadError> {
        let share = |share: f64| (0.0..=1.0).contains(&share);
        let [base, embedded, loner] = self.shares;
        let fault = if self.files == 0 {
            "files = 0: a site has at least one".into()
        } else if !(self.shares.iter().all(|one| share(*one)) && (base + embedded + loner - 1.0).abs() < 1e-6) {
            format!("shares = [{base}, {embedded}, {loner}]: base, embedded and loner shares of the files sum to 1")
        } else if !(self.popularity >= 0.0 && self.popularity.is_finite()) {
            format!("popularity = {}: Zipf's exponent is 0 or above, most often near 1", self.popularity)
        } else if let Some(wrong) = self.base_requests.filter(|wrong| !share(*wrong)) {
            format!("base_requests = {wrong}: a share of the page requests lies between 0 and 1")
        } else if !(share(self.dynamic) && share(self.secure) && self.dynamic + self.secure <= 1.0 + 1e-9) {
            let (dynamic, secure) = (self.dynamic, self.secure);
            format!(
                "dynamic = {dynamic}, secure = {secure}: shares of the files lie between 0 and 1, as does their sum"
            )
        } else if self.counts()[0] + self.counts()[2] == 0 {
            "there is no base file and no loner, so no page to ask for: raise their shares or the number of files"
                .into()
        } else {
            return Ok(());
        };
        Err(WorkloadError::Invalid(fault))
    }
}

fn loner_sizes(sigma: f64) -> String {
    format!(
        "mix(0.66: lognormal(mu = 7.101, sigma = 1.200, unit = B), \
         0.34: lognormal(mu = 11.151, sigma = {sigma}, unit = B))"
    )
}

impl Site {
    /// Draws a site. The same law and seed give the same site.
    ///
    /// # Errors
    /// Without files or pages, and when shares are none.
    pub fn generate(law: &SiteLaw, seed: u64) -> Result<Site, WorkloadError> {
        law.check()?;
        let stream = |purpose: &str| Stream::new(seed, "site", purpose);
        let [base, embedded, loner] = law.counts();
        let mut files = Vec::with_capacity(law.files as usize);
        let kinds = [(Kind::Base, base), (Kind::Embedded, embedded), (Kind::Loner, loner)];
        for (index, (kind, count)) in kinds.into_iter().enumerate() {
            let mut sizes = stream(["base sizes", "embedded sizes", "loner sizes"][index]);
            let smallest = law.smallest[index].max(1);
            let size = |_| ((law.sizes[index].sample(&mut sizes) + 0.5) as u64).max(smallest);
            files.extend((0..count).map(size).map(|size| File { kind, class: 0, size }));
        }
        deal_classes(&mut files, law.dynamic, law.secure, &mut stream("classes"));

        let (mut counts, mut choices) = (stream("references"), stream("embedded files"));
        let mut pool: Vec<u32> = (base as u32..(base + embedded) as u32).collect();
        let mut references: Vec<Vec<u32>> = (0..base)
            .map(|_| {
                let count = (law.references.sample(&mut counts) as usize).min(embedded);
                // The first `count` of a shuffle: no file is shown twice by one page.
                for place in 0..count {
                    let other = place + choices.below(embedded - place);
                    pool.swap(place, other);
                }
                pool[..count].to_vec()
            })
            .collect();

        let page_files: Vec<u32> = (0..base as u32).chain((base + embedded) as u32..law.files).collect();
        let total: f64 = (1..=page_files.len()).map(|rank| math::pow(rank as f64, -law.popularity)).sum();
        let shares: Vec<f64> =
            (1..=page_files.len()).map(|rank| math::pow(rank as f64, -law.popularity) / total).collect();
        let (ranked, deviation) = matching::ranked(&files, &page_files, &shares, &law.requests, law.base_requests);
        let pages = ranked
            .into_iter()
            .zip(shares)
            .map(|(file, popularity)| {
                let embedded = references.get_mut(file as usize).map(std::mem::take).unwrap_or_default();
                Page { file, embedded, popularity }
            })
            .collect();
        let paths = paths(&files);
        Ok(Site::of(files, pages, paths, Some(deviation)))
    }

    /// The files; requests name them by their index.
    pub fn files(&self) -> &[File] {
        &self.files
    }

    /// The pages, most popular first.
    pub fn pages(&self) -> &[Page] {
        &self.pages
    }

    /// The files' paths on a server, such as `/base/0001.html`, in the order of the files.
    pub fn paths(&self) -> &[String] {
        &self.paths
    }

    /// Mean and variance of the size of a file asked for (bytes, bytes^2), page files and embedded files alike.
    pub fn size_moments(&self) -> (f64, f64) {
        self.size_moments
    }

    /// Draws a page by popularity: an index into [`Site::pages`].
    #[inline]
    pub fn choose(&self, stream: &mut Stream) -> u32 {
        self.choice.sample(stream)
    }

    /// How deep users go in their stacks of visits so that the LRU stack distances of their pages follow this law.
    /// Solved for once per law, in some 50 ms, and shared.
    pub fn locality(&self, distances: &Law) -> Arc<Locality> {
        // A law is added whole or not at all, so what another thread left in its panic is sound.
        let mut known = self.localities.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, locality)) = known.iter().find(|(law, _)| law == distances) {
            return Arc::clone(locality);
        }
        let popularity: Vec<f64> = self.pages.iter().map(|page| page.popularity).collect();
        let locality = Arc::new(Locality::new(distances, &popularity, |stream| self.choose(stream)));
        known.push((distances.clone(), Arc::clone(&locality)));
        locality
    }

    /// A site of pages without embedded files: sizes (bytes), chances, and paths, in one order.
    pub(crate) fn of_files(files: Vec<(u64, f64)>, paths: Vec<String>) -> Site {
        let page = |(file, (_, popularity)): (usize, &(u64, f64))| Page {
            file: file as u32,
            embedded: Vec::new(),
            popularity: *popularity,
        };
        let pages = files.iter().enumerate().map(page).collect();
        let files = files.iter().map(|(size, _)| File { kind: Kind::Loner, class: 0, size: *size }).collect();
        Site::of(files, pages, paths, None)
    }

    /// A site whose pages are bursts of files, the first one the page's own; a burst that is there twice is a page twice
    /// as popular.
    pub(crate) fn of_bursts(sizes: Vec<u64>, paths: Vec<String>, bursts: &[&[u32]]) -> Site {
        let mut files: Vec<File> =
            sizes.into_iter().map(|size| File { kind: Kind::Embedded, class: 0, size }).collect();
        let mut counts: BTreeMap<&[u32], u32> = BTreeMap::new();
        for burst in bursts {
            *counts.entry(burst).or_default() += 1;
        }
        let page = |(burst, count): (&[u32], u32)| {
            files[burst[0] as usize].kind = if burst.len() > 1 { Kind::Base } else { Kind::Loner };
            let popularity = f64::from(count) / bursts.len() as f64;
            Page { file: burst[0], embedded: burst[1..].to_vec(), popularity }
        };
        let pages = counts.into_iter().map(page).collect();
        Site::of(files, pages, paths, None)
    }

    /// A site of these parts; at least one page, popularities that sum to 1.
    fn of(files: Vec<File>, mut pages: Vec<Page>, paths: Vec<String>, request_size_deviation: Option<f64>) -> Site {
        pages.sort_by(|one, other| other.popularity.total_cmp(&one.popularity).then(one.file.cmp(&other.file)));
        let weights: Vec<f64> = pages.iter().map(|page| page.popularity).collect();
        let (mut requests, mut sum, mut squares) = (0.0, 0.0, 0.0);
        for page in &pages {
            for file in std::iter::once(&page.file).chain(&page.embedded) {
                let size = files[*file as usize].size as f64;
                requests += page.popularity;
                sum += page.popularity * size;
                squares += page.popularity * size * size;
            }
        }
        let mean = sum / requests;
        let size_moments = (mean, (squares / requests - mean * mean).max(0.0));
        Site {
            files,
            pages,
            paths,
            choice: Alias::new(&weights),
            size_moments,
            request_size_deviation,
            localities: Mutex::default(),
        }
    }
}

/// Gives the shares of the files their classes: the first of a shuffle are dynamic and the last secure, so that a
/// larger share changes no file back.
fn deal_classes(files: &mut [File], dynamic: f64, secure: f64, stream: &mut Stream) {
    let count = |share: f64| (share * files.len() as f64).round() as usize;
    let dynamic = count(dynamic);
    let secure = count(secure).min(files.len() - dynamic);
    if dynamic + secure == 0 {
        return;
    }
    let mut order: Vec<usize> = (0..files.len()).collect();
    for place in (1..order.len()).rev() {
        order.swap(place, stream.below(place + 1));
    }
    order[..dynamic].iter().for_each(|file| files[*file].class = 1);
    order[order.len() - secure..].iter().for_each(|file| files[*file].class = 2);
}

/// `/base/0001.html`, `/embedded/0001.bin`, `/loner/0001.bin`: numbered from 1 within each kind.
fn paths(files: &[File]) -> Vec<String> {
    let mut numbers = [0; 3];
    let width = files.len().to_string().len().max(4);
    let path = |file: &File| {
        let (index, folder, ending) = match file.kind {
            Kind::Base => (0, "base", "html"),
            Kind::Embedded => (1, "embedded", "bin"),
            Kind::Loner => (2, "loner", "bin"),
        };
        numbers[index] += 1;
        format!("/{folder}/{:0width$}.{ending}", numbers[index])
    };
    files.iter().map(path).collect()
}

//! Which file sits at which rank of popularity, so that the sizes asked for follow a law of their own.
//!
//! SURGE's problem: sizes of files, popularity of ranks and sizes of requests are three laws, and the only freedom is
//! who gets which rank (Barford and Crovella 1998). The files are sorted by size, and each is owed the share of
//! requests that the law gives to the sizes nearest to it. Ranks are dealt most popular first. Each goes down a binary
//! tree over the sorted files, always into the half that is owed more beyond what an average remaining rank per
//! remaining file would bring it. So a popular rank lands where the law concentrates requests on few files, and the
//! flat end of Zipf's law fills the rest: n log n steps. Where a share of the requests is asked for base files, the
//! kind of each rank is dealt first, by the same rule, and the half must have a file of it.
//!
//! The price: a rank cannot be split. At 1240 pages and exponent 1 the first alone has 13 % of the requests, so a
//! distance of at least 6.5 % to the law remains somewhere; 6.5 to 11 % are usual, less in the tail. Nor can a kind
//! have less than the rarest ranks bring: with 600 base files of 1240 pages that is 8.6 % of the requests. The
//! description says what came out.

use sojourn_stats::Law;

use super::{File, Kind};

/// The page files in the order of their ranks, and the largest distance of the distribution function of the sizes asked
/// for to that of `law`.
pub(super) fn ranked(
    files: &[File],
    page_files: &[u32],
    shares: &[f64],
    law: &Law,
    base_requests: Option<f64>,
) -> (Vec<u32>, f64) {
    let size = |file: &u32| files[*file as usize].size;
    let largest = page_files.iter().map(size).max().unwrap_or(1) as f64;
    let whole = law.cdf(largest);
    // A law that lies above every file gives no file its due; then all are owed the same.
    let cut = |x: f64| if whole > 0.0 { law.cdf(x.min(largest)) / whole } else { 0.0 };
    let mut sorted = page_files.to_vec();
    sorted.sort_by_key(size);
    // 1 for base files where their share of the requests is asked for; else there is one kind only.
    let kind = |file: &u32| usize::from(base_requests.is_some() && files[*file as usize].kind == Kind::Base);
    let base_share = base_requests.unwrap_or(0.0);
    let mut tree = Tree::new(sorted.len(), [1.0 - base_share, base_share], shares.last().copied().unwrap_or(0.0));
    let mut below = 0.0;
    for (place, file) in sorted.iter().enumerate() {
        let next = sorted.get(place + 1).map(|next| (size(file) as f64 * size(next) as f64).sqrt());
        let up_to = next.map_or(1.0, cut);
        tree.put(place, *file, kind(file), up_to - below);
        below = up_to;
    }
    tree.sum_up();
    let ranked: Vec<u32> = shares.iter().map(|share| tree.take(*share)).collect();

    let mut by_size: Vec<(u64, f64)> = ranked.iter().map(size).zip(shares.iter().copied()).collect();
    by_size.sort_by_key(|asked| asked.0);
    let (mut below, mut deviation) = (0.0f64, 0.0f64);
    for equal in by_size.chunk_by(|one, other| one.0 == other.0) {
        let up_to = below + equal.iter().map(|asked| asked.1).sum::<f64>();
        let at = cut(equal[0].0 as f64);
        deviation = deviation.max((below - at).abs()).max((up_to - at).abs());
        below = up_to;
    }
    (ranked, deviation)
}

/// A binary tree over files; a node knows what its files are owed, and how many of each kind are without a rank.
struct Tree {
    leaves: usize,
    files: Vec<u32>,
    owed: Vec<f64>,
    free: Vec<[u32; 2]>,
    /// What each kind is owed as a whole.
    kinds: [f64; 2],
    /// The share of the last rank: no file gets less.
    least: f64,
}

impl Tree {
    fn new(files: usize, kinds: [f64; 2], least: f64) -> Tree {
        let leaves = files.next_power_of_two();
        Tree {
            leaves,
            files: vec![0; leaves],
            owed: vec![0.0; 2 * leaves],
            free: vec![[0; 2]; 2 * leaves],
            kinds,
            least,
        }
    }

    fn put(&mut self, leaf: usize, file: u32, kind: usize, owed: f64) {
        self.files[leaf] = file;
        self.owed[self.leaves + leaf] = owed;
        self.free[self.leaves + leaf][kind] = 1;
    }

    fn sum_up(&mut self) {
        for node in (1..self.leaves).rev() {
            let (left, right) = (2 * node, 2 * node + 1);
            self.owed[node] = self.owed[left] + self.owed[right];
            self.free[node] = [0, 1].map(|kind| self.free[left][kind] + self.free[right][kind]);
        }
    }

    /// Gives a rank with this share of the requests to a file.
    fn take(&mut self, share: f64) -> u32 {
        let free = self.free[1].map(f64::from);
        let average = (self.kinds[0] + self.kinds[1]) / (free[0] + free[1]);
        let kind_need = [0, 1].map(|kind| match free[kind] {
            0.0 => f64::NEG_INFINITY,
            free => self.kinds[kind] - free * average,
        });
        let kind = usize::from(kind_need[1] > kind_need[0]);
        // What a remaining file of each kind will get on average.
        let averages =
            [0, 1].map(|kind| if free[kind] > 0.0 { (self.kinds[kind] / free[kind]).max(self.least) } else { 0.0 });
        self.kinds[kind] -= share;
        let mut node = 1;
        loop {
            self.owed[node] -= share;
            self.free[node][kind] -= 1;
            if node >= self.leaves {
                return self.files[node - self.leaves];
            }
            let need = |child: usize| match self.free[child] {
                free if free[kind] == 0 => f64::NEG_INFINITY,
                free => self.owed[child] - f64::from(free[0]) * averages[0] - f64::from(free[1]) * averages[1],
            };
            node = if need(2 * node) >= need(2 * node + 1) { 2 * node } else { 2 * node + 1 };
        }
    }
}

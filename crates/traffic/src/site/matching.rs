//! Which file sits at which rank of popularity, so that the sizes asked for follow a law of their own.
//!
//! SURGE's problem: sizes of files, popularity of ranks and sizes of requests are three laws, and the only freedom is who
//! gets which rank (Barford and Crovella 1998, section 4). The files are sorted by size, and each is owed the share of
//! requests that the law gives to the sizes nearest to it. Ranks are dealt most popular first. Each goes down a binary
//! tree over the sorted files, always into the half that is owed more beyond what an average remaining rank per remaining
//! file would bring it. So a popular rank lands where the law concentrates requests on few files, and the flat end of
//! Zipf's law fills the rest: n log n steps.
//!
//! The price: nobody can split a rank. At 1240 pages and exponent 1 the first alone has 13 % of the requests, so a
//! distance of 6 or 7 % to the law remains somewhere below the tail. The distance reached is kept for the description.

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
    let is_base = |file: &u32| files[*file as usize].kind == Kind::Base;
    let (base, loner): (Vec<u32>, Vec<u32>) = page_files.iter().partition(|file| is_base(file));
    let groups = match base_requests {
        Some(share) if !base.is_empty() && !loner.is_empty() => vec![(base, share), (loner, 1.0 - share)],
        _ => vec![(page_files.to_vec(), 1.0)],
    };
    let width = groups.iter().map(|group| group.0.len()).max().unwrap_or(1).next_power_of_two();
    let mut tree = Tree::new(width * groups.len());
    for (index, (mut group, share)) in groups.into_iter().enumerate() {
        group.sort_by_key(size);
        let mut below = 0.0;
        for (place, file) in group.iter().enumerate() {
            let next = group.get(place + 1).map(|next| (size(file) as f64 * size(next) as f64).sqrt());
            let up_to = next.map_or(1.0, cut);
            tree.put(index * width + place, *file, share * (up_to - below));
            below = up_to;
        }
    }
    tree.sum_up();
    let mut left = shares.iter().sum::<f64>();
    let mut ranked = Vec::with_capacity(shares.len());
    for (rank, share) in shares.iter().enumerate() {
        ranked.push(tree.take(*share, left / (shares.len() - rank) as f64));
        left -= share;
    }

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

/// A binary tree over files; a node knows what its files are owed and how many of them are without a rank.
struct Tree {
    leaves: usize,
    files: Vec<u32>,
    owed: Vec<f64>,
    free: Vec<u32>,
}

impl Tree {
    fn new(leaves: usize) -> Tree {
        Tree { leaves, files: vec![0; leaves], owed: vec![0.0; 2 * leaves], free: vec![0; 2 * leaves] }
    }

    fn put(&mut self, leaf: usize, file: u32, owed: f64) {
        self.files[leaf] = file;
        self.owed[self.leaves + leaf] = owed;
        self.free[self.leaves + leaf] = 1;
    }

    fn sum_up(&mut self) {
        for node in (1..self.leaves).rev() {
            self.owed[node] = self.owed[2 * node] + self.owed[2 * node + 1];
            self.free[node] = self.free[2 * node] + self.free[2 * node + 1];
        }
    }

    /// Gives a rank with this share of the requests to a file; `average` is that of the ranks not yet dealt.
    fn take(&mut self, share: f64, average: f64) -> u32 {
        let mut node = 1;
        loop {
            self.owed[node] -= share;
            self.free[node] -= 1;
            if node >= self.leaves {
                return self.files[node - self.leaves];
            }
            let need = |child: usize| match self.free[child] {
                0 => f64::NEG_INFINITY,
                free => self.owed[child] - f64::from(free) * average,
            };
            node = if need(2 * node) >= need(2 * node + 1) { 2 * node } else { 2 * node + 1 };
        }
    }
}

//! Temporal locality: users come back to pages they saw lately, without any page getting more or fewer requests.
//!
//! Measured is the LRU stack distance: the pages a user asked for, latest first, each once, and how deep in that list
//! the next one lies (Mattson et al., IBM Systems Journal 9(2), 1970; lognormal for web servers: Almeida et al., PDIS
//! 1996; Barford and Crovella 1998). A stack of pages and a law of depths alone wear popularity away, because whatever
//! is near the top is asked for alike. SURGE mends that by looking around the drawn depth for a page that popularity
//! still owes, which bends the distances and presumes a stream of known length.
//!
//! Here the stack is one of *visits*, endless, each with a page drawn once by popularity and independently. A request
//! draws a depth, asks for the page written there and moves that visit to the top. Depths know nothing of pages, so at
//! every step and for every user the page asked for has exactly the chance that popularity gives it. The visits above a
//! depth hold some pages twice, so the law of depths is not that of distances: it is solved for, once per site and law.
//! Given the pages of a stack, the distance that each depth gives is known; its mean over drawn stacks is a matrix, and
//! the weights of the depths that turn it into the distances asked for are found by Richardson's and Lucy's iteration
//! (JOSA 62(1), 1972; Astronomical Journal 79(6), 1974), which keeps them above 0. A visit never touched yet is a fresh
//! draw, so a user's stack starts empty and holds only what it touched.
//!
//! The price: one user's own shares come near the popularity only as fast as the distances let new pages in. Of SURGE's
//! depths one in 40,000 exceeds 100: on 1240 pages a user sees some 17 of them in 100 requests, 30 in 1000 and 80 in
//! 100,000, and no method could show it more at those distances. Popularity is a property of all users together, so runs
//! with few users differ more from seed to seed than without locality. And where popularity itself forbids the distances
//! (a page with half of the requests is asked for twice in a row in a quarter of them), they are met as nearly as can be;
//! [`Locality::deviation`] says how nearly.

use sojourn_stats::{Law, Stream};

use crate::alias::Alias;

/// Depths and distances up to here are told apart one by one; beyond, in cells a tenth wider each.
const SINGLE: u32 = 64;
/// No stack is longer. Deeper visits are fresh draws.
const DEEPEST: u32 = 1 << 13;
/// The share of distances beyond the stack that is looked at.
const BEYOND: f64 = 1e-5;
/// Visits drawn to learn which distances the depths give, in all stacks together.
const VISITS: u32 = 2_000_000;
/// Iterations for the weights, unless they come near enough before: to this distance of the distribution functions.
const ITERATIONS: usize = 2_000;
const NEAR_ENOUGH: f64 = 1e-5;

/// The law of depths in a stack of visits that gives a law of stack distances of pages. See the module.
#[derive(Debug)]
pub struct Locality {
    choice: Alias,
    /// The first depth of each cell and one more: the first depth beyond all. The last cell is a fresh visit.
    cells: Vec<u32>,
    deviation: f64,
}

/// How deep a user goes for its next page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// To this visit, from 1 for the latest.
    Visit(u32),
    /// To one it never touched, whatever its stack holds.
    Fresh,
}

impl Locality {
    /// Solves for the depths that make `distances` (1 is the latest page; draws are rounded up) between pages of these
    /// popularities, of which `choose` draws one.
    pub(crate) fn new(distances: &Law, popularity: &[f64], choose: impl Fn(&mut Stream) -> u32) -> Locality {
        let pages = popularity.len() as u32;
        let bins = edges(pages);
        let whole = distances.cdf(f64::from(pages));
        let up_to = |distance: u32| if whole > 0.0 { distances.cdf(f64::from(distance)) / whole } else { 0.0 };
        // A law above every page asks for the deepest.
        let asked: Vec<f64> = match whole > 0.0 {
            true => bins.windows(2).map(|bin| up_to(bin[1] - 1) - up_to(bin[0] - 1)).collect(),
            false => (1..bins.len()).map(|bin| if bin + 1 == bins.len() { 1.0 } else { 0.0 }).collect(),
        };
        let furthest = (1..pages).find(|distance| up_to(*distance) >= 1.0 - BEYOND).unwrap_or(pages);
        let (cells, given) = given(popularity, &bins, furthest, choose);
        let weights = solve(&asked, &given);
        let (mut sum, mut deviation) = (0.0f64, 0.0f64);
        for (bin, share) in asked.iter().enumerate() {
            sum += share - weights.iter().zip(&given).map(|(weight, row)| weight * row[bin]).sum::<f64>();
            deviation = deviation.max(sum.abs());
        }
        Locality { choice: Alias::new(&weights), cells, deviation }
    }

    /// Largest distance between the distribution function of the stack distances that come out and the one asked for.
    pub fn deviation(&self) -> f64 {
        self.deviation
    }

    /// The length of the longest stack worth keeping.
    pub(crate) fn deepest(&self) -> usize {
        self.cells[self.cells.len() - 1] as usize - 1
    }

    /// Draws a depth.
    #[inline]
    pub(crate) fn sample(&self, stream: &mut Stream) -> Depth {
        let cell = self.choice.sample(stream) as usize;
        match self.cells.get(cell + 1) {
            Some(next) if next - self.cells[cell] == 1 => Depth::Visit(self.cells[cell]),
            Some(next) => Depth::Visit(self.cells[cell] + stream.below((next - self.cells[cell]) as usize) as u32),
            None => Depth::Fresh,
        }
    }
}

/// The first number of each cell of 1 to `last`, and `last` + 1.
fn edges(last: u32) -> Vec<u32> {
    let mut edges = vec![1];
    let mut next = 2;
    while next <= last {
        edges.push(next);
        next += if next <= SINGLE { 1 } else { next / 10 };
    }
    edges.push(last + 1);
    edges
}

/// The cells of the depths up to where stacks mostly hold more than `furthest` pages, and for each of them, and then
/// for a fresh visit, the law of the distances over `bins`.
fn given(
    popularity: &[f64],
    bins: &[u32],
    furthest: u32,
    choose: impl Fn(&mut Stream) -> u32,
) -> (Vec<u32>, Vec<Vec<f64>>) {
    let mut stream = Stream::new(0, "locality", "stacks");
    let mut stamps = vec![0u32; popularity.len()];
    let mut deepest = 0;
    let mut held = 0;
    while held <= furthest && deepest < DEEPEST {
        let page = choose(&mut stream) as usize;
        held += u32::from(std::mem::replace(&mut stamps[page], 1) == 0);
        deepest += 1;
        if held as usize == popularity.len() {
            break;
        }
    }
    let depths = (deepest + deepest / 4).min(DEEPEST);
    let cells = edges(depths);
    let mut cell_of = vec![0; depths as usize + 2];
    for (cell, ends) in cells.windows(2).enumerate() {
        cell_of[ends[0] as usize..ends[1] as usize].fill(cell);
    }
    cell_of[depths as usize + 1] = cells.len() - 1;
    let mut bin_of = vec![0; popularity.len() + 2];
    for (bin, ends) in bins.windows(2).enumerate() {
        bin_of[ends[0] as usize..ends[1] as usize].fill(bin);
    }
    bin_of[popularity.len() + 1] = bins.len() - 2;

    // What a visit gives is averaged over its own page instead of drawing it: each page above it at its place, and all
    // the others below all of them. So a row differs from the one before by what is new in it.
    let stacks = (VISITS / depths).max(100);
    let mut given = vec![vec![0.0; bins.len() - 1]; cells.len()];
    let mut seen = vec![(0u32, 0.0f64); 0];
    for stack in 0..stacks {
        let stamp = stack + 2;
        seen.clear();
        let mut unseen = 1.0;
        for depth in 1..=depths + 1 {
            // The last row stands for a visit beyond the stack.
            given[cell_of[depth as usize]][bin_of[seen.len() + 1]] += unseen;
            if depth > depths {
                break;
            }
            let page = choose(&mut stream) as usize;
            if std::mem::replace(&mut stamps[page], stamp) != stamp {
                seen.push((depth, popularity[page]));
                unseen = (unseen - popularity[page]).max(0.0);
            }
        }
        for (place, (depth, share)) in seen.iter().enumerate() {
            // Seen from every deeper row: the rest of its own cell, and the whole of every later one.
            let bin = bin_of[place + 1];
            let own = cell_of[*depth as usize + 1];
            let end = cells.get(own + 1).copied().unwrap_or(depth + 2);
            given[own][bin] += share * f64::from(end - depth - 1);
            for cell in own + 1..cells.len() {
                let width = cells.get(cell + 1).map_or(1, |next| next - cells[cell]);
                given[cell][bin] += share * f64::from(width);
            }
        }
    }
    for row in &mut given {
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|share| *share /= sum);
    }
    (cells, given)
}

/// The weights of the rows of `given` whose mixture is nearest to `asked`, from all alike.
fn solve(asked: &[f64], given: &[Vec<f64>]) -> Vec<f64> {
    let mut weights = vec![1.0 / given.len() as f64; given.len()];
    let mut ratios = vec![0.0; asked.len()];
    for _ in 0..ITERATIONS {
        let mut distance = 0.0f64;
        let mut mixture = vec![0.0; asked.len()];
        for (weight, row) in weights.iter().zip(given) {
            mixture.iter_mut().zip(row).for_each(|(sum, share)| *sum += weight * share);
        }
        let mut sum = 0.0f64;
        for ((ratio, asked), has) in ratios.iter_mut().zip(asked).zip(&mixture) {
            *ratio = if *has > 0.0 { asked / has } else { 0.0 };
            sum += asked - has;
            distance = distance.max(sum.abs());
        }
        if distance < NEAR_ENOUGH {
            break;
        }
        for (weight, row) in weights.iter_mut().zip(given) {
            *weight *= row.iter().zip(&ratios).map(|(share, ratio)| share * ratio).sum::<f64>();
        }
        let total: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|weight| *weight /= total);
    }
    weights
}

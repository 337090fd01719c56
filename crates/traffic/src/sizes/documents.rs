//! Documents with Zipf popularity: what a server holds and how often each of it is asked for.
//!
//! Sizes are drawn once, one for each document, from a law and a seed of their own, so that the same text means the same
//! documents in every run, engine and variant. Popularity and size are independent of each other, as they nearly are in
//! logs (Breslau, Cao, Fan, Phillips and Shenker, INFOCOM 1999, section 3). The price is that a few documents carry most
//! requests, so the sizes of requests follow no law exactly, and with a heavy tail their mean may be far from the law's:
//! `mean` scales it to what is wanted.

use std::sync::Arc;

use sojourn_stats::law::Argument;
use sojourn_stats::{Dimension, Law, Stream, math, quantity};

use crate::alias::Alias;
use crate::error::WorkloadError;

/// Documents. Cheap to clone: the tables are shared.
#[derive(Clone, Debug)]
pub struct Documents(Arc<Tables>);

#[derive(Debug)]
struct Tables {
    sizes: Vec<u64>,
    chances: Vec<f64>,
    alias: Alias,
    paths: Vec<String>,
}

impl Documents {
    /// As many documents as there may be.
    pub const MOST: u32 = 10_000_000;

    /// `n` documents whose rank r is asked for with chance proportional to r^-zipf, their sizes (bytes, at least 1) drawn
    /// from `size` by `seed` and then scaled so that the mean request has `mean` bytes, if that is given.
    ///
    /// # Panics
    /// When `n` is 0 or above [`Documents::MOST`], or `zipf` is negative or no number.
    pub fn new(n: u32, zipf: f64, size: &Law, seed: u64, mean: Option<f64>) -> Documents {
        assert!((1..=Documents::MOST).contains(&n) && zipf >= 0.0, "{n} documents with exponent {zipf}");
        let mut stream = Stream::new(seed, "documents", "sizes");
        let drawn: Vec<f64> = (0..n).map(|_| size.sample(&mut stream).max(1.0)).collect();
        let weights: Vec<f64> = (1..=n).map(|rank| math::exp(-zipf * math::ln(f64::from(rank)))).collect();
        let total: f64 = weights.iter().sum();
        let chances: Vec<f64> = weights.iter().map(|weight| weight / total).collect();
        let own: f64 = drawn.iter().zip(&chances).map(|(size, chance)| size * chance).sum();
        let factor = mean.map_or(1.0, |mean| mean / own);
        Documents(Arc::new(Tables {
            sizes: drawn.iter().map(|size| ((size * factor + 0.5) as u64).max(1)).collect(),
            alias: Alias::new(&chances),
            paths: (1..=n).map(|rank| format!("/document/{rank}")).collect(),
            chances,
        }))
    }

    /// Reads `documents(n = 5000, zipf = 0.8, size = LAW)`, perhaps with `mean = 12 kB` and `seed = 2`.
    pub(crate) fn parse(text: &str, arguments: &[Argument<'_>]) -> Result<Documents, WorkloadError> {
        let fault = |what: &str| {
            WorkloadError::Invalid(format!(
                "`{text}`: {what}; write `documents(n = 5000, zipf = 0.8, size = lognormal(mean = 10 kB, cv = 2))`, with \
                 `mean = 12 kB` if the mean request is to be scaled"
            ))
        };
        let (mut n, mut zipf, mut size, mut mean, mut seed) = (None, None, None, None, 1);
        for argument in arguments {
            let value = argument.value;
            match argument.key {
                Some("n") => n = value.parse().ok().filter(|n| (1..=Documents::MOST).contains(n)),
                Some("zipf") => zipf = value.parse::<f64>().ok().filter(|s| (0.0..=20.0).contains(s)),
                Some("size") => size = Some(Law::parse(value, Dimension::Size)?),
                Some("mean") => {
                    let bytes = quantity::parse(value, Dimension::Size).map_err(|e| fault(&e.to_string()))?;
                    mean = Some(bytes).filter(|bytes| *bytes >= 1.0);
                    mean.ok_or_else(|| fault("the mean is at least 1 B"))?;
                }
                Some("seed") => seed = value.parse().map_err(|_| fault("the seed is a whole number"))?,
                _ => return Err(fault(&argument.foreign(&["n", "zipf", "size", "mean", "seed"]))),
            }
        }
        let n = n.ok_or_else(|| fault(&format!("n is a whole number from 1 to {}", Documents::MOST)))?;
        let zipf = zipf.ok_or_else(|| fault("zipf is an exponent from 0 to 20"))?;
        let size = size.ok_or_else(|| fault("the law of their sizes is missing"))?;
        Ok(Documents::new(n, zipf, &size, seed, mean))
    }

    /// The paths, the most popular first.
    pub fn paths(&self) -> &[String] {
        &self.0.paths
    }

    /// The sizes (bytes) and the chance of each to be the one asked for, in the order of the paths.
    pub fn sizes(&self) -> impl Iterator<Item = (u64, f64)> + '_ {
        self.0.sizes.iter().copied().zip(self.0.chances.iter().copied())
    }

    /// Mean and variance of the size of a request (bytes, bytes^2).
    pub fn moments(&self) -> (f64, f64) {
        let mean: f64 = self.sizes().map(|(size, chance)| size as f64 * chance).sum();
        (mean, self.sizes().map(|(size, chance)| (size as f64 - mean).powi(2) * chance).sum())
    }

    /// Draws a document: its index among the paths and its size (bytes).
    #[inline]
    pub(crate) fn sample(&self, stream: &mut Stream) -> (u32, u64) {
        let index = self.0.alias.sample(stream);
        (index, self.0.sizes[index as usize])
    }
}

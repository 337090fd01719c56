//! Random streams: one pinned generator, one stream per entity and purpose.
//!
//! The generator is xoshiro256++ and its 256-bit state is the SHA-256 of (run seed, entity name, purpose). Both are
//! pinned: the same seed gives the same bytes on every platform and in every later version, and adding a server or
//! changing a policy shifts no other entity's numbers, so that policies are compared under common random numbers for
//! free. The price is a hash per stream, paid once.

use std::convert::Infallible;

use rand::TryRng;
use rand::rand_core::utils::fill_bytes_via_next_word;
use sha2::{Digest, Sha256};

/// One entity's random numbers for one purpose. Implements [`rand::Rng`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream([u64; 4]);

impl Stream {
    /// The stream of `entity` for `purpose` in the run seeded by `seed`, e.g. `(1, "source", "arrivals")`.
    pub fn new(seed: u64, entity: &str, purpose: &str) -> Stream {
        let mut hash = Sha256::new();
        hash.update(b"sojourn stream 1");
        hash.update(seed.to_le_bytes());
        hash.update((entity.len() as u64).to_le_bytes());
        hash.update(entity.as_bytes());
        hash.update(purpose.as_bytes());
        let seed: [u8; 32] = hash.finalize().into();
        let word = |number: usize| u64::from_le_bytes(std::array::from_fn(|byte| seed[8 * number + byte]));
        Stream(std::array::from_fn(word))
    }

    /// A number from the uniform law on [0, 1), with 53 random bits.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// A number from 0 to `bound` - 1, each equally likely (Lemire's method with its bias removed).
    ///
    /// # Panics
    /// When `bound` is 0.
    #[inline]
    pub fn below(&mut self, bound: usize) -> usize {
        assert!(bound > 0, "a choice among nothing");
        let bound = bound as u64;
        let mut product = u128::from(self.bits()) * u128::from(bound);
        if (product as u64) < bound {
            let threshold = bound.wrapping_neg() % bound;
            while (product as u64) < threshold {
                product = u128::from(self.bits()) * u128::from(bound);
            }
        }
        (product >> 64) as usize
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.0;
        let bits = a.wrapping_add(*d).rotate_left(23).wrapping_add(*a);
        let shifted = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= shifted;
        *d = d.rotate_left(45);
        bits
    }

    /// The generator's state, for code in another language that draws on from it: the words of xoshiro256++.
    #[inline]
    pub fn state(&self) -> [u64; 4] {
        self.0
    }

    /// The stream that goes on from a state, as [`Stream::state`] gave it.
    #[inline]
    pub fn of_state(state: [u64; 4]) -> Stream {
        Stream(state)
    }
}

impl TryRng for Stream {
    type Error = Infallible;

    #[inline]
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok((self.bits() >> 32) as u32)
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.bits())
    }

    #[inline]
    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        fill_bytes_via_next_word(bytes, || Ok(self.bits()))
    }
}

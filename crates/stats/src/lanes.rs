//! Several random streams side by side: each gives the numbers that it gives alone.
//!
//! The generator's step and the inside of a ziggurat's layer have no branch, so a loop over lanes becomes vector instructions
//! ([`crate::vectors`]). Where a lane comes to a layer's edge, as one draw in eighty does, its last few numbers are drawn
//! again by its stream alone.

use crate::Stream;
use crate::ziggurat::{self, EXPONENTIAL_X, NORMAL_X, around_zero, open};

/// How many streams go side by side.
pub const LANES: usize = 8;

/// Rows between two looks at what lies at an edge.
const STEPS: usize = 4;

const _: () = assert!(STEPS * LANES <= u64::BITS as usize);

/// A number of each stream.
pub type Row = [f64; LANES];

/// The states of streams, word by word.
type States = [[u64; LANES]; 4];

/// Streams side by side.
#[derive(Clone, Debug)]
pub struct Lanes {
    states: States,
}

impl Lanes {
    /// Those of these streams, at most [`LANES`]; what the other lanes draw is not used.
    pub fn of<'a>(streams: impl IntoIterator<Item = &'a Stream>) -> Lanes {
        let mut states = [[1; LANES]; 4];
        for (lane, stream) in streams.into_iter().enumerate() {
            stream.state().into_iter().zip(&mut states).for_each(|(word, words)| words[lane] = word);
        }
        Lanes { states }
    }

    /// The stream of a lane, as far as it has come.
    pub fn stream(&self, lane: usize) -> Stream {
        stream(&self.states, lane)
    }

    #[inline(always)]
    fn bits(&mut self) -> [u64; LANES] {
        let [a, b, c, d] = &mut self.states;
        let mut bits = [0; LANES];
        for lane in 0..LANES {
            bits[lane] = a[lane].wrapping_add(d[lane]).rotate_left(23).wrapping_add(a[lane]);
            let shifted = b[lane] << 17;
            c[lane] ^= a[lane];
            d[lane] ^= b[lane];
            b[lane] ^= c[lane];
            a[lane] ^= d[lane];
            c[lane] ^= shifted;
            d[lane] = d[lane].rotate_left(45);
        }
        bits
    }

    /// Numbers from 0 to 1, the latter left out.
    #[inline(always)]
    pub(crate) fn uniforms(&mut self, rows: &mut [Row]) {
        for row in rows {
            let bits = self.bits();
            for lane in 0..LANES {
                row[lane] = (bits[lane] >> 11) as f64 * (1.0 / (1u64 << 53) as f64);
            }
        }
    }

    /// Unit exponentials.
    #[inline(always)]
    pub(crate) fn exponentials(&mut self, rows: &mut [Row]) {
        self.layered(rows, &EXPONENTIAL_X, open, ziggurat::exponential);
    }

    /// Standard normals.
    #[inline(always)]
    pub(crate) fn normals(&mut self, rows: &mut [Row]) {
        self.layered(rows, &NORMAL_X, around_zero, ziggurat::normal);
    }

    /// Draws by ziggurat, whose layers end at `x`.
    #[inline(always)]
    fn layered(&mut self, rows: &mut [Row], x: &[f64; 257], place: impl Fn(u64) -> f64, draw: fn(&mut Stream) -> f64) {
        let mut chunks = rows.chunks_exact_mut(STEPS);
        for rows in &mut chunks {
            let before = self.states;
            let (mut bits, mut drawn) = ([[0; LANES]; STEPS], [[0.0; LANES]; STEPS]);
            bits.iter_mut().for_each(|bits| *bits = self.bits());
            // Which of the numbers lie at an edge, a bit each.
            let mut outside = 0;
            for (number, (value, bits)) in drawn.as_flattened_mut().iter_mut().zip(bits.as_flattened()).enumerate() {
                let layer = (bits & 0xff) as usize;
                *value = place(*bits) * x[layer];
                outside |= u64::from(value.abs() >= x[layer + 1]) << number;
            }
            if outside != 0 {
                let lanes = (0..STEPS).fold(0, |lanes, step| lanes | outside >> (step * LANES));
                alone(before, &mut self.states, &mut drawn, lanes, draw);
            }
            rows.copy_from_slice(&drawn);
        }
        let rest = chunks.into_remainder();
        if !rest.is_empty() {
            alone(self.states, &mut self.states, rest, u64::MAX, draw);
        }
    }
}

/// Draws these rows again, of these lanes (a bit each), each by its stream alone.
#[cold]
#[inline(never)]
fn alone(before: States, states: &mut States, rows: &mut [Row], lanes: u64, draw: fn(&mut Stream) -> f64) {
    for lane in (0..LANES).filter(|lane| lanes >> lane & 1 == 1) {
        let mut stream = stream(&before, lane);
        rows.iter_mut().for_each(|row| row[lane] = draw(&mut stream));
        stream.state().into_iter().zip(&mut *states).for_each(|(word, words)| words[lane] = word);
    }
}

fn stream(states: &States, lane: usize) -> Stream {
    Stream::of_state(states.map(|words| words[lane]))
}

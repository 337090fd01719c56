//! Loops over arrays, compiled for the widest vectors that the processor has.
//!
//! The compiler turns plain loops over arrays into vector instructions, as far as it may use them. [`vectorised`] has the same
//! code three times: for AVX-512, for AVX2, and for any processor; the bytes that come out are the same, since no operation of
//! Rust's floating point is contracted or reordered. What is called inside has to be inlined, or it stays as it is.

#![allow(
    unsafe_code,
    reason = "a function for some processors is called where the processor is known to be one of them"
)]

/// Something to do over arrays.
pub trait Work {
    /// What comes out of it.
    type Answer;

    /// Does it. To be `#[inline(always)]`, with all that it calls in its loops.
    fn run(self) -> Self::Answer;
}

/// Kinds of processors, by what they can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processor {
    /// Any.
    Any,
    /// x86-64 with AVX2.
    Avx2,
    /// x86-64 with AVX-512 (F, BW, DQ, VL).
    Avx512,
}

impl Processor {
    /// This one.
    pub fn here() -> Processor {
        #[cfg(target_arch = "x86_64")]
        {
            let wide = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw");
            if wide && is_x86_feature_detected!("avx512dq") && is_x86_feature_detected!("avx512vl") {
                return Processor::Avx512;
            }
            if is_x86_feature_detected!("avx2") {
                return Processor::Avx2;
            }
        }
        Processor::Any
    }
}

/// Does `work` by the widest vectors that there are.
#[inline]
pub fn vectorised<W: Work>(work: W) -> W::Answer {
    vectorised_for(Processor::here(), work)
}

/// Does `work` by the code for `processor`.
///
/// # Panics
/// When this one cannot do that.
#[inline]
pub fn vectorised_for<W: Work>(processor: Processor, work: W) -> W::Answer {
    #[cfg(target_arch = "x86_64")]
    match (processor, Processor::here()) {
        // SAFETY: this processor has what the function is compiled for.
        (Processor::Avx512, Processor::Avx512) => return unsafe { avx512(work) },
        // SAFETY: the same; what has AVX-512 has AVX2.
        (Processor::Avx2, Processor::Avx512 | Processor::Avx2) => return unsafe { avx2(work) },
        _ => {}
    }
    assert!(processor == Processor::Any, "this processor has no {processor:?}");
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2")]
fn avx512<W: Work>(work: W) -> W::Answer {
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn avx2<W: Work>(work: W) -> W::Answer {
    work.run()
}

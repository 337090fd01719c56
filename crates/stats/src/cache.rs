//! A hint to the processor's cache.
//!
//! A simulation of thousands of servers touches some ten cache lines per request, and finds most of them cold. Several
//! can be on their way at once, and beside other work, if they are asked for before they are needed.

/// Asks for the cache line in which `value` begins, and does not wait for it. Does nothing on processors other than x86-64.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    safe_arch::prefetch_t0(value);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

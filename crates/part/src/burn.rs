//! Real processor time: what a dynamic page costs, without its page.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sojourn_stats::Span;
use tokio::sync::Semaphore;

use crate::clock;

/// How much to burn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Rounds of the loop: the same work on every machine, a different time.
    Rounds(u64),
    /// Processor time by the thread's own clock: the same time, whatever else runs.
    Time(Span),
}

/// Rounds between two looks at the clock and at whether the client still waits; some 20 us.
const STRIDE: u64 = 10_000;

/// How many may burn at once; others wait in their order.
#[derive(Clone)]
pub struct Workers(Arc<Semaphore>);

impl Workers {
    /// So many.
    pub fn new(workers: usize) -> Workers {
        Workers(Arc::new(Semaphore::new(workers)))
    }

    /// Burns `amount` on a thread of its own. When the caller is dropped, the loop ends at its next look.
    pub async fn burn(&self, amount: Amount) {
        struct Abandon(Arc<AtomicBool>);
        impl Drop for Abandon {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let place = Arc::clone(&self.0).acquire_owned().await.expect("it is never closed");
        let abandoned = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&abandoned);
        let _abandon = Abandon(abandoned);
        let burning = move || {
            burn(amount, &flag);
            drop(place);
        };
        // The loop does not panic, and a runtime that is shutting down drops the caller as well.
        let _ = tokio::task::spawn_blocking(burning).await;
    }
}

/// How many rounds of the loop one core does in a second, seen for `span` of this thread's own time.
pub fn rounds_per_second(span: Span) -> f64 {
    let start = clock::thread_cpu();
    let rounds = burn(Amount::Time(span), &AtomicBool::new(false));
    rounds as f64 / (clock::thread_cpu() - start).as_secs_f64()
}

/// Gives the rounds that it did.
fn burn(amount: Amount, abandoned: &AtomicBool) -> u64 {
    let start = clock::thread_cpu();
    let mut done = 0;
    let mut value = 0x9e37_79b9_7f4a_7c15_u64;
    while !abandoned.load(Ordering::Relaxed) {
        let left = match amount {
            Amount::Rounds(rounds) => rounds - done,
            Amount::Time(span) if clock::thread_cpu() - start >= span => 0,
            Amount::Time(_) => STRIDE / 10,
        };
        if left == 0 {
            break;
        }
        let rounds = left.min(STRIDE);
        for _ in 0..rounds {
            // One round of xorshift64: a dependent chain that no compiler shortens.
            value ^= value << 13;
            value ^= value >> 7;
            value ^= value << 17;
        }
        value = black_box(value);
        done += rounds;
    }
    done
}

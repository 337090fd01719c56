//! The threads of a switch: those that decide, one per processor, and one for all that has time.
//!
//! A first packet is decided by a thread that is bound to the processor on which it came: the kernel wakes it there, no
//! processor that sleeps has to be woken, and the verdict sends the packet on from where it is. The price: a processor that is
//! busy with other programs lets the thread wait, although another one may be free.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use serde_json::json;
use sojourn_bed::Events;
use sojourn_dispatch::BackendId;
use sojourn_part::control::{Door, Order};
use sojourn_part::settings::switch::SwitchSettings;
use sojourn_part::threads::{Threads, Work};
use sojourn_part::{ServeError, clock};
use sojourn_report::upstream::Upstream;
use sojourn_report::{Ears, Inbox, Key};
use sojourn_stats::Span;
use tokio::task::JoinSet;

use super::decider::{Decider, books, lock};
use super::health;
use super::kernel::queue::{Depth, Queue, Stop, Verdict, Waiting};
use super::kernel::rules;
use super::splicing::Splicing;
use super::upstream::Telling;
use super::{counts, lifetimes};

/// Most threads that decide.
const DECIDING_MAX: usize = 16;

/// What the thread for the rest attends to, where there is such.
pub(super) struct Rest {
    pub(super) inbox: Option<Inbox>,
    /// For the servers' halves.
    pub(super) key: Option<Key>,
    pub(super) upstream: Option<(Arc<Upstream>, Events)>,
    /// With where reports come in, of which it tells too.
    pub(super) door: Option<(Door, Option<(SocketAddr, Ears)>)>,
}

/// The running threads; they stop when this is dropped.
pub(super) struct Working {
    deciding: Vec<(Stop, JoinHandle<()>)>,
    rest: Threads,
}

/// The processors that this process may use, dealt to the threads that decide.
pub(super) fn processors() -> Vec<CpuSet> {
    dealt(&sched_getaffinity(Pid::from_raw(0)).unwrap_or_default())
}

/// Processors as the kernel deals packets: by their numbers, to as many threads as there are of them. Where the numbers have gaps
/// a thread may have none; it is bound to none then.
fn dealt(allowed: &CpuSet) -> Vec<CpuSet> {
    let allowed: Vec<usize> = (0..CpuSet::count()).filter(|cpu| allowed.is_set(*cpu).unwrap_or(false)).collect();
    let threads = allowed.len().clamp(1, DECIDING_MAX);
    let mut sets = vec![CpuSet::new(); threads];
    for cpu in allowed {
        let _ = sets[cpu % threads].set(cpu);
    }
    sets
}

impl Working {
    /// Starts them all: they decide, keep the books, hear reports, tell of the servers and probe them.
    pub(super) fn start(
        decider: &Arc<Mutex<Decider>>,
        config: &Arc<SwitchSettings>,
        processors: Vec<CpuSet>,
        rest: Rest,
    ) -> Result<Working, ServeError> {
        let mut working = Working { deciding: Vec::new(), rest: self::rest(decider, config, rest)? };
        if !config.mode.is_spliced() {
            for (number, processors) in processors.into_iter().enumerate() {
                working.deciding.push(deciding(decider, number as u16, processors)?);
            }
        }
        Ok(working)
    }

    /// Stops them and waits until they have.
    pub(super) fn stop(&mut self) {
        for (stop, thread) in self.deciding.drain(..) {
            stop.tell();
            // A thread that panicked has said so on standard error.
            let _ = thread.join();
        }
        self.rest.stop();
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A thread that decides first packets.
fn deciding(
    decider: &Arc<Mutex<Decider>>,
    number: u16,
    processors: CpuSet,
) -> Result<(Stop, JoinHandle<()>), ServeError> {
    let taken = Queue::open(rules::QUEUE + number, Depth::Heads).and_then(Queue::waited_for);
    let (queue, stop) = taken.map_err(ServeError::system("cannot take the netfilter queue"))?;
    let (decider, is_told) = (Arc::clone(decider), stop.is_told());
    let decide = move || {
        // Where it is not allowed it decides all the same.
        let _ = sched_setaffinity(Pid::from_raw(0), &processors);
        let verdict = |waiting: Waiting<'_>| {
            let mut decider = lock(&decider);
            Verdict::Pass(decider.decide(waiting.packet, waiting.mark, clock::now()))
        };
        if let Err(error) = queue.serve(&is_told, verdict) {
            lock(&decider).say(&json!({"event": "queue_failed", "why": error.to_string()}));
        }
    };
    let thread = std::thread::Builder::new().name(format!("decide {number}")).spawn(decide);
    Ok((stop, thread.map_err(ServeError::system("cannot start a thread"))?))
}

/// The thread for the rest.
fn rest(decider: &Arc<Mutex<Decider>>, config: &Arc<SwitchSettings>, rest: Rest) -> Result<Threads, ServeError> {
    let (decider, config) = (Arc::clone(decider), Arc::clone(config));
    let Rest { inbox, key, upstream, door } = rest;
    let once = Mutex::new((inbox, door));
    Threads::start("switch", vec![()], 2, Span::ZERO, move |_, (), mut stop| {
        let (decider, config) = (Arc::clone(&decider), Arc::clone(&config));
        let splicing = config.mode.is_spliced();
        let splicing = splicing.then(|| Splicing::new(&config, key.as_ref(), Arc::clone(&decider))).transpose()?;
        let (inbox, door) = std::mem::take(&mut *once.lock().unwrap_or_else(PoisonError::into_inner));
        let ears = inbox.as_ref().map(Inbox::ears);
        let telling = upstream
            .as_ref()
            .map(|(upstream, events)| upstream.tell(Telling(Arc::clone(&decider)), ears, events.clone()));
        let telling = telling.transpose()?;
        Ok(Box::pin(async move {
            let mut chores = JoinSet::new();
            if let Some(splicing) = splicing {
                chores.spawn_local(splicing.serve());
            } else {
                chores.spawn_local(books::keep(Arc::clone(&decider), lifetimes(&config)));
                chores.spawn_local(books::listen(Arc::clone(&decider)));
            }
            if let Some((door, reports)) = door {
                let counted = Arc::clone(&decider);
                let counts = move || serde_json::to_value(counts(&counted, reports.as_ref())).unwrap_or_default();
                let decider = Arc::clone(&decider);
                let drain = move |name: &str, is_drained| lock(&decider).drain(name, is_drained, clock::now());
                let answer = move |order: Order| order.answer(&counts, &drain);
                chores.spawn_local(async move { drop(door.serve(answer).await) });
            }
            if let Some(inbox) = inbox {
                chores.spawn_local(hear(inbox, Arc::clone(&decider)));
            }
            if let Some(telling) = telling {
                chores.spawn_local(telling);
            }
            for backend in (0..config.backends.len() as u32).map(BackendId) {
                chores.spawn_local(health::watch(Arc::clone(&decider), Arc::clone(&config), backend));
            }
            // It is told once, or the side that tells is gone.
            let _ = stop.changed().await;
            chores.shutdown().await;
        }) as Work)
    })
}

/// Takes reports for as long as it is polled.
async fn hear(inbox: Inbox, decider: Arc<Mutex<Decider>>) {
    let Err(error) = inbox
        .hear(|told, dropped, now| {
            let mut decider = lock(&decider);
            decider.hear(told, now);
            decider.count_dropped(dropped);
        })
        .await;
    lock(&decider).say(&json!({"event": "reports_not_heard", "why": error.to_string()}));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(processors: &[usize]) -> CpuSet {
        let mut set = CpuSet::new();
        processors.iter().for_each(|cpu| set.set(*cpu).expect("a number of a processor"));
        set
    }

    #[test]
    fn each_thread_has_the_processors_whose_packets_it_gets() {
        assert_eq!(dealt(&set(&[0, 1, 2])), [set(&[0]), set(&[1]), set(&[2])]);
        // The kernel's rule knows only how many threads there are.
        assert_eq!(dealt(&set(&[1, 3])), [set(&[]), set(&[1, 3])]);
        assert_eq!(dealt(&set(&[5])), [set(&[5])]);
        assert_eq!(dealt(&set(&[])), [set(&[])], "where the system does not say");
        let many = dealt(&set(&(0..40).collect::<Vec<_>>()));
        assert_eq!((many.len(), &many[7]), (16, &set(&[7, 23, 39])));
    }
}

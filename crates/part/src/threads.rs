//! Threads, each with a runtime of its own, that stop together.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use sojourn_stats::Span;
use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::watch;

use crate::ServeError;

/// What a thread does until it is told to stop.
pub type Work = Pin<Box<dyn Future<Output = ()>>>;

/// How long a thread may take to end after the grace that its work has.
const END: Duration = Duration::from_secs(1);

/// The threads of one node or gateway.
#[derive(Debug)]
pub struct Threads {
    stop: watch::Sender<bool>,
    threads: Vec<JoinHandle<()>>,
    /// Each thread holds its other side for as long as it runs.
    ended: mpsc::Receiver<Infallible>,
    /// How long all of them may take to end.
    patience: Duration,
}

impl Threads {
    /// Starts a thread per item of `inputs`; `work` is called on each, inside its runtime. Up to `blocking` threads of
    /// its own take what would hold it up: a disk, or what burns processor time. Told to stop, the work has a `grace`.
    pub fn start<I: Send + 'static>(
        name: &str,
        inputs: Vec<I>,
        blocking: usize,
        grace: Span,
        work: impl Fn(usize, I, watch::Receiver<bool>) -> Result<Work, ServeError> + Send + Sync + 'static,
    ) -> Result<Threads, ServeError> {
        let (stop, stopping) = watch::channel(false);
        let (running, ended) = mpsc::channel();
        let patience = grace.as_std().saturating_add(END);
        let mut all = Threads { stop, threads: Vec::new(), ended, patience };
        let work = Arc::new(work);
        let (report, reports) = mpsc::channel();
        for (index, input) in inputs.into_iter().enumerate() {
            let (work, stopping, report) = (Arc::clone(&work), stopping.clone(), report.clone());
            let running = running.clone();
            let run = move || {
                let _running = running;
                let runtime = Builder::new_current_thread()
                    .enable_all()
                    .max_blocking_threads(blocking)
                    .build_local(LocalOptions::default())
                    .map_err(ServeError::system("cannot start a runtime"));
                let runtime = match runtime {
                    Ok(runtime) => runtime,
                    Err(error) => return drop(report.send(Err(error))),
                };
                runtime.block_on(async move {
                    match work(index, input, stopping) {
                        Ok(work) => {
                            // When an earlier thread has failed, the report is no longer read, and the stop is on its way.
                            let _ = report.send(Ok(()));
                            work.await;
                        }
                        Err(error) => drop(report.send(Err(error))),
                    }
                });
            };
            let thread = std::thread::Builder::new()
                .name(format!("{name} {index}"))
                .spawn(run)
                .map_err(ServeError::system("cannot start a thread"))?;
            all.threads.push(thread);
        }
        drop((report, running));
        for outcome in reports.iter().take(all.threads.len()) {
            outcome?;
        }
        Ok(all)
    }

    /// Tells every thread to stop and waits until they have. One that hangs, in a file system or in a policy, is left
    /// behind: the process can end without it.
    pub fn stop(&mut self) {
        self.stop.send_replace(true);
        if self.ended.recv_timeout(self.patience) == Err(mpsc::RecvTimeoutError::Timeout) {
            self.threads.clear();
        }
        for thread in self.threads.drain(..) {
            // A thread that panicked has said so on standard error.
            let _ = thread.join();
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.stop();
    }
}

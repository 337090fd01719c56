//! Threads, each with a runtime of its own, that stop together.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::JoinHandle;

use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::watch;

use crate::ServeError;

/// What a thread does until it is told to stop.
pub(crate) type Work = Pin<Box<dyn Future<Output = ()>>>;

/// The threads of one node or gateway.
pub(crate) struct Threads {
    stop: watch::Sender<bool>,
    threads: Vec<JoinHandle<()>>,
}

impl Threads {
    /// Starts a thread per item of `inputs`; `work` is called on each, inside its runtime. `blocking` threads are kept
    /// for work that burns processor time.
    pub(crate) fn start<I: Send + 'static>(
        name: &str,
        inputs: Vec<I>,
        blocking: usize,
        work: impl Fn(usize, I, watch::Receiver<bool>) -> Result<Work, ServeError> + Send + Sync + 'static,
    ) -> Result<Threads, ServeError> {
        let (stop, stopping) = watch::channel(false);
        let mut all = Threads { stop, threads: Vec::new() };
        let work = Arc::new(work);
        let (report, reports) = mpsc::channel();
        for (index, input) in inputs.into_iter().enumerate() {
            let (work, stopping, report) = (Arc::clone(&work), stopping.clone(), report.clone());
            let run = move || {
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
        drop(report);
        for outcome in reports.iter().take(all.threads.len()) {
            outcome?;
        }
        Ok(all)
    }

    /// Tells every thread to stop and waits until they have.
    pub(crate) fn stop(&mut self) {
        self.stop.send_replace(true);
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

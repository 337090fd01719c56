//! Tasks on the thread that starts them: requests of one connection of HTTP/2 are answered beside each other.

use hyper::rt::Executor;

/// Runs what it is given on the present thread's runtime.
#[derive(Clone, Copy, Debug)]
pub(super) struct OnThisThread;

impl<F> Executor<F> for OnThisThread
where
    F: Future + 'static,
{
    fn execute(&self, task: F) {
        tokio::task::spawn_local(async move { drop(task.await) });
    }
}

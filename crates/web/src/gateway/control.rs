//! What people do by hand to the backends of a running gateway or redirector ([`Door`](sojourn_part::control::Door)).

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use sojourn_dispatch::News;
use tokio::sync::watch;

use super::worker::Worker;

/// The names of the backends that are drained by hand: one place for all deciders, each of which learns it on its own thread.
#[derive(Default)]
pub(super) struct Drained(watch::Sender<BTreeSet<String>>);

impl Drained {
    /// A backend is to end what it has and get nothing new, or is to be chosen again.
    ///
    /// # Errors
    /// When there is no such backend.
    pub(super) fn set(&self, worker: &Worker, name: &str, is_drained: bool) -> Result<(), String> {
        let version = worker.version();
        let known = version.targets().filter(|(_, target)| !target.has_left);
        let known: Vec<&str> = known.map(|(_, target)| target.backend.name.as_str()).collect();
        if !known.contains(&name) {
            return Err(format!("backend {name}: there is no such backend; they are {}", known.join(", ")));
        }
        self.0.send_if_modified(|all| if is_drained { all.insert(name.into()) } else { all.remove(name) });
        Ok(())
    }

    /// Lets the decider of a thread learn it, for as long as this is polled.
    pub(super) async fn follow(self: Arc<Drained>, worker: Rc<Worker>) {
        let mut changes = self.0.subscribe();
        loop {
            let drained = changes.borrow_and_update().clone();
            let is_drained = |name: &String| drained.contains(name);
            let wanted: Vec<_> =
                worker.version().targets().map(|(id, target)| (id, is_drained(&target.backend.name))).collect();
            for (id, is_drained) in wanted {
                if worker.board.look(|front| front.is_drained(id)) != is_drained {
                    worker.board.learn(id, News::Drained(is_drained), "by hand");
                }
            }
            if changes.changed().await.is_err() {
                return;
            }
        }
    }
}

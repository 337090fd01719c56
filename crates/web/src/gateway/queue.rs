//! A request waits for a backend with room.
//!
//! One whose client goes away meanwhile is taken out when its future is dropped, and gives a backend that it has just got back.

use std::rc::Rc;

use sojourn_dispatch::{Action, Decision, Event, Request};
use sojourn_stats::{Span, Time};
use tokio::sync::oneshot::Receiver;

use super::board::{Board, Choice};

/// Waits for a backend, as `choice` has said; what is chosen then, or the same where it was turned away.
pub(super) async fn wait(board: &Rc<Board>, request: &Request, choice: Choice) -> Choice {
    let mut place = Place::new(board, *request);
    match (&mut place.place).await {
        Ok((decision, now)) => {
            place.is_over = true;
            Choice { decision, now, ..choice }
        }
        Err(_) => {
            place.is_over = true;
            Choice { decision: Decision { action: Action::Refuse, ..choice.decision }, ..choice }
        }
    }
}

/// The place of a request in the queue, until it goes on.
struct Place<'a> {
    board: &'a Board,
    name: u64,
    place: Receiver<(Decision, Time)>,
    is_over: bool,
}

impl<'a> Place<'a> {
    fn new(board: &'a Board, request: Request) -> Place<'a> {
        let (name, place) = board.at_queue(|front, waiting, now| waiting.enter(front, request, now));
        Place { board, name, place, is_over: false }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        self.place.close();
        match self.place.try_recv() {
            Ok((decision, _)) => {
                if let Some(backend) = decision.forwarded_to() {
                    self.board.tell(|_| Event::Cancelled { backend, after: Span::ZERO });
                }
            }
            Err(_) => self.board.at_queue(|front, waiting, _| waiting.leave(front, self.name)),
        }
    }
}

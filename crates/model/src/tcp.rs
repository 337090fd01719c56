//! TCP at the level of flows, over a path that loses packets: how long it takes to set a connection up and to send bytes
//! over it, drawn round by round.
//!
//! The rounds are those of the latency model by Cardwell, Savage and Anderson (Modeling TCP latency, IEEE INFOCOM 2000), which
//! builds on Padhye, Firoiu, Towsley and Kurose (ACM SIGCOMM 1998): a window of segments, a round trip, a window that has
//! grown. Where they take means, each packet's loss is drawn here, so that losses may be correlated and a transfer has a
//! distribution. `sojourn_theory::formula::tcp` has their mean, and the tests compare the two.
//!
//! | what happens | what it costs |
//! |---|---|
//! | a SYN or its answer is lost | time-outs of both ends, see [`Connecting`]; a client that has sent all its SYNs gives up |
//! | a window passes | the longer of its time on the link and a round trip; the window grows: slow start, then linearly |
//! | a segment is lost, enough later ones are acknowledged | found after a round trip, repaired after more: see [`Recovery`] |
//! | too few later ones are acknowledged | a time-out, or a probe of the tail; then slow start from one segment |
//! | a segment that is sent again is lost | a time-out, twice as long each time |
//! | all acknowledgements of a window are lost | a time-out for nothing |
//! | the path is cut, or loses more, for a while ([`Spell`]) | what sets out meanwhile is lost, each packet or a share |
//!
//! A set-up or a transfer goes on in steps: what follows a time-out is drawn when that time has come ([`Step`]), so that
//! transfers which share a path share its bursts of losses. What is sent before the next time-out is drawn at once. A burst
//! ends with the packets that pass, so each one is drawn, also where nothing waits for it: the last acknowledgements, and what
//! closes a connection ([`Fin`]), which on a bad path goes on long after the transfer.
//!
//! Over a link that connections share ([`Shared`]) each round of a transfer joins a queue in front of it, so that who begins
//! first has more of the link for a while, as live. What finds no room in the queue is lost, and sent again a round later.
//! Set-up, requests, acknowledgements and what is sent again because the path lost it do not wait there.
//!
//! Not here: the timer of delayed acknowledgements (Linux acknowledges the first segments at once), reordering, new data during
//! NewReno's recovery, CUBIC's steeper growth far from its last loss, and how a connection ends of which an end has given up.
//! The round trip is constant.
mod set_up;
mod stack;
mod step;
mod transfer;
mod way;

pub use set_up::{Connected, Connecting, Fin};
pub use stack::{Recovery, TcpConnection, TcpStack};
pub use step::Step;
pub use transfer::{Carried, Sending};
pub use way::{Shared, Spell, Way};

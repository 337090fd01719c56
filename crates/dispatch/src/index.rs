//! The order that a table keeps for its policy, so that no policy scans.
//!
//! One structure per kind of question. [`Levels`] answers "who has the fewest, ties drawn" in O(1) where counts move
//! by one; [`Tournament`] answers "who has the smallest key" for any key, with the number of ties, in O(log n);
//! [`Queues`] answers which of those has had it for longest;
//! [`Sums`] draws in proportion to integer weights in O(log n); [`Rooms`] knows free capacity by all three. The table keeps
//! only what its policy asks for; the price is that a policy must say so.

mod levels;
mod queues;
mod rooms;
mod sums;
mod tournament;

pub(crate) use levels::Levels;
pub(crate) use queues::Queues;
pub(crate) use rooms::Rooms;
pub(crate) use sums::Sums;
pub(crate) use tournament::{Key, Tournament};

/// Which order the table keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Index {
    /// None: [`crate::Table::least`] scans.
    #[default]
    None,
    /// Smallest load.
    Load,
    /// Smallest load / weight; weight 0 is never least.
    LoadPerWeight,
    /// Smallest (load + 1) * 256 / weight, in whole numbers, and 0 for one without load: HAProxy's key of a server
    /// (`src/lb_fwlc.c`, `fwlc_queue_srv`). Weight 0 is never least.
    NextLoadPerWeight,
    /// For draws with chances in proportion to 1 / (load + 1).
    InverseLoad,
    /// Smallest mean round trip in the window, then smallest load; by load alone until every eligible backend has a
    /// round trip in this window.
    RoundTrip,
    /// The same, but a backend without a round trip in this window has the mean 0.
    RoundTripOrZero,
    /// Fewest bytes in the window, then smallest load.
    Bytes,
    /// For draws with chances in proportion to the room: [`crate::Table::draw_by_room`].
    Room,
    /// Smallest used share of the capacity; 0 for one that has reported none.
    UsedShare,
}

/// Who is chosen among backends that are equally good.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ties {
    /// Each is equally likely.
    #[default]
    Drawn,
    /// The one with the lowest number.
    First,
    /// The one whose key changed longest ago. Kept for the orders by load; elsewhere it is the one with the lowest number.
    Oldest,
}

/// The structures behind an [`Index`].
#[derive(Debug)]
pub(crate) enum Kept {
    None,
    Load(Loads),
    LoadPerWeight(Tournament),
    NextLoadPerWeight(Tournament),
    /// By one of the last two, and then by age.
    Aged(Index, Queues),
    InverseLoad(Sums),
    RoundTrip {
        loads: Loads,
        means: Tournament,
    },
    RoundTripOrZero(Tournament),
    Bytes(Tournament),
    Room(Rooms),
    UsedShare(Tournament),
}

/// Members by load: ties lie side by side in [`Levels`], the first of them is found in a [`Tournament`].
#[derive(Debug)]
pub(crate) enum Loads {
    Drawn(Levels),
    First(Tournament),
    Oldest(Queues),
}

impl Kept {
    pub(crate) fn new(index: Index, ties: Ties) -> Kept {
        match index {
            Index::LoadPerWeight | Index::NextLoadPerWeight if ties == Ties::Oldest => {
                Kept::Aged(index, Queues::default())
            }
            Index::None => Kept::None,
            Index::Load => Kept::Load(Loads::new(ties)),
            Index::LoadPerWeight => Kept::LoadPerWeight(Tournament::default()),
            Index::NextLoadPerWeight => Kept::NextLoadPerWeight(Tournament::default()),
            Index::InverseLoad => Kept::InverseLoad(Sums::default()),
            Index::RoundTrip => Kept::RoundTrip { loads: Loads::new(ties), means: Tournament::default() },
            Index::RoundTripOrZero => Kept::RoundTripOrZero(Tournament::default()),
            Index::Bytes => Kept::Bytes(Tournament::default()),
            Index::Room => Kept::Room(Rooms::default()),
            Index::UsedShare => Kept::UsedShare(Tournament::default()),
        }
    }

    pub(crate) fn index(&self) -> Index {
        match self {
            Kept::None => Index::None,
            Kept::Load(_) => Index::Load,
            Kept::LoadPerWeight(_) => Index::LoadPerWeight,
            Kept::NextLoadPerWeight(_) => Index::NextLoadPerWeight,
            Kept::Aged(index, _) => *index,
            Kept::InverseLoad(_) => Index::InverseLoad,
            Kept::RoundTrip { .. } => Index::RoundTrip,
            Kept::RoundTripOrZero(_) => Index::RoundTripOrZero,
            Kept::Bytes(_) => Index::Bytes,
            Kept::Room(_) => Index::Room,
            Kept::UsedShare(_) => Index::UsedShare,
        }
    }

    /// Entries visited by updates since the start.
    pub(crate) fn visits(&self) -> u64 {
        match self {
            Kept::None => 0,
            Kept::Load(loads) => loads.visits(),
            Kept::LoadPerWeight(tree)
            | Kept::NextLoadPerWeight(tree)
            | Kept::RoundTripOrZero(tree)
            | Kept::Bytes(tree)
            | Kept::UsedShare(tree) => tree.visits(),
            Kept::Aged(_, queues) => queues.visits(),
            Kept::InverseLoad(sums) => sums.visits(),
            Kept::Room(rooms) => rooms.visits(),
            Kept::RoundTrip { loads, means } => loads.visits() + means.visits(),
        }
    }

    /// Bytes allocated.
    pub(crate) fn memory(&self) -> usize {
        match self {
            Kept::None => 0,
            Kept::Load(loads) => loads.memory(),
            Kept::LoadPerWeight(tree)
            | Kept::NextLoadPerWeight(tree)
            | Kept::RoundTripOrZero(tree)
            | Kept::Bytes(tree)
            | Kept::UsedShare(tree) => tree.memory(),
            Kept::Aged(_, queues) => queues.memory(),
            Kept::InverseLoad(sums) => sums.memory(),
            Kept::Room(rooms) => rooms.memory(),
            Kept::RoundTrip { loads, means } => loads.memory() + means.memory(),
        }
    }
}

impl Loads {
    pub(crate) fn new(ties: Ties) -> Loads {
        match ties {
            Ties::Drawn => Loads::Drawn(Levels::default()),
            Ties::First => Loads::First(Tournament::default()),
            Ties::Oldest => Loads::Oldest(Queues::default()),
        }
    }

    /// The smallest load, how many members have it, and which of them `pick` (given their number) picks.
    #[inline]
    pub(crate) fn least(&self, pick: impl FnOnce(usize) -> usize) -> Option<(u32, usize, u32)> {
        match self {
            Loads::Drawn(levels) => {
                let (load, tied) = levels.least()?;
                Some((load, tied.len(), tied[pick(tied.len())]))
            }
            Loads::First(tree) => {
                let ((load, _), ties) = tree.least()?;
                Some((load as u32, ties as usize, tree.tied(pick(ties as usize) as u32)))
            }
            Loads::Oldest(queues) => queues.first().map(|(load, ties, id)| (load as u32, ties as usize, id)),
        }
    }

    /// Sets a member's load, and makes it one if it is not. Always inlined, because each request calls it twice.
    #[inline(always)]
    pub(crate) fn set(&mut self, member: u32, load: u32) {
        match self {
            Loads::Drawn(levels) => levels.set(member, load),
            Loads::First(tree) => tree.set(member, (load.into(), 0)),
            Loads::Oldest(queues) => queues.set(member, load.into()),
        }
    }

    /// Removes a member, if it is one.
    pub(crate) fn remove(&mut self, member: u32) {
        match self {
            Loads::Drawn(levels) => levels.remove(member),
            Loads::First(tree) => tree.remove(member),
            Loads::Oldest(queues) => queues.remove(member),
        }
    }

    fn visits(&self) -> u64 {
        match self {
            Loads::Drawn(levels) => levels.visits(),
            Loads::First(tree) => tree.visits(),
            Loads::Oldest(queues) => queues.visits(),
        }
    }

    fn memory(&self) -> usize {
        match self {
            Loads::Drawn(levels) => levels.memory(),
            Loads::First(tree) => tree.memory(),
            Loads::Oldest(queues) => queues.memory(),
        }
    }
}

/// The smallest power of two that holds `index`, at least `now`.
fn room_for(index: usize, now: usize) -> usize {
    (index + 1).next_power_of_two().max(now)
}

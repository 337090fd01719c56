//! The order that a table keeps for its policy, so that no policy scans.
//!
//! One structure per kind of question. [`Levels`] answers "who has the fewest, ties drawn" in O(1) where counts move
//! by one; [`Tournament`] answers "who has the smallest key" for any key, with the number of ties, in O(log n);
//! [`Sums`] draws in proportion to integer weights in O(log n). The table keeps only what its policy asks for; the
//! price is that a policy must say so.

mod levels;
mod sums;
mod tournament;

pub(crate) use levels::Levels;
pub(crate) use sums::Sums;
pub(crate) use tournament::{Key, Tournament};

/// Which order the table keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Index {
    /// None: [`crate::Table::least`] scans.
    #[default]
    None,
    /// Smallest load; ties drawn.
    Load,
    /// Smallest load; ties to the lowest id.
    LoadThenId,
    /// Smallest load / weight; ties drawn; weight 0 is never least.
    LoadPerWeight,
    /// For draws with chances in proportion to 1 / (load + 1).
    InverseLoad,
    /// Smallest mean round trip in the window, then smallest load; by load alone until every eligible backend has a
    /// round trip in this window. Ties drawn.
    RoundTrip,
    /// Fewest bytes in the window, then smallest load; ties drawn.
    Bytes,
}

/// The structures behind an [`Index`].
#[derive(Debug)]
pub(crate) enum Kept {
    None,
    Load(Levels),
    LoadThenId(Tournament),
    LoadPerWeight(Tournament),
    InverseLoad(Sums),
    RoundTrip { levels: Levels, means: Tournament },
    Bytes(Tournament),
}

impl Kept {
    pub(crate) fn new(index: Index) -> Kept {
        match index {
            Index::None => Kept::None,
            Index::Load => Kept::Load(Levels::default()),
            Index::LoadThenId => Kept::LoadThenId(Tournament::default()),
            Index::LoadPerWeight => Kept::LoadPerWeight(Tournament::default()),
            Index::InverseLoad => Kept::InverseLoad(Sums::default()),
            Index::RoundTrip => Kept::RoundTrip { levels: Levels::default(), means: Tournament::default() },
            Index::Bytes => Kept::Bytes(Tournament::default()),
        }
    }

    pub(crate) fn index(&self) -> Index {
        match self {
            Kept::None => Index::None,
            Kept::Load(_) => Index::Load,
            Kept::LoadThenId(_) => Index::LoadThenId,
            Kept::LoadPerWeight(_) => Index::LoadPerWeight,
            Kept::InverseLoad(_) => Index::InverseLoad,
            Kept::RoundTrip { .. } => Index::RoundTrip,
            Kept::Bytes(_) => Index::Bytes,
        }
    }

    /// Entries visited by updates since the start.
    pub(crate) fn visits(&self) -> u64 {
        match self {
            Kept::None => 0,
            Kept::Load(levels) => levels.visits(),
            Kept::LoadThenId(tree) | Kept::LoadPerWeight(tree) | Kept::Bytes(tree) => tree.visits(),
            Kept::InverseLoad(sums) => sums.visits(),
            Kept::RoundTrip { levels, means } => levels.visits() + means.visits(),
        }
    }

    /// Bytes allocated.
    pub(crate) fn memory(&self) -> usize {
        match self {
            Kept::None => 0,
            Kept::Load(levels) => levels.memory(),
            Kept::LoadThenId(tree) | Kept::LoadPerWeight(tree) | Kept::Bytes(tree) => tree.memory(),
            Kept::InverseLoad(sums) => sums.memory(),
            Kept::RoundTrip { levels, means } => levels.memory() + means.memory(),
        }
    }
}

/// The smallest power of two that holds `index`, at least `now`.
fn room_for(index: usize, now: usize) -> usize {
    (index + 1).next_power_of_two().max(now)
}

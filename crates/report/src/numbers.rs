//! Which sequence numbers have come, over the last 64 of them.

/// The numbers that have come.
#[derive(Clone, Debug, Default)]
pub(super) struct Numbers {
    highest: u64,
    /// Which of the 64 numbers up to the highest have come, the highest in the lowest bit.
    seen: u64,
}

impl Numbers {
    /// Whether this number has not come yet; from now on it has. One that 64 others have left behind is not new.
    pub(super) fn is_new(&mut self, sequence: u64) -> bool {
        if sequence > self.highest {
            let ahead = sequence - self.highest;
            self.seen = if ahead < 64 { self.seen << ahead | 1 } else { 1 };
            self.highest = sequence;
            return true;
        }
        let behind = self.highest - sequence;
        let is_new = behind < 64 && self.seen & 1 << behind == 0;
        if is_new {
            self.seen |= 1 << behind;
        }
        is_new
    }
}

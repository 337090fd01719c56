//! Conservation of requests and of time, in whole numbers.

use sojourn_stats::Time;

/// Conservation of requests and of time.
#[derive(Default)]
pub(crate) struct Ledger {
    arrived: u64,
    completed: u64,
    lost: u64,
    inside: u64,
    since: Time,
    /// Integral of the number inside up to `since` (ns).
    integral: u128,
    /// Time spent inside by those who have gone (ns).
    spent: u128,
}

impl Ledger {
    /// A request comes in; returns how many came before it.
    #[inline]
    pub(crate) fn enter(&mut self, now: Time) -> u64 {
        self.pass(now);
        self.arrived += 1;
        self.inside += 1;
        self.arrived - 1
    }

    /// Requests that came in.
    pub(crate) fn arrived(&self) -> u64 {
        self.arrived
    }

    /// A request is answered; it leaves next.
    #[inline]
    pub(crate) fn completed(&mut self) {
        self.completed += 1;
    }

    /// A request is denied or given up; it leaves next.
    pub(crate) fn lost(&mut self) {
        self.lost += 1;
    }

    /// Requests that are gone.
    #[inline]
    pub(crate) fn ended(&self) -> u64 {
        self.completed + self.lost
    }

    /// A request planned then leaves.
    #[inline]
    pub(crate) fn leave(&mut self, planned: Time, now: Time) {
        self.pass(now);
        self.inside -= 1;
        self.spent += u128::from((now - planned).0);
    }

    /// The integral of the number inside from the start up to `now` (ns).
    pub(crate) fn integral(&self, now: Time) -> u128 {
        self.integral + u128::from((now - self.since).0) * u128::from(self.inside)
    }

    #[inline]
    fn pass(&mut self, now: Time) {
        self.integral += u128::from((now - self.since).0) * u128::from(self.inside);
        self.since = now;
    }

    /// Asserts that requests are neither made nor lost, and Little's law, given when those inside were planned.
    pub(crate) fn assert_balanced(&self, now: Time, inside: impl Iterator<Item = Time>) {
        let (count, spent) =
            inside.fold((0, self.spent), |(count, spent), planned| (count + 1, spent + u128::from((now - planned).0)));
        assert_eq!(self.arrived, self.completed + self.lost + count, "requests are neither made nor lost");
        assert_eq!(self.integral(now), spent, "Little: the integral of the number inside is the time spent inside");
    }
}

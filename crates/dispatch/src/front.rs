//! The core of every decider: a [`Dispatcher`], and what is known of the health of its backends.
//!
//! A face (gateway, switch, DNS, node, simulator) translates what it sees into [`News`] and does what it gets back. Who
//! may be chosen follows from one rule, the same at every face: **the worst source counts**.
//!
//! | source | news | worst that it can say |
//! |---|---|---|
//! | membership | [`News::Left`]; [`Front::join`] | left |
//! | health checks, and requests that fail | [`News::Answered`], [`News::Failed`], [`News::Struck`], [`News::Refused`] | down |
//! | reports | [`News::Reported`], [`News::Empty`], [`News::Silent`] | down; aside where checks are answered |
//! | by hand | [`News::Drained`] | drained |
//! | alarms | [`News::Overloaded`] | aside |
//! | ends of its requests, beside those of others | [`News::Ejected`], by [`guards`] | aside |
//!
//! Left is worse than down, that than drained, that than aside, and that than up. A backend that is *aside* keeps what it
//! has and gets nothing new, unless no backend is up: then those that are aside are chosen all the same, since one that is
//! overloaded or of which nothing is heard is better than none. Where outliers are ejected, that begins sooner, with too few
//! up ([`crate::Ejection::panic`]), and may reach those that are down. What a source says stays until the source itself takes it
//! back: a check that is answered does not end a drain.
//!
//! **A backend that answers its checks and has ceased to report** is aside where its reports decide who is chosen: where the
//! policy reads reports, or room is needed ([`Front::need_room`]). A choice by old reports would be a choice by chance. Where
//! nothing reads reports, its silence says only that its load daemon is gone, and it stays up. Where no checks run, reports
//! stand in for them: silence is all that is known of it, and it is down; what requests have taken out, its next report brings
//! back. Overload is judged in the same way: an overloaded backend is aside until its load
//! is moderate again (P. Agarwal, A test bed for performance evaluation of load balancing strategies for web server systems,
//! 2001, section 4.3.3: "depending on policy used"). [`FrontSettings::heed_reports`] sets it otherwise, as for nodes that
//! redirect, which weigh the load of each themselves.
//!
//! The table of the dispatcher is told what follows from this, as drained where a backend is aside, so that policies, counts,
//! records and replays know nothing of sources. A choice costs what it costs a dispatcher: news are rare, choices are not.
//! The price: where all backends that are up are full, those that are aside are not asked.
//!
//! ```
//! use sojourn_dispatch::{Catalogue, Front, FrontSettings, News, Request, Signals, Standing};
//! use sojourn_stats::Time;
//!
//! let backends = [("s1".to_string(), 1.0), ("s2".to_string(), 1.0)];
//! let settings = FrontSettings { fall: 2, ..FrontSettings::new("round-robin") };
//! let mut front = Front::new(&settings, &backends, &Catalogue::default(), Signals::GATEWAY, "dispatcher 0")?;
//! let (s1, s2) = (front.table().id("s1").unwrap(), front.table().id("s2").unwrap());
//! assert_eq!(front.learn(s1, News::Failed, Time(1)), None);
//! let change = front.learn(s1, News::Failed, Time(2)).expect("two checks in a row failed");
//! assert_eq!((change.was, change.is), (Standing::Up, Standing::Down));
//! assert_eq!(front.choose(&Request::default(), &[], Time(3)).forwarded_to(), Some(s2));
//! front.learn(s1, News::Drained(true), Time(4));
//! let change = front.learn(s1, News::Answered, Time(5)).expect("one answer is enough");
//! assert_eq!((change.was, change.is), (Standing::Down, Standing::Drained));
//! # Ok::<(), sojourn_dispatch::DispatchError>(())
//! ```

mod guarded;
pub(crate) mod guards;
mod health;
mod settings;

use std::fmt;
use std::ops::{Deref, DerefMut};

use sojourn_stats::Time;

use crate::{
    BackendId, Catalogue, Command, Decision, DispatchError, Dispatcher, Event, Limit, Report, Request, Signals, State,
};
use guards::{Guarded, Outliers, Scope};
use health::Health;
pub use health::{News, Standing};
pub use settings::limit as written_limit;
pub use settings::{FrontSettings, Heed};

/// One decider; see the module. What a face tells of requests, clients and places goes to the [`Dispatcher`], to which it
/// dereferences; what it learns of backends goes through [`Front::learn`].
pub struct Front {
    dispatcher: Dispatcher,
    fall: u32,
    rise: u32,
    heed_reports: Heed,
    needs_room: bool,
    /// By backend, as far as there were news.
    health: Vec<Health>,
    /// How many are in a row of failed requests, which the next request that is served ends.
    struck: u32,
    /// How many are not up by themselves, and how many of these are aside, and have left.
    out: usize,
    aside: usize,
    left: usize,
    guards: Option<Box<Guarded>>,
    /// What guards have changed, until the face asks.
    changes: Vec<Change>,
    /// The face knows that the record has failed.
    has_failed: bool,
}

/// A request that has waited and goes on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Admitted {
    /// What its face knows it by.
    pub name: u64,
    /// Since when it has waited.
    pub since: Time,
    /// Where to.
    pub decision: Decision,
}

/// What news have changed of a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Which one.
    pub backend: BackendId,
    /// What it was.
    pub was: Standing,
    /// What it is.
    pub is: Standing,
}

impl Change {
    /// What two of them changed of one backend, one after the other.
    pub fn both(first: Option<Change>, second: Option<Change>) -> Option<Change> {
        let all = match (first, second) {
            (Some(first), Some(second)) => Some(Change { is: second.is, ..first }),
            (first, second) => first.or(second),
        };
        all.filter(|change| change.was != change.is)
    }
}

impl Front {
    /// A decider as `settings` say, over backends of these names and weights, all up, at a face that provides `signals`.
    /// `name` names its random stream.
    ///
    /// # Errors
    /// As [`Dispatcher::new`] and [`Dispatcher::limit`], and where no policy is named, a setting cannot be, or guards need what
    /// this face does not see.
    pub fn new(
        settings: &FrontSettings,
        backends: &[(String, f64)],
        catalogue: &Catalogue,
        signals: Signals,
        name: &str,
    ) -> Result<Front, DispatchError> {
        settings.check()?;
        let (policy, information, seed) = (settings.policy()?, settings.information(), settings.seed);
        let mut dispatcher = Dispatcher::from_catalogue(catalogue, policy, backends, information, signals, seed, name)?;
        if let Some(limit) = settings.limit {
            dispatcher.limit(limit)?;
        }
        let guards = Guarded::new(&settings.guards());
        if guards.is_some() && !signals.contains(Signals::IN_FLIGHT | Signals::FIRST_BYTE) {
            let what = "ejection, queue, breakers, concurrency and slow_start go by how replies end, which this face does \
                        not see: leave them out";
            return Err(DispatchError::Settings(what.into()));
        }
        if let Some(first) = guards.as_ref().and_then(|guards| guards.limiter.as_ref()).map(|limiter| limiter.first())
            && settings.concurrency.as_ref().is_some_and(|of| of.of == Scope::Server)
        {
            dispatcher.limit(Limit::new(first, first - 1)?)?;
        }
        let has_limit = dispatcher.table().limit().is_some();
        if settings.slow_start.is_some() && !(dispatcher.weighs() || has_limit) {
            let what = format!(
                "slow_start: policy `{policy}` reads no weights that grow, and no backend has a limit: leave it out"
            );
            return Err(DispatchError::Settings(what));
        }
        let FrontSettings { fall, rise, heed_reports, .. } = *settings;
        Ok(Front {
            dispatcher,
            fall,
            rise,
            heed_reports,
            needs_room: false,
            health: Vec::new(),
            struck: 0,
            out: 0,
            aside: 0,
            left: 0,
            guards,
            changes: Vec::new(),
            has_failed: false,
        })
    }

    /// As [`Dispatcher::choose`], within what guards allow: a request that may wait for a place is told so by
    /// [`Action::Queue`], and is then to be told to [`Front::wait`].
    #[inline]
    pub fn choose(&mut self, request: &Request, tried: &[BackendId], now: Time) -> Decision {
        match self.guards {
            None => self.dispatcher.choose(request, tried, now),
            Some(_) => self.choose_guarded(request, tried, now),
        }
    }

    /// Takes news of a backend; says what they change of it. Others may change with it: those that are aside are chosen where
    /// none is up.
    ///
    /// # Panics
    /// When the backend's number was never given.
    pub fn learn(&mut self, backend: BackendId, news: News<'_>, now: Time) -> Option<Change> {
        if let News::Reported(report) = news {
            self.dispatcher.report(backend, report, now);
        }
        if let (News::Left, Some(guards)) = (news, &mut self.guards) {
            guards.outliers.iter_mut().for_each(|outliers| outliers.forget(backend));
        }
        let (fall, rise) = (self.fall, self.rise);
        let is_left = news == News::Left;
        self.change(
            backend,
            |health| {
                health.take(news, fall, rise);
                if is_left {
                    health.take(News::Ejected(false), fall, rise);
                }
            },
            now,
        )
    }

    /// Takes a report of a backend: news, too.
    ///
    /// # Panics
    /// As [`Front::learn`].
    pub fn report(&mut self, backend: BackendId, report: &Report, now: Time) -> Option<Change> {
        self.learn(backend, News::Reported(report), now)
    }

    /// Says whether health checks of a backend run, and whether it reports by itself; both, unless this is called. News of
    /// what does not are passed over, and what they said before is forgotten.
    pub fn watch(&mut self, backend: BackendId, checks: bool, reports: bool, now: Time) -> Option<Change> {
        self.change(backend, |health| health.watch(checks, reports), now)
    }

    /// Makes a backend of this name known, or known again after it left, with this weight. What else is known of it stays.
    ///
    /// # Errors
    /// As [`Dispatcher::join`].
    pub fn join(&mut self, name: &str, weight: f64, now: Time) -> Result<BackendId, DispatchError> {
        let backend = self.dispatcher.join(name, weight, now)?;
        if let Some(starts) = self.guards.as_mut().and_then(|guards| guards.starts.as_mut()) {
            starts.weighs(backend, weight);
        }
        self.change(backend, Health::join, now);
        // The dispatcher takes what joins for up.
        self.settle(backend, now);
        self.settle_others(now);
        Ok(backend)
    }

    /// Takes over what another decider knows of the backends of the same names: their health, their last reports, what is in
    /// flight there and how many connections are open.
    pub fn take_over(&mut self, before: &Front, now: Time) {
        for backend in self.backends() {
            let Some(known) = before.table().id(self.table().name(backend)) else { continue };
            if let Some(report) = before.table().report(known) {
                self.dispatcher.report(backend, report, now);
            }
            if let Some(other) = before.health.get(known.0 as usize) {
                self.change(backend, |health| health.take_over(other), now);
            }
            for _ in 0..before.table().in_flight(known) {
                self.observe(Event::Inherited { backend }, now);
            }
            let outliers = |front: &'_ Front| front.guards.as_ref().is_some_and(|guards| guards.outliers.is_some());
            if outliers(self) && outliers(before) {
                let of = before.guards.as_ref().and_then(|guards| guards.outliers.as_ref()).expect("it has some");
                let own = self.guards.as_mut().and_then(|guards| guards.outliers.as_mut()).expect("it has some");
                if own.take_over(backend, of, known) {
                    self.learn(backend, News::Ejected(true), now);
                }
            }
            for _ in 0..before.table().connections(known) {
                self.dispatcher.observe(Event::Opened { backend }, now);
            }
        }
        self.struck = self.health.iter().map(|health| u32::from(health.is_struck())).sum();
    }

    /// Tells the dispatcher what happened to a request or a connection. What is served whole ends a row of failed requests.
    ///
    /// # Panics
    /// As [`Dispatcher::observe`]; and on an event that says who may be chosen: that is learned.
    #[inline]
    pub fn observe(&mut self, event: Event, now: Time) {
        match event {
            Event::Completed { backend, .. } if self.struck > 0 => self.served(backend),
            Event::Joined { .. } | Event::Draining { .. } | Event::Down { .. } | Event::Left { .. } => {
                panic!("{event:?} is news of a backend: a front learns it")
            }
            _ => {}
        }
        match self.guards {
            None => self.dispatcher.observe(event, now),
            Some(_) => self.observe_guarded(event, now),
        }
    }

    /// Does what is due by `now` and says what the face must do. What has waited for too long the face asks for:
    /// [`Front::overdue`].
    ///
    /// # Panics
    /// As [`Dispatcher::poll`].
    pub fn due(&mut self, now: Time) -> Vec<Command> {
        self.meet_guards(now);
        self.dispatcher.poll(now)
    }

    /// When [`Front::due`] is next due.
    #[inline]
    pub fn deadline(&self) -> Option<Time> {
        let next = self.dispatcher.next_deadline();
        match &self.guards {
            None => next,
            Some(guards) => Some(guards.due().min(next.unwrap_or(Time::NEVER))).filter(|due| *due < Time::NEVER),
        }
    }

    /// As [`Dispatcher::need_room`]. Where room is needed, reports decide who is chosen.
    pub fn need_room(&mut self, needs: bool, now: Time) {
        self.dispatcher.need_room(needs);
        let before: Vec<Standing> = self.backends().map(|backend| self.standing(backend)).collect();
        self.needs_room = needs;
        for (backend, was) in self.backends().zip(before) {
            self.settle_from(backend, was, now);
        }
    }

    /// What a backend is by itself, whether or not others are up.
    pub fn standing(&self, backend: BackendId) -> Standing {
        let heeds = self.do_reports_count();
        self.health.get(backend.0 as usize).map_or(Standing::Up, |health| health.standing(heeds))
    }

    /// Whether a backend is drained by hand, whatever else is known of it.
    pub fn is_drained(&self, backend: BackendId) -> bool {
        self.health.get(backend.0 as usize).is_some_and(Health::is_drained)
    }

    /// Those that count where a front node adds up what its servers report: they are up, or aside because they are
    /// overloaded, for these still serve what they have. What is silent does not count, even where it is up.
    pub fn reporting(&self) -> impl Iterator<Item = BackendId> + Clone + use<'_> {
        let is_silent = |backend: &BackendId| self.health.get(backend.0 as usize).is_some_and(Health::is_silent);
        let is_out = move |backend: &BackendId| self.standing(*backend) > Standing::Aside || is_silent(backend);
        self.backends().filter(move |backend| !is_out(backend))
    }

    /// All backends that were ever known.
    pub fn backends(&self) -> impl Iterator<Item = BackendId> + Clone + use<> {
        (0..self.dispatcher.table().len() as u32).map(BackendId)
    }

    /// Why the record lacks something, once: at the first call after writing has failed.
    pub fn record_failure(&mut self) -> Option<String> {
        let why = self.dispatcher.record_error()?.to_string();
        (!std::mem::replace(&mut self.has_failed, true)).then_some(why)
    }

    /// Ends the record, if there is one, with its last lines; gives why it lacks something, if that was not said before.
    pub fn finish_record(&mut self) -> Option<String> {
        let error = self.dispatcher.finish_record().err()?;
        (!std::mem::replace(&mut self.has_failed, true)).then(|| error.to_string())
    }

    /// Whether it was said that the record lacks something.
    pub fn record_has_failed(&self) -> bool {
        self.has_failed
    }

    fn do_reports_count(&self) -> bool {
        let reads = || self.dispatcher.requires().intersects(Signals::REPORTS | Signals::UTILIZATION | Signals::ROOM);
        match self.heed_reports {
            Heed::IfRead => self.needs_room || reads(),
            Heed::Always => true,
            Heed::Never => false,
        }
    }

    fn change(&mut self, backend: BackendId, change: impl FnOnce(&mut Health), now: Time) -> Option<Change> {
        let was = self.standing(backend);
        let place = backend.0 as usize;
        if self.health.len() <= place {
            assert!(place < self.dispatcher.table().len(), "{backend:?} was never given");
            self.health.resize_with(place + 1, Health::default);
        }
        let health = &mut self.health[place];
        let was_struck = health.is_struck();
        change(health);
        self.struck = self.struck + u32::from(health.is_struck()) - u32::from(was_struck);
        self.settle_from(backend, was, now)
    }

    /// Lets the dispatcher know what a backend has become.
    fn settle_from(&mut self, backend: BackendId, was: Standing, now: Time) -> Option<Change> {
        let is = self.standing(backend);
        if was == is {
            return None;
        }
        let counts = [
            (&mut self.out, [was, is].map(|standing| standing != Standing::Up)),
            (&mut self.aside, [was, is].map(|standing| standing == Standing::Aside)),
            (&mut self.left, [was, is].map(|standing| standing == Standing::Left)),
        ];
        for (count, [was, is]) in counts {
            *count = *count + usize::from(is) - usize::from(was);
        }
        if self.guards.is_some() {
            self.learned(backend, was, is, now);
        }
        self.settle(backend, now);
        self.settle_others(now);
        Some(Change { backend, was, is })
    }

    fn outliers(&self) -> Option<&Outliers> {
        self.guards.as_ref()?.outliers.as_ref()
    }

    /// Whether fewer are up than there have to be.
    fn is_panic(&self) -> bool {
        let all = self.dispatcher.table().len();
        let share = self.outliers().map_or(0.0, Outliers::panic);
        ((all - self.out) as f64) < share * (all - self.left) as f64
    }

    /// Whether those that are aside are chosen too.
    fn takes_aside(&self) -> bool {
        self.out == self.dispatcher.table().len() || self.is_panic()
    }

    /// Whether those that are down are chosen too.
    fn takes_down(&self) -> bool {
        self.outliers().is_some_and(Outliers::panics_to_all) && self.is_panic()
    }

    /// How many are up is a matter to those that are not, but may be chosen all the same.
    fn settle_others(&mut self, now: Time) {
        if self.aside == 0 && !self.outliers().is_some_and(Outliers::panics_to_all) {
            return;
        }
        for backend in self.backends() {
            if matches!(self.standing(backend), Standing::Aside | Standing::Down) {
                self.settle(backend, now);
            }
        }
    }

    /// Lets the dispatcher know whether a backend may be chosen, if it does not.
    fn settle(&mut self, backend: BackendId, now: Time) {
        let (state, event) = match self.standing(backend) {
            Standing::Up => (State::Up, Event::Joined { backend }),
            Standing::Aside if self.takes_aside() => (State::Up, Event::Joined { backend }),
            Standing::Down if self.takes_down() => (State::Up, Event::Joined { backend }),
            Standing::Aside | Standing::Drained => (State::Draining, Event::Draining { backend }),
            Standing::Down => (State::Down, Event::Down { backend }),
            Standing::Left => (State::Left, Event::Left { backend }),
        };
        if self.dispatcher.table().state(backend) != state {
            self.dispatcher.observe(event, now);
        }
    }

    #[cold]
    fn served(&mut self, backend: BackendId) {
        if let Some(health) = self.health.get_mut(backend.0 as usize)
            && health.is_struck()
        {
            health.serve();
            self.struck -= 1;
        }
    }
}

impl Deref for Front {
    type Target = Dispatcher;

    #[inline]
    fn deref(&self) -> &Dispatcher {
        &self.dispatcher
    }
}

impl DerefMut for Front {
    #[inline]
    fn deref_mut(&mut self) -> &mut Dispatcher {
        &mut self.dispatcher
    }
}

impl fmt::Debug for Front {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Front").field("dispatcher", &self.dispatcher).field("health", &self.health).finish()
    }
}

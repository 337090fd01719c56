//! Who may be chosen, whatever is heard of backends in whatever order.

use std::io::{self, Write};

use sojourn_dispatch::record::{Detail, replay};
use sojourn_dispatch::{
    BackendId, Catalogue, Change, Event, Front, FrontSettings, Heed, News, Report, Signals, Standing, State,
};
use sojourn_stats::{Span, Stream, Time};

use crate::common::{REQUEST, equal};
use crate::record::Shared;

const A: BackendId = BackendId(0);
const B: BackendId = BackendId(1);
const C: BackendId = BackendId(2);

const SIGNALS: Signals = Signals::GATEWAY.union(Signals::REPORTS).union(Signals::UTILIZATION).union(Signals::ROOM);

fn front(settings: FrontSettings, backends: usize) -> Front {
    Front::new(&settings, &equal(backends), &Catalogue::default(), SIGNALS, "front").expect("it can be made")
}

/// A front whose policy reads reports, and which takes out what failed twice in a row.
fn reading(backends: usize) -> Front {
    front(FrontSettings { fall: 2, ..FrontSettings::new("least-load") }, backends)
}

/// What may happen to a backend.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    News(News<'static>),
    Join,
    Served,
}

static REPORT: Report = Report {
    measured: Time::ZERO,
    in_flight: 0,
    latency: None,
    cpu: 0.0,
    disk: 0.0,
    net: 0.0,
    queues: [0; 3],
    room: 10.0,
    capacity: 20.0,
    is_early: false,
    requests: 0,
    bytes: 0,
    extras: std::collections::BTreeMap::new(),
};

const STEPS: [(&str, Step); 16] = [
    ("answered", Step::News(News::Answered)),
    ("failed", Step::News(News::Failed)),
    ("struck", Step::News(News::Struck)),
    ("served", Step::Served),
    ("refused", Step::News(News::Refused)),
    ("reported", Step::News(News::Reported(&REPORT))),
    ("empty", Step::News(News::Empty)),
    ("silent", Step::News(News::Silent)),
    ("overloaded", Step::News(News::Overloaded(true))),
    ("moderate", Step::News(News::Overloaded(false))),
    ("ejected", Step::News(News::Ejected(true))),
    ("restored", Step::News(News::Ejected(false))),
    ("drained", Step::News(News::Drained(true))),
    ("undrained", Step::News(News::Drained(false))),
    ("left", Step::News(News::Left)),
    ("joined", Step::Join),
];

/// Takes a step of `backend`; what it changed.
fn step(front: &mut Front, backend: BackendId, step: Step, now: Time) -> Option<Change> {
    let was = front.standing(backend);
    match step {
        Step::News(news) => return front.learn(backend, news, now),
        Step::Join => {
            let name = front.table().name(backend).to_owned();
            assert_eq!(front.join(&name, 1.0, now), Ok(backend));
        }
        Step::Served => {
            front.observe(Event::Inherited { backend }, now);
            front.observe(Event::Completed { backend, status: 200, bytes: 1, latency: Span(1) }, now);
        }
    }
    let is = front.standing(backend);
    (was != is).then_some(Change { backend, was, is })
}

fn letter(standing: Standing) -> char {
    match standing {
        Standing::Up => 'u',
        Standing::Aside => 'a',
        Standing::Drained => 'd',
        Standing::Down => 'x',
        Standing::Left => 'l',
    }
}

/// What the table says of a backend that is so, beside another one that is up.
fn state(standing: Standing) -> State {
    match standing {
        Standing::Up => State::Up,
        Standing::Aside | Standing::Drained => State::Draining,
        Standing::Down => State::Down,
        Standing::Left => State::Left,
    }
}

/// All pairs of what a backend is and what is heard of it next. A row: what was heard before, what it is by that, and what
/// each step of `STEPS` makes of it: up, aside, drained, down (x) or left.
#[test]
fn the_worst_source_counts_in_all_pairs_of_state_and_news() {
    let rows = [
        //                     an f  st se rf rp em si ov mo ej re dr un l  j
        ("", 'u', "u  u  u  u  x  u  x  a  a  u  a  u  d  u  l  u"),
        ("failed", 'u', "u  x  u  u  x  u  x  a  a  u  a  u  d  u  l  u"),
        ("struck", 'u', "u  u  x  u  x  u  x  a  a  u  a  u  d  u  l  u"),
        ("refused", 'x', "u  x  x  x  x  x  x  x  x  x  x  x  x  x  l  x"),
        ("failed failed", 'x', "u  x  x  x  x  x  x  x  x  x  x  x  x  x  l  x"),
        ("silent", 'a', "a  a  a  a  x  u  x  a  a  a  a  a  d  a  l  a"),
        ("empty", 'x', "x  x  x  x  x  u  x  x  x  x  x  x  x  x  l  x"),
        ("overloaded", 'a', "a  a  a  a  x  a  x  a  a  u  a  a  d  a  l  a"),
        ("drained", 'd', "d  d  d  d  x  d  x  d  d  d  d  d  d  u  l  d"),
        ("left", 'l', "l  l  l  l  l  l  l  l  l  l  l  l  l  l  l  u"),
        ("refused drained", 'x', "d  x  x  x  x  x  x  x  x  x  x  x  x  x  l  x"),
        ("refused silent", 'x', "a  x  x  x  x  x  x  x  x  x  x  x  x  x  l  x"),
        ("silent overloaded", 'a', "a  a  a  a  x  a  x  a  a  a  a  a  d  a  l  a"),
        ("silent drained", 'd', "d  d  d  d  x  d  x  d  d  d  d  d  d  a  l  d"),
        ("left refused", 'l', "l  l  l  l  l  l  l  l  l  l  l  l  l  l  l  x"),
        ("ejected", 'a', "a  a  a  a  x  a  x  a  a  a  a  u  d  a  l  a"),
        ("ejected drained", 'd', "d  d  d  d  x  d  x  d  d  d  d  d  d  a  l  d"),
        ("ejected refused", 'x', "a  x  x  x  x  x  x  x  x  x  x  x  x  x  l  x"),
        ("ejected silent", 'a', "a  a  a  a  x  a  x  a  a  a  a  a  d  a  l  a"),
        ("ejected left", 'l', "l  l  l  l  l  l  l  l  l  l  l  l  l  l  l  u"),
    ];
    for (before, is, after) in rows {
        for ((name, next), expected) in STEPS.iter().zip(after.split_whitespace()) {
            let mut front = reading(2);
            let heard = before.split_whitespace().map(|word| STEPS.iter().find(|(name, _)| *name == word).unwrap().1);
            heard.for_each(|heard| _ = step(&mut front, A, heard, Time(1)));
            let was = front.standing(A);
            assert_eq!(letter(was), is, "{before:?}");
            let change = step(&mut front, A, *next, Time(2));
            let now = front.standing(A);
            assert_eq!(letter(now).to_string(), expected, "{before:?}, then {name}");
            assert_eq!(change, (was != now).then_some(Change { backend: A, was, is: now }), "{before:?}, then {name}");
            assert_eq!(front.table().state(A), state(now), "{before:?}, then {name}");
            assert_eq!(front.table().state(B), State::Up, "{before:?}, then {name}");
        }
    }
}

/// Where no checks run, silence is all that is known, and no failure takes out what nothing would bring back.
#[test]
fn a_source_that_a_backend_does_not_have_says_nothing() {
    let after = |checks, reports, steps: &[News<'static>]| {
        let mut front = reading(2);
        front.watch(A, checks, reports, Time(1));
        steps.iter().for_each(|news| _ = front.learn(A, *news, Time(2)));
        front.standing(A)
    };
    let failures = [News::Refused, News::Failed, News::Struck];
    assert_eq!(after(false, false, &failures), Standing::Up);
    assert_eq!(after(false, true, &failures), Standing::Down);
    assert_eq!(after(false, true, &[News::Refused, News::Answered]), Standing::Down);
    assert_eq!(after(false, true, &[News::Refused, News::Reported(&REPORT)]), Standing::Up);
    assert_eq!(after(true, true, &[News::Refused, News::Reported(&REPORT)]), Standing::Down);
    assert_eq!(after(false, true, &[News::Silent]), Standing::Down);
    assert_eq!(after(false, true, &[News::Silent, News::Answered]), Standing::Down);
    assert_eq!(after(false, true, &[News::Silent, News::Reported(&REPORT)]), Standing::Up);
    assert_eq!(after(true, false, &[News::Silent, News::Empty, News::Overloaded(true)]), Standing::Up);
    assert_eq!(after(false, false, &[News::Ejected(true)]), Standing::Aside);
    // What it had said is forgotten with the source.
    let mut front = reading(2);
    front.learn(A, News::Refused, Time(1));
    assert_eq!(front.watch(A, false, false, Time(2)).map(|change| change.is), Some(Standing::Up));
    front.watch(A, false, true, Time(2));
    front.learn(A, News::Silent, Time(3));
    assert_eq!(front.watch(A, true, false, Time(4)).map(|change| change.is), Some(Standing::Up));
}

/// Of a backend that answers its checks, reports count where they are read, or as is set.
#[test]
fn silence_and_overload_count_where_reports_are_read() {
    let after = |policy: &str, reports, needs_room, news: News<'static>| {
        let mut front = front(FrontSettings { heed_reports: reports, ..FrontSettings::new(policy) }, 2);
        front.need_room(needs_room, Time::ZERO);
        front.learn(A, news, Time(1));
        front.standing(A)
    };
    for news in [News::Silent, News::Overloaded(true)] {
        assert_eq!(after("least-load", Heed::IfRead, false, news), Standing::Aside);
        assert_eq!(after("least-load", Heed::Never, false, news), Standing::Up);
        assert_eq!(after("round-robin", Heed::IfRead, false, news), Standing::Up);
        assert_eq!(after("round-robin", Heed::Always, false, news), Standing::Aside);
        assert_eq!(after("round-robin", Heed::IfRead, true, news), Standing::Aside);
    }
    for heed in [Heed::IfRead, Heed::Never] {
        assert_eq!(after("round-robin", heed, false, News::Ejected(true)), Standing::Aside, "it is no report");
    }
    let mut front = front(FrontSettings::new("round-robin"), 2);
    front.learn(A, News::Silent, Time(1));
    assert_eq!(front.table().eligible(), [A, B]);
    front.need_room(true, Time(2));
    assert_eq!(front.table().eligible(), [B]);
    front.need_room(false, Time(3));
    assert_eq!(front.table().eligible(), [A, B]);
}

#[test]
fn those_that_are_aside_are_chosen_where_none_is_up() {
    let mut front = reading(3);
    let mut after = |backend, news| {
        front.learn(backend, news, Time(1));
        front.table().eligible().to_vec()
    };
    assert_eq!(after(A, News::Overloaded(true)), [B, C]);
    assert_eq!(after(B, News::Silent), [C]);
    assert_eq!(after(C, News::Refused), [A, B]);
    assert_eq!(after(A, News::Drained(true)), [B]);
    assert_eq!(after(A, News::Drained(false)), [A, B]);
    assert_eq!(after(B, News::Reported(&REPORT)), [B]);
    assert_eq!(after(C, News::Answered), [B, C]);
    assert_eq!(after(B, News::Overloaded(true)), [C]);
    assert_eq!(after(C, News::Overloaded(true)), [A, B, C]);
    assert_eq!(after(A, News::Overloaded(false)), [A]);
    // What joins is up.
    front.learn(A, News::Left, Time(2));
    assert_eq!(front.table().eligible(), [B, C]);
    let new = front.join("s4", 1.0, Time(3)).unwrap();
    assert_eq!(front.table().eligible(), [new]);
}

/// What a front node says of its servers holds those that still serve and report, as the overloaded one does.
#[test]
fn those_that_report_and_serve_are_in_the_sum_of_a_front_node() {
    let mut four = reading(4);
    let mut after = |backend, news| {
        four.learn(backend, news, Time(1));
        four.reporting().map(|backend| backend.0).collect::<Vec<_>>()
    };
    assert_eq!(after(A, News::Overloaded(true)), [0, 1, 2, 3]);
    assert_eq!(after(B, News::Silent), [0, 2, 3]);
    assert_eq!(after(C, News::Drained(true)), [0, 3]);
    assert_eq!(after(BackendId(3), News::Refused), [0]);
    assert_eq!(after(B, News::Reported(&REPORT)), [0, 1]);
    // Where nothing reads reports, the silent one is up and not in the sum.
    let mut two = front(FrontSettings::new("round-robin"), 2);
    two.learn(A, News::Silent, Time(1));
    assert_eq!((two.table().eligible().len(), two.reporting().collect::<Vec<_>>()), (2, vec![B]));
}

#[test]
fn fall_and_rise_count_in_a_row() {
    let mut front = front(FrontSettings { fall: 3, rise: 2, ..FrontSettings::new("round-robin") }, 2);
    let mut after = |steps: &str| {
        for name in steps.split_whitespace() {
            step(&mut front, A, STEPS.iter().find(|(known, _)| *known == name).unwrap().1, Time(1));
        }
        front.standing(A)
    };
    assert_eq!(after("failed failed answered failed failed struck struck served struck struck"), Standing::Up);
    assert_eq!(after("struck"), Standing::Down);
    assert_eq!(after("answered failed answered struck answered"), Standing::Down);
    assert_eq!(after("served"), Standing::Down, "what was under way when it went down brings nothing back");
    assert_eq!(after("answered"), Standing::Up);
    assert_eq!(after("struck failed struck failed"), Standing::Up, "each row is counted on its own");
    assert_eq!(after("failed"), Standing::Down);
}

/// The rule said in another way: from all that was ever heard of each backend, in order.
fn expected(heard: &[Vec<Step>], fall: u32, rise: u32) -> Vec<BackendId> {
    let last = |all: &[Step], of: &[(Step, bool)]| {
        let found = all.iter().rev().find_map(|step| of.iter().find(|(known, _)| known == step));
        found.is_some_and(|(_, says)| *says)
    };
    let news = |news| Step::News(news);
    let report = news(News::Reported(&REPORT));
    let is_down = |all: &[Step]| {
        let (mut out, mut rows) = (false, [0u32; 3]);
        for step in all {
            let [failed, struck, answered] = &mut rows;
            match step {
                Step::News(News::Failed) => (*failed, *answered) = (*failed + 1, 0),
                Step::News(News::Struck) => (*struck, *answered) = (*struck + 1, 0),
                Step::News(News::Refused) => (*struck, *answered) = (fall, 0),
                Step::Served => *struck = 0,
                Step::News(News::Answered) => (*failed, *answered) = (0, *answered + u32::from(out)),
                _ => continue,
            }
            if out && *answered >= rise {
                (out, rows) = (false, [0; 3]);
            }
            out |= rows[0] >= fall || rows[1] >= fall;
        }
        out
    };
    let rank = |all: &Vec<Step>| match () {
        () if last(all, &[(news(News::Left), true), (Step::Join, false)]) => 4,
        () if is_down(all) || last(all, &[(news(News::Empty), true), (report, false)]) => 3,
        () if last(all, &[(news(News::Drained(true)), true), (news(News::Drained(false)), false)]) => 2,
        () if last(
            all,
            &[(news(News::Ejected(true)), true), (news(News::Ejected(false)), false), (news(News::Left), false)],
        ) =>
        {
            1
        }
        () if last(all, &[(news(News::Overloaded(true)), true), (news(News::Overloaded(false)), false)]) => 1,
        () if last(all, &[(news(News::Silent), true), (report, false)]) => 1,
        () => 0,
    };
    let ranks: Vec<i32> = heard.iter().map(rank).collect();
    let best = ranks.iter().copied().min().unwrap();
    let chosen = ranks.iter().zip(0..).filter(|(rank, _)| **rank == best && best < 2);
    chosen.map(|(_, id)| BackendId(id)).collect()
}

#[test]
fn any_sequence_of_news_leaves_what_the_rule_says() {
    for seed in 0..200 {
        let mut draws = Stream::new(seed, "front", "news");
        let (fall, rise) = (1 + draws.below(3) as u32, 1 + draws.below(3) as u32);
        let backends = 1 + draws.below(5);
        let mut front = front(FrontSettings { fall, rise, ..FrontSettings::new("least-load") }, backends);
        let mut heard = vec![Vec::new(); backends];
        for now in 1..200 {
            let (backend, (name, next)) = (draws.below(backends), STEPS[draws.below(STEPS.len())]);
            step(&mut front, BackendId(backend as u32), next, Time(now));
            heard[backend].push(next);
            let eligible = front.table().eligible();
            assert_eq!(eligible, expected(&heard, fall, rise), "seed {seed}, {now}: {name} of {backend}: {heard:?}");
        }
    }
}

#[test]
fn a_new_decider_takes_over_what_an_old_one_knows() {
    let mut old = reading(4);
    old.learn(A, News::Refused, Time(1));
    old.learn(B, News::Overloaded(true), Time(1));
    old.learn(B, News::Reported(&REPORT), Time(1));
    old.learn(C, News::Drained(true), Time(1));
    old.learn(BackendId(3), News::Struck, Time(1));
    let backends: Vec<_> = ["s4", "s3", "s2", "s1", "s9"].map(|name| (name.to_string(), 1.0)).into();
    let settings = FrontSettings { fall: 2, ..FrontSettings::new("free-capacity") };
    let mut new = Front::new(&settings, &backends, &Catalogue::default(), SIGNALS, "front").unwrap();
    new.take_over(&old, Time(2));
    let standings: Vec<Standing> = new.backends().map(|backend| new.standing(backend)).collect();
    // Whether one is drained is for who makes the new one.
    assert_eq!(standings, [Standing::Up, Standing::Up, Standing::Aside, Standing::Down, Standing::Up]);
    assert_eq!(new.table().report(C), Some(&REPORT));
    assert_eq!(new.learn(A, News::Struck, Time(3)).map(|change| change.is), Some(Standing::Down));
}

#[test]
#[should_panic(expected = "a front learns it")]
fn who_may_be_chosen_is_not_told_as_an_event() {
    reading(2).observe(Event::Down { backend: A }, Time(1));
}

#[test]
#[should_panic(expected = "was never given")]
fn news_of_a_number_that_was_never_given_break_the_books() {
    reading(2).learn(C, News::Answered, Time(1));
}

/// A record knows no sources: what follows from them is in it.
#[test]
fn a_record_of_a_front_replays() {
    let record = Shared::default();
    let limit = Some("2,1".parse().unwrap());
    let mut front = front(FrontSettings { fall: 2, limit, ..FrontSettings::new("least-load") }, 3);
    front.record_to(Box::new(record.clone()), Detail::Decisions).unwrap();
    let mut draws = Stream::new(1, "front", "record");
    for now in 1..500 {
        let next = STEPS[draws.below(STEPS.len())].1;
        step(&mut front, BackendId(draws.below(3) as u32), next, Time(now));
        if let Some(backend) = front.choose(&REQUEST, &[], Time(now)).forwarded_to()
            && now % 3 > 0
        {
            front.observe(Event::Cancelled { backend, after: Span::ZERO }, Time(now));
        }
    }
    assert_eq!(front.finish_record(), None);
    let replayed = replay(record.taken().as_slice()).unwrap();
    assert_eq!((replayed.choices, replayed.first_difference), (499, None));
}

#[test]
fn why_a_record_fails_is_said_once() {
    /// Takes the header and nothing more.
    struct Full(u32);
    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += 1;
            if self.0 == 1 { Ok(bytes.len()) } else { Err(io::Error::other("no space")) }
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut front = reading(2);
    front.record_to(Box::new(Full(0)), Detail::Decisions).unwrap();
    assert_eq!(front.record_failure(), None);
    for now in 1..1000 {
        front.learn(A, News::Drained(now % 2 == 0), Time(now));
    }
    assert_eq!(front.record_failure().as_deref(), Some("no space"));
    assert_eq!((front.record_failure(), front.finish_record()), (None, None));
}

#[test]
fn settings_are_plain_data() {
    let read = |text: &str| serde_json::from_str::<FrontSettings>(text).map_err(|error| error.to_string());
    assert_eq!(read("{}"), Ok(FrontSettings::default()));
    let text =
        r#"{"policy":"random","seed":7,"poll":"100 ms","limit":"20,15","fall":2,"rise":4,"heed_reports":"never"}"#;
    let settings = read(text).unwrap();
    assert_eq!(serde_json::to_string(&settings).unwrap(), text);
    assert_eq!(read(r#"{"limit":20}"#).unwrap().limit, Some("20".parse().unwrap()));
    for (text, right) in [
        (r#"{"fal":2}"#, "unknown field `fal`"),
        (r#"{"poll":"100"}"#, "has no unit"),
        (r#"{"limit":"20,20"}"#, "the lower mark is below the limit"),
        (r#"{"limit":[20]}"#, "a limit is a number, or two in a text"),
        (r#"{"heed_reports":"sometimes"}"#, "unknown variant `sometimes`"),
    ] {
        let error = read(text).unwrap_err();
        assert!(error.contains(right), "{text}: {error}");
    }
    let wrong = |settings: FrontSettings| {
        let made = Front::new(&settings, &equal(1), &Catalogue::default(), SIGNALS, "front");
        made.map(drop).unwrap_err().to_string()
    };
    assert!(wrong(FrontSettings::default()).contains("name one"));
    assert!(wrong(FrontSettings { fall: 0, ..FrontSettings::new("random") }).starts_with("fall = 0"));
    assert!(wrong(FrontSettings { rise: 0, ..FrontSettings::new("random") }).starts_with("rise = 0"));
}

/// What was chosen by the old one ends at the new one.
#[test]
fn a_new_decider_takes_over_what_is_in_flight() {
    let mut old = front(FrontSettings::new("least-connections"), 2);
    (1..4).for_each(|now| _ = old.choose(&REQUEST, &[], Time(now)));
    old.observe(Event::Opened { backend: B }, Time(4));
    let mut new = front(FrontSettings::new("round-robin"), 2);
    new.take_over(&old, Time(5));
    let counts = |front: &Front| [A, B].map(|id| (front.table().in_flight(id), front.table().connections(id)));
    assert_eq!(counts(&new), counts(&old));
    for backend in [A, B] {
        (0..counts(&old)[backend.0 as usize].0)
            .for_each(|_| new.observe(Event::Cancelled { backend, after: Span::ZERO }, Time(6)));
    }
    new.observe(Event::Closed { backend: B }, Time(6));
    assert_eq!(counts(&new), [(0, 0); 2]);
}

//! The scripts of users who go from page to page.

use std::sync::Arc;

use sojourn_stats::goodness::kolmogorov;
use sojourn_stats::{Dimension, Moments, Span, Stream};
use sojourn_traffic::stream::{Distance, nth, session_lengths, share_within, stack_distances};
use sojourn_traffic::{Demand, Fetch, Http, Plan, Sessions, Site, SiteLaw, Visit, Visitor, Workload};

use crate::support::{demand, law};

/// No test of a law here fails a correct program more often than this.
const FALSE_ALARM: f64 = 1e-7;

fn surge(users: u32) -> Sessions {
    Sessions::surge(users, Arc::new(Site::generate(&SiteLaw::surge(), 1).unwrap()))
}

fn free() -> Arc<dyn Demand> {
    Arc::new(|_: u8, _: u64, _: &mut Stream| Span::ZERO)
}

fn visits(sessions: &Sessions, user: u32, seed: u64, visits: usize) -> Vec<(Visit, Vec<Fetch>)> {
    let mut visitor = Visitor::new(sessions, user, seed, demand());
    let mut fetches = Vec::new();
    (0..visits).map(|_| (visitor.visit(&mut fetches), fetches.clone())).collect()
}

/// The pages of so many users, so many each.
fn streams(sessions: &Sessions, users: u32, pages: usize) -> Vec<Vec<u32>> {
    let mut fetches = Vec::new();
    let stream = |user| {
        let mut visitor = Visitor::new(sessions, user, 1, free());
        (0..pages).map(|_| visitor.visit(&mut fetches).page).collect()
    };
    (0..users).map(stream).collect()
}

/// P(page <= this one) by popularity.
fn ranks(sessions: &Sessions) -> impl Fn(f64) -> f64 {
    let mut up_to = Vec::new();
    for page in sessions.site.pages() {
        up_to.push(up_to.last().unwrap_or(&0.0) + page.popularity);
    }
    move |page| up_to[page as usize]
}

#[test]
fn a_page_is_its_file_and_then_what_it_shows() {
    let sessions = surge(1);
    for (visit, fetches) in visits(&sessions, 0, 1, 500) {
        let page = &sessions.site.pages()[visit.page as usize];
        let objects: Vec<u32> = fetches.iter().map(|fetch| fetch.request.object).collect();
        assert_eq!(objects[0], page.file);
        assert_eq!(objects[1..], page.embedded);
        for Fetch { request, gap } in fetches {
            let file = sessions.site.files()[request.object as usize];
            assert_eq!((request.size, request.class, request.client), (file.size, file.class, 0));
            assert_eq!((gap, request.patience), (Span::ZERO, Span::FOREVER));
        }
    }
}

#[test]
fn a_script_does_not_depend_on_the_number_of_users() {
    let (few, many) = (surge(3), surge(3000));
    assert_eq!(visits(&few, 2, 1, 200), visits(&many, 2, 1, 200));
    assert_ne!(visits(&few, 2, 1, 200), visits(&few, 2, 2, 200));
    let pages = |user| visits(&few, user, 1, 200).iter().map(|(visit, _)| visit.page).collect::<Vec<_>>();
    assert_ne!(pages(0), pages(1));
}

#[test]
fn one_purpose_does_not_shift_another() {
    let plain = surge(1);
    let think = |sessions: &Sessions| visits(sessions, 0, 1, 200).iter().map(|one| one.0.think).collect::<Vec<_>>();
    let pages = |sessions: &Sessions| visits(sessions, 0, 1, 200).iter().map(|one| one.0.page).collect::<Vec<_>>();
    let ends = |sessions: &Sessions| visits(sessions, 0, 1, 200).iter().map(|one| one.0.last).collect::<Vec<_>>();
    let number = |text: &str| law(text, Dimension::Number);
    let time = |text: &str| law(text, Dimension::Time);
    let impatient = Sessions {
        patience: Some(time("exponential(mean = 8 s)")),
        active_off: Some(time("weibull(shape = 0.382, scale = 1.46 s)")),
        ..plain.clone()
    };
    assert_eq!((think(&plain), pages(&plain), ends(&plain)), (think(&impatient), pages(&impatient), ends(&impatient)));
    let roaming = Sessions { locality: None, length: number("constant(3)"), ..plain.clone() };
    assert_eq!(think(&plain), think(&roaming));
    assert_ne!(pages(&plain), pages(&roaming));
    for (_, fetches) in visits(&impatient, 0, 1, 200) {
        assert!(fetches.iter().all(|fetch| fetch.request.patience == fetches[0].request.patience));
        assert_eq!(fetches[0].gap, Span::ZERO);
        assert!(fetches[1..].iter().all(|fetch| fetch.gap > Span::ZERO));
    }
}

#[test]
fn think_times_follow_their_law() {
    let sessions = surge(1);
    let thinks: Vec<f64> = visits(&sessions, 0, 1, 50_000).iter().map(|(visit, _)| visit.think.as_secs_f64()).collect();
    let found = kolmogorov(&thinks, |think| sessions.think.cdf(think));
    assert!(found.p_value > FALSE_ALARM, "{found:?}");
    assert!(thinks.iter().all(|think| (1.0..=1800.0).contains(think)));
}

#[test]
fn active_off_times_follow_their_law() {
    let off = law("weibull(shape = 0.382, scale = 1.46 s)", Dimension::Time);
    let sessions = Sessions { active_off: Some(off.clone()), ..surge(1) };
    let visits = visits(&sessions, 0, 1, 10_000);
    let gaps: Vec<f64> =
        visits.iter().flat_map(|(_, fetches)| &fetches[1..]).map(|fetch| fetch.gap.as_secs_f64()).collect();
    assert!(gaps.len() > 10_000);
    let found = kolmogorov(&gaps, |gap| off.cdf(gap));
    assert!(found.p_value > FALSE_ALARM, "{found:?}");
}

#[test]
fn session_lengths_follow_their_law() {
    let sessions = surge(1);
    let lengths = session_lengths(visits(&sessions, 0, 1, 200_000).into_iter().map(|(visit, _)| visit));
    assert!(lengths.len() > 40_000 && lengths.iter().all(|length| (1..=95).contains(length)));
    let lengths: Vec<f64> = lengths.into_iter().map(f64::from).collect();
    let found = kolmogorov(&lengths, |length| sessions.length.cdf(length + 0.5));
    assert!(found.p_value > FALSE_ALARM, "{found:?}");
}

#[test]
fn without_locality_pages_are_independent_draws_by_popularity() {
    let sessions = Sessions { locality: None, ..surge(1) };
    let pages: Vec<f64> = streams(&sessions, 4, 50_000).concat().into_iter().map(f64::from).collect();
    let found = kolmogorov(&pages, ranks(&sessions));
    assert!(found.p_value > FALSE_ALARM, "{found:?}");
}

/// One request of each user is an independent draw, whatever its number: locality takes nothing from popularity.
#[test]
fn with_locality_every_request_is_a_draw_by_popularity() {
    let sessions = surge(1);
    let streams = streams(&sessions, 20_000, 61);
    for number in [0, 1, 5, 20, 60] {
        let pages: Vec<f64> =
            nth(streams.iter().map(|stream| &stream[..]), number).into_iter().map(f64::from).collect();
        let found = kolmogorov(&pages, ranks(&sessions));
        assert!(found.p_value > FALSE_ALARM, "request {number}: {found:?}");
    }
}

/// The last of 400 requests of each user, up to the distance that all of them could tell by then.
#[test]
fn stack_distances_follow_their_law() {
    let sessions = surge(1);
    let law = sessions.locality.clone().unwrap();
    let (mut last, mut told) = (Vec::new(), u32::MAX);
    for stream in streams(&sessions, 5000, 400) {
        let distances = stack_distances(&stream);
        let seen = distances[..399].iter().filter(|distance| matches!(distance, Distance::MoreThan(_))).count();
        told = told.min(seen as u32);
        last.push(distances[399]);
    }
    assert!(told >= 12, "{told}");
    let far = f64::from(told) + 1.0;
    let last: Vec<f64> = last
        .into_iter()
        .map(|distance| match distance {
            Distance::Exactly(distance) => f64::from(distance).min(far),
            Distance::MoreThan(_) => far,
        })
        .collect();
    let found = kolmogorov(&last, |distance| if distance < far { law.cdf(distance) } else { 1.0 });
    assert!(found.p_value > FALSE_ALARM, "{found:?}");
}

/// Requests 500 to 1500 of many users: the users' shares are independent, so the mean of them is normal around the
/// law's. 6 standard errors are a false alarm in 5e8; the depths are solved for to 1e-4 or better.
#[test]
fn stack_distances_follow_their_law_closely() {
    let sessions = surge(1);
    let law = sessions.locality.clone().unwrap();
    let distances: Vec<Vec<Distance>> =
        streams(&sessions, 1000, 1500).iter().map(|stream| stack_distances(stream)).collect();
    for within in [1, 2, 3, 4, 6, 8, 12] {
        let is_within = |distance: &Distance| matches!(distance, Distance::Exactly(found) if *found <= within);
        let shares: Moments = distances
            .iter()
            .map(|user| {
                let (before, after) = user.split_at(500);
                // Pages known by then: all smaller distances can be told.
                assert!(before.iter().filter(|one| matches!(one, Distance::MoreThan(_))).count() >= within as usize);
                after.iter().filter(|one| is_within(one)).count() as f64 / after.len() as f64
            })
            .collect();
        let allowed = 6.0 * (shares.variance() / 1000.0).sqrt() + 1e-4;
        let off = (shares.mean() - law.cdf(f64::from(within))).abs();
        assert!(off < allowed, "within {within}: {} for {}", shares.mean(), law.cdf(f64::from(within)));
        assert!(allowed < 0.01, "{allowed} tells little");
        let told: Moments = distances.iter().map(|user| share_within(user, within)).collect();
        assert!((told.mean() - shares.mean()).abs() < 0.01, "within {within}: {} for {}", told.mean(), shares.mean());
    }
}

#[test]
fn distances_that_popularity_forbids_are_said() {
    let site =
        |files, popularity| Arc::new(Site::generate(&SiteLaw { files, popularity, ..SiteLaw::surge() }, 1).unwrap());
    assert_eq!(surge(1).notes(), [""; 0]);
    assert_eq!(Sessions { locality: None, ..Sessions::surge(1, site(20, 1.5)) }.notes(), [""; 0]);
    let [note] = &Sessions::surge(1, site(20, 1.5)).notes()[..] else { panic!("a note") };
    assert!(note.contains("popularity of the site's 12 pages allows these stack distances only to within"), "{note}");
    // One page is asked for over and over, and that is all there is to it.
    let one = Sessions::surge(1, site(1, 1.0));
    assert_eq!(one.notes(), [""; 0]);
    assert!(streams(&one, 1, 100)[0].iter().all(|page| *page == 0));
}

/// However far a user goes back, its stack stays within bounds and popularity holds.
#[test]
fn long_distances_work() {
    let long = law("lognormal(mu = 5, sigma = 2)", Dimension::Number);
    let sessions = Sessions { locality: Some(long), ..surge(1) };
    let streams = streams(&sessions, 20_000, 30);
    let pages: Vec<f64> = nth(streams.iter().map(|stream| &stream[..]), 29).into_iter().map(f64::from).collect();
    let found = kolmogorov(&pages, ranks(&sessions));
    assert!(found.p_value > FALSE_ALARM, "{found:?}");
}

#[test]
fn time_is_scaled() {
    let off = law("constant(2 s)", Dimension::Time);
    let plain = Sessions { active_off: Some(off), ..surge(1) };
    let fast = Sessions { time_scale: 10.0, ..plain.clone() };
    for ((slow, slow_files), (fast, fast_files)) in visits(&plain, 0, 1, 200).iter().zip(&visits(&fast, 0, 1, 200)) {
        assert!((slow.think.as_secs_f64() - 10.0 * fast.think.as_secs_f64()).abs() < 1e-7);
        assert_eq!(slow.page, fast.page);
        for (slow, fast) in slow_files.iter().zip(fast_files) {
            assert_eq!(slow.gap, fast.gap * 10);
            assert_eq!(slow.request, fast.request);
        }
    }
    assert_eq!(plain.keep_alive(), Some(Span::from_secs_f64(15.0)));
    assert_eq!(fast.keep_alive(), Some(Span::from_secs_f64(1.5)));
    assert_eq!(Sessions { http: Http::V10, ..fast }.keep_alive(), None);
}

#[test]
fn classes_reach_the_demand() {
    let site = Site::generate(&SiteLaw { dynamic: 0.5, secure: 0.25, ..SiteLaw::surge() }, 1).unwrap();
    let sessions = Sessions::surge(1, Arc::new(site));
    let demand: Arc<dyn Demand> = Arc::new(|class: u8, _: u64, _: &mut Stream| Span(u64::from(class) + 1));
    let mut visitor = Visitor::new(&sessions, 0, 1, demand);
    let (mut fetches, mut met) = (Vec::new(), [false; 3]);
    for _ in 0..500 {
        visitor.visit(&mut fetches);
        for Fetch { request, .. } in &fetches {
            assert_eq!(request.demand, Span(u64::from(request.class) + 1));
            met[usize::from(request.class)] = true;
        }
    }
    assert_eq!(met, [true; 3]);
}

#[test]
fn sessions_are_a_workload() {
    let sessions = surge(5);
    let workload = Workload::Sessions(sessions.clone());
    workload.check().unwrap();
    assert_eq!(workload.classes(), ["static", "dynamic", "secure"]);
    assert_eq!(workload.objects(), sessions.site.paths());
    assert_eq!(workload.size_moments(), sessions.site.size_moments());
    let message = Plan::new(&workload, 1, demand()).err().unwrap().to_string();
    assert!(message.contains("use a visitor per user"), "{message}");
    for (wrong, says) in [
        (Sessions { users: 0, ..sessions.clone() }, "users = 0"),
        (Sessions { parallel: 0, ..sessions.clone() }, "parallel = 0"),
        (Sessions { time_scale: 0.0, ..sessions.clone() }, "time_scale = 0"),
        (Sessions { time_scale: f64::INFINITY, ..sessions.clone() }, "time_scale = inf"),
    ] {
        let message = Workload::Sessions(wrong).check().unwrap_err().to_string();
        assert!(message.starts_with(says), "{message}");
    }
}

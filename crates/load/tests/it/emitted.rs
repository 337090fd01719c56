//! What SURGE's users ask a server for over sockets is what their laws say: page by page their script, and in law the
//! popularity, stack distances and session lengths of the workload.
//!
//! Independent samples are held to their distribution function by the inequality of Dvoretzky, Kiefer, Wolfowitz and
//! Massart (Annals of Probability 18(3), 1990), which is valid for any law and any number of samples: a distance above
//! sqrt(ln(2 / alpha) / (2 n)) is a false alarm with probability alpha at most.

use std::sync::Arc;

use sojourn_load::{Browse, Load, Report, Schedule, Stop, Targets};
use sojourn_stats::{Span, Stream};
use sojourn_traffic::stream::{Distance, session_lengths, stack_distances};
use sojourn_traffic::{Demand, Http, Sessions, Site, SiteLaw, Visit, Visitor};

use crate::run::run;
use crate::server::{Server, ok};

/// False alarms of each comparison below.
const ALPHA: f64 = 1e-7;
const SEED: u64 = 11;

fn surge(users: u32) -> Sessions {
    let site = Site::generate(&SiteLaw { files: 500, ..SiteLaw::surge() }, SEED).unwrap();
    // A thousandth of a second for each that a user thinks would take a minute at the tail of the law.
    Sessions { time_scale: 50_000.0, ..Sessions::surge(users, Arc::new(site)) }
}

fn visitor(sessions: &Sessions, user: u32) -> Visitor {
    let demand: Arc<dyn Demand> = Arc::new(|_: u8, _: u64, _: &mut Stream| Span::ZERO);
    Visitor::new(sessions, user, SEED, demand)
}

/// All users for `count` whole sessions each, so that no session is cut short (which would favour short ones).
fn browse(sessions: &Sessions, count: u32) -> Report {
    let server = Server::start(|_| vec![ok("x")]);
    let users = (0..sessions.users).map(|user| {
        let mut visitor = visitor(sessions, user);
        let mut left = count;
        let browse: Browse = Box::new(move |fetches| {
            let visit = visitor.visit(fetches);
            let gone = left == 0;
            left -= u32::from(visit.last && !gone);
            if gone { Visit { think: Span::FOREVER, ..visit } } else { visit }
        });
        browse
    });
    // Kept for long: nothing here closes what is idle.
    let http = Http::V11 { keep_alive: Span::from_secs_f64(600.0) };
    let schedule = Schedule::Sessions { users: users.collect(), parallel: sessions.parallel, http };
    let mut load = Load::new(server.address, "test", schedule, Targets::Paths(sessions.site.paths().to_vec()));
    load.stop = Stop::After(Span::from_secs_f64(600.0));
    load.keep_records = true;
    let report = run(load);
    let objects = report.objects.as_ref().unwrap();
    assert_eq!(objects.counts.ok, objects.counts.planned);
    assert!(report.elapsed_s < 600.0, "the run ends when the last user has left");
    report
}

/// The largest distance between the distribution function of `samples` and `cdf`, at 0 to `top`.
fn distance(samples: &[u32], top: u32, cdf: impl Fn(u32) -> f64) -> f64 {
    let share = |value| samples.iter().filter(|sample| **sample <= value).count() as f64 / samples.len() as f64;
    (0..=top).map(|value| (share(value) - cdf(value)).abs()).fold(0.0, f64::max)
}

fn limit(samples: usize) -> f64 {
    ((2.0 / ALPHA).ln() / (2.0 * samples as f64)).sqrt()
}

#[test]
fn scripts_popularity_and_session_lengths() {
    // Without locality the pages are independent draws.
    let sessions = Sessions { locality: None, ..surge(100) };
    let streams = browse(&sessions, 6).objects.unwrap().streams().unwrap();
    assert_eq!(streams.len(), 100);
    for (user, stream) in streams.iter().enumerate() {
        let mut visitor = visitor(&sessions, user as u32);
        let script: Vec<Visit> = stream.iter().map(|_| visitor.visit(&mut Vec::new())).collect();
        assert_eq!(*stream, script, "user {user}");
    }

    let pages: Vec<u32> = streams.iter().flatten().map(|visit| visit.page).collect();
    let mut up_to = 0.0;
    let popularity: Vec<f64> = sessions
        .site
        .pages()
        .iter()
        .map(|page| {
            up_to += page.popularity;
            up_to
        })
        .collect();
    let found = distance(&pages, popularity.len() as u32 - 1, |page| popularity[page as usize]);
    assert!(found < limit(pages.len()), "popularity: {found} of {} pages", pages.len());

    let lengths: Vec<u32> = streams.iter().flat_map(|stream| session_lengths(stream.iter().copied())).collect();
    assert_eq!(lengths.len(), 600);
    let cdf = |pages: u32| if pages == 0 { 0.0 } else { sessions.length.cdf(f64::from(pages) + 0.5) };
    let found = distance(&lengths, 96, cdf);
    assert!(found < limit(lengths.len()), "session lengths: {found}");
}

#[test]
fn stack_distances_of_the_emitted_stream() {
    let sessions = surge(100);
    let law = sessions.locality.clone().unwrap();
    let pages = sessions.site.pages().len() as u32;
    let streams = browse(&sessions, 8).objects.unwrap().streams().unwrap();
    for at_most in [1, 2, 4, 8] {
        // Requests of a user hang together, users do not: (within, told) per user.
        let mut users: Vec<(f64, f64)> = Vec::new();
        for stream in &streams {
            let asked: Vec<u32> = stream.iter().map(|visit| visit.page).collect();
            let (mut seen, mut within, mut told) = (0, 0.0, 0.0);
            for found in stack_distances(&asked) {
                if seen >= at_most {
                    told += 1.0;
                    within += f64::from(u8::from(matches!(found, Distance::Exactly(depth) if depth <= at_most)));
                }
                seen += u32::from(matches!(found, Distance::MoreThan(_)));
            }
            users.push((within, told));
        }
        let (within, told) = users.iter().fold((0.0, 0.0), |sum, user| (sum.0 + user.0, sum.1 + user.1));
        let share = within / told;
        let squares: f64 = users.iter().map(|user| (user.0 - share * user.1).powi(2)).sum();
        let asked = law.cdf(f64::from(at_most)) / law.cdf(f64::from(pages));
        // 5.5 standard errors of a ratio estimator: one false alarm in ten million, by the normal law.
        let allowed = 5.5 * squares.sqrt() / told + sessions.site.locality(&law).deviation();
        assert!((share - asked).abs() < allowed, "within {at_most}: {share} of {asked}, allowed {allowed}");
    }
}

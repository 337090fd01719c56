//! Sessions as written down: httperf's files.

use sojourn_stats::{Law, Span, Time};
use sojourn_traffic::{Arrivals, Fetch, SessionList, Sessions, Visit, Visitor, Wsess};

use crate::support::demand;

/// The example of httperf's manual, with its three ways to quote.
const LIST: &str = "# session 1 definition (this is a comment)\n\
    /foo.html think=2.0\n    /pict1.gif\n\t/pict2.gif\n\
    /foo2.html method=POST contents='Post data'\n    /pict3.gif\n\
    \n\
    #session 2 definition\n\
    /foo3.html method=POST contents=\"Multiline\\ndata \\\"quoted\\\"\"\n\
    /foo4.html method=HEAD think=500ms\n/foo.html\n";

fn list() -> SessionList {
    SessionList::parse(LIST, "s.txt").unwrap()
}

fn sessions(count: u32, arrivals: &str) -> Sessions {
    let size = Law::parse("exponential(mean = 5 kB)", sojourn_stats::Dimension::Size).unwrap();
    Sessions::written(list(), count, Arrivals::parse(arrivals).unwrap(), Law::constant(0.25), &size, 3).unwrap()
}

/// All that a session does.
fn course(sessions: &Sessions, number: u32, seed: u64) -> Vec<(Visit, Vec<Fetch>)> {
    let mut visitor = Visitor::new(sessions, number, seed, demand());
    let mut course = Vec::new();
    loop {
        let mut fetches = Vec::new();
        let visit = visitor.visit(&mut fetches);
        assert!(!fetches.is_empty());
        if visit.think == Span::FOREVER {
            return course;
        }
        course.push((visit, fetches));
    }
}

#[test]
fn a_file_is_bursts_of_calls() {
    let list = list();
    let paths: Vec<&str> = list.calls().iter().map(|call| call.path.as_str()).collect();
    assert_eq!(
        paths,
        ["/foo.html", "/pict1.gif", "/pict2.gif", "/foo2.html", "/pict3.gif", "/foo3.html", "/foo4.html"]
    );
    let told = |session: usize| -> Vec<(&[u32], Option<f64>)> {
        let bursts = &list.sessions()[session];
        bursts.iter().map(|burst| (&burst.calls[..], burst.think.map(Span::as_secs_f64))).collect()
    };
    assert_eq!(told(0), [(&[0, 1, 2][..], Some(2.0)), (&[3, 4], None)]);
    assert_eq!(told(1), [(&[5][..], None), (&[6], Some(0.5)), (&[0], None)]);
    assert_eq!((&*list.calls()[3].method, &*list.calls()[3].contents), ("POST", "Post data"));
    assert_eq!(list.calls()[5].contents, "Multiline\ndata \"quoted\"");
    assert_eq!(list.calls()[6].method, "HEAD");
}

#[test]
fn sessions_come_by_their_law_and_leave() {
    let workload = sessions(5, "constant(100 ms)");
    for number in 0..5 {
        let course = course(&workload, number, 7);
        let thinks: Vec<f64> = course.iter().map(|(visit, _)| visit.think.as_secs_f64()).collect();
        let arrives = 0.1 * f64::from(number + 1);
        // After the burst that says how long, and as usual after those that do not; never after the last.
        let expected = if number % 2 == 0 { vec![arrives, 2.0] } else { vec![arrives, 0.25, 0.5] };
        assert!(thinks.iter().zip(&expected).all(|(is, wanted)| (is - wanted).abs() < 1e-9), "{thinks:?}");
        assert_eq!(thinks.len(), expected.len());
        let edges: Vec<(bool, bool)> = course.iter().map(|(visit, _)| (visit.first, visit.last)).collect();
        assert!(edges[0].0 && edges[edges.len() - 1].1);
        assert_eq!(edges.iter().filter(|(first, last)| *first || *last).count(), 2);
        let objects: Vec<Vec<u32>> =
            course.iter().map(|(_, fetches)| fetches.iter().map(|fetch| fetch.request.object).collect()).collect();
        let list = list();
        let bursts = &list.sessions()[number as usize % 2];
        assert_eq!(objects, bursts.iter().map(|burst| burst.calls.clone()).collect::<Vec<_>>());
        // A page says which burst it is, and a call's size does not change.
        for (visit, fetches) in &course {
            let page = &workload.site.pages()[visit.page as usize];
            assert_eq!((page.file, 1 + page.embedded.len()), (fetches[0].request.object, fetches.len()));
            for fetch in fetches {
                assert_eq!(fetch.request.size, workload.site.files()[fetch.request.object as usize].size);
            }
        }
    }
}

#[test]
fn same_seed_same_sessions_and_another_count_changes_nobody() {
    let (few, many) = (sessions(10, "exponential(rate = 10 /s)"), sessions(100, "exponential(rate = 10 /s)"));
    for number in [0, 3, 9] {
        assert_eq!(course(&few, number, 7), course(&many, number, 7));
        assert_eq!(course(&few, number, 7), course(&few, number, 7));
        assert_ne!(course(&few, number, 7), course(&few, number, 8));
    }
    let written = many.written.as_ref().unwrap();
    assert!(written.instants(100, 7).is_sorted());
    assert_eq!(written.instants(100, 7)[..10], few.written.as_ref().unwrap().instants(10, 7)[..]);
    // An arrival process that ends leaves the others out for ever.
    let profile = sojourn_traffic::Profile::parse("steps(1, 0, every = 1 s)").unwrap();
    let arrivals = Arrivals::parse("constant(100 ms)").unwrap().with_profile(profile);
    let ended = Sessions::written(list(), 20, arrivals, Law::constant(0.0), &Law::constant(1e3), 3).unwrap();
    let instants = ended.written.as_ref().unwrap().instants(20, 1);
    assert_eq!(instants.iter().filter(|at| **at < Time::NEVER).count(), 10);
    assert!(course(&ended, 15, 1).is_empty());
}

#[test]
fn uniform_sessions() {
    let wsess = Wsess::parse("100,10,2").unwrap();
    assert_eq!((wsess.sessions, wsess.calls, wsess.think.mean()), (100, 10, 2.0));
    assert_eq!(Wsess::parse("1, 2, 30 ms").unwrap().think.mean(), 0.03);
    assert_eq!(Wsess::parse("1,2,erlang(k = 2, mean = 1 s)").unwrap().think.scv(), 0.5);
    let list = SessionList::uniform(10, "/x");
    assert_eq!((list.sessions().len(), list.sessions()[0].len(), list.calls().len()), (1, 10, 1));
    for text in ["", "100", "100,10", "0,10,2", "100,0,2", "ten,10,2", "100,10,-1", "100,10,soon"] {
        assert!(!Wsess::parse(text).unwrap_err().to_string().contains('\n'), "{text}");
    }
}

#[test]
fn every_mistake_names_its_line() {
    for (text, told) in [
        ("/a\nb.html\n", "s.txt:2: `b.html` is not a path"),
        ("  /a\n", "s.txt:1: a session begins"),
        ("/a\n\n  /b\n", "s.txt:3: a session begins"),
        ("/a think=soon\n", "s.txt:1: `think=soon`"),
        ("/a think=-1\n", "s.txt:1: `think=-1`"),
        ("/a\n /b think=2\n", "s.txt:2: `think=` stands"),
        ("/a methd=POST\n", "s.txt:1: `methd=`"),
        ("/a method=\n", "s.txt:1: `method=`"),
        ("/a contents=\"x\n", "s.txt:1: the quote"),
        ("/a POST\n", "s.txt:1: `POST`"),
        ("# nothing\n", "s.txt: there is no session"),
    ] {
        let error = SessionList::parse(text, "s.txt").unwrap_err().to_string();
        assert!(error.starts_with(told) && !error.contains('\n'), "{text:?}: {error}");
    }
    let utilization = Arrivals::parse("exponential(utilization = 0.7)").unwrap();
    let error = Sessions::written(list(), 5, utilization, Law::constant(0.0), &Law::constant(1e3), 3).unwrap_err();
    assert!(error.to_string().contains("at a rate"), "{error}");
}

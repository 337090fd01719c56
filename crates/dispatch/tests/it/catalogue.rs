//! Policies by name: those built in, and those that a program adds.

use sojourn_dispatch::record::{Detail, replay_with};
use sojourn_dispatch::{
    Ask, Catalogue, Decision, DispatchError, Dispatcher, Information, Origin, Policy, RoundTrip, Signals, policies,
};
use sojourn_stats::{Span, Stream};

use crate::common::{REQUEST, Walk, equal};
use crate::record::Shared;

/// The backend of the highest number, every `skip` choices the lowest.
struct Highest {
    skip: u64,
    choices: u64,
}

impl Policy for Highest {
    fn requires(&self) -> Signals {
        Signals::empty()
    }

    fn choose(&mut self, ask: &Ask<'_>, draw: &mut Stream) -> Decision {
        self.choices += 1;
        let found = ask.table.draw(ask.tried, draw);
        let mut candidates = ask.candidates();
        let extreme = if self.choices.is_multiple_of(self.skip) { candidates.next() } else { candidates.last() };
        Decision::forward_or_refuse(found.zip(extreme).map(|((_, reason), id)| (id, reason)))
    }
}

fn catalogue() -> Catalogue {
    let mut catalogue = Catalogue::default();
    let added = catalogue.add("highest", "the backend of the highest number", |params| {
        let skip = params.text("skip").unwrap_or("5").parse().ok().filter(|skip| *skip > 0);
        let skip = skip.ok_or_else(|| DispatchError::Policy("policy `highest`: skip is at least 1".into()))?;
        Ok(Box::new(Highest { skip, choices: 0 }))
    });
    added.expect("the name is free");
    catalogue
}

#[test]
fn a_text_is_fine_or_of_an_unknown_name_or_has_a_bad_parameter() {
    let catalogue = catalogue();
    for fine in ["highest", "highest(skip = 3)", "cookie(policy = highest(skip = 2))", " random() "] {
        assert!(catalogue.knows(fine) && catalogue.check(fine).is_ok(), "{fine}");
    }
    for unknown in ["hihgest", "sweb-broker", "", "cookies(policy = random)"] {
        assert!(!catalogue.knows(unknown), "{unknown}");
        assert!(matches!(catalogue.check(unknown), Err(DispatchError::UnknownPolicy(_))), "{unknown}");
    }
    for bad in ["highest(skip = 0)", "highest(skop = 1)", "round-trip(window = 1)", "power-of-d(d = 0)", "random("] {
        assert!(catalogue.knows(bad), "{bad}");
        assert!(matches!(catalogue.check(bad), Err(DispatchError::Policy(_))), "{bad}");
    }
    // The name is fine, and that of the policy inside is not.
    assert!(matches!(catalogue.check("cookie(policy = hihgest)"), Err(DispatchError::UnknownPolicy(_))));
    let said = catalogue.check("hihgest").expect_err("it is misspelt").to_string();
    assert_eq!(said, "unknown policy `hihgest`; did you mean `highest`?");
}

#[test]
fn what_is_added_stays_in_its_catalogue() {
    let mine = catalogue();
    assert!(mine.clone().knows("highest") && !Catalogue::default().knows("highest"));
    assert!(Catalogue::default().build("highest").is_err());
    assert_eq!(mine.names().count(), policies::POLICIES.len() + policies::PRODUCTS.len() + 1);
    assert_eq!(mine.names().last(), Some(("highest", "the backend of the highest number")));
}

#[test]
fn a_name_is_refused_that_is_taken_or_cannot_be_written() {
    let mut catalogue = catalogue();
    let mut refusal = |name: &'static str| {
        let added = catalogue.add(name, "", |_| Catalogue::default().build("random"));
        added.expect_err(name).to_string()
    };
    for taken in ["highest", "random"] {
        assert!(refusal(taken).contains("has a policy of this name already"), "{taken}");
    }
    for name in ["", "two words", "a(b)", "x=y"] {
        assert!(refusal(name).contains("a name is made of letters, digits, `-` and `_`"), "{name}");
    }
}

#[test]
fn a_record_of_a_policy_of_your_own_replays_with_its_catalogue() {
    let catalogue = catalogue();
    let make = |catalogue: &Catalogue| {
        let (text, backends) = ("highest(skip = 3)", equal(4));
        Dispatcher::from_catalogue(catalogue, text, &backends, Information::Immediate, Signals::GATEWAY, 3, "own")
    };
    assert!(matches!(make(&Catalogue::default()), Err(DispatchError::UnknownPolicy(_))));
    let mut dispatcher = make(&catalogue).expect("the catalogue knows it");
    let file = Shared::default();
    dispatcher.record_to(Box::new(file.clone()), Detail::Decisions).expect("memory takes it");
    let mut walk = Walk::new(5, &equal(4));
    for _ in 0..500 {
        walk.take(&mut dispatcher);
    }
    let (from, round_trip) =
        (sojourn_dispatch::BackendId(1), RoundTrip { span: Span(9), measured: walk.now, answers: 2 });
    dispatcher.tell_round_trip(1, from, round_trip, walk.now);
    dispatcher.tell_rate(1, Origin::default(), 0.1 + 0.2, walk.now);
    dispatcher.choose(&REQUEST, &[], walk.now + Span(1));
    dispatcher.finish_record().expect("memory takes it");
    let record = file.taken();
    assert!(replay_with(&record[..], |header| header.dispatcher()).is_err());
    let replayed = replay_with(&record[..], |header| header.dispatcher_from(&catalogue)).expect("a good record");
    assert!(replayed.choices > 150 && replayed.first_difference.is_none(), "{replayed:?}");
    assert_eq!(replayed.truncated_line, None);
}

//! Streams of pages, measured.

use sojourn_stats::{Span, Stream};
use sojourn_traffic::Visit;
use sojourn_traffic::stream::{Distance, nth, popularity, session_lengths, share_within, stack_distances};

/// The list itself, latest first.
fn by_list(stream: &[u32]) -> Vec<Distance> {
    let mut list: Vec<u32> = Vec::new();
    let mut distances = Vec::new();
    for page in stream {
        distances.push(match list.iter().position(|known| known == page) {
            Some(place) => {
                list.remove(place);
                Distance::Exactly(place as u32 + 1)
            }
            None => Distance::MoreThan(list.len() as u32),
        });
        list.insert(0, *page);
    }
    distances
}

#[test]
fn stack_distances_are_places_in_the_list_of_pages() {
    use Distance::{Exactly, MoreThan};
    let found = stack_distances(&[7, 7, 3, 7, 5, 3, 3]);
    assert_eq!(found, [MoreThan(0), Exactly(1), MoreThan(1), Exactly(2), MoreThan(2), Exactly(3), Exactly(1)]);
    let mut draws = Stream::new(1, "test", "pages");
    let stream: Vec<u32> = (0..2000).map(|_| draws.below(1 + draws.clone().below(90)) as u32).collect();
    assert_eq!(stack_distances(&stream), by_list(&stream));
    assert_eq!(stack_distances(&[]), []);
}

#[test]
fn shares_count_only_what_can_be_told() {
    let distances = stack_distances(&[1, 2, 1, 1, 2, 3, 3]);
    // One page is known from the second request on, two from the third: 2, 1, 2, never before, 1.
    assert_eq!(share_within(&distances, 1), 2.0 / 6.0);
    assert_eq!(share_within(&distances, 2), 4.0 / 5.0);
    assert!(share_within(&distances, 4).is_nan());
}

#[test]
fn shares_and_requests_by_number() {
    let streams: [&[u32]; 3] = [&[0, 1, 1], &[2], &[0, 3]];
    assert_eq!(popularity(streams, 5), [2.0 / 6.0, 2.0 / 6.0, 1.0 / 6.0, 1.0 / 6.0, 0.0]);
    assert_eq!(nth(streams, 1), [1, 3]);
}

#[test]
fn only_whole_sessions_have_a_length() {
    let visit = |first, last| Visit { think: Span::ZERO, page: 0, first, last };
    let visits =
        [(false, false), (false, true), (true, true), (true, false), (false, false), (false, true), (true, false)];
    assert_eq!(session_lengths(visits.map(|(first, last)| visit(first, last))), [1, 3]);
}

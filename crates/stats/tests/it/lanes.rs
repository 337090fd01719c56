//! Streams side by side give what each gives alone, on every processor that this one can be.

use sojourn_stats::lanes::{LANES, Lanes, Row};
use sojourn_stats::vectors::{Processor, Work, vectorised_for};
use sojourn_stats::{Dimension, Histogram, Law, Stream};

/// Not a multiple of what is drawn between two looks at the edges.
const ROWS: usize = 4 * 2500 + 3;

struct Draw<'a>(&'a Law, Lanes, &'a mut [Row]);

impl Work for Draw<'_> {
    type Answer = Lanes;

    #[inline(always)]
    fn run(self) -> Lanes {
        let Draw(law, mut lanes, rows) = self;
        law.fill_lanes(&mut lanes, rows);
        lanes
    }
}

fn processors() -> Vec<Processor> {
    let all = [Processor::Any, Processor::Avx2, Processor::Avx512];
    let here = all.iter().position(|processor| *processor == Processor::here()).unwrap();
    all[..=here].to_vec()
}

#[test]
fn lanes_draw_what_each_stream_draws_alone() {
    let laws = [
        "exponential(mean = 3 ms)",
        "constant(2 ms)",
        "uniform(1 ms, 4 ms)",
        "lognormal(mean = 1 ms, cv = 2)",
        "pareto(alpha = 1.5, min = 1 ms)",
        "bounded-pareto(alpha = 1.5, min = 1 ms, max = 1 s)",
        "weibull(shape = 0.7, mean = 1 ms)",
    ];
    for text in laws {
        let law = Law::parse(text, Dimension::Time).unwrap();
        assert!(law.has_lanes(), "{text}");
        for processor in processors() {
            // What one lane draws is not used.
            let mut streams: Vec<Stream> = (1..LANES as u64).map(|seed| Stream::new(seed, "lane", text)).collect();
            let mut rows = vec![[0.0; LANES]; ROWS];
            let lanes = vectorised_for(processor, Draw(&law, Lanes::of(&streams), &mut rows));
            for (lane, stream) in streams.iter_mut().enumerate() {
                for (number, row) in rows.iter().enumerate() {
                    let alone = law.sample(stream);
                    assert_eq!(row[lane].to_bits(), alone.to_bits(), "{text}, {processor:?}, lane {lane}, {number}");
                }
                assert_eq!(lanes.stream(lane), *stream, "{text}, {processor:?}, lane {lane}");
            }
        }
    }
    let none = Law::parse("erlang(k = 3, mean = 1 ms)", Dimension::Time).unwrap();
    assert!(!none.has_lanes());
}

/// Numbers of all sizes, also beyond those that a double holds.
#[test]
fn many_numbers_are_counted_as_each_alone() {
    let mut stream = Stream::new(1, "numbers", "sizes");
    for (count, shift) in [(20_000, 16), (500, 10)] {
        let numbers: Vec<u64> = (0..count).map(|_| stream.bits() >> (shift + stream.below(48))).collect();
        let (mut together, mut alone) = (Histogram::new(), Histogram::new());
        let sum = together.record_all(&numbers);
        numbers.iter().for_each(|number| alone.record(*number));
        assert_eq!(together, alone);
        assert_eq!(u128::from(sum), alone.sum());
    }
}

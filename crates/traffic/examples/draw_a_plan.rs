//! Draws a plan of two classes of requests and prints its beginning as CSV: `cargo run --example draw_a_plan`.

use std::sync::Arc;

use sojourn_stats::{Span, Stream};
use sojourn_traffic::generate::{GenerateError, Until};
use sojourn_traffic::{Arrivals, Classes, Open, Sizes, Workload, generate};

fn main() -> Result<(), GenerateError> {
    let classes = Classes::each(vec![
        ("static", 0.8, Sizes::parse("lognormal(mean = 10 kB, cv = 2)")?),
        ("dynamic", 0.2, Sizes::parse("constant(2 kB)")?),
    ])?;
    let workload = Workload::Open(Open {
        arrivals: Arrivals::parse("exponential(rate = 100 /s)")?,
        clients: 1000,
        sizes: Sizes::ByClass(classes),
        patience: None,
    });
    let demand = Arc::new(|class: u8, size: u64, _: &mut Stream| match class {
        0 => Span(100_000 + 10 * size),
        _ => Span(20_000_000),
    });
    generate(&workload, 1, demand, Until::requests(20), std::io::stdout())?;
    Ok(())
}

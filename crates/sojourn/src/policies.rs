//! `sojourn policies`: every policy by name, what it does, and what it must be told.

use serde_json::json;
use sojourn_dispatch::policies::PRODUCTS;
use sojourn_dispatch::{Catalogue, Signals};

use crate::exit::{Exit, Failure, bad_input};
use crate::table::{Grid, outln};

/// List the policies, those of HAProxy, nginx and Envoy with them
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Only those in whose name or line this stands, e.g. haproxy; or a policy with its parameters, to see what it
    /// needs
    #[arg(value_name = "WORD")]
    word: Option<String>,
    /// Print the list as JSON
    #[arg(long)]
    json: bool,
}

/// A line of the list.
struct Line {
    text: String,
    does: String,
    needs: String,
    /// How the rule of a product is known.
    known: Option<&'static str>,
}

/// # Errors
/// When no policy is meant by the word.
pub(crate) fn policies(arguments: &Arguments) -> Result<Exit, Failure> {
    let catalogue = Catalogue::default();
    let mut lines = all(&catalogue);
    if let Some(word) = &arguments.word {
        lines.retain(|line| line.text.contains(word.as_str()) || line.does.contains(word.as_str()));
        if lines.is_empty() {
            let policy = catalogue.build(word).map_err(bad_input)?;
            let does = catalogue.names().find(|(name, _)| word.trim_start().starts_with(name));
            let does = does.map_or(String::new(), |(_, does)| does.to_owned());
            lines.push(Line { text: word.clone(), does, needs: needs(policy.requires()), known: None });
        }
    }
    if arguments.json {
        let rows = lines
            .iter()
            .map(|line| json!({"policy": line.text, "does": line.does, "needs": line.needs, "known": line.known}));
        outln(&serde_json::to_string_pretty(&rows.collect::<Vec<_>>()).expect("plain JSON"));
        return Ok(Exit::Ok);
    }
    let mut grid = Grid::new(&["policy", "what it does", "what it must be told"]).text(&[1, 2]);
    for Line { text, does, needs, known } in lines {
        let does = known.map_or(does.clone(), |known| format!("{does} ({known})"));
        grid.add_row([text, does, needs]);
    }
    outln(&grid.to_string());
    Ok(Exit::Ok)
}

/// The built-in policies, and the rules of products.
fn all(catalogue: &Catalogue) -> Vec<Line> {
    let needed = |text: &str| needs(catalogue.build(text).expect("a policy that is built in").requires());
    let is_product = |name: &str| PRODUCTS.iter().any(|product| product.entry.name == name);
    let own = catalogue.names().filter(|(name, _)| !is_product(name)).map(|(name, does)| Line {
        text: name.to_owned(),
        does: does.to_owned(),
        needs: needed(name),
        known: None,
    });
    let bundles = PRODUCTS.iter().flat_map(|product| product.bundles).map(|bundle| Line {
        text: bundle.text.to_owned(),
        does: bundle.summary.to_owned(),
        needs: needed(bundle.text),
        known: Some(bundle.evidence.in_words()),
    });
    own.chain(bundles).collect()
}

/// The signals by name.
fn needs(signals: Signals) -> String {
    let names: Vec<String> = signals.iter_names().map(|(name, _)| name.to_lowercase().replace('_', "-")).collect();
    if names.is_empty() { "nothing".into() } else { names.join(", ") }
}

//! `sojourn conform haproxy leastconn --weights 1,2,3,5`: does the product on this machine choose as its rule says?

use std::path::PathBuf;

use serde_json::json;
use sojourn_products::Product;
use sojourn_products::conform::{Agreement, Case, Comparison, ConformError};

use crate::exit::{Exit, Failure, bad_input, failed};
use crate::table::outln;

/// Compare the choices of a product on this machine with its rule, request by request
///
/// The product is started with a configuration of ours, on free ports of the loopback address. Backends hold each
/// request until it is to end; docs/products.md says what was compared so, and what this cannot see.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// haproxy, nginx or envoy
    product: Product,
    /// A rule in the product's own words: leastconn, 'random(2)', least_conn, 'random two', least-request
    rule: String,
    /// Weights of the servers
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', default_value = "1,1,1,1",
          value_parser = clap::value_parser!(u32).range(1..))]
    weights: Vec<u32>,
    /// Choices to compare
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = at_least_one)]
    choices: usize,
    /// Most requests in flight
    #[arg(long, value_name = "N", default_value_t = 23, value_parser = at_least_one)]
    held: usize,
    /// Of the opens and ends
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// The product's program [default: the one that the system finds]
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
    /// Hold it to the rule of this version instead of its own, e.g. 3.4
    #[arg(long, value_name = "VERSION")]
    rules_of: Option<String>,
    /// Print the configuration that the product gets, and start nothing
    #[arg(long)]
    show_config: bool,
    /// Print what was found as JSON
    #[arg(long)]
    json: bool,
}

/// # Errors
/// When the product is not installed, its rule is not known, or it breaks off.
pub(crate) fn conform(arguments: &Arguments) -> Result<Exit, Failure> {
    let case = Case {
        product: arguments.product,
        rule: arguments.rule.clone(),
        weights: arguments.weights.clone(),
        choices: arguments.choices,
        held: arguments.held,
        seed: arguments.seed,
        program: arguments.program.clone(),
        rules_of: arguments.rules_of.clone(),
    };
    if arguments.show_config {
        outln(case.configuration().map_err(failure)?.trim_end());
        return Ok(Exit::Ok);
    }
    let comparison = case.compare().map_err(failure)?;
    if arguments.json {
        outln(&serde_json::to_string_pretty(&to_json(&comparison)).expect("plain JSON"));
    } else {
        outln(&in_words(case.product, &comparison));
    }
    Ok(if comparison.agreement.holds() { Exit::Ok } else { Exit::Missed })
}

fn failure(error: ConformError) -> Failure {
    match error {
        ConformError::Program(_) | ConformError::Rule(_) => bad_input(error),
        ConformError::Start { .. } | ConformError::Broken { .. } | ConformError::System(..) => failed(error),
    }
}

fn in_words(product: Product, Comparison { version, policy, agreement }: &Comparison) -> String {
    let head = format!("{} {version} and {policy}", product.title());
    match agreement {
        Agreement::Choices { equal, of, difference: None } => format!("{head}: {equal} of {of} choices are equal"),
        Agreement::Choices { equal, difference: Some(difference), .. } => {
            format!("{head}: {equal} choices are equal, then not; {difference}")
        }
        Agreement::Shares { seen, due, statistic, limit } => {
            let counts = |counts: Vec<String>| counts.join("/");
            let seen = counts(seen.iter().map(ToString::to_string).collect());
            let due = counts(due.iter().map(|due| format!("{due:.1}")).collect());
            let verdict = if statistic <= limit { "the shares agree" } else { "the shares do not agree" };
            format!(
                "{head}: {verdict}; {seen} where {due} are due, chi-square {statistic:.1}, which {limit:.1} bounds but \
                 once in a million"
            )
        }
    }
}

fn to_json(Comparison { version, policy, agreement }: &Comparison) -> serde_json::Value {
    let found = match agreement {
        Agreement::Choices { equal, of, difference } => {
            json!({"equal": equal, "of": of, "difference": difference.as_ref().map(ToString::to_string)})
        }
        Agreement::Shares { seen, due, statistic, limit } => {
            json!({"seen": seen, "due": due, "chi_square": statistic, "limit": limit})
        }
    };
    json!({"version": version, "policy": policy, "holds": agreement.holds(), "found": found})
}

fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|number| *number > 0).ok_or_else(|| "it is a whole number of at least 1".into())
}

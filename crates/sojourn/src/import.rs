//! `sojourn import haproxy.cfg --out experiment.toml`: an experiment of what a configuration says.

use std::path::{Path, PathBuf};

use sojourn_lab::Experiment;
use sojourn_lab::folder::write_whole;
use sojourn_lab::spec::SystemQuestion;
use sojourn_products::{Assumptions, Import, Product, Version, haproxy, product_of};
use sojourn_sim::Load;
use sojourn_stats::{Dimension, Law, PerSecond, input};

use crate::exit::{Exit, Failure, bad_input, failed};
use crate::table::{errln, outln, wrote};
use crate::value::{count, file_to_write};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The configuration: haproxy.cfg (several files are one configuration), nginx.conf (it includes the others), Envoy's YAML
    /// or JSON
    #[arg(required = true, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    files: Vec<PathBuf>,
    /// What it is a configuration of: haproxy, nginx or envoy [default: what its content says]
    #[arg(long, value_name = "PRODUCT")]
    from: Option<Product>,
    /// The version whose rules count, such as 2.6 [default: the newest that is measured]
    #[arg(long, value_name = "VERSION")]
    version_of: Option<Version>,
    /// The backend, upstream or cluster [default: the one with the most servers]
    #[arg(long, value_name = "NAME")]
    backend: Option<String>,
    /// How many requests come, as `200 /s` [default: servers are busy for 0.7 of the time]
    #[arg(long, value_name = "RATE", allow_hyphen_values = true)]
    rate: Option<PerSecond>,
    /// How long a request takes at a server that has nothing else to do [default: exponential(mean = 20 ms)]
    #[arg(long, value_name = "LAW", value_parser = service)]
    service: Option<(String, Law)>,
    /// Cores of each server [default: 1]
    #[arg(long, value_name = "N", value_parser = count::<u32>)]
    cores: Option<u32>,
    /// File to write [default: standard output]
    #[arg(long, value_name = "FILE", value_parser = file_to_write())]
    out: Option<PathBuf>,
}

/// Reads a law of times with a mean.
fn service(text: &str) -> Result<(String, Law), String> {
    let law = Law::parse(text, Dimension::Time).map_err(|error| error.to_string())?;
    match law.mean() {
        mean if mean > 0.0 && mean.is_finite() => Ok((text.trim().to_owned(), law)),
        _ => Err("it needs a mean above 0 s, as `exponential(mean = 20 ms)` has".into()),
    }
}

pub(crate) fn import(arguments: &Arguments) -> Result<Exit, Failure> {
    if let Some(out) = arguments.out.as_ref().filter(|out| out.exists()) {
        return Err(bad_input(format!("{} exists: name another file, or remove it", out.display())));
    }
    let files = arguments.files.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
    let product = match arguments.from {
        Some(product) => product,
        None => files.iter().find_map(|(_, text)| product_of(text)).ok_or_else(|| {
            let (name, _) = &files[0];
            bad_input(format!("{name}: it looks like none of HAProxy's, nginx's and Envoy's; say which by --from"))
        })?,
    };
    let version = arguments.version_of.unwrap_or(haproxy::NEWEST_MEASURED);
    let environment = |name: &str| std::env::var(name).ok();
    let configuration = sojourn_products::read(product, &files, version, &environment).map_err(bad_input)?;
    let command = command();
    let assumptions = Assumptions {
        rate_per_s: arguments.rate.map(|rate| rate.0),
        service: arguments.service.clone(),
        cores: arguments.cores,
    };
    let import = Import {
        product,
        is_said: arguments.from.is_some(),
        version: arguments.version_of,
        configuration: &configuration,
        command: &command,
        assumptions: &assumptions,
    };
    let pool =
        import.pool(arguments.backend.as_deref()).map_err(|error| bad_input(format!("{}: {error}", files[0].0)))?;
    let text = import.experiment(pool).map_err(bad_input)?;
    if let Some(too_much) = import.too_much(pool) {
        return Err(bad_input(too_much));
    }
    let out = arguments.out.as_deref();
    // What is written here can be run, or it is not written.
    let variants = Experiment::new(out.unwrap_or(Path::new("experiment.toml")), text.clone(), &[])
        .and_then(|experiment| experiment.variants())
        .map_err(|error| failed(format!("what was made of it cannot be run: {error}")))?;
    match out {
        None => outln(text.trim_end()),
        Some(out) => {
            write_whole(out, text.as_bytes()).map_err(failed)?;
            wrote(out);
            let kind = product.pool();
            let (servers, count) = (pool.serving().count(), variants.len());
            let plural = if servers == 1 { "" } else { "s" };
            // The rules of the others are the same in all versions that are known.
            let title = match product {
                Product::Haproxy => format!("{}, read as {version}", product.title()),
                _ => product.title().to_owned(),
            };
            errln(&format!(
                "{kind} `{}` of {title}: {servers} server{plural}; {count} variants; read what is ASSUMED in it before you run \
                 it",
                pool.name
            ));
            match import.not_understood(pool) {
                0 => {}
                1 => errln("1 part was not understood: see the end of the file"),
                number => errln(&format!("{number} parts were not understood: see the end of the file")),
            }
            for variant in &variants {
                let load = variant.experiment.system().and_then(SystemQuestion::load);
                if let Some(fullest) = load.as_ref().and_then(Load::overloaded) {
                    errln(&format!("{}: {}; sim has no answer for it", variant.label(), fullest.in_words()));
                }
            }
        }
    }
    Ok(Exit::Ok)
}

fn read(path: &Path) -> Result<(String, String), Failure> {
    let text = input::text(path).map_err(|error| bad_input(format!("cannot read {}: {error}", path.display())))?;
    Ok((path.display().to_string(), text))
}

/// The command line, as it can be typed again.
fn command() -> String {
    let plain =
        |word: &String| word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=:".contains(c)) && !word.is_empty();
    let words = std::env::args().skip(1);
    let quoted = words.map(|word| if plain(&word) { word } else { format!("'{}'", word.replace('\'', "'\\''")) });
    format!("sojourn {}", quoted.collect::<Vec<_>>().join(" "))
}

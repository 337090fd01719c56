//! `sojourn traffic`: make or understand input.

mod describe;
mod fit;
mod hurst;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Subcommand;
use sojourn_lab::Experiment;
use sojourn_stats::{Dimension, Law, Measure, Span, Stream, Time, quantity};
use sojourn_traffic::generate::{GenerateError, Until};
use sojourn_traffic::{Arrivals, Open, Site, SiteLaw, Sizes, Workload, generate};

pub(crate) use self::describe::name;
use crate::exit::{Exit, Failure, bad_input, failed};
use crate::table::{self, outln};
use crate::value::count;

/// Make or understand input
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Say what is in an access log, in a capture of packets or in a column of numbers: rates, laws, tails, popularity
    Describe(describe::Describe),
    /// Write the workload that fits an access log or a capture, or the law that fits a column of numbers
    Fit(fit::Fit),
    /// Say how self-similar a column of numbers is: ten estimates of the Hurst parameter, and a verdict
    Hurst(hurst::Arguments),
    /// Write a plan as CSV: who asks for what, and when
    Generate(Generate),
    /// Draw a web site as SURGE does, say what it is, and write its files for a web server to serve
    Site(SiteArguments),
}

#[derive(clap::Args)]
struct Generate {
    /// Take the workload of this experiment
    #[arg(long, value_name = "FILE", conflicts_with_all = ["arrivals", "size", "demand"])]
    experiment: Option<PathBuf>,
    /// Change a value of the experiment; may be repeated
    #[arg(long, value_name = "KEY=VALUE", requires = "experiment")]
    set: Vec<String>,
    /// Law of the gaps, e.g. 'exponential(rate = 100 /s)'
    #[arg(long, required_unless_present = "experiment")]
    arrivals: Option<String>,
    /// Law of the reply sizes, or `webstone`
    #[arg(long, default_value = "constant(1 kB)")]
    size: String,
    /// Law of the service demands
    #[arg(long, default_value = "0 s")]
    demand: String,
    /// Stop after this many requests
    #[arg(long, value_name = "N", value_parser = count::<u64>)]
    requests: Option<u64>,
    /// Stop at this instant of the plan, e.g. `1 min`
    #[arg(long, value_name = "TIME")]
    duration: Option<String>,
    /// Seed of the plan, instead of the experiment's
    #[arg(long)]
    seed: Option<u64>,
    /// File to write [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(clap::Args)]
struct SiteArguments {
    /// Files in all
    #[arg(long, value_name = "N", default_value_t = 2000)]
    files: u32,
    /// Seed of the site
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Log-sigma of the large loner files: more of it means more and larger films
    #[arg(long, value_name = "SIGMA", default_value_t = 1.143)]
    loner_sigma: f64,
    /// Share of the page requests that go to pages with embedded files [default: as popularity and sizes have it]
    #[arg(long, value_name = "SHARE")]
    base_requests: Option<f64>,
    /// Exponent of Zipf's law of the pages' popularity
    #[arg(long, value_name = "S", default_value_t = 1.0)]
    popularity: f64,
    /// Share of the files of class `dynamic`, which a server model may give the work of a computed page
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    dynamic: f64,
    /// Share of the files of class `secure`, which a server model may give the work of TLS; nothing is encrypted
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    secure: f64,
    /// Describe the site of this table (`site.csv`, or a folder with one) instead of drawing one
    #[arg(
        long,
        value_name = "PATH",
        conflicts_with_all = ["files", "seed", "loner_sigma", "base_requests", "popularity", "dynamic", "secure"]
    )]
    read: Option<PathBuf>,
    /// Folder to write the files and `site.csv` to [default: only describe]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the facts as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn traffic(arguments: &Arguments) -> Result<Exit, Failure> {
    match &arguments.verb {
        Verb::Describe(arguments) => describe::run(arguments),
        Verb::Fit(arguments) => fit::run(arguments),
        Verb::Hurst(arguments) => hurst::hurst(arguments),
        Verb::Generate(arguments) => generate_plan(arguments),
        Verb::Site(arguments) => site(arguments),
    }
}

fn site(arguments: &SiteArguments) -> Result<Exit, Failure> {
    let site = match &arguments.read {
        Some(path) => Site::read(path).map_err(bad_input)?,
        None => {
            let law = SiteLaw {
                files: arguments.files,
                base_requests: arguments.base_requests,
                popularity: arguments.popularity,
                dynamic: arguments.dynamic,
                secure: arguments.secure,
                ..SiteLaw::surge()
            };
            let law = law.with_loner_sigma(arguments.loner_sigma);
            law.and_then(|law| Site::generate(&law, arguments.seed)).map_err(bad_input)?
        }
    };
    if let Some(dir) = &arguments.out {
        // Its own words name the folder; the system's do not.
        site.write(dir).map_err(|e| match e.kind() {
            std::io::ErrorKind::AlreadyExists => bad_input(e),
            _ => failed(format!("cannot write {}: {e}", dir.display())),
        })?;
    }
    let facts = site.describe();
    if arguments.json {
        outln(&serde_json::to_string_pretty(&facts).expect("facts are plain JSON"));
    } else {
        describe::print_facts(&facts);
    }
    if let (Some(dir), false) = (&arguments.out, arguments.json) {
        outln(&format!(
            "\n{}",
            table::paragraph("", &format!("{} files and site.csv are in {}", site.files().len(), dir.display()))
        ));
    }
    Ok(Exit::Ok)
}

fn generate_plan(arguments: &Generate) -> Result<Exit, Failure> {
    let end = match &arguments.duration {
        Some(text) => Time::from_secs_f64(
            quantity::parse(text, Dimension::Time).map_err(|e| bad_input(format!("--duration: {e}")))?,
        ),
        None => Time::NEVER,
    };
    let (workload, seed, demand): (_, _, Arc<dyn sojourn_traffic::Demand>) = match &arguments.experiment {
        Some(file) => {
            let source = Experiment::read_with(file, &arguments.set).map_err(bad_input)?;
            let experiment = source.variants().map_err(bad_input)?.swap_remove(0).experiment;
            let Some(asked) = experiment.system() else {
                return Err(bad_input(format!("{}: a network of queues has no plan of requests", file.display())));
            };
            let seed = arguments.seed.unwrap_or(experiment.seed);
            (asked.workload.clone(), seed, asked.demand())
        }
        None => {
            let text = arguments.arrivals.as_deref().expect("clap requires it without an experiment");
            let mut arrivals = Arrivals::parse(text).map_err(|e| bad_input(format!("--arrivals: {e}")))?;
            if arrivals.utilization().is_some() {
                return Err(bad_input(
                    "--arrivals: there is no system here to utilise; give a rate, e.g. `rate = 100 /s`",
                ));
            }
            match arguments.requests {
                Some(requests) => arrivals.reach(requests),
                None if end != Time::NEVER => arrivals.reach_until(Span(end.0)),
                None => {}
            }
            let sizes = Sizes::parse(&arguments.size).map_err(|e| bad_input(format!("--size: {e}")))?;
            let law =
                Law::parse(&arguments.demand, Dimension::Time).map_err(|e| bad_input(format!("--demand: {e}")))?;
            let open = Open { arrivals, clients: 1000, sizes, patience: None };
            let demand = move |_: u8, _: u64, stream: &mut Stream| Span::from_secs_f64(law.sample(stream));
            (Workload::Open(open), arguments.seed.unwrap_or(1), Arc::new(demand))
        }
    };
    let endless = arguments.requests.is_none() && end == Time::NEVER && !matches!(workload, Workload::Replay(_));
    if endless {
        return Err(bad_input("a plan has no end of its own: say how much with --requests N or --duration TIME"));
    }
    let until = Until { requests: arguments.requests.unwrap_or(u64::MAX), end };
    let told = |written| finish(written, &workload, seed);
    match &arguments.out {
        None => told(generate(&workload, seed, demand, until, std::io::stdout().lock())),
        Some(path) => write_file(path, |out| told(generate(&workload, seed, demand, until, out))),
    }
}

/// Says beside the plan what cannot be read from it line by line: the Hurst parameter that came out.
fn finish(written: Result<u64, GenerateError>, workload: &Workload, seed: u64) -> Result<Exit, Failure> {
    match written {
        Ok(requests) => {
            let Workload::Open(Open { arrivals, .. }) = workload else { return Ok(Exit::Ok) };
            let measure = arrivals.hurst_of(seed, requests);
            if let (Some(asked), Some(Measure { metric, estimate, .. })) = (arrivals.hurst(), measure) {
                table::errln(&format!("{metric}: {}, made for {asked}", table::with_interval(&estimate, "1")));
            }
            arrivals.caveats("this plan", requests).iter().for_each(|caveat| table::errln(&format!("note: {caveat}")));
            Ok(Exit::Ok)
        }
        // The reader of our output has seen enough.
        Err(GenerateError::Io(e)) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(Exit::Ok),
        Err(GenerateError::Io(e)) => Err(failed(e)),
        Err(other) => Err(bad_input(other)),
    }
}

/// Writes a file that appears whole or not at all.
fn write_file(path: &Path, write: impl FnOnce(fs::File) -> Result<Exit, Failure>) -> Result<Exit, Failure> {
    let cannot = |e| bad_input(format!("cannot write {}: {e}", path.display()));
    if path.exists() {
        return Err(bad_input(format!("{} exists: name another file, or remove it", path.display())));
    }
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let result = fs::File::create(&partial).map_err(cannot).and_then(write);
    match result {
        Ok(exit) => fs::rename(&partial, path).map_err(cannot).map(|()| exit),
        Err(failure) => {
            // The failure is what matters, not whether its traces could be removed.
            let _ = fs::remove_file(&partial);
            Err(failure)
        }
    }
}

//! What a product that decided says itself of its choices: its log, counted by server, kept as a record where one is asked for,
//! and held against what replies said of themselves.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use sojourn_products::{Choice, Product};
use sojourn_stats::input;

/// The choices of one product, in a run and before it.
#[derive(Debug, PartialEq)]
pub(super) struct Choices {
    /// Which product.
    who: String,
    /// Requests by the server that served them, of all that it had.
    by_server: Vec<(String, u64)>,
    /// Requests that no server served.
    unserved: u64,
}

impl Choices {
    /// Reads the log of `product` over these servers, which is removed, and writes what it says into the file `record`, if any.
    pub(super) fn read(
        who: &str,
        product: Product,
        servers: &[String],
        log: &Path,
        record: Option<&Path>,
    ) -> Result<Choices, String> {
        let failed = |what: &str, path: &Path, error| format!("{who}: cannot {what} {}: {error}", path.display());
        let places: HashMap<&str, usize> =
            servers.iter().enumerate().map(|(place, server)| (server.as_str(), place)).collect();
        let by_server = servers.iter().map(|server| (server.clone(), 0)).collect();
        let mut choices = Choices { who: who.to_owned(), by_server, unserved: 0 };
        let mut out = match record {
            Some(path) => {
                let mut out = BufWriter::new(File::create(path).map_err(|error| failed("write", path, error))?);
                writeln!(out, "{}", Choice::COLUMNS).map_err(|error| failed("write", path, error))?;
                Some((path, out))
            }
            None => None,
        };
        let file = input::open(log).map_err(|error| failed("read", log, error))?;
        for line in BufReader::new(file).split(b'\n') {
            let line = line.map_err(|error| failed("read", log, error))?;
            // What else a product writes there is no choice.
            let line = String::from_utf8_lossy(&line);
            let Some(choice) = Choice::read(product, &line) else { continue };
            match choice.server.and_then(|server| places.get(server)) {
                Some(place) => choices.by_server[*place].1 += 1,
                None => choices.unserved += 1,
            }
            if let Some((path, out)) = &mut out {
                writeln!(out, "{}", choice.row()).map_err(|error| failed("write", path, error))?;
            }
        }
        if let Some((path, mut out)) = out {
            out.flush().map_err(|error| failed("write", path, error))?;
        }
        fs::remove_file(log).map_err(|error| failed("remove", log, error))?;
        Ok(choices)
    }

    /// For a reader of the run: how many requests each server had of it.
    pub(super) fn fact(&self) -> (String, String) {
        const MOST: usize = 16;
        let mut counts: Vec<String> =
            self.by_server.iter().take(MOST).map(|(server, count)| format!("{server} {count}")).collect();
        if self.by_server.len() > MOST {
            counts.push(format!("and {} more", self.by_server.len() - MOST));
        }
        if self.unserved > 0 {
            counts.push(format!("none {}", self.unserved));
        }
        (format!("choices of {} by its own log, warm-up included", self.who), counts.join(", "))
    }
}

/// Why what products say and what replies say cannot both be so: replies name a server more often than those did that chose.
/// `replies` are the good ones by the server that they name.
pub(super) fn doubt(all: &[Choices], replies: &[(String, u64)]) -> Option<String> {
    let logged = |server: &str| {
        let of =
            |choices: &Choices| choices.by_server.iter().find(|(known, _)| known == server).map(|(_, count)| *count);
        let counts = all.iter().filter_map(|choices| Some((choices.who.as_str(), of(choices)?)));
        counts.reduce(|(who, sum), (_, count)| (who, sum + count))
    };
    replies.iter().find_map(|(server, named)| {
        let (who, count) = logged(server).filter(|(_, count)| count < named)?;
        Some(format!(
            "{who} has logged {count} choices of {server}, and {named} good replies say that they are from it"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_counted_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let (log, record) = (folder.path().join("a.log"), folder.path().join("a.csv"));
        let lines = "[NOTICE] up\n200 1000000 5 server-2\n200 2000000 5 server-1\n503 3000000 0 <NOSRV>\n";
        fs::write(&log, format!("{lines}200 4000000 7 server-2")).unwrap();
        let names = [1, 2, 3].map(|number| format!("server-{number}"));
        let choices = Choices::read("front", Product::Haproxy, &names, &log, Some(&record)).unwrap();
        let (_, fact) = choices.fact();
        assert_eq!(fact, "server-1 1, server-2 2, server-3 0, none 1");
        // Replies may be fewer, and others may be named that it does not have.
        let named = |name: &str, count| vec![(name.to_owned(), count)];
        assert_eq!(doubt(&[], &named("server-2", 3)), None);
        let all = [choices];
        assert_eq!(doubt(&all, &named("server-2", 2)), None);
        assert_eq!(doubt(&all, &named("gateway", 9)), None);
        let said = doubt(&all, &named("server-2", 3)).unwrap();
        assert_eq!(said, "front has logged 2 choices of server-2, and 3 good replies say that they are from it");
        let kept = fs::read_to_string(&record).unwrap();
        assert!(kept.starts_with("ended_unix_s,took_s,status,server\n1.000000,0.005,200,server-2\n"), "{kept}");
        assert!(kept.lines().count() == 5 && !log.exists());
        assert!(
            Choices::read("front", Product::Haproxy, &names, &log, None)
                .unwrap_err()
                .starts_with("front: cannot read ")
        );
    }
}

//! A DNS in front of packet switches in an experiment: live in a bed, against its twin.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::BufReader;

use serde_json::Value;
use sojourn_dispatch::record;

use crate::skip::skipped;
use crate::sojourn::{command, estimates, experiment, file, sojourn, stderr};

/// Sites by their place in the file, and the first eight bits of what is nearest to each by address, ends of two regions.
const NEAREST: [(u64, [u8; 2]); 3] = [(0, [194, 195]), (1, [198, 199]), (2, [202, 203])];

#[test]
fn clients_ask_a_dns_that_sends_them_to_the_nearest_site() {
    let bed = sojourn(&["bed", "run", "cluster", "client", "--", "true"]);
    if !bed.status.success() || !["/usr/sbin/nft", "/usr/sbin/iptables"].iter().all(|tool| fs::exists(tool).unwrap()) {
        return skipped(format!("no bed, nftables or iptables: {}", stderr(&bed)));
    }
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(experiment("agarwal-2001/nearest.toml")).unwrap();
    let (text, _) = text.split_once("[vary]").expect("the experiment varies its policy");
    // Nothing is lost, so that a run is over soon after its end; rates are told in the time that it lasts.
    let loss = [", loss = \"5 %\", loss_correlation = 0.9", ", loss = \"10 %\", loss_correlation = 0.85"];
    let text = loss.iter().fold(text.to_owned(), |text, loss| text.replace(loss, ""));
    let text = text.replace("client_rates = \"64 s\"", "client_rates = \"1 s\"");
    let run = "[run]\nlive = { duration = \"12 s\", warm_up = \"1 s\", tcp = \"kernel\", record = true }\n";
    let text = text.replace("resolves = \"60 s\"", "resolves = \"4 s\"") + run;
    file(folder.path(), "nearest.toml", text);
    let out = folder.path().join("out");
    let run = ["run", "nearest.toml", "--out", "out", "--by", "live"];
    let output = command(&run).current_dir(folder.path()).output().unwrap();
    // A live run on a busy machine may be SUSPECT: that is an answer too.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", stderr(&output));
    assert_eq!(estimates(&out, "live", "error_ratio"), [0.0]);
    let [live, twin] = ["live", "twin"].map(|engine| estimates(&out, engine, "response_time_mean")[0]);
    // Where the machine was too busy for the links, the run says so.
    let is_valid = output.status.success();
    assert!(!is_valid || (live / twin - 1.0).abs() < 0.5, "{live} s, and in the twin {twin} s");

    let kept = out.join("decisions-1.jsonl");
    let replay = record::replay(BufReader::new(File::open(&kept).unwrap())).unwrap();
    assert!(replay.first_difference.is_none(), "{replay:?}");
    let text = fs::read_to_string(&kept).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |kind: &str| lines.iter().filter_map(|line| line.get(kind).cloned()).collect::<Vec<_>>();
    // 60 processes ask at the start, and again 4 s and 8 s later; one that waits for a long reply may have asked once less.
    let choices = of("choose");
    assert!((150..=180).contains(&choices.len()), "{} questions", choices.len());
    // By address as long as no round trip is known: to the nearest of all, until a site tells that it has served, since
    // from then on one that has no room is passed over.
    let (mut machines, mut by_address, mut to_nearest, mut has_served) = (BTreeSet::new(), 0, 0, false);
    for line in &lines {
        has_served |= line["report"]["report"]["requests"].as_u64().is_some_and(|requests| requests > 0);
        let Some(choice) = line.get("choose") else { continue };
        // For as long as the file says the policy takes its answer to be kept.
        assert_eq!(choice["request"]["lease"], 60_000_000_000_u64, "{choice}");
        let origin = choice["request"]["origin"]["address"].as_str().unwrap();
        machines.insert(origin.to_owned());
        if choice["decision"]["reason"]["code"] != "longest-prefix" {
            continue;
        }
        by_address += 1;
        if has_served {
            continue;
        }
        to_nearest += 1;
        let first: u8 = origin.split('.').next().unwrap().parse().unwrap();
        let site = choice["decision"]["action"]["forward"].as_u64().unwrap();
        // Clients elsewhere (128) are as near to each site.
        let is_near = |(near, range): (u64, [u8; 2])| range.contains(&first) && near == site;
        assert!(first == 128 || NEAREST.into_iter().any(is_near), "{origin} is sent to {site}");
    }
    assert_eq!(machines.len(), 11, "{machines:?}");
    assert!(by_address >= 60 && to_nearest >= 20, "{by_address} by address, {to_nearest} of them before all else");
    // What front nodes tell: their load, and how often machines ask; and round trips, measured when the DNS orders it.
    let sites: BTreeSet<u64> = of("report").iter().filter_map(|of| of["backend"].as_u64()).collect();
    assert_eq!(sites.len(), 3, "each site reports");
    let rates = of("rate");
    assert!(rates.len() > 3, "{} rates", rates.len());
    let round_trips = of("round_trip");
    assert!(round_trips.len() > 3, "{} round trips", round_trips.len());
    assert!(round_trips.iter().all(|of| of["span"].as_u64().unwrap() >= 10_000_000), "no path is shorter than 10 ms");
    let run: Value = serde_json::from_slice(&fs::read(out.join("run.json")).unwrap()).unwrap();
    let live = &run["variants"][0]["live"];
    let is_named = live["reasons"].as_array().is_some_and(|reasons| !reasons.is_empty());
    assert!(live["verdict"] == "VALID" || is_named, "{live}");
    let facts: Vec<[String; 2]> = serde_json::from_value(live["facts"].clone()).unwrap();
    let asked = facts.iter().find(|[name, _]| name == "questions to the DNS").expect("questions are counted");
    assert_eq!(asked[1], choices.len().to_string());
    assert!(facts.iter().any(|[name, _]| name.starts_with("TCP")), "{facts:?}");
    // All of what the DNS and its front nodes are told is counted, and it is little.
    let told = facts.iter().find(|[name, _]| name == "bytes of reports and probes").expect("reports are counted");
    for kind in ["load", "rates of clients", "orders", "answers", "challenges", "echoes"] {
        assert!(told[1].contains(&format!("{kind} ")), "{kind}: {told:?}");
    }
    let share = estimates(&out, "live", "report_traffic_share")[0];
    assert!(share > 0.0 && share < 0.01, "{share}");
}

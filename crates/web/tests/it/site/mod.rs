//! What a node serves of a site: files in all the ways that HTTP has, its log, and pages that programs make.

mod cgi;
mod conditions;
mod fastcgi;
mod folders;
mod log;
mod variants;

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use sojourn_part::settings::node::{CgiSettings, FastCgiSettings, FileSettings, LogSettings, NodeSettings, Pattern};
use sojourn_web::Node;

/// A node that serves files as `change` says.
fn node(root: &Path, change: impl FnOnce(&mut FileSettings)) -> Node {
    let mut files = FileSettings::new(root);
    change(&mut files);
    Node::start(NodeSettings { files: files.into(), ..NodeSettings::new("n") }).expect("a node starts")
}

/// A file that was last changed so many seconds after 1970.
fn write(path: &Path, content: &str, changed_s: u64) {
    fs::write(path, content).expect("a file");
    let file = fs::File::options().write(true).open(path).expect("a file");
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(changed_s)).expect("a time");
}

/// What `docs/node.md` shows of each section is read, and is what is usual where it says so.
#[test]
fn the_reference_shows_settings_that_are_right() {
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Sections {
        files: FileSettings,
        log: LogSettings,
        cgi: CgiSettings,
        fastcgi: FastCgiSettings,
    }
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/node.md")).expect("the reference");
    let blocks = page.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let read: Sections = toml::from_str(&blocks.collect::<String>()).unwrap_or_else(|error| panic!("{error}"));
    let (cgi, fastcgi) = (read.cgi, read.fastcgi);
    cgi.check().expect("it is right");
    fastcgi.check().expect("it is right");
    let usual = CgiSettings::new(Pattern::parse("*").expect("a pattern"));
    assert_eq!((cgi.time, cgi.output, cgi.at_once), (usual.time, usual.output, usual.at_once));
    let usual = FastCgiSettings::new(Pattern::parse("*").expect("a pattern"), "/");
    let of = |settings: &FastCgiSettings| (settings.time, settings.output, settings.connections);
    assert_eq!(of(&fastcgi), of(&usual));
    let usual = FileSettings::new("site");
    let own = FileSettings { types: [].into(), errors: [].into(), cache_control: vec![], ..read.files.clone() };
    assert_eq!(own, usual);
    assert_eq!(
        (read.files.errors.len(), read.files.cache_control.len(), read.log),
        (1, 2, LogSettings::new("access.log"))
    );
    // What a section does not have is told with its line.
    let error = toml::from_str::<FileSettings>("root = \"a\"\nindx = []").expect_err("a wrong key").to_string();
    assert!(error.contains("indx") && error.contains("line 2"), "{error}");
}

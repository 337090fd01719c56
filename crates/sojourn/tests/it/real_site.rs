//! A real site: this project's documentation as HTML, some hundred pages, served over TLS and HTTP/2 to a real browser.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use pulldown_cmark::{Event, Options, Parser, Tag, html::push_html};
use sojourn_bed::Child;
use tempfile::TempDir;

use crate::bed::has;
use crate::sojourn::{PROGRAM, file, root, stderr, stdout};

const STYLE: &str = "body { font: 16px/1.5 sans-serif; max-width: 50em; margin: 1em auto } pre { overflow: auto }\n";

/// Loads every page in a frame of its own, and says by which protocol each came and with which status.
const INSPECTOR: &str = "addEventListener('load', () => {\n\
    const seen = performance.getEntries().filter((entry) => entry.nextHopProtocol !== undefined);\n\
    const path = (entry) => new URL(entry.name).pathname;\n\
    const line = (entry) => ['seen', entry.nextHopProtocol, entry.responseStatus, path(entry), 'end'];\n\
    document.getElementById('seen').textContent = seen.map((entry) => line(entry).join(' ')).join('\\n');\n\
});\n";

/// The site and its server.
struct Site {
    folder: TempDir,
    /// The paths of all pages.
    pages: Vec<String>,
    node: Child,
}

impl Site {
    fn start() -> Site {
        let folder = tempfile::tempdir().unwrap();
        let pages = write_site(&folder.path().join("htdocs"));
        certificate(folder.path());
        let config = "[tls]\nlisten = [\"127.0.0.1:0\"]\n[[tls.certificate]]\nchain = \"site.pem\"\nkey = \"site.key\"\n\
                      [files]\nroot = \"htdocs\"\ncache_control = [{ path = \"*\", value = \"no-cache\" }]\n\
                      [log]\nfile = \"access.log\"\n";
        let config = file(folder.path(), "node.toml", config);
        let arguments = ["node", "--child", "--config", &config];
        let node = Child::spawn(Path::new(PROGRAM), arguments, Duration::from_secs(20)).unwrap();
        Site { folder, pages, node }
    }

    fn url(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.node.port())
    }
}

/// A certificate that vouches for itself, as the guide makes one.
fn certificate(folder: &Path) {
    let order = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 90 -subj /CN=localhost \
                 -addext subjectAltName=DNS:localhost -keyout site.key -out site.pem";
    shell(folder, order);
}

fn shell(folder: &Path, order: &str) -> String {
    let output = Command::new("bash").args(["-o", "pipefail", "-c", order]).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{order}: {}", stderr(&output));
    stdout(&output)
}

/// Writes the documentation as HTML below `to`; gives the paths of the pages.
fn write_site(to: &Path) -> Vec<String> {
    let listed = Command::new("git")
        .args(["ls-files", "*.md", "experiments", "docs", "studies/pages"])
        .current_dir(root())
        .output();
    let listed = stdout(&listed.unwrap());
    let files: Vec<&str> = listed.lines().collect();
    let mut pages = Vec::new();
    for name in files {
        let from = root().join(name);
        let kind = from.extension().and_then(|extension| extension.to_str()).unwrap_or("");
        let page = match kind {
            "md" => PathBuf::from(name).with_extension("html"),
            _ => PathBuf::from(format!("{name}.html")),
        };
        let body = match kind {
            "md" => as_html(&fs::read_to_string(&from).unwrap()),
            "toml" | "csv" => preformatted(&fs::read_to_string(&from).unwrap()),
            // Figures, which pages show.
            _ => {
                fs::create_dir_all(to.join(name).parent().unwrap()).unwrap();
                fs::copy(&from, to.join(name)).unwrap();
                continue;
            }
        };
        let whole = format!(
            "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>{name}</title>\
             <link rel=\"stylesheet\" href=\"/style.css\"><link rel=\"icon\" href=\"data:,\"><body>{body}"
        );
        fs::create_dir_all(to.join(&page).parent().unwrap()).unwrap();
        fs::write(to.join(&page), whole).unwrap();
        pages.push(format!("/{}", page.display()));
    }
    fs::write(to.join("style.css"), STYLE).unwrap();
    fs::write(to.join("inspector.js"), INSPECTOR).unwrap();
    let frames: String = pages.iter().map(|page| format!("<iframe src=\"{page}\"></iframe>\n")).collect();
    let index = format!(
        "<!doctype html><meta charset=\"utf-8\"><title>all pages</title><link rel=\"icon\" href=\"data:,\">\
         <script>performance.setResourceTimingBufferSize(10000)</script><script src=\"/inspector.js\"></script>\n\
         <pre id=\"seen\"></pre>\n<audio preload=\"auto\" src=\"/silence.wav\"></audio>\n{frames}"
    );
    fs::write(to.join("index.html"), index).unwrap();
    fs::write(to.join("silence.wav"), silence()).unwrap();
    shell(to, "find . -name '*.html' -o -name '*.css' -o -name '*.js' | xargs gzip -9 --keep");
    pages
}

/// A second of sound, which browsers ask for by range: one channel, a byte a sample, 8,000 of them.
fn silence() -> Vec<u8> {
    const SAMPLES: u32 = 8_000;
    let mut bytes = Vec::new();
    bytes.extend(b"RIFF");
    bytes.extend((36 + SAMPLES).to_le_bytes());
    bytes.extend(b"WAVEfmt ");
    bytes.extend(16_u32.to_le_bytes());
    bytes.extend([1_u16, 1].iter().flat_map(|word| word.to_le_bytes()));
    bytes.extend([SAMPLES, SAMPLES].iter().flat_map(|word| word.to_le_bytes()));
    bytes.extend([1_u16, 8].iter().flat_map(|word| word.to_le_bytes()));
    bytes.extend(b"data");
    bytes.extend(SAMPLES.to_le_bytes());
    bytes.resize(bytes.len() + SAMPLES as usize, 128);
    bytes
}

fn as_html(text: &str) -> String {
    let events = Parser::new_ext(text, Options::ENABLE_TABLES).map(|event| match event {
        Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
            let dest_url = match dest_url.contains("://") {
                true => dest_url,
                false => dest_url.replace(".md", ".html").into(),
            };
            Event::Start(Tag::Link { link_type, dest_url, title, id })
        }
        event => event,
    });
    let mut html = String::new();
    push_html(&mut html, events);
    html
}

fn preformatted(text: &str) -> String {
    format!("<pre>{}</pre>", text.replace('&', "&amp;").replace('<', "&lt;"))
}

/// Opens a URL in Chromium, which takes the site's certificate by the hash of its key and checks all else; gives the document as
/// it then is and what the browser logged.
fn browse(folder: &Path, url: &str) -> (String, String) {
    let public = "openssl x509 -in site.pem -pubkey -noout | openssl pkey -pubin -outform der";
    let key = shell(folder, &format!("{public} | openssl dgst -sha256 -binary | base64"));
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--disable-dev-shm-usage", "--enable-logging=stderr", "--timeout=60000"])
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg(format!("--ignore-certificate-errors-spki-list={}", key.trim()))
        .args(["--dump-dom", url])
        .output()
        .expect("chromium starts");
    assert!(output.status.success(), "{}", stderr(&output));
    (stdout(&output), stderr(&output))
}

#[test]
fn a_browser_reads_the_documentation_over_tls_and_http2() {
    if !["chromium", "openssl"].into_iter().all(has) {
        return;
    }
    let site = Site::start();
    assert!(site.pages.len() >= 100, "only {} pages", site.pages.len());
    let (page, log) = browse(site.folder.path(), &site.url("/"));
    let complaints: Vec<&str> = log.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert_eq!(complaints, Vec::<&str>::new());
    let seen = page.split("seen ").filter_map(|rest| rest.split_once(" end")).filter_map(|(entry, _)| {
        let mut words = entry.split(' ');
        Some((words.nth(2)?.to_owned(), entry))
    });
    let seen: BTreeMap<String, &str> = seen.collect();
    for path in site.pages.iter().map(String::as_str).chain(["/", "/inspector.js"]) {
        let expected = format!("h2 200 {path}");
        assert_eq!(seen.get(path).copied(), Some(expected.as_str()), "{log}");
    }
    // A second visit asks whether what the browser has is still right.
    let (_, log) = browse(site.folder.path(), &site.url("/"));
    assert!(!log.contains("CONSOLE"), "{log}");
    let events = site.node.stop();
    let stopped = events.last().expect("it says that it stops");
    assert_eq!((&stopped["handshakes_failed"], &stopped["too_slow"]), (&0.into(), &0.into()), "{stopped}");
    // Nothing is held back any more.
    let logged = fs::read_to_string(site.folder.path().join("access.log")).unwrap();
    let is_logged = |path: &str, rest: &str| {
        let line = format!("\"GET {path} HTTP/2.0\" {rest} ");
        assert!(logged.contains(&line), "{line} in\n{logged}");
    };
    for path in site.pages.iter().map(String::as_str).chain(["/", "/style.css"]) {
        let name = if path == "/" { "index.html" } else { path.trim_start_matches('/') };
        let compressed = site.folder.path().join(format!("htdocs/{name}.gz"));
        is_logged(path, &format!("200 {}", compressed.metadata().unwrap().len()));
        is_logged(path, "304 0");
    }
    is_logged("/silence.wav", &format!("206 {}", silence().len()));
}

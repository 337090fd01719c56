//! Sites on a disk, and sites of one's own.

use std::fs;
use std::path::Path;

use sojourn_traffic::describe::Fact;
use sojourn_traffic::site::{Kind, Site, SiteLaw};
use tempfile::tempdir;

const OWN: &str = "path,kind,class,bytes,requests,embedded\n\
    /index.html,base,static,2000,6,/a.png /b.png\n\
    /a.png,embedded,static,10000,,\n\
    /b.png,embedded,static,30000,,\n\
    /search,base,dynamic,4000,3,/a.png\n\
    /film.mp4,loner,secure,1000000,1,\n";

fn small() -> Site {
    Site::generate(&SiteLaw { files: 200, dynamic: 0.1, ..SiteLaw::surge() }, 1).unwrap()
}

fn files_below(dir: &Path) -> usize {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| if path.is_dir() { files_below(&path) } else { 1 }).sum()
}

fn value(facts: &[Fact], name: &str) -> f64 {
    let fact = facts.iter().find(|fact| fact.name == name).unwrap_or_else(|| panic!("no {name}"));
    serde_json::to_value(&fact.value).unwrap().as_f64().unwrap()
}

#[test]
fn what_is_written_reads_back() {
    let (dir, site) = (tempdir().unwrap(), small());
    let place = dir.path().join("www");
    site.write(&place).unwrap();
    for (file, path) in site.files().iter().zip(site.paths()) {
        assert_eq!(fs::metadata(place.join(&path[1..])).unwrap().len(), file.size, "{path}");
    }
    assert_eq!(files_below(&place), 201);
    for from in [place.clone(), place.join("site.csv")] {
        let read = Site::read(&from).unwrap();
        assert_eq!(read.files(), site.files());
        assert_eq!(read.pages(), site.pages());
        assert_eq!(read.paths(), site.paths());
    }
    assert_eq!(site.paths()[0], "/base/0001.html");
    assert_eq!(site.paths()[60], "/embedded/0001.bin");
    assert_eq!(site.paths()[199], "/loner/0064.bin");
}

#[test]
fn base_files_show_their_embedded_files_as_far_as_they_fit() {
    let (dir, site) = (tempdir().unwrap(), small());
    let place = dir.path().join("www");
    site.write(&place).unwrap();
    let mut whole = 0;
    for page in site.pages().iter().filter(|page| !page.embedded.is_empty()) {
        let html = fs::read_to_string(place.join(&site.paths()[page.file as usize][1..])).unwrap();
        assert!(html.starts_with("<!DOCTYPE html>"));
        let image = |file: &u32| format!("<img src=\"{}\">", site.paths()[*file as usize]);
        let images: Vec<String> = page.embedded.iter().map(image).collect();
        let shown = images.iter().take_while(|image| html.contains(*image)).count();
        let room = html.len() >= 16 + images.iter().map(|image| image.len() + 1).sum::<usize>();
        assert_eq!(shown == images.len(), room);
        whole += usize::from(room);
    }
    assert!(whole > 30, "{whole}");
}

#[test]
fn an_empty_folder_will_do_and_a_full_one_is_refused() {
    let (dir, site) = (tempdir().unwrap(), small());
    let place = dir.path().join("www");
    fs::create_dir(&place).unwrap();
    site.write(&place).unwrap();
    let message = site.write(&place).unwrap_err().to_string();
    assert!(message.ends_with("www is not empty: name another folder, or empty it"), "{message}");
    assert_eq!(files_below(&place), 201);
    fs::create_dir(dir.path().join("new.partial")).unwrap();
    let message = site.write(&dir.path().join("new")).unwrap_err().to_string();
    assert!(message.ends_with("new.partial is left of another run: remove it"), "{message}");
}

/// A file where a folder must be, after others have been written.
#[test]
fn a_failure_leaves_nothing() {
    let table =
        "path,kind,class,bytes,requests,embedded\n/b,loner,static,5,1,\n/a,loner,static,5,1,\n/a/b,loner,static,5,1,\n";
    let (dir, site) = (tempdir().unwrap(), Site::parse(table.as_bytes(), "own").unwrap());
    assert!(site.write(&dir.path().join("www")).is_err());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    assert!(site.write(&dir.path().join("no\0name")).is_err());
}

#[test]
fn a_site_of_ones_own() {
    let site = Site::parse(OWN.as_bytes(), "own").unwrap();
    assert_eq!(site.paths()[site.pages()[0].file as usize], "/index.html");
    assert_eq!(site.pages()[0].popularity, 0.6);
    assert_eq!(site.pages()[0].embedded, [1, 2]);
    assert_eq!(site.files()[4].class, 2);
    assert_eq!(site.files()[4].kind, Kind::Loner);
    // 6 of 10 requests bring 3 files, 3 bring 2, 1 brings 1.
    let facts = site.describe();
    for (name, expected) in [
        ("files", 5.0),
        ("bytes", 1_046_000.0),
        ("base_size_mean", 3000.0),
        ("loner_size_max", 1e6),
        ("embedded_per_base_mean", 1.5),
        ("base_request_share", 0.9),
        ("embedded_per_request", 1.5),
        ("files_per_request", 2.5),
        ("bytes_per_request", 0.6 * 42_000.0 + 0.3 * 14_000.0 + 0.1 * 1e6),
        ("requested_page_size_mean", 0.6 * 2000.0 + 0.3 * 4000.0 + 0.1 * 1e6),
        ("requested_file_size_mean", (0.6 * 42_000.0 + 0.3 * 14_000.0 + 0.1 * 1e6) / 2.5),
        ("dynamic_files", 1.0),
        ("dynamic_file_request_share", 0.3 / 2.5),
        ("secure_file_request_share", 0.1 / 2.5),
        ("top_50_percent_of_pages_share", 0.9),
    ] {
        let found = value(&facts, name);
        assert!((found / expected - 1.0).abs() < 1e-9, "{name}: {found} for {expected}");
    }
    let (mean, variance) = site.size_moments();
    let square = (0.6 * (2e3f64.powi(2) + 1e8 + 9e8) + 0.3 * (4e3f64.powi(2) + 1e8) + 0.1 * 1e12) / 2.5;
    assert!((variance / (square - mean * mean) - 1.0).abs() < 1e-12);
}

/// Pareto sizes of alpha 1.3 give a tail of 1.3: Hill's estimate from k files has a standard error of alpha/sqrt(k),
/// here 0.013; 6 of them are a false alarm in 5e8.
#[test]
fn tails_are_found() {
    let law = sojourn_stats::Law::parse("pareto(alpha = 1.3, min = 1 kB)", sojourn_stats::Dimension::Size).unwrap();
    let site = Site::generate(
        &SiteLaw { files: 100_000, sizes: [law.clone(), law.clone(), law.clone()], requests: law, ..SiteLaw::surge() },
        1,
    );
    let found = value(&site.unwrap().describe(), "file_size_tail_index");
    assert!((found - 1.3).abs() < 0.08, "{found}");
}

#[test]
fn bad_tables_are_named() {
    let head = "path,kind,class,bytes,requests,embedded\n";
    let row = |row: &str| format!("{head}{row}\n");
    for (text, says) in [
        ("path,kind,class,bytes,requests\n".to_string(), "own:1: no column `embedded`"),
        (row("/a,page,static,5,1,"), "own:2: unknown kind `page`"),
        (row("/a,loner,sekure,5,1,"), "own:2: unknown class `sekure`; did you mean `secure`?"),
        (row("/a,loner,static,5 kB,1,"), "own:2: bytes `5 kB`: a size is a whole number, such as 4096"),
        (row("/a,loner,static,5,-1,"), "own:2: requests `-1`"),
        (row("/a,loner,static,5,many,"), "own:2: requests `many`"),
        (row("a,loner,static,5,1,"), "own:2: `a` is not the path of a file"),
        (row("/../a,loner,static,5,1,"), "own:2: `/../a` is not the path of a file"),
        (row("/site.csv,loner,static,5,1,"), "own:2: /site.csv is the table's own name"),
        (row("/a,loner,static,5,1,\n/a,loner,static,5,1,"), "own:3: /a is there twice"),
        (row("/a,base,static,5,1,/b"), "own:2: it shows /b, which is no embedded file of this table"),
        (row("/a,base,static,5,1,/b /b\n/b,embedded,static,5,,"), "own:2: it shows /b twice"),
        (row("/a,loner,static,5,1,/b\n/b,embedded,static,5,,"), "own:2: a loner shows nothing"),
        (row("/b,embedded,static,5,1,"), "own:2: requests 1: an embedded file"),
        (row("/b,embedded,static,5,,/a"), "own:2: /b is embedded and shows nothing itself"),
        (row("/b,embedded,static,5,,"), "own: no page is asked for"),
        (row("/a,loner,static,5,0,"), "own: no page is asked for"),
        (head.to_string(), "own: no page is asked for"),
        (String::new(), "own:1: no column `path`"),
    ] {
        let message = Site::parse(text.as_bytes(), "own").unwrap_err().to_string();
        assert!(message.starts_with(says) && message.lines().count() == 1, "{text:?}: {message}");
    }
    let message = Site::read(Path::new("/nowhere/site.csv")).unwrap_err().to_string();
    assert!(message.starts_with("/nowhere/site.csv: "), "{message}");
}

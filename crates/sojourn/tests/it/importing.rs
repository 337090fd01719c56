//! `sojourn import`: what it writes can be run, and what it cannot read is refused in one line.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sojourn_lab::Experiment;
use sojourn_products::{Assumptions, Import, Product, haproxy, read};

use crate::sojourn::{PROGRAM, file, root, sojourn, stderr, stdout};

/// The configurations of the tests of the readers.
fn configurations() -> Vec<PathBuf> {
    let folder = root().join("crates/products/tests/configurations");
    let names = ["haproxy/debian.cfg", "haproxy/shop.cfg", "haproxy/conditions.cfg", "nginx/nginx.conf"];
    let all: Vec<PathBuf> =
        names.iter().chain(&["envoy/front.yaml", "envoy/tcp.json"]).map(|name| folder.join(name)).collect();
    assert!(all.iter().all(|path| path.is_file()));
    all
}

/// Every pool of every configuration, with all that a person may add, becomes an experiment whose variants are all right.
#[test]
fn every_pool_becomes_an_experiment_that_can_be_run() {
    let assumptions = Assumptions::default();
    let mut tried = 0;
    for path in configurations() {
        let text = fs::read_to_string(&path).unwrap();
        let name = path.parent().and_then(|folder| folder.file_name()).unwrap().to_str().unwrap();
        let product = Product::ALL.into_iter().find(|product| product.name() == name).unwrap();
        let files = [(path.display().to_string(), text)];
        let configuration = read(product, &files, haproxy::NEWEST_MEASURED, &|_| None).unwrap();
        for pool in &configuration.pools {
            let (version, command) = (None, "sojourn import FILE");
            let import = Import {
                product,
                is_said: false,
                version,
                configuration: &configuration,
                command,
                assumptions: &assumptions,
            };
            let text = import.experiment(pool).unwrap();
            let variants =
                Experiment::new(Path::new("x.toml"), text.clone(), &[]).and_then(|experiment| experiment.variants());
            let variants = variants.unwrap_or_else(|error| panic!("{}: {error}\n{text}", path.display()));
            assert!(variants.len() >= 3, "{text}");
            tried += 1;
        }
    }
    assert!(tried >= 15, "{tried}");
}

#[test]
fn an_imported_experiment_is_checked_and_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(
        folder.path(),
        "haproxy.cfg",
        "\u{feff}defaults\n balance leastconn\nbackend app\n server a 10.0.0.1:80\n server b 10.0.0.2:80\n \
         server c 10.0.0.3:80\n",
    );
    let out = folder.path().join("app.toml").display().to_string();
    let output =
        sojourn(&["import", &path, "--rate", "90 /s", "--service", "exponential(mean = 20 ms)", "--out", &out]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(said.contains("backend `app` of HAProxy, read as 2.6: 3 servers; 6 variants"), "{said}");
    let checked = sojourn(&["run", &out, "--check"]);
    assert_eq!(stdout(&checked).trim(), format!("{out}: ok; 6 variants"), "{}", stderr(&checked));
    // Of a run folder the same command says the same again.
    let text = fs::read_to_string(&out).unwrap();
    let command = text.lines().next().unwrap().strip_prefix("# sojourn ").unwrap();
    fs::remove_file(&out).unwrap();
    let again = Command::new("sh").args(["-c", &format!("{PROGRAM} {command}")]).output().unwrap();
    assert_eq!(again.status.code(), Some(0), "{}", stderr(&again));
    assert_eq!(fs::read_to_string(&out).unwrap(), text);
    let folder = folder.path().join("run").display().to_string();
    let run =
        sojourn(&["run", &out, "--set", "run.precision=2% at 95% of mean", "--set", "servers=3", "--out", &folder]);
    assert_eq!(run.status.code(), Some(0), "{}", stderr(&run));
    let means = crate::sojourn::estimates(Path::new(&folder), "sim", "response_time_mean");
    // leastconn, roundrobin, random(2); at a utilisation of 0.6 a processor that is shared has a mean of 50 ms by itself. The
    // first is a sixth below the others, which is ten standard errors and more: a false alarm in less than a million.
    assert!(means.len() == 3 && means[0] < means[1].min(means[2]) && means[1].max(means[2]) < 0.05, "{means:?}");
}

/// The complaint about these arguments.
fn refused(arguments: &[&str]) -> String {
    let output = sojourn(&[&["import"], arguments].concat());
    let complaint = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {complaint}");
    assert_eq!(complaint.trim_end().lines().count(), 1, "{arguments:?}: more than one line: {complaint}");
    complaint
}

#[test]
fn what_cannot_be_read_is_refused_in_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str, text: &[u8]| file(folder.path(), name, text);
    let good = at("good.cfg", b"backend app\n server a 10.0.0.1:80\n");
    let cases = [
        (vec!["/nowhere/haproxy.cfg".to_owned()], "cannot read /nowhere/haproxy.cfg"),
        (vec!["/dev/zero".to_owned()], "it is a device, not a file"),
        (vec![folder.path().display().to_string()], "it is a folder, not a file"),
        (vec![at("utf16.cfg", b"\xff\xfeb\0a\0")], "UTF-16"),
        (vec![at("latin1.cfg", b"global\n # caf\xe9\n")], "not text in UTF-8 (line 2)"),
        (vec![at("toml.cfg", b"name = 'x'\n")], "say which by --from"),
        (vec![at("empty.cfg", b"")], "say which by --from"),
        (
            vec![at("empty2.cfg", b""), "--from".into(), "haproxy".into()],
            "no backend of this configuration of HAProxy has servers",
        ),
        (vec![good.clone(), "--from".into(), "haprox".into()], "did you mean `haproxy`?"),
        (vec![good.clone(), "--backend".into(), "ap".into()], "did you mean `app`?"),
        (vec![good.clone(), "--rate".into(), "fast".into()], "--rate"),
        (vec![good.clone(), "--service".into(), "constant(0 ms)".into()], "above 0 s"),
        (vec![good.clone(), "--service".into(), "constant(2 kB)".into()], "kB"),
        (vec![good.clone(), "--version-of".into(), "two".into()], "it is two numbers, such as 2.6"),
        (vec![good.clone(), "--version-of".into(), "9.9".into()], "3.4 is the nearest"),
        (vec![good.clone(), "--cores".into(), "0".into()], "at least 1"),
        (vec![good.clone(), "--out".into(), good.clone()], "exists: name another file"),
        (
            vec![at("dup.cfg", b"backend app\n server a 10.0.0.1:80\n server a 10.0.0.2:80\n")],
            "dup.cfg:3: a server `a` was defined already",
        ),
        (vec![at("bomb.yaml", bomb().as_bytes())], "bomb.yaml:"),
        (vec![at("self.conf", b"http {\n include self.conf;\n}\n")], "self.conf:2: "),
        (vec![at("zero.conf", b"http { include /dev/zero; }\n")], "a device, not a file"),
    ];
    for (arguments, part) in cases {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let said = refused(&arguments);
        assert!(said.contains(part), "{arguments:?}: {part} in {said}");
    }
}

fn bomb() -> String {
    let mut text = String::from("static_resources:\n  a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for i in 1..12 {
        text += &format!("  a{i}: &a{i} [{}]\n", vec![format!("*a{}", i - 1); 9].join(", "));
    }
    text
}

/// Ten megabytes of noise, by each product's reader, in 200 MB of memory and 20 s.
#[test]
fn noise_is_refused_in_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    let noise: Vec<u8> = (0..10_u32 << 20).map(|i| 32 + (i.wrapping_mul(2_654_435_761) >> 24) as u8 % 95).collect();
    let path = file(folder.path(), "noise", &noise);
    for product in ["haproxy", "nginx", "envoy"] {
        let limits = "ulimit -v 204800 && ulimit -t 20 && exec \"$0\" \"$@\"";
        let output =
            Command::new("sh").args(["-c", limits, PROGRAM, "import", "--from", product, &path]).output().unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{product}: {said}");
        assert!(said.starts_with(&format!("sojourn: {path}:")) && said.lines().count() == 1, "{said}");
    }
}

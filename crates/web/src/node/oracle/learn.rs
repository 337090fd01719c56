//! Learning the oracle's table from what a node serves.
//!
//! A request's operations are the time that its answer took times the speed of the node. Where the answer is there at once,
//! as of a file, that is the processor time of the thread, whatever else runs. Where it is waited for, as of a program or an
//! emulated service, it is the time until its head is there, of those requests alone during which the node had no other:
//! with others it would be theirs too. What the system takes to send is in neither. Requests are put together by folder and
//! extension (`/img/*.png`); what has no extension is a program, and stands for itself. The price: a node that is never
//! alone with a request learns nothing of its programs, and the table says of how many requests each rule is the mean.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::future::Future;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use sojourn_part::clock;
use sojourn_stats::{Moments, Span};

/// Most patterns that are learned; of further ones nothing is.
const PATTERNS_MAX: usize = 4096;

/// What is learned, and where it is written.
pub(crate) struct Learner {
    file: PathBuf,
    /// Operations per second of this node.
    speed: f64,
    learned: Mutex<BTreeMap<String, Learned>>,
}

#[derive(Default)]
struct Learned {
    operations: Moments,
    bytes: Moments,
    class: String,
}

/// What an answer took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    span: Span,
    /// It was waited for.
    waited: bool,
}

impl Learner {
    /// One that writes to this file what a node of this speed takes.
    ///
    /// # Errors
    /// When nothing can be written there.
    pub(crate) fn new(file: PathBuf, speed: f64) -> io::Result<Learner> {
        // What cannot be written is to be known now, not at the end of a day.
        File::create(beside(&file)).and_then(|_| fs::remove_file(beside(&file)))?;
        Ok(Learner { file, speed, learned: Mutex::default() })
    }

    /// A request for this path has been answered: what that took, whether the node had no other meanwhile, and the bytes of the
    /// reply.
    pub(crate) fn learn(&self, path: &str, class: &str, taken: Taken, was_alone: bool, bytes: u64) {
        if taken.waited && !was_alone || path.contains(['*', '?', '#']) {
            return;
        }
        let pattern = pattern(path);
        let mut all = self.lock();
        if all.len() >= PATTERNS_MAX && !all.contains_key(&pattern) {
            return;
        }
        let learned = all.entry(pattern).or_default();
        learned.operations.push(taken.span.as_secs_f64() * self.speed);
        learned.bytes.push(bytes as f64);
        class.clone_into(&mut learned.class);
    }

    /// Writes the table; the file is the old one or the new one, never a part.
    ///
    /// # Errors
    /// When it cannot be written; the old one is there then.
    pub(crate) fn write(&self) -> io::Result<()> {
        let new = beside(&self.file);
        let mut file = File::create(&new)?;
        file.write_all(self.table().as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, &self.file)
    }

    fn table(&self) -> String {
        let speed = self.speed;
        let mut text =
            format!("# Learned by `sojourn node` from what it served, at a speed of {speed:?} operations/s.\n");
        for (pattern, Learned { operations, bytes, class }) in &*self.lock() {
            let quoted = toml::Value::String(pattern.clone());
            let _ = write!(text, "\n# The mean of {} requests.\n[[rule]]\npath = {quoted}\n", operations.count());
            let _ = writeln!(text, "operations = {:?}\nbytes = {}", operations.mean(), bytes.mean().round());
            if !class.is_empty() {
                let _ = writeln!(text, "class = {}", toml::Value::String(class.clone()));
            }
        }
        text
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Learned>> {
        self.learned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The pattern that a path is put to: its folder and its extension, or the path itself.
fn pattern(path: &str) -> String {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    match name.rsplit_once('.') {
        Some((_, extension)) if !extension.is_empty() => format!("{folder}/*.{extension}"),
        _ => path.into(),
    }
}

/// Where a file is written before it takes the place of the old one.
fn beside(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".new");
    name.into()
}

/// A future, and what it takes.
pub(crate) struct Metered<F> {
    inner: Pin<Box<F>>,
    begun: Option<sojourn_stats::Time>,
}

impl<F: Future> Metered<F> {
    pub(crate) fn new(inner: F) -> Metered<F> {
        Metered { inner: Box::pin(inner), begun: None }
    }
}

impl<F: Future> Future for Metered<F> {
    type Output = (F::Output, Taken);

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<(F::Output, Taken)> {
        let waited = self.begun.is_some();
        let begun = *self.begun.get_or_insert_with(clock::now);
        let before = clock::thread_cpu();
        let output = std::task::ready!(self.inner.as_mut().poll(context));
        let span = if waited { clock::now().saturating_since(begun) } else { clock::thread_cpu() - before };
        Poll::Ready((output, Taken { span, waited }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::oracle::Oracle;

    fn taken(ms: u64, waited: bool) -> Taken {
        Taken { span: Span(ms * 1_000_000), waited }
    }

    #[test]
    fn what_is_learned_is_a_table_that_can_be_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("oracle.toml");
        let learner = Learner::new(file.clone(), 2.0).expect("it can be written");
        learner.learn("/a/x.html", "static", taken(1, false), false, 100);
        learner.learn("/a/y.html", "static", taken(3, false), false, 300);
        learner.learn("/cgi-bin/slow", "", taken(50, true), true, 10);
        // With other requests at the same time it is not known whose time it was.
        learner.learn("/cgi-bin/slow", "", taken(500, true), false, 10);
        // These would be no patterns of themselves.
        learner.learn("/a/*.gif", "", taken(1, false), true, 10);
        learner.learn("/a/b/\"\\.html", "", taken(1, false), true, 10);
        learner.write().expect("it is written");
        let text = fs::read_to_string(&file).expect("it is there");
        let oracle = Oracle::parse(&text, &file, &["static".into()]).expect(&text);
        let said = oracle.foresee("/a/z.html", "").expect("it was learned");
        assert_eq!((said.operations, said.bytes, said.class.as_deref()), (Some(0.004), Some(200), Some("static")));
        assert_eq!(oracle.foresee("/cgi-bin/slow", "").and_then(|said| said.operations), Some(0.1));
        assert_eq!(oracle.foresee("/a/z.gif", ""), None);
        assert!(text.contains("# The mean of 2 requests.\n[[rule]]\npath = \"/a/*.html\""), "{text}");
        assert_eq!(fs::read_dir(folder.path()).expect("it is there").count(), 1, "nothing is left beside it");
    }
}

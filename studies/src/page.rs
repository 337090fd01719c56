//! A page is a template: Markdown with the prose as it will stand there, and in it figures that are looked up, compared and
//! shown.
//!
//! The language is that of Jinja (minijinja), whose functions here are in [`functions`] and beside it. Figures of runs and of
//! published tables are cells of a [`cells::Table`]. What is done to a cell is done to lists of them, so that a statement is
//! data: what is said, the comparisons for it, some of the figures, and what may lie behind one that does not hold. Functions
//! that only one study has are added by it. A wrong name ends in an error with the template's line. The price: a template is
//! checked when it is written out and not when it is compiled, which the tests do for every page.

mod cells;
mod drawing;
mod functions;
mod in_blocks;
mod judging;
mod record;
mod showing;
mod values;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Rest;
use minijinja::{Environment, Error, UndefinedBehavior, Value};

use crate::ReproduceError;
use crate::answers::Answers;
pub(crate) use cells::{Cell, Published, wrong};
use cells::{Contents, Table};
pub(crate) use record::Record;
pub(crate) use values::each;

/// A page before it is written out.
pub(crate) struct Page<'a> {
    pub(crate) environment: Environment<'a>,
    record: Arc<Mutex<Record>>,
}

/// The answers of one engine to some experiments, by name.
pub(crate) type Runs = BTreeMap<String, Arc<Answers>>;

/// Reads the run folders of these names in `folder`.
pub(crate) fn read(folder: &Path, names: &[&str], engine: &str) -> Result<Runs, ReproduceError> {
    let read = |name: &&str| Ok(((*name).to_owned(), Arc::new(Answers::read(&folder.join(name), engine)?)));
    names.iter().map(read).collect()
}

/// Reads what was measured of these names in blocks: the folders `block-1`, `block-2` and so on in `folder`.
pub(crate) fn read_in_blocks(folder: &Path, names: &[&str], engine: &str) -> Result<Runs, ReproduceError> {
    let all = (1..).map(|number| folder.join(format!("block-{number}")));
    let blocks = all.take_while(|block| block.is_dir()).map(|block| read(&block, names, engine));
    let blocks = blocks.collect::<Result<Vec<Runs>, _>>()?;
    if blocks.is_empty() {
        return Err(ReproduceError(format!("{}: there is no block; the first is `block-1`", folder.display())));
    }
    let mut of_each: BTreeMap<String, Vec<Answers>> = BTreeMap::new();
    for (name, answers) in blocks.into_iter().flatten() {
        let answers = Arc::into_inner(answers).expect("it has just been read");
        of_each.entry(name).or_default().push(answers);
    }
    Ok(of_each.into_iter().map(|(name, blocks)| (name, Arc::new(Answers::of_blocks(blocks)))).collect())
}

impl<'a> Page<'a> {
    /// One whose function `sim`, `live` or `theory` (`engine`) looks up cells of these runs, by the name of a run and the keys
    /// whose values tell its variants apart: `sim("3-servers", "servers", "users")("throughput", "4", "960")`.
    pub(crate) fn new() -> Page<'a> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true).build();
        environment.set_syntax(syntax.expect("Jinja's own delimiters"));
        let record = Arc::new(Mutex::new(Record::default()));
        functions::add(&mut environment);
        in_blocks::add(&mut environment);
        showing::add(&mut environment);
        judging::add(&mut environment, &record);
        drawing::add(&mut environment, &record);
        environment.add_global("LEGEND", crate::verdict::LEGEND);
        Page { environment, record }
    }

    /// With the answers of an engine.
    pub(crate) fn with(mut self, engine: &'static str, runs: Runs) -> Page<'a> {
        add_runs(&mut self.environment, engine, runs);
        self
    }

    /// With the published tables of a study: every CSV file in `folder`.
    pub(crate) fn with_published(mut self, folder: &Path) -> Result<Page<'a>, ReproduceError> {
        add_published(&mut self.environment, folder)?;
        Ok(self)
    }

    /// With a value, or a function that only this page has.
    pub(crate) fn given(mut self, name: &'static str, value: impl Into<Value>) -> Page<'a> {
        self.environment.add_global(name, value);
        self
    }

    /// With a table whose cells `of` finds by a quantity and the values of `keys`.
    pub(crate) fn computed(
        self,
        name: &'static str,
        keys: &[&str],
        of: impl Fn(&str, &[(String, String)]) -> Result<Cell, Error> + Send + Sync + 'static,
    ) -> Page<'a> {
        let keys = keys.iter().map(|key| (*key).to_owned()).collect();
        self.given(
            name,
            Value::from_object(Table { of: Contents::Computed(Arc::new(of)), name: name.to_owned(), keys }),
        )
    }

    /// The text of `template`, whose pictures will be in `folder` beside it, and what it made.
    pub(crate) fn text(&self, template: &str, folder: &str) -> Result<(String, Record), ReproduceError> {
        *self.record.lock().expect("no thread has panicked") =
            Record { folder: folder.to_owned(), ..Record::default() };
        let text = self.environment.render_str(template, Value::UNDEFINED);
        let text = text.map_err(|e| ReproduceError(format!("{:#}", e)))?;
        Ok((text, std::mem::take(&mut *self.record.lock().expect("no thread has panicked"))))
    }

    /// Writes the page at `page`, and what belongs to it into the folder of its name beside it.
    pub(crate) fn write(&self, template: &str, page: &Path) -> Result<(), ReproduceError> {
        let folder = page.with_extension("");
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let fail = |e: std::io::Error| ReproduceError(format!("cannot write {}: {e}", page.display()));
        std::fs::create_dir_all(&folder).map_err(fail)?;
        let (text, record) = self.text(template, &name)?;
        for (file, text) in &record.files {
            std::fs::write(folder.join(file), text).map_err(fail)?;
        }
        std::fs::write(page, text).map_err(fail)
    }
}

fn add_runs(environment: &mut Environment<'_>, engine: &'static str, runs: Runs) {
    environment.add_function(engine, move |name: &str, keys: Rest<String>| -> Result<Value, Error> {
        let answers = runs.get(name).ok_or_else(|| wrong(format!("there is no run `{name}` by {engine}")))?;
        let table = Table { of: Contents::Run(answers.clone()), name: name.to_owned(), keys: keys.0 };
        Ok(Value::from_object(table))
    });
}

fn add_published(environment: &mut Environment<'_>, folder: &Path) -> Result<(), ReproduceError> {
    let fail = |e: std::io::Error| ReproduceError(format!("cannot read {}: {e}", folder.display()));
    let mut tables = BTreeMap::new();
    for entry in std::fs::read_dir(folder).map_err(fail)? {
        let file = entry.map_err(fail)?.path();
        if file.extension().is_some_and(|of| of == "csv") {
            let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            tables.insert(name, Arc::new(Published::read(&file)?));
        }
    }
    environment.add_function("published", move |name: &str, keys: Rest<String>| -> Result<Value, Error> {
        let table = tables.get(name).ok_or_else(|| wrong(format!("there is no published table `{name}`")))?;
        Ok(Value::from_object(Table { of: Contents::Published(table.clone()), name: name.to_owned(), keys: keys.0 }))
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a template with published tables says.
    fn says(template: &str) -> Result<String, String> {
        let page = Page::new().with_published(&crate::answers::published("zhang-2002")).unwrap();
        page.text(template, "folder").map(|(text, _)| text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_cell_is_looked_up_by_the_values_of_its_keys() {
        let table = "{% set of = published('stress-latency', 'sigma', 'users') %}";
        let says = |rest: &str| says(&format!("{table}{rest}")).unwrap();
        assert_eq!(says("{{ of('config2_s', '1.143', '1')|fixed(3) }}"), "0.016");
        assert_eq!(says("{{ fill('{}', of(['config1_s', 'config2_s'], '1.143', '1')|fixed(3)) }}"), "0.015, 0.016");
        assert_eq!(says("{{ row(of('config2_s', '1.143', ['1', '7'])|fixed(3)) }}"), "| 0.016 | - |");
    }

    #[test]
    fn lists_are_taken_in_pairs_and_a_cell_goes_with_each() {
        assert_eq!(says("{{ below([1, 3], [2, 2])|counted }}").unwrap(), "1, 1, 0");
        assert_eq!(says("{{ below([[1, 3], [1, 1]], [2, 1])|counted }}").unwrap(), "1, 1, 2");
        assert_eq!(says("{{ below(1, [2, 3, none])|verdict }}").unwrap(), "holds in part");
        assert!(says("{{ below([1, 3], [2, 2, 2]) }}").unwrap_err().contains("have no pairs"));
    }

    #[test]
    fn a_wrong_name_ends_with_its_line() {
        for (wrong, said) in [
            ("{{ published('none') }}", "there is no published table `none`"),
            ("{{ published('summary', 'user')('mean_s', '1') }}", "the table has no column `user`"),
            ("{{ published('summary', 'users')('mean_s') }}", "needs a value of `users`"),
            ("{{ published('summary')('mean_s', '1') }}", "one value more"),
            ("{{ fill('{} and {}', 1) }}", "1 values for the 2 places"),
            ("{{ unknown|fixed(2) }}", "undefined"),
        ] {
            let error = says(&format!("\n\n{wrong}")).unwrap_err();
            assert!(error.contains(said) && error.contains(":3)"), "{error}");
        }
    }

    #[test]
    fn what_compares_nothing_is_no_statement() {
        let error = says("{{ findings([{'where': '1', 'claim': 'a', 'holds': 1}]) }}").unwrap_err();
        assert!(error.contains("compares nothing"), "{error}");
    }
}

//! The first column of a table of variants. In a long one, what neighbours have in common stands once, above them.
//!
//! The name of a sweep's point has all of its settings, and takes three lines of eighty columns. Most points differ from the one
//! before in their last setting alone, so that is what stands in their row. The price: a row is read with the heading above it.

use sojourn_lab::{Answers, VariantAnswers};

use super::Grid;

/// A table of more variants than this is long.
pub(super) const LONG: usize = 40;

/// Every variant of a run, for a table that has a row for each.
pub(super) fn all_variants(answers: &Answers) -> Vec<&VariantAnswers> {
    answers.variants.iter().collect()
}

/// Adds a row for each of these variants: its name and its cells.
pub(super) fn add_rows(table: &mut Grid, variants: &[&VariantAnswers], cells: impl Fn(&VariantAnswers) -> Vec<String>) {
    let names: Vec<(&str, &str)> = variants.iter().map(|variant| split(&variant.label)).collect();
    let is_long = variants.len() > LONG;
    for (place, variant) in variants.iter().enumerate() {
        let (common, own) = names[place];
        let has_same = |other: Option<usize>| other.and_then(|other| names.get(other)).is_some_and(|of| of.0 == common);
        let is_next = has_same(place.checked_sub(1));
        let is_grouped = is_long && !common.is_empty() && (is_next || has_same(Some(place + 1)));
        if is_grouped && !is_next {
            table.add_row([format!("{common}:")]);
        }
        let name = if is_grouped { format!("  {own}") } else { variant.label.clone() };
        table.add_row(std::iter::once(name).chain(cells(variant)));
    }
}

/// What a name says before its last setting, and that setting. Commas inside of parentheses are those of a law or a policy.
fn split(label: &str) -> (&str, &str) {
    let (mut depth, mut last) = (0, None);
    for (at, c) in label.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 && label[at..].starts_with(", ") => last = Some(at),
            _ => {}
        }
    }
    last.map_or(("", label), |at| (&label[..at], &label[at + 2..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table's rows as they stand, without frame and heading.
    fn rows(labels: &[&str]) -> Vec<String> {
        let named = |label: &&str| VariantAnswers { label: (*label).to_owned(), ..VariantAnswers::default() };
        let variants: Vec<VariantAnswers> = labels.iter().map(named).collect();
        let mut table = Grid::new(&["variant", "sim"]);
        add_rows(&mut table, &variants.iter().collect::<Vec<_>>(), |_| vec!["1 ms".to_owned()]);
        let text = table.to_string();
        let row = |line: &str| line.trim_matches(['│', ' ']).split_whitespace().collect::<Vec<_>>().join(" ");
        text.lines().filter(|line| line.starts_with('│')).skip(1).map(row).collect()
    }

    #[test]
    fn what_neighbours_have_in_common_stands_once_in_a_long_table() {
        let few = ["random, load 0.5", "random, load 0.6"];
        assert_eq!(rows(&few), ["random, load 0.5 1 ms", "random, load 0.6 1 ms"], "each alone in a short one");
        let mut many = vec!["random, law(a, b), load 0.5", "random, law(a, b), load 0.6", "as given", "ps, load 1"];
        many.extend(["jsq, load 1"; LONG]);
        let told = rows(&many);
        let few = ["random, law(a, b):", "load 0.5 1 ms", "load 0.6 1 ms", "as given 1 ms", "ps, load 1 1 ms", "jsq:"];
        assert_eq!(told[..6], few);
        assert_eq!(told.len(), many.len() + 2, "a line each, and two headings");
    }

    #[test]
    fn a_name_ends_in_its_last_setting() {
        assert_eq!(split("servers 4, law(a, b)"), ("servers 4", "law(a, b)"));
        assert_eq!(split("round-trip(window = 1 s, x)"), ("", "round-trip(window = 1 s, x)"));
    }
}

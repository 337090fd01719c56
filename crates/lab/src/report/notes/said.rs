//! Notes of engines about variants, as people read them: what differs in numbers only is one note.

use super::ranges::{Merged, merged, without_numbers};
use crate::answer::{ObjectiveAnswer, VariantAnswers};
use crate::exact;
use crate::spec::Engine;

/// Notes of engines about variants, in the order in which they were added.
#[derive(Default)]
pub struct Said<'a> {
    /// The notes.
    pub notes: Vec<Note<'a>>,
}

/// What an engine says of some variants, alike but for numbers.
pub struct Note<'a> {
    /// Who says it.
    pub engine: Engine,
    /// The numbers of the variants, in their order.
    pub variants: Vec<usize>,
    /// Its wordings, which differ in numbers, each with the variants that have it.
    wordings: Vec<(&'a str, Vec<usize>)>,
    /// What the wordings have in common.
    words: String,
}

impl Note<'_> {
    /// Its text: where the wordings differ in one number, with its range and the name of the variant that has most; else the
    /// wording that has most, with the name of its variant, and how many others have such a note.
    pub fn told(&self, variants: &[VariantAnswers]) -> String {
        let texts: Vec<&str> = self.wordings.iter().map(|(text, _)| *text).collect();
        let label = |number: usize| variants.get(number).map_or("", |variant| variant.label.as_str());
        if texts.len() > 1
            && let Some(told) = exact::of_several(&self.wordings, label)
        {
            return told;
        }
        let name = |place: usize| self.wordings[place].1.first().copied().map_or("", label);
        match merged(&texts) {
            Merged::Same(text) => text,
            Merged::Range { text, place } => format!("{} (most: {})", text.trim_end_matches('.'), name(place)),
            Merged::Worst { place, others } => {
                let (text, more) = (texts[place].trim_end_matches('.'), self.variants.len().saturating_sub(1));
                format!("{text} ({}; and {more} more{others})", name(place))
            }
        }
    }

    /// Whether it is the reason of this objective.
    pub fn is_of(&self, objective: &ObjectiveAnswer) -> bool {
        let is_its_own =
            |(text, variants): &(&str, Vec<usize>)| *text == objective.why() && variants.contains(&objective.variant);
        self.engine == objective.engine && self.wordings.iter().any(is_its_own)
    }
}

impl<'a> Said<'a> {
    /// The notes of these variants of which `is_told` holds.
    pub fn of(variants: &'a [VariantAnswers], is_told: impl Fn(&str) -> bool) -> Said<'a> {
        let mut said = Said::default();
        for (number, variant) in variants.iter().enumerate() {
            for answer in &variant.answers {
                let notes = answer.notes.iter().filter(|note| is_told(note));
                notes.for_each(|note| said.add(answer.engine, note, number));
            }
        }
        said
    }

    /// Adds what `engine` says of a variant: to what it says likewise of others, not to another note of the same variant.
    pub fn add(&mut self, engine: Engine, note: &'a str, variant: usize) {
        // Metrics that are missed are counted as numbers are.
        let words = if exact::is_missed(note) { "missed".to_owned() } else { without_numbers(note) };
        let is_alike = |of: &Note<'_>| of.engine == engine && of.words == words;
        let alike: Vec<usize> = (0..self.notes.len()).filter(|place| is_alike(&self.notes[*place])).collect();
        let has_same = |place: &usize| self.notes[*place].wordings.iter().any(|(text, _)| *text == note);
        let same = alike.iter().copied().find(has_same);
        let of_others = || alike.iter().copied().find(|place| self.notes[*place].variants.last() != Some(&variant));
        let Some(place) = same.or_else(of_others) else {
            let wordings = vec![(note, vec![variant])];
            self.notes.push(Note { engine, variants: vec![variant], wordings, words });
            return;
        };
        let of = &mut self.notes[place];
        push_once(&mut of.variants, variant);
        match of.wordings.iter_mut().find(|(text, _)| *text == note) {
            Some((_, variants)) => push_once(variants, variant),
            None => of.wordings.push((note, vec![variant])),
        }
    }
}

/// Adds a variant unless it is the last already.
fn push_once(variants: &mut Vec<usize>, variant: usize) {
    if variants.last() != Some(&variant) {
        variants.push(variant);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What notes about variants a, b, c and so on become.
    fn told(notes: &[&str]) -> Vec<String> {
        let label = |number: usize| char::from(b'a' + number as u8).to_string();
        let variant = |number| VariantAnswers { label: label(number), ..VariantAnswers::default() };
        let variants: Vec<VariantAnswers> = (0..notes.len()).map(variant).collect();
        let mut said = Said::default();
        notes.iter().enumerate().for_each(|(number, note)| said.add(Engine::Sim, note, number));
        said.notes.iter().map(|note| note.told(&variants)).collect()
    }

    /// A merged note is one of the notes: an interval that reaches from the least end of all to the greatest is of no variant.
    #[test]
    fn a_merged_note_is_true_of_the_variant_that_it_names() {
        let given_up = |ends: &str| format!("between {ends} of the requests were given up.");
        let notes = ["3 % and 5 %", "7 % and 11 %", "3 % and 5 %", "4 % and 6 %"].map(given_up);
        let notes = notes.each_ref().map(String::as_str);
        let one = "between 7 % and 11 % of the requests were given up (b; and 3 more, 3 % at least)";
        assert_eq!(told(&notes), [one]);
        assert_eq!(told(&notes[..1]), [notes[0]], "one alone stands as it is");
        assert_eq!(
            told(&["5 of 9 short", "7 of 9 short"]),
            ["5 to 7 of 9 short (most: b)"],
            "a number alone has a range"
        );
    }

    /// The same metrics need not be missed by all that are counted together.
    #[test]
    fn metrics_that_are_missed_are_counted() {
        let note = |count: &str, metrics: &str| {
            format!(
                "{count} intervals do not hold the exact number: {metrics}. Of intervals at 95 % one in twenty does not"
            )
        };
        let notes = [note("1 of 9", "mean"), note("2 of 9", "mean, p99"), note("1 of 9", "mean")];
        let notes = notes.each_ref().map(String::as_str);
        let counted = "in 3 variants intervals do not hold the exact number: mean in 3, p99 in 1; most in b, 2 of 9. ";
        let all = told(&notes);
        assert!(all.len() == 1 && all[0].starts_with(counted), "{all:?}");
        assert_eq!(told(&[notes[0], notes[2]]), [notes[0]], "one wording needs no count");
    }
}

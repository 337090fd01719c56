//! Text into HTML, and the frame of the page.

use super::Engine;

/// Forbids everything but the page's own style, so that no text in a report can ever load or run anything.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// The page around `body`, which is HTML; `title` is text.
pub(crate) fn page(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n<main>\n{body}</main>\n</body>\n</html>\n",
        escape(title),
        include_str!("style.css"),
    )
}

/// `text` as HTML, fit for an element or a quoted attribute. Control characters, which HTML forbids, become U+FFFD.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// The numbers behind a figure, folded away; cells are HTML, the first of each row names it.
pub(crate) fn behind(heading: &str, head: &[String], rows: &[Vec<String>], remark: &str) -> String {
    let head: String = head.iter().map(|name| format!("<th scope=\"col\">{name}</th>")).collect();
    let row = |cells: &Vec<String>| {
        let cell = |(place, cell): (usize, &String)| match place {
            0 => format!("<th scope=\"row\">{cell}</th>"),
            _ => format!("<td>{cell}</td>"),
        };
        format!("<tr>{}</tr>\n", cells.iter().enumerate().map(cell).collect::<String>())
    };
    let rows: String = rows.iter().map(row).collect();
    format!(
        "<details class=\"behind\">\n<summary>{heading}: the numbers</summary>\n{remark}<div class=\"scroll\">\
         <table class=\"plain numbers\">\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n\
         </table></div>\n</details>\n"
    )
}

/// More of these are not drawn one below the other.
const MOST_ONE_BY_ONE: usize = 12;

/// What there is of each of several `noun`s (such as variants), by its label: of the first in sight, of each other one folded
/// away, and these behind one line. `file` has those that are too many to draw.
pub(crate) fn one_by_one<T>(
    all: &[T],
    label: impl Fn(&T) -> &str,
    draw: impl Fn(usize, &T) -> String,
    (noun, file): (&str, &str),
) -> String {
    let one = |(index, of): (usize, &T)| {
        let open = if index == 0 { " open" } else { "" };
        format!("<details{open}>\n<summary>{}</summary>\n{}</details>\n", escape(label(of)), draw(index, of))
    };
    let mut drawn = all.iter().enumerate().take(MOST_ONE_BY_ONE).map(one);
    let first = drawn.next().unwrap_or_default();
    let others: Vec<String> = drawn.collect();
    let more = |rest: usize| count(rest, &format!("more {noun}"));
    let others = match others.len() {
        0 | 1 => others.concat(),
        rest => format!("<details>\n<summary>{}</summary>\n{}</details>\n", more(rest), others.concat()),
    };
    let rest = match all.len().saturating_sub(MOST_ONE_BY_ONE) {
        0 => String::new(),
        1 => format!("<p>{} is not drawn; {file} has all.</p>\n", more(1)),
        rest => format!("<p>{} are not drawn; {file} has all.</p>\n", more(rest)),
    };
    first + &others + &rest
}

/// `items` in words, at most `limit` of them: "a, b and c", "a, b and 3 more".
pub(crate) fn and_list(items: &[String], limit: usize) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [head @ .., last] if items.len() <= limit => format!("{} and {last}", head.join(", ")),
        _ => format!("{} and {} more", items[..limit].join(", "), items.len() - limit),
    }
}

/// `n` things: "1 variant", "6 variants".
pub(crate) fn count(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// The engine's name in its colour, after its marker.
pub(crate) fn engine(engine: Engine) -> String {
    format!("<span class=\"engine t-{}\">{}{}</span>", engine.name(), icon(engine), engine.name())
}

/// The marker that stands for the engine in every plot.
pub(crate) fn icon(engine: Engine) -> String {
    let shape = match engine {
        Engine::Theory => "M6 0L12 6L6 12L0 6Z",
        Engine::Sim => "M6 1a5 5 0 1 0 .01 0Z",
        Engine::Live => "M1 1H11V11H1Z",
        Engine::Twin => "M6 0.5L12 11.5H0Z",
        Engine::Log => "M0 3H12V9H0Z",
    };
    format!("<svg class=\"icon\" viewBox=\"0 0 12 12\" aria-hidden=\"true\"><path d=\"{shape}\"/></svg>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_text_cannot_leave_its_element_or_attribute() {
        assert_eq!(
            escape("<b a=\"1\" c='2'>&</b>\n\0"),
            "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;&lt;/b&gt;\n\u{fffd}"
        );
    }

    #[test]
    fn the_first_is_in_sight_and_the_others_are_behind_one_line() {
        let told = |many: usize| {
            let all: Vec<String> = (0..many).map(|number| format!("<{number}>")).collect();
            one_by_one(&all, |label| label.as_str(), |index, _| format!("figure {index}\n"), ("variant", "x.csv"))
        };
        assert_eq!(told(0), "");
        assert_eq!(told(1), "<details open>\n<summary>&lt;0&gt;</summary>\nfigure 0\n</details>\n");
        assert_eq!(told(2).matches("<details").count(), 2, "a line for one would hide nothing");
        let many = told(14);
        let folded = "<details>\n<summary>11 more variants</summary>\n<details>\n<summary>&lt;1&gt;</summary>\n";
        assert!(many.contains(folded), "{many}");
        assert_eq!((many.matches("<details open>").count(), many.matches("figure").count()), (1, 12), "{many}");
        let end = "</details>\n</details>\n<p>2 more variants are not drawn; x.csv has all.</p>\n";
        assert!(many.ends_with(end), "{many}");
        assert!(told(13).ends_with("<p>1 more variant is not drawn; x.csv has all.</p>\n"), "{}", told(13));
    }

    #[test]
    fn lists_read_as_english() {
        let items: Vec<String> = ["a", "b", "c", "d"].map(String::from).to_vec();
        assert_eq!(and_list(&items[..1], 3), "a");
        assert_eq!(and_list(&items[..3], 3), "a, b and c");
        assert_eq!(and_list(&items, 3), "a, b, c and 1 more");
        assert_eq!(count(1, "run"), "1 run");
        assert_eq!(count(0, "run"), "0 runs");
    }
}

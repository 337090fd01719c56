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
            _ => format!("<td class=\"number\">{cell}</td>"),
        };
        format!("<tr>{}</tr>\n", cells.iter().enumerate().map(cell).collect::<String>())
    };
    let rows: String = rows.iter().map(row).collect();
    format!(
        "<details class=\"behind\">\n<summary>{heading}: the numbers</summary>\n{remark}<div class=\"scroll\">\
         <table class=\"plain\">\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n</details>\n"
    )
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
    fn lists_read_as_english() {
        let items: Vec<String> = ["a", "b", "c", "d"].map(String::from).to_vec();
        assert_eq!(and_list(&items[..1], 3), "a");
        assert_eq!(and_list(&items[..3], 3), "a, b and c");
        assert_eq!(and_list(&items, 3), "a, b, c and 1 more");
        assert_eq!(count(1, "run"), "1 run");
        assert_eq!(count(0, "run"), "0 runs");
    }
}

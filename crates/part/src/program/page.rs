//! Pages that cost a server time.

use sojourn_stats::Stream;

/// Rounds of arithmetic on the processor and nothing else, then a body of a given size.
pub(super) const WORK_PHP: &str = r#"<?php
$state = 1;
for ($left = (int)($_GET['iter'] ?? 0); $left > 0; $left--) {
    $state = ($state * 1103515245 + 12345) & 0x7fffffff;
}
$body = str_pad("$state\n", min((int)($_GET['bytes'] ?? 0), 1 << 26), 'x');
header('Content-Type: text/plain');
header('Content-Length: ' . strlen($body));
echo $body;
"#;

/// Words that text is made of.
const WORDS: [&str; 32] = [
    "queue", "server", "client", "request", "reply", "page", "the", "of", "and", "a", "waits", "while", "another",
    "is", "served", "time", "rate", "load", "long", "short", "document", "network", "line", "system", "when", "it",
    "arrives", "leaves", "before", "after", "every", "hour",
];

/// A text of `size` bytes that compresses like text: a page that costs a compressing server time, the same every time.
pub fn text_page(size: usize) -> Vec<u8> {
    let mut stream = Stream::new(1, "text-page", "words");
    let mut text = String::with_capacity(size + 16);
    while text.len() < size {
        text.push_str(WORDS[stream.below(WORDS.len())]);
        text.push(if stream.below(12) == 0 { '\n' } else { ' ' });
    }
    text.truncate(size);
    text.into_bytes()
}

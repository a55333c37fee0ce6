//! Lines of text, and errors about them.

use std::str::FromStr;

use super::ReadError;

/// Line and reason; line 0 for the file as a whole.
pub(super) type Wrong = (usize, String);

pub(super) fn error(file: &str, line: usize, reason: String) -> ReadError {
    let file = file.to_owned();
    match line {
        0 => ReadError::File { file, reason },
        _ => ReadError::Line { file, line, reason },
    }
}

/// The text of a file.
pub(super) fn utf8<'a>(bytes: &'a [u8], file: &str) -> Result<&'a str, ReadError> {
    std::str::from_utf8(bytes).map_err(|e| {
        let before = &bytes[..e.valid_up_to()];
        let line = before.iter().filter(|b| **b == b'\n').count() + 1;
        error(file, line, "is not text in UTF-8".into())
    })
}

#[derive(Clone, Copy)]
pub(super) struct Line<'a> {
    /// From 1.
    pub number: usize,
    /// Without comment and surrounding blanks; not empty.
    pub text: &'a str,
}

/// The lines of a text that have more than a comment.
#[derive(Clone)]
pub(super) struct Lines<'a> {
    lines: std::iter::Enumerate<std::str::Lines<'a>>,
}

impl<'a> Lines<'a> {
    pub fn new(text: &'a str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Self {
            lines: text.lines().enumerate(),
        }
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        self.lines.find_map(|(index, text)| {
            let text = without_comment(text).trim();
            let number = index + 1;
            (!text.is_empty()).then_some(Line { number, text })
        })
    }
}

/// A `#` inside of quotes begins no comment.
fn without_comment(text: &str) -> &str {
    let mut quoted = false;
    let comment = text.find(|c| {
        quoted ^= c == '"';
        c == '#' && !quoted
    });
    comment.map_or(text, |at| &text[..at])
}

/// A number of at most what its type holds.
pub(super) fn number<T: FromStr>(what: &str, text: &str) -> Result<T, String> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    text.parse()
        .ok()
        .filter(|_| digits)
        .ok_or_else(|| match digits {
            true => format!("{what} {} is too large", shown(text)),
            false => format!("{what} is `{}`, not a number", shown(text)),
        })
}

/// Text from a file, cut short where it would flood the message.
pub(super) fn shown(text: &str) -> String {
    const MOST: usize = 60;
    match text.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}...", text[..at].escape_debug()),
        None => text.escape_debug().to_string(),
    }
}

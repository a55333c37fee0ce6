//! Names as rust-hdl's kernels spell them: `lanes[(i+1)]$x$next`.

use super::error::{Fallible, Reason};

/// The flat key of a name: indexes evaluated, `$next` and stray dots removed.
pub(super) fn resolve(name: &str, loops: &[(String, i64)]) -> Fallible<String> {
    let name = name.replace("::", "$").replace('.', "$");
    let name = name.trim_start_matches('$');
    let name = name.strip_suffix("$next").unwrap_or(name);
    let name = match name.contains("$val()") {
        true => name.replace("$val()", ""),
        // A field of a record in a record, which is assigned.
        false => name.replace("$next$", "$"),
    };
    let mut out = String::new();
    let mut rest = name.as_str();
    while let Some(open) = rest.find('[') {
        out.push_str(&rest[..open]);
        let close = matching(&rest[open..])
            .ok_or_else(|| Reason::Unsupported(format!("index in `{name}`")))?;
        let index = &rest[open + 1..open + close];
        let value = Eval {
            text: index,
            at: 0,
            loops,
        }
        .whole()?;
        let value = usize::try_from(value)
            .map_err(|_| Reason::Unsupported(format!("the negative index `{index}`")))?;
        out.push_str(&format!("${value}"));
        rest = &rest[open + close + 1..];
    }
    out.push_str(rest);
    Ok(out)
}

/// Position of the bracket that closes the one at the start.
fn matching(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (i, c) in text.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => {
                depth -= 1;
                if depth == 0 {
                    return Some(i);
                }
            }
            _ => {}
        }
    }
    None
}

/// Recursive descent over integer arithmetic with loop indexes.
struct Eval<'a> {
    text: &'a str,
    at: usize,
    loops: &'a [(String, i64)],
}

impl Eval<'_> {
    fn whole(mut self) -> Fallible<i64> {
        let value = self.sum()?;
        if self.peek().is_some() {
            return Err(self.refuse());
        }
        Ok(value)
    }

    fn refuse(&self) -> Reason {
        Reason::Unsupported(format!("the index `{}`", self.text))
    }

    fn peek(&mut self) -> Option<char> {
        while self.text[self.at..].starts_with(' ') {
            self.at += 1;
        }
        self.text[self.at..].chars().next()
    }

    fn take(&mut self, c: char) -> bool {
        let hit = self.peek() == Some(c);
        if hit {
            self.at += c.len_utf8();
        }
        hit
    }

    fn sum(&mut self) -> Fallible<i64> {
        let mut value = self.product()?;
        loop {
            let next = if self.take('+') {
                let rhs = self.product()?;
                value.checked_add(rhs)
            } else if self.take('-') {
                let rhs = self.product()?;
                value.checked_sub(rhs)
            } else {
                return Ok(value);
            };
            value = next.ok_or_else(|| self.refuse())?;
        }
    }

    fn product(&mut self) -> Fallible<i64> {
        let mut value = self.atom()?;
        loop {
            let next = if self.take('*') {
                let rhs = self.atom()?;
                value.checked_mul(rhs)
            } else if self.take('/') {
                let rhs = self.atom()?;
                value.checked_div(rhs)
            } else if self.take('%') {
                let rhs = self.atom()?;
                value.checked_rem(rhs)
            } else {
                return Ok(value);
            };
            value = next.ok_or_else(|| self.refuse())?;
        }
    }

    fn atom(&mut self) -> Fallible<i64> {
        if self.take('(') {
            let value = self.sum()?;
            return if self.take(')') {
                Ok(value)
            } else {
                Err(self.refuse())
            };
        }
        self.peek();
        let word: String = self.text[self.at..]
            .chars()
            .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
            .collect();
        self.at += word.len();
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            let digits: String = word.chars().take_while(char::is_ascii_digit).collect();
            return digits.parse().map_err(|_| self.refuse());
        }
        self.loops
            .iter()
            .rev()
            .find(|(name, _)| *name == word)
            .map(|(_, value)| *value)
            .ok_or(if word.is_empty() {
                self.refuse()
            } else {
                Reason::UnknownName(word)
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_are_evaluated_in_every_bracket() {
        let loops = [("i".to_owned(), 3), ("j".to_owned(), 1)];
        assert_eq!(
            resolve("lanes[(i+1)*2]$x[j]$next", &loops).as_deref(),
            Ok("lanes$8$x$1")
        );
    }

    #[test]
    fn fields_of_records_in_records_are_found_where_they_are_read_and_assigned() {
        assert_eq!(
            resolve("s1$d$next$peer$node", &[]).as_deref(),
            Ok("s1$d$peer$node")
        );
        assert_eq!(
            resolve("s1$q$val()$peer$node", &[]).as_deref(),
            Ok("s1$q$peer$node")
        );
        assert_eq!(resolve("list$next$val()", &[]).as_deref(), Ok("list$next"));
    }

    #[test]
    fn unknown_index_names_are_refused_by_name() {
        assert_eq!(
            resolve("lanes[N]$x", &[]),
            Err(Reason::UnknownName("N".into()))
        );
    }

    #[test]
    fn division_by_zero_and_negative_indexes_do_not_panic() {
        assert!(resolve("x[1/0]", &[]).is_err());
        assert!(resolve("x[0-1]", &[]).is_err());
        assert!(resolve("x[", &[]).is_err());
    }
}

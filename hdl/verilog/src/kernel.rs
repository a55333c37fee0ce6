//! Kernels as `#[hdl_gen]` writes them: a text, and numbers beside it that depend on sizes.
//!
//! What comes first says what follows: a letter for each kind of statement and expression, `4:name` for a word, `12;` for a
//! number, `#3;` for number 3 of those beside the text.

use rust_hdl::prelude::ast::{
    VerilogBlock, VerilogBlockOrConditional, VerilogCase, VerilogConditional, VerilogExpression,
    VerilogLink, VerilogLiteral, VerilogLoop, VerilogMatch, VerilogOp, VerilogOpUnary,
    VerilogStatement,
};

/// The tree of a kernel. `links` has the names that each of its joins and links connects, in order, `parts` the statements of
/// each of its parts.
///
/// # Panics
/// Something else than `#[hdl_gen]` has made the text.
#[must_use]
pub fn read(
    text: &'static str,
    numbers: &[usize],
    links: Vec<Vec<VerilogLink>>,
    parts: Vec<VerilogBlock>,
) -> VerilogBlock {
    let mut reader = Reader {
        rest: text,
        numbers,
        links: links.into_iter(),
        parts: parts.into_iter(),
    };
    reader.block()
}

struct Reader<'a> {
    rest: &'static str,
    numbers: &'a [usize],
    links: std::vec::IntoIter<Vec<VerilogLink>>,
    parts: std::vec::IntoIter<VerilogBlock>,
}

impl Reader<'_> {
    fn broken(&self, what: &str) -> ! {
        panic!("no {what} in a kernel's text at `{:.20}`", self.rest)
    }

    fn code(&mut self) -> char {
        let mut all = self.rest.chars();
        let Some(code) = all.next() else {
            self.broken("letter")
        };
        self.rest = all.as_str();
        code
    }

    fn until(&mut self, end: char) -> &'static str {
        let Some((head, rest)) = self.rest.split_once(end) else {
            self.broken("end of a number")
        };
        self.rest = rest;
        head
    }

    fn number(&mut self) -> usize {
        let text = self.until(';');
        let place = text.strip_prefix('#');
        let number = place.unwrap_or(text).parse().ok();
        let number = match place {
            Some(_) => number.and_then(|at: usize| self.numbers.get(at).copied()),
            None => number,
        };
        number.unwrap_or_else(|| self.broken("number"))
    }

    fn word(&mut self) -> &'static str {
        let length = self.until(':').parse().ok();
        let split = length.and_then(|length| self.rest.split_at_checked(length));
        let Some((word, rest)) = split else {
            self.broken("word")
        };
        self.rest = rest;
        word
    }

    fn block(&mut self) -> VerilogBlock {
        let mut block = vec![];
        for _ in 0..self.number() {
            match self.rest.strip_prefix('P') {
                Some(rest) => {
                    self.rest = rest;
                    match self.parts.next() {
                        Some(part) => block.extend(part),
                        None => self.broken("part"),
                    }
                }
                None => block.push(self.statement()),
            }
        }
        block
    }

    fn statement(&mut self) -> VerilogStatement {
        match self.code() {
            'A' => {
                let target = VerilogExpression::Signal(self.word().to_owned());
                VerilogStatement::Assignment(target, self.expression())
            }
            'S' => VerilogStatement::SliceAssignment {
                base: self.expression(),
                width: self.number(),
                offset: VerilogExpression::Literal(self.number().into()),
                replacement: self.expression(),
            },
            'I' => VerilogStatement::If(self.condition()),
            'M' => {
                let test = self.expression();
                let case = |reader: &mut Self| VerilogCase {
                    condition: reader.word().to_owned(),
                    block: reader.block(),
                };
                let cases = (0..self.number()).map(|_| case(self)).collect();
                VerilogStatement::Match(VerilogMatch { test, cases })
            }
            'L' => VerilogStatement::Loop(VerilogLoop {
                index: self.word().to_owned(),
                from: self.number().into(),
                to: self.number().into(),
                block: self.block(),
            }),
            'K' => match self.links.next() {
                Some(links) => VerilogStatement::Link(links),
                None => self.broken("link"),
            },
            'C' => VerilogStatement::Comment(self.word().to_owned()),
            'X' => {
                let pairs = (0..self.number()).map(|_| {
                    let [target, source] =
                        [self.word(), self.word()].map(|w| VerilogExpression::Signal(w.to_owned()));
                    VerilogStatement::Assignment(target, source)
                });
                VerilogStatement::Macro(pairs.collect())
            }
            _ => self.broken("statement"),
        }
    }

    fn condition(&mut self) -> VerilogConditional {
        VerilogConditional {
            test: self.expression(),
            then: self.block(),
            otherwise: match self.code() {
                '-' => VerilogBlockOrConditional::None,
                'B' => VerilogBlockOrConditional::Block(self.block()),
                'I' => {
                    let other = VerilogStatement::If(self.condition());
                    VerilogBlockOrConditional::Conditional(Box::new(other))
                }
                _ => self.broken("else"),
            },
        }
    }

    fn boxed(&mut self) -> Box<VerilogExpression> {
        Box::new(self.expression())
    }

    fn expression(&mut self) -> VerilogExpression {
        use VerilogExpression as E;
        match self.code() {
            's' => E::Signal(self.word().to_owned()),
            'l' => E::Literal(self.literal()),
            'p' => E::Paren(self.boxed()),
            'c' => E::Cast(self.boxed(), self.number()),
            'g' => E::Signed(self.boxed()),
            'u' => E::Unsigned(self.boxed()),
            'n' => {
                let op = match self.code() {
                    '!' => VerilogOpUnary::Not,
                    '-' => VerilogOpUnary::Neg,
                    '&' => VerilogOpUnary::All,
                    '|' => VerilogOpUnary::Any,
                    '^' => VerilogOpUnary::Xor,
                    _ => self.broken("operator"),
                };
                E::Unary(op, self.boxed())
            }
            'b' => {
                let op = self.operator();
                let left = self.boxed();
                E::Binary(left, op, self.boxed())
            }
            'i' => E::Index(self.boxed(), self.boxed()),
            'x' => E::Slice(self.boxed(), self.number(), self.boxed()),
            'f' => {
                let (record, width) = (self.boxed(), self.number());
                let offset = E::Literal(self.number().into());
                E::Slice(record, width, Box::new(offset))
            }
            'r' => E::IndexReplace(self.boxed(), self.boxed(), self.boxed()),
            _ => self.broken("expression"),
        }
    }

    fn operator(&mut self) -> VerilogOp {
        match self.code() {
            '+' => VerilogOp::Add,
            '-' => VerilogOp::Sub,
            '*' => VerilogOp::Mul,
            'a' => VerilogOp::LogicalAnd,
            'o' => VerilogOp::LogicalOr,
            '^' => VerilogOp::BitXor,
            '&' => VerilogOp::BitAnd,
            '|' => VerilogOp::BitOr,
            'l' => VerilogOp::Shl,
            'r' => VerilogOp::Shr,
            '=' => VerilogOp::Eq,
            '<' => VerilogOp::Lt,
            'L' => VerilogOp::Le,
            '!' => VerilogOp::Ne,
            'G' => VerilogOp::Ge,
            '>' => VerilogOp::Gt,
            _ => self.broken("operator"),
        }
    }

    /// A constant as wide as its type in Rust.
    fn literal(&mut self) -> VerilogLiteral {
        let (of, digits) = (self.word(), self.word());
        macro_rules! number {
            ($($name:ident)*) => {
                match of {
                    "bool" => Some((digits == "1").into()),
                    $(stringify!($name) => digits.parse::<$name>().ok().map(Into::into),)*
                    _ => None,
                }
            };
        }
        let literal: Option<VerilogLiteral> = number!(i32 u8 u16 u32 u64 u128 usize);
        literal.unwrap_or_else(|| self.broken("constant"))
    }
}

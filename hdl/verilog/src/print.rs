//! Verilog text of expressions and statements.

use std::collections::BTreeMap;

use num_bigint::BigUint;

use super::expr::{Cmp, Expr, Op, Reduce, SigId, mask};
use super::said::Said;
use super::signals::{Signals, field_at};
use super::stmt::{self, Kind, Stmt};

/// Lines longer than this are broken at an operator or a comma.
const LINE: usize = 100;

/// How tightly a text binds, as far as parentheses care.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bind {
    /// Names, literals, calls, concatenations.
    Primary,
    /// `~x`, `!x`.
    Unary,
    /// A chain of one associative operator, or a left-associative one.
    Chain(&'static str),
    /// Everything else.
    Loose,
}

/// A sized literal: binary for one bit, decimal while short, else hexadecimal.
pub(super) fn literal(value: &BigUint, width: usize) -> String {
    if width == 1 {
        return format!("1'b{value}");
    }
    if *value > BigUint::from(9999u32) || (width >= 4 && *value == mask(width)) {
        return format!("{width}'h{value:x}");
    }
    format!("{width}'d{value}")
}

/// A sized signed literal, negative where its top bit says so.
fn signed_literal(value: &BigUint, width: usize) -> String {
    let half = BigUint::from(1u8) << (width - 1);
    if *value < half {
        format!("{width}'sd{value}")
    } else if *value == half {
        // Its magnitude does not fit in a signed literal.
        format!("{width}'sh{value:x}")
    } else {
        format!("-{width}'sd{}", (BigUint::from(1u8) << width) - value)
    }
}

/// `[7:0] `, or nothing for one bit.
pub(super) fn range(width: usize) -> String {
    if width == 1 {
        String::new()
    } else {
        format!("[{}:0] ", width - 1)
    }
}

/// Verilog text, given the signals' names.
pub(super) struct Printer<'a> {
    pub signals: &'a Signals,
    /// Registers written in place: their input is printed as their output.
    pub rename: BTreeMap<SigId, SigId>,
    /// `=` or `<=`.
    pub assign: &'static str,
    pub said: &'a Said,
}

impl<'a> Printer<'a> {
    /// A printer of combinational text.
    pub(super) fn new(signals: &'a Signals, said: &'a Said) -> Self {
        Printer {
            said,
            signals,
            rename: BTreeMap::new(),
            assign: "=",
        }
    }

    fn name(&self, s: SigId) -> &str {
        &self.signals.list[s].name
    }

    /// A name with the bits that it selects.
    fn select(&self, s: SigId, lo: usize, w: usize) -> String {
        let name = self.name(s);
        if lo == 0 && w == self.signals.list[s].width {
            name.to_owned()
        } else if w == 1 {
            format!("{name}[{lo}]")
        } else {
            format!("{name}[{}:{lo}]", lo + w - 1)
        }
    }

    /// An expression on one line.
    pub(super) fn expr(&self, e: &Expr) -> String {
        self.text(e).0
    }

    fn text(&self, e: &Expr) -> (String, Bind) {
        let chain = |op: &'static str, l: &Expr, r: &Expr| {
            let text = format!("{} {op} {}", self.left(l, op), self.operand(r));
            (text, Bind::Chain(op))
        };
        match e {
            Expr::Sig(s, _) => (self.name(*s).to_owned(), Bind::Primary),
            Expr::Lit(v, w) => (literal(v, *w), Bind::Primary),
            Expr::Param(p, ..) => (self.signals.params[*p].name.clone(), Bind::Primary),
            Expr::Not(x) => {
                let op = if x.width() == 1 { '!' } else { '~' };
                let (text, bind) = self.text(x);
                let text = if bind == Bind::Primary {
                    text
                } else {
                    format!("({text})")
                };
                (format!("{op}{text}"), Bind::Unary)
            }
            Expr::Neg(x) => (format!("-{}", self.operand(x)), Bind::Loose),
            Expr::Reduce(op, x) => {
                let op = match op {
                    Reduce::All => "&",
                    Reduce::Any => "|",
                    Reduce::Xor => "^",
                };
                let (text, bind) = self.text(x);
                let text = if bind == Bind::Primary {
                    text
                } else {
                    format!("({text})")
                };
                (format!("{op}{text}"), Bind::Loose)
            }
            Expr::Bin(op, l, r) => chain(
                match op {
                    Op::Add => "+",
                    Op::Sub => "-",
                    Op::Mul => "*",
                    Op::And => "&",
                    Op::Or => "|",
                    Op::Xor => "^",
                },
                l,
                r,
            ),
            Expr::Logic(and, l, r) => chain(if *and { "&&" } else { "||" }, l, r),
            Expr::Shift(left, x, by) => {
                let op = if *left { "<<" } else { ">>" };
                (
                    format!("{} {op} {}", self.operand(x), self.operand(by)),
                    Bind::Loose,
                )
            }
            Expr::Cmp(op, signed, l, r) => {
                let op = match op {
                    Cmp::Eq => "==",
                    Cmp::Ne => "!=",
                    Cmp::Lt => "<",
                    Cmp::Le => "<=",
                    Cmp::Gt => ">",
                    Cmp::Ge => ">=",
                };
                let side = |x: &Expr| match x {
                    Expr::Lit(v, w) if *signed => signed_literal(v, *w),
                    x if *signed => format!("$signed({})", self.expr(x)),
                    x => self.operand(x),
                };
                (format!("{} {op} {}", side(l), side(r)), Bind::Loose)
            }
            Expr::Slice(s, lo, w) => (self.select(*s, *lo, *w), Bind::Primary),
            Expr::Bit(s, at) => (
                format!("{}[{}]", self.name(*s), self.expr(at)),
                Bind::Primary,
            ),
            Expr::Part(s, at, w) => (
                format!("{}[{} +: {w}]", self.name(*s), self.expr(at)),
                Bind::Primary,
            ),
            Expr::Concat(parts) => {
                let parts: Vec<String> = parts.iter().map(|p| self.expr(p)).collect();
                (format!("{{{}}}", parts.join(", ")), Bind::Primary)
            }
            Expr::Mux(c, a, b) => {
                let text = format!(
                    "{} ? {} : {}",
                    self.operand(c),
                    self.operand(a),
                    self.operand(b)
                );
                (text, Bind::Loose)
            }
            Expr::Repeat(n, x) => (format!("{{{n}{{{}}}}}", self.expr(x)), Bind::Primary),
        }
    }

    /// An operand, in parentheses unless it cannot be misread.
    fn operand(&self, e: &Expr) -> String {
        match self.text(e) {
            (text, Bind::Primary | Bind::Unary) => text,
            (text, _) => format!("({text})"),
        }
    }

    /// A left operand of `op`: chains of one operator need no parentheses.
    fn left(&self, e: &Expr, op: &str) -> String {
        match self.text(e) {
            (text, Bind::Primary | Bind::Unary) => text,
            (text, Bind::Chain(inner)) if inner == op => text,
            (text, _) => format!("({text})"),
        }
    }

    /// An expression over several lines if it is long; continuation lines get `indent`.
    pub(super) fn wrapped(&self, e: &Expr, used: usize, indent: &str) -> String {
        let flat = self.expr(e);
        if used + flat.len() <= LINE {
            return flat;
        }
        let (pieces, glue): (Vec<String>, String) = match e {
            Expr::Concat(parts) => {
                let pieces = parts.iter().map(|p| self.expr(p)).collect::<Vec<_>>();
                let body = pieces.join(&format!(",\n{indent}    "));
                return format!("{{\n{indent}    {body}\n{indent}}}");
            }
            Expr::Mux(c, a, b) => {
                let (c, a, b) = (self.operand(c), self.operand(a), self.operand(b));
                return format!("{c}\n{indent}    ? {a}\n{indent}    : {b}");
            }
            Expr::Bin(op @ (Op::And | Op::Or | Op::Xor | Op::Add), ..) => {
                let mut parts = vec![];
                let mut at = e;
                while let Expr::Bin(o, l, r) = at
                    && o == op
                {
                    parts.push(self.operand(r));
                    at = l;
                }
                parts.push(self.operand(at));
                parts.reverse();
                let text = match op {
                    Op::And => "& ",
                    Op::Or => "| ",
                    Op::Xor => "^ ",
                    _ => "+ ",
                };
                (parts, format!("\n{indent}    {text}"))
            }
            Expr::Logic(and, ..) => {
                let mut parts = vec![];
                let mut at = e;
                while let Expr::Logic(a, l, r) = at
                    && a == and
                {
                    parts.push(self.operand(r));
                    at = l;
                }
                parts.push(self.operand(at));
                parts.reverse();
                (
                    parts,
                    format!("\n{indent}    {} ", if *and { "&&" } else { "||" }),
                )
            }
            _ => return flat,
        };
        pieces.join(&glue)
    }

    /// Statements, indented by `depth` levels. `covered` holds the bits that are assigned
    /// already, so that a `case` knows whether its default may be empty.
    pub(super) fn stmts(
        &self,
        stmts: &[Stmt],
        depth: usize,
        covered: &mut BTreeMap<SigId, BigUint>,
        out: &mut String,
    ) {
        for s in stmts {
            self.stmt(s, depth, covered, out);
        }
    }

    fn stmt(
        &self,
        s: &Stmt,
        depth: usize,
        covered: &mut BTreeMap<SigId, BigUint>,
        out: &mut String,
    ) {
        let pad = "    ".repeat(depth);
        // A condition goes on beyond the column of what it decides.
        let deeper = "    ".repeat(depth + 1);
        self.said.say(&s.comments, &pad, out);
        match &s.kind {
            Kind::Assign { sig, lo, value } => {
                out.push_str(&pad);
                out.push_str(&self.assignment(*sig, *lo, value, depth));
            }
            Kind::If {
                cond,
                then,
                otherwise,
            } => {
                out.push_str(&format!(
                    "{pad}if ({}) begin\n",
                    self.wrapped(cond, pad.len() + 12, &deeper)
                ));
                self.stmts(then, depth + 1, &mut covered.clone(), out);
                let mut rest = otherwise;
                loop {
                    match rest.as_slice() {
                        [] => break,
                        [
                            Stmt {
                                comments,
                                kind:
                                    Kind::If {
                                        cond,
                                        then,
                                        otherwise,
                                    },
                            },
                        ] if comments.is_empty() => {
                            let cond = self.wrapped(cond, pad.len() + 18, &deeper);
                            out.push_str(&format!("{pad}end else if ({cond}) begin\n"));
                            self.stmts(then, depth + 1, &mut covered.clone(), out);
                            rest = otherwise;
                        }
                        _ => {
                            out.push_str(&format!("{pad}end else begin\n"));
                            self.stmts(rest, depth + 1, &mut covered.clone(), out);
                            break;
                        }
                    }
                }
                out.push_str(&format!("{pad}end\n"));
            }
            Kind::Case {
                subject,
                arms,
                rest,
            } => {
                out.push_str(&format!("{pad}case ({})\n", self.expr(subject)));
                let full = subject.width() < 32 && arms.len() as u64 == 1u64 << subject.width();
                // Rust's match is exhaustive, so an unlisted value cannot occur; but a value that
                // only the arms give must be given by a default as well, or it would be a latch.
                let fold = rest.is_none() && !full && !self.arms_are_covered(arms, covered);
                for (i, (labels, body)) in arms.iter().enumerate() {
                    let labels: Vec<String> = labels.iter().map(|l| self.expr(l)).collect();
                    let labels = labels.join(", ");
                    if fold && i + 1 == arms.len() {
                        out.push_str(&format!("{pad}    default: begin // {labels}\n"));
                    } else {
                        out.push_str(&format!("{pad}    {labels}: begin\n"));
                    }
                    self.stmts(body, depth + 2, &mut covered.clone(), out);
                    out.push_str(&format!("{pad}    end\n"));
                }
                if !fold && !full {
                    match rest.as_deref() {
                        Some(body) if !body.is_empty() => {
                            out.push_str(&format!("{pad}    default: begin\n"));
                            self.stmts(body, depth + 2, &mut covered.clone(), out);
                            out.push_str(&format!("{pad}    end\n"));
                        }
                        _ => out.push_str(&format!("{pad}    default: begin end\n")),
                    }
                }
                out.push_str(&format!("{pad}endcase\n"));
            }
        }
        for (t, bits) in stmt::always_assigned(std::slice::from_ref(s)) {
            *covered.entry(t).or_default() |= bits;
        }
    }

    /// True if everything the arms assign has been assigned before.
    fn arms_are_covered(
        &self,
        arms: &[(Vec<Expr>, Vec<Stmt>)],
        covered: &BTreeMap<SigId, BigUint>,
    ) -> bool {
        self.assign == "<="
            || arms
                .iter()
                .flat_map(|(_, body)| stmt::targets(body))
                .all(|t| {
                    covered
                        .get(&t)
                        .is_some_and(|bits| *bits == mask(self.signals.list[t].width))
                })
    }

    /// `x[7:0] = expr;` with the name of the struct field that it sets.
    pub(super) fn assignment(&self, sig: SigId, lo: usize, value: &Expr, depth: usize) -> String {
        let shown = self.rename.get(&sig).copied().unwrap_or(sig);
        let target = self.select(shown, lo, value.width());
        let s = &self.signals.list[sig];
        let field = field_at(&s.ty.kind, lo, value.width()).filter(|_| value.width() < s.width);
        let note = field
            .map(|(name, _)| format!(" // {name}"))
            .unwrap_or_default();
        let pad = "    ".repeat(depth);
        let value = self.wrapped(value, pad.len() + target.len() + 12, &pad);
        format!("{target} {} {value};{note}\n", self.assign)
    }
}

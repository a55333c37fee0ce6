//! From rust-hdl's kernel to typed statements: loops unrolled, links expanded,
//! names resolved.

use num_bigint::BigUint;
use rust_hdl::prelude::TypeKind;
use rust_hdl::prelude::ast::{
    VerilogBlockOrConditional, VerilogExpression as Ast, VerilogLink, VerilogLinkDetails,
    VerilogMatch, VerilogStatement,
};

use super::error::{EmitError, Reason};
use super::expr::{self, Expr, SigId};
use super::infer::{Lower, Ty, is_signed};
use super::signals::{self, Symbol};
use super::stmt::{Comment, Kind, Stmt};
use super::{names, path, tree};

/// Bits of a word of an entry in host memory.
const WORD: usize = 64;

/// Lowers a kernel. `fail` puts the block's name on an error.
pub(super) fn lower(
    lower: &mut Lower<'_>,
    code: &[VerilogStatement],
    fail: &dyn Fn(Option<String>, Reason) -> EmitError,
) -> Result<Vec<Stmt>, EmitError> {
    let mut out = Out {
        stmts: vec![],
        comments: vec![],
    };
    for s in code {
        statement(lower, s, fail, &mut out)?;
    }
    if let Some(last) = out.stmts.last_mut() {
        last.comments.append(&mut out.comments);
    }
    Ok(out.stmts)
}

/// Statements so far and the comments waiting for the next one.
struct Out {
    stmts: Vec<Stmt>,
    comments: Vec<Comment>,
}

impl Out {
    fn push(&mut self, kind: Kind) {
        let comments = std::mem::take(&mut self.comments);
        self.stmts.push(Stmt { comments, kind });
    }

    /// The statements of a block that stands here without a condition.
    fn extend(&mut self, mut block: Vec<Stmt>) {
        if let Some(first) = block.first_mut() {
            first.comments.splice(0..0, self.comments.drain(..));
        }
        self.stmts.append(&mut block);
    }
}

type Fail<'a> = &'a dyn Fn(Option<String>, Reason) -> EmitError;

fn statement(
    l: &mut Lower<'_>,
    s: &VerilogStatement,
    fail: Fail<'_>,
    out: &mut Out,
) -> Result<(), EmitError> {
    match s {
        VerilogStatement::Assignment(target, value) => {
            if let Some(record) = record_of(l, target) {
                let width = l.signals.records[record].width;
                return set_record(l, record, (0, width), value, fail, out);
            }
            let (sig, lo, width, signed) = assignee(l, target, fail)?;
            let name = names::rust_path(&l.signals.list[sig].key);
            let value = l
                .check(value, Ty { width, signed })
                .map_err(|r| fail(Some(name), r))?;
            out.push(Kind::Assign { sig, lo, value });
        }
        VerilogStatement::SliceAssignment {
            base,
            width,
            offset,
            replacement,
        } => {
            let at = l.constant(offset).and_then(|v| usize::try_from(v).ok());
            if let (Some(record), Some(at)) = (record_of(l, base), at) {
                return set_record(l, record, (at, *width), replacement, fail, out);
            }
            let (sig, from, whole, _) = assignee(l, base, fail)?;
            let name = names::rust_path(&l.signals.list[sig].key);
            let Some(lo) = at.filter(|lo| lo + width <= whole) else {
                let reason =
                    Reason::Unsupported("an assignment to a part at a run-time position".into());
                return Err(fail(Some(name), reason));
            };
            let field = signals::field_at(&l.signals.list[sig].ty.kind, from + lo, *width);
            let signed = field.is_some_and(|(_, ty)| is_signed(&ty.kind));
            let value = l
                .check(
                    replacement,
                    Ty {
                        width: *width,
                        signed,
                    },
                )
                .map_err(|r| fail(Some(name), r))?;
            out.push(Kind::Assign {
                sig,
                lo: from + lo,
                value,
            });
        }
        VerilogStatement::If(c) => {
            l.hint = first_target(l, &c.then).unwrap_or_else(|| "cond".into());
            let cond = l
                .condition(&c.test)
                .map_err(|r| fail(first_name(l, &c.then), r))?;
            let then = lower(l, &c.then, fail)?;
            let otherwise = match &c.otherwise {
                VerilogBlockOrConditional::Block(b) => lower(l, b, fail)?,
                VerilogBlockOrConditional::Conditional(s) => {
                    lower(l, std::slice::from_ref(&**s), fail)?
                }
                VerilogBlockOrConditional::None => vec![],
            };
            match cond.value() {
                Some(v) if *v == BigUint::ZERO => {
                    // What is said of it is said of nothing that there is.
                    out.comments.clear();
                    out.stmts.extend(otherwise);
                }
                Some(_) => out.extend(then),
                None => out.push(Kind::If {
                    cond,
                    then,
                    otherwise,
                }),
            }
        }
        VerilogStatement::Match(m) => out.push(case(l, m, fail)?),
        VerilogStatement::Loop(looped) => {
            let bound = |lit| tree::literal_value(lit).and_then(|v| i64::try_from(v).ok());
            let (Some(from), Some(to)) = (bound(&looped.from), bound(&looped.to)) else {
                return Err(fail(
                    None,
                    Reason::Unsupported(format!("the bounds of the loop over `{}`", looped.index)),
                ));
            };
            for i in from..to {
                l.loops.push((looped.index.clone(), i));
                let body = lower(l, &looped.block, fail);
                l.loops.pop();
                out.extend(body?);
            }
        }
        VerilogStatement::Comment(text) => {
            // rust-hdl keeps the text of `comment!`, `println!` and `assert!` with its macro's
            // name; only the first is meant for a reader of the Verilog.
            if let Some(said) = text.strip_prefix("comment").and_then(quoted) {
                let id = text.as_ptr() as usize;
                out.comments.push(Comment { id, text: said });
            }
        }
        VerilogStatement::Link(links) => {
            for link in links {
                let (target, source) = match link {
                    VerilogLink::Forward(d) => (side(&d.other_name, d), side(&d.owner_name, d)),
                    VerilogLink::Backward(d) => (side(&d.owner_name, d), side(&d.other_name, d)),
                    VerilogLink::Bidirectional(d) => {
                        let reason = Reason::Unsupported("a bidirectional link (`InOut`)".into());
                        return Err(fail(
                            Some(names::rust_path(&side(&d.owner_name, d))),
                            reason,
                        ));
                    }
                };
                let (target, source) = (Ast::Signal(target), Ast::Signal(source));
                statement(l, &VerilogStatement::Assignment(target, source), fail, out)?;
            }
        }
        VerilogStatement::Macro(block) => {
            // Clocks and holds of registers, which the text does not show: comments are for what follows.
            let comments = std::mem::take(&mut out.comments);
            for s in block {
                statement(l, s, fail, out)?;
            }
            out.comments = comments;
        }
    }
    Ok(())
}

/// The record that a target is.
fn record_of(l: &Lower<'_>, target: &Ast) -> Option<usize> {
    let Ast::Signal(name) = target else {
        return None;
    };
    match l.signals.symbol(&path::resolve(name, &l.loops).ok()?)? {
        Symbol::Record(id) => Some(id),
        _ => None,
    }
}

/// Gives so many bits of a record, from this one up, a value: an assignment to each of its signals that has some of them.
fn set_record(
    l: &mut Lower<'_>,
    record: usize,
    (at, width): (usize, usize),
    value: &Ast,
    fail: Fail<'_>,
    out: &mut Out,
) -> Result<(), EmitError> {
    let record = l.signals.records[record].clone();
    let Some(first) = record.first() else {
        return Ok(());
    };
    let name = names::rust_path(&l.signals.list[first].key);
    let refuse = |reason| fail(Some(name.clone()), reason);
    if at + width > record.width {
        let what = format!(
            "an assignment to bits beyond the {} of the record",
            record.width
        );
        return Err(refuse(Reason::Unsupported(what)));
    }
    let part = record.part_at(at, width);
    l.hint = l.signals.list[part.unwrap_or(first)].name.clone();
    let signed = part.is_some_and(|sig| is_signed(&l.signals.list[sig].ty.kind));
    // Of a record of words, each is the one that is given: `hdl_record!` lets no other width pass.
    let own = l
        .natural(value)
        .map_err(&refuse)?
        .map_or(width, |ty| ty.width);
    let is_word = part.is_none() && own == WORD && width > WORD && width.is_multiple_of(WORD);
    let value = match is_word {
        true => {
            let word = l
                .check(
                    value,
                    Ty {
                        width: WORD,
                        signed,
                    },
                )
                .map_err(&refuse)?;
            expr::concat(vec![word; width / WORD])
        }
        false => l.check(value, Ty { width, signed }).map_err(&refuse)?,
    };
    let mut base = 0;
    for (sig, bits) in record.parts {
        let (from, to) = (at.max(base), (at + width).min(base + bits));
        if let (Some(sig), true) = (sig, from < to) {
            if let Some(why) = signals::not_assignable(l.signals.list[sig].kind) {
                return Err(refuse(Reason::NotAssignable(why)));
            }
            l.hint = l.signals.list[sig].name.clone();
            let value = expr::slice(l, value.clone(), from - at, to - from).map_err(&refuse)?;
            let lo = from - base;
            out.push(Kind::Assign { sig, lo, value });
        }
        base += bits;
    }
    Ok(())
}

/// What a macro says: the text behind its quotation mark. rust-hdl leaves out what closes it.
fn quoted(text: &str) -> Option<String> {
    let (_, said) = text.split_once('"')?;
    let said = said.trim_end_matches("\")");
    Some(
        said.replace("\\\"", "\"")
            .replace("\\\\", "\\")
            .trim()
            .to_owned(),
    )
}

/// One end of a link.
fn side(name: &str, link: &VerilogLinkDetails) -> String {
    format!("{name}{}", link.my_name)
}

/// Signal, lowest bit, width and signedness of the left side of an assignment.
fn assignee(
    l: &mut Lower<'_>,
    target: &Ast,
    fail: Fail<'_>,
) -> Result<(SigId, usize, usize, bool), EmitError> {
    let Ast::Signal(name) = target else {
        return Err(fail(
            None,
            Reason::Unsupported("an assignment to an expression".into()),
        ));
    };
    let key = path::resolve(name, &l.loops).map_err(|r| fail(Some(names::rust_path(name)), r))?;
    let shown = names::rust_path(&key);
    let found = match l.signals.symbol(&key) {
        Some(Symbol::Signal(id)) => {
            let s = &l.signals.list[id];
            (id, 0, s.width, is_signed(&s.ty.kind))
        }
        Some(Symbol::Field(id, lo, width, signed)) => (id, lo, width, signed),
        Some(_) => return Err(fail(Some(shown), Reason::NotAssignable("a constant"))),
        None => return Err(fail(Some(shown.clone()), Reason::UnknownName(shown))),
    };
    if let Some(why) = signals::not_assignable(l.signals.list[found.0].kind) {
        return Err(fail(Some(shown), Reason::NotAssignable(why)));
    }
    l.hint = l.signals.list[found.0].name.clone();
    Ok(found)
}

/// Name of the first signal that a block assigns, after which its condition's helpers are named.
fn first_signal(l: &Lower<'_>, block: &[VerilogStatement]) -> Option<SigId> {
    block.iter().find_map(|s| match s {
        VerilogStatement::Assignment(Ast::Signal(name), _)
        | VerilogStatement::SliceAssignment {
            base: Ast::Signal(name),
            ..
        } => match l.signals.symbol(&path::resolve(name, &l.loops).ok()?)? {
            Symbol::Signal(id) | Symbol::Field(id, ..) => Some(id),
            Symbol::Record(id) => l.signals.records[id].first(),
            _ => None,
        },
        VerilogStatement::If(c) => first_signal(l, &c.then),
        VerilogStatement::Match(m) => m.cases.iter().find_map(|c| first_signal(l, &c.block)),
        _ => None,
    })
}

fn first_target(l: &Lower<'_>, block: &[VerilogStatement]) -> Option<String> {
    first_signal(l, block).map(|id| l.signals.list[id].name.clone())
}

fn first_name(l: &Lower<'_>, block: &[VerilogStatement]) -> Option<String> {
    first_signal(l, block).map(|id| names::rust_path(&l.signals.list[id].key))
}

fn case(l: &mut Lower<'_>, m: &VerilogMatch, fail: Fail<'_>) -> Result<Kind, EmitError> {
    let blame = m.cases.iter().find_map(|c| first_name(l, &c.block));
    l.hint = m
        .cases
        .iter()
        .find_map(|c| first_target(l, &c.block))
        .unwrap_or_else(|| "case".into());
    let subject = l.infer(&m.test).map_err(|r| fail(blame.clone(), r))?;
    let variants = enum_of(l, &m.test);
    let mut arms: Vec<(Vec<Expr>, Vec<Stmt>)> = vec![];
    let mut rest = None;
    for c in &m.cases {
        let body = lower(l, &c.block, fail)?;
        if c.condition == "default" {
            rest = Some(body);
            break;
        }
        let label = label(l, &c.condition, &subject, variants.as_deref())
            .map_err(|r| fail(blame.clone(), r))?;
        arms.push((vec![label], body));
    }
    // A match on a Bit is an if.
    if subject.width() == 1 && variants.is_none() {
        let mut sides = [rest.clone().unwrap_or_default(), rest.unwrap_or_default()];
        for (labels, body) in arms {
            let one = labels
                .iter()
                .any(|v| v.value() == Some(&BigUint::from(1u8)));
            sides[usize::from(one)] = body;
        }
        let [otherwise, then] = sides;
        return Ok(Kind::If {
            cond: subject,
            then,
            otherwise,
        });
    }
    Ok(Kind::Case {
        subject,
        arms,
        rest,
    })
}

/// Name of the enum that an expression has, if it is a signal of one.
fn enum_of(l: &Lower<'_>, e: &Ast) -> Option<String> {
    match e {
        Ast::Paren(x) => enum_of(l, x),
        Ast::Signal(name) => {
            let Symbol::Signal(id) = l.signals.symbol(&path::resolve(name, &l.loops).ok()?)? else {
                return None;
            };
            let ty = &l.signals.list[id].ty;
            matches!(ty.kind, TypeKind::Enum(_)).then(|| ty.name.clone())
        }
        Ast::Slice(x, width, offset) => {
            let Ast::Signal(name) = &**x else { return None };
            let lo = usize::try_from(l.constant(offset)?).ok()?;
            let id = match l.signals.symbol(&path::resolve(name, &l.loops).ok()?)? {
                Symbol::Signal(id) => id,
                Symbol::Record(id) => {
                    let sig = l.signals.records[id].part_at(lo, *width)?;
                    let ty = &l.signals.list[sig].ty;
                    return matches!(ty.kind, TypeKind::Enum(_)).then(|| ty.name.clone());
                }
                _ => return None,
            };
            let (_, ty) = signals::field_at(&l.signals.list[id].ty.kind, lo, *width)?;
            matches!(ty.kind, TypeKind::Enum(_)).then_some(ty.name)
        }
        _ => None,
    }
}

/// The value of a match arm's pattern.
fn label(
    l: &Lower<'_>,
    pattern: &str,
    subject: &Expr,
    variants: Option<&str>,
) -> Result<Expr, Reason> {
    let width = subject.width();
    let number = pattern.replace('_', "");
    let digits: String = number.chars().take_while(char::is_ascii_digit).collect();
    if pattern == "true" || pattern == "false" {
        return Expr::literal(&i32::from(pattern == "true").into(), width);
    }
    if let Some(hex) = number
        .strip_prefix("0x")
        .and_then(|h| u64::from_str_radix(h, 16).ok())
    {
        return Expr::literal(&hex.into(), width);
    }
    if let Ok(v) = digits.parse::<u64>() {
        return Expr::literal(&v.into(), width);
    }
    let key = path::resolve(pattern, &[])?;
    let variant = key.rsplit('$').next().unwrap_or(&key).to_owned();
    // A pattern without a path (`use State::*`) or with `Self` belongs to the subject's enum.
    let key = variants.map_or(key, |e| format!("{e}${variant}"));
    match l.signals.symbol(&key) {
        Some(Symbol::Param(id)) if l.signals.params[id].width == width => {
            Ok(Expr::Param(id, l.signals.params[id].value.clone(), width))
        }
        _ => Err(Reason::UnknownName(names::rust_path(pattern))),
    }
}

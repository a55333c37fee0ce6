//! From rust-hdl's untyped AST to typed expressions, by rust-hdl's typing rules.
//!
//! The AST drops `.into()` and the widths of literals and signed casts, so a
//! width comes either from the expression itself ([`Lower::natural`]) or from
//! where it stands.

use num_bigint::BigInt;
use rust_hdl::prelude::TypeKind;
use rust_hdl::prelude::ast::{VerilogExpression as Ast, VerilogOp, VerilogOpUnary};

use super::error::{Fallible, Reason};
use super::expr::{self, Cmp, Expr, Helpers, Op, Reduce, SigId};
use super::signals::{Signals, Symbol};
use super::{merge, names, path, tree};

/// rust-hdl's `LiteralType` is `u64`: what a bare literal is when shifted.
const LITERAL_BITS: usize = 64;

/// Width and signedness of a Rust type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ty {
    pub width: usize,
    pub signed: bool,
}

impl Ty {
    fn bits(width: usize) -> Self {
        Ty {
            width,
            signed: false,
        }
    }
}

/// A lowering in progress: the module's signals, the loop indexes in scope, and the target
/// after which helper signals are named.
pub(super) struct Lower<'a> {
    pub signals: &'a mut Signals,
    pub loops: Vec<(String, i64)>,
    pub hint: String,
}

impl Helpers for Lower<'_> {
    fn helper(&mut self, e: Expr, role: &str) -> Fallible<SigId> {
        self.signals.helper(e, &format!("{}_{role}", self.hint))
    }
}

/// Short text of an expression for messages.
fn abridged(e: &Ast) -> String {
    match e {
        Ast::Signal(s) => names::rust_path(s),
        Ast::Literal(l) => {
            tree::literal_value(l).map_or_else(|| format!("{l:?}"), |v| v.to_string())
        }
        Ast::Cast(x, n) => format!("bit_cast::<{n}>({})", abridged(x)),
        Ast::Signed(x) => format!("signed_cast({})", abridged(x)),
        Ast::Unsigned(x) => format!("unsigned_cast({})", abridged(x)),
        Ast::Paren(x) => format!("({})", abridged(x)),
        Ast::Binary(l, op, r) => format!("{} {op:?} {}", abridged(l), abridged(r)),
        Ast::Unary(op, x) => format!("{op:?} {}", abridged(x)),
        Ast::Index(x, i) => format!("{}.get_bit({})", abridged(x), abridged(i)),
        Ast::Slice(x, w, o) => format!("{}.get_bits::<{w}>({})", abridged(x), abridged(o)),
        Ast::IndexReplace(x, i, v) => {
            format!(
                "{}.replace_bit({}, {})",
                abridged(x),
                abridged(i),
                abridged(v)
            )
        }
    }
}

impl Lower<'_> {
    /// Resolves a name of the kernel.
    fn symbol(&self, name: &str) -> Fallible<Symbol> {
        if let Some((_, value)) = self.loops.iter().rev().find(|(n, _)| n == name) {
            return Ok(Symbol::Index(*value));
        }
        let key = path::resolve(name, &self.loops)?;
        self.signals
            .symbol(&key)
            .ok_or_else(|| Reason::UnknownName(names::rust_path(&key)))
    }

    /// Value of an expression made of literals and loop indexes only.
    pub(super) fn constant(&self, e: &Ast) -> Option<BigInt> {
        match e {
            // One bit means `true` or `false`, which have a width.
            Ast::Literal(l) if tree::literal_bits(l) != Some(1) => tree::literal_value(l),
            Ast::Signal(name) => match self.symbol(name) {
                Ok(Symbol::Index(v)) => Some(v.into()),
                _ => None,
            },
            Ast::Paren(x) => self.constant(x),
            Ast::Unary(VerilogOpUnary::Neg, x) => Some(-self.constant(x)?),
            Ast::Binary(l, op, r) => {
                // Most trees fail on their first leaf, so test the shallow side first.
                let r = self.constant(r)?;
                let l = self.constant(l)?;
                match op {
                    VerilogOp::Add => Some(l + r),
                    VerilogOp::Sub => Some(l - r),
                    VerilogOp::Mul => Some(l * r),
                    VerilogOp::Shl => Some(l << u16::try_from(r).ok()?),
                    VerilogOp::Shr => Some(l >> u16::try_from(r).ok()?),
                    VerilogOp::BitAnd => Some(l & r),
                    VerilogOp::BitOr => Some(l | r),
                    VerilogOp::BitXor => Some(l ^ r),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The type that an expression has by itself, if it has one.
    pub(super) fn natural(&self, e: &Ast) -> Fallible<Option<Ty>> {
        Ok(match e {
            Ast::Signal(name) => match self.symbol(name)? {
                Symbol::Index(_) => None,
                Symbol::Signal(id) => {
                    let s = &self.signals.list[id];
                    Some(Ty {
                        width: s.width,
                        signed: is_signed(&s.ty.kind),
                    })
                }
                Symbol::Field(_, _, width, signed) => Some(Ty { width, signed }),
                Symbol::Record(id) => Some(Ty::bits(self.signals.records[id].width)),
                Symbol::Param(id) => {
                    let p = &self.signals.params[id];
                    Some(Ty {
                        width: p.width,
                        signed: p.signed,
                    })
                }
            },
            Ast::Literal(l) => (tree::literal_bits(l) == Some(1)).then(|| Ty::bits(1)),
            Ast::Cast(_, width) => Some(Ty::bits(*width)),
            // `signed_cast` keeps the width of its unsigned argument; `signed_bit_cast` takes a
            // signed one to a width that only the context knows.
            Ast::Signed(x) => match self.natural(x)? {
                Some(Ty {
                    width,
                    signed: false,
                }) => Some(Ty {
                    width,
                    signed: true,
                }),
                _ => None,
            },
            Ast::Unsigned(x) => self.natural(x)?.map(|t| Ty::bits(t.width)),
            Ast::Paren(x) => self.natural(x)?,
            Ast::Binary(l, op, r) => match op {
                VerilogOp::Add
                | VerilogOp::Sub
                | VerilogOp::BitAnd
                | VerilogOp::BitOr
                | VerilogOp::BitXor => match self.natural(l)? {
                    Some(t) => Some(t),
                    None => self.natural(r)?,
                },
                VerilogOp::Mul => match (self.natural(l)?, self.natural(r)?) {
                    (Some(a), Some(b)) => Some(Ty {
                        width: a.width + b.width,
                        signed: a.signed,
                    }),
                    _ => None,
                },
                VerilogOp::Shl | VerilogOp::Shr => match self.natural(l)? {
                    Some(t) => Some(t),
                    None => self.natural(r)?.map(|_| Ty::bits(LITERAL_BITS)),
                },
                _ => Some(Ty::bits(1)),
            },
            Ast::Unary(VerilogOpUnary::Not | VerilogOpUnary::Neg, x) => self.natural(x)?,
            Ast::Unary(..) | Ast::Index(..) => Some(Ty::bits(1)),
            Ast::Slice(x, width, _) => {
                let signed = match self.struct_field(e)? {
                    Some(signed) => signed,
                    None => self.natural(x)?.is_some_and(|t| t.signed),
                };
                Some(Ty {
                    width: *width,
                    signed,
                })
            }
            Ast::IndexReplace(x, ..) => self.natural(x)?,
        })
    }

    /// Signedness of the struct field that a slice reads, if it is one.
    fn struct_field(&self, e: &Ast) -> Fallible<Option<bool>> {
        let Ast::Slice(x, width, offset) = e else {
            return Ok(None);
        };
        let (Ast::Signal(name), Some(offset)) = (&**x, self.constant(offset)) else {
            return Ok(None);
        };
        let at = usize::try_from(offset).unwrap_or(usize::MAX);
        Ok(match self.symbol(name)? {
            Symbol::Signal(id) => {
                let kind = &self.signals.list[id].ty.kind;
                super::signals::field_at(kind, at, *width).map(|(_, field)| is_signed(&field.kind))
            }
            Symbol::Record(id) => {
                let part = self.signals.records[id].part_at(at, *width);
                part.map(|sig| is_signed(&self.signals.list[sig].ty.kind))
            }
            _ => None,
        })
    }

    /// `e` as an expression of exactly the type `ty`.
    pub(super) fn check(&mut self, e: &Ast, ty: Ty) -> Fallible<Expr> {
        if let Some(v) = self.constant(e) {
            return Expr::literal(&v, ty.width);
        }
        let out = self.build(e, Some(ty))?;
        if out.width() == ty.width {
            return Ok(out);
        }
        Err(Reason::WidthMismatch {
            expected: ty.width,
            found: out.width(),
            expr: abridged(e),
        })
    }

    /// `e` with the width it has by itself.
    pub(super) fn infer(&mut self, e: &Ast) -> Fallible<Expr> {
        let ty = self.ty(e, None)?;
        self.check(e, ty)
    }

    /// A condition.
    pub(super) fn condition(&mut self, e: &Ast) -> Fallible<Expr> {
        self.check(e, Ty::bits(1))
    }

    fn ty(&self, e: &Ast, expect: Option<Ty>) -> Fallible<Ty> {
        self.natural(e)?
            .or(expect)
            .ok_or_else(|| Reason::AmbiguousWidth(abridged(e)))
    }

    /// The common type of two operands.
    fn common(&self, l: &Ast, r: &Ast, expect: Option<Ty>) -> Fallible<Ty> {
        match self.natural(l)? {
            Some(t) => Ok(t),
            None => self.ty(r, expect),
        }
    }

    /// An index or shift amount: its own width, or the least that a constant needs.
    fn amount(&mut self, e: &Ast) -> Fallible<Expr> {
        match self.constant(e) {
            Some(v) => {
                let bits = usize::try_from(v.bits()).unwrap_or(usize::MAX).max(1);
                Expr::literal(&v, bits)
            }
            None => self.infer(e),
        }
    }

    fn build(&mut self, e: &Ast, expect: Option<Ty>) -> Fallible<Expr> {
        match e {
            Ast::Signal(name) => Ok(match self.symbol(name)? {
                Symbol::Index(_) => return Err(Reason::AmbiguousWidth(abridged(e))),
                Symbol::Signal(id) => Expr::Sig(id, self.signals.list[id].width),
                Symbol::Field(id, lo, w, _) => {
                    let whole = Expr::Sig(id, self.signals.list[id].width);
                    expr::slice(self, whole, lo, w)?
                }
                Symbol::Record(id) => self.signals.records[id].value(),
                Symbol::Param(id) => {
                    let p = &self.signals.params[id];
                    Expr::Param(id, p.value.clone(), p.width)
                }
            }),
            Ast::Literal(l) => {
                let value = tree::literal_value(l)
                    .ok_or_else(|| Reason::Unsupported(format!("literal {l:?}")))?;
                Expr::literal(&value, 1)
            }
            Ast::Paren(x) => self.build(x, expect),
            Ast::Cast(x, width) => {
                if let Some(v) = self.constant(x) {
                    return Expr::literal(&v, *width);
                }
                let inner = self.infer(x)?;
                expr::resize(self, inner, *width)
            }
            Ast::Signed(x) => match self.natural(x)? {
                Some(Ty { signed: false, .. }) => self.infer(x),
                Some(_) => {
                    let to = expect.ok_or_else(|| Reason::AmbiguousWidth(abridged(e)))?;
                    let inner = self.infer(x)?;
                    expr::resize_signed(self, inner, to.width)
                }
                None => {
                    let to = expect.ok_or_else(|| Reason::AmbiguousWidth(abridged(e)))?;
                    self.check(x, Ty::bits(to.width))
                }
            },
            Ast::Unsigned(x) => {
                let ty = self.ty(x, expect)?;
                self.check(
                    x,
                    Ty {
                        width: ty.width,
                        signed: true,
                    },
                )
            }
            Ast::Binary(l, op, r) => self.binary(l, op, r, expect),
            Ast::Unary(op, x) => self.unary(op, x, expect),
            Ast::Index(x, i) => {
                let word = self.infer(x)?;
                if let Some(v) = self.constant(i) {
                    let at = usize::try_from(v).ok().filter(|at| *at < word.width());
                    let at = at.ok_or_else(|| {
                        Reason::Unsupported(format!("`{}`, beyond the end,", abridged(e)))
                    })?;
                    return expr::slice(self, word, at, 1);
                }
                let at = self.infer(i)?;
                expr::bit(self, word, at)
            }
            Ast::Slice(x, width, offset) => {
                let word = self.infer(x)?;
                let Some(v) = self.constant(offset) else {
                    let offset = self.infer(offset)?;
                    return expr::part(self, word, offset, *width);
                };
                // rust-hdl shifts and casts: bits beyond the end are zero.
                let have = word.width();
                let lo = usize::try_from(v).ok().filter(|lo| *lo <= have);
                let lo = lo.ok_or_else(|| {
                    Reason::Unsupported(format!("`{}`, beyond the end,", abridged(e)))
                })?;
                let inside = (have - lo).min(*width);
                let low = if inside == 0 {
                    Expr::Lit(Default::default(), 0)
                } else {
                    expr::slice(self, word, lo, inside)?
                };
                expr::resize(self, low, *width)
            }
            Ast::IndexReplace(x, i, v) => {
                let ty = self.ty(x, expect)?;
                let word = self.check(x, ty)?;
                let at = self.amount(i)?;
                let bit = self.condition(v)?;
                expr::replace_bit(self, word, at, bit)
            }
        }
    }

    fn unary(&mut self, op: &VerilogOpUnary, x: &Ast, expect: Option<Ty>) -> Fallible<Expr> {
        let reduce = match op {
            VerilogOpUnary::Not | VerilogOpUnary::Neg => {
                let ty = self.ty(x, expect)?;
                let inner = Box::new(self.check(x, ty)?);
                return Ok(if matches!(op, VerilogOpUnary::Not) {
                    Expr::Not(inner)
                } else {
                    Expr::Neg(inner)
                });
            }
            VerilogOpUnary::All => Reduce::All,
            VerilogOpUnary::Any => Reduce::Any,
            VerilogOpUnary::Xor => Reduce::Xor,
        };
        let inner = self.infer(x)?;
        Ok(if inner.width() == 1 {
            inner
        } else {
            Expr::Reduce(reduce, Box::new(inner))
        })
    }

    fn binary(&mut self, l: &Ast, op: &VerilogOp, r: &Ast, expect: Option<Ty>) -> Fallible<Expr> {
        let bin = |op, a: Expr, b: Expr| match op {
            Op::Or => merge::or(a, b),
            _ => Expr::Bin(op, Box::new(a), Box::new(b)),
        };
        let same = match op {
            VerilogOp::Add => Op::Add,
            VerilogOp::Sub => Op::Sub,
            VerilogOp::BitAnd => Op::And,
            VerilogOp::BitOr => Op::Or,
            VerilogOp::BitXor => Op::Xor,
            VerilogOp::Mul => {
                let (a, b) = (self.natural(l)?, self.natural(r)?);
                let (Some(a), Some(b)) = (a, b) else {
                    return Err(Reason::AmbiguousWidth(format!(
                        "{} * {}",
                        abridged(l),
                        abridged(r)
                    )));
                };
                let width = a.width + b.width;
                let (x, y) = (self.infer(l)?, self.infer(r)?);
                return Ok(if a.signed {
                    bin(
                        Op::Mul,
                        expr::resize_signed(self, x, width)?,
                        expr::resize_signed(self, y, width)?,
                    )
                } else {
                    bin(
                        Op::Mul,
                        expr::resize(self, x, width)?,
                        expr::resize(self, y, width)?,
                    )
                });
            }
            VerilogOp::LogicalAnd | VerilogOp::LogicalOr => {
                let (a, b) = (self.condition(l)?, self.condition(r)?);
                return Ok(Expr::Logic(
                    matches!(op, VerilogOp::LogicalAnd),
                    Box::new(a),
                    Box::new(b),
                ));
            }
            VerilogOp::Shl | VerilogOp::Shr => {
                let by = self.amount(r)?;
                let ty = match self.natural(l)? {
                    Some(ty) => ty,
                    None => Ty::bits(LITERAL_BITS),
                };
                let word = self.check(l, ty)?;
                return expr::shift(self, matches!(op, VerilogOp::Shl), word, by);
            }
            _ => return self.comparison(l, op, r),
        };
        let ty = self.common(l, r, expect)?;
        // `Bits<N> + bool` is the one operation whose operands differ.
        if matches!(op, VerilogOp::Add) && ty.width > 1 && self.natural(r)? == Some(Ty::bits(1)) {
            let (a, b) = (self.check(l, ty)?, self.condition(r)?);
            let b = expr::resize(self, b, ty.width)?;
            return Ok(bin(same, a, b));
        }
        let (a, b) = (self.check(l, ty)?, self.check(r, ty)?);
        Ok(bin(same, a, b))
    }

    fn comparison(&mut self, l: &Ast, op: &VerilogOp, r: &Ast) -> Fallible<Expr> {
        let cmp = match op {
            VerilogOp::Eq => Cmp::Eq,
            VerilogOp::Ne => Cmp::Ne,
            VerilogOp::Lt => Cmp::Lt,
            VerilogOp::Le => Cmp::Le,
            VerilogOp::Gt => Cmp::Gt,
            VerilogOp::Ge => Cmp::Ge,
            op => return Err(Reason::Unsupported(format!("operator {op:?}"))),
        };
        if let (Some(a), Some(b)) = (self.constant(l), self.constant(r)) {
            let holds = match cmp {
                Cmp::Eq => a == b,
                Cmp::Ne => a != b,
                Cmp::Lt => a < b,
                Cmp::Le => a <= b,
                Cmp::Gt => a > b,
                Cmp::Ge => a >= b,
            };
            return Expr::literal(&BigInt::from(u8::from(holds)), 1);
        }
        let ty = self.common(l, r, None)?;
        let (a, b) = (self.check(l, ty)?, self.check(r, ty)?);
        // Equality does not care about the sign.
        let signed = ty.signed && !matches!(cmp, Cmp::Eq | Cmp::Ne);
        Ok(Expr::Cmp(cmp, signed, Box::new(a), Box::new(b)))
    }
}

/// True for rust-hdl's `Signed`.
pub(super) fn is_signed(kind: &TypeKind) -> bool {
    matches!(kind, TypeKind::Signed(_))
}

//! What is computed.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use syn::{BinOp, Error, Expr, ExprCall, ExprField, ExprMethodCall, GenericArgument, Lit, Member};
use syn::{PathArguments, Result, UnOp};

use super::{Text, name};

impl Text {
    pub(super) fn expression(&mut self, expr: &Expr) -> Result<()> {
        match expr {
            Expr::Path(_) | Expr::Index(_) => {
                self.signal(expr);
                Ok(())
            }
            Expr::Field(field) => self.field(field),
            Expr::Paren(paren) => {
                self.code('p');
                self.expression(&paren.expr)
            }
            Expr::Binary(both) => {
                self.code('b');
                self.code(operator(&both.op)?);
                self.expression(&both.left)?;
                self.expression(&both.right)
            }
            Expr::Unary(one) => {
                self.code('n');
                self.code(match one.op {
                    UnOp::Not(_) => '!',
                    UnOp::Neg(_) => '-',
                    _ => return Err(Error::new_spanned(one, "a kernel has no such operator")),
                });
                self.expression(&one.expr)
            }
            Expr::Call(call) => self.cast(call),
            Expr::MethodCall(call) => self.method(call),
            Expr::Lit(literal) => self.literal(&literal.lit),
            _ => Err(Error::new_spanned(
                expr,
                "a kernel has no expressions of this kind",
            )),
        }
    }

    fn signal(&mut self, of: &impl ToTokens) {
        self.code('s');
        self.word(&name(of));
    }

    fn field(&mut self, field: &ExprField) -> Result<()> {
        let base = &field.base;
        if name(base).ends_with("val()") {
            let Member::Named(member) = &field.member else {
                return Err(Error::new_spanned(field, "fields have names"));
            };
            let width = format_ident!("get_my_width_{member}");
            let offset = format_ident!("get_my_offset_{member}");
            self.code('f');
            self.expression(base)?;
            self.number(&quote!(#base.#width()));
            self.number(&quote!(#base.#offset()));
            return Ok(());
        }
        if name(field).ends_with("$next") {
            let message = "read `.val()`, not `.next`";
            return Err(Error::new_spanned(field, message));
        }
        self.signal(field);
        Ok(())
    }

    fn literal(&mut self, literal: &Lit) -> Result<()> {
        self.code('l');
        match literal {
            Lit::Bool(value) => {
                self.word("bool");
                self.word(if value.value { "1" } else { "0" });
            }
            Lit::Int(value) => {
                self.word(match value.suffix() {
                    "" => "i32",
                    suffix => suffix,
                });
                self.word(value.base10_digits());
            }
            _ => {
                let message = "numbers, `true` and `false` are a kernel's constants";
                return Err(Error::new_spanned(literal, message));
            }
        }
        Ok(())
    }

    /// `bit_cast::<M, N>(x)`, `bits::<N>(x)`, `signed_cast(x)` and their like.
    fn cast(&mut self, call: &ExprCall) -> Result<()> {
        let message =
            "a kernel calls casts alone: `bit_cast`, `bits`, `signed_cast`, `unsigned_cast`";
        let Expr::Path(path) = &*call.func else {
            return Err(Error::new_spanned(call, message));
        };
        let (Some(function), Some(argument)) = (path.path.segments.first(), call.args.first())
        else {
            return Err(Error::new_spanned(call, message));
        };
        match function.ident.to_string().as_str() {
            "bit_cast" | "bits" => {
                self.code('c');
                self.expression(argument)?;
                let width = first_generic(&function.arguments);
                self.number(&width.unwrap_or_else(|| quote!((#call).bits())));
                Ok(())
            }
            "unsigned_cast" => {
                self.code('u');
                self.expression(argument)
            }
            "signed_cast" | "signed_bit_cast" => {
                self.code('g');
                self.expression(argument)
            }
            _ => Err(Error::new_spanned(call, message)),
        }
    }

    fn method(&mut self, call: &ExprMethodCall) -> Result<()> {
        let arguments: Vec<&Expr> = call.args.iter().collect();
        let method = call.method.to_string();
        match (method.as_str(), &arguments[..]) {
            ("val" | "into" | "index" | "to_bits", _) => self.expression(&call.receiver),
            ("all" | "any" | "xor", _) => {
                self.code('n');
                self.code(match method.as_str() {
                    "all" => '&',
                    "any" => '|',
                    _ => '^',
                });
                self.expression(&call.receiver)
            }
            ("get_bit", [index]) => {
                self.code('i');
                self.expression(&call.receiver)?;
                self.expression(index)
            }
            ("get_bits", [offset]) => {
                let turbofish = call.turbofish.as_ref().map(|t| t.args.first());
                let Some(Some(width)) = turbofish else {
                    let message = "say how many bits: `get_bits::<8>(0)`";
                    return Err(Error::new_spanned(call, message));
                };
                self.code('x');
                self.expression(&call.receiver)?;
                self.number(&width.to_token_stream());
                self.expression(offset)
            }
            ("replace_bit", [index, value]) => {
                self.code('r');
                self.expression(&call.receiver)?;
                self.expression(index)?;
                self.expression(value)
            }
            ("to_signed_bits", _) => {
                self.code('g');
                self.expression(&call.receiver)
            }
            _ => Err(Error::new_spanned(
                &call.method,
                "a kernel has no such method",
            )),
        }
    }
}

/// `M` of `::<M, N>`.
fn first_generic(arguments: &PathArguments) -> Option<TokenStream> {
    let PathArguments::AngleBracketed(list) = arguments else {
        return None;
    };
    match list.args.first()? {
        GenericArgument::Type(syn::Type::Infer(_)) => None,
        width => Some(width.to_token_stream()),
    }
}

fn operator(op: &BinOp) -> Result<char> {
    Ok(match op {
        BinOp::Add(_) => '+',
        BinOp::Sub(_) => '-',
        BinOp::Mul(_) => '*',
        BinOp::And(_) => 'a',
        BinOp::Or(_) => 'o',
        BinOp::BitXor(_) => '^',
        BinOp::BitAnd(_) => '&',
        BinOp::BitOr(_) => '|',
        BinOp::Shl(_) => 'l',
        BinOp::Shr(_) => 'r',
        BinOp::Eq(_) => '=',
        BinOp::Lt(_) => '<',
        BinOp::Le(_) => 'L',
        BinOp::Ne(_) => '!',
        BinOp::Ge(_) => 'G',
        BinOp::Gt(_) => '>',
        _ => return Err(Error::new_spanned(op, "a kernel has no such operator")),
    })
}

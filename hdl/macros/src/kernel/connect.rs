//! What a kernel drives: each place once.

use std::collections::HashSet;

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Block, Expr, ExprMacro, Member, Stmt};

use super::{part, registers};

/// The body of `fn connect`. What is wrong in the kernel is said elsewhere.
pub fn expand(block: &Block) -> TokenStream {
    Driven::default().block(block)
}

/// What has been driven so far, outside of loops.
#[derive(Default)]
struct Driven(HashSet<String>);

impl Driven {
    fn block(&mut self, block: &Block) -> TokenStream {
        let statements = block.stmts.iter().map(|statement| match statement {
            Stmt::Expr(expr, _) => self.statement(expr),
            Stmt::Macro(call) => self.registers(&ExprMacro {
                attrs: vec![],
                mac: call.mac.clone(),
            }),
            _ => TokenStream::new(),
        });
        statements.collect()
    }

    fn statement(&mut self, expr: &Expr) -> TokenStream {
        match expr {
            Expr::Assign(assign) => match driven(&assign.left) {
                Some(place) => self.drive(place),
                None => TokenStream::new(),
            },
            Expr::If(condition) => {
                let mut out = self.block(&condition.then_branch);
                if let Some((_, other)) = &condition.else_branch {
                    out.extend(self.statement(other));
                }
                out
            }
            Expr::Block(block) => self.block(&block.block),
            Expr::Match(choice) => {
                let arms = choice.arms.iter().map(|arm| self.statement(&arm.body));
                arms.collect()
            }
            Expr::ForLoop(looped) => {
                let (index, range) = (&looped.pat, &looped.expr);
                let body = Self::default().block(&looped.body);
                quote!(for #index in #range { #body })
            }
            Expr::Call(call) => {
                let Expr::Path(path) = &*call.func else {
                    return TokenStream::new();
                };
                let arguments = &call.args;
                match path.path.segments.last() {
                    Some(last) if last.ident == "join" => {
                        quote!(::rust_hdl::prelude::logic::logic_connect_join_fn(#arguments);)
                    }
                    Some(last) if last.ident == "link" => {
                        quote!(::rust_hdl::prelude::logic::logic_connect_link_fn(#arguments);)
                    }
                    _ => TokenStream::new(),
                }
            }
            Expr::MethodCall(call) => match part::called(call) {
                Ok(name) => {
                    let connect = part::connect_of(name);
                    quote!(self.#connect();)
                }
                Err(_) => TokenStream::new(),
            },
            Expr::Macro(call) => self.registers(call),
            _ => TokenStream::new(),
        }
    }

    fn registers(&mut self, call: &ExprMacro) -> TokenStream {
        let data = call.mac.path.is_ident("dff_setup");
        if !data && !call.mac.path.is_ident("clock") {
            return TokenStream::new();
        }
        let Ok((block, _, registers)) = registers(call) else {
            return TokenStream::new();
        };
        let mut out = TokenStream::new();
        for register in registers {
            out.extend(self.drive(quote!(#block.#register.clock)));
            if data {
                out.extend(self.drive(quote!(#block.#register.d)));
            }
        }
        out
    }

    fn drive(&mut self, place: TokenStream) -> TokenStream {
        match self.0.insert(place.to_string()) {
            true => quote!(::rust_hdl::prelude::logic::logic_connect_fn(&mut #place);),
            false => TokenStream::new(),
        }
    }
}

/// `self.a.b` of `self.a.b.next` and of `self.a.b.next.field`.
fn driven(left: &Expr) -> Option<TokenStream> {
    let Expr::Field(field) = left else {
        return None;
    };
    match &field.member {
        Member::Named(name) if name == "next" => Some(field.base.to_token_stream()),
        _ => driven(&field.base),
    }
}

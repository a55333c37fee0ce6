//! A kernel as text that `tributary_verilog::kernel` reads, and what it drives.
//!
//! A tree that is built by code is built again for every size of a block, which takes the compiler longer than all else in
//! a kernel. So the tree is a constant text here, and what depends on sizes stands beside it in a list of numbers.

mod connect;
mod expression;
mod part;

use std::collections::HashMap;

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Block, Error, Expr, ExprAssign, ExprCall, ExprForLoop, ExprIf, ExprMacro, ExprMatch};
use syn::{ItemFn, Member, Pat, Result, Stmt, Token};

pub use part::expand as expand_part;

/// `fn hdl` and `fn connect` of a kernel.
pub fn expand(kernel: &ItemFn) -> Result<TokenStream> {
    let tree = tree(&kernel.block)?;
    let connect = connect::expand(&kernel.block);
    Ok(quote! {
        #[allow(unused_variables)]
        fn hdl(&self) -> ::rust_hdl::prelude::Verilog {
            ::rust_hdl::prelude::Verilog::Combinatorial(#tree)
        }
        #[allow(unused_variables)]
        fn connect(&mut self) {
            #connect
        }
    })
}

/// What makes the tree of a block of statements.
fn tree(block: &Block) -> Result<TokenStream> {
    let mut all = Text::default();
    all.block(block)?;
    let Text {
        text,
        numbers,
        links,
        parts,
        ..
    } = all;
    Ok(quote! {
        ::tributary_verilog::kernel::read(
            #text,
            &[#(#numbers),*],
            vec![#(#links),*],
            vec![#(#parts),*],
        )
    })
}

/// A name as Verilog has it: `self.a.b` is `a$b`.
fn name(of: &impl ToTokens) -> String {
    let text: String = of
        .to_token_stream()
        .to_string()
        .split_whitespace()
        .collect();
    text.replace("self.", "")
        .replace('.', "$")
        .replace("::", "$")
        .replace("&mut", "")
}

/// Arguments of `dff_setup!` and `clock!`: the block, a clock, registers.
fn registers(call: &ExprMacro) -> Result<(Expr, Expr, Vec<Expr>)> {
    let list = call
        .mac
        .parse_body_with(Punctuated::<Expr, Token![,]>::parse_terminated)?;
    let mut list = list.into_iter();
    match (list.next(), list.next()) {
        (Some(block), Some(clock)) => Ok((block, clock, list.collect())),
        _ => Err(Error::new_spanned(call, "a block, a clock, registers")),
    }
}

/// The text so far.
#[derive(Default)]
struct Text {
    text: String,
    /// Numbers that the compiler works out, each once.
    numbers: Vec<TokenStream>,
    places: HashMap<String, usize>,
    /// Calls that give the names that a join or link connects.
    links: Vec<TokenStream>,
    /// Calls that give the statements of each part.
    parts: Vec<TokenStream>,
}

impl Text {
    fn code(&mut self, code: char) {
        self.text.push(code);
    }

    fn word(&mut self, word: &str) {
        self.text += &format!("{}:{word}", word.len());
    }

    fn count(&mut self, count: usize) {
        self.text += &format!("{count};");
    }

    /// A number that stands there or that the compiler works out.
    fn number(&mut self, number: &TokenStream) {
        let known = syn::parse2::<syn::LitInt>(number.clone());
        if let Ok(known) = known.and_then(|known| known.base10_parse::<usize>()) {
            return self.count(known);
        }
        let next = self.numbers.len();
        let place = *self.places.entry(number.to_string()).or_insert(next);
        if place == next {
            self.numbers.push(number.clone());
        }
        self.text += &format!("#{place};");
    }

    fn block(&mut self, block: &Block) -> Result<()> {
        self.count(block.stmts.len());
        block.stmts.iter().try_for_each(|s| match s {
            Stmt::Expr(expr, _) => self.statement(expr),
            Stmt::Macro(call) => self.call_of_macro(&ExprMacro {
                attrs: vec![],
                mac: call.mac.clone(),
            }),
            _ => Err(Error::new_spanned(s, "a kernel has no definitions")),
        })
    }

    fn statement(&mut self, expr: &Expr) -> Result<()> {
        match expr {
            Expr::Assign(assign) => self.assign(assign),
            Expr::If(condition) => self.condition(condition),
            Expr::Match(choice) => self.choice(choice),
            Expr::ForLoop(looped) => self.looped(looped),
            Expr::Call(call) => self.join_or_link(call),
            Expr::MethodCall(call) => {
                let tree = part::tree_of(part::called(call)?);
                self.code('P');
                self.parts.push(quote!(self.#tree()));
                Ok(())
            }
            Expr::Macro(call) => self.call_of_macro(call),
            _ => Err(Error::new_spanned(
                expr,
                "a kernel has no statements of this kind",
            )),
        }
    }

    fn assign(&mut self, assign: &ExprAssign) -> Result<()> {
        let Expr::Field(place) = &*assign.left else {
            let message = "a kernel assigns to `.next` of a signal, or to a field of that";
            return Err(Error::new_spanned(&assign.left, message));
        };
        // A field of what is assigned.
        if let (Expr::Field(next), Member::Named(field)) = (&*place.base, &place.member)
            && name(next).ends_with("$next")
        {
            let base = &place.base;
            let width = format_ident!("get_my_width_{field}");
            let offset = format_ident!("get_my_offset_{field}");
            self.code('S');
            self.expression(&next.base)?;
            self.number(&quote!(#base.#width()));
            self.number(&quote!(#base.#offset()));
            return self.expression(&assign.right);
        }
        let target = name(place);
        if target.ends_with("$val") {
            return Err(Error::new_spanned(place, "assign to `.next`, not `.val`"));
        }
        self.code('A');
        self.word(&target);
        self.expression(&assign.right)
    }

    fn condition(&mut self, condition: &ExprIf) -> Result<()> {
        self.code('I');
        self.expression(&condition.cond)?;
        self.block(&condition.then_branch)?;
        match condition.else_branch.as_ref().map(|(_, other)| &**other) {
            None => {
                self.code('-');
                Ok(())
            }
            Some(Expr::Block(block)) => {
                self.code('B');
                self.block(&block.block)
            }
            Some(Expr::If(other)) => self.condition(other),
            Some(other) => Err(Error::new_spanned(other, "a block or another `if`")),
        }
    }

    fn choice(&mut self, choice: &ExprMatch) -> Result<()> {
        self.code('M');
        self.expression(&choice.expr)?;
        self.count(choice.arms.len());
        for arm in &choice.arms {
            let case = match &arm.pat {
                Pat::Ident(ident) => ident.ident.to_string(),
                Pat::Lit(literal) => literal.to_token_stream().to_string(),
                Pat::Path(path) => name(path),
                Pat::Wild(_) => "default".to_owned(),
                other => {
                    let message = "a kernel's `match` has names, numbers and `_`";
                    return Err(Error::new_spanned(other, message));
                }
            };
            self.word(&case);
            match &*arm.body {
                Expr::Block(block) => self.block(&block.block)?,
                other => {
                    self.count(1);
                    self.statement(other)?;
                }
            }
        }
        Ok(())
    }

    fn looped(&mut self, looped: &ExprForLoop) -> Result<()> {
        let (Pat::Ident(index), Expr::Range(range)) = (&*looped.pat, &*looped.expr) else {
            return Err(Error::new_spanned(&looped.pat, "`for i in 0..N`"));
        };
        let (Some(from), Some(to)) = (&range.start, &range.end) else {
            return Err(Error::new_spanned(range, "a loop has both ends"));
        };
        self.code('L');
        self.word(&index.ident.to_string());
        self.number(&from.to_token_stream());
        self.number(&to.to_token_stream());
        self.block(&looped.body)
    }

    fn join_or_link(&mut self, call: &ExprCall) -> Result<()> {
        let message =
            "a kernel calls `Type::join(&mut self.a, &mut self.b)` and `Type::link` alone";
        let Expr::Path(path) = &*call.func else {
            return Err(Error::new_spanned(call, message));
        };
        let mut path = path.path.clone();
        let Some(last) = path.segments.pop() else {
            return Err(Error::new_spanned(call, message));
        };
        if path.segments.is_empty()
            || call.args.len() != 2
            || !(last.ident == "join" || last.ident == "link")
        {
            return Err(Error::new_spanned(call, message));
        }
        let function = format_ident!("{}_hdl", last.ident);
        path.segments.push(function.into());
        let (left, right) = (name(&call.args[0]), name(&call.args[1]));
        self.code('K');
        self.links.push(quote!(#path("", #left, #right)));
        Ok(())
    }

    fn call_of_macro(&mut self, call: &ExprMacro) -> Result<()> {
        let path = &call.mac.path;
        if path.is_ident("comment") {
            self.code('C');
            self.word(&format!("comment!({})", call.mac.tokens));
            return Ok(());
        }
        let data = path.is_ident("dff_setup");
        if !data && !path.is_ident("clock") {
            return Err(Error::new(call.span(), "a kernel has no such macros"));
        }
        let (_, clock, registers) = registers(call)?;
        let mut pairs = vec![];
        pairs.extend(
            registers
                .iter()
                .map(|r| (name(&quote!(#r.clock.next)), name(&clock))),
        );
        if data {
            let held = |r: &Expr| (name(&quote!(#r.d.next)), name(&quote!(#r.q)));
            pairs.extend(registers.iter().map(held));
        }
        self.code('X');
        self.count(pairs.len());
        for (target, source) in pairs {
            self.word(&target);
            self.word(&source);
        }
        Ok(())
    }
}

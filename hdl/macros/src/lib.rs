//! What a block is declared and described with: `hdl_module!`, `hdl_bus!`, `hdl_record!`, `#[hdl_gen]` and `#[hdl_part]`.

mod bus;
mod kernel;
mod literal;
mod module;
mod record;

use std::collections::VecDeque;
use std::iter::Peekable;

use proc_macro::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};

/// Declares a block: a struct of signals, registers, constants and other blocks.
///
/// - `#[module("fifo_w{W}")]` in front of the struct names its Verilog module, as `format!` takes it.
/// - `#[reset]` in front of a register: `rst` clears it.
/// - A port `clk` reaches every register and every block that has one, `rst` every block that has one; a kernel may connect
///   either itself. A register keeps its value unless the kernel assigns it.
/// - A field whose name begins with `_` is state of the simulation alone.
/// - Doc comments reach the Verilog.
#[proc_macro]
pub fn hdl_module(block: TokenStream) -> TokenStream {
    let block = syn::parse_macro_input!(block as syn::DeriveInput);
    let expanded = module::expand(block);
    expanded
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Declares a bus: the signals that one block hands another. `hdl_bus! { pub struct Axis { ... } }` makes `AxisOut`, where
/// they come from, and `AxisIn`, where they go to; `#[back]` in front of a signal that goes the other way. The type of a
/// signal stands without its direction.
///
/// `AxisOut::join(&mut self.a.m, &mut self.b.s)` connects the two sides, `AxisIn::link(&mut self.s, &mut self.a.s)` a side of
/// a block with the same side of a block in it.
#[proc_macro]
pub fn hdl_bus(bus: TokenStream) -> TokenStream {
    let bus = syn::parse_macro_input!(bus as syn::DeriveInput);
    let expanded = bus::expand(bus);
    expanded
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Declares a record: named fields that travel together, as one value of a register, a local signal or a bus. It may have
/// const generics. In Verilog each field is a signal of its own, called after what holds the record and after the field.
///
/// A kernel reads `self.stage.q.val().kind`, assigns `self.stage.d.next.kind = ...`, a whole record, or a new one:
/// `self.stage.d.next = Stage { kind: ..., qpn: ... };`, with `..self.stage.q.val()` for what stays.
/// `to_bits()` makes a word of it, for a memory, and `into()` a record of such a word.
///
/// `#[verilog("type")]` in front of a field gives it another name in Verilog.
///
/// The fields lie one behind the other, the first in the lowest bits; or as `tributary-protocol` declares, and then `_` is
/// the type of a field that has the declared width, the name is the declared one, and no field may be missing:
///
/// - `#[words(LIST, BYTES)]`: places in little-endian 64-bit words. `into()` takes one word too, and then each word of the
///   record is that one: of the word that it is, the fields are right;
/// - `#[header(HEADER)]`: a header as it travels, its first bit on top.
///
/// Or they lie where each says: `#[bits(64)]` in front of the record, `#[at(BIT)]` in front of a field.
#[proc_macro]
pub fn hdl_record(record: TokenStream) -> TokenStream {
    let record = syn::parse_macro_input!(record as syn::DeriveInput);
    let expanded = record::expand(record);
    expanded
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Kernels as rust-hdl's `hdl_gen` takes them: beside `update` come `connect` and `hdl`, and the `timing` that carries the
/// block's declaration to the Verilog writer. Each line comment of the kernel becomes a `comment!` in front of the statement
/// that it stands before. One before an arm of a `match` goes into the arm.
/// A record that is assigned as a whole (`self.x.next = Name { ... };`) becomes an assignment to each field.
#[proc_macro_attribute]
pub fn hdl_gen(_: TokenStream, kernel: TokenStream) -> TokenStream {
    let (kernel, checks) = commented(kernel);
    let update = proc_macro2::TokenStream::from(kernel.clone());
    let parsed = syn::parse_macro_input!(kernel as syn::ItemFn);
    let others = kernel::expand(&parsed).unwrap_or_else(syn::Error::into_compile_error);
    quote::quote! {
        #[allow(unreachable_patterns)]
        #update
        #others
        fn timing(&self) -> Vec<::rust_hdl::prelude::TimingInfo> {
            #checks
            Self::module_info().into_timing()
        }
    }
    .into()
}

/// A part of a kernel: a method of the block that `update`, or another part, calls as `self.part()`. Its statements take
/// the place of the call, so a kernel may be cut at will; a part in another file needs an `impl` of the block there.
#[proc_macro_attribute]
pub fn hdl_part(_: TokenStream, part: TokenStream) -> TokenStream {
    let (part, checks) = commented(part);
    let method = proc_macro2::TokenStream::from(part.clone());
    let parsed = syn::parse_macro_input!(part as syn::ItemFn);
    let others =
        kernel::expand_part(&parsed, &checks).unwrap_or_else(syn::Error::into_compile_error);
    quote::quote! {
        #[allow(unreachable_patterns)]
        #method
        #others
    }
    .into()
}

/// A function with its comments and records as the kernel has them, and what the compiler is to check.
fn commented(function: TokenStream) -> (TokenStream, proc_macro2::TokenStream) {
    let mut checks = proc_macro2::TokenStream::new();
    let function = function.into_iter().map(|tree| match tree {
        TokenTree::Group(body) if body.delimiter() == Delimiter::Brace => {
            let mut kernel = Kernel {
                comments: comments(&body),
                checks: &mut checks,
            };
            block(&body, &mut kernel)
        }
        other => other,
    });
    (function.collect(), checks)
}

/// A line and what it says.
type Comment = (usize, String);

/// What is left to be said, and what the compiler is to check.
struct Kernel<'a> {
    comments: VecDeque<Comment>,
    checks: &'a mut proc_macro2::TokenStream,
}

/// The line comments of a function's body, in order.
fn comments(body: &Group) -> VecDeque<Comment> {
    let first = body.span().line();
    let text = body.span().source_text().unwrap_or_default();
    let lines = text.lines().enumerate();
    let said = lines.filter_map(|(at, line)| {
        let said = line.trim_start().strip_prefix("//")?;
        Some((first + at, said.trim().to_owned()))
    });
    said.collect()
}

/// `comment!("…");` for each comment above this line.
fn take(comments: &mut VecDeque<Comment>, line: usize, out: &mut Vec<TokenTree>) {
    while let Some((_, said)) = comments.pop_front_if(|(at, _)| *at < line) {
        let text = TokenTree::from(Literal::string(&said.replace('"', "'")));
        out.extend([
            Ident::new("comment", Span::call_site()).into(),
            Punct::new('!', Spacing::Alone).into(),
            Group::new(Delimiter::Parenthesis, text.into()).into(),
            Punct::new(';', Spacing::Alone).into(),
        ]);
    }
}

fn is_word(tree: Option<&TokenTree>, word: &str) -> bool {
    matches!(tree, Some(TokenTree::Ident(ident)) if ident.to_string() == word)
}

fn is_sign(tree: &TokenTree, sign: char) -> bool {
    matches!(tree, TokenTree::Punct(punct) if punct.as_char() == sign)
}

/// A group like the old one, around other trees.
fn renewed(old: &Group, trees: Vec<TokenTree>) -> TokenTree {
    let mut group = Group::new(old.delimiter(), trees.into_iter().collect());
    group.set_span(old.span());
    group.into()
}

/// A block of statements with its comments.
fn block(body: &Group, kernel: &mut Kernel<'_>) -> TokenTree {
    let mut out = Vec::new();
    let mut trees = body.stream().into_iter().peekable();
    while let Some(first) = trees.peek() {
        take(&mut kernel.comments, first.span().line(), &mut out);
        match is_word(trees.peek(), "self") {
            true => assignment(&mut trees, kernel, &mut out),
            false => statement(&mut trees, kernel, &mut out),
        }
    }
    take(&mut kernel.comments, body.span_close().line() + 1, &mut out);
    renewed(body, out)
}

/// One assignment, up to its `;`.
fn assignment(
    trees: &mut Peekable<impl Iterator<Item = TokenTree>>,
    kernel: &mut Kernel<'_>,
    out: &mut Vec<TokenTree>,
) {
    let mut all: Vec<TokenTree> = vec![];
    for tree in trees {
        if is_sign(&tree, ';') {
            match all.last() {
                Some(TokenTree::Group(body)) if body.delimiter() == Delimiter::Brace => {
                    literal::expand(&all, &mut kernel.comments, out, kernel.checks);
                }
                _ => {
                    out.append(&mut all);
                    out.push(tree);
                }
            }
            return;
        }
        all.push(tree);
    }
    out.append(&mut all);
}

/// Another statement: up to a `;`, or to the end of a block that no `else` follows.
fn statement(
    trees: &mut Peekable<impl Iterator<Item = TokenTree>>,
    kernel: &mut Kernel<'_>,
    out: &mut Vec<TokenTree>,
) {
    let is_match = is_word(trees.peek(), "match");
    while let Some(tree) = trees.next() {
        match &tree {
            TokenTree::Group(body) if body.delimiter() == Delimiter::Brace => {
                out.push(match is_match {
                    true => arms(body, kernel),
                    false => block(body, kernel),
                });
                if !is_word(trees.peek(), "else") {
                    return;
                }
            }
            _ => {
                let ends = is_sign(&tree, ';');
                out.push(tree);
                if ends {
                    return;
                }
            }
        }
    }
}

/// The arms of a `match`.
fn arms(body: &Group, kernel: &mut Kernel<'_>) -> TokenTree {
    let trees = body.stream().into_iter().map(|tree| match tree {
        TokenTree::Group(arm) if arm.delimiter() == Delimiter::Brace => block(&arm, kernel),
        other => other,
    });
    let trees = trees.collect();
    renewed(body, trees)
}

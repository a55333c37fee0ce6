//! A record in a kernel: `self.x.next = Name { field: value, ..self.y.val() };`, of which rust-hdl knows only the parts.

use std::collections::VecDeque;

use proc_macro::{TokenStream, TokenTree};
use proc_macro2::TokenStream as TokenStream2;
use quote::quote;
use syn::spanned::Spanned;
use syn::{Expr, ExprStruct, Member};

use crate::{Comment, is_sign, take};

/// The assignments to the fields for a statement that ends with a record, and a check that they are all fields.
pub fn expand(
    statement: &[TokenTree],
    comments: &mut VecDeque<Comment>,
    out: &mut Vec<TokenTree>,
    checks: &mut TokenStream2,
) {
    let error = match split(statement) {
        Ok((place, record)) => match assign(&place, &record, comments, out, checks) {
            Ok(()) => return,
            Err(error) => error,
        },
        Err(error) => error,
    };
    out.extend(TokenStream::from(error.into_compile_error()));
}

/// What stands on both sides of the `=`.
fn split(statement: &[TokenTree]) -> syn::Result<(TokenStream2, ExprStruct)> {
    let whole: TokenStream = statement.iter().cloned().collect();
    let Some(at) = statement.iter().position(|tree| is_sign(tree, '=')) else {
        let message = "a record is assigned as a whole: `self.x.next = Name { ... };`";
        return Err(syn::Error::new_spanned(TokenStream2::from(whole), message));
    };
    let side =
        |trees: &[TokenTree]| TokenStream2::from(trees.iter().cloned().collect::<TokenStream>());
    let record = syn::parse2(side(&statement[at + 1..]))?;
    Ok((side(&statement[..at]), record))
}

fn assign(
    place: &TokenStream2,
    record: &ExprStruct,
    comments: &mut VecDeque<Comment>,
    out: &mut Vec<TokenTree>,
    checks: &mut TokenStream2,
) -> syn::Result<()> {
    let path = &record.path;
    let members = record.fields.iter().map(|field| &field.member);
    let rest = record.rest.as_ref().map(|_| quote!(..));
    checks.extend(quote! {
        let _ = |record: #path| { let #path { #(#members: _,)* #rest } = record; };
    });
    if let Some(rest) = &record.rest {
        out.extend(TokenStream::from(quote!(#place = #rest;)));
    }
    for field in &record.fields {
        let Member::Named(name) = &field.member else {
            return Err(syn::Error::new_spanned(
                field,
                "the fields of a record have names",
            ));
        };
        let mut said = vec![];
        take(comments, name.span().unwrap().line(), &mut said);
        out.extend(said);
        let place = quote!(#place.#name);
        let value = &field.expr;
        match value {
            Expr::Struct(inner) => assign(&place, inner, comments, out, checks)?,
            value => {
                let assigned = quote::quote_spanned!(value.span()=> #place = #value;);
                out.extend(TokenStream::from(assigned));
            }
        }
    }
    Ok(())
}

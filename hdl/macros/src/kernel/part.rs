//! Parts of a kernel: methods of the block, which may stand in other files than `update`.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::{Error, Expr, ExprMethodCall, ItemFn, Result};

use super::{connect, tree};

/// What gives the statements of a part, and what says what it drives.
///
/// `checks` is for the compiler alone.
pub fn expand(part: &ItemFn, checks: &TokenStream) -> Result<TokenStream> {
    let sig = &part.sig;
    let own = sig.inputs.to_token_stream().to_string();
    if own.replace(' ', "") != "&mutself" || !sig.generics.params.is_empty() {
        let message = "a part of a kernel takes `&mut self` and nothing else";
        return Err(Error::new_spanned(sig, message));
    }
    let vis = &part.vis;
    let (tree_of, connect_of) = (tree_of(&sig.ident), connect_of(&sig.ident));
    let tree = tree(&part.block)?;
    let connect = connect::expand(&part.block);
    Ok(quote! {
        #[doc(hidden)]
        #[allow(unused_variables)]
        #vis fn #tree_of(&self) -> Vec<::rust_hdl::prelude::ast::VerilogStatement> {
            #checks
            #tree
        }
        #[doc(hidden)]
        #[allow(unused_variables)]
        #vis fn #connect_of(&mut self) {
            #connect
        }
    })
}

/// The part that a kernel calls: `self.part()`.
pub fn called(call: &ExprMethodCall) -> Result<&Ident> {
    let own = matches!(&*call.receiver, Expr::Path(path) if path.path.is_ident("self"));
    if !own || !call.args.is_empty() || call.turbofish.is_some() {
        let message = "a kernel calls its parts alone: `self.part()`";
        return Err(Error::new_spanned(call, message));
    }
    Ok(&call.method)
}

pub fn tree_of(part: &Ident) -> Ident {
    format_ident!("hdl_of_{part}")
}

pub fn connect_of(part: &Ident) -> Ident {
    format_ident!("connect_of_{part}")
}

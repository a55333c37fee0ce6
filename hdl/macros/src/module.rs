//! `hdl_module!`: a block's struct, and what follows from its declaration.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Data, DeriveInput, Error, Expr, ExprLit, Ident, Lit, Meta, Result, Type};

/// What a declaration says beside the struct itself.
struct Declared {
    /// Arguments of `format!` for the Verilog module's name.
    module: TokenStream,
    doc: Vec<String>,
    fields: Vec<Ident>,
    types: Vec<Type>,
    /// Doc comment of each field.
    said: Vec<Vec<String>>,
    /// Fields with `#[reset]`.
    resets: Vec<Ident>,
}

/// The struct, its `Block`, `Wired` and `Default`, and what the Verilog writer wants to know of it.
pub fn expand(mut block: DeriveInput) -> Result<TokenStream> {
    let declared = read(&mut block)?;
    let has = |wanted: &str| declared.fields.iter().any(|field| field == wanted);
    let (clk, rst) = (has("clk"), has("rst"));
    if let (false, Some(field)) = (rst, declared.resets.first()) {
        let message = "`#[reset]` needs a port `rst` of the block";
        return Err(Error::new_spanned(field, message));
    }
    let info = info(&block, &declared);
    let wires = wires(&block, &declared, clk, rst);
    Ok(quote! {
        #[derive(Default)]
        #block
        #info
        #wires
    })
}

/// Takes the macro's own attributes out of the declaration.
fn read(block: &mut DeriveInput) -> Result<Declared> {
    let module = match take(&mut block.attrs, "module").map(|attribute| attribute.meta) {
        Some(Meta::List(list)) => list.tokens,
        _ => {
            let message = "the Verilog module needs a name, as `format!` takes it: \
                           `#[module(\"delay_w{N}\")]`";
            return Err(Error::new_spanned(&block.ident, message));
        }
    };
    let mut declared = Declared {
        module,
        doc: docs(&block.attrs),
        fields: vec![],
        types: vec![],
        said: vec![],
        resets: vec![],
    };
    let Data::Struct(data) = &mut block.data else {
        let message = "a block is a struct";
        return Err(Error::new_spanned(&block.ident, message));
    };
    for field in &mut data.fields {
        let Some(name) = field.ident.clone() else {
            let message = "the fields of a block have names";
            return Err(Error::new_spanned(field, message));
        };
        if let Some(reset) = take(&mut field.attrs, "reset") {
            reset.meta.require_path_only()?;
            declared.resets.push(name.clone());
        }
        // Such a field is state of the simulation alone, as rust-hdl has it.
        if !name.to_string().starts_with('_') {
            declared.said.push(docs(&field.attrs));
            declared.types.push(field.ty.clone());
            declared.fields.push(name);
        }
    }
    Ok(declared)
}

/// The attribute of this name, which then is no longer there.
pub fn take(attributes: &mut Vec<Attribute>, name: &str) -> Option<Attribute> {
    let at = attributes.iter().position(|a| a.path().is_ident(name))?;
    Some(attributes.remove(at))
}

/// The lines of a doc comment.
pub fn docs(attributes: &[Attribute]) -> Vec<String> {
    let lines = attributes.iter().filter_map(|a| match &a.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(ExprLit {
                lit: Lit::Str(text),
                ..
            }) => Some(text.value().trim().to_owned()),
            _ => None,
        },
        _ => None,
    });
    lines.collect()
}

/// Name and documentation for the Verilog writer.
fn info(block: &DeriveInput, declared: &Declared) -> TokenStream {
    let name = &block.ident;
    let (generics, arguments, _) = block.generics.split_for_impl();
    let Declared {
        module,
        doc,
        fields,
        said,
        resets,
        ..
    } = declared;
    let fields = fields.iter().map(Ident::to_string);
    let types = &declared.types;
    let resets = resets.iter().map(Ident::to_string);
    quote! {
        impl #generics #name #arguments {
            /// Name and documentation for the Verilog writer.
            fn module_info() -> ::tributary_verilog::ModuleInfo {
                ::tributary_verilog::ModuleInfo {
                    name: format!(#module),
                    doc: vec![#(#doc.to_owned()),*],
                    resets: vec![#(#resets.to_owned()),*],
                    ..Default::default()
                }
                #( .field::<#types>(#fields, &[#(#said),*]) )*
            }
        }
    }
}

/// The block in rust-hdl's simulation, where clock and reset reach its parts by themselves.
fn wires(block: &DeriveInput, declared: &Declared, clk: bool, rst: bool) -> TokenStream {
    let name = &block.ident;
    let (generics, arguments, _) = block.generics.split_for_impl();
    let (fields, resets) = (&declared.fields, &declared.resets);
    let labels = fields.iter().map(Ident::to_string);
    let value = |port: &str, there: bool| {
        let port = Ident::new(port, name.span());
        match there {
            true => quote!(Some(self.#port.val())),
            false => quote!(None),
        }
    };
    let (clock, reset) = (value("clk", clk), value("rst", rst));
    let port = |port: &str, there: bool| {
        let port = Ident::new(port, name.span());
        match there {
            true => quote! {
                if let Some(#port) = #port {
                    self.#port.next = #port;
                }
            },
            false => quote!(),
        }
    };
    let (take_clk, take_rst) = (port("clk", clk), port("rst", rst));
    let claim = |port: &str, there: bool| {
        let port = Ident::new(port, name.span());
        match there {
            true => quote! {
                if #port {
                    ::rust_hdl::prelude::Logic::connect(&mut self.#port);
                }
            },
            false => quote!(),
        }
    };
    let (claim_clk, claim_rst) = (claim("clk", clk), claim("rst", rst));
    let give_reset = match resets.is_empty() {
        true => quote!(),
        false => quote! {
            if self.rst.val() {
                #( ::tributary_verilog::Wired::reset(&mut self.#resets); )*
            }
        },
    };
    quote! {
        impl #generics ::rust_hdl::prelude::Block for #name #arguments {
            fn connect_all(&mut self) {
                #( ::tributary_verilog::Wired::claim(&mut self.#fields, #clk, #rst); )*
                ::rust_hdl::prelude::Logic::connect(self);
                #( self.#fields.connect_all(); )*
            }
            fn update_all(&mut self) {
                let (clk, rst) = (#clock, #reset);
                #( ::tributary_verilog::Wired::wire(&mut self.#fields, clk, rst); )*
                ::rust_hdl::prelude::Logic::update(self);
                #give_reset
                #( self.#fields.update_all(); )*
            }
            fn has_changed(&self) -> bool {
                false #( || self.#fields.has_changed() )*
            }
            fn accept(&self, name: &str, probe: &mut dyn ::rust_hdl::prelude::Probe) {
                probe.visit_start_scope(name, self);
                #( self.#fields.accept(#labels, probe); )*
                probe.visit_end_scope(name, self);
            }
        }

        impl #generics ::tributary_verilog::Wired for #name #arguments {
            #[allow(unused_variables)]
            fn claim(&mut self, clk: bool, rst: bool) {
                #claim_clk
                #claim_rst
            }
            #[allow(unused_variables)]
            fn wire(&mut self, clk: Option<::rust_hdl::prelude::Clock>, rst: Option<bool>) {
                #take_clk
                #take_rst
            }
        }
    }
}

//! `hdl_bus!`: both sides of a bus from one declaration.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Data, DeriveInput, Error, Ident, Result};

use crate::module::{docs, take};

/// `NameOut` and `NameIn` of a struct `Name`.
pub fn expand(mut bus: DeriveInput) -> Result<TokenStream> {
    let Data::Struct(data) = &mut bus.data else {
        return Err(Error::new_spanned(&bus.ident, "a bus is a struct"));
    };
    let mut fields = vec![];
    for field in &mut data.fields {
        let Some(name) = field.ident.clone() else {
            return Err(Error::new_spanned(field, "the signals of a bus have names"));
        };
        let back = match take(&mut field.attrs, "back") {
            Some(back) => back.meta.require_path_only().map(|_| true)?,
            None => false,
        };
        let said = docs(&field.attrs);
        if said.is_empty() {
            return Err(Error::new_spanned(
                field,
                "say what the signal means (`///`)",
            ));
        }
        fields.push((name, field.ty.clone(), back, said.join(" ")));
    }
    let (out, into) = (
        format_ident!("{}Out", bus.ident),
        format_ident!("{}In", bus.ident),
    );
    let sides = [(&out, &into, false), (&into, &out, true)].map(|(name, other, mirrored)| {
        let signals = fields.iter().map(|(field, ty, back, said)| {
            let direction = format_ident!("{}", if *back == mirrored { "Out" } else { "In" });
            quote! {
                #[doc = #said]
                pub #field: ::rust_hdl::prelude::Signal<::rust_hdl::prelude::#direction, #ty>
            }
        });
        side(&bus, name, other, &quote!(#(#signals),*), &fields)
    });
    Ok(quote!(#(#sides)*))
}

/// One side.
fn side(
    bus: &DeriveInput,
    name: &Ident,
    other: &Ident,
    signals: &TokenStream,
    fields: &[(Ident, syn::Type, bool, String)],
) -> TokenStream {
    let (vis, generics, attrs) = (&bus.vis, &bus.generics, &bus.attrs);
    let (implemented, arguments, _) = generics.split_for_impl();
    let names: Vec<&Ident> = fields.iter().map(|(field, ..)| field).collect();
    let said = fields.iter().map(|(field, _, _, said)| {
        let field = field.to_string();
        quote!((#field, #said))
    });
    quote! {
        #(#attrs)*
        #[derive(::rust_hdl::prelude::LogicInterface, Default)]
        #vis struct #name #generics {
            #signals
        }

        impl #implemented #name #arguments {
            /// Connects this side of the bus with the other one.
            pub fn join(&mut self, other: &mut #other #arguments) {
                #( self.#names.join(&mut other.#names); )*
            }
        }

        impl #implemented ::tributary_verilog::Wired for #name #arguments {
            fn signals() -> &'static [(&'static str, &'static str)] {
                &[#(#said),*]
            }
        }
    }
}

//! `hdl_record!`: named fields in one word.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Data, DeriveInput, Error, Expr, Result, Token, Type};

use crate::module::{docs, take};

/// Where the fields lie.
enum Layout {
    /// One behind the other, the first in the lowest bits.
    Packed,
    /// Where each says, in so many bits.
    Placed(Expr),
    /// Where an expression of this form places the field of a name; and the bits of all, and a list of what is declared.
    Declared {
        place: TokenStream,
        bits: TokenStream,
        list: TokenStream,
    },
}

/// `COMPLETION, 64`.
struct Arguments(Punctuated<Expr, Token![,]>);

impl Parse for Arguments {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        Punctuated::parse_terminated(input).map(Self)
    }
}

fn layout(record: &mut DeriveInput) -> Result<Layout> {
    if let Some(words) = take(&mut record.attrs, "words") {
        let Arguments(arguments) = words.parse_args()?;
        let [list, bytes] = arguments.iter().collect::<Vec<_>>()[..] else {
            let message =
                "`#[words(LIST, BYTES)]`: the declared places, and the bytes of all words";
            return Err(Error::new_spanned(words, message));
        };
        return Ok(Layout::Declared {
            place: quote!(crate::record::word_place(#list, )),
            bits: quote!(#bytes * 8),
            list: quote!(#list),
        });
    }
    if let Some(header) = take(&mut record.attrs, "header") {
        let header: Expr = header.parse_args()?;
        return Ok(Layout::Declared {
            place: quote!(crate::record::header_place(&#header, )),
            bits: quote!(#header.length * 8),
            list: quote!(#header.fields),
        });
    }
    if let Some(bits) = take(&mut record.attrs, "bits") {
        return Ok(Layout::Placed(bits.parse_args()?));
    }
    Ok(Layout::Packed)
}

/// Puts the name of the field behind the other arguments of `place`.
fn placed(place: &TokenStream, field: &str) -> TokenStream {
    let mut trees: Vec<proc_macro2::TokenTree> = place.clone().into_iter().collect();
    if let Some(proc_macro2::TokenTree::Group(group)) = trees.pop() {
        let arguments = group.stream();
        trees.extend(quote!((#arguments #field)));
    }
    trees.into_iter().collect()
}

/// The struct of a record, and what makes it one.
pub fn expand(mut record: DeriveInput) -> Result<TokenStream> {
    let words = record.attrs.iter().any(|a| a.path().is_ident("words"));
    let layout = layout(&mut record)?;
    let Data::Struct(data) = &mut record.data else {
        return Err(Error::new_spanned(&record.ident, "a record is a struct"));
    };
    let (mut names, mut types, mut offsets, mut meanings) = (vec![], vec![], vec![], vec![]);
    let mut labels = vec![];
    let mut checks = vec![];
    for field in &mut data.fields {
        let Some(name) = field.ident.clone() else {
            return Err(Error::new_spanned(
                field,
                "the fields of a record have names",
            ));
        };
        let said = docs(&field.attrs).join(" ");
        let text = name.to_string();
        match &layout {
            Layout::Packed | Layout::Placed(_) if said.is_empty() => {
                return Err(Error::new_spanned(
                    field,
                    "say what the field means (`///`)",
                ));
            }
            Layout::Packed => {
                let before: &Vec<Type> = &types;
                offsets.push(quote!(0 #(+ <#before as ::rust_hdl::prelude::Synth>::BITS)*));
                meanings.push(quote!(#said.to_owned()));
            }
            Layout::Placed(_) => {
                let Some(at) = take(&mut field.attrs, "at") else {
                    return Err(Error::new_spanned(field, "say where it lies: `#[at(BIT)]`"));
                };
                let at: Expr = at.parse_args()?;
                offsets.push(quote!(const { #at as usize }));
                meanings.push(quote!(#said.to_owned()));
            }
            Layout::Declared { place, .. } => {
                let place = placed(place, &text);
                offsets.push(quote!(const { #place.at }));
                meanings.push(quote!(const { #place.doc }.to_owned()));
                if let Type::Infer(_) = field.ty {
                    field.ty = syn::parse_quote!(::rust_hdl::prelude::Bits<{ #place.width }>);
                }
                let ty = &field.ty;
                let message = format!("`{text}` has not the width that its layout declares");
                checks.push(quote! {
                    const _: () = assert!(<#ty as ::rust_hdl::prelude::Synth>::BITS == #place.width, #message);
                });
                if said.is_empty() {
                    let said = format!("See `{text}` of the layout.");
                    field.attrs.push(syn::parse_quote!(#[doc = #said]));
                }
            }
        }
        field.vis = syn::parse_quote!(pub);
        labels.push(match take(&mut field.attrs, "verilog") {
            Some(label) => label.parse_args::<syn::LitStr>()?.value(),
            None => text,
        });
        names.push(name);
        types.push(field.ty.clone());
    }
    let bits = match &layout {
        Layout::Packed => quote!(0 #(+ <#types as ::rust_hdl::prelude::Synth>::BITS)*),
        Layout::Placed(bits) => quote!(#bits),
        Layout::Declared { bits, list, .. } => {
            let count = names.len();
            let message = format!("`{}` has not all fields of its layout", record.ident);
            checks.push(quote!(
                const _: () = assert!(#list.len() == #count, #message);
            ));
            quote!(#bits)
        }
    };
    let fields = Fields {
        names,
        labels,
        types,
        offsets,
        meanings,
    };
    let mut implementation = implement(&record, &fields, &bits, words);
    if !matches!(layout, Layout::Packed) {
        let name = &record.ident;
        implementation.extend(quote! {
            impl #name {
                /// So many bits of it, from this one up.
                pub fn get_bits<const WIDTH: usize>(&self, at: usize) -> ::rust_hdl::prelude::Bits<WIDTH> {
                    self.to_bits::<{ <#name as ::rust_hdl::prelude::Synth>::BITS }>().get_bits(at)
                }
            }
        });
    }
    Ok(quote! {
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        #record
        #(#checks)*
        #implementation
    })
}

/// The fields of a record.
struct Fields {
    names: Vec<Ident>,
    /// Their names in Verilog.
    labels: Vec<String>,
    types: Vec<Type>,
    /// The lowest bit of each.
    offsets: Vec<TokenStream>,
    meanings: Vec<TokenStream>,
}

fn implement(
    record: &DeriveInput,
    fields: &Fields,
    bits: &TokenStream,
    words: bool,
) -> TokenStream {
    let Fields {
        names,
        labels,
        types,
        offsets,
        meanings,
    } = fields;
    let name = &record.ident;
    let (generics, arguments, _) = record.generics.split_for_impl();
    let text = name.to_string();
    let mut of_word = record.generics.clone();
    of_word
        .params
        .push(syn::parse_quote!(const WORD_BITS: usize));
    let (of_word, _, _) = of_word.split_for_impl();
    let whole = quote!(WORD_BITS == <Self as ::rust_hdl::prelude::Synth>::BITS);
    let unpack = quote!(<Self as ::tributary_verilog::record::Part>::unpack(word, 0));
    let from = match words {
        false => quote! {
            const { assert!(#whole) };
            #unpack
        },
        true => quote! {
            const { assert!(#whole || WORD_BITS == 64) };
            match #whole {
                true => #unpack,
                false => Self {
                    #( #names: ::tributary_verilog::record::Part::unpack(word, #offsets % 64), )*
                },
            }
        },
    };
    // What rust-hdl's kernels ask for where a field is read or assigned.
    let widths = names
        .iter()
        .map(|name| format_ident!("get_my_width_{name}"));
    let places = names
        .iter()
        .map(|name| format_ident!("get_my_offset_{name}"));
    quote! {
        #[allow(missing_docs)]
        impl #generics #name #arguments {
            #(
                #[doc(hidden)]
                pub fn #widths(&self) -> usize {
                    <#types as ::rust_hdl::prelude::Synth>::BITS
                }
                #[doc(hidden)]
                pub fn #places(&self) -> usize {
                    #offsets
                }
            )*
            /// All fields in one word.
            pub fn to_bits<const WORD_BITS: usize>(self) -> ::rust_hdl::prelude::Bits<WORD_BITS> {
                const { assert!(WORD_BITS == <Self as ::rust_hdl::prelude::Synth>::BITS) };
                ::tributary_verilog::record::Part::pack(self)
            }
        }

        impl #of_word From<::rust_hdl::prelude::Bits<WORD_BITS>> for #name #arguments {
            fn from(word: ::rust_hdl::prelude::Bits<WORD_BITS>) -> Self {
                #from
            }
        }

        impl #generics ::tributary_verilog::record::Part for #name #arguments {
            fn pack<const WORD_BITS: usize>(self) -> ::rust_hdl::prelude::Bits<WORD_BITS> {
                ::rust_hdl::prelude::Bits::default()
                    #( | (::tributary_verilog::record::Part::pack::<WORD_BITS>(self.#names)
                        << (#offsets) as ::rust_hdl::prelude::LiteralType) )*
            }
            fn unpack<const WORD_BITS: usize>(
                word: ::rust_hdl::prelude::Bits<WORD_BITS>,
                at: usize,
            ) -> Self {
                Self {
                    #( #names: ::tributary_verilog::record::Part::unpack(word, at + #offsets), )*
                }
            }
        }

        impl #generics ::rust_hdl::prelude::Synth for #name #arguments {
            const BITS: usize = #bits;

            fn descriptor() -> ::rust_hdl::prelude::TypeDescriptor {
                let fields = vec![#(
                    ::tributary_verilog::record::Field {
                        name: #labels,
                        at: #offsets,
                        ty: <#types as ::rust_hdl::prelude::Synth>::descriptor(),
                        doc: #meanings,
                    }
                ),*];
                ::tributary_verilog::record::descriptor(#text, Self::BITS, fields)
            }

            fn vcd(self) -> ::rust_hdl::prelude::VCDValue {
                ::rust_hdl::prelude::VCDValue::Composite(vec![#( Box::new(self.#names.vcd()) ),*])
            }

            fn verilog(self) -> ::rust_hdl::prelude::VerilogLiteral {
                ::tributary_verilog::record::literal(self)
            }
        }
    }
}

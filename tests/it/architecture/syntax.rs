//! What the syntax of the sources says about their structure.

use std::collections::BTreeMap;

use syn::visit::{self, Visit};

use super::Source;

/// Something that has a size, where it stands, and its size.
pub type Sizes = Vec<(String, usize)>;

/// Sizes and names in all sources.
#[derive(Default)]
pub struct Syntax {
    /// Lines between the braces of each function.
    pub functions: Sizes,
    /// Fields of each struct.
    pub structs: Sizes,
    /// Methods that each trait declares.
    pub traits: Sizes,
    /// Inherent methods of each type, in all files.
    pub methods: Sizes,
    /// Source files that lie flat in each folder.
    pub folders: Sizes,
    /// Names of types and traits, and where each is defined.
    pub types: Vec<(String, String)>,
    /// Names of types, functions and modules, and where each is defined. Methods of a trait count where it declares them.
    pub names: Vec<(String, String)>,
}

impl Syntax {
    /// Reads the sources, which have to be valid Rust.
    pub fn of(sources: &[Source]) -> Self {
        let mut reader = Reader::default();
        let mut folders = BTreeMap::new();
        for source in sources {
            reader.path = source.path.clone();
            if let Some(module) = source.module().last() {
                reader.syntax.names.push((module.to_string(), format!("src/{}", source.path)));
            }
            let folder = source.path.rsplit_once('/').map_or("", |(folder, _)| folder);
            *folders.entry(format!("src/{folder}")).or_insert(0) += 1;
            reader.visit_file(&syn::parse_file(&source.code).expect("Rust"));
        }
        let mut syntax = reader.syntax;
        syntax.folders = folders.into_iter().collect();
        let mut methods = BTreeMap::new();
        for (name, path, count) in reader.inherent {
            *methods.entry(nearest(&name, &path, &syntax.types)).or_insert(0) += count;
        }
        syntax.methods = methods.into_iter().collect();
        syntax
    }
}

/// The definition that an `impl` is for: of several with the name, the one whose path begins most alike.
fn nearest(name: &str, path: &str, types: &[(String, String)]) -> String {
    let shared = |place: &str| path.chars().zip(place.chars()).take_while(|(a, b)| a == b).count();
    let namesakes = types.iter().filter(|(defined, _)| defined == name);
    let place = namesakes.map(|(_, place)| place.as_str()).max_by_key(|place| shared(place));
    format!("{} {name}", place.unwrap_or(path))
}

/// Whether an item is compiled for unit tests only.
fn for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string() == "test",
        _ => false,
    })
}

#[derive(Default)]
struct Reader {
    path: String,
    syntax: Syntax,
    /// Type, path of the `impl`, and how many methods it has.
    inherent: Vec<(String, String, usize)>,
}

impl Reader {
    fn place(&self, name: &syn::Ident) -> String {
        format!("src/{}:{}", self.path, name.span().start().line)
    }

    fn name(&mut self, name: &syn::Ident) {
        self.syntax.names.push((name.to_string(), self.place(name)));
    }

    fn type_name(&mut self, name: &syn::Ident) {
        self.syntax.types.push((name.to_string(), self.place(name)));
        self.name(name);
    }

    fn body(&mut self, name: &syn::Ident, block: &syn::Block) {
        let braces = block.brace_token.span;
        let lines = (braces.close().start().line - braces.open().start().line).saturating_sub(1);
        self.syntax.functions.push((format!("{} {name}", self.place(name)), lines));
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if for_tests(&item.attrs) {
            return;
        }
        self.name(&item.sig.ident);
        self.body(&item.sig.ident, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if for_tests(&item.attrs) {
            return;
        }
        self.body(&item.sig.ident, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        self.name(&item.sig.ident);
        if let Some(block) = &item.default {
            self.body(&item.sig.ident, block);
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if let (None, syn::Type::Path(of)) = (&item.trait_, &*item.self_ty) {
            let methods = item.items.iter().filter_map(|item| match item {
                syn::ImplItem::Fn(method) if !for_tests(&method.attrs) => Some(&method.sig.ident),
                _ => None,
            });
            let count = methods.map(|method| self.name(method)).count();
            let name = of.path.segments.last().expect("a name").ident.to_string();
            self.inherent.push((name, format!("src/{}", self.path), count));
        }
        visit::visit_item_impl(self, item);
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.type_name(&item.ident);
        self.syntax.structs.push((format!("{} {}", self.place(&item.ident), item.ident), item.fields.len()));
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.type_name(&item.ident);
        let methods = item.items.iter().filter(|item| matches!(item, syn::TraitItem::Fn(_))).count();
        self.syntax.traits.push((format!("{} {}", self.place(&item.ident), item.ident), methods));
        visit::visit_item_trait(self, item);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.type_name(&item.ident);
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.type_name(&item.ident);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        // A module in a file counts by the name of the file.
        if item.content.is_some() {
            self.name(&item.ident);
        }
        visit::visit_item_mod(self, item);
    }
}

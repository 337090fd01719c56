//! Which file of a crate imports which, and where that goes in circles.
//!
//! The sources are parsed by `syn`. A file depends on another when a path in it (`use` or in an expression, type or
//! macro) leads there from `crate`, `super`, `self` or one of its own modules; re-exports are followed to the file that
//! has the item. Three things do not count: what a module and those inside it want of each other, re-exports in
//! themselves, and whatever is compiled for tests only. The price of reading without a compiler: an item that comes only
//! as a method or a field of another one is not seen.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::Path;

use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree, Visibility};

/// The circles of imports among the files below `src`, each the shortest through its first file, and the shortest ones first.
pub(crate) fn circles(src: &Path) -> Vec<String> {
    let root = ["lib.rs", "main.rs"].into_iter().map(|name| src.join(name)).find(|path| path.exists());
    let mut modules = Modules::default();
    modules.read(Vec::new(), &root.expect("a crate has lib.rs or main.rs"), src);
    let graph = modules.imports();
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    let mut all: Vec<Vec<Name>> = graph.keys().filter_map(|from| shortest_circle(&graph, from)).collect();
    all.sort_by_key(Vec::len);
    for circle in all {
        let mut members = circle.clone();
        members.sort();
        if seen.insert(members) {
            let mut names: Vec<String> = circle.iter().map(|module| module.join("::")).collect();
            names.push(names[0].clone());
            found.push(names.join(" -> "));
        }
    }
    found
}

/// A module's path from the root of its crate.
type Name = Vec<String>;
type Graph = BTreeMap<Name, BTreeSet<Name>>;

/// The modules of a crate that have files of their own.
#[derive(Default)]
struct Modules(BTreeMap<Name, Module>);

#[derive(Default)]
struct Module {
    /// What the file brings into scope: the name, and the path it stands for.
    brought: BTreeMap<String, Name>,
    /// Whole modules that it brings into scope (`use path::*`).
    globs: Vec<Name>,
    /// What it defines itself.
    defined: BTreeSet<String>,
    /// Every path that leads somewhere in this crate, from its root.
    wanted: BTreeSet<Name>,
}

impl Modules {
    /// Reads the module in `file`, whose own modules are in `folder`.
    fn read(&mut self, name: Name, file: &Path, folder: &Path) {
        let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let parsed = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let mut reader = Reader { name: name.clone(), inside: BTreeSet::new(), module: Module::default() };
        reader.inside = parsed.items.iter().filter_map(module_of).collect();
        visit::visit_file(&mut reader, &parsed);
        for module in &reader.inside {
            let beside = folder.join(format!("{module}.rs"));
            let path = if beside.exists() { beside } else { folder.join(module).join("mod.rs") };
            // A module without a file stands in this one.
            if path.exists() {
                self.read([name.clone(), vec![module.clone()]].concat(), &path, &folder.join(module));
            }
        }
        self.0.insert(name, reader.module);
    }

    /// Which module imports which.
    fn imports(&self) -> Graph {
        let related = |a: &Name, b: &Name| a.starts_with(b) || b.starts_with(a);
        let edges = |(name, module): (&Name, &Module)| {
            let found = module.wanted.iter().filter_map(|path| self.home(path, 0));
            (name.clone(), found.filter(|other| !related(name, other)).collect())
        };
        self.0.iter().map(edges).collect()
    }

    /// The module whose file has what `path` leads to.
    fn home(&self, path: &[String], depth: u32) -> Option<Name> {
        let length = (0..=path.len()).rev().find(|&length| self.0.contains_key(&path[..length]))?;
        let (name, rest) = path.split_at(length);
        let module = &self.0[name];
        let Some(item) = rest.first().filter(|item| !module.defined.contains(*item) && depth < 8) else {
            return Some(name.to_vec());
        };
        let direct = module.brought.get(item).cloned();
        let direct = direct.map(|target| [&target[..], &rest[1..]].concat());
        let by_glob = || {
            let defines = |glob: &&Name| self.0.get(*glob).is_some_and(|module| module.defined.contains(item));
            module.globs.iter().find(defines).map(|glob| [&glob[..], rest].concat())
        };
        match direct.or_else(by_glob) {
            Some(target) => self.home(&target, depth + 1),
            None => Some(name.to_vec()),
        }
    }
}

/// Reads one file.
struct Reader {
    name: Name,
    /// The modules declared in it.
    inside: BTreeSet<String>,
    module: Module,
}

impl Reader {
    /// `path` as written here, from the root of the crate; none where it leads out of the crate.
    fn rooted(&self, path: &[String]) -> Option<Name> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => Some(rest.to_vec()),
            "self" => Some([&self.name[..], rest].concat()),
            "super" => {
                let ups = path.iter().take_while(|step| *step == "super").count();
                let parent = self.name.len().checked_sub(ups)?;
                Some([&self.name[..parent], &path[ups..]].concat())
            }
            module if self.inside.contains(module) => Some([&self.name[..], path].concat()),
            _ => None,
        }
    }

    fn want(&mut self, path: &[String]) {
        self.module.wanted.extend(self.rooted(path));
    }

    /// Takes in a `use`; one that is a re-export only says where names are.
    fn bring(&mut self, tree: &UseTree, path: &mut Name, reexported: bool) {
        match tree {
            UseTree::Path(step) => {
                path.push(step.ident.to_string());
                self.bring(&step.tree, path, reexported);
                path.pop();
            }
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.bring(tree, path, reexported)),
            UseTree::Glob(_) => {
                if let Some(target) = self.rooted(path) {
                    if !reexported {
                        self.module.wanted.insert(target.clone());
                    }
                    self.module.globs.push(target);
                }
            }
            UseTree::Name(_) | UseTree::Rename(_) => {
                let (item, called) = match tree {
                    UseTree::Rename(renamed) => (renamed.ident.to_string(), renamed.rename.to_string()),
                    UseTree::Name(name) => (name.ident.to_string(), name.ident.to_string()),
                    _ => unreachable!("one of the two"),
                };
                let whole = if item == "self" { path.clone() } else { [&path[..], &[item]].concat() };
                let called = if called == "self" { path.last().cloned().unwrap_or_default() } else { called };
                if let Some(target) = self.rooted(&whole) {
                    if !reexported {
                        self.module.wanted.insert(target.clone());
                    }
                    self.module.brought.insert(called, target);
                }
            }
        }
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast Item) {
        if for_tests_only(attributes(item)) {
            return;
        }
        self.module.defined.extend(defined(item));
        if let Item::Use(item) = item {
            let reexported = !matches!(item.vis, Visibility::Inherited);
            return self.bring(&item.tree, &mut Vec::new(), reexported);
        }
        visit::visit_item(self, item);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let steps: Name = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if steps.len() > 1 {
            self.want(&steps);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        // What a macro makes of its words is not known; its paths are.
        let text = called.tokens.to_string();
        let words: Vec<&str> = text.split_whitespace().collect();
        for (at, word) in words.iter().enumerate() {
            if ["crate", "super", "self"].contains(word) && words.get(at + 1) == Some(&"::") {
                let rest = words[at..].chunks(2).take_while(|pair| pair.get(1) == Some(&"::")).count();
                let steps: Name = (0..=rest).filter_map(|step| words.get(at + 2 * step)).map(|w| (*w).into()).collect();
                self.want(&steps);
            }
        }
        visit::visit_macro(self, called);
    }
}

/// The shortest circle through `from`.
fn shortest_circle(graph: &Graph, from: &Name) -> Option<Vec<Name>> {
    let mut before: BTreeMap<&Name, &Name> = BTreeMap::new();
    let mut open = VecDeque::from([from]);
    while let Some(at) = open.pop_front() {
        for next in graph.get(at).into_iter().flatten() {
            if next == from {
                let mut circle = vec![at.clone()];
                while circle[0] != *from {
                    circle.insert(0, before[&circle[0]].clone());
                }
                return Some(circle);
            }
            if !before.contains_key(next) {
                before.insert(next, at);
                open.push_back(next);
            }
        }
    }
    None
}

fn for_tests_only(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg") && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
    })
}

/// The name of a module that is declared and not for tests only.
fn module_of(item: &Item) -> Option<String> {
    match item {
        Item::Mod(module) if !for_tests_only(&module.attrs) => Some(module.ident.to_string()),
        _ => None,
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn defined(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}

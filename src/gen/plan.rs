//! What is to be written: folders of files, checked as far as that goes without a tool.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::thread;

use anyhow::{Context, Result, anyhow, bail};
use serde::{Serialize, Serializer};
use tributary_hdl::catalog::{Choice, Fpga, PRESETS, Preset};
use tributary_hdl::emit::Module;

use super::cores::{self, Core};

/// The list of a folder's sources in the order in which tools want them: children first.
pub const LIST: &str = "files.f";

/// What the folder is, and the hierarchy of its tops.
const README: &str = "README.md";

/// The folder of modules that are the same in several presets.
pub const LIBRARY: &str = "lib";

/// Library in the names of cores of single blocks, whose folders have the name of their only top.
const BLOCK: &str = "block";

/// A folder of generated files.
#[derive(Serialize)]
pub struct Folder {
    /// Name of the folder: the preset's, or the top module's.
    pub name: String,
    /// What it is for.
    pub purpose: String,
    /// The modules that nothing in the folder instantiates.
    pub tops: Vec<String>,
    /// Lines of all files.
    pub lines: usize,
    /// The files, children first.
    pub files: Vec<GeneratedFile>,
    /// Every source of the tops, children first, as seen from the folder.
    pub sources: Vec<String>,
    /// Cores of FuseSoC.
    #[serde(serialize_with = "names")]
    pub cores: Vec<Core>,
    /// What else lies in it.
    #[serde(skip)]
    readme: Option<String>,
}

/// A file: one module, or registers.
#[derive(Serialize)]
pub struct GeneratedFile {
    /// `<module>.v`, or its name.
    pub file: String,
    /// First sentence of what it does.
    pub about: String,
    /// Lines of text.
    pub lines: usize,
    /// The text.
    #[serde(skip)]
    pub text: String,
}

/// All modules of some tops.
struct Modules {
    tops: Vec<String>,
    /// Children first.
    all: Vec<Module>,
}

/// A folder for each of these presets, and one of what is the same in several presets.
///
/// Every preset is made, as only that tells what several have in common. They are independent of each other, and made
/// side by side.
pub fn presets(wanted: &[&Preset]) -> Result<Vec<Folder>> {
    let made: Vec<Modules> = thread::scope(|scope| {
        let work: Vec<_> = PRESETS
            .iter()
            .map(|preset| {
                scope.spawn(|| {
                    Modules::of(&preset.choices()?)
                        .with_context(|| format!("cannot generate preset `{}`", preset.name))
                })
            })
            .collect();
        work.into_iter()
            .map(|work| work.join().map_err(|_| anyhow!("the writer broke down"))?)
            .collect::<Result<_>>()
    })?;
    let shared = shared(&made)?;
    let names: BTreeSet<&str> = shared.iter().map(|module| module.name.as_str()).collect();
    let mut folders = vec![Folder::library(&shared)];
    for (preset, modules) in PRESETS.iter().zip(&made) {
        if wanted.contains(&preset) {
            let mut folder = Folder::new(preset.name, preset.purpose, modules, &names);
            folder.cores = modules.cores(preset.name, preset.fpga, &names);
            folders.push(folder);
        }
    }
    Ok(folders)
}

/// A folder for one block.
pub fn block(choice: &Choice) -> Result<Folder> {
    let modules = Modules::of(std::slice::from_ref(choice))
        .with_context(|| format!("cannot generate {choice}"))?;
    let name = modules.tops.first().cloned().unwrap_or_default();
    let mut folder = Folder::new(&name, &choice.to_string(), &modules, &BTreeSet::new());
    folder.cores = modules.cores(BLOCK, None, &BTreeSet::new());
    Ok(folder)
}

/// Modules that do not depend on a preset: those with parameters, and those that several presets have. Children first.
fn shared(made: &[Modules]) -> Result<Vec<Module>> {
    let mut known: BTreeMap<&str, (usize, &Module)> = BTreeMap::new();
    let mut order = Vec::new();
    for module in made.iter().flat_map(|modules| &modules.all) {
        let (times, first) = known.entry(&module.name).or_insert_with(|| {
            order.push(module);
            (0, module)
        });
        if first.text != module.text {
            bail!("two different modules would both be {}", module.file_name());
        }
        *times += 1;
    }
    let is_shared = |module: &&Module| known[module.name.as_str()].0 > 1 || module.has_parameters;
    let shared: Vec<Module> = order.into_iter().filter(is_shared).cloned().collect();
    // No core could name both the child, of one preset, and its parent, of all.
    instances_have_modules(&shared).context("in the library")?;
    Ok(shared)
}

/// The names of cores.
fn names<S: Serializer>(cores: &[Core], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(cores.iter().map(Core::vlnv))
}

impl Modules {
    fn of(choices: &[Choice]) -> Result<Self> {
        let mut all: Vec<Module> = Vec::new();
        let mut tops = Vec::new();
        for choice in choices {
            let design = choice.emit()?;
            for module in design.modules {
                match all
                    .iter()
                    .find(|other| other.name.eq_ignore_ascii_case(&module.name))
                {
                    None => all.push(module),
                    Some(same) if *same == module => {}
                    Some(_) => bail!("two different modules would both be {}", module.file_name()),
                }
            }
            tops.push(design.top);
        }
        instances_have_modules(&all)?;
        Ok(Self { tops, all })
    }

    /// A core of each top, and one of what several tops need, unless the library has it.
    fn cores(&self, folder: &str, fpga: Option<Fpga>, library: &BTreeSet<&str>) -> Vec<Core> {
        let within: Vec<_> = self.tops.iter().map(|top| self.under(top)).collect();
        let times = |name: &str| within.iter().filter(|all| all.contains(name)).count();
        // Of the folder's own modules: children first, as all are.
        let own = self
            .all
            .iter()
            .filter(|m| !library.contains(m.name.as_str()));
        let (common, single): (Vec<_>, Vec<_>) = own.partition(|m| times(&m.name) > 1);
        let of_library = cores::vlnv(LIBRARY, cores::COMMON);
        let of_folder = cores::vlnv(folder, cores::COMMON);
        let needs_library = |all: &BTreeSet<&str>| !all.is_disjoint(library);

        let mut made = Vec::new();
        if !common.is_empty() {
            let all = common.iter().flat_map(|m| self.under(&m.name)).collect();
            let depends = needs_library(&all).then(|| of_library.clone());
            made.push(Core::common(
                folder,
                &format!("Modules of several cores of {folder}"),
                common.iter().map(|m| m.file_name()).collect(),
                depends.into_iter().collect(),
            ));
        }
        for (top, all) in self.tops.iter().zip(&within) {
            let needs_common = common.iter().any(|m| all.contains(m.name.as_str()));
            let depends = [
                needs_library(all).then_some(&of_library),
                needs_common.then_some(&of_folder),
            ];
            let files = single.iter().filter(|m| all.contains(m.name.as_str()));
            let about = self.all.iter().find(|m| m.name == *top);
            made.push(Core::of_top(
                folder,
                top,
                &about.map(|m| first_sentence(&m.doc)).unwrap_or_default(),
                files.map(|m| m.file_name()).collect(),
                depends.into_iter().flatten().cloned().collect(),
                fpga,
            ));
        }
        made
    }

    /// A module and all that is in it.
    fn under<'a>(&'a self, name: &'a str) -> BTreeSet<&'a str> {
        let mut found = BTreeSet::new();
        let mut open = vec![name];
        while let Some(name) = open.pop() {
            if found.insert(name) {
                let module = self.all.iter().find(|module| module.name == name);
                let instances = module.iter().flat_map(|module| &module.instances);
                open.extend(instances.map(|(child, _)| child.as_str()));
            }
        }
        found
    }

    /// The hierarchy under a module, a line for each kind of child. What was shown before is only named.
    fn hierarchy<'a>(
        &'a self,
        name: &'a str,
        depth: usize,
        shown: &mut BTreeSet<&'a str>,
        text: &mut String,
    ) {
        let Some(module) = self.all.iter().find(|module| module.name == name) else {
            return;
        };
        let pad = "  ".repeat(depth);
        if !shown.insert(name) {
            *text += &format!("{pad}- `{name}`\n");
            return;
        }
        let about = shortened(&first_sentence(&module.doc));
        *text += &format!("{pad}- `{name}`: {about}\n");
        let mut seen = BTreeSet::new();
        for (child, _) in &module.instances {
            if seen.insert(child) {
                self.hierarchy(child, depth + 1, shown, text);
            }
        }
    }
}

impl GeneratedFile {
    fn new(module: &Module) -> Self {
        Self {
            file: module.file_name(),
            about: first_sentence(&module.doc),
            lines: module.text.lines().count(),
            text: module.text.clone(),
        }
    }
}

impl Folder {
    /// A folder of files that are no Verilog.
    pub fn of_files(name: &str, purpose: &str, files: Vec<GeneratedFile>) -> Self {
        Self {
            name: name.to_owned(),
            purpose: purpose.to_owned(),
            tops: Vec::new(),
            lines: files.iter().map(|file| file.lines).sum(),
            files,
            sources: Vec::new(),
            cores: Vec::new(),
            readme: None,
        }
    }

    fn library(modules: &[Module]) -> Self {
        let purpose = "modules that are the same in several presets";
        let files = modules.iter().map(GeneratedFile::new).collect();
        let mut folder = Self::of_files(LIBRARY, purpose, files);
        let files = modules.iter().map(Module::file_name).collect();
        folder.cores = vec![Core::common(
            LIBRARY,
            "Modules of several presets",
            files,
            Vec::new(),
        )];
        folder
    }

    /// The modules, but for those of the library, which it refers to.
    fn new(name: &str, purpose: &str, modules: &Modules, library: &BTreeSet<&str>) -> Self {
        let is_own = |module: &&Module| !library.contains(module.name.as_str());
        let own = modules.all.iter().filter(is_own);
        let sources = modules.all.iter().map(|module| match is_own(&module) {
            true => module.file_name(),
            false => format!("../{LIBRARY}/{}", module.file_name()),
        });
        let mut folder = Self::of_files(name, purpose, own.map(GeneratedFile::new).collect());
        folder.sources = sources.collect();
        folder.tops = modules.tops.clone();
        let mut readme = format!(
            "# {name}: {purpose}\n\nGenerated; do not edit. `{LIST}` lists all sources, children first. \
             What stands for a second time is described where it stands first.\n"
        );
        let mut shown = BTreeSet::new();
        for top in &folder.tops {
            readme += &format!("\n## {top}\n\n");
            modules.hierarchy(top, 0, &mut shown, &mut readme);
        }
        folder.readme = Some(readme);
        folder
    }

    /// Every file by name, the list of sources and the cores included.
    pub fn contents(&self) -> BTreeMap<String, String> {
        let list = self
            .sources
            .iter()
            .map(|file| format!("{file}\n"))
            .collect();
        let list = self.has_list().then(|| (LIST.to_owned(), list));
        let readme = self.readme.clone().map(|text| (README.to_owned(), text));
        let files = self
            .files
            .iter()
            .map(|file| (file.file.clone(), file.text.clone()));
        let cores = self
            .cores
            .iter()
            .map(|core| (core.file_name(), core.text()));
        files.chain(list).chain(readme).chain(cores).collect()
    }

    fn has_list(&self) -> bool {
        !self.tops.is_empty()
    }

    /// The folder for people: what it is, and a line for each file.
    pub fn tell(&self, out: &Path) -> String {
        let width = self
            .files
            .iter()
            .map(|file| file.file.len())
            .max()
            .unwrap_or(0)
            .max(README.len());
        let mut text = format!("{}: {}", out.join(&self.name).display(), self.purpose);
        if self.has_list() {
            text += &format!("; top {}", self.tops.join(", "));
        }
        text.push('\n');
        // The top is what one looks for, so it comes first.
        for file in self.files.iter().rev() {
            text += &format!("  {:width$}  {}\n", file.file, shortened(&file.about));
        }
        if self.has_list() {
            text +=
                &format!("  {LIST:width$}  The sources in the order in which tools want them.\n");
        }
        if self.readme.is_some() {
            text += &format!("  {README:width$}  What instantiates what.\n");
        }
        for core in &self.cores {
            let file = core.file_name();
            text += &format!("  {file:width$}  {} for FuseSoC.\n", core.vlnv());
        }
        text + "\n"
    }
}

fn first_sentence(doc: &[String]) -> String {
    let text = doc
        .iter()
        .map(|line| line.trim())
        .take_while(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join(" ");
    match text.find(". ") {
        Some(end) => text[..=end].to_owned(),
        None => text,
    }
}

/// The text as far as it fits on a line beside a name.
fn shortened(text: &str) -> String {
    const ROOM: usize = 76;
    if text.chars().count() <= ROOM {
        return text.to_owned();
    }
    let mut short = String::new();
    for word in text.split(' ') {
        if short.chars().count() + word.chars().count() >= ROOM {
            break;
        }
        short += word;
        short.push(' ');
    }
    format!("{} …", short.trim_end_matches([' ', ',', ':', ';']))
}

/// Fails if an instance in one of the modules is of a module that is not among them.
fn instances_have_modules(modules: &[Module]) -> Result<()> {
    let known: BTreeSet<&str> = modules.iter().map(|module| module.name.as_str()).collect();
    for module in modules {
        let missing = module
            .instances
            .iter()
            .find(|(of, _)| !known.contains(of.as_str()));
        if let Some((of, instance)) = missing {
            bail!(
                "module {} instantiates {of} as {instance}, but there is no module {of}",
                module.name
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(name: &str, instances: &[(&str, &str)]) -> Module {
        let owned = |(of, name): &(&str, &str)| ((*of).to_owned(), (*name).to_owned());
        Module {
            name: name.to_owned(),
            text: format!("module {name};\nendmodule\n"),
            doc: vec![format!("What {name} does. More.")],
            instances: instances.iter().map(owned).collect(),
            has_parameters: false,
            lost: Vec::new(),
        }
    }

    #[test]
    fn an_instance_without_module_is_named() {
        let modules = [module("top", &[("leaf", "u_leaf")])];
        let error = instances_have_modules(&modules).unwrap_err().to_string();
        assert_eq!(
            error,
            "module top instantiates leaf as u_leaf, but there is no module leaf"
        );
        let both = [module("leaf", &[]), modules[0].clone()];
        instances_have_modules(&both).unwrap();
    }

    #[test]
    fn what_two_presets_have_is_in_the_library_once() {
        let one = |extra: &str| Modules {
            tops: vec![extra.to_owned()],
            all: vec![
                module("leaf", &[]),
                module(extra, &[("leaf", "a"), ("leaf", "b")]),
            ],
        };
        let made = [one("x"), one("y")];
        let shared = shared(&made).unwrap();
        assert_eq!(shared.len(), 1);
        assert_eq!(shared[0].name, "leaf");
        let folder = Folder::new("p", "test", &made[0], &BTreeSet::from(["leaf"]));
        assert_eq!(folder.sources, ["../lib/leaf.v", "x.v"]);
        let contents = folder.contents();
        let names: Vec<&String> = contents.keys().collect();
        assert_eq!(names, ["README.md", "files.f", "x.v"]);
        let tree = "- `x`: What x does.\n  - `leaf`: What leaf does.\n";
        assert!(
            contents["README.md"].ends_with(tree),
            "{}",
            contents["README.md"]
        );
        let mut other = one("y");
        other.all[0].text.push_str("// different\n");
        let error = super::shared(&[one("x"), other]).unwrap_err().to_string();
        assert_eq!(error, "two different modules would both be leaf.v");
    }

    #[test]
    fn each_file_of_a_folder_is_in_one_core() {
        let modules = Modules {
            tops: vec!["x".to_owned(), "y".to_owned(), "z".to_owned()],
            all: vec![
                module("of_all", &[]),
                module("of_two", &[("of_all", "a")]),
                module("of_x", &[]),
                module("x", &[("of_two", "a"), ("of_x", "b")]),
                module("y", &[("of_two", "a")]),
                module("z", &[]),
            ],
        };
        let cores = modules.cores("p", None, &BTreeSet::from(["of_all"]));
        let library = cores::vlnv(LIBRARY, cores::COMMON);
        let common = cores::vlnv("p", cores::COMMON);
        let lists = |core: &Core| -> Vec<String> {
            let text = core.text();
            let entries = text
                .lines()
                .filter_map(|line| line.strip_prefix("      - "));
            entries
                .map(|entry| entry.trim_matches('"').to_owned())
                .collect()
        };
        let lists: Vec<_> = cores.iter().map(lists).collect();
        assert_eq!(lists[0], ["of_two.v".to_owned(), library.clone()]);
        assert_eq!(lists[1], ["of_x.v", "x.v", &library, &common]);
        assert_eq!(lists[2], ["y.v", &library, &common]);
        assert_eq!(lists[3], ["z.v"]);
        let names: Vec<String> = cores.iter().map(Core::file_name).collect();
        assert_eq!(names, ["common.core", "x.core", "y.core", "z.core"]);
    }

    #[test]
    fn a_module_of_all_presets_with_a_child_of_one_is_an_error() {
        let mut parent = module("parent", &[("child", "a")]);
        parent.has_parameters = true;
        let one = Modules {
            tops: vec!["parent".to_owned()],
            all: vec![module("child", &[]), parent],
        };
        let error = format!("{:#}", super::shared(&[one]).unwrap_err());
        assert!(
            error.starts_with("in the library: module parent"),
            "{error}"
        );
    }

    #[test]
    fn the_first_sentence_may_run_over_lines() {
        let doc = |lines: &[&str]| lines.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(
            first_sentence(&doc(&["A block", "of two lines. More."])),
            "A block of two lines."
        );
        assert_eq!(
            first_sentence(&doc(&["No full stop", "", "Another."])),
            "No full stop"
        );
        assert_eq!(first_sentence(&[]), "");
    }
}

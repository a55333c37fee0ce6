//! The contract of card and switch as C headers and as pages, from the declarations in `protocol`.

mod c;
mod card_header;
mod card_pages;
mod card_queues_page;
mod page;
mod switch;

use tributary_protocol::card::command::{Argument, Limit};

use super::plan::{Folder, GeneratedFile};

/// Name of the folder.
pub const FOLDER: &str = "registers";

/// The folder with headers and pages for the card and for the switch.
pub fn folder() -> Folder {
    let files = [
        (
            "tributary_card.h",
            "The card for C: registers, commands, descriptors, frames.",
            card_header::text(),
        ),
        (
            "card.md",
            "The card for people: BAR0, registers, counters.",
            card_pages::registers(),
        ),
        (
            "card_commands.md",
            "The card for people: commands, states of a queue pair.",
            card_pages::commands(),
        ),
        (
            "card_queues.md",
            "The card for people: rings and their entries, outcomes.",
            card_queues_page::queues(),
        ),
        (
            "card_wire.md",
            "The card for people: frames.",
            card_queues_page::wire(),
        ),
        (
            "tributary_switch.h",
            "The switch for C: registers.",
            switch::header(),
        ),
        (
            "switch.md",
            "The switch for people: registers.",
            switch::page(),
        ),
    ];
    let files: Vec<_> = files
        .into_iter()
        .map(|(file, about, text)| GeneratedFile {
            file: file.to_owned(),
            about: about.to_owned(),
            lines: text.lines().count(),
            text,
        })
        .collect();
    Folder::of_files(
        FOLDER,
        "registers, commands, descriptors and frames, for drivers",
        files,
    )
}
/// A code with its name and meaning.
struct Code {
    name: &'static str,
    code: u8,
    doc: &'static str,
}

/// All codes of an enum of `protocol`, for a module below this one.
macro_rules! codes {
    ($enum:path) => {{
        use $enum as Codes;
        let all = Codes::ALL.iter();
        all.map(|c| super::Code {
            name: c.name(),
            code: c.code(),
            doc: c.doc(),
        })
        .collect::<Vec<_>>()
    }};
}
use codes;

/// Values of an argument that are taken.
fn taken(argument: &Argument) -> String {
    match argument.limit {
        Limit::Any => "any".to_owned(),
        Limit::State => "a state".to_owned(),
        Limit::QueuePair => "below the number of queue pairs".to_owned(),
        Limit::Vector => "below the number of vectors".to_owned(),
        Limit::Multiple(of) => format!("multiples of {of}"),
        Limit::BytesFrom(base) => format!("1 and more; {} + it at most 2^64", base.name),
    }
}

/// Marks of rustdoc left out: of a link, its last part stays.
fn text(doc: &str) -> String {
    let mut out = String::new();
    let mut rest = doc;
    while let Some(at) = rest.find("[`") {
        let (before, link) = rest.split_at(at);
        let Some((path, behind)) = link[2..].split_once("`]") else {
            break;
        };
        out += before;
        out += path.rsplit("::").next().unwrap_or(path);
        rest = behind;
    }
    out + rest
}

//! The card as pages: BAR0, commands.

use std::fmt::Write;

use tributary_protocol::card::command::{
    Argument, CALLS, Call, Command, KEY_INDEX, KEY_VARIANT, PATIENCE_LOG, State, Status,
    TRANSITIONS,
};
use tributary_protocol::card::regs;

use super::page::{self as p, bits};
use super::{codes, taken, text};

/// log2 of queue pairs that cards are built with.
const QPS_LOGS: std::ops::RangeInclusive<u8> = 4..=10;

/// BAR0, registers, counters.
pub fn registers() -> String {
    let mut out = p::page(
        "Card: BAR0, registers, counters",
        "protocol/src/card/regs.rs",
    );
    out += "Commands: [card_commands.md](card_commands.md). Rings: [card_queues.md](card_queues.md). Frames: \
            [card_wire.md](card_wire.md). The same for C: [tributary_card.h](tributary_card.h). How they work together: `docs/card.md`.\n";
    let rows = [
        ("0x0".to_owned(), "registers of the card".to_owned()),
        (
            format!("0x{:x} + 4 · i", regs::ARG0),
            format!("argument i of a command, i = 0 to {}; read and write, reset 0", regs::ARGS - 1),
        ),
        (
            format!("0x{:x} + 0x{:x} · v", regs::MSIX_TABLE, regs::MSIX_ENTRY_LEN),
            "entry of the MSI-X table of vector v".to_owned(),
        ),
        (format!("0x{:x}", regs::MSIX_PENDING), "MSI-X pending bits".to_owned()),
        (
            format!("0x{:x} + 0x{:x} · n", regs::DOORBELLS, regs::PAGE),
            "doorbells of queue pair n: a page of their own, so that a process can be given just its own".to_owned(),
        ),
    ];
    let rows = rows.map(|(offset, what)| vec![offset, what]);
    p::table(&mut out, "Layout of BAR0", &["offset", "what"], &rows);
    out += "\nRegisters have 32 bits. Bits without a field read as 0; what becomes of a write with a one there: see accesses. Numbers are little-endian, as on the bus.\n";
    let rows: Vec<_> = QPS_LOGS
        .map(|log| {
            let bytes = regs::bar0_bytes(log);
            let pages = regs::DOORBELLS + (regs::PAGE << log);
            let size = if bytes < 1 << 20 {
                format!("{} KiB", bytes >> 10)
            } else {
                format!("{} MiB", bytes >> 20)
            };
            vec![
                log.to_string(),
                (1u32 << log).to_string(),
                format!("0x{pages:x}"),
                format!("0x{bytes:x}"),
                size,
            ]
        })
        .collect();
    let head = [
        "sizes.qps",
        "queue pairs",
        "end of the last doorbell page",
        "bytes of BAR0",
        "",
    ];
    p::table(&mut out, "Size of BAR0", &head, &rows);
    out += "\nThe end of the doorbells, rounded up to a power of two. BAR0 is a memory BAR, not prefetchable; its base is any multiple of its size, since the card looks at no bit of an address above it.\n";
    let rows: Vec<_> = regs::ACCESSES
        .iter()
        .map(|(access, what)| vec![(*access).to_owned(), (*what).to_owned()])
        .collect();
    p::table(&mut out, "Accesses", &["access", "what happens"], &rows);
    out += "\n## Without bus mastering\n\n";
    for line in regs::WITHOUT_BUS_MASTERING {
        let _ = writeln!(out, "- {line}");
    }
    p::registers(&mut out, "Registers", regs::GLOBAL);
    p::registers(&mut out, "Doorbells of a queue pair", regs::DOORBELL);
    p::registers(&mut out, "Entry of the MSI-X table", regs::MSIX_ENTRY);
    p::registers(&mut out, "MSI-X pending bits", regs::PENDING);
    p::registers(
        &mut out,
        "Registers of bulk transfers, with the feature bulk",
        regs::BULK,
    );
    p::registers(
        &mut out,
        "Registers of congestion, with the feature congestion",
        regs::CONGESTION,
    );
    p::registers(
        &mut out,
        "Registers of schedule rings, with the feature rings",
        regs::RINGS,
    );
    p::codes(&mut out, "Counters", &codes!(regs::Counter));
    p::codes(
        &mut out,
        "Counters of bulk transfers",
        &codes!(regs::BulkCounter),
    );
    p::codes(
        &mut out,
        "Counters of reductions",
        &codes!(regs::ReductionCounter),
    );
    p::codes(
        &mut out,
        "Counters of congestion",
        &codes!(regs::CongestionCounter),
    );
    out
}

/// Commands and states.
pub fn commands() -> String {
    let mut out = p::page("Card: commands", "protocol/src/card/command/");
    out += "\nA driver waits until `status.busy` is 0, writes the argument registers that the command looks at, then `command` with code and index, \
            waits until `status.busy` is 0, and reads `status.code` and the result registers. Argument registers keep their values, so each \
            command's are written anew.\n\n\
            The card checks in this order; the first check that fails decides, and a command that is refused changes nothing, but for \
            `not_idle`, which see: the code (`bad_command`), the index (`bad_index`), the arguments (`bad_argument`), the state \
            (`bad_state`), that nothing is under way (`not_idle`, of commands that wait). Results are 0 unless named here.\n\n\
            Bits that no argument has, of the argument registers from the first to the last that the command has an argument in, must be 0 \
            (`bad_argument`): a value that is too large is not taken for its lower bits. Registers behind those are not looked at.\n";
    p::codes(&mut out, "How a command ended", &codes!(Status));
    p::codes(&mut out, "Commands", &codes!(Command));
    for call in CALLS {
        one_command(&mut out, call);
    }
    p::fields(&mut out, "Key of a region", &[KEY_VARIANT, KEY_INDEX]);
    states(&mut out);
    out
}

fn one_command(out: &mut String, call: &Call) {
    let _ = writeln!(
        out,
        "\n### {} = {}\n\n- Index: a {}.",
        call.command.name(),
        call.command.code(),
        call.index.name()
    );
    if !call.state.is_empty() {
        let _ = writeln!(out, "- `bad_state`: {}.", call.state);
    }
    if call.waits {
        let _ = writeln!(
            out,
            "- Waits until nothing is under way on the card, or ends with `not_idle` after 2^{PATIENCE_LOG} clocks."
        );
    }
    let _ = writeln!(out, "- Effect: {}", call.effect);
    if !call.arguments.is_empty() {
        let rows: Vec<_> = call.arguments.iter().map(row).collect();
        let head = ["argument register", "bits", "name", "taken", "meaning"];
        p::table(out, "", &head, &rows);
    }
    if !call.results.is_empty() {
        let rows: Vec<_> = call
            .results
            .iter()
            .map(|r| {
                vec![
                    format!("result{}", r.register),
                    bits(0, r.width),
                    r.name.to_owned(),
                    text(r.doc),
                ]
            })
            .collect();
        p::table(
            out,
            "",
            &["result register", "bits", "name", "meaning"],
            &rows,
        );
    }
}

fn row(argument: &Argument) -> Vec<String> {
    let first = argument.register;
    let register = match argument.further() {
        0 => first.to_string(),
        more => format!("{first} (lower half), {} (upper half)", first + more),
    };
    let name = argument.name.to_owned();
    vec![
        register,
        bits(argument.lsb, argument.width),
        name,
        taken(argument),
        text(argument.doc),
    ]
}

fn states(out: &mut String) {
    let yes = |does: bool| if does { "yes" } else { "" }.to_owned();
    let rows: Vec<_> = State::ALL
        .iter()
        .map(|state| {
            let to: Vec<_> = TRANSITIONS
                .iter()
                .filter(|(from, _)| from == state)
                .map(|(_, to)| to.name())
                .collect();
            vec![
                state.code().to_string(),
                state.name().to_owned(),
                yes(state.posts()),
                yes(state.receives()),
                yes(state.sends()),
                to.join(", "),
                text(state.doc()),
            ]
        })
        .collect();
    let head = [
        "code",
        "name",
        "requests may be posted",
        "receives",
        "sends",
        "modify_qp leads to",
        "meaning",
    ];
    p::table(out, "States of a queue pair", &head, &rows);
    *out += "\nA queue pair that does not receive refuses requests as if it did not exist (outcome `bad_qp` at their senders). \
             CREATE_QP leads from reset to init, DESTROY_QP from everywhere to reset, and a ring that cannot be read to error. \
             In error, what is in flight still ends with its completion.\n";
}

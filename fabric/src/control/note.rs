//! What a manager leaves in the switches for the one that comes after it: below which number trees may be in use.
//!
//! Tables cannot be read, but staging registers can, and between two commits they hold nothing that counts. The note stands in every
//! switch before a tree gets a number beyond it. A manager that dies while it writes a tree has overwritten one note, and the others
//! still hold.

use tributary_protocol::red::regs;

use super::{Control, ControlError, Registers, clear_entry, get, put};
use crate::ids::IDS_MAX;
use crate::network::{Network, SwitchId};
use crate::update;

/// In the upper half of the staged children.
const MARK: u32 = 0x5452_4545;
/// Numbers are noted in steps of so many, so that few trees need a new note.
const STEP: u16 = 8;

/// What the staging registers of a switch hold.
enum Note {
    /// Nothing was staged since its reset.
    Fresh,
    /// Trees may be in use below this number.
    Below(u16),
    /// Part of an entry.
    Other,
}

fn read<R: Registers>(
    network: &Network,
    switch: SwitchId,
    registers: &mut R,
) -> Result<Note, ControlError> {
    let [low, high, entry] = [
        regs::MULTICAST_CHILDREN_LOW,
        regs::MULTICAST_CHILDREN_HIGH,
        regs::MULTICAST_ENTRY,
    ]
    .map(|register| get(network, registers, switch, register.offset));
    let (low, high, entry) = (low?, high?, entry?);
    let below = low as u16;
    Ok(match (low, high, entry) {
        (0, 0, 0) => Note::Fresh,
        (_, MARK, 0) if low == word(below) && below <= IDS_MAX => Note::Below(below),
        _ => Note::Other,
    })
}

const fn step_behind(id: u16) -> u16 {
    (id / STEP + 1) * STEP
}

/// The number, and its complement as a check.
const fn word(below: u16) -> u32 {
    below as u32 | (!below as u32) << 16
}

fn write<R: Registers>(
    network: &Network,
    switch: SwitchId,
    registers: &mut R,
    below: u16,
) -> Result<(), ControlError> {
    // Whatever is half written stages no entry that counts.
    for (register, value) in [
        (regs::MULTICAST_ENTRY, 0),
        (regs::MULTICAST_CHILDREN_HIGH, MARK),
        (regs::MULTICAST_CHILDREN_LOW, word(below)),
    ] {
        put(network, registers, switch, register.offset, value)?;
    }
    Ok(())
}

/// Below which number trees of a manager before may be in use; of switches that have `ids` numbers.
pub(super) fn inherited<R: Registers>(
    network: &Network,
    ids: u16,
    registers: &mut R,
) -> Result<u16, ControlError> {
    let (mut highest, mut other) = (None, false);
    for switch in 0..network.switch_count() {
        match read(network, switch, registers)? {
            Note::Fresh => {}
            Note::Below(below) => highest = highest.max(Some(below.min(ids))),
            Note::Other => other = true,
        }
    }
    // Without any note nothing is known of what was there.
    Ok(highest.unwrap_or(if other { ids } else { 0 }))
}

impl Control {
    /// Trees of managers before this one may be in use under numbers below this; this one gives others.
    #[must_use]
    pub const fn inherited(&self) -> u16 {
        self.ids.first()
    }

    /// Groups of managers before this one are over, and none of their frames is under way: their entries are cleared and their numbers
    /// free.
    ///
    /// # Errors
    /// A switch does not take a write: numbers stay taken, and whoever got the error calls this again.
    pub fn forget_inherited<R: Registers>(
        &mut self,
        registers: &mut R,
    ) -> Result<(), ControlError> {
        let switches: Vec<SwitchId> = (0..self.network.switch_count()).collect();
        for id in 0..self.ids.first() {
            for write in update::clear(id, &switches) {
                clear_entry(&self.network, registers, &write)?;
            }
        }
        self.ids.set_first(0);
        self.noted = self.ids.highest().map_or(0, step_behind);
        // One that does not take it keeps a higher one, which does no harm.
        for &switch in &switches {
            let _ = write(&self.network, switch, registers, self.noted);
        }
        Ok(())
    }

    /// Notes in every switch that a tree may have this number, if they do not say so yet.
    pub(super) fn note_tree<R: Registers>(&mut self, id: u16, registers: &mut R) {
        if id >= self.noted {
            self.noted = step_behind(id);
            for switch in 0..self.network.switch_count() {
                self.note(switch, registers);
            }
        }
    }

    /// Writes the note to a switch. One that does not take it has another one or none, and those of others count.
    pub(super) fn note<R: Registers>(&self, switch: SwitchId, registers: &mut R) {
        if self.noted > 0 {
            let _ = write(&self.network, switch, registers, self.noted);
        }
    }
}

//! Registers of a switch that the manager reads and writes, with errors that name both.

use tributary_protocol::red::regs;

use super::{ControlError, Registers};
use crate::network::{Network, SwitchId};
use crate::update;

/// Clears an entry of a tree. What is staged besides it stays.
pub(super) fn clear_entry<R: Registers>(
    network: &Network,
    registers: &mut R,
    write: &update::Write,
) -> Result<(), ControlError> {
    let commit = regs::MULTICAST_INDEX.put(write.id.into());
    [
        (&regs::MULTICAST_ENTRY, 0),
        (&regs::MULTICAST_COMMIT, commit),
    ]
    .into_iter()
    .try_for_each(|(r, value)| put(network, registers, write.switch, r.offset, value))
}

/// Compares a switch with the plan; returns log2 of its trees.
pub(super) fn compare<R: Registers>(
    network: &Network,
    switch: SwitchId,
    unicast_bits: u32,
    registers: &mut R,
) -> Result<u32, ControlError> {
    let plan = &network.switches()[switch as usize];
    let [id, version, sizes] = [regs::ID, regs::VERSION, regs::SIZES]
        .map(|register| get(network, registers, switch, register.offset));
    let (id, version, sizes) = (id?, version?, sizes?);
    let differs = |what, is, wanted| ControlError::Differs {
        switch: plan.name.clone(),
        what,
        is,
        wanted,
    };
    let major = |value| regs::VERSION_MAJOR.get(value);
    let (ours, theirs) = (major(regs::VERSION.reset), major(version));
    if id != regs::ID.reset {
        return Err(differs("identity", id, regs::ID.reset));
    }
    if theirs != ours {
        return Err(differs("major version", theirs, ours));
    }
    let ports = regs::SIZES_PORTS.get(sizes);
    if ports < plan.ports.into() {
        return Err(differs("number of ports", ports, plan.ports.into()));
    }
    let bits = regs::SIZES_UNICAST.get(sizes);
    if bits < unicast_bits {
        return Err(differs("unicast_bits", bits, unicast_bits));
    }
    Ok(regs::SIZES_MULTICAST.get(sizes))
}

pub(super) fn get<R: Registers>(
    network: &Network,
    registers: &mut R,
    switch: SwitchId,
    offset: u16,
) -> Result<u32, ControlError> {
    let read = registers.read(switch, offset);
    read.map_err(|error| ControlError::Access {
        switch: network.switches()[switch as usize].name.clone(),
        offset,
        reason: error.to_string(),
    })
}

pub(super) fn put<R: Registers>(
    network: &Network,
    registers: &mut R,
    switch: SwitchId,
    offset: u16,
    value: u32,
) -> Result<(), ControlError> {
    let written = registers.write(switch, offset, value);
    written.map_err(|error| ControlError::Access {
        switch: network.switches()[switch as usize].name.clone(),
        offset,
        reason: error.to_string(),
    })
}

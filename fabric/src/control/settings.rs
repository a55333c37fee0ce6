//! Settings of a switch that are no tables: they go with a reset, and whoever wrote them does not see it.

use tributary_protocol::red::regs::{self, Register};

use super::{ControlError, Registers, get, put};
use crate::network::{Network, SwitchId};

const GLOBAL: [&Register; 10] = [
    &regs::MODE,
    &regs::ETHERTYPE,
    &regs::ECN_THRESHOLD,
    &regs::THRESHOLD0,
    &regs::THRESHOLD1,
    &regs::THRESHOLD2,
    &regs::TIMEOUT0,
    &regs::TIMEOUT1,
    &regs::TIMEOUT2,
    &regs::TIMEOUT3,
];

/// Offsets and values.
type Values = Vec<(u16, u32)>;

/// Settings of a switch.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    /// What holds while ports are off.
    rest: Values,
    /// What ports do.
    ports: Values,
}

impl Settings {
    /// Those of now; a port that is off is to work, with its engine.
    pub fn read<R: Registers>(
        network: &Network,
        switch: SwitchId,
        registers: &mut R,
    ) -> Result<Self, ControlError> {
        let mut settings = Self::default();
        for register in GLOBAL {
            let value = get(network, registers, switch, register.offset)?;
            settings.rest.push((register.offset, value));
        }
        for port in 0..network.switches()[switch as usize].ports as u8 {
            let address = regs::port_offset(port, &regs::PORT_ADDRESS);
            let value = get(network, registers, switch, address)?;
            settings.rest.push((address, value));
            let control = regs::port_offset(port, &regs::PORT_CONTROL);
            let is = get(network, registers, switch, control)?;
            // Of a port that works somebody has chosen whether its engine does.
            let works = regs::PORT_ENABLE.get(is) == 1;
            let on = regs::PORT_ENABLE.put(1) | regs::PORT_ENGINE.put(1);
            settings.ports.push((control, if works { is } else { on }));
        }
        Ok(settings)
    }

    /// Whether all ports are off. The manager has enabled them all, so the switch was reset.
    pub fn are_lost<R: Registers>(
        &self,
        network: &Network,
        switch: SwitchId,
        registers: &mut R,
    ) -> Result<bool, ControlError> {
        for &(offset, _) in &self.ports {
            let is = get(network, registers, switch, offset)?;
            if regs::PORT_ENABLE.get(is) == 1 {
                return Ok(false);
            }
        }
        Ok(!self.ports.is_empty())
    }

    /// No port of the switch works, and the rest is as it was.
    pub fn restore<R: Registers>(
        &self,
        network: &Network,
        switch: SwitchId,
        registers: &mut R,
    ) -> Result<(), ControlError> {
        let off = self.ports.iter().map(|&(offset, _)| (offset, 0));
        write(network, switch, registers, off)?;
        write(network, switch, registers, self.rest.iter().copied())
    }

    /// The ports of the switch work.
    pub fn switch_on<R: Registers>(
        &self,
        network: &Network,
        switch: SwitchId,
        registers: &mut R,
    ) -> Result<(), ControlError> {
        write(network, switch, registers, self.ports.iter().copied())
    }
}

/// Writes what differs: some switches have settings that cannot be changed.
fn write<R: Registers>(
    network: &Network,
    switch: SwitchId,
    registers: &mut R,
    values: impl Iterator<Item = (u16, u32)>,
) -> Result<(), ControlError> {
    for (offset, value) in values {
        if get(network, registers, switch, offset)? != value {
            put(network, registers, switch, offset, value)?;
        }
    }
    Ok(())
}

//! The register map of [`crate::red::regs`] over the switch: what a driver reads and writes.

use thiserror::Error;

use super::{PortSettings, Switch, Tree};
use crate::red::{
    address::Address,
    counters::Counter,
    engine::EngineConfig,
    ops::Mode,
    regs::{self, Access, Register},
};

/// An access that is answered SLVERR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum RegisterError {
    /// Nothing at this offset, or a port that the switch does not have.
    #[error("no register at offset {0:#x}")]
    Unknown(u16),
    /// A write to what can only be read.
    #[error("register at {0:#x} is read only")]
    ReadOnly(u16),
    /// Ones where the register has no field.
    #[error("register at {offset:#x} has no field for {:#x} of {value:#x}", value & !mask)]
    Fields {
        /// Where it is.
        offset: u16,
        /// What was written.
        value: u32,
        /// Bits of its fields.
        mask: u32,
    },
    /// An entry that the table does not have.
    #[error("the table has no entry {0}")]
    Index(u32),
}

/// Registers that hold a value until something is done with it.
#[derive(Clone, Debug, Default)]
pub(super) struct Staging {
    unicast: u32,
    children: u64,
    entry: u32,
    select: u32,
    statistic: u64,
}

impl Switch {
    fn register(&self, offset: u16) -> Result<(&'static Register, Option<u8>), RegisterError> {
        regs::find(offset)
            .filter(|(_, port)| port.is_none_or(|p| p < self.ports()))
            .ok_or(RegisterError::Unknown(offset))
    }

    /// Reads a register.
    ///
    /// # Errors
    /// [`RegisterError::Unknown`].
    pub fn read(&self, offset: u16) -> Result<u32, RegisterError> {
        let (register, port) = self.register(offset)?;
        let engine = self.engine_config();
        let staged = &self.staging;
        Ok(match (register.offset, port) {
            (at, Some(port)) => {
                let settings = self.ports[usize::from(port)].settings;
                if at == regs::PORT_CONTROL.offset {
                    regs::PORT_ENABLE.put(settings.enable.into())
                        | regs::PORT_ENGINE.put(settings.engine.into())
                } else {
                    settings.address.0
                }
            }
            (at, None) if at == regs::SIZES.offset => {
                regs::SIZES_PORTS.put(self.config.ports.into())
                    | regs::SIZES_DESCRIPTORS.put(engine.descriptors.min(255) as u32)
                    | regs::SIZES_UNICAST.put(self.config.unicast_bits.into())
                    | regs::SIZES_MULTICAST.put(self.config.multicast_bits.into())
            }
            (at, None) if at == regs::MODE.offset => engine.mode.ieee_nan.into(),
            (at, None) if at == regs::ETHERTYPE.offset => self.ethertype.into(),
            (at, None) if at == regs::ECN_THRESHOLD.offset => self.ecn_threshold.into(),
            (at @ 0x20..=0x28, None) => engine.thresholds[usize::from(at - 0x20) / 4],
            (at @ 0x30..=0x3c, None) => engine.timeouts[usize::from(at - 0x30) / 4],
            (at, None) if at == regs::UNICAST_ENTRY.offset => staged.unicast,
            (at, None) if at == regs::MULTICAST_CHILDREN_LOW.offset => staged.children as u32,
            (at, None) if at == regs::MULTICAST_CHILDREN_HIGH.offset => {
                (staged.children >> 32) as u32
            }
            (at, None) if at == regs::MULTICAST_ENTRY.offset => staged.entry,
            (at, None) if at == regs::STATISTICS_SELECT.offset => staged.select,
            (at, None) if at == regs::STATISTICS_LOW.offset => staged.statistic as u32,
            (at, None) if at == regs::STATISTICS_HIGH.offset => (staged.statistic >> 32) as u32,
            // Identity, and what can only be written.
            _ => register.reset,
        })
    }

    /// Writes a register.
    ///
    /// # Errors
    /// Nothing there, read only, more than the fields hold, or beyond a table; without effect then.
    pub fn write(&mut self, offset: u16, value: u32) -> Result<(), RegisterError> {
        let (register, port) = self.register(offset)?;
        if register.access == Access::ReadOnly {
            return Err(RegisterError::ReadOnly(offset));
        }
        if !register.fits(value) {
            return Err(RegisterError::Fields {
                offset,
                value,
                mask: register.mask(),
            });
        }
        if let Some(port) = port {
            let old = self.ports[usize::from(port)].settings;
            let settings = if register.offset == regs::PORT_CONTROL.offset {
                PortSettings {
                    enable: regs::PORT_ENABLE.get(value) == 1,
                    engine: regs::PORT_ENGINE.get(value) == 1,
                    ..old
                }
            } else {
                PortSettings {
                    address: Address(value),
                    ..old
                }
            };
            return self
                .set_port(port, settings)
                .map_err(|_| RegisterError::Unknown(offset));
        }
        let mut engine = self.engine_config();
        match register.offset {
            at if at == regs::MODE.offset => {
                engine.mode = Mode {
                    ieee_nan: value == 1,
                };
            }
            at if at == regs::ETHERTYPE.offset => self.ethertype = value as u16,
            at if at == regs::ECN_THRESHOLD.offset => self.ecn_threshold = value as u16,
            at @ 0x20..=0x28 => engine.thresholds[usize::from(at - 0x20) / 4] = value,
            at @ 0x30..=0x3c => engine.timeouts[usize::from(at - 0x30) / 4] = value,
            at if at == regs::UNICAST_ENTRY.offset => self.staging.unicast = value,
            at if at == regs::MULTICAST_CHILDREN_LOW.offset => {
                self.staging.children = self.staging.children >> 32 << 32 | u64::from(value);
            }
            at if at == regs::MULTICAST_CHILDREN_HIGH.offset => {
                self.staging.children =
                    self.staging.children & 0xffff_ffff | u64::from(value) << 32;
            }
            at if at == regs::MULTICAST_ENTRY.offset => self.staging.entry = value,
            at if at == regs::UNICAST_COMMIT.offset => return self.commit_unicast(value),
            at if at == regs::MULTICAST_COMMIT.offset => return self.commit_multicast(value),
            _ => self.select(value),
        }
        // The fields are as wide as the settings, so this cannot fail.
        self.set_engines(engine)
            .map_err(|_| RegisterError::Unknown(offset))
    }

    fn engine_config(&self) -> EngineConfig {
        self.ports
            .first()
            .map_or(self.config.engine, |p| *p.engine.config())
    }

    fn commit_unicast(&mut self, index: u32) -> Result<(), RegisterError> {
        let staged = self.staging.unicast;
        let valid = regs::UNICAST_VALID.get(staged) == 1;
        let port = regs::UNICAST_PORT.get(staged) as u8;
        self.set_unicast(index, valid.then_some(port))
            .map_err(|_| RegisterError::Index(index))
    }

    fn commit_multicast(&mut self, index: u32) -> Result<(), RegisterError> {
        let staged = self.staging.entry;
        let tree = Tree {
            parent: regs::MULTICAST_PARENT.get(staged) as u8,
            children: self.staging.children,
            wait: regs::MULTICAST_WAIT.get(staged),
        };
        let valid = regs::MULTICAST_VALID.get(staged) == 1;
        self.set_multicast(index as u16, valid.then_some(tree))
            .map_err(|_| RegisterError::Index(index))
    }

    fn select(&mut self, value: u32) {
        self.staging.select = value;
        let index = regs::STATISTICS_COUNTER.get(value) as usize;
        let counters = self.counters(regs::STATISTICS_PORT.get(value) as u8);
        self.staging.statistic = counters
            .zip(Counter::ALL.get(index))
            .map_or(0, |(counters, &counter)| counters.get(counter));
    }
}

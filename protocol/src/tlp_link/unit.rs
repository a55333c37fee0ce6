//! What is in a unit: one TLP, or the settings of the function.
//!
//! A TLP is its header, always 16 bytes, each word with its most significant byte first as on PCI Express, then its data,
//! byte by byte as in memory, and zeros up to whole words of 64 bits. A header of three words has 0 in the fourth. Which
//! kind of TLP it is stands in its header; there is neither a prefix nor a digest.
//!
//! Settings are 8 bytes, and replace all that was set before.

use thiserror::Error;

use super::Unit;
use super::wire::Kind;
use crate::header::HeaderField;
use crate::pcie::{Header, MAX_DWORDS, TYPE_COMPLETION};

/// Bytes of the settings.
pub const SETTINGS_LEN: usize = 8;
/// Highest code of a size: 4,096 bytes.
const MAX_SIZE: u64 = 5;
/// Bytes of a header.
const HEADER_LEN: usize = 16;

header! {
    SETTINGS "tlp_link_settings" SETTINGS_LEN, "Settings of the function, from the host to the board.";
    SETTINGS_FUNCTION_ID "function_id" [0 / 0 +: 16] "Requester and completer ID of the function.",
    SETTINGS_BUS_MASTER "bus_master" [2 / 0 +: 1] "It may read and write host memory.",
    SETTINGS_MSIX_ENABLE "msix_enable" [2 / 1 +: 1] "MSI-X is enabled.",
    SETTINGS_MSIX_MASK "msix_mask" [2 / 2 +: 1] "All vectors are masked.",
    SETTINGS_RESET "function_reset" [2 / 3 +: 1] "Function-level reset, together with the other settings.",
    SETTINGS_MAX_PAYLOAD "max_payload" [3 / 1 +: 3] "Maximum payload: 128 bytes shifted left by this, 0 to 5.",
    SETTINGS_MAX_READ "max_read" [3 / 5 +: 3] "Maximum read request: 128 bytes shifted left by this, 0 to 5.",
}

/// Settings of the function. A board has the default ones when a session begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Settings {
    /// Requester and completer ID.
    pub function_id: u16,
    /// It may read and write host memory.
    pub bus_master: bool,
    /// MSI-X is enabled.
    pub msix_enable: bool,
    /// All vectors are masked.
    pub msix_mask: bool,
    /// Function-level reset.
    pub function_reset: bool,
    /// Bytes of data in a TLP, at most: 128 to 4,096, a power of 2.
    pub max_payload: u16,
    /// Bytes that a read asks for, at most: the same.
    pub max_read: u16,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            function_id: 0,
            bus_master: false,
            msix_enable: false,
            msix_mask: false,
            function_reset: false,
            max_payload: 128,
            max_read: 128,
        }
    }
}

/// What a unit holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Content {
    /// A TLP.
    Tlp {
        /// Its header.
        header: Header,
        /// Its data, words of 32 bits, first byte in the lowest bits.
        data: Vec<u32>,
    },
    /// Settings.
    Settings(Settings),
}

/// Why a unit holds nothing, or something is no content of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum UnitError {
    /// Not as many bytes as its header says.
    #[error("a unit of {got} bytes, where there are {want}")]
    Size {
        /// Bytes that there are.
        got: usize,
        /// Bytes that there should be.
        want: usize,
    },
    /// Another number of data words than the header's Length.
    #[error("{got} words of data, where the header says {want}")]
    Data {
        /// Words that there are.
        got: usize,
        /// Words that the header says.
        want: usize,
    },
    /// A prefix, or a format without meaning.
    #[error("a TLP of format {0:#05b}")]
    Format(u8),
    /// A digest (TD).
    #[error("a TLP with a digest")]
    Digest,
    /// A header of three words with something in the fourth.
    #[error("{0:#010x} behind a header of three words")]
    FourthWord(u32),
    /// Bits of the settings that have to be 0.
    #[error("reserved bits of the settings are set")]
    Reserved,
    /// No size of payloads or reads.
    #[error("a size of {0} bytes")]
    Bytes(u32),
}

/// Whether a TLP answers a request.
#[must_use]
pub fn is_completion(header: &Header) -> bool {
    // Locked ones differ in the lowest bit.
    (header[0] >> 24) as u8 & 0x1E == TYPE_COMPLETION
}

/// Data words behind this header.
fn data_words(header: &Header) -> Result<usize, UnitError> {
    let dw0 = header[0];
    let format = (dw0 >> 29) as u8;
    if format > 3 {
        return Err(UnitError::Format(format));
    }
    if dw0 >> 15 & 1 == 1 {
        return Err(UnitError::Digest);
    }
    if format & 1 == 0 && header[3] != 0 {
        return Err(UnitError::FourthWord(header[3]));
    }
    Ok(match (format & 2, dw0 & 0x3FF) {
        (0, _) => 0,
        (_, 0) => MAX_DWORDS.into(),
        (_, length) => length as usize,
    })
}

impl Content {
    /// Reads a unit.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(unit: &Unit) -> Result<Self, UnitError> {
        match unit {
            (Kind::Tlp, bytes) => Self::parse_tlp(bytes),
            (Kind::Settings, bytes) => Settings::parse(bytes).map(Self::Settings),
        }
    }

    fn parse_tlp(bytes: &[u8]) -> Result<Self, UnitError> {
        let size = |want| UnitError::Size {
            got: bytes.len(),
            want,
        };
        let (first, rest) = bytes
            .split_first_chunk::<HEADER_LEN>()
            .ok_or(size(HEADER_LEN))?;
        let mut header = [0; 4];
        for (word, bytes) in header.iter_mut().zip(first.as_chunks().0) {
            *word = u32::from_be_bytes(*bytes);
        }
        let count = data_words(&header)?;
        let want = HEADER_LEN + (4 * count).next_multiple_of(8);
        if bytes.len() != want {
            return Err(size(want));
        }
        let words = rest.as_chunks().0.iter().take(count);
        let data = words.map(|word| u32::from_le_bytes(*word)).collect();
        Ok(Self::Tlp { header, data })
    }

    /// Writes the unit.
    ///
    /// # Errors
    /// It has no place in one.
    pub fn emit(&self) -> Result<Unit, UnitError> {
        match self {
            Self::Tlp { header, data } => {
                let want = data_words(header)?;
                if data.len() != want {
                    let got = data.len();
                    return Err(UnitError::Data { got, want });
                }
                let header = header.iter().flat_map(|word| word.to_be_bytes());
                let data = data.iter().flat_map(|word| word.to_le_bytes());
                let mut bytes: Vec<u8> = header.chain(data).collect();
                bytes.resize(bytes.len().next_multiple_of(8), 0);
                Ok((Kind::Tlp, bytes))
            }
            Self::Settings(settings) => Ok((Kind::Settings, settings.emit()?)),
        }
    }
}

impl Settings {
    fn parse(bytes: &[u8]) -> Result<Self, UnitError> {
        if bytes.len() != SETTINGS_LEN {
            return Err(UnitError::Size {
                got: bytes.len(),
                want: SETTINGS_LEN,
            });
        }
        let get = |field: HeaderField| field.get(bytes);
        let size = |field: HeaderField| match get(field) {
            code @ 0..=MAX_SIZE => Ok(128 << code),
            code => Err(UnitError::Bytes(128 << code)),
        };
        let flag = |field: HeaderField| get(field) == 1;
        let settings = Self {
            function_id: get(SETTINGS_FUNCTION_ID) as u16,
            bus_master: flag(SETTINGS_BUS_MASTER),
            msix_enable: flag(SETTINGS_MSIX_ENABLE),
            msix_mask: flag(SETTINGS_MSIX_MASK),
            function_reset: flag(SETTINGS_RESET),
            max_payload: size(SETTINGS_MAX_PAYLOAD)?,
            max_read: size(SETTINGS_MAX_READ)?,
        };
        // What has no field is 0.
        match settings.emit()? == bytes {
            true => Ok(settings),
            false => Err(UnitError::Reserved),
        }
    }

    fn emit(self) -> Result<Vec<u8>, UnitError> {
        let code = |bytes: u16| match bytes {
            128..=4096 if bytes.is_power_of_two() => Ok(u64::from(bytes.ilog2() - 7)),
            _ => Err(UnitError::Bytes(bytes.into())),
        };
        let mut bytes = vec![0; SETTINGS_LEN];
        SETTINGS_FUNCTION_ID.put(&mut bytes, self.function_id);
        SETTINGS_BUS_MASTER.put(&mut bytes, self.bus_master);
        SETTINGS_MSIX_ENABLE.put(&mut bytes, self.msix_enable);
        SETTINGS_MSIX_MASK.put(&mut bytes, self.msix_mask);
        SETTINGS_RESET.put(&mut bytes, self.function_reset);
        SETTINGS_MAX_PAYLOAD.put(&mut bytes, code(self.max_payload)?);
        SETTINGS_MAX_READ.put(&mut bytes, code(self.max_read)?);
        Ok(bytes)
    }
}

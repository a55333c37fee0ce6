//! Memory at both ends of a transfer, and the payloads between arrival and write.

use std::collections::VecDeque;

use anyhow::{Result, bail, ensure};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use tributary_protocol::rw::{Data, WriteCmd};

/// The links of a transfer use streams 0 and 1 of its seed.
const RANDOM_STREAM: u64 = 2;

/// Payload bytes of a transfer: what is sent, what has been written, and what waits at the
/// receiver for its write.
#[derive(Debug)]
pub struct Memory {
    source: Vec<u8>,
    target: Vec<u8>,
    written: u64,
    addr: u64,
    rkey: u32,
    waiting: VecDeque<(Data, Vec<u8>)>,
}

impl Memory {
    /// `source` is copied to `addr` in region `rkey` of a memory that is zero at first.
    #[must_use]
    pub fn new(source: Vec<u8>, addr: u64, rkey: u32) -> Self {
        let target = vec![0; source.len()];
        Self {
            source,
            target,
            written: 0,
            addr,
            rkey,
            waiting: VecDeque::new(),
        }
    }

    /// Bytes for a transfer: the same for the same seed, independent of what the links do with it.
    #[must_use]
    pub fn random_bytes(count: u32, seed: u64) -> Vec<u8> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(RANDOM_STREAM);
        let mut bytes = vec![0; count as usize];
        rng.fill_bytes(&mut bytes);
        bytes
    }

    /// Payload of a DATA packet that leaves now.
    pub(super) fn payload(&self, data: &Data, mtu: u8) -> Vec<u8> {
        let from = (data.pidx as usize) << mtu;
        let bytes = self.source.get(from..from + usize::from(data.len));
        bytes.unwrap_or_default().to_vec()
    }

    /// A DATA packet has gone into the receiver: its payload waits for a write.
    pub(super) fn arrived(&mut self, data: Data, payload: Vec<u8>) {
        self.waiting.push_back((data, payload));
    }

    /// The receiver writes. Writes come in the order of their packets; those in between were
    /// dropped.
    ///
    /// # Errors
    /// A write without its packet (P1) or outside the region granted (P6).
    pub(super) fn write(&mut self, write: &WriteCmd) -> Result<()> {
        let named = |d: &Data| (d.wptr, d.r#gen, d.pidx) == (write.wptr, write.r#gen, write.pidx);
        let payload = loop {
            match self.waiting.pop_front() {
                Some((data, payload)) if named(&data) => break payload,
                Some(_) => {}
                None => bail!(
                    "P1: write of packet {} of window {} without a packet for it",
                    write.pidx,
                    write.wptr
                ),
            }
        };
        let outside = || {
            format!(
                "P6: write of {} bytes at {:#x} outside the region granted",
                write.len, write.addr
            )
        };
        ensure!(
            write.rkey == self.rkey && payload.len() == usize::from(write.len),
            outside()
        );
        let from = write
            .addr
            .checked_sub(self.addr)
            .and_then(|from| usize::try_from(from).ok());
        let place =
            from.and_then(|from| self.target.get_mut(from..from.checked_add(payload.len())?));
        let Some(place) = place else { bail!(outside()) };
        place.copy_from_slice(&payload);
        self.written += u64::from(write.len);
        Ok(())
    }

    /// Payload bytes written so far.
    #[must_use]
    pub fn written_bytes(&self) -> u64 {
        self.written
    }

    /// Offset of the first byte that differs from what was to be copied.
    #[must_use]
    pub fn first_difference(&self) -> Option<usize> {
        self.source
            .iter()
            .zip(&self.target)
            .position(|(sent, got)| sent != got)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(pidx: u32) -> Data {
        Data {
            src: 0,
            wptr: 3,
            r#gen: 1,
            pidx,
            tail: false,
            round: 0,
            len: 256,
        }
    }

    fn write(pidx: u32, addr: u64) -> WriteCmd {
        WriteCmd {
            wptr: 3,
            r#gen: 1,
            pidx,
            addr,
            rkey: 7,
            len: 256,
        }
    }

    fn memory() -> Memory {
        Memory::new(
            (0..512u32).map(|k| k as u8 ^ (k >> 8) as u8).collect(),
            0x1000,
            7,
        )
    }

    #[test]
    fn bytes_land_at_their_address_and_dropped_packets_are_skipped() {
        let mut memory = memory();
        for pidx in [1, 1, 0] {
            let payload = memory.payload(&data(pidx), 8);
            memory.arrived(data(pidx), payload);
        }
        memory.write(&write(1, 0x1100)).unwrap();
        memory.write(&write(0, 0x1000)).unwrap();
        assert_eq!(
            (memory.first_difference(), memory.written_bytes()),
            (None, 512)
        );
    }

    #[test]
    fn p_1_a_write_without_its_packet_is_an_error() {
        let error = memory().write(&write(0, 0x1000)).unwrap_err().to_string();
        assert!(error.starts_with("P1:"), "{error}");
    }

    #[test]
    fn p_6_a_write_outside_the_region_is_an_error() {
        for addr in [0xFFF, 0x1101, u64::MAX] {
            let mut memory = memory();
            memory.arrived(data(0), vec![0; 256]);
            let error = memory.write(&write(0, addr)).unwrap_err().to_string();
            assert!(error.starts_with("P6:"), "{error}");
        }
    }
}

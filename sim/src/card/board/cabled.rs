//! Simulated boards at cables.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use anyhow::{Context, Result};

use super::front::Front;
use super::{BoardKind, front_of};
use crate::cable::{Cable, is_gone};
use crate::verilate::Verilated;

/// Clocks between looks at the cables.
const LOOK: u64 = 16;

/// A Verilated board whose host and whose network are at the other ends of two cables. It runs as fast as the machine can.
pub struct CabledBoard {
    front: Box<dyn Front>,
    /// Until the host is gone.
    host: Option<Cable>,
    network: Cable,
}

impl CabledBoard {
    /// A board after reset.
    ///
    /// # Errors
    /// The library is no board of that kind.
    pub fn new(
        kind: BoardKind,
        library: &Verilated,
        seed: u64,
        host: Cable,
        network: Cable,
    ) -> Result<Self> {
        Ok(Self {
            front: front_of(kind, library, seed)?,
            host: Some(host),
            network,
        })
    }

    /// Runs while any of the hosts is there, its own or others', unless it is stopped. It counts its own down when that
    /// goes.
    ///
    /// # Errors
    /// The model fails, or what comes over a cable is no frame.
    pub fn run(&mut self, hosts: &AtomicUsize, stop: &AtomicBool) -> Result<()> {
        while hosts.load(Ordering::Acquire) > 0 && !stop.load(Ordering::Acquire) {
            let mut to_host = vec![];
            for _ in 0..LOOK {
                let clocked = self.front.clock()?;
                to_host.extend(clocked.to_host);
                for frame in clocked.to_network {
                    there(self.network.send(&frame)).context("the network's cable")?;
                }
            }
            while let Some(Some(frame)) =
                there(self.network.receive()).context("the network's cable")?
            {
                self.front.network_sends(&frame);
            }
            if self.host.is_some()
                && there(self.exchange(to_host))
                    .context("the host's cable")?
                    .is_none()
            {
                self.host = None;
                hosts.fetch_sub(1, Ordering::AcqRel);
            }
        }
        Ok(())
    }

    /// Frames to the host and from it.
    fn exchange(&mut self, to_host: Vec<Vec<u8>>) -> io::Result<()> {
        let Some(host) = &mut self.host else {
            return Ok(());
        };
        for frame in to_host {
            host.send(&frame)?;
        }
        if !self.front.host_waits()
            && let Some(frame) = host.receive()?
        {
            self.front.host_sends(&frame, false);
        }
        Ok(())
    }
}

/// Nothing if the other end of the cable is gone.
fn there<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if is_gone(&error) => Ok(None),
        result => result.map(Some),
    }
}

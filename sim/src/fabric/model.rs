//! A switch as a model: [`Switch`] with the queues and the times of the RTL around it.
//!
//! What is to become of a frame is decided in the clock of its last word. Frames that an engine looks at wait their turn there: it
//! takes a frame in as many clocks as it has words in the queue, so contributions that come at once from several ports follow each
//! other, unless the engine takes them together. They act when they begin there. All others leave beside them as they came, each
//! behind those that were before it in its queue.

mod before;
mod output;

use std::sync::Arc;

use anyhow::Result;
use tributary_protocol::red::{Counter, PortSettings, Switch, SwitchConfig, SwitchError, Tree};

use super::describe::{Fabric, LinkSpec, SwitchSpec};
use super::node::{ActsOn, Departure, SwitchNode};
use super::timing::ENGINE_CLOCKS;
use before::Arrival;
use output::Output;

/// A switch as a model.
#[derive(Debug)]
pub struct ModelSwitch {
    switch: Switch,
    outputs: Vec<Output>,
    queue_full: u64,
}

impl ModelSwitch {
    /// A switch of a fabric with its ports enabled and its tables empty.
    ///
    /// # Errors
    /// A size out of its range.
    pub fn new(
        index: usize,
        spec: &SwitchSpec,
        unicast_bits: u8,
        multicast_bits: u8,
    ) -> Result<Self, SwitchError> {
        let mut switch = Switch::new(SwitchConfig {
            ports: spec.ports,
            unicast_bits,
            multicast_bits,
            engine: spec.engine,
        })?;
        for port in 0..spec.ports {
            let address = Fabric::port_address(index, port);
            switch.set_port(
                port,
                PortSettings {
                    enable: true,
                    engine: spec.engines,
                    address,
                },
            )?;
        }
        switch.set_ecn_threshold(spec.ecn_words);
        let ports = usize::from(spec.ports);
        Ok(Self {
            switch,
            outputs: (0..ports).map(|_| Output::new(ports)).collect(),
            queue_full: 0,
        })
    }
}

impl SwitchNode for ModelSwitch {
    fn connect(&mut self, port: u8, link: LinkSpec) -> Result<()> {
        if let Some(output) = self.outputs.get_mut(usize::from(port)) {
            output.link = Some(link);
        }
        Ok(())
    }

    fn set_unicast(&mut self, node: u32, port: u8) -> Result<()> {
        Ok(self.switch.set_unicast(node, Some(port))?)
    }

    fn set_multicast(&mut self, tree: u16, entry: Option<Tree>) -> Result<()> {
        Ok(self.switch.set_multicast(tree, entry)?)
    }

    fn read(&self, offset: u16) -> Result<u32> {
        Ok(self.switch.read(offset)?)
    }

    fn write(&mut self, offset: u16, value: u32) -> Result<()> {
        Ok(self.switch.write(offset, value)?)
    }

    fn acts_on(&self) -> ActsOn {
        ActsOn::LastWord
    }

    fn in_use(&self) -> usize {
        self.switch.in_use()
    }

    fn count(&self, counter: Counter) -> u64 {
        let model = (0..self.switch.ports())
            .filter_map(|p| self.switch.counters(p))
            .map(|c| c.get(counter))
            .sum();
        match counter {
            Counter::QueueFull => self.queue_full,
            _ => model,
        }
    }

    fn arrive(&mut self, port: u8, bytes: &[u8], damaged: bool, now: u64) {
        if damaged {
            return;
        }
        let input = usize::from(port);
        let taken = self.switch.take(port, bytes);
        let whole: Arc<[u8]> = bytes.into();
        let looks = taken.look.map(|look| (look.port, Some(look)));
        for (out, look) in looks
            .into_iter()
            .chain(taken.ports().map(|out| (out, None)))
        {
            let arrival = Arrival {
                input,
                bytes: whole.clone(),
                look,
            };
            if !self.outputs[usize::from(out)].take(arrival, now) {
                self.queue_full += 1;
            }
        }
    }

    fn wake(&self, _: u64) -> Option<u64> {
        let outputs = self.outputs.iter().filter_map(Output::next).min();
        outputs.into_iter().chain(self.switch.next_deadline()).min()
    }

    fn run(&mut self, now: u64, leave: &mut Vec<Departure>) -> Result<()> {
        if self.switch.next_deadline().is_some_and(|at| at <= now) {
            for (port, bytes) in self.switch.tick(now) {
                let output = &mut self.outputs[usize::from(port)];
                output.push_from_engine(bytes.into(), now + ENGINE_CLOCKS);
            }
        }
        for (port, output) in (0u8..).zip(&mut self.outputs) {
            output.look(&mut self.switch, now);
            if let Some((mut bytes, queued)) = output.pop(now) {
                // Copies of a multicast frame share their bytes; only one that is marked is another frame.
                if let Some(queued) = queued.filter(|q| self.switch.is_long(*q)) {
                    let mut marked = bytes.to_vec();
                    if self.switch.leave(port, &mut marked, queued) {
                        bytes = marked.into();
                    }
                }
                leave.push(Departure {
                    port,
                    start: now,
                    bytes,
                });
            }
        }
        Ok(())
    }
}

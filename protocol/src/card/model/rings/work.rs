//! What groups do: entries read, doorbells rung, ends told.

use super::{Binding, Event, Rings, Role};
use crate::card::descriptor::{Completion, Of};
use crate::card::model::{CardModel, HostMemory};
use crate::card::regs::{DOORBELL_SEND, RING_TICK_CLOCKS};
use crate::multicast::ring::{ENTRY_LEN, ENTRY_WORDS, Entry, EntryKind, TableOutput, end_word};
use crate::xud::{Outcome, Peer, Window, wire};

/// Ticks that end every group with a watchdog.
const TICKS_MOST: u64 = 1 << 16;

impl Rings {
    /// Does all that can be done now. True: a doorbell was rung.
    fn work(&mut self, card: &mut CardModel, memory: &mut dyn HostMemory, now: u64) -> bool {
        self.tick(now / (u64::from(RING_TICK_CLOCKS) * card.config.clock_ns));
        self.run_command();
        self.hear();
        let mut rung = false;
        let mut again = card.pci.bus_master;
        while again {
            again = false;
            for place in 0..self.open.len() {
                let group = self.open[place];
                for output in self.table.offers(group) {
                    let acts = matches!(output, TableOutput::Act(_));
                    let done = self.act(group, &output, card, memory);
                    rung |= done && acts;
                    again |= done;
                }
            }
        }
        rung
    }

    fn tick(&mut self, ticks: u64) {
        let before = self.ticks.replace(ticks).unwrap_or(ticks);
        if self.open.is_empty() {
            return;
        }
        for _ in 0..ticks.saturating_sub(before).min(TICKS_MOST) {
            for &group in &self.open {
                self.table.tick(group);
            }
        }
    }

    /// What has happened to transfers, in its order.
    fn hear(&mut self) {
        while let Some(event) = self.events.pop_front() {
            let taken = match event {
                Event::Landed(group, slot) => {
                    let began = self.table.begin(group.into(), slot);
                    self.check(began);
                    self.table.landed(group.into(), slot)
                }
                Event::Credit(group, slot, granted) => {
                    self.table.credit(group.into(), slot, granted)
                }
                Event::Sent(group) => self.table.sent(group.into()),
                Event::Failed(group, slot) => self.table.failed(group.into(), slot),
            };
            self.check(taken);
        }
    }

    /// Does what a group offers. False: not now.
    fn act(
        &mut self,
        group: usize,
        output: &TableOutput,
        card: &mut CardModel,
        memory: &mut dyn HostMemory,
    ) -> bool {
        if let TableOutput::Completion { .. } = output {
            // What came before it may have ended the group.
            let offered = self.table.offers(group).contains(output);
            return offered
                && card.tell_end(group, self.ends[group], output, memory)
                && self.table.takes(group, output);
        }
        if !self.table.takes(group, output) {
            return false;
        }
        match output {
            TableOutput::Read(address) => {
                let mut entry = [0; ENTRY_LEN];
                let read = memory.read(*address, &mut entry);
                let mut words = [0; ENTRY_WORDS];
                for (word, bytes) in words.iter_mut().zip(entry.as_chunks().0) {
                    *word = u64::from_le_bytes(*bytes);
                }
                let good = self.table.entry(group, read.ok().map(|()| &words));
                self.check(good);
            }
            TableOutput::Act(entry) => self.start(group, entry, card),
            TableOutput::Completion { .. } => {}
        }
        true
    }

    /// Rings the doorbell of the queue pair that leads to an entry's peer; its next work request is the block or the grant.
    fn start(&mut self, group: usize, entry: &Entry, card: &mut CardModel) {
        let to = Binding {
            role: if entry.kind == EntryKind::Send {
                Role::Sends
            } else {
                Role::Receives
            },
            group: group as u8,
            slot: entry.to,
        };
        let pair = self.pairs.get(&to).copied();
        let bound = pair.and_then(|pair| Some((pair, self.bound.get_mut(&pair)?)));
        let Some((pair, bound)) = bound.filter(|(_, bound)| bound.to == to) else {
            let failed = self.table.failed(group, entry.to);
            self.check(failed);
            return;
        };
        bound.posted = bound.posted.wrapping_add(1);
        card.ring(pair, DOORBELL_SEND.offset.into(), bound.posted);
    }

    /// Whether nothing happens until a register is written or a transfer ends.
    fn is_idle(&self, card: &CardModel) -> bool {
        let waits = |group, output: &TableOutput| match output {
            TableOutput::Completion { .. } => card
                .queues
                .get(&self.ends[group])
                .is_none_or(|queue| queue.ahead.is_empty() && !queue.reads_ahead()),
            _ => false,
        };
        self.command.is_none()
            && self.events.is_empty()
            && self.open.iter().all(|&group| {
                !self.table.is_watched(group)
                    && self.table.offers(group).iter().all(|o| waits(group, o))
            })
    }
}

impl CardModel {
    /// Does what rings can do now. True: it may lead to more.
    pub(in crate::card::model) fn work_rings(
        &mut self,
        memory: &mut dyn HostMemory,
        now: u64,
    ) -> bool {
        let Some(mut rings) = self.rings.take() else {
            return false;
        };
        let rung = rings.work(self, memory, now);
        self.rings = Some(rings);
        rung
    }

    /// Whether no ring does anything by itself.
    pub(in crate::card::model) fn rings_are_idle(&self) -> bool {
        self.rings.as_ref().is_none_or(|rings| rings.is_idle(self))
    }

    /// Tells the host how a message or a group has ended, if the queue pair has a receive request and room for it.
    fn tell_end(
        &mut self,
        group: usize,
        qpn: u32,
        end: &TableOutput,
        memory: &mut dyn HostMemory,
    ) -> bool {
        let TableOutput::Completion {
            code,
            peer,
            message,
            user,
            fetched,
        } = *end
        else {
            return false;
        };
        let from = Peer {
            node: self.registers.node(),
            qpn: group as u32,
        };
        self.notify(qpn, memory, |wr_id, request, _| Completion {
            wr_id,
            status: Outcome::Ok,
            of: Of::Notify,
            version_flags: wire::ONE_SIDED_FRAME,
            length: end_word(code, peer, fetched),
            peer: from,
            window: Window {
                msn: message,
                ..Window::default()
            },
            q_key: user as u32,
            psn: 0,
            request,
            number: 0,
            marked: false,
        })
    }
}

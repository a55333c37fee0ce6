//! What a card adds whose queues lie in host memory: there the rings are the queues, and software gives completion slots back.

use super::*;

/// Why a request cannot leave now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stall {
    /// No completion slot.
    Credit,
    /// Its place in the table is taken.
    Place,
}

impl Card {
    /// Takes the next number and a completion slot for a request that is about to be read.
    pub(crate) fn reserve(&mut self, qpn: u32) -> Result<u32, Stall> {
        let mask = self.psn_mask();
        let qp = self.qps.get_mut(&qpn).ok_or(Stall::Credit)?;
        if !qp.room() {
            return Err(Stall::Credit);
        }
        let psn = qp.psn.wrapping_add(1) & mask;
        if !self.table.is_free(qpn, psn) {
            return Err(Stall::Place);
        }
        qp.reserved += 1;
        qp.psn = psn;
        Ok(psn)
    }

    /// A slot for a completion that no request asked for; false if there is none.
    pub(crate) fn reserve_slot(&mut self, qpn: u32) -> bool {
        let qp = self.qps.get_mut(&qpn).filter(|qp| qp.room());
        qp.map(|qp| qp.reserved += 1).is_some()
    }

    /// Takes the oldest receive request of a queue pair, and a completion slot for it; false if there is none of either.
    pub(crate) fn take_receive(&mut self, qpn: u32) -> bool {
        let qp = self.qps.get_mut(&qpn).filter(|qp| qp.room());
        let taken = qp.and_then(|qp| {
            qp.receives.pop_front()?;
            qp.reserved += 1;
            Some(())
        });
        taken.is_some()
    }

    /// Whether a reserved number still has a place in the table.
    pub(crate) fn has_place(&self, qpn: u32, psn: u32) -> bool {
        self.table.is_free(qpn, psn)
    }

    /// Whether acknowledgements or answers wait for the line.
    pub(crate) fn has_answer(&self) -> bool {
        !self.answers.is_empty()
    }

    /// Whether something that has arrived is not yet in memory.
    pub(crate) fn is_landing(&self) -> bool {
        !self.landing.is_empty() || !self.waiting.is_empty()
    }

    /// The oldest completion of a queue pair; its slot stays taken until [`Self::release`].
    pub(crate) fn take(&mut self, qpn: u32) -> Option<Completion> {
        let qp = self.qps.get_mut(&qpn)?;
        let completion = qp.cq.pop_front()?;
        qp.reserved += 1;
        Some(completion)
    }

    /// Software has read so many completions.
    pub(crate) fn release(&mut self, qpn: u32, slots: u32) {
        if let Some(qp) = self.qps.get_mut(&qpn) {
            qp.reserved = qp.reserved.saturating_sub(slots);
        }
    }

    /// The oldest message that was accepted and is not in host memory yet.
    pub(crate) fn next_landing(&mut self) -> Option<Landing> {
        self.landing.pop_front()
    }

    /// It is there, and so is its completion; its slot stays taken until [`Self::release`].
    pub(crate) fn landed(&mut self, landing: Landing) {
        if self.qps.contains_key(&landing.qpn) {
            let ack = landing.ack.map(|(to, ack)| (to, Packet::Ack(ack)));
            self.answers.extend(ack);
        }
    }

    /// Nothing that has arrived or ended waits for host memory.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.landing.is_empty() && self.waiting.is_empty() && self.ended().is_empty()
    }

    /// Queue pairs of which completions wait.
    pub(crate) fn ended(&self) -> Vec<u32> {
        let waiting = self.qps.iter().filter(|(_, qp)| !qp.cq.is_empty());
        waiting.map(|(qpn, _)| *qpn).collect()
    }

    /// Whether a queue pair takes requests from the line. One that does not is to others as if it were not there.
    pub(crate) fn set_receiving(&mut self, qpn: u32, receiving: bool) {
        if let Some(qp) = self.qps.get_mut(&qpn) {
            qp.receiving = receiving;
        }
    }

    /// Largest payload, and what 2^0 of a timeout is, ns.
    pub(crate) fn set_line(&mut self, mtu: u16, timeout_unit: u64) {
        self.config.mtu = mtu;
        self.timeout_unit = timeout_unit;
    }
}

impl Landing {
    /// PSN of its request.
    pub(crate) fn psn(&self) -> u32 {
        self.ack.as_ref().map_or(0, |(_, ack)| ack.psn)
    }
}

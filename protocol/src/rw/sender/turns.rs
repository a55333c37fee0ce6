//! Who sends next: the scheduler, which knows of each transfer only what it wants.

/// What a transfer wants of the line, as far as its state and the clock say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Wants {
    /// The time of its next CONNECT or POLL, or of giving up, has come (RW-10, RW-18).
    pub due: bool,
    /// Packets to send again.
    pub resend: bool,
    /// A packet at its send pointer that may leave (RW-19).
    pub fresh: bool,
    /// A poll, if the line has nothing else to do.
    pub spare: bool,
}

impl Wants {
    /// What is left while the packets of a transfer wait for its pace (CL-4): nothing fills the line in front of one that does.
    #[must_use]
    pub const fn paced(self, held: bool) -> Self {
        Self {
            due: self.due,
            resend: self.resend && !held,
            fresh: self.fresh && !held,
            spare: self.spare && !(held && self.resend),
        }
    }
}

/// Why a transfer was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // as in `Wants`
pub enum Class {
    Due,
    Resend,
    Fresh,
    Spare,
}

/// Transfers that can have their fresh packets leave in the order of their beginnings; later ones take turns like others.
pub const QUEUED_MOST: usize = 8;

/// Takes turns over the transfers, packet by packet (RW-15).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Turns {
    /// Transfers of which only the oldest that has fresh packets takes its turn, by age.
    queued: Vec<usize>,
    /// Transfer that is looked at first.
    turn: usize,
    /// Resends since the last fresh packet.
    since_fresh: u32,
}

impl Turns {
    /// Transfer 0 is looked at first.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            queued: Vec::new(),
            turn: 0,
            since_fresh: 0,
        }
    }

    /// A transfer begins in a slot.
    pub fn started(&mut self, slot: usize, oldest_first: bool) {
        if oldest_first && self.queued.len() < QUEUED_MOST {
            self.queued.push(slot);
        }
    }

    /// The transfer in a slot has ended.
    pub fn ended(&mut self, slot: usize) {
        self.queued.retain(|&queued| queued != slot);
    }

    /// The transfer whose turn it is, and what for: what is due before packets, resends before fresh packets but one fresh
    /// packet in `fresh_every`, and what may fill an idle line last; each in turn from the one behind the last DATA packet.
    /// Of those that send oldest first only the oldest that has a fresh packet takes a turn with it.
    #[must_use]
    pub fn pick(&self, wants: &[Wants], fresh_every: u32) -> Option<(usize, Class)> {
        let has_fresh = |slot: usize| wants.get(slot).is_some_and(|w| w.fresh);
        let oldest = self.queued.iter().copied().find(|&slot| has_fresh(slot));
        let waits = |slot| oldest != Some(slot) && self.queued.contains(&slot);
        let [mut resend, mut fresh, mut spare] = [None; 3];
        // One look at each: models do this for every packet and every step.
        for slot in (self.turn..wants.len()).chain(0..self.turn.min(wants.len())) {
            let w = wants[slot];
            if w.due {
                return Some((slot, Class::Due));
            }
            if w.resend {
                resend.get_or_insert((slot, Class::Resend));
            }
            if w.fresh && fresh.is_none() && !waits(slot) {
                fresh = Some((slot, Class::Fresh));
            }
            if w.spare {
                spare.get_or_insert((slot, Class::Spare));
            }
        }
        let packet = if self.since_fresh + 1 >= fresh_every {
            fresh.or(resend)
        } else {
            resend.or(fresh)
        };
        packet.or(spare)
    }

    /// A DATA packet of `slot`, one of `slots`, has left: sent again for a request, or at the send pointer.
    pub fn sent(&mut self, slot: usize, slots: usize, resend: bool, fresh_every: u32) {
        self.turn = (slot + 1) % slots;
        self.since_fresh = if resend {
            self.since_fresh.saturating_add(1).min(fresh_every)
        } else {
            0
        };
    }
}

impl Default for Turns {
    fn default() -> Self {
        Self::new()
    }
}

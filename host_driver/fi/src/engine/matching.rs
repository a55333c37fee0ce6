//! Which message each receive gets: the oldest that it takes, and each message the oldest receive that takes it.

use super::{
    Address, Engine, Failure, Fed, Incoming, Label, Memory, Posted, Receiving, Unexpected, Waiting,
    Want, What, many,
};

impl<O: Clone + PartialEq, M: Memory> Engine<O, M> {
    /// Receives into memory: the oldest message that was not expected, or the next that comes.
    pub fn receive(&mut self, want: Want, memory: M, op: O) {
        match self.waiting(want) {
            Some(message) => self.matched(message, memory, op, None),
            None => self.post(Posted {
                want,
                op,
                memory,
                many: None,
            }),
        }
    }

    /// The oldest message that was not expected and is wanted.
    pub(super) fn waiting(&mut self, want: Want) -> Option<Unexpected> {
        let free = |m: &Unexpected| m.claimed.is_none() && want.takes(m.from, m.label.tag);
        let at = self.unexpected.iter().position(free)?;
        self.unexpected.remove(at)
    }

    /// What it wants has not come yet.
    pub(super) fn post(&mut self, posted: Posted<O, M>) {
        match posted.want.from {
            Some(from) if self.peer(from).gone => self.give_up(posted, from, Failure::Peer),
            _ => self.posted.push_back(posted),
        }
    }

    /// A receive ends without a message.
    pub(super) fn give_up(&mut self, posted: Posted<O, M>, from: Address, failure: Failure) {
        match posted.many {
            Some(filling) => self.close_pool(filling, posted.op, from, failure),
            None => {
                let label = Label::default();
                self.end(
                    Some(posted.op),
                    What::Receive,
                    0,
                    label,
                    from,
                    Some(failure),
                );
            }
        }
    }

    /// Looks for a message without receiving it; with `claim`, it is kept for who names it so.
    pub fn peek(&mut self, want: Want, op: O, claim: Option<usize>, discard: bool) {
        let free = |m: &Unexpected| m.claimed.is_none() && want.takes(m.from, m.label.tag);
        let Some(at) = self.unexpected.iter().position(free) else {
            let (label, failure) = (Label::default(), Some(Failure::NoMessage));
            let from = want.from.unwrap_or(0);
            return self.end(Some(op), What::Receive, 0, label, from, failure);
        };
        let message = &mut self.unexpected[at];
        message.claimed = claim;
        let (length, label, from) = (message.length, message.label, message.from);
        self.end(Some(op), What::Receive, length, label, from, None);
        if discard {
            self.drop_message(at);
        }
    }

    /// Receives a message that was claimed; whether there is one.
    pub fn receive_claimed(&mut self, claim: usize, memory: M, op: O, discard: bool) -> bool {
        let mine = |m: &Unexpected| m.claimed == Some(claim);
        let Some(at) = self.unexpected.iter().position(mine) else {
            return false;
        };
        if discard {
            let message = &self.unexpected[at];
            let (label, from) = (message.label, message.from);
            self.end(Some(op), What::Receive, 0, label, from, None);
            self.drop_message(at);
        } else if let Some(message) = self.unexpected.remove(at) {
            self.matched(message, memory, op, None);
        }
        true
    }

    /// The sender of a long message that nobody wants is cleared for nothing: it counts as sent.
    fn drop_message(&mut self, at: usize) {
        if let Some(message) = self.unexpected.remove(at)
            && let Err(waiting) = message.body
        {
            self.clear(message.from, waiting.id, 0, 0);
        }
    }

    /// Takes back receives of this name; whether there was one.
    pub fn cancel(&mut self, named: impl Fn(&O) -> bool) -> bool {
        let Some(at) = self.posted.iter().position(|posted| named(&posted.op)) else {
            return false;
        };
        if let Some(posted) = self.posted.remove(at) {
            self.give_up(posted, 0, Failure::Canceled);
        }
        true
    }

    pub(super) fn message(
        &mut self,
        from: Address,
        label: Label,
        length: usize,
        body: Result<Vec<u8>, Waiting>,
    ) {
        let message = Unexpected {
            from,
            label,
            length,
            body,
            claimed: None,
        };
        let found = self
            .posted
            .iter()
            .position(|posted| posted.want.takes(from, label.tag));
        match found.and_then(|at| self.posted.remove(at)) {
            Some(posted) if posted.many.is_some() => {
                // What comes next fills it further before what was posted later.
                let at = found.unwrap_or(0);
                if let Some(rest) = self.fill(posted, message) {
                    self.posted.insert(at, rest);
                }
            }
            Some(posted) => self.matched(message, posted.memory, posted.op, None),
            None => self.unexpected.push_back(message),
        }
    }

    pub(super) fn matched(
        &mut self,
        message: Unexpected,
        mut memory: M,
        op: O,
        place: Option<many::Place>,
    ) {
        let Unexpected {
            from,
            label,
            length,
            body,
            ..
        } = message;
        let room = memory.length();
        let failure = (length > room).then(|| Failure::Truncated(length - room));
        match body {
            Ok(bytes) => {
                memory.write(0, &bytes[..length.min(room)]);
                self.received(op, length.min(room), label, from, failure, place);
            }
            Err(Waiting { id, bulk }) => {
                let wanted = length.min(room);
                let number = self.number();
                let purpose = Incoming::Message(op.clone(), label, place);
                let mut receiving = Receiving::new(from, memory, length, purpose);
                if self.is_bulk(from, wanted, bulk) {
                    (receiving.expected, receiving.fed) = (wanted, Some(Fed::new(id)));
                    self.receiving.insert(number, receiving);
                    return self.feed(number);
                }
                self.clear(from, id, number, wanted);
                if wanted == 0 {
                    return self.received(op, 0, label, from, failure, place);
                }
                self.receiving.insert(number, receiving);
            }
        }
    }
}

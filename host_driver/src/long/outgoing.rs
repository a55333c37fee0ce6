//! Long messages that are sent.

use tributary_protocol::card::descriptor::OPCODE_BULK_WRITE;
use tributary_protocol::xud::rendezvous::{PART, Place};

use super::*;
use crate::{AddressHandle, Remote, bulk};

/// Parts of a message under way.
const PARTS_EACH: u32 = 4;

/// What waits in a line.
pub(super) enum Waiting {
    /// A message of the user, for the layer.
    Short(u64, Message),
    /// One to be announced.
    Long(u64),
}

/// A message that is sent.
pub(super) struct Outgoing {
    /// The user's name of it.
    pub user: u64,
    pub to: Peer,
    pub message: Message,
    /// This card can write it in bulk.
    bulk: bool,
    state: State,
    /// When something was heard of it last.
    pub heard: u64,
    /// It has failed; the card still has its memory.
    failed: Option<Outcome>,
}

#[derive(Clone, Copy)]
enum State {
    /// In its line.
    Waiting,
    Announced,
    /// To be written there when the card takes it.
    Granted(Place),
    /// The card writes it.
    Writing,
    /// The next part begins at `next`.
    Parts {
        next: usize,
        flying: u32,
    },
    /// All is said; the receiver is not done.
    Told,
}

impl Outgoing {
    /// Whether it waits for what the peer's program says.
    pub fn waits(&self) -> bool {
        matches!(self.state, State::Announced | State::Told)
    }
}

impl Long {
    /// Sends a message above 64 KiB.
    pub fn send(&mut self, hands: &mut Hands<'_>, user: u64, to: AddressHandle, message: Message) {
        let context = hands.domain.context();
        let own = AddressHandle::of(context, hands.port.rings.number());
        let bulk = to != own && bulk::fits(context, message.as_ref().len()).is_ok();
        let (to, id) = (to.peer(), self.next);
        self.next = self.next.wrapping_add(1);
        let sent = Outgoing {
            user,
            to,
            message,
            bulk,
            state: State::Waiting,
            heard: hands.now,
            failed: None,
        };
        self.outgoing.insert(id, sent);
        let line = self.lines.entry(to).or_default();
        line.queue.push_back(Waiting::Long(id));
        self.advance(hands, to);
    }

    /// Sends what may go now of what waits for a peer.
    fn advance(&mut self, hands: &mut Hands<'_>, to: Peer) {
        while let Some(line) = self.lines.get_mut(&to)
            && line.behind.is_none()
        {
            match line.queue.front() {
                None => {
                    if line.announced == 0 {
                        self.lines.remove(&to);
                    }
                    return;
                }
                Some(Waiting::Long(id))
                    if line.announced == ANNOUNCED_MAX && self.outgoing.contains_key(id) =>
                {
                    return;
                }
                Some(_) => {}
            }
            match line.queue.pop_front() {
                Some(Waiting::Short(id, message)) => {
                    // Its length and address were looked at when it was held back.
                    let sent = hands.layer.send_as(id, to, message, false);
                    debug_assert_eq!(sent, Ok(()));
                }
                Some(Waiting::Long(id)) => {
                    let Some(sent) = self.outgoing.get_mut(&id) else {
                        continue;
                    };
                    line.announced += 1;
                    line.behind = self.ordered.then_some(id);
                    (sent.state, sent.heard) = (State::Announced, hands.now);
                    let said = Said::Announce {
                        bulk: sent.bulk,
                        length: sent.message.as_ref().len() as u32,
                    };
                    self.say(hands, to, id, said);
                }
                None => {}
            }
        }
    }

    /// All bytes of a message are on their way: what comes behind them may follow.
    fn follow(&mut self, hands: &mut Hands<'_>, to: Peer, id: u64) {
        if let Some(line) = self.lines.get_mut(&to)
            && line.behind == Some(id)
        {
            line.behind = None;
        }
        self.advance(hands, to);
    }

    /// The receiver has memory.
    pub(super) fn granted(
        &mut self,
        hands: &mut Hands<'_>,
        from: Peer,
        id: u64,
        place: Option<Place>,
    ) {
        let sent = self.outgoing.get_mut(&id).filter(|sent| sent.to == from);
        let Some(sent) = sent else {
            return self.say(hands, from, id, Said::Abort);
        };
        if !matches!(sent.state, State::Announced) || (place.is_some() && !sent.bulk) {
            self.stats.stray += 1;
            return;
        }
        if let Some(place) = place {
            sent.state = State::Granted(place);
            self.to_write.push_back(id);
        } else {
            self.begin_parts(id);
        }
    }

    fn begin_parts(&mut self, id: u64) {
        if let Some(sent) = self.outgoing.get_mut(&id) {
            let (next, flying) = (0, 0);
            sent.state = State::Parts { next, flying };
            self.parts.push_back(id);
        }
    }

    /// Gives the card what it is to write; whether there was any.
    pub(super) fn write(&mut self, hands: &mut Hands<'_>) -> bool {
        let mut any = false;
        while self.writes.len() < WRITES
            && hands.port.rings.takes_send().is_ok()
            && let Some(id) = self.to_write.pop_front()
        {
            let sent = self.outgoing.get_mut(&id);
            let Some((sent, place)) = sent.and_then(|sent| match sent.state {
                State::Granted(place) => Some((sent, place)),
                _ => None,
            }) else {
                continue;
            };
            if !hands.layer.take_place() {
                self.to_write.push_front(id);
                break;
            }
            let there = Remote {
                address: place.address,
                rkey: place.rkey,
            };
            let to = AddressHandle::from(sent.to);
            let (name, buffer) = (self.next_write, sent.message.buffer());
            let work = bulk::work(OPCODE_BULK_WRITE, name, to, buffer, there, (0, 0));
            hands.port.put_write(work);
            self.next_write += 1;
            sent.state = State::Writing;
            self.writes.insert(name, id);
            any = true;
        }
        any
    }

    /// A bulk write has ended.
    pub(super) fn written(&mut self, hands: &mut Hands<'_>, name: u64, outcome: Outcome) {
        let Some(id) = self.writes.remove(&name) else {
            return;
        };
        let Some(sent) = self.outgoing.get_mut(&id) else {
            return;
        };
        let to = sent.to;
        if let Some(failed) = sent.failed {
            sent.state = State::Told;
            return self.fail(hands, id, failed, false);
        }
        match outcome {
            Outcome::Ok => {
                (sent.state, sent.heard) = (State::Told, hands.now);
                self.stats.sent_in_bulk += 1;
                self.say(hands, to, id, Said::Landed);
                self.follow(hands, to, id);
            }
            // The card gives up sooner than the layer, which finds out whether the peer is there.
            outcome if is_gone(outcome) || outcome == Outcome::Timeout => self.begin_parts(id),
            outcome => {
                sent.state = State::Told;
                self.fail(hands, id, outcome, true);
            }
        }
    }

    /// Sends parts while there is memory for them, of each message in turn; whether there was one.
    pub(super) fn send_parts(&mut self, hands: &mut Hands<'_>) -> bool {
        let mut any = false;
        while self.talk.takes_part()
            && let Some(id) = self.parts.pop_front()
        {
            let Some(sent) = self.outgoing.get_mut(&id) else {
                continue;
            };
            let State::Parts { next, flying } = &mut sent.state else {
                continue;
            };
            let bytes = sent.message.as_ref();
            let (at, end) = (*next, (*next + PART).min(bytes.len()));
            let part = (at, &bytes[at..end]);
            self.talk.say_part(hands.layer, sent.to, id, part);
            any = true;
            (*next, *flying) = (end, *flying + 1);
            if end < bytes.len() {
                if *flying < PARTS_EACH {
                    self.parts.push_back(id);
                }
                continue;
            }
            (sent.state, sent.heard) = (State::Told, hands.now);
            let to = sent.to;
            self.stats.sent_in_parts += 1;
            self.follow(hands, to, id);
        }
        any
    }

    /// A part has arrived, or never will.
    pub(super) fn part_ended(&mut self, id: u64) {
        if let Some(sent) = self.outgoing.get_mut(&id)
            && let State::Parts { flying, .. } = &mut sent.state
        {
            if *flying == PARTS_EACH {
                self.parts.push_back(id);
            }
            *flying -= 1;
        }
    }

    /// The receiver has a message, or never will.
    pub(super) fn done(&mut self, hands: &mut Hands<'_>, from: Peer, id: u64, status: u8) {
        let sent = self.outgoing.get(&id).filter(|sent| sent.to == from);
        let Some(state) = sent.map(|sent| sent.state) else {
            return;
        };
        match Outcome::from_code(status) {
            Some(Outcome::Ok) if matches!(state, State::Told) => self.end(hands, id, Outcome::Ok),
            None | Some(Outcome::Ok) => {
                self.stats.stray += 1;
                self.fail(hands, id, Outcome::RemoteProtocol, true);
            }
            Some(outcome) => self.fail(hands, id, outcome, false),
        }
    }

    /// A message will not be delivered, or nobody knows; the receiver is told, if it is to be.
    pub(super) fn fail(&mut self, hands: &mut Hands<'_>, id: u64, outcome: Outcome, tell: bool) {
        let Some(sent) = self.outgoing.get_mut(&id) else {
            return;
        };
        let (to, announced) = (sent.to, !matches!(sent.state, State::Waiting));
        let writing = matches!(sent.state, State::Writing);
        let before = sent.failed;
        if writing {
            sent.failed = before.or(Some(outcome));
        }
        if tell && announced && before.is_none() {
            self.say(hands, to, id, Said::Abort);
        }
        if !writing {
            self.end(hands, id, outcome);
        }
    }

    fn end(&mut self, hands: &mut Hands<'_>, id: u64, outcome: Outcome) {
        let Some(sent) = self.outgoing.remove(&id) else {
            return;
        };
        if let Some(line) = self.lines.get_mut(&sent.to)
            && !matches!(sent.state, State::Waiting)
        {
            line.announced -= 1;
        }
        hands.layer.put(Event::Completed {
            id: sent.user,
            to: sent.to,
            outcome,
            buffer: sent.message,
        });
        self.follow(hands, sent.to, id);
    }

    /// The process at the other end has ended: what was announced to it fails, and if nobody is there any more, all that waits, too.
    pub(super) fn fail_all(&mut self, hands: &mut Hands<'_>, to: Peer, outcome: Outcome) {
        let everything = is_gone(outcome);
        if everything && let Some(line) = self.lines.get_mut(&to) {
            for waiting in std::mem::take(&mut line.queue) {
                if let Waiting::Short(id, buffer) = waiting {
                    hands.layer.put(Event::Completed {
                        id,
                        to,
                        outcome,
                        buffer,
                    });
                }
            }
        }
        let announced = |sent: &Outgoing| everything || !matches!(sent.state, State::Waiting);
        let all = self.outgoing.iter();
        let all = all.filter(|(_, sent)| sent.to == to && announced(sent));
        for id in all.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.fail(hands, id, outcome, false);
        }
    }
}

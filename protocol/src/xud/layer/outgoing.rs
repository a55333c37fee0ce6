//! Sending: pieces into windows, resends, giving up, opening.

use super::connection::{State, Tx};
use super::*;
use crate::card::descriptor::HEAD_MAX;
use crate::xud::control::{FRAGMENT_LEN, Fragment, ORDERED_LEN};
use crate::xud::wire::{FRAGMENT, ORDERED};

impl<B: AsRef<[u8]>, P: From<Vec<u8>>> Layer<B, P> {
    pub(super) fn tx(&mut self, to: u32) -> Option<&mut Tx> {
        self.connections[to].tx.as_deref_mut()
    }

    pub(super) fn enqueue(&mut self, id: u64, to: Peer, buffer: B, rendezvous: bool) {
        self.speaks |= rendezvous;
        let ordered = self.config.ordered;
        let to = self.connections.find_or_add(to);
        let tx = self.connections[to].tx.get_or_insert_default();
        let number = tx.next_number;
        tx.next_number = number.wrapping_add(1);
        if ordered && tx.order.is_none() {
            tx.order = Some(Box::default());
        }
        let whole = self.mtu - if ordered { ORDERED_LEN } else { 0 };
        let length = buffer.as_ref().len();
        let (piece, pieces) = if length <= whole && !rendezvous {
            (length, 1)
        } else {
            let piece = self.mtu - FRAGMENT_LEN;
            (piece, length.div_ceil(piece).max(1) as u32)
        };
        let message = self.messages.insert(Message {
            id,
            to,
            number,
            buffer,
            piece,
            pieces,
            begun: 0,
            done: 0,
            flying: 0,
            failed: None,
            rendezvous,
        });
        let queues = &mut self.queues;
        let queue = tx.queue.get_or_insert_with(|| queues.take());
        queue.push_back(message);
        if !std::mem::replace(&mut tx.queued, true) {
            self.waiting.push_back(to);
        }
    }

    /// Puts a connection into the queue of those that want to post.
    pub(super) fn wait(&mut self, to: u32) {
        if let Some(tx) = self.tx(to)
            && !std::mem::replace(&mut tx.queued, true)
        {
            self.waiting.push_back(to);
        }
    }

    /// Posts as long as the card has places.
    pub(super) fn post_waiting(
        &mut self,
        card: &mut impl Datagrams<Buffer = B, Payload = P>,
        clock: impl Clock,
    ) {
        while self.has_place()
            && let Some((to, control)) = self.control.pop_front()
        {
            self.say(card, to, control);
        }
        while self.has_place()
            && let Some(to) = self.waiting.pop_front()
        {
            if let Some(tx) = self.tx(to) {
                tx.queued = false;
                match tx.state {
                    State::Closed if tx.queue.is_some() || tx.skip => self.open(card, to, clock),
                    State::Open => self.pump(card, to),
                    _ => {}
                }
            }
        }
    }

    /// Fills the free windows of a connection.
    fn pump(&mut self, card: &mut impl Datagrams<Buffer = B, Payload = P>, to: u32) {
        let span = u32::from(self.config.span);
        let slows = self.slows;
        if let Some(tx) = self.tx(to) {
            if !slows {
                tx.limit = None;
            } else if tx.limit.is_none() {
                tx.limit = Some(Box::default());
            }
        }
        loop {
            if !self.has_place() {
                self.wait(to);
                return;
            }
            let connection = &mut self.connections[to];
            let Some(tx) = connection.tx.as_deref_mut() else {
                return;
            };
            if tx
                .limit
                .as_ref()
                .is_some_and(|limit| tx.flying >= limit.packets())
            {
                return;
            }
            let Some(window) = tx.free_window() else {
                return;
            };
            let Some(place) = tx.queue.as_ref().and_then(|queue| queue.front().copied()) else {
                return;
            };
            let Some(message) = self.messages.get_mut(place) else {
                return;
            };
            if let Some(order) = &tx.order
                && message.number.wrapping_sub(order.base) >= span
            {
                return;
            }
            let index = message.begun;
            message.begun += 1;
            message.flying += 1;
            if message.begun == message.pieces {
                pop_front(tx, &mut self.queues);
            }
            tx.set_busy(window, true);
            tx.flying += 1;
            let piece = Piece {
                to,
                message: place,
                window,
                index,
                attempts: 0,
                rnr: 0,
                refused: false,
            };
            let place = self.pieces.insert(piece);
            let post = post(place, &piece, connection.peer, tx, message);
            let posted = card.post_send(self.config.qpn, post);
            self.stats.posted += 1;
            self.posted(posted);
        }
    }

    fn post_piece(&mut self, card: &mut impl Datagrams<Buffer = B, Payload = P>, place: u32) {
        let Some(piece) = self.pieces.get(place) else {
            return;
        };
        let connection = &self.connections[piece.to];
        let (Some(tx), Some(message)) = (&connection.tx, self.messages.get(piece.message)) else {
            return;
        };
        let post = post(place, piece, connection.peer, tx, message);
        let posted = card.post_send(self.config.qpn, post);
        self.posted(posted);
    }

    /// The card has ended a request.
    pub(super) fn sent(
        &mut self,
        card: &mut impl Datagrams<Buffer = B, Payload = P>,
        id: u64,
        outcome: Outcome,
        marked: bool,
        clock: impl Clock,
    ) {
        self.in_card = self.in_card.saturating_sub(1);
        if id == CONTROL_ID {
            return;
        }
        let place = id as u32;
        self.stats.marked += u64::from(marked);
        if self.slows
            && let Some(to) = self.pieces.get(place).map(|piece| piece.to)
            && let Some(tx) = self.tx(to)
        {
            tx.weigh(outcome == Outcome::Timeout, marked);
        }
        if outcome == Outcome::Ok {
            return self.ended(card, place, None);
        }
        let config = self.config;
        let Some(piece) = self.pieces.get_mut(place) else {
            return;
        };
        let to = piece.to;
        let again = match outcome {
            Outcome::Timeout => {
                piece.attempts = piece.attempts.saturating_add(1);
                let more = piece.attempts < config.attempts || config.mutations.no_bound;
                more.then(|| config.pause(piece.attempts))
            }
            Outcome::RemoteRnr => {
                piece.rnr = piece.rnr.saturating_add(1);
                (piece.rnr <= config.rnr_attempts).then(|| config.pause(piece.rnr))
            }
            _ => None,
        };
        if piece.refused {
            return self.fail(card, place, Outcome::RemoteProtocol);
        }
        if outcome != Outcome::Timeout
            && let Some(tx) = self.tx(to)
        {
            tx.heard = true;
        }
        match (again, outcome) {
            (Some(pause), _) => self.timers.start(clock.now(), pause, Timer::Piece(place)),
            (None, Outcome::Timeout) => {
                let heard = self.tx(to).is_some_and(|tx| tx.heard);
                self.fail(card, place, silence(heard));
            }
            (None, outcome) => self.fail(card, place, outcome),
        }
    }

    /// Sends a piece again, under the same window identity.
    pub(super) fn repeat(
        &mut self,
        card: &mut impl Datagrams<Buffer = B, Payload = P>,
        place: u32,
        clock: impl Clock,
    ) {
        let Some(piece) = self.pieces.get(place).copied() else {
            return;
        };
        if piece.refused {
            self.fail(card, place, Outcome::RemoteProtocol);
        } else if self.has_place() {
            if piece.rnr > piece.attempts {
                self.stats.rnr_resent += 1;
            } else {
                self.stats.resent += 1;
            }
            self.post_piece(card, place);
        } else {
            self.timers.start(clock.now(), 1, Timer::Piece(place));
        }
    }

    /// A piece has ended; `failed` if it did not end well.
    #[inline]
    fn ended(
        &mut self,
        card: &mut impl Datagrams<Buffer = B, Payload = P>,
        place: u32,
        failed: Option<Outcome>,
    ) {
        let Some(piece) = self.pieces.remove(place) else {
            return;
        };
        let reuse = self.config.mutations.reuse_window;
        let Some(tx) = self.connections[piece.to].tx.as_deref_mut() else {
            return;
        };
        tx.flying -= 1;
        tx.heard |= failed.is_none();
        if failed.is_none() || reuse {
            tx.set_busy(piece.window, false);
            if let Some(msn) = tx.msn.get_mut(usize::from(piece.window)) {
                *msn = msn.wrapping_add(1);
            }
        } else {
            tx.state = State::Draining;
            tx.skip |= tx.order.is_some();
        }
        let draining = tx.state == State::Draining;
        let more = tx.queue.is_some() || tx.skip;
        if more && !std::mem::replace(&mut tx.queued, true) {
            self.waiting.push_back(piece.to);
        }
        if let Some(message) = self.messages.get_mut(piece.message) {
            message.flying -= 1;
            message.done += u32::from(failed.is_none());
            message.failed = message.failed.or(failed);
            let over = message.done == message.pieces;
            if over || (message.failed.is_some() && message.flying == 0) {
                self.finish(piece.message);
            }
        }
        if draining {
            self.drained(card, piece.to);
        }
    }

    fn fail(
        &mut self,
        card: &mut impl Datagrams<Buffer = B, Payload = P>,
        place: u32,
        outcome: Outcome,
    ) {
        self.ended(card, place, Some(outcome));
    }

    /// A message has ended: its buffer goes back to the user (XUD-9).
    pub(super) fn finish(&mut self, place: u32) {
        let Some(message) = self.messages.get(place) else {
            return;
        };
        let rendezvous = message.rendezvous;
        match message.failed {
            _ if rendezvous => {}
            None | Some(Outcome::Ok) => self.stats.completed += 1,
            Some(_) => self.stats.failed += 1,
        }
        if let Some(tx) = self.connections[message.to].tx.as_deref_mut() {
            // Only the first in the queue can have begun.
            if tx.queue.as_ref().and_then(|queue| queue.front()) == Some(&place) {
                pop_front(tx, &mut self.queues);
            }
            if let Some(order) = &mut tx.order {
                order.end(message.number);
            }
        }
        if rendezvous {
            if let Some(event) = self.take_ended(place) {
                self.tell(Said::Event(event));
            }
            return;
        }
        self.over += 1;
        self.news.push_back(News::Ended(place));
    }
}

/// A piece of a message in its window.
fn post<'a, B: AsRef<[u8]>>(
    place: u32,
    piece: &Piece,
    to: Peer,
    tx: &Tx,
    message: &'a Message<B>,
) -> Post<'a, B> {
    let length = message.buffer.as_ref().len();
    let begin = piece.index as usize * message.piece;
    let end = (begin + message.piece).min(length);
    let mut head = [0; HEAD_MAX];
    let (mut flags, mut head_len) = (0, 0);
    if tx.order.is_some() {
        flags = ORDERED;
    }
    if message.pieces > 1 || message.rendezvous {
        let fragment = Fragment {
            message: message.number,
            offset: begin as u32,
            total: length as u32,
            rendezvous: message.rendezvous,
        };
        head_len = FRAGMENT_LEN;
        head[..FRAGMENT_LEN].copy_from_slice(&fragment.encode());
        flags |= FRAGMENT;
    } else if flags == ORDERED {
        head_len = ORDERED_LEN;
        head[..ORDERED_LEN].copy_from_slice(&message.number.to_be_bytes());
    }
    Post {
        id: place.into(),
        to,
        flags,
        window: Window {
            id: piece.window,
            epoch: tx.remote.unwrap_or(0),
            msn: tx.msn.get(usize::from(piece.window)).copied().unwrap_or(0),
        },
        head,
        head_len: head_len as u8,
        payload: Some((&message.buffer, begin..end)),
    }
}

#[inline]
fn pop_front(tx: &mut Tx, queues: &mut Queues) {
    if let Some(queue) = &mut tx.queue {
        queue.pop_front();
    }
    if let Some(queue) = tx.queue.take_if(|queue| queue.is_empty()) {
        queues.give(queue);
    }
}

pub(super) fn silence(heard: bool) -> Outcome {
    if heard {
        Outcome::Unresponsive
    } else {
        Outcome::Unreachable
    }
}

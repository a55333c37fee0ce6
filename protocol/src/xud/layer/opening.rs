//! Opening connections, first and again.

use super::connection::{State, Tx};
use super::outgoing::silence;
use super::*;
use crate::xud::control::Open;

impl<B: AsRef<[u8]>, P: From<Vec<u8>>> Layer<B, P> {
    /// When the last message in flight of a connection that gave one up has ended, it is opened anew (XUD-8).
    pub(super) fn drained(&mut self, card: &mut impl Datagrams<Buffer = B, Payload = P>, to: u32) {
        let qpn = self.config.qpn;
        if let Some(tx) = self.tx(to)
            && tx.state == State::Draining
            && tx.flying == 0
        {
            tx.state = State::Closed;
            if let Some(epoch) = card.next_epoch(qpn) {
                tx.epoch = epoch;
            }
            self.stats.reopened += 1;
            self.wait(to);
        }
    }

    pub(super) fn open(
        &mut self,
        card: &mut impl Datagrams<Buffer = B, Payload = P>,
        to: u32,
        clock: impl Clock,
    ) {
        let epoch = card.epoch(self.config.qpn).unwrap_or(0);
        let Some(tx) = self.tx(to) else { return };
        tx.state = State::Opening;
        if tx.epoch == 0 {
            tx.epoch = epoch;
        }
        let epoch = tx.epoch;
        self.say_open(card, to, epoch, 1, clock);
    }

    /// OPEN, and the timer that repeats it.
    fn say_open(
        &mut self,
        card: &mut impl Datagrams<Buffer = B, Payload = P>,
        to: u32,
        epoch: u16,
        attempts: u8,
        clock: impl Clock,
    ) {
        let (windows, incarnation) = (self.config.windows, self.incarnation);
        let connection = &self.connections[to];
        let Some(tx) = &connection.tx else { return };
        let front = tx.queue.as_ref().and_then(|queue| queue.front().copied());
        let front = front.and_then(|place| self.messages.get(place));
        let open = Open {
            windows,
            incarnation,
            epoch,
            start: front.map_or(tx.next_number, |message| message.number),
            last: tx.remote,
        };
        let peer = connection.peer;
        self.stats.opens += 1;
        self.say(card, peer, Control::Open(open));
        let pause = self.config.pause(attempts);
        let wait = (4_096 << self.config.timeout) + pause;
        self.timers
            .start(clock.now(), wait, Timer::Open(to, epoch, attempts));
    }

    /// OPEN has not been answered in time.
    pub(super) fn open_again(
        &mut self,
        card: &mut impl Datagrams<Buffer = B, Payload = P>,
        to: u32,
        epoch: u16,
        attempts: u8,
        clock: impl Clock,
    ) {
        let (most, unbounded) = (self.config.attempts, self.config.mutations.no_bound);
        let Some(tx) = self
            .tx(to)
            .filter(|tx| tx.state == State::Opening && tx.epoch == epoch)
        else {
            return;
        };
        if attempts < most || unbounded {
            let attempts = attempts.saturating_add(1).min(most);
            return self.say_open(card, to, epoch, attempts, clock);
        }
        // The next attempt says another start, so it needs another epoch.
        tx.state = State::Draining;
        let outcome = silence(tx.heard);
        let queue = tx.queue.take();
        for place in queue.into_iter().flat_map(|queue| *queue) {
            if let Some(message) = self.messages.get_mut(place) {
                message.failed = Some(outcome);
                self.finish(place);
            }
        }
        self.drained(card, to);
        // What the peer holds back is asked for again with the next message, not for ever.
        if let Some(tx) = self.tx(to) {
            tx.skip = false;
        }
    }

    /// OPEN_ACK: the windows are open.
    pub(super) fn opened(&mut self, from: Peer, fresh: bool, windows: u32, of: u16, epoch: u16) {
        let wanted = self.config.windows;
        let Self {
            connections,
            messages,
            stats,
            ..
        } = self;
        let found = connections.find(from).and_then(|place| {
            let tx = connections[place].tx.as_deref_mut();
            let asked =
                |tx: &&mut Tx| tx.state == State::Opening && tx.epoch == of && windows <= wanted;
            Some((place, tx.filter(asked)?))
        });
        let Some((connection, tx)) = found else {
            return stats.drops.count(Drop::StrayControl);
        };
        let count = windows as usize;
        if tx.msn.len() == count {
            tx.msn.fill(0);
            tx.busy.fill(0);
        } else {
            tx.msn = vec![0; count].into();
            tx.busy = vec![0; count.div_ceil(64)].into();
        }
        (tx.state, tx.remote, tx.heard, tx.skip) = (State::Open, Some(epoch), true, false);
        // Pieces that the peer's earlier process had are gone with it.
        let torn = tx.queue.as_ref().and_then(|queue| queue.front().copied());
        let torn = torn.filter(|place| fresh && messages.get(*place).is_some_and(|m| m.done > 0));
        if let Some(place) = torn {
            if let Some(message) = messages.get_mut(place) {
                message.failed = Some(Outcome::EpochMismatch);
            }
            self.finish(place);
        }
        self.wait(connection);
    }

    /// The peer's process is another one, which knows nothing of what was opened: it is opened anew before anything else is sent.
    pub(super) fn renew(&mut self, card: &mut impl Datagrams<Buffer = B, Payload = P>, to: u32) {
        if let Some(tx) = self.tx(to).filter(|tx| tx.state == State::Open) {
            tx.state = State::Draining;
            self.drained(card, to);
        }
    }

    /// REFUSE: the peer found a number impossible (XUD-5). The connection is opened anew.
    pub(super) fn refused(
        &mut self,
        card: &mut impl Datagrams<Buffer = B, Payload = P>,
        from: Peer,
        window: Window,
    ) {
        let found = self.connections.find(from).and_then(|place| {
            let open = |tx: &&mut Tx| tx.remote == Some(window.epoch) && tx.state == State::Open;
            Some((place, self.tx(place).filter(open)?))
        });
        let Some((connection, tx)) = found else {
            return self.stats.drops.count(Drop::StrayControl);
        };
        tx.state = State::Draining;
        let current = tx.msn.get(usize::from(window.id)) == Some(&window.msn);
        self.stats.refused += 1;
        let hit = self
            .pieces
            .iter()
            .find(|(_, piece)| piece.to == connection && piece.window == window.id && current)
            .map(|(place, _)| place);
        // The card or a timer still has it; it ends when that is over.
        if let Some(piece) = hit.and_then(|place| self.pieces.get_mut(place)) {
            piece.refused = true;
        }
        self.drained(card, connection);
    }
}

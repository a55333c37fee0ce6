//! Receiving: windows, fragments, order.

use std::collections::BTreeMap;

use super::connection::{Partial, Rx, Whole};
use super::*;
use crate::xud::control::{Fragment, ORDERED_LEN, Open};
use crate::xud::epoch_at_least;
use crate::xud::wire::{CONTROL, FRAGMENT, ORDERED};

/// A message that made no sense to the windows: the sender is told (XUD-5).
struct Impossible;

/// What a packet that fits its window brings.
enum Arrived {
    /// A message, as it is.
    Alone,
    /// The last piece of this one.
    Whole(Whole),
    /// Nothing to deliver at once.
    Kept,
}

impl<B: AsRef<[u8]>, P: From<Vec<u8>>> Layer<B, P> {
    pub(super) fn received(
        &mut self,
        card: &mut impl Datagrams<Buffer = B, Payload = P>,
        from: Peer,
        flags: u8,
        window: Window,
        payload: P,
    ) {
        if flags & CONTROL != 0 {
            let control = Control::decode(card.bytes(&payload));
            card.release(payload);
            return match control.filter(|_| flags == CONTROL) {
                Some(Control::Open(open)) => self.asked_to_open(card, from, open),
                Some(Control::OpenAck {
                    fresh,
                    windows,
                    of,
                    epoch,
                }) => self.opened(from, fresh, windows, of, epoch),
                Some(Control::Refuse(window)) => self.refused(card, from, window),
                None => self.stats.drops.count(Drop::StrayControl),
            };
        }
        match self.message(from, flags, window, card.bytes(&payload)) {
            Ok(Arrived::Alone) => return self.deliver(from, payload, false),
            Ok(Arrived::Whole(message)) => self.deliver_whole(from, message),
            Ok(Arrived::Kept) => {}
            Err(Impossible) => {
                self.stats.drops.count(Drop::Ahead);
                self.say(card, from, Control::Refuse(window));
            }
        }
        card.release(payload);
    }

    /// The connection that a message belongs to.
    fn key(&self, from: Peer) -> Peer {
        if self.config.mutations.peer_by_node {
            Peer { qpn: 0, ..from }
        } else {
            from
        }
    }

    /// A message in a window: delivered if its number is the expected one (XUD-5, XUD-10).
    fn message(
        &mut self,
        from: Peer,
        flags: u8,
        window: Window,
        payload: &[u8],
    ) -> Result<Arrived, Impossible> {
        let mutations = self.config.mutations;
        let span = usize::from(self.config.span);
        let connection = self.connections.find(self.key(from)).ok_or(Impossible)?;
        let rx = self.connections[connection].rx.as_deref_mut();
        let rx = rx.ok_or(Impossible)?;
        if window.epoch != rx.epoch && !mutations.no_epoch {
            self.stats.drops.count(Drop::OldEpoch);
            return Ok(Arrived::Kept);
        }
        let place = usize::from(window.id);
        let expected = *rx.expected.get(place).ok_or(Impossible)?;
        let mut ahead = window.msn.wrapping_sub(expected);
        if mutations.short_msn {
            ahead &= 1;
        }
        if ahead != 0 && !mutations.no_duplicate_check {
            if ahead < 1 << 31 && !mutations.short_msn {
                return Err(Impossible);
            }
            self.stats.drops.count(Drop::Duplicate);
            return Ok(Arrived::Kept);
        }
        let arrived = if flags & (FRAGMENT | ORDERED) == 0 {
            Arrived::Alone
        } else {
            arrive(rx, flags, payload, span)?
        };
        rx.expected[place] = expected.wrapping_add(1);
        if rx.ring.is_some() {
            self.deliver_in_turn(from, connection);
        }
        Ok(arrived)
    }

    fn deliver(&mut self, from: Peer, payload: P, rendezvous: bool) {
        if rendezvous {
            return self.tell(Said::Event(Event::Delivered { from, payload }));
        }
        self.stats.delivered += 1;
        self.news.push_back(News::Delivered(from, payload));
    }

    fn deliver_whole(&mut self, from: Peer, whole: Whole) {
        self.deliver(from, whole.bytes.into(), whole.rendezvous);
    }

    /// Delivers what an ordered stream has without a gap.
    fn deliver_in_turn(&mut self, from: Peer, connection: u32) {
        while let Some(rx) = self.connections[connection].rx.as_deref_mut()
            && let Some(ring) = &mut rx.ring
        {
            let Some(next) = ring.front_mut() else {
                rx.ring = None;
                return;
            };
            let Some(whole) = next.take() else { return };
            ring.pop_front();
            rx.next = rx.next.wrapping_add(1);
            self.deliver_whole(from, whole);
        }
    }

    /// OPEN: answered twice alike, replaced by a newer one, ignored when older (XUD-6).
    fn asked_to_open(
        &mut self,
        card: &mut impl Datagrams<Buffer = B, Payload = P>,
        from: Peer,
        open: Open,
    ) {
        let qpn = self.config.qpn;
        let windows = open.windows.min(self.config.windows);
        let connection = self.connections.find_or_add(self.key(from));
        let remote = self.tx(connection).and_then(|tx| tx.remote);
        let rx = &mut self.connections[connection].rx;
        let mut flushed = Vec::new();
        // Of a peer that was never heard before, the epoch that it once gave tells whether that was the same process.
        let another = match rx {
            Some(rx) => rx.incarnation != open.incarnation,
            None => remote.is_some_and(|remote| !epoch_at_least(remote, open.incarnation)),
        };
        match rx {
            Some(rx) if rx.remote == open.epoch => {}
            Some(rx) if !epoch_at_least(open.epoch, rx.remote) => {
                return self.stats.drops.count(Drop::StrayControl);
            }
            Some(rx) => {
                // Every opening of a peer has another epoch, so that nothing late fits into it.
                let Some(epoch) = card.next_epoch(qpn) else {
                    return;
                };
                flushed = reopen(rx, &open, windows, epoch);
            }
            None => {
                let Some(epoch) = card.epoch(qpn) else { return };
                *rx = Some(Box::new(Rx {
                    expected: vec![0; windows as usize].into(),
                    ring: None,
                    partial: None,
                    next: open.start,
                    incarnation: open.incarnation,
                    remote: open.epoch,
                    epoch,
                    fresh: true,
                }));
            }
        }
        for whole in flushed {
            self.deliver_whole(from, whole);
        }
        self.deliver_in_turn(from, connection);
        if another && self.speaks {
            let unheard = remote.is_some_and(|remote| !epoch_at_least(remote, open.incarnation));
            let peer = from;
            self.tell(Said::Another { peer, unheard });
        }
        if another {
            self.renew(card, connection);
        }
        if let Some(rx) = self.connections[connection].rx.as_deref() {
            let answer = Control::OpenAck {
                fresh: rx.fresh,
                windows: rx.expected.len() as u32,
                of: rx.remote,
                epoch: rx.epoch,
            };
            self.say(card, from, answer);
        }
    }
}

/// Opens a receiving direction anew; what an ordered stream held back and must wait for no longer (XUD-11).
fn reopen(rx: &mut Rx, open: &Open, windows: u32, epoch: u16) -> Vec<Whole> {
    let same = rx.incarnation == open.incarnation;
    rx.fresh = open.last != Some(rx.epoch);
    rx.expected = vec![0; windows as usize].into();
    (rx.incarnation, rx.remote, rx.epoch) = (open.incarnation, open.epoch, epoch);
    let before = |number: u32| !same || number.wrapping_sub(open.start) >= 1 << 31;
    if let Some(partial) = &mut rx.partial {
        partial.retain(|number, _| !before(*number));
        if partial.is_empty() {
            rx.partial = None;
        }
    }
    let mut flushed = Vec::new();
    while let Some(ring) = &mut rx.ring
        && before(rx.next)
    {
        let Some(message) = ring.pop_front() else {
            rx.ring = None;
            break;
        };
        flushed.extend(message);
        rx.next = rx.next.wrapping_add(1);
    }
    if before(rx.next) {
        rx.next = open.start;
    }
    flushed
}

/// What to deliver now of a piece, or of a message of an ordered stream, that fits its window.
fn arrive(rx: &mut Rx, flags: u8, payload: &[u8], span: usize) -> Result<Arrived, Impossible> {
    let ordered = flags & ORDERED != 0;
    if flags & FRAGMENT == 0 {
        let (number, message) = payload
            .split_first_chunk::<ORDERED_LEN>()
            .ok_or(Impossible)?;
        let number = u32::from_be_bytes(*number);
        let whole = Whole {
            bytes: message.to_vec(),
            rendezvous: false,
        };
        return in_turn(rx, number, whole, span);
    }
    let (fragment, bytes) = Fragment::decode(payload, MAX_MESSAGE).ok_or(Impossible)?;
    if ordered && fragment.message.wrapping_sub(rx.next) as usize >= span {
        return Err(Impossible);
    }
    let Fragment {
        message,
        offset,
        total,
        rendezvous,
    } = fragment;
    // A sender works on as many messages as it has windows, and on the one that it is cutting.
    let most = rx.expected.len() + 1;
    let partials: &mut BTreeMap<u32, Partial> = rx.partial.get_or_insert_default();
    if !partials.contains_key(&message) && partials.len() >= most {
        return Err(Impossible);
    }
    let partial = partials.entry(message).or_insert_with(|| Partial {
        whole: Whole {
            bytes: vec![0; total as usize],
            rendezvous,
        },
        arrived: 0,
    });
    let from = offset as usize;
    let place = partial
        .whole
        .bytes
        .get_mut(from..from + bytes.len())
        .ok_or(Impossible)?;
    place.copy_from_slice(bytes);
    partial.arrived += bytes.len();
    if partial.arrived < partial.whole.bytes.len() {
        return Ok(Arrived::Kept);
    }
    let whole = partials.remove(&message);
    if partials.is_empty() {
        rx.partial = None;
    }
    let whole = whole.ok_or(Impossible)?.whole;
    if ordered {
        in_turn(rx, message, whole, span)
    } else {
        Ok(Arrived::Whole(whole))
    }
}

/// Puts a message of an ordered stream into the ring (XUD-11), from where it is delivered in turn.
fn in_turn(rx: &mut Rx, number: u32, message: Whole, span: usize) -> Result<Arrived, Impossible> {
    let at = number.wrapping_sub(rx.next) as usize;
    if at >= span {
        return Err(Impossible);
    }
    let ring = rx.ring.get_or_insert_default();
    if ring.len() <= at {
        ring.resize(at + 1, None);
    }
    if ring[at].replace(message).is_some() {
        return Err(Impossible);
    }
    Ok(Arrived::Kept)
}

//! Ends: bytes that have gone or come, peers that are gone.

use std::collections::VecDeque;

use super::{
    Address, Engine, Failure, Incoming, Label, Memory, Notice, Outgoing, Peer, Reached, Receiving,
    Sending, What, keys,
};

impl<O: Clone + PartialEq, M: Memory> Engine<O, M> {
    /// Bytes have been sent, or never will be.
    pub(super) fn went(&mut self, sending: Sending<O, M>, failure: Option<Failure>) {
        let (to, none) = (sending.to, Label::default());
        let length = match failure {
            None => sending.memory.length(),
            Some(_) => 0,
        };
        match sending.purpose {
            Outgoing::Message(op, label) => {
                self.end(Some(op), What::Send, length, label, to, failure);
            }
            Outgoing::Write(op) => self.end(Some(op), What::Write, length, none, to, failure),
            Outgoing::Atomic(op, what) => self.end(Some(op), what, length, none, to, failure),
            Outgoing::Served(key) if failure.is_none() => self.reached.push_back(Reached {
                by: to,
                key,
                write: false,
                length,
                data: None,
            }),
            Outgoing::Served(_) => {}
        }
    }

    /// Bytes are here, or never will be.
    pub(super) fn came(&mut self, receiving: Receiving<O, M>, failure: Option<Failure>) {
        let Receiving { from, memory, .. } = receiving;
        let length = match failure {
            None | Some(Failure::Truncated(_)) => receiving.length.min(memory.length()),
            Some(_) => 0,
        };
        match receiving.purpose {
            Incoming::Message(op, label, place) => {
                self.received(op, length, label, from, failure, place);
            }
            Incoming::Read(op) => {
                let label = Label::default();
                self.end(Some(op), What::Read, length, label, from, failure);
            }
            Incoming::Written { id, key, data } if failure.is_none() => {
                self.written(from, (id, key), length, data);
            }
            Incoming::Written { .. } => {}
        }
    }

    /// Another process has the address of a peer: whatever was under way with the one before has failed. What is to be received from
    /// this address is received from the new one.
    pub(super) fn renewed(&mut self, at: Address) {
        self.abandon(at);
        let credits = self.credits;
        *self.peer(at) = Peer {
            credits,
            ..Peer::default()
        };
    }

    /// A peer is gone: whatever was under way with it has failed.
    pub fn lost(&mut self, at: Address) {
        self.abandon(at);
        self.peer(at).gone = true;
        let mut kept = VecDeque::new();
        for posted in std::mem::take(&mut self.posted) {
            if posted.want.from == Some(at) {
                self.give_up(posted, at, Failure::Peer);
            } else {
                kept.push_back(posted);
            }
        }
        self.posted = kept;
    }

    /// What is under way with a peer has failed.
    pub(super) fn abandon(&mut self, at: Address) {
        self.notices.push_back(Notice::Lost(at));
        let peer = self.peer(at);
        peer.queue.clear();
        peer.answers.clear();
        peer.long.clear();
        self.lane.abandon(at);
        let failure = Some(Failure::Peer);
        let sending: Vec<u32> = keys(&self.sending, |s| s.to == at);
        for sending in sending
            .iter()
            .filter_map(|id| self.sending.remove(id))
            .collect::<Vec<_>>()
        {
            self.went(sending, failure);
        }
        let receiving: Vec<u32> = keys(&self.receiving, |r| r.from == at);
        for receiving in receiving
            .iter()
            .filter_map(|id| self.receiving.remove(id))
            .collect::<Vec<_>>()
        {
            self.came(receiving, failure);
        }
        // A long message of it that nobody has wanted yet can never come.
        self.unexpected
            .retain(|message| message.from != at || message.body.is_ok());
    }

    /// The card is gone: every peer is, and nobody is left to receive from.
    pub fn fail(&mut self) {
        let peers: Vec<Address> = self.peers.keys().copied().collect();
        peers.into_iter().for_each(|peer| self.lost(peer));
        for posted in std::mem::take(&mut self.posted) {
            self.give_up(posted, 0, Failure::Peer);
        }
        self.busy.clear();
    }
}

//! Frames of bulk transfers from the line. Everything is checked before any state changes (BW-2, RW-20).

use super::requests::PACKETS_MAX;
use super::times::{BUSY_HINT, RETRY_MOST};
use super::{Bulk, LANDING, What, Window, Work};
use crate::bulk::{Purpose, ReadMessage, ReadRefused, ReadRequest, Refusal, Transfer};
use crate::card::model::CardModel;
use crate::card::model::regions::Right;
use crate::card::regs::BulkCounter;
use crate::roce::Frame;
use crate::rw::{
    Abort, Connect, ConnectResp, ConnectStatus, Data, DropReason, Message, Output, Reason, Request,
    packets, wire,
};
use crate::xud::{Outcome, Peer};

impl Bulk {
    /// A frame with one of [`crate::bulk::OPCODES`], or [`crate::bulk::OPCODE_CONGESTED`].
    /// `marked`: a switch has marked it.
    pub fn receive(&mut self, card: &CardModel, frame: &Frame<'_>, marked: bool, now: u64) {
        let tick = self.times.tick(now);
        let from = frame.link.src_node();
        if frame.bth.opcode == crate::bulk::OPCODE_CONGESTED {
            return self.congested(from, frame, tick);
        }
        if frame.bth.opcode >= crate::bulk::OPCODE_READ_REQUEST {
            match ReadMessage::decode(&frame.bth, frame.body) {
                Ok(message) => match message.sent_by(from) {
                    Some(ReadMessage::Request(m)) => self.read_request(card, &m, tick),
                    Some(ReadMessage::Refused(m)) => self.read_refused(&m, tick),
                    None => self.count(BulkCounter::Stray),
                },
                Err(_) => self.count(BulkCounter::BadMessage),
            }
            return;
        }
        let Ok((message, payload)) = wire::decode(&frame.bth, frame.body) else {
            return self.count(BulkCounter::BadMessage);
        };
        if !message.to_receiver() {
            return self.about_own(from, &message, tick);
        }
        let Some(message) = message.sent_by(from) else {
            return self.count(BulkCounter::Stray);
        };
        match &message {
            Message::Data(m) => self.data(m, payload, marked, tick),
            Message::Connect(m) => match Transfer::decode(payload) {
                Ok(header) => self.connect(card, m, header, tick),
                Err(_) => self.count(BulkCounter::BadMessage),
            },
            Message::Poll(m) => {
                let answer = self.receiver.poll(m);
                self.send(from, &answer);
            }
            Message::Abort(m) => self.abort(m),
            _ => {}
        }
    }

    /// A message about a transfer that this card sends: only from where it goes to.
    fn about_own(&mut self, from: u32, message: &Message, tick: u64) {
        let (slot, xid) = match message {
            Message::Complete(m) => (m.slot, m.xid),
            Message::RetxOne(m) => (m.slot, m.xid),
            Message::RetxRange(m) => (m.slot, m.xid),
            Message::ConnectResp(m) => (m.slot, m.xid),
            Message::Status(m) => (m.slot, m.xid),
            Message::Unknown(m) => (m.slot, m.xid),
            _ => return,
        };
        let to = self.sender.request(slot).map(|request| request.dst);
        if self.sender.xid(slot) != Some(xid) || to != Some(from) {
            return self.count(BulkCounter::Stray);
        }
        self.sender.on_message(message, tick);
        self.take_ends();
    }

    fn data(&mut self, data: &Data, payload: &[u8], marked: bool, tick: u64) {
        if self.landing.len() >= LANDING {
            return self.count(BulkCounter::DataOverflow);
        }
        match self.receiver.data(data, tick as u16) {
            Ok(accepted) => {
                self.arrived = true;
                self.count(BulkCounter::DataAccepted);
                self.data_came(data.wptr, marked, tick);
                self.landing.push_back((accepted.write, payload.to_vec()));
                if accepted.credit_due
                    && let Some(Output::Send { dst, msg }) = self.receiver.credit_update(data.wptr)
                {
                    self.send(dst, &msg);
                }
            }
            Err(reason) => {
                let counter = match reason {
                    DropReason::Duplicate | DropReason::BelowWindow => BulkCounter::DataDuplicate,
                    DropReason::Closed | DropReason::StaleGen | DropReason::BadSource => {
                        BulkCounter::DataStale
                    }
                    _ => BulkCounter::DataWrong,
                };
                // It has crossed the same queues as one that came first.
                if counter == BulkCounter::DataDuplicate {
                    self.data_came(data.wptr, marked, tick);
                }
                self.count(counter);
            }
        }
    }

    /// The peer gives up a transfer.
    fn abort(&mut self, abort: &Abort) {
        match self.receiver.abort(abort) {
            None => self.count(BulkCounter::Stray),
            Some(done) => {
                let status = match abort.reason {
                    Reason::Protection => Outcome::RemoteAccess,
                    Reason::Memory => Outcome::RemoteOperation,
                    Reason::Idle => Outcome::Unresponsive,
                    _ => Outcome::Aborted,
                };
                self.window_ended(done.wptr, status);
            }
        }
    }

    /// CONNECT (BW-2): queue pair, key, then what the transfer is for; only then a window.
    fn connect(&mut self, card: &CardModel, c: &Connect, header: Transfer, tick: u64) {
        if !self.receiver.knows(c) {
            match self.may_connect(card, c, &header) {
                Ok(()) => {}
                Err(None) => return self.count(BulkCounter::BadKey),
                Err(Some((counter, status))) => {
                    self.count(counter);
                    return self.send(c.src, &refusal(c, status));
                }
            }
        }
        let open = self.receiver.free().next();
        let mut new = None;
        let out = self.receiver.connect(c, tick as u16);
        if let Some(aborted) = out.aborted {
            self.window_ended(aborted.wptr, Outcome::Aborted);
        }
        match &out.reply {
            None => self.count(BulkCounter::OldConnect),
            Some(Message::ConnectResp(m)) => match m.status {
                ConnectStatus::Busy => self.count(BulkCounter::Busy),
                ConnectStatus::Ok if !self.windows.contains_key(&m.wptr) => {
                    debug_assert!(out.aborted.is_some() || open == Some(m.wptr));
                    self.opened(card, m.wptr, c, &header);
                    new = Some(m.wptr);
                }
                ConnectStatus::Ok => {}
                _ => self.count(BulkCounter::BadLength),
            },
            Some(_) => {}
        }
        if let Some(reply) = out.reply {
            self.send(c.src, &reply);
        }
        // Behind the answer, which the sender has to know first.
        if let Some(wptr) = new {
            self.window_opened(wptr, tick);
        }
    }

    /// Whether a new transfer may have a window; otherwise what is counted and answered, or nothing for a wrong Q_Key.
    #[allow(clippy::type_complexity)]
    fn may_connect(
        &mut self,
        card: &CardModel,
        c: &Connect,
        header: &Transfer,
    ) -> Result<(), Option<(BulkCounter, ConnectStatus)>> {
        let mutations = self.config.mutations;
        let queue = card
            .queues
            .get(&header.qpn)
            .filter(|queue| queue.receives());
        let queue = queue.ok_or(Some((BulkCounter::BadQp, ConnectStatus::BadQp)))?;
        if queue.q_key != header.q_key && !mutations.any_q_key {
            return Err(None);
        }
        let right = match header.purpose {
            Purpose::Write | Purpose::Notify(_) => Right::RemoteWrite,
            Purpose::Response(token) => {
                if !self.is_answer(token, c, header) {
                    return Err(Some((BulkCounter::NoRead, ConnectStatus::Refused)));
                }
                Right::LocalWrite
            }
        };
        let (domain, length) = (queue.domain, u64::from(c.length));
        if mutations.no_connect_check || card.regions.allow(c.rkey, domain, c.addr, length, right) {
            Ok(())
        } else {
            Err(Some((BulkCounter::Access, ConnectStatus::Access)))
        }
    }

    /// Whether a CONNECT answers a read of this host: from its target, with the memory and the length that were asked for. One does for each
    /// read, also if its target is reset behind it.
    fn is_answer(&mut self, token: u64, c: &Connect, header: &Transfer) -> bool {
        let Some((_, read)) = self.reading(token) else {
            return false;
        };
        let request = &read.request;
        let asked = (
            read.target,
            request.qpn,
            request.source,
            request.length,
            request.to_address,
            request.to_key,
        );
        !read.answered && asked == (c.src, header.source, header.qpn, c.length, c.addr, c.rkey)
    }

    fn opened(&mut self, card: &CardModel, wptr: u16, c: &Connect, header: &Transfer) {
        self.arrived = true;
        let from = Peer {
            node: c.src,
            qpn: header.source,
        };
        let window = Window {
            qpn: header.qpn,
            key: c.rkey,
            from,
            purpose: header.purpose,
            waits_since: None,
        };
        debug_assert!(card.queues.contains_key(&header.qpn));
        if let Purpose::Response(token) = header.purpose
            && let Some((_, read)) = self.reading(token)
        {
            read.answered = true;
        }
        self.windows.insert(wptr, window);
    }

    /// A READ request of another card (BW-11).
    fn read_request(&mut self, card: &CardModel, m: &ReadRequest, tick: u64) {
        let served = self.works.values().any(|work| {
            work.what == What::Response
                && work.to.node == m.node
                && work.header.purpose == Purpose::Response(m.token)
        });
        if served {
            return;
        }
        let queue = card.queues.get(&m.qpn).filter(|queue| queue.receives());
        let Some(queue) = queue else {
            return self.refuse(m, BulkCounter::BadQp, Refusal::BadQp);
        };
        if queue.q_key != m.q_key {
            return self.count(BulkCounter::BadKey);
        }
        let (domain, length) = (queue.domain, u64::from(m.length));
        let wraps = u128::from(m.to_address) + u128::from(m.length) > 1 << 64;
        if packets(m.length, m.mtu) > PACKETS_MAX || wraps {
            return self.refuse(m, BulkCounter::BadLength, Refusal::Length);
        }
        if !card
            .regions
            .allow(m.rkey, domain, m.address, length, Right::RemoteRead)
        {
            return self.refuse(m, BulkCounter::Access, Refusal::Access);
        }
        let request = Request {
            dst: m.node,
            addr: m.to_address,
            rkey: m.to_key,
            length: m.length,
            mtu: m.mtu,
            oldest_first: false,
        };
        let Ok((slot, _)) = self.sender.start(request, tick) else {
            return self.refuse(m, BulkCounter::Busy, Refusal::Busy);
        };
        let header = Transfer {
            qpn: m.source,
            source: m.qpn,
            q_key: m.q_key,
            purpose: Purpose::Response(m.token),
        };
        let work = Work {
            what: What::Response,
            qpn: m.qpn,
            domain,
            address: m.address,
            key: m.rkey,
            to: Peer {
                node: m.node,
                qpn: m.source,
            },
            header,
            ends_as: None,
        };
        self.works.insert(slot, work);
    }

    fn refuse(&mut self, m: &ReadRequest, counter: BulkCounter, reason: Refusal) {
        self.count(counter);
        let refused = ReadRefused {
            qpn: m.source,
            node: self.node,
            token: m.token,
            reason,
            retry: if reason == Refusal::Busy {
                BUSY_HINT
            } else {
                0
            },
        };
        self.send_read(m.node, &ReadMessage::Refused(refused));
    }

    fn read_refused(&mut self, m: &ReadRefused, tick: u64) {
        let found = self.reading(m.token);
        let found =
            found.filter(|(_, read)| !read.answered && (read.target, read.qpn) == (m.node, m.qpn));
        let Some((place, read)) = found else {
            return self.count(BulkCounter::Stray);
        };
        read.heard = true;
        let status = match m.reason {
            Refusal::Busy => {
                read.busy += 1;
                read.tries = 0;
                read.next_at = tick + u64::from(m.retry.min(RETRY_MOST));
                return;
            }
            Refusal::Access => Outcome::RemoteAccess,
            Refusal::BadQp => Outcome::BadQp,
            Refusal::Length => Outcome::RemoteLength,
        };
        self.end_read(place, status);
    }

    /// The timers of all open windows, once a tick (RW-21).
    pub(super) fn sweep(&mut self, tick: u64) {
        if std::mem::replace(&mut self.swept, tick) == tick {
            return;
        }
        let open: Vec<u16> = self.windows.keys().copied().collect();
        for output in open
            .into_iter()
            .flat_map(|wptr| self.receiver.sweep(wptr, tick as u16))
            .collect::<Vec<_>>()
        {
            match output {
                Output::Send { dst, msg } => self.send(dst, &msg),
                Output::Completion(done) => self.window_ended(done.wptr, Outcome::Unresponsive),
                Output::Write(_) => {}
            }
        }
    }
}

fn refusal(c: &Connect, status: ConnectStatus) -> Message {
    Message::ConnectResp(ConnectResp {
        slot: c.slot,
        xid: c.xid,
        status,
        wptr: 0,
        r#gen: 0,
        w: 0,
        credit: 0,
        retry: 0,
    })
}

//! CONNECT, POLL, ABORT and STATUS.

use super::*;
use crate::rw::{
    MTU_RANGE,
    message::{Abort, ConnectResp, Poll, StatusReport, Unknown},
    packets, transfer_newer,
};

impl Receiver {
    /// CONNECT of which the owner has looked at queue pair, key and bounds (BW-2). A transfer that is known is answered as before,
    /// whatever the verdict.
    pub fn connect_judged(&mut self, c: &Connect, verdict: Verdict, now: Tick) -> ConnectOut {
        let reply = match verdict {
            Verdict::Open => return self.connect(c, now),
            _ if self.knows(c) => return self.connect(c, now),
            Verdict::Refuse(status) => {
                self.stats.refused += 1;
                Some(refusal(c, status, 0))
            }
            Verdict::Silent => None,
        };
        ConnectOut {
            reply,
            aborted: None,
        }
    }

    /// CONNECT (RW-8, RW-9).
    pub fn connect(&mut self, c: &Connect, now: Tick) -> ConnectOut {
        let mut out = ConnectOut {
            reply: None,
            aborted: None,
        };
        let Some(n) = self.packets_if_legal(c) else {
            self.stats.refused += 1;
            out.reply = Some(refusal(c, ConnectStatus::Refused, 0));
            return out;
        };
        if let Some(peer) = self.peer(c.src, c.slot) {
            if (peer.incarnation, peer.xid) == (c.incarnation, c.xid) {
                out.reply = match peer.state {
                    PeerState::Open { wptr } => self.connect_resp(wptr),
                    PeerState::Done(status) => Some(Message::Complete(Complete {
                        slot: c.slot,
                        xid: c.xid,
                        status,
                    })),
                };
                return out;
            }
            if !transfer_newer((c.incarnation, c.xid), (peer.incarnation, peer.xid)) {
                self.stats.count(DropReason::OldConnect);
                return out;
            }
            if let PeerState::Open { wptr } = peer.state {
                out.aborted = self.close(wptr, Status::Aborted, Reason::GaveUp);
            }
        }
        let room = self.peer(c.src, c.slot).is_some() || self.free.is_empty() || self.make_room();
        let free = if room { self.free.pop_front() } else { None };
        let Some(wptr) = free else {
            self.stats.busy += 1;
            out.reply = Some(refusal(c, ConnectStatus::Busy, self.config.busy_hint));
            return out;
        };
        self.finished.remove((c.src, c.slot));
        self.open(wptr, c, n, now);
        out.reply = self.connect_resp(wptr);
        out
    }

    /// N, if the request is within the limits of this receiver.
    fn packets_if_legal(&self, c: &Connect) -> Option<u32> {
        let peer_ok = c.src < self.config.src_limit && u32::from(c.slot) < self.config.slot_limit;
        if !peer_ok || !MTU_RANGE.contains(&c.mtu) {
            return None;
        }
        let n = packets(c.length, c.mtu);
        let end = u128::from(c.addr) + u128::from(c.length);
        (n <= self.config.max_packets && end <= 1 << 64).then_some(n)
    }

    fn open(&mut self, wptr: u16, c: &Connect, n: u32, now: Tick) {
        let mask = self.gen_mask();
        let Some(window) = self.windows.get_mut(usize::from(wptr)) else {
            return;
        };
        window.r#gen = (window.r#gen + 1) & mask;
        window.open = Some(Transfer {
            src: c.src,
            slot: c.slot,
            incarnation: c.incarnation,
            xid: c.xid,
            addr: c.addr,
            rkey: c.rkey,
            length: c.length,
            mtu: c.mtu,
            n,
            wbase: 0,
            wvec: Bitmap::repeat(false, self.config.w as usize),
            w_tail: false,
            highest: 0,
            last_rx: now,
            req_upto: 0,
            mark: 0,
            mark_tick: now,
            range_tick: now,
            acked: 0,
            count: 0,
            issued: 0,
            round: 0,
            gap: false,
        });
        self.peers.insert(
            (c.src, c.slot),
            Peer {
                incarnation: c.incarnation,
                xid: c.xid,
                state: PeerState::Open { wptr },
            },
        );
        self.stats.opened += 1;
    }

    fn connect_resp(&self, wptr: u16) -> Option<Message> {
        let window = self.window(wptr)?;
        let t = window.open.as_ref()?;
        Some(Message::ConnectResp(ConnectResp {
            slot: t.slot,
            xid: t.xid,
            status: ConnectStatus::Ok,
            wptr,
            r#gen: window.r#gen,
            w: self.config.w as u16,
            credit: self.config.credit(t.wbase, t.n),
            retry: 0,
        }))
    }

    /// POLL (RW-7, RW-10): STATUS if the window is the one named, COMPLETE if the transfer has ended, else UNKNOWN.
    pub fn poll(&mut self, p: &Poll) -> Message {
        let named = self.window(p.wptr).is_some_and(|window| {
            (window.r#gen == p.r#gen || self.config.mutations.no_gen)
                && window
                    .open
                    .as_ref()
                    .is_some_and(|t| (t.src, t.slot, t.xid) == (p.src, p.slot, p.xid))
        });
        if named && let Some(status) = self.status(p.wptr, p.seq) {
            return Message::Status(status);
        }
        match self.peer(p.src, p.slot) {
            Some(Peer {
                xid,
                state: PeerState::Done(status),
                ..
            }) if xid == p.xid => Message::Complete(Complete {
                slot: p.slot,
                xid,
                status,
            }),
            _ => Message::Unknown(Unknown {
                slot: p.slot,
                xid: p.xid,
                reason: Reason::NoTransfer,
            }),
        }
    }

    /// ABORT from the sender. The completion record, if it ended a transfer.
    pub fn abort(&mut self, a: &Abort) -> Option<Completion> {
        match self.peer(a.src, a.slot) {
            Some(Peer {
                xid,
                state: PeerState::Open { wptr },
                ..
            }) if xid == a.xid => self.close(wptr, Status::Aborted, a.reason),
            _ => {
                self.stats.count(DropReason::StrayAbort);
                None
            }
        }
    }

    /// STATUS of an open window (RW-11, RW-19); `seq` is the poll's, or 0 for a credit update.
    #[must_use]
    pub fn status(&self, wptr: u16, seq: u16) -> Option<StatusReport> {
        let t = self.transfer(wptr)?;
        Some(StatusReport {
            slot: t.slot,
            xid: t.xid,
            seq,
            wbase: t.wbase,
            w_tail: t.w_tail,
            credit: self.config.credit(t.wbase, t.n),
            bitmap: t.wvec.clone(),
        })
    }
}

fn refusal(c: &Connect, status: ConnectStatus, retry: u16) -> Message {
    Message::ConnectResp(ConnectResp {
        slot: c.slot,
        xid: c.xid,
        status,
        wptr: 0,
        r#gen: 0,
        w: 0,
        credit: 0,
        retry,
    })
}

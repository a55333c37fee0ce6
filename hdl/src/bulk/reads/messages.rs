//! Frames and completions of READs.

use super::BulkReads;
use crate::bulk::layout::{ReadRefusedBody, ReadRequestBody};
use crate::bulk::reading::{Act, Step};
use crate::prelude::*;

impl<const R: usize, const LR: usize, const A: usize, const LQ: usize> BulkReads<R, LR, A, LQ> {
    /// Requests, refusals and completions.
    #[hdl_part]
    pub(super) fn offer(&mut self) {
        // Messages.
        self.request.next = ReadRequestBody {
            version: 0.into(),
            mtu: bit_cast::<8, 4>(self.reading.q.val().mtu),
            node: self.cfg_node.val().get_bits::<16>(0),
            q_key: self.reading.q.val().q_key,
            token: (bit_cast::<64, 16>(self.reading.q.val().incarnation) << 48)
                | (bit_cast::<64, 32>(self.reading.q.val().asked) << 16)
                | bit_cast::<64, LR>(self.at.q.val()),
            length: self.reading.q.val().length,
            rkey: self.reading.q.val().rkey,
            address: self.reading.q.val().there,
            to_address: self.reading.q.val().address,
            to_key: self.reading.q.val().lkey,
            source: self.reading.q.val().qpn,
        };
        self.refusal.next = ReadRefusedBody {
            version: 0.into(),
            reason: bit_cast::<8, 3>(self.say.q.val().reason),
            node: self.cfg_node.val().get_bits::<16>(0),
            retry: self.say.q.val().retry,
            token: self.say.q.val().token,
        };
        self.request_bits.next = self.request.val().to_bits();
        self.refusal_bits.next = self.refusal.val().to_bits();
        self.m.valid.next = self.step.q.val() == Step::Frame;
        self.m.of.next.node = self.reading.q.val().node;
        self.m.of.next.opcode = 8.into();
        self.m.of.next.dest = self.reading.q.val().peer;
        self.m.of.next.psn = 0.into();
        self.m.of.next.head = self.request_bits.val().get_bits::<64>(320);
        self.m.of.next.len = self.request_bytes.val();
        self.swap.s.next = self.request_bits.val().get_bits::<64>(256);
        if self.word.q.val() == 1 {
            self.swap.s.next = self.request_bits.val().get_bits::<64>(192);
        }
        if self.word.q.val() == 2 {
            self.swap.s.next = self.request_bits.val().get_bits::<64>(128);
        }
        if self.word.q.val() == 3 {
            self.swap.s.next = self.request_bits.val().get_bits::<64>(64);
        }
        if self.word.q.val() == 4 {
            self.swap.s.next = self.request_bits.val().get_bits::<64>(0);
        }
        self.m_pl.valid.next = self.step.q.val() == Step::Word;
        self.m_pl.of.next.last = self.word.q.val() == 4;
        if self.act.q.val() == Act::Say {
            self.m.of.next.node = self.say.q.val().node;
            self.m.of.next.opcode = 9.into();
            self.m.of.next.dest = self.say.q.val().qpn;
            self.m.of.next.head = self.refusal_bits.val().get_bits::<64>(64);
            self.m.of.next.len = self.refusal_bytes.val();
            self.swap.s.next = self.refusal_bits.val().get_bits::<64>(0);
            self.m_pl.of.next.last = true;
        }
        self.m_pl.of.next.data = self.swap.m.val();

        // Completions.
        self.m_cpl.valid.next = self.step.q.val() == Step::Offer;
        self.m_cpl.qpn.next = self.reading.q.val().qpn.get_bits::<LQ>(0);
        self.m_cpl.of.next.wr_id = self.reading.q.val().wr_id;
        self.m_cpl.of.next.status = self.status.q.val();
        self.m_cpl.of.next.vf = self.one_sided.val();
        self.m_cpl.of.next.len = 0.into();
        self.m_cpl.of.next.node = self.reading.q.val().node;
        self.m_cpl.of.next.peer = self.reading.q.val().peer;
        self.m_cpl.of.next.win_id = 0.into();
        self.m_cpl.of.next.epoch = 0.into();
        self.m_cpl.of.next.msn = self.reading.q.val().msn;
        self.m_cpl.of.next.q_key = 0.into();
        self.m_cpl.of.next.psn = self.reading.q.val().psn;
        self.m_cpl.of.next.request = self.reading.q.val().request;
        self.m_cpl.of.next.notified = false;
        self.m_cpl.of.next.marked = false;
        self.m_cpl.of.next.arrived = false;
    }
}

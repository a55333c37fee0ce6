//! Between the engines and host memory.

use super::CardCore;
use crate::bus::{
    DmaDoneOut, DmaRequestIn, DmaRequestOut, DmaWord, PayloadIn, PayloadOut, PayloadWord,
    RegistersOut, StreamOut,
};
use crate::prelude::*;

impl<const LQ: usize, const LR: usize, const LF: usize, const CA: usize> CardCore<LQ, LR, LF, CA> {
    /// Requests, words that are read, and writes that are done.
    #[hdl_part]
    pub(super) fn join_host(&mut self) {
        self.completer.completer_id.next = self.completer_id.val();
        self.read.requester_id.next = self.requester_id.val();
        self.read.max_read_request_size.next = self.max_read_request_size.val();
        self.read.bus_master_enable.next = self.bus_master_enable.val();
        self.write.requester_id.next = self.requester_id.val();
        self.write.max_payload_size.next = self.max_payload_size.val();
        self.write.bus_master_enable.next = self.bus_master_enable.val();
        self.write.s_room.next = self.returns.m_room.val();
        self.returns.rst.next = self.rst.val() | self.soft.q.val();
        self.returns.enable.next = self.cfg_write_returns.val();
        self.returns.s_sent.next = self.write.m_sent.val();
        DmaDoneOut::join(&mut self.write.m_done, &mut self.returns.s_done);
        self.returns.s_within.next = self.write.m_within.val();
        self.returns.s_lap.next = self.write.m_tx_wr_req_tlp.seq.val().get_bit(5);
        self.returns.s_seq_valid.next = self.s_axis_wr_req_tx_seq_num_valid.val();
        self.returns.s_seq.next = self.s_axis_wr_req_tx_seq_num.val();
        self.regs.msix_enable.next = self.msix_enable.val();
        self.regs.msix_mask.next = self.msix_mask.val();
        self.regs.bus_master_enable.next = self.bus_master_enable.val();
        self.done.next = self.returns.m_done.ctx.val().into();
        self.words.next = self.read.m_data.of.val().ctx.into();
        self.regs.done_valid.next =
            self.returns.m_done.valid.val() & (self.done.val().client == self.interrupt.val());
        self.regs.done_vector.next = self.returns.m_done.ctx.val().get_bits::<3>(0);
        RegistersOut::join(&mut self.completer.reg, &mut self.regs.reg);
        DmaRequestOut::link(&mut self.m_send_rd, &mut self.send.m_rd);
        DmaRequestIn::link(&mut self.s_send_rd, &mut self.read_mux.a);
        DmaRequestOut::join(&mut self.recv.m_rd, &mut self.read_mux.b);
        DmaRequestOut::join(&mut self.read_mux.m, &mut self.read.s_req);
        self.read_mux.s_data_valid.next = self.read.m_data.valid.val();
        self.read.m_data.ready.next = self.read_mux.s_data_ready.val();
        self.read_mux.s_data_client.next = self.words.val().client;
        self.read_mux.s_data_bulk.next = self.words.val().bulk & self.cfg_bulk.val();
        DmaRequestIn::link(&mut self.s_rd, &mut self.read_mux.d);
        self.m_rd.valid.next = self.read_mux.bk_valid.val();
        self.m_rd.of.next = self.read.m_data.of.val();
        self.send.s_wq.valid.next = self.read_mux.wq_valid.val();
        self.read_mux.wq_ready.next = self.send.s_wq.ready.val();
        self.send.s_wq.of.next = DmaWord {
            data: self.read.m_data.of.val().data,
            last: self.read.m_data.of.val().last,
            error: self.read.m_data.of.val().error,
            ctx: self.read.m_data.of.val().ctx,
        };
        self.m_send_pl.valid.next = self.read_mux.pl_valid.val();
        PayloadOut::join(&mut self.send_queue.m_pl, &mut self.send_merge.a_pl);
        PayloadOut::join(&mut self.send_merge.m_pl, &mut self.tx.s_pl);
        self.read_mux.pl_ready.next = self.m_send_pl.ready.val();
        PayloadIn::link(&mut self.s_send_pl, &mut self.send_queue.s_pl);
        self.m_send_pl.of.next = PayloadWord {
            data: self.read.m_data.of.val().data,
            bytes: self.read.m_data.of.val().bytes,
            last: self.read.m_data.of.val().last,
            error: self.read.m_data.of.val().error,
        };
        self.recv.s_rr.valid.next = self.read_mux.rr_valid.val();
        self.read_mux.rr_ready.next = self.recv.s_rr.ready.val();
        self.recv.s_rr.of.next = DmaWord {
            data: self.read.m_data.of.val().data,
            last: self.read.m_data.of.val().last,
            error: self.read.m_data.of.val().error,
            ctx: self.read.m_data.of.val().ctx,
        };
        DmaRequestOut::join(&mut self.recv.m_wr, &mut self.write_mux.s_req[0]);
        StreamOut::<64>::join(&mut self.recv.m_wd, &mut self.write_mux.s_data[0]);
        DmaRequestOut::join(&mut self.cq.m_wr, &mut self.write_mux.s_req[1]);
        StreamOut::<64>::join(&mut self.cq.m_wd, &mut self.write_mux.s_data[1]);
        DmaRequestOut::join(&mut self.regs.m_wr, &mut self.write_mux.s_req[2]);
        StreamOut::<64>::join(&mut self.regs.m_wd, &mut self.write_mux.s_data[2]);
        DmaRequestOut::join(&mut self.write_mux.m_req, &mut self.write.s_req);
        StreamOut::<64>::join(&mut self.write_mux.m_data, &mut self.write.s_data);
    }
}

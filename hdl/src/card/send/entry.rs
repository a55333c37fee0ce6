//! Work requests as they come from host memory.
//!
//! Its parts: `words` (stages 1 to 4), `checks` (5 and 6); the rest is the outcome (7).

mod checks;
mod words;

use crate::blocks::{RamReg, RamRegForward};
use crate::bus::{QueuePairOut, RamReadOut};
use crate::prelude::*;
use crate::record::{ContextKeys, ContextShape, WorkEntry};
use tributary_protocol::card::descriptor::{
    HEAD_MAX, OPCODE_ATOMIC, OPCODE_BULK_READ, OPCODE_BULK_WRITE, OPCODE_READ, OPCODE_SEND,
    OPCODE_WRITE, flags,
};
use tributary_protocol::xud::Outcome;
use tributary_protocol::xud::onesided::OPERANDS_LEN;
use tributary_protocol::xud::wire::ONE_SIDED_FRAME;

hdl_record! {
    /// A word that was read.
    struct FetchedWord {
        /// The word.
        data: Bits<64>,
        /// The read failed.
        error: Bit,
    }
}

hdl_record! {
    /// What is kept of a queue pair that sends.
    struct SendContext {
        /// Timeout exponent.
        timeout: Bits<5>,
        /// Protection domain.
        pd: Bits<16>,
        /// What is fetched is dropped: its state is Error, or its ring cannot be read.
        gone: Bit,
        /// It is in a reduction group.
        member: Bit,
    }
}

hdl_module! {
    /// Takes the words of work requests, keeps up to 16 work requests of eight words each in
    /// block RAM, and checks the oldest one: 13 clocks each. The work request that s_* names is
    /// the oldest one fetched.
    /// One word a clock goes to the fields, past the RAM if none waits there; after word 3 the
    /// region is looked up, and its answer, 6 clocks later, is the last thing needed. Latency: 4
    /// clocks from the last word at s_wq_* to m_valid, 7 if the words waited.
    /// Stages: 1 word registered, 2 to 3 read from the RAM, 4 in its field, 5 to 6 compared, 7
    /// outcome. A work request that could not be read ends its queue pair: what comes of it later
    /// is dropped, as is what comes in the state Error.
    /// With cfg_bulk a work request with a fence comes back to be fetched again while one before it has not ended.
    /// With cfg_bulk a work request of a bulk transfer goes to m_bulk, which checks it, and needs no place in flight. If
    /// that has no room it comes back to be fetched again, so that nobody waits for it; and so does what its queue pair has
    /// fetched since, of which nothing is told: it is dropped here, until the one that came back is here again.
    /// With cfg_reduce a work request of a queue pair in a reduction group goes to m_reduce, and needs no place in flight; it
    /// waits here for room, which a frame on the line makes. Whoever takes it has seen its words at m_word.
    /// While a work request waits for m_ready its fields stay, but m_timeout and m_q_key are those of its queue pair at
    /// each moment; if that goes to Error, m_valid falls and the work request is dropped.
    #[module("card_send_entry_q{}", 1usize << LQ)]
    pub struct CardSendEntry<const LQ: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: drops all work requests.
        pub rst: Signal<In, Bit>,
        /// A word; always taken: no more than 16 work requests are fetched.
        pub s_wq_valid: Signal<In, Bit>,
        /// The word.
        pub s_wq_data: Signal<In, Bits<64>>,
        /// With the last word: the read failed.
        pub s_wq_error: Signal<In, Bit>,
        /// Largest payload of a packet, bytes.
        pub cfg_mtu: Signal<In, Bits<13>>,
        /// Queue pair of a word of a context.
        pub cfg_qpn: Signal<In, Bits<LQ>>,
        /// The word.
        pub cfg_data: Signal<In, Bits<64>>,
        /// It is word 0.
        pub word_0: Signal<In, Bit>,
        /// It is word 1.
        pub word_1: Signal<In, Bit>,
        /// Queue pair of the oldest work request.
        pub s_qpn: Signal<In, Bits<LQ>>,
        /// It leaves.
        pub s_done: Signal<Out, Bit>,
        /// Its region is looked up: m_len bytes at m_address.
        pub m_look_valid: Signal<Out, Bit>,
        /// Key of the region.
        pub m_look_key: Signal<Out, Bits<32>>,
        /// Protection domain of the queue pair.
        pub m_look_pd: Signal<Out, Bits<16>>,
        /// What is answered goes there.
        pub m_look_write: Signal<Out, Bit>,
        /// The answer.
        pub look_valid: Signal<In, Bit>,
        /// The access is allowed.
        pub look_ok: Signal<In, Bit>,
        /// The ring of a queue pair cannot be read.
        pub m_fatal: QueuePairOut<LQ>,
        /// The work request is dropped: its slot and place are given back.
        pub m_drop: Signal<Out, Bit>,
        /// That can be done in this clock.
        pub drop_ready: Signal<In, Bit>,
        /// Bulk transfers are known; constant.
        pub cfg_bulk: Signal<In, Bit>,
        /// The start of a queue pair: word 6 of its context.
        pub word_6: Signal<In, Bit>,
        /// The oldest work request is the one that came back.
        pub s_fresh: Signal<In, Bit>,
        /// How many its queue pair ever fetched before it, modulo 2^16.
        pub s_number: Signal<In, Bits<16>>,
        /// Ended work requests of its queue pair, modulo 2^16.
        pub ended: RamReadOut<16, LQ>,
        /// The work request comes back: it is dropped, and to be fetched again.
        pub m_back_valid: Signal<Out, Bit>,
        /// Taken.
        pub m_back_ready: Signal<In, Bit>,
        /// It waits for those before it, and not for room.
        pub m_back_fenced: Signal<Out, Bit>,
        /// A work request of a bulk transfer leaves: pulse; its place is given back.
        pub m_bulk: Signal<Out, Bit>,
        /// There is room for one.
        pub bulk_room: Signal<In, Bit>,
        /// Queue pairs may be in reduction groups; constant.
        pub cfg_reduce: Signal<In, Bit>,
        /// A word of a work request goes to its field.
        pub m_lands: Signal<Out, Bit>,
        /// It is the first.
        pub m_first: Signal<Out, Bit>,
        /// The word.
        pub m_word: Signal<Out, Bits<64>>,
        /// A work request of a queue pair in a reduction group leaves, whatever it says: pulse; its place is given back.
        pub m_reduce: Signal<Out, Bit>,
        /// There is room for one.
        pub reduce_room: Signal<In, Bit>,
        /// Opcode, flags, and bytes of the head.
        pub m_shape: Signal<Out, Bits<24>>,
        /// All bits of the length.
        pub m_length: Signal<Out, Bits<32>>,
        /// All bits of the destination's queue pair.
        pub m_far_peer: Signal<Out, Bits<32>>,
        /// Protection domain of the queue pair.
        pub m_pd: Signal<Out, Bits<16>>,
        /// The work request is checked.
        pub m_valid: Signal<Out, Bit>,
        /// Taken.
        pub m_ready: Signal<In, Bit>,
        /// It could not be read.
        pub m_blank: Signal<Out, Bit>,
        /// 0: send it. Otherwise how it ends.
        pub m_outcome: Signal<Out, Bits<8>>,
        /// Timeout exponent of the queue pair.
        pub m_timeout: Signal<Out, Bits<5>>,
        /// Q_Key of the queue pair.
        pub m_q_key: Signal<Out, Bits<32>>,
        /// The user's name for it.
        pub m_wr_id: Signal<Out, Bits<64>>,
        /// First byte of the payload behind the head.
        pub m_address: Signal<Out, Bits<64>>,
        /// Bytes there, 12:0.
        pub m_len: Signal<Out, Bits<13>>,
        /// 1: those of a READ, to be written. 2: those of an ATOMIC, to be sent, then written. Else 0.
        pub m_kind: Signal<Out, Bits<2>>,
        /// Node of the destination.
        pub m_node: Signal<Out, Bits<20>>,
        /// Queue pair of the destination.
        pub m_peer: Signal<Out, Bits<24>>,
        /// Version and flags.
        pub m_vf: Signal<Out, Bits<8>>,
        /// Window.
        pub m_win_id: Signal<Out, Bits<16>>,
        /// Epoch.
        pub m_epoch: Signal<Out, Bits<16>>,
        /// Number in the window.
        pub m_msn: Signal<Out, Bits<32>>,
        /// Bytes in front.
        pub m_head: Signal<Out, Bits<128>>,
        /// How many.
        pub m_head_len: Signal<Out, Bits<5>>,

        words: RamReg<{ FetchedWord::BITS }, 7>,
        stores: Signal<Local, FetchedWord>,
        stored: Signal<Local, FetchedWord>,
        contexts: RamRegForward<{ SendContext::BITS }, LQ>,
        context: Signal<Local, SendContext>,
        context_in: Signal<Local, SendContext>,
        context_shape: Signal<Local, ContextShape>,
        context_keys: Signal<Local, ContextKeys>,
        q_keys: RamReg<32, LQ>,
        /// What the queue pair has fetched is dropped until the work request that came back is here.
        skips: RamRegForward<1, LQ>,
        #[reset] skip: DFF<Bit>,
        skip_qpn: DFF<Bits<LQ>>,
        skip_to: DFF<Bit>,
        /// Words ever come, ever read.
        #[reset] tail: DFF<Bits<8>>,
        #[reset] head: DFF<Bits<8>>,
        /// A word that comes, and whether the read failed.
        #[reset] in_valid: DFF<Bit>,
        in_data: DFF<Bits<64>>,
        in_error: DFF<Bit>,
        /// Words of the oldest work request are to be read.
        open: DFF<Bit>,
        empty: Signal<Local, Bit>,
        /// A word waits; it is the only one; one leaves.
        #[reset] some: DFF<Bit>,
        single: Signal<Local, Bit>,
        pop: Signal<Local, Bit>,
        fetch: Signal<Local, Bit>,
        /// The word that comes is the next one.
        direct: Signal<Local, Bit>,
        /// Stages 2 and 3: a word.
        #[reset] valid_1: DFF<Bit>,
        #[reset] valid_2: DFF<Bit>,
        word: Signal<Local, Bits<64>>,
        /// What the word says, if it is of that field.
        entry: Signal<Local, WorkEntry>,
        /// The word goes to its field.
        lands: Signal<Local, Bit>,
        /// Field of the next word, a bit each; none while all are there. Until its word lands a field takes any that is at hand.
        field: DFF<Bits<8>>,
        unread: Signal<Local, Bit>,
        /// Stage 4: the fields.
        opcode: DFF<Bits<8>>,
        head_len: DFF<Bits<8>>,
        flags: DFF<Bits<8>>,
        length: DFF<Bits<32>>,
        /// The length has more bits than that of a packet.
        long: DFF<Bit>,
        wr_id: DFF<Bits<64>>,
        address: DFF<Bits<64>>,
        key: DFF<Bits<32>>,
        vf: DFF<Bits<8>>,
        node: DFF<Bits<20>>,
        peer: DFF<Bits<32>>,
        /// The number of the queue pair has more bits.
        far: DFF<Bit>,
        msn: DFF<Bits<32>>,
        win_id: DFF<Bits<16>>,
        epoch: DFF<Bits<16>>,
        head_0: DFF<Bits<64>>,
        head_1: DFF<Bits<64>>,
        failed: DFF<Bit>,
        /// The region is looked up; all fields are there; the answer was there.
        #[reset] look: DFF<Bit>,
        #[reset] full: DFF<Bit>,
        #[reset] looked: DFF<Bit>,
        allowed: DFF<Bit>,
        /// Stages 5 and 6: bytes; too many; version and flags, or opcode, without a meaning; outcome so far.
        in_front: Signal<Local, Bits<8>>,
        bytes: DFF<Bits<14>>,
        too_long: DFF<Bit>,
        bad_flags: DFF<Bit>,
        bad_opcode: DFF<Bit>,
        /// The work request is a READ, an ATOMIC; of neither by its length.
        reads: DFF<Bit>,
        atomic: DFF<Bit>,
        no_such_length: DFF<Bit>,
        code: DFF<Bits<8>>,
        /// It is one of a bulk transfer.
        bulk: DFF<Bit>,
        ready: Signal<Local, Bit>,
        allowed_now: Signal<Local, Bit>,
        /// What the queue pair fetched is dropped; settled long before it counts.
        gone: DFF<Bit>,
        /// It is dropped, since one before it comes back; settled as early.
        stale: DFF<Bit>,
        alive: Signal<Local, Bit>,
        pass: Signal<Local, Bit>,
        pass_bulk: Signal<Local, Bit>,
        pass_reduce: Signal<Local, Bit>,
        /// Its queue pair is in a reduction group; settled as early.
        member: DFF<Bit>,
        /// One before it has not ended; it waits for that; both settled as early, and only to go low then.
        before: DFF<Bit>,
        fenced: DFF<Bit>,
        /// It comes back; for its fence.
        #[reset] back: DFF<Bit>,
        back_fenced: DFF<Bit>,
        later: Signal<Local, Bit>,
        backs: Signal<Local, Bit>,
        done: Signal<Local, Bit>,
        /// The queue pair ends: pulse; its context is to be marked, with what it holds.
        #[reset] fatal: DFF<Bit>,
        #[reset] mark: DFF<Bit>,
        mark_qpn: DFF<Bits<LQ>>,
        mark_rest: DFF<SendContext>,
        /// Longest head.
        head_max: Param<HEAD_MAX, 8>,
        /// Opcodes.
        send: Param<{ OPCODE_SEND as usize }, 8>,
        write: Param<{ OPCODE_WRITE as usize }, 8>,
        read: Param<{ OPCODE_READ as usize }, 8>,
        change: Param<{ OPCODE_ATOMIC as usize }, 8>,
        bulk_write: Param<{ OPCODE_BULK_WRITE as usize }, 8>,
        bulk_read: Param<{ OPCODE_BULK_READ as usize }, 8>,
        /// Flag of a fence.
        fence: Param<{ flags::FENCE.mask() as usize }, 8>,
        /// Version and flags of a one-sided frame.
        one_sided: Param<{ ONE_SIDED_FRAME as usize }, 8>,
        /// Bytes of an atomic's operands.
        operands: Param<OPERANDS_LEN, 13>,
        /// How work requests end.
        length_code: Param<{ Outcome::LocalLength as usize }, 8>,
        address_code: Param<{ Outcome::LocalAddress as usize }, 8>,
        opcode_code: Param<{ Outcome::LocalOpcode as usize }, 8>,
        protection_code: Param<{ Outcome::LocalProtection as usize }, 8>,
        queue_code: Param<{ Outcome::LocalQueue as usize }, 8>,
    }
}

impl<const LQ: usize> Logic for CardSendEntry<LQ> {
    #[hdl_gen]
    fn update(&mut self) {
        self.take_words();
        self.fill_fields();
        // Contexts of the queue pair.
        self.context_shape.next = self.cfg_data.val().into();
        self.context_keys.next = self.cfg_data.val().into();
        self.contexts.rd.addr.next = self.s_qpn.val();
        self.contexts.wr.en.next = self.word_0.val() | self.mark.q.val();
        self.contexts.wr.addr.next = self.mark_qpn.q.val();
        self.context_in.next = SendContext {
            gone: true,
            ..self.mark_rest.q.val()
        };
        self.mark.d.next = self.mark.q.val() & self.word_0.val();
        if self.word_0.val() {
            self.contexts.wr.addr.next = self.cfg_qpn.val();
            self.context_in.next = SendContext {
                timeout: self.context_shape.val().timeout,
                pd: self.context_shape.val().pd,
                gone: self.context_shape.val().state.get_bit(2),
                member: self.context_shape.val().member,
            };
        }
        self.contexts.wr.data.next = self.context_in.val().to_bits();
        self.context.next = self.contexts.rd.data.val().into();
        self.q_keys.rd.addr.next = self.s_qpn.val();
        self.q_keys.wr.en.next = self.word_1.val();
        self.q_keys.wr.addr.next = self.cfg_qpn.val();
        self.q_keys.wr.data.next = self.context_keys.val().q_key;

        self.check();
        // The answer of the regions, and where the work request goes.
        self.ready.next = self.full.q.val() & (self.looked.q.val() | self.look_valid.val());
        self.allowed_now.next = self.allowed.q.val();
        if self.look_valid.val() {
            self.looked.d.next = true;
            self.allowed.d.next = self.look_ok.val();
            self.allowed_now.next = self.look_ok.val();
        }
        self.gone.d.next = self.context.val().gone;
        self.skips.rd.addr.next = self.s_qpn.val();
        self.stale.d.next =
            self.skips.rd.data.val().any() & self.cfg_bulk.val() & !self.s_fresh.val();
        self.ended.addr.next = self.s_qpn.val();
        self.before.d.next = self.ended.data.val() != self.s_number.val();
        self.member.d.next = self.context.val().member & self.cfg_reduce.val();
        self.fenced.d.next = self.before.q.val()
            & self.cfg_bulk.val()
            & !self.member.q.val()
            & (self.flags.q.val() & self.fence.val()).any();
        self.alive.next = self.ready.val() & !self.gone.q.val() & !self.stale.q.val();
        // Whoever has decided to come back does.
        self.later.next = self.fenced.q.val() | self.back.q.val();
        self.m_valid.next = self.alive.val()
            & (self.failed.q.val()
                | (!self.bulk.q.val() & !self.member.q.val() & !self.later.val()));
        self.pass.next = self.m_valid.val() & self.m_ready.val();
        self.pass_bulk.next = self.alive.val()
            & self.bulk.q.val()
            & !self.failed.q.val()
            & !self.later.val()
            & self.bulk_room.val()
            & self.drop_ready.val();
        self.pass_reduce.next = self.alive.val()
            & self.member.q.val()
            & !self.failed.q.val()
            & self.reduce_room.val()
            & self.drop_ready.val();
        if self.alive.val()
            & !self.failed.q.val()
            & !self.back.q.val()
            & (self.fenced.q.val() | (self.bulk.q.val() & !self.bulk_room.val()))
        {
            self.back.d.next = true;
            self.back_fenced.d.next = self.fenced.q.val();
        }
        self.backs.next = self.back.q.val() & self.m_back_ready.val();
        if self.backs.val() {
            self.back.d.next = false;
        }
        self.m_back_valid.next = self.back.q.val();
        self.m_back_fenced.next = self.back_fenced.q.val();
        self.m_bulk.next = self.pass_bulk.val();
        self.m_reduce.next = self.pass_reduce.val();
        self.m_lands.next = self.lands.val();
        self.m_first.next = self.field.q.val().get_bit(0);
        self.m_word.next = self.word.val();
        self.m_drop.next = self.backs.val()
            | (self.ready.val()
                & (self.gone.q.val() | self.stale.q.val())
                & !self.back.q.val()
                & self.drop_ready.val());
        self.done.next =
            self.pass.val() | self.pass_bulk.val() | self.pass_reduce.val() | self.m_drop.val();
        // The one that came back is here: what follows it counts.
        self.skip.d.next = self.skip.q.val() & self.word_6.val();
        if self.backs.val() | self.pass.val() | self.pass_bulk.val() | self.pass_reduce.val() {
            self.skip.d.next = true;
            self.skip_qpn.d.next = self.s_qpn.val();
            self.skip_to.d.next = self.backs.val();
        }
        self.skips.wr.en.next = self.skip.q.val() | self.word_6.val();
        self.skips.wr.addr.next = self.skip_qpn.q.val();
        self.skips.wr.data.next = bit_cast::<1, 1>(self.skip_to.q.val().into());
        if self.word_6.val() {
            self.skips.wr.addr.next = self.cfg_qpn.val();
            self.skips.wr.data.next = 0.into();
        }
        self.s_done.next = self.done.val();
        if self.done.val() {
            self.open.d.next = true;
            self.field.d.next = 1.into();
            self.full.d.next = false;
            self.looked.d.next = false;
        }
        self.m_blank.next = self.failed.q.val();
        self.m_outcome.next = self.code.q.val();
        if !self.code.q.val().any() & !self.allowed_now.val() {
            self.m_outcome.next = self.protection_code.val();
        }
        if self.failed.q.val() {
            self.m_outcome.next = self.queue_code.val();
        }
        self.fatal.d.next = self.pass.val() & self.failed.q.val();
        if self.pass.val() {
            self.mark_qpn.d.next = self.s_qpn.val();
            self.mark_rest.d.next = self.context.val();
        }
        if self.pass.val() & self.failed.q.val() {
            self.mark.d.next = true;
        }

        self.m_fatal.valid.next = self.fatal.q.val();
        self.m_fatal.qpn.next = self.mark_qpn.q.val();
        self.m_look_valid.next = self.look.q.val();
        self.m_look_key.next = self.key.q.val();
        self.m_look_pd.next = self.context.val().pd;
        self.m_look_write.next = self.reads.q.val() | self.atomic.q.val();
        self.m_kind.next = bit_cast::<2, 1>(self.reads.q.val().into())
            | (bit_cast::<2, 1>(self.atomic.q.val().into()) << 1);
        self.m_timeout.next = self.context.val().timeout;
        self.m_q_key.next = self.q_keys.rd.data.val();
        self.m_wr_id.next = self.wr_id.q.val();
        self.m_address.next = self.address.q.val();
        self.m_len.next = self.length.q.val().get_bits::<13>(0);
        self.m_length.next = self.length.q.val();
        self.m_shape.next = bit_cast::<24, 8>(self.opcode.q.val())
            | (bit_cast::<24, 8>(self.flags.q.val()) << 8)
            | (bit_cast::<24, 8>(self.head_len.q.val()) << 16);
        self.m_pd.next = self.context.val().pd;
        self.m_far_peer.next = self.peer.q.val();
        self.m_node.next = self.node.q.val();
        self.m_peer.next = self.peer.q.val().get_bits::<24>(0);
        self.m_vf.next = self.vf.q.val();
        self.m_win_id.next = self.win_id.q.val();
        self.m_epoch.next = self.epoch.q.val();
        self.m_msn.next = self.msn.q.val();
        self.m_head.next = bit_cast::<128, 64>(self.head_0.q.val())
            | (bit_cast::<128, 64>(self.head_1.q.val()) << 64);
        // More than 5 bits are refused, and not sent.
        self.m_head_len.next = self.head_len.q.val().get_bits::<5>(0);
        if self.rst.val() {
            self.open.d.next = true;
            self.field.d.next = 1.into();
        }
    }
}

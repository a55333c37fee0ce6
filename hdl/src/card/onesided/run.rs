//! One-sided operations, step by step.
//!
//! Its parts, in the order of a frame: `frame` (Take to Branch), `answer` (Fit, Looked), `memory` (Reading to Carry), `outputs`.

mod answer;
mod frame;
mod memory;
mod outputs;

use crate::bus::{FramesIn, LookupRightsOut, StreamOut, VerdictIn};
use crate::prelude::*;
use crate::switch::ByteSwap;
use tributary_protocol::card::command::{
    REGION_LOCAL_WRITE, REGION_REMOTE_ATOMIC, REGION_REMOTE_READ, REGION_REMOTE_WRITE,
};
use tributary_protocol::registers::Field;
use tributary_protocol::xud::onesided::{ANSWER, ATOMIC_LEN, HEADER_LEN, Operation};
use tributary_protocol::xud::{Nak, Outcome, Reply};

/// A right as card_regions takes it.
const fn right(field: Field) -> usize {
    1 << (field.lsb - REGION_LOCAL_WRITE.lsb)
}

/// What happens to a frame: its bit of ev.
enum Event {
    /// Dropped for want of an acknowledgement.
    Overload,
    /// Bits 1 to 5: what the verdict says first. Then a copy of what was done.
    Duplicate = 6,
    /// Forbidden by the region.
    Refused = 8,
    /// Host memory failed.
    Failed,
    /// Done.
    Done,
    /// An answer that may not be written.
    LocalError,
}

const fn event(event: Event) -> usize {
    1 << event as usize
}

/// What is being done of the frame.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum RunState {
    Idle,
    Take,
    First,
    Second,
    Check,
    Branch,
    Claim,
    Claimed,
    Fit,
    Look,
    Looked,
    Operand,
    Compare,
    Read,
    Reading,
    Sum,
    Carry,
    Write,
    Words,
    Word,
    Landed,
    Advance,
    Drain,
    Reply,
    Answer,
    Bytes,
    End,
}

hdl_module! {
    /// Takes one frame after the other and does what it asks, or what its answer brings (XUD-13);
    /// everything that can refuse it comes before the first read or write.
    /// Steps of a request: Take, First and Second (header), Check (8 clocks; tables and verdict
    /// settle, anew if a context is written), Branch, Look and Looked (region), then of a WRITE
    /// Write, Words, Landed; of a READ Read, Reading; of an atomic Operand, Compare, Read, Reading,
    /// Sum, Carry, Write, Word, Landed; then Advance (the window), Drain (what is left of the
    /// payload), Reply and perhaps Answer, Bytes. A refusal goes to Drain.
    /// Steps of an answer: ... Branch, Claim, Claimed (the request cannot time out any more), Fit,
    /// Look, Looked, Write, Words or Word, Landed, Drain, Reply, End.
    /// Latency: some 40 clocks, one for each word of a WRITE, and the time of the DMA engines.
    /// While an output is not taken its step stands still, and what it offers with it. Meanwhile done and sent are
    /// noted, words that were read are kept, and contexts may be written: only Check begins anew then.
    #[module("card_onesided_run")]
    pub struct CardOneSidedRun {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: forgets the frame.
        pub rst: Signal<In, Bit>,
        /// A frame is there and may begin.
        pub go: Signal<In, Bit>,
        /// It is taken; pulse.
        pub take: Signal<Out, Bit>,
        /// It has a header: its payload follows.
        pub some: Signal<In, Bit>,
        /// Nothing is under way.
        pub idle: Signal<Out, Bit>,
        /// Payload that belongs to this block.
        pub pl: FramesIn<64>,
        /// Bytes of payload.
        pub len: Signal<In, Bits<13>>,
        /// A context is written.
        pub restart: Signal<In, Bit>,
        /// Operation of the frame.
        pub operation: Signal<Out, Bits<8>>,
        /// Bytes to read.
        pub to_read: Signal<Out, Bits<24>>,
        /// Lowest bits of the address.
        pub address: Signal<Out, Bits<3>>,
        /// Of card_onesided_check.
        pub answer: Signal<In, Bit>,
        /// WRITE.
        pub write: Signal<In, Bit>,
        /// READ.
        pub read: Signal<In, Bit>,
        /// Atomic.
        pub atomic: Signal<In, Bit>,
        /// It is not done.
        pub verdict: Signal<In, Bits<7>>,
        /// What its acknowledgement says; 0: there is none.
        pub syndrome: Signal<In, Bits<8>>,
        /// It is the last one again.
        pub again: Signal<In, Bit>,
        /// Protection domain of the queue pair.
        pub pd: Signal<In, Bits<16>>,
        /// What the window's last atomic found.
        pub replay: Signal<In, Bits<64>>,
        /// Buffer of the request in flight: 1 of a READ, 2 of an ATOMIC.
        pub kind: Signal<In, Bits<2>>,
        /// First byte.
        pub local_addr: Signal<In, Bits<64>>,
        /// Key of its region.
        pub local_key: Signal<In, Bits<32>>,
        /// Bytes.
        pub local_len: Signal<In, Bits<13>>,
        /// Lookups of regions.
        pub m_look: LookupRightsOut,
        /// Their answers.
        pub look: VerdictIn,
        /// Read m_look_len bytes at m_look_addr.
        pub m_rd_valid: Signal<Out, Bit>,
        /// Taken.
        pub m_rd_ready: Signal<In, Bit>,
        /// A word of it comes.
        pub rd_valid: Signal<In, Bit>,
        /// The word.
        pub rd_data: Signal<In, Bits<64>>,
        /// The last.
        pub rd_last: Signal<In, Bit>,
        /// With the last: the read failed.
        pub rd_error: Signal<In, Bit>,
        /// The words are kept for an answer.
        pub keep: Signal<Out, Bit>,
        /// They are not wanted.
        pub forget: Signal<Out, Bit>,
        /// Write m_look_len bytes at m_look_addr.
        pub m_wr_valid: Signal<Out, Bit>,
        /// Taken.
        pub m_wr_ready: Signal<In, Bit>,
        /// Words to write to host memory.
        pub m_wd: StreamOut<64>,
        /// A write was handed to the host interface; pulse.
        pub done: Signal<In, Bit>,
        /// The window goes on; pulse.
        pub advance: Signal<Out, Bit>,
        /// What the atomic found.
        pub old: Signal<Out, Bits<64>>,
        /// An acknowledgement has room.
        pub ak_ready: Signal<In, Bit>,
        /// An acknowledgement; pulse.
        pub m_ak_valid: Signal<Out, Bit>,
        /// What it says.
        pub m_ak_syndrome: Signal<Out, Bits<8>>,
        /// An answer.
        pub m_sd_valid: Signal<Out, Bit>,
        /// Taken.
        pub m_sd_ready: Signal<In, Bit>,
        /// Bytes behind its header.
        pub m_sd_len: Signal<Out, Bits<13>>,
        /// The last word of them was taken.
        pub sent: Signal<In, Bit>,
        /// The request of an answer is claimed.
        pub m_claim_valid: Signal<Out, Bit>,
        /// Taken.
        pub m_claim_ready: Signal<In, Bit>,
        /// It ends.
        pub m_claim_end: Signal<Out, Bit>,
        /// So.
        pub m_claim_outcome: Signal<Out, Bits<8>>,
        /// A claim is decided; pulse.
        pub claim_done: Signal<In, Bit>,
        /// It found its request.
        pub claim_ok: Signal<In, Bit>,
        /// Pulses: dropped for want of an acknowledgement 0, queue pair 1, Q_Key 2, length 3, operation 4, epoch 5,
        /// duplicate 6, ahead 7, region 8, read failed 9, done 10, answer refused by the region here 11.
        pub ev: Signal<Out, Bits<12>>,

        state: DFF<RunState>,
        count: DFF<Bits<3>>,
        /// Words of the payload are left.
        #[reset] rest: DFF<Bit>,
        /// Header, its words with the first byte on top.
        word_0: DFF<Bits<64>>,
        word_1: DFF<Bits<64>>,
        first: ByteSwap,
        second: ByteSwap,
        /// The access.
        addr: DFF<Bits<64>>,
        key: DFF<Bits<32>>,
        domain: DFF<Bits<16>>,
        bytes: DFF<Bits<13>>,
        need: DFF<Bits<4>>,
        /// The window stays as it is; one word is written.
        stays: DFF<Bit>,
        single: DFF<Bit>,
        landed: DFF<Bit>,
        /// Of an atomic: what is added or put, what must be there, what was there, what is written.
        operand: DFF<Bits<64>>,
        compare: DFF<Bits<64>>,
        found: DFF<Bits<64>>,
        value: DFF<Bits<64>>,
        low: DFF<Bits<33>>,
        same_low: DFF<Bit>,
        same_high: DFF<Bit>,
        swaps: Signal<Local, Bit>,
        /// At the end: 0 nothing, 1 an acknowledgement, 2 an answer, 3 the request ends.
        reply: DFF<Bits<2>>,
        says: DFF<Bits<8>>,
        outcome: DFF<Bits<8>>,
        #[reset] happened: DFF<Bits<12>>,
        /// What is offered or said to others, one clock after the step begins.
        looks: DFF<Bit>,
        #[reset] reads: DFF<Bit>,
        #[reset] writes: DFF<Bit>,
        #[reset] claims: DFF<Bit>,
        ends: DFF<Bit>,
        #[reset] acks: DFF<Bit>,
        #[reset] answers: DFF<Bit>,
        forgets: DFF<Bit>,
        /// What was offered was taken in the clock before.
        #[reset] took: DFF<Bit>,
        /// All bytes of the answer have left.
        said: DFF<Bit>,
        /// The state is Words, or Word: for m_wd_valid, as the states themselves have much to drive.
        #[reset] passes: DFF<Bit>,
        #[reset] puts: DFF<Bit>,
        /// There is a verdict.
        faulty: DFF<Bit>,
        /// The answer may be written: a word, or all bytes asked for.
        fits_word: DFF<Bit>,
        fits_read: DFF<Bit>,
        /// Bytes of the header.
        header: Param<HEADER_LEN, 13>,
        /// Bytes that an atomic changes.
        atomic_len: Param<ATOMIC_LEN, 13>,
        /// Operations, of a request and of an answer.
        op_swap: Param<{ Operation::CompareSwap as usize }, 8>,
        re_read: Param<{ (ANSWER | Operation::Read as u8) as usize }, 8>,
        /// Rights that an access needs.
        local_write: Param<{ right(REGION_LOCAL_WRITE) }, 4>,
        remote_write: Param<{ right(REGION_REMOTE_WRITE) }, 4>,
        remote_read: Param<{ right(REGION_REMOTE_READ) }, 4>,
        remote_atomic: Param<{ right(REGION_REMOTE_ATOMIC) }, 4>,
        /// What acknowledgements say.
        ok_code: Param<{ Reply::Ok.syndrome() as usize }, 8>,
        access_code: Param<{ Reply::Nak(Nak::Access).syndrome() as usize }, 8>,
        operation_code: Param<{ Reply::Nak(Nak::Operation).syndrome() as usize }, 8>,
        /// How requests end.
        remote_length: Param<{ Outcome::RemoteLength as usize }, 8>,
        remote_opcode: Param<{ Outcome::RemoteOpcode as usize }, 8>,
        protection: Param<{ Outcome::LocalProtection as usize }, 8>,
        /// What happened.
        is_overload: Param<{ event(Event::Overload) }, 12>,
        is_duplicate: Param<{ event(Event::Duplicate) }, 12>,
        is_refused: Param<{ event(Event::Refused) }, 12>,
        is_failed: Param<{ event(Event::Failed) }, 12>,
        is_done: Param<{ event(Event::Done) }, 12>,
        is_local_error: Param<{ event(Event::LocalError) }, 12>,
    }
}

impl Logic for CardOneSidedRun {
    #[hdl_gen]
    fn update(&mut self) {
        self.first.s.next = self.word_0.q.val();
        self.second.s.next = self.word_1.q.val();
        self.operation.next = self.second.m.val().get_bits::<8>(24);
        self.to_read.next = self.second.m.val().get_bits::<24>(0);
        self.address.next = self.first.m.val().get_bits::<3>(0);
        self.swaps.next = self.operation.val() == self.op_swap.val();
        self.faulty.d.next = self.verdict.val().any();
        self.happened.d.next = 0.into();
        self.take.next = false;
        self.pl.ready.next = false;
        self.keep.next = false;
        self.forget.next = self.forgets.q.val();
        self.took.d.next = (self.claims.q.val() & self.m_claim_ready.val())
            | (self.reads.q.val() & self.m_rd_ready.val())
            | (self.writes.q.val() & self.m_wr_ready.val())
            | (self.answers.q.val() & self.m_sd_ready.val());
        if self.sent.val() {
            self.said.d.next = true;
        }
        self.looks.d.next = self.state.q.val() == RunState::Look;
        self.reads.d.next = false;
        self.writes.d.next = false;
        self.claims.d.next = false;
        self.ends.d.next = false;
        self.acks.d.next = (self.state.q.val() == RunState::Reply) & (self.reply.q.val() == 1);
        self.answers.d.next = false;
        self.forgets.d.next = false;
        self.m_wd.valid.next = self.puts.q.val() | (self.passes.q.val() & self.pl.valid.val());
        self.m_wd.data.next = self.value.q.val();
        if self.done.val() {
            self.landed.d.next = true;
        }
        match self.state.q.val() {
            RunState::Idle => {
                if self.go.val() {
                    self.state.d.next = RunState::Take;
                }
            }
            RunState::Take => {
                self.take_frame();
            }
            RunState::First => {
                self.pl.ready.next = true;
                self.word_0.d.next = self.pl.of.val().data;
                if self.pl.valid.val() {
                    self.state.d.next = RunState::Second;
                }
            }
            RunState::Second => {
                self.pl.ready.next = true;
                self.word_1.d.next = self.pl.of.val().data;
                if self.pl.valid.val() {
                    self.rest.d.next = !self.pl.of.val().last;
                    self.state.d.next = RunState::Check;
                }
            }
            RunState::Check => {
                self.count.d.next = self.count.q.val() + 1;
                if self.restart.val() {
                    self.count.d.next = 0.into();
                } else if self.count.q.val().all() {
                    self.state.d.next = RunState::Branch;
                }
            }
            RunState::Branch => {
                self.branch();
            }
            RunState::Claim => {
                self.claims.d.next =
                    !(self.claims.q.val() & self.m_claim_ready.val()) & !self.took.q.val();
                if self.took.q.val() {
                    self.state.d.next = RunState::Claimed;
                }
            }
            RunState::Claimed => {
                self.fits_read.d.next = self.kind.val().get_bit(0)
                    & (self.operation.val() == self.re_read.val())
                    & (self.bytes.q.val() == self.local_len.val());
                self.fits_word.d.next = self.kind.val().get_bit(1)
                    & (self.operation.val() != self.re_read.val())
                    & !self.bytes.q.val().any();
                if self.claim_done.val() {
                    self.state.d.next = RunState::Drain;
                    if self.claim_ok.val() {
                        self.reply.d.next = 3.into();
                        self.state.d.next = RunState::Fit;
                    }
                }
            }
            RunState::Fit => {
                self.fit();
            }
            RunState::Look => {
                self.state.d.next = RunState::Looked;
            }
            RunState::Looked => {
                self.weigh_region();
            }
            RunState::Operand => {
                self.pl.ready.next = true;
                self.operand.d.next = self.pl.of.val().data;
                if self.pl.valid.val() {
                    self.state.d.next = RunState::Compare;
                }
            }
            RunState::Compare => {
                self.pl.ready.next = true;
                self.compare.d.next = self.pl.of.val().data;
                if self.pl.valid.val() {
                    self.rest.d.next = !self.pl.of.val().last;
                    self.state.d.next = RunState::Read;
                }
            }
            RunState::Read => {
                self.reads.d.next =
                    !(self.reads.q.val() & self.m_rd_ready.val()) & !self.took.q.val();
                if self.took.q.val() {
                    self.state.d.next = RunState::Reading;
                }
            }
            RunState::Reading => {
                self.keep_read();
            }
            RunState::Sum => {
                self.sum();
            }
            RunState::Carry => {
                self.carry();
            }
            RunState::Write => {
                self.landed.d.next = false;
                self.writes.d.next =
                    !(self.writes.q.val() & self.m_wr_ready.val()) & !self.took.q.val();
                if self.took.q.val() {
                    self.state.d.next = RunState::Words;
                    self.passes.d.next = !self.single.q.val();
                    self.puts.d.next = self.single.q.val();
                    if self.single.q.val() {
                        self.state.d.next = RunState::Word;
                    }
                }
            }
            RunState::Words => {
                self.m_wd.data.next = self.pl.of.val().data;
                self.pl.ready.next = self.m_wd.ready.val();
                if self.pl.valid.val() & self.pl.of.val().last & self.m_wd.ready.val() {
                    self.rest.d.next = false;
                    self.passes.d.next = false;
                    self.state.d.next = RunState::Landed;
                }
            }
            RunState::Word => {
                if self.m_wd.ready.val() {
                    self.puts.d.next = false;
                    self.state.d.next = RunState::Landed;
                }
            }
            RunState::Landed => {
                if self.landed.q.val() {
                    self.state.d.next = RunState::Advance;
                    if self.reply.q.val().all() {
                        self.state.d.next = RunState::Drain;
                    }
                }
            }
            RunState::Advance => {
                if !self.stays.q.val() {
                    self.happened.d.next = self.is_done.val();
                }
                self.reply.d.next = 2.into();
                if self.write.val() {
                    self.says.d.next = self.ok_code.val();
                    self.reply.d.next = 1.into();
                }
                self.state.d.next = RunState::Drain;
            }
            RunState::Drain => {
                self.pl.ready.next = self.rest.q.val();
                if self.pl.valid.val() & self.pl.of.val().last {
                    self.rest.d.next = false;
                }
                if !self.rest.q.val() {
                    self.state.d.next = RunState::Reply;
                }
                // Of a read that failed nothing is left.
                self.forgets.d.next = self.reply.q.val() == 1;
            }
            RunState::Reply => {
                self.state.d.next = RunState::Idle;
                if self.reply.q.val() == 2 {
                    self.state.d.next = RunState::Answer;
                }
                if self.reply.q.val() == 3 {
                    self.state.d.next = RunState::End;
                }
            }
            RunState::Answer => {
                self.answers.d.next =
                    !(self.answers.q.val() & self.m_sd_ready.val()) & !self.took.q.val();
                if self.took.q.val() {
                    self.state.d.next = RunState::Idle;
                    if self.read.val() {
                        self.state.d.next = RunState::Bytes;
                    }
                }
            }
            RunState::Bytes => {
                if self.said.q.val() {
                    self.state.d.next = RunState::Idle;
                }
            }
            RunState::End => {
                self.claims.d.next =
                    !(self.claims.q.val() & self.m_claim_ready.val()) & !self.took.q.val();
                self.ends.d.next = true;
                if self.took.q.val() {
                    self.state.d.next = RunState::Idle;
                }
            }
        }
        self.offer();
        if self.rst.val() {
            self.state.d.next = RunState::Idle;
        }
    }
}

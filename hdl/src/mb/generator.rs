//! What one rank sends and receives in each step of a binomial pipeline.

use crate::prelude::*;

/// What it does.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum State {
    Idle,
    Size,
    Place,
    Look,
    Sum,
    Blocks,
    Choose,
    Show,
}

hdl_record! {
    /// A block, if there is one.
    struct Maybe {
        /// There is one.
        some: Bit,
        /// Its number.
        block: Bits<20>,
    }
}

hdl_module! {
    /// The steps of one rank of a binomial pipeline, out of members, rank and blocks (MB-4,
    /// MB-5). It keeps the step, the dimension, the parity of the rounds, which of the two ranks
    /// of its vertex is outside, and the last block that each of the two got from outside.
    /// A message takes one clock for each dimension first, and a step 5 clocks and those that it
    /// waits for m_ready; transfers of blocks take longer. Stages of a step: LOOK the lowest one
    /// of the rotated vertex; SUM how far vertex and partner are; BLOCKS what they send; CHOOSE the
    /// transfers of this rank; SHOW.
    #[module("mb_generator")]
    pub struct MbGenerator {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// A message; sizes out of range have no steps.
        pub s_valid: Signal<In, Bit>,
        /// It is taken.
        pub s_ready: Signal<Out, Bit>,
        /// Members: 2 to 65,536.
        pub s_members: Signal<In, Bits<17>>,
        /// Rank, below that.
        pub s_rank: Signal<In, Bits<16>>,
        /// Blocks: 1 to 2^20.
        pub s_blocks: Signal<In, Bits<21>>,
        /// A step.
        pub m_valid: Signal<Out, Bit>,
        /// It is taken.
        pub m_ready: Signal<In, Bit>,
        /// Its number.
        pub m_step: Signal<Out, Bits<22>>,
        /// The rank sends a block.
        pub m_send: Signal<Out, Bit>,
        /// To this rank.
        pub m_to: Signal<Out, Bits<16>>,
        /// The block.
        pub m_send_block: Signal<Out, Bits<20>>,
        /// The rank receives a block.
        pub m_receive: Signal<Out, Bit>,
        /// From this rank.
        pub m_from: Signal<Out, Bits<16>>,
        /// The block.
        pub m_receive_block: Signal<Out, Bits<20>>,
        /// All steps of the message were taken, or it has none; one clock.
        pub done: Signal<Out, Bit>,

        #[reset] state: DFF<State>,
        #[reset] ended: DFF<Bit>,
        members: DFF<Bits<17>>,
        rank: DFF<Bits<16>>,
        blocks: DFF<Bits<21>>,
        /// Dimensions, and as many ones.
        dimensions: DFF<Bits<5>>,
        ones: DFF<Bits<17>>,
        more: Signal<Local, Bits<18>>,
        /// Vertices of two ranks: 1 to this.
        twins: DFF<Bits<16>>,
        vertex: DFF<Bits<16>>,
        /// The vertex, rotated right by the dimension.
        rotated: DFF<Bits<16>>,
        /// One bit: the dimension; the last one.
        bit: DFF<Bits<16>>,
        top: DFF<Bits<16>>,
        last_block: DFF<Bits<20>>,
        step: DFF<Bits<22>>,
        steps: DFF<Bits<22>>,
        odd_round: DFF<Bit>,
        changed: DFF<Bit>,
        kept: DFF<Maybe>,
        kept_twin: DFF<Maybe>,

        /// LOOK: of vertex and partner, one is even when rotated: its lowest one. It is the root if
        /// the other one, rotated, is 1.
        even: Signal<Local, Bits<16>>,
        lowest: Signal<Local, Bits<16>>,
        zeros: DFF<Bits<4>>,
        even_is_root: DFF<Bit>,
        partner: DFF<Bits<16>>,
        is_last: DFF<Bit>,
        double: DFF<Bit>,
        partner_double: DFF<Bit>,

        /// BLOCKS: what the even and the odd one of the two vertices send.
        from_root: Signal<Local, Bits<20>>,
        even_sum: Signal<Local, Bits<22>>,
        /// SUM: how far they are, and whether they have begun.
        even_block: DFF<Bits<22>>,
        even_begun: DFF<Bit>,
        odd_block: DFF<Bits<22>>,
        odd_begun: DFF<Bit>,
        /// The root has not reached the last block.
        root_before: DFF<Bit>,
        even_sends: Signal<Local, Maybe>,
        odd_sends: Signal<Local, Maybe>,
        sends: DFF<Maybe>,
        comes: DFF<Maybe>,
        partner_changed: Signal<Local, Bit>,
        /// Ranks of the vertex that receive from outside and send outside; those of the partner.
        receiver: DFF<Bits<16>>,
        sender: DFF<Bits<16>>,
        there: DFF<Bits<16>>,
        from_there: DFF<Bits<16>>,

        /// CHOOSE: what the receiver of the vertex and its sender have got last.
        own: Signal<Local, Maybe>,
        others: Signal<Local, Maybe>,
        is_receiver: Signal<Local, Bit>,
        is_sender: Signal<Local, Bit>,
        send: DFF<Maybe>,
        to: DFF<Bits<16>>,
        receive: DFF<Maybe>,
        from: DFF<Bits<16>>,
    }
}

impl Logic for MbGenerator {
    #[hdl_gen]
    fn update(&mut self) {
        self.ended.d.next = false;
        self.done.next = self.ended.q.val();
        self.s_ready.next = self.state.q.val() == State::Idle;
        self.m_valid.next = self.state.q.val() == State::Show;
        self.m_step.next = self.step.q.val();
        self.m_send.next = self.send.q.val().some;
        self.m_to.next = self.to.q.val();
        self.m_send_block.next = self.send.q.val().block;
        self.m_receive.next = self.receive.q.val().some;
        self.m_from.next = self.from.q.val();
        self.m_receive_block.next = self.receive.q.val().block;

        // A message: its dimensions, one a clock.
        self.more.next = (bit_cast::<18, 17>(self.ones.q.val()) << 1) | 1;
        if (self.state.q.val() == State::Idle) & self.s_valid.val() {
            self.members.d.next = self.s_members.val();
            self.rank.d.next = self.s_rank.val();
            self.blocks.d.next = self.s_blocks.val();
            self.dimensions.d.next = 0.into();
            self.ones.d.next = 0.into();
            self.top.d.next = 0.into();
            self.state.d.next = State::Size;
        }
        if self.state.q.val() == State::Size {
            if self.more.val() < bit_cast::<18, 17>(self.members.q.val()) {
                self.dimensions.d.next = self.dimensions.q.val() + 1;
                self.ones.d.next = bit_cast::<17, 18>(self.more.val());
                self.top.d.next = bit_cast::<16, 17>(self.ones.q.val() + 1);
            } else {
                self.state.d.next = State::Place;
            }
        }
        if self.state.q.val() == State::Place {
            self.vertex.d.next = self.rank.q.val();
            self.rotated.d.next = self.rank.q.val();
            if bit_cast::<17, 16>(self.rank.q.val()) > self.ones.q.val() {
                self.vertex.d.next = self.rank.q.val() - bit_cast::<16, 17>(self.ones.q.val());
                self.rotated.d.next = self.rank.q.val() - bit_cast::<16, 17>(self.ones.q.val());
            }
            self.twins.d.next = bit_cast::<16, 17>(self.members.q.val() - self.ones.q.val() - 1);
            self.steps.d.next = bit_cast::<22, 21>(self.blocks.q.val())
                + bit_cast::<22, 5>(self.dimensions.q.val());
            if self.members.q.val() == self.ones.q.val() + 1 {
                self.steps.d.next = bit_cast::<22, 21>(self.blocks.q.val())
                    + bit_cast::<22, 5>(self.dimensions.q.val())
                    - 1;
            }
            self.last_block.d.next = bit_cast::<20, 21>(self.blocks.q.val() - 1);
            self.step.d.next = 0.into();
            self.bit.d.next = 1.into();
            self.odd_round.d.next = false;
            self.changed.d.next = false;
            self.kept.d.next.some = false;
            self.kept_twin.d.next.some = false;
            self.state.d.next = State::Look;
            if (self.dimensions.q.val() == 0)
                | (self.blocks.q.val() == 0)
                | (self.blocks.q.val() > 0x10_0000)
                | (self.members.q.val() > 0x1_0000)
                | (bit_cast::<17, 16>(self.rank.q.val()) >= self.members.q.val())
            {
                self.ended.d.next = true;
                self.state.d.next = State::Idle;
            }
        }

        self.even.next = self.rotated.q.val() & 0xFFFE;
        self.lowest.next = self.even.val() & (!self.even.val() + 1);
        if self.state.q.val() == State::Look {
            self.zeros.d.next = (bit_cast::<4, 1>(((self.lowest.val() & 0xFF00) != 0).into()) << 3)
                | (bit_cast::<4, 1>(((self.lowest.val() & 0xF0F0) != 0).into()) << 2)
                | (bit_cast::<4, 1>(((self.lowest.val() & 0xCCCC) != 0).into()) << 1)
                | bit_cast::<4, 1>(((self.lowest.val() & 0xAAAA) != 0).into());
            self.even_is_root.d.next = self.even.val() == 0;
            self.partner.d.next = self.vertex.q.val() ^ self.bit.q.val();
            self.is_last.d.next =
                (self.twins.q.val() != 0) & (self.step.q.val() + 1 == self.steps.q.val());
            self.double.d.next =
                (self.vertex.q.val() != 0) & (self.vertex.q.val() <= self.twins.q.val());
            self.partner_double.d.next = ((self.vertex.q.val() ^ self.bit.q.val()) != 0)
                & ((self.vertex.q.val() ^ self.bit.q.val()) <= self.twins.q.val());
            self.state.d.next = State::Sum;
        }

        self.even_sum.next = self.step.q.val() + bit_cast::<22, 4>(self.zeros.q.val());
        if self.state.q.val() == State::Sum {
            self.even_block.d.next =
                self.even_sum.val() - bit_cast::<22, 5>(self.dimensions.q.val());
            self.even_begun.d.next =
                self.even_sum.val() >= bit_cast::<22, 5>(self.dimensions.q.val());
            // The odd one does not send to the root.
            self.odd_block.d.next = self.step.q.val() - bit_cast::<22, 5>(self.dimensions.q.val());
            self.odd_begun.d.next = (self.step.q.val()
                >= bit_cast::<22, 5>(self.dimensions.q.val()))
                & !self.even_is_root.q.val();
            self.root_before.d.next =
                self.step.q.val() < bit_cast::<22, 20>(self.last_block.q.val());
            self.state.d.next = State::Blocks;
        }

        // The root sends one block after the other, the last one again and again.
        self.from_root.next = self.last_block.q.val();
        if self.root_before.q.val() {
            self.from_root.next = bit_cast::<20, 22>(self.step.q.val());
        }
        self.even_sends.next.some = self.even_begun.q.val();
        self.even_sends.next.block = self.last_block.q.val();
        if self.even_block.q.val() < bit_cast::<22, 20>(self.last_block.q.val()) {
            self.even_sends.next.block = bit_cast::<20, 22>(self.even_block.q.val());
        }
        if self.even_is_root.q.val() {
            self.even_sends.next.some = true;
            self.even_sends.next.block = self.from_root.val();
        }
        self.odd_sends.next.some = self.odd_begun.q.val();
        self.odd_sends.next.block = self.last_block.q.val();
        if self.odd_block.q.val() < bit_cast::<22, 20>(self.last_block.q.val()) {
            self.odd_sends.next.block = bit_cast::<20, 22>(self.odd_block.q.val());
        }
        self.partner_changed.next = self.odd_round.q.val() ^ self.changed.q.val();
        if self.state.q.val() == State::Blocks {
            self.sends.d.next = self.even_sends.val();
            self.comes.d.next = self.odd_sends.val();
            if self.rotated.q.val().get_bit(0) {
                self.sends.d.next = self.odd_sends.val();
                self.comes.d.next = self.even_sends.val();
            }
            if self.vertex.q.val() == 0 {
                self.comes.d.next.some = false;
            }
            self.receiver.d.next = self.vertex.q.val();
            self.sender.d.next = self.vertex.q.val();
            if self.double.q.val() & self.changed.q.val() {
                self.receiver.d.next = self.vertex.q.val() + bit_cast::<16, 17>(self.ones.q.val());
            }
            if self.double.q.val() & !self.changed.q.val() {
                self.sender.d.next = self.vertex.q.val() + bit_cast::<16, 17>(self.ones.q.val());
            }
            self.there.d.next = self.partner.q.val();
            self.from_there.d.next = self.partner.q.val();
            if self.partner_double.q.val() & self.partner_changed.val() {
                self.there.d.next = self.partner.q.val() + bit_cast::<16, 17>(self.ones.q.val());
            }
            if self.partner_double.q.val() & !self.partner_changed.val() {
                self.from_there.d.next =
                    self.partner.q.val() + bit_cast::<16, 17>(self.ones.q.val());
            }
            self.state.d.next = State::Choose;
        }

        self.own.next = self.kept.q.val();
        self.others.next = self.kept_twin.q.val();
        if self.changed.q.val() {
            self.own.next = self.kept_twin.q.val();
            self.others.next = self.kept.q.val();
        }
        self.is_receiver.next = self.rank.q.val() == self.receiver.q.val();
        self.is_sender.next = self.rank.q.val() == self.sender.q.val();
        if self.state.q.val() == State::Choose {
            // Between vertices.
            self.send.d.next = self.sends.q.val();
            self.to.d.next = self.there.q.val();
            self.receive.d.next = self.comes.q.val();
            self.from.d.next = self.from_there.q.val();
            if self.is_last.q.val() {
                // Inside vertices.
                self.send.d.next = self.others.val();
                self.send.d.next.some = self.others.val().some & self.double.q.val();
                self.to.d.next = self.receiver.q.val();
                self.receive.d.next = self.others.val();
                self.receive.d.next.some = self.others.val().some & self.double.q.val();
                self.from.d.next = self.sender.q.val();
            }
            if self.double.q.val() & self.is_receiver.val() {
                self.send.d.next = self.own.val();
                self.to.d.next = self.sender.q.val();
            }
            if self.double.q.val() & self.is_sender.val() {
                self.receive.d.next = self.own.val();
                self.from.d.next = self.receiver.q.val();
            }
            if self.is_last.q.val() & (self.last_block.q.val() == 0) {
                // The only block goes to the second rank of each vertex.
                self.send.d.next.some = self.is_sender.val() & self.partner_double.q.val();
                self.send.d.next.block = 0.into();
                self.to.d.next = self.there.q.val();
                self.receive.d.next.some = self.is_receiver.val() & self.double.q.val();
                self.receive.d.next.block = 0.into();
                self.from.d.next = self.from_there.q.val();
            }
            self.state.d.next = State::Show;
        }

        if (self.state.q.val() == State::Show) & self.m_ready.val() {
            if self.changed.q.val() {
                self.kept_twin.d.next = self.comes.q.val();
            } else {
                self.kept.d.next = self.comes.q.val();
            }
            self.changed.d.next = self.changed.q.val() ^ self.rotated.q.val().get_bit(0);
            self.step.d.next = self.step.q.val() + 1;
            self.rotated.d.next = self.rotated.q.val() >> 1;
            if self.rotated.q.val().get_bit(0) {
                self.rotated.d.next = (self.rotated.q.val() >> 1) | self.top.q.val();
            }
            self.bit.d.next = self.bit.q.val() << 1;
            if self.bit.q.val() == self.top.q.val() {
                self.bit.d.next = 1.into();
                self.odd_round.d.next = !self.odd_round.q.val();
            }
            self.state.d.next = State::Look;
            if self.step.q.val() + 1 == self.steps.q.val() {
                self.ended.d.next = true;
                self.state.d.next = State::Idle;
            }
        }
    }
}

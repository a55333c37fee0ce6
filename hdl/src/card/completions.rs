//! Completions of work requests, from two sources.

use crate::bus::{CompletionIn, CompletionOut};
use crate::prelude::*;

hdl_module! {
    /// Lets two sources of completions take turns: datagrams and all others; among these READs, other bulk transfers, work
    /// requests of reduction groups and their frames. What is offered stays until it is taken, and what was offered first
    /// leaves first.
    /// Latency: none. Stages: none; only whose turn it is, is kept.
    #[module("card_completions_q{}", 1usize << LQ)]
    pub struct CardCompletions<const LQ: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// Completions of the one.
        pub a: CompletionIn<LQ>,
        /// Of the other.
        pub b: CompletionIn<LQ>,
        /// All of them.
        pub m: CompletionOut<LQ>,
        /// b is first in line.
        #[reset] b_first: DFF<Bit>,
        choose_b: Signal<Local, Bit>,
    }
}

impl<const LQ: usize> Logic for CardCompletions<LQ> {
    #[hdl_gen]
    fn update(&mut self) {
        self.choose_b.next = self.b.valid.val() & (self.b_first.q.val() | !self.a.valid.val());
        self.m.valid.next = self.a.valid.val() | self.b.valid.val();
        self.m.qpn.next = self.a.qpn.val();
        self.m.of.next = self.a.of.val();
        if self.choose_b.val() {
            self.m.qpn.next = self.b.qpn.val();
            self.m.of.next = self.b.of.val();
        }
        self.a.ready.next = self.m.ready.val() & !(self.b.valid.val() & self.b_first.q.val());
        self.b.ready.next = self.m.ready.val() & (self.b_first.q.val() | !self.a.valid.val());
        // What waits stays in front; what is taken goes behind the other.
        if self.a.valid.val() | self.b.valid.val() {
            self.b_first.d.next = self.choose_b.val() ^ self.m.ready.val();
        }
    }
}

//! Contexts of queue pairs for those who take messages.

use crate::bus::{ContextIn, ContextOut};
use crate::prelude::*;
use crate::record::ContextShape;
use tributary_protocol::card::command::State as QpState;

hdl_module! {
    /// Contexts for those who take messages: a queue pair in a reduction group takes none, so that to them it does not receive
    /// yet, whatever its state is; Error and Reset are as they are.
    /// Latency: none. Stages: none.
    #[module("card_contexts_q{}", 1usize << LQ)]
    pub struct CardContexts<const LQ: usize> {
        /// Words of contexts.
        pub s: ContextIn<LQ>,
        /// The same, with these states.
        pub m: ContextOut<LQ>,
        shape: Signal<Local, ContextShape>,
        apart: Signal<Local, ContextShape>,
        init: Param<{ QpState::Init as usize }, 3>,
        receives: Param<{ QpState::ReadyToReceive as usize }, 3>,
        sends: Param<{ QpState::ReadyToSend as usize }, 3>,
    }
}

impl<const LQ: usize> Logic for CardContexts<LQ> {
    #[hdl_gen]
    fn update(&mut self) {
        self.shape.next = self.s.of.val().data.into();
        self.apart.next = self.s.of.val().data.into();
        if (self.shape.val().state == self.receives.val())
            | (self.shape.val().state == self.sends.val())
        {
            self.apart.next.state = self.init.val();
        }
        self.m.valid.next = self.s.valid.val();
        self.m.of.next = self.s.of.val();
        if (self.s.of.val().word == 0) & self.shape.val().member {
            self.m.of.next.data = self.apart.val().to_bits();
        }
    }
}

//! A root complex that is given whole TLPs and gives them: for a card at the other end of a link.

use std::collections::VecDeque;

use tributary_protocol::card::model;
use tributary_protocol::pcie::Tlp;
use tributary_protocol::tlp_link::unit::is_completion;

use super::{Config, Host, Requester, RootComplex};
use crate::pcie::RawTlp;

impl RootComplex {
    /// A root complex at no model. It does not check bus mastering: what was sent before that ended may come much later.
    #[must_use]
    pub fn alone(config: Config) -> Self {
        let mut root = Self::without_streams(config);
        root.outbox = Some(VecDeque::new());
        root.requester.limits.bus_master = true;
        root
    }

    /// The next TLP for the card.
    pub fn next_tlp(&mut self) -> Option<RawTlp> {
        self.outbox.as_mut()?.pop_front()
    }

    /// A TLP of the card; writes are at once in memory.
    pub fn receive_tlp(&mut self, tlp: &RawTlp, memory: &mut dyn model::HostMemory) {
        match Tlp::parse(&tlp.header) {
            Ok(Tlp::Completion(_)) => self.completed(tlp),
            Ok(Tlp::MemoryWrite(_)) => self.write(tlp, memory),
            _ => self.read(tlp),
        }
    }

    /// The completions among these TLPs of the card: where there is no memory, all others wait.
    pub fn receive_completions(&mut self, tlps: &mut VecDeque<RawTlp>) {
        tlps.retain(|tlp| {
            let waits = !is_completion(&tlp.header);
            if !waits {
                self.completed(tlp);
            }
            waits
        });
    }

    /// A clock passes: a completion of a read that is due.
    pub fn pass(&mut self, memory: &mut dyn model::HostMemory) {
        self.clock += 1;
        if self.outbox.as_ref().is_some_and(VecDeque::is_empty)
            && let Some((tlp, copies)) = self.next_completion(memory)
        {
            let outbox = self.outbox.get_or_insert_default();
            outbox.extend(std::iter::repeat_n(tlp, copies));
        }
    }

    /// The link is lost: nothing of what was under way has an end.
    pub fn lost(&mut self) {
        let config = self.config.clone();
        let host = Host::new(config.host_id);
        self.host = host;
        self.pending.clear();
        self.requester = Requester::new(config.limits);
        self.requester.limits.bus_master = true;
        self.outbox = Some(VecDeque::new());
    }
}

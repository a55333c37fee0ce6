//! What has arrived goes to host memory; then transfers end, and software is told (RW-16, BW-3).

use super::requests::notification;
use super::{Bulk, Window};
use crate::bulk::Purpose;
use crate::card::descriptor::Completion;
use crate::card::model::{CardModel, HostMemory};
use crate::card::regs::BulkCounter;
use crate::rw::{FinishOut, Message, Status};
use crate::xud::Outcome;

impl Bulk {
    /// Writes what the windows have accepted, in the order in which they did.
    pub(super) fn land_all(&mut self, card: &mut CardModel, memory: &mut dyn HostMemory) {
        while let Some((write, payload)) = self.landing.pop_front() {
            if self.config.mutations.early_notify && self.is_last(write.wptr) {
                self.all_there(card, memory, write.wptr);
            }
            if !payload.is_empty() {
                // A posted write: nobody tells the card whether it arrived.
                let _ = memory.write(write.addr, &payload);
            }
            if self.receiver.write_done(write.wptr, write.r#gen) {
                self.all_there(card, memory, write.wptr);
            }
        }
    }

    /// All that is missing of a window's transfer waits in `landing` (mutation).
    fn is_last(&self, wptr: u16) -> bool {
        let transfer = self.receiver.transfer(wptr);
        transfer.is_some_and(|t| t.all_received(self.receiver.config().mode))
    }

    /// Every byte of a transfer is visible.
    fn all_there(&mut self, card: &mut CardModel, memory: &mut dyn HostMemory, wptr: u16) {
        let Some(window) = self.windows.get(&wptr).copied() else {
            return;
        };
        let length = self.receiver.transfer(wptr).map_or(0, |t| t.length);
        if let Purpose::Notify(immediate) = window.purpose
            && !notify(card, memory, &window, length, immediate)
        {
            if let Some(window) = self.windows.get_mut(&wptr) {
                window.waits_since.get_or_insert(u64::MAX);
            }
            return;
        }
        if let Some(done) = self.receiver.finish(wptr) {
            self.finished(done, Outcome::Ok);
        }
    }

    /// Transfers whose notification waits for a receive request: until there is one, or the time is over.
    pub(super) fn notify_waiting(
        &mut self,
        card: &mut CardModel,
        memory: &mut dyn HostMemory,
        tick: u64,
    ) {
        let waiting = self.windows.iter_mut();
        let waiting = waiting.filter_map(|(wptr, window)| {
            let since = window.waits_since.as_mut()?;
            *since = tick.min(*since);
            Some((*wptr, *since))
        });
        let waiting: Vec<(u16, u64)> = waiting.collect();
        for (wptr, since) in waiting {
            self.all_there(card, memory, wptr);
            let over = tick - since >= self.times.not_ready();
            if over
                && self.windows.contains_key(&wptr)
                && let Some(done) = self.receiver.revoke(wptr, Status::NotReady)
            {
                self.count(BulkCounter::NotReady);
                self.finished(done, Outcome::RemoteRnr);
            }
        }
    }

    /// A window was closed: its sender is told, and a read of this host has ended.
    pub(super) fn finished(&mut self, done: FinishOut, status: Outcome) {
        self.send(done.completion.src, &Message::Complete(done.complete_msg));
        self.window_ended(done.completion.wptr, status);
    }

    /// A window is closed: nothing of it is written any more.
    pub(super) fn window_ended(&mut self, wptr: u16, status: Outcome) {
        self.watch.close(wptr);
        let Some(window) = self.windows.remove(&wptr) else {
            return;
        };
        self.landing.retain(|(write, _)| write.wptr != wptr);
        self.count(if status == Outcome::Ok {
            BulkCounter::Received
        } else {
            BulkCounter::ReceivedAborted
        });
        if let Purpose::Response(token) = window.purpose
            && let Some((place, _)) = self.reading(token)
        {
            self.end_read(place, status);
        }
    }
}

/// The completion of a notification, if there is a receive request and room for it.
fn notify(
    card: &mut CardModel,
    memory: &mut dyn HostMemory,
    window: &Window,
    length: u32,
    immediate: u32,
) -> bool {
    let told = card.notify(window.qpn, memory, |wr_id, number, q_key| {
        notification(wr_id, number, window.from, q_key, length, immediate)
    });
    if told {
        card.tell_rings_notified(window.qpn, immediate);
    }
    told
}

impl CardModel {
    /// A completion that takes the oldest receive request of a queue pair, made of its id, its number and the Q_Key. False: there
    /// is none, or no room.
    pub(in crate::card::model) fn notify(
        &mut self,
        qpn: u32,
        memory: &mut dyn HostMemory,
        completion: impl FnOnce(u64, u16, u32) -> Completion,
    ) -> bool {
        let queue = self.queues.get_mut(&qpn);
        let Some(queue) = queue.filter(|queue| !queue.fatal && queue.receives()) else {
            return false;
        };
        if queue.ahead.is_empty() || !self.engine.take_receive(qpn) {
            return false;
        }
        let Some((number, request)) = queue.ahead.pop_front() else {
            return false;
        };
        let completion = completion(request.wr_id, number, queue.q_key);
        self.complete(qpn, completion, memory);
        true
    }
}

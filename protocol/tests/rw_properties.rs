//! Properties of whole transfers: the two machines over a small, seeded, bad network.

use std::collections::BTreeMap;

use tributary_protocol::rw::*;

/// A network in which everything takes `delay` ticks, and `fate` decides what happens to each message.
struct Net<F> {
    tx: Sender,
    rx: Receiver,
    now: u64,
    delay: u64,
    fate: F,
    flying: BTreeMap<(u64, u64), Message>,
    count: u64,
    memory: Vec<(u64, u16)>,
    received: Vec<Completion>,
    ended: Vec<(u64, SenderCompletion)>,
}

/// Extra delays of the copies that arrive; none: lost.
type Copies = Vec<u64>;

impl<F: FnMut(&Message, u64) -> Copies> Net<F> {
    fn new(tx: SenderConfig, rx: ReceiverConfig, delay: u64, fate: F) -> Self {
        let (tx, rx) = (Sender::new(tx).unwrap(), Receiver::new(rx).unwrap());
        Self {
            tx,
            rx,
            now: 0,
            delay,
            fate,
            flying: BTreeMap::new(),
            count: 0,
            memory: vec![],
            received: vec![],
            ended: vec![],
        }
    }

    fn send(&mut self, msg: Message) {
        for extra in (self.fate)(&msg, self.now) {
            self.count += 1;
            self.flying
                .insert((self.now + self.delay + extra, self.count), msg.clone());
        }
    }

    fn act(&mut self, outputs: Vec<Output>) {
        for output in outputs {
            match output {
                Output::Send { msg, .. } => self.send(msg),
                Output::Write(write) => {
                    self.memory.push((write.addr, write.len));
                    let outputs = self.rx.handle_write_done(write.wptr, write.r#gen);
                    self.act(outputs);
                }
                Output::Completion(done) => self.received.push(done),
            }
        }
    }

    fn tick(&mut self) {
        while let Some(entry) = self
            .flying
            .first_entry()
            .filter(|entry| entry.key().0 <= self.now)
        {
            let msg = entry.remove();
            if msg.to_receiver() {
                let outputs = self.rx.handle(&msg, self.now);
                self.act(outputs);
            } else {
                self.tx.on_message(&msg, self.now);
            }
        }
        let outputs = self.rx.handle_sweep(self.now);
        self.act(outputs);
        if let Some(out) = self.tx.next_packet(self.now) {
            self.send(out.msg);
        }
        while let Some(done) = self.tx.take_completion() {
            self.ended.push((self.now, done));
        }
        self.rx.check().unwrap();
        self.now += 1;
    }

    fn run(&mut self, ticks: u64, until: impl Fn(&Self) -> bool) -> bool {
        (0..ticks).any(|_| {
            self.tick();
            until(self)
        })
    }
}

fn request(packets: u32) -> Request {
    Request {
        dst: 1,
        addr: 0,
        rkey: 0,
        length: packets * 256,
        mtu: 8,
        oldest_first: false,
    }
}

/// When a transfer of 40 packets ends if the messages picked by `lose` are lost on their first appearance, and the receiver
/// sends each message so often.
fn ends_at(copies: u8, lose: impl Fn(&Message) -> bool) -> (u64, u64) {
    let mut lost = false;
    let fate = |msg: &Message, _| {
        let loses = !lost && lose(msg);
        lost |= loses;
        if loses { vec![] } else { vec![0] }
    };
    let rx = ReceiverConfig {
        copies,
        ..Default::default()
    };
    let mut net = Net::new(SenderConfig::default(), rx, 64, fate);
    net.tx.start(request(40), 0).unwrap();
    assert!(net.run(5000, |net| !net.ended.is_empty()));
    assert_eq!(net.ended[0].1.outcome, Outcome::Ok);
    (net.ended[0].0, net.tx.stats().data())
}

#[test]
fn p_26_a_lost_tail_or_complete_costs_at_most_one_poll_interval() {
    let (undisturbed, _) = ends_at(1, |_| false);
    let interval = u64::from(SenderConfig::default().poll_ticks);
    let round_trip = 128;
    let (tail, sent) = ends_at(1, |msg| matches!(msg, Message::Data(d) if d.tail));
    assert!(
        (undisturbed + 1..=undisturbed + interval + round_trip).contains(&tail),
        "{undisturbed} {tail}"
    );
    assert!(sent <= 40 + 2, "{sent}");
    let (complete, sent) = ends_at(1, |msg| matches!(msg, Message::Complete(_)));
    assert!(
        (undisturbed + 1..=undisturbed + interval).contains(&complete),
        "{undisturbed} {complete}"
    );
    assert_eq!(sent, 40);
}

#[test]
fn rw_11_losing_one_copy_of_any_message_of_the_receiver_costs_nothing() {
    let undisturbed = ends_at(2, |_| false);
    assert_eq!(undisturbed, ends_at(1, |_| false));
    let kinds: [fn(&Message) -> bool; 2] = [
        |msg| matches!(msg, Message::ConnectResp(_)),
        |msg| matches!(msg, Message::Complete(_)),
    ];
    for lose in kinds {
        assert_eq!(ends_at(2, lose), undisturbed);
        assert_ne!(ends_at(1, lose), undisturbed);
    }
    // A packet is lost: with or without one copy of the request for it, the end is the same.
    let ends = |request_lost: bool| {
        let (mut data, mut request) = (false, !request_lost);
        let fate = move |msg: &Message, _| {
            let lost = match msg {
                Message::Data(d) if d.pidx == 3 => !std::mem::replace(&mut data, true),
                Message::RetxOne(_) => !std::mem::replace(&mut request, true),
                _ => false,
            };
            if lost { vec![] } else { vec![0] }
        };
        let mut net = Net::new(SenderConfig::default(), ReceiverConfig::default(), 64, fate);
        net.tx.start(self::request(400), 0).unwrap();
        assert!(net.run(5000, |net| !net.ended.is_empty()));
        assert_eq!(net.rx.stats().retx_one, 1);
        (net.ended[0].0, net.tx.stats().data())
    };
    assert_eq!(ends(true), ends(false));
}

#[test]
fn p_18_every_operation_ends_within_its_bound_when_the_network_dies() {
    for dies in [0u64, 60, 70, 130, 200] {
        let fate = |_: &Message, now| if now < dies { vec![0] } else { vec![] };
        let mut net = Net::new(
            SenderConfig::default(),
            ReceiverConfig {
                r: 2,
                ..Default::default()
            },
            64,
            fate,
        );
        net.tx.start(request(100), 0).unwrap();
        let bound = net.tx.config().retry_time().unwrap() + 300;
        assert!(
            net.run(bound, |net| !net.ended.is_empty()),
            "dead from {dies} on"
        );
        // CONNECT_RESP leaves at tick 64.
        let expected = if dies <= 64 {
            Outcome::Unreachable
        } else {
            Outcome::Unresponsive
        };
        assert_eq!(net.ended[0].1.outcome, expected, "dead from {dies} on");
        // P19: the receiver gives its window back as well.
        let idle = u64::from(net.rx.config().idle_ticks);
        assert!(
            net.run(idle + 300, |net| net.rx.free().count() == 2),
            "dead from {dies} on"
        );
    }
}

#[test]
fn p_19_nothing_leaks_over_many_transfers_that_are_cancelled() {
    let fate = |msg: &Message, now: u64| {
        if matches!(msg, Message::Abort(_)) && now.is_multiple_of(2) {
            vec![]
        } else {
            vec![now % 5]
        }
    };
    let mut net = Net::new(
        SenderConfig::default(),
        ReceiverConfig {
            r: 4,
            ..Default::default()
        },
        10,
        fate,
    );
    for round in 0..200u64 {
        let (slot, _) = net
            .tx
            .start(request(1 + (round % 7) as u32), net.now)
            .unwrap();
        net.run(7 + round * 3 % 40, |_| false);
        if round % 3 != 0 {
            net.tx.cancel(slot);
        } else {
            assert!(net.run(2000, |net| net.tx.active() == 0));
        }
    }
    assert!(net.run(45_000, |net| net.rx.free().count() == 4
        && net.tx.active() == 0));
    assert_eq!(net.ended.len(), 200, "one completion each (P4)");
}

#[test]
fn p_02_p_05_p_06_every_byte_is_written_exactly_once_over_a_bad_network() {
    for seed in 1..=40u64 {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let fate = move |_: &Message, _| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            match state % 20 {
                0..=2 => vec![],
                3..=5 => vec![state >> 32 & 31, state >> 40 & 127],
                _ => vec![state >> 32 & 31],
            }
        };
        let rx = ReceiverConfig {
            w: 64,
            r: 4,
            ..Default::default()
        };
        let tx = SenderConfig {
            max_polls: Some(12),
            ..Default::default()
        };
        let mut net = Net::new(tx, rx, 20, fate);
        for slot in 0..4 {
            let at = u64::from(slot) << 32;
            net.tx
                .start(
                    Request {
                        dst: 1,
                        addr: at,
                        rkey: 0,
                        length: 30_001 * slot,
                        mtu: 9,
                        oldest_first: false,
                    },
                    0,
                )
                .unwrap();
        }
        assert!(net.run(200_000, |net| net.ended.len() == 4), "seed {seed}");
        assert!(
            net.ended
                .iter()
                .all(|(_, done)| done.outcome == Outcome::Ok),
            "seed {seed}: {:?}",
            net.ended
        );
        assert_eq!(net.received.len(), 4);
        net.memory.sort_unstable();
        for slot in 0..4u32 {
            let base = u64::from(slot) << 32;
            let mine: Vec<_> = net
                .memory
                .iter()
                .filter(|(addr, _)| addr >> 32 == u64::from(slot))
                .collect();
            let end = mine.iter().fold(base, |at, (addr, len)| {
                assert_eq!(*addr, at, "seed {seed}: no gap and no overlap");
                at + u64::from(*len)
            });
            assert_eq!(end - base, u64::from(30_001 * slot));
        }
    }
}

#[test]
fn p_24_packets_sent_are_bounded_by_n_and_what_was_lost() {
    // Every tenth DATA packet of the first sending is lost. A request brings two copies; nothing else is sent twice.
    let fate = |msg: &Message, _| {
        if matches!(msg, Message::Data(d) if d.round == 0 && d.pidx % 10 == 4) {
            vec![]
        } else {
            vec![0]
        }
    };
    let mut net = Net::new(SenderConfig::default(), ReceiverConfig::default(), 64, fate);
    net.tx.start(request(1000), 0).unwrap();
    assert!(net.run(20_000, |net| !net.ended.is_empty()));
    assert!(
        net.tx.stats().data() <= 1000 + 2 * 100,
        "{:?}",
        net.tx.stats()
    );
    assert_eq!(net.rx.stats().dropped(DropReason::AboveWindow), 0);
}

#[test]
fn p_03_sender_success_means_receiver_completion_in_every_mode() {
    for mode in Mode::ALL {
        let fate = |msg: &Message, now: u64| {
            if matches!(msg, Message::Data(_)) && now == 190 {
                vec![]
            } else {
                vec![0]
            }
        };
        let mut net = Net::new(
            SenderConfig {
                mode,
                ..Default::default()
            },
            ReceiverConfig {
                mode,
                ..Default::default()
            },
            64,
            fate,
        );
        net.tx.start(request(200), 0).unwrap();
        assert!(net.run(20_000, |net| !net.ended.is_empty()), "{mode}");
        assert_eq!(
            (net.ended[0].1.outcome, net.received.len()),
            (Outcome::Ok, 1),
            "{mode}"
        );
        assert_eq!(net.received[0].status, Status::Ok, "{mode}");
        assert!(net.tx.stats().resent > 0, "{mode}");
    }
}

#[test]
fn rw_07_a_range_request_delayed_past_completion_does_not_reach_the_next_transfer() {
    // The failure that gen and xid exist for: RETX_RANGE of the first transfer arrives in the second.
    let mut tx = Sender::new(SenderConfig {
        rtt_ticks: 0,
        allowance_ticks: 0,
        ..Default::default()
    })
    .unwrap();
    let mut rx = Receiver::new(ReceiverConfig {
        r: 1,
        copies: 1,
        ..Default::default()
    })
    .unwrap();
    let mut old_data = None;
    for xid in [1, 2] {
        tx.start(request(2), 0).unwrap();
        let connect = tx.next_packet(0).unwrap().msg;
        let Some(Output::Send { msg, .. }) = rx.handle(&connect, 0).pop() else {
            panic!()
        };
        tx.on_message(&msg, 0);
        if xid == 2 {
            tx.on_message(
                &Message::RetxRange(RetxRange {
                    slot: 0,
                    xid: 1,
                    pidx: 0,
                    round: 0,
                }),
                0,
            );
            assert_eq!(rx.handle(old_data.as_ref().unwrap(), 0), []);
            assert_eq!(rx.stats().dropped(DropReason::StaleGen), 1);
        }
        for _ in 0..2 {
            let data = tx.next_packet(0).unwrap().msg;
            old_data.get_or_insert(data.clone());
            let Some(Output::Write(write)) = rx.handle(&data, 0).first().cloned() else {
                panic!()
            };
            for output in rx.handle_write_done(write.wptr, write.r#gen) {
                if let Output::Send { msg, .. } = output {
                    tx.on_message(&msg, 0);
                }
            }
        }
        assert_eq!(tx.take_completion().unwrap().outcome, Outcome::Ok);
    }
    assert_eq!(tx.stats().ignored, 1);
}

/// Packets that a sender puts on the line for 2,000 useful ones, nothing lost, through a port that others have the most of: it
/// takes a packet of this transfer every `others + 1` ticks, and stands still for `burst` ticks now and then. The sender is told
/// of a round trip of 20 ticks.
fn sent_through_a_queue(others: u64, burst: u64) -> u64 {
    let mut free = 0;
    let fate = move |msg: &Message, now: u64| {
        if !msg.to_receiver() {
            return vec![0];
        }
        if burst > 0 && now % 700 < burst {
            free = free.max(now - now % 700 + burst);
        }
        let leaves = now.max(free);
        free = leaves + others + 1;
        vec![leaves - now]
    };
    let tx = SenderConfig {
        rtt_ticks: 20,
        allowance_ticks: 2,
        retry_ticks: 28,
        poll_ticks: 44,
        stall_poll_ticks: 2,
        ..Default::default()
    };
    let rx = ReceiverConfig {
        w: 64,
        allowance: 2,
        allowance_ticks: 2,
        retry_ticks: 28,
        // Longer than the pause between two packets.
        tail_ticks: 4 + 2 * others as u16,
        ..Default::default()
    };
    let mut net = Net::new(tx, rx, 10, fate);
    net.tx.start(request(2_000), 0).unwrap();
    assert!(net.run(100_000, |net| !net.ended.is_empty()));
    assert_eq!(net.ended[0].1.outcome, Outcome::Ok);
    net.tx.stats().data()
}

#[test]
fn rw_12_what_stands_in_queues_is_not_sent_again() {
    for others in [1, 3, 15] {
        assert_eq!(sent_through_a_queue(others, 0), 2_000, "beside {others}");
    }
    for burst in [40, 100] {
        assert_eq!(sent_through_a_queue(1, burst), 2_000, "pauses of {burst}");
    }
}

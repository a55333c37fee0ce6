//! Node numbers of 20 bits (CL-1): two whose lowest 16 bits are the same are two nodes.

use tributary_protocol::card::command::{Command, Status};
use tributary_protocol::card::regs::{self, Counter};
use tributary_protocol::red::address::NODES;
use tributary_protocol::roce::{Link, decode};
use tributary_protocol::xud::wire::{self, Ack, Echo, Packet, Reply};
use tributary_protocol::xud::{Outcome, Peer};

use crate::bench::{DATA, DATA_KEY, Host, exchange, work};

const LOGS: [u8; 3] = [3, 3, 4];
const HERE: u32 = 0x5_0007;
const THERE: u32 = 0xA_0007;

fn pair() -> [Host; 2] {
    let mut hosts = [Host::new(HERE), Host::new(THERE)];
    hosts.iter_mut().for_each(|host| host.connect(1, LOGS));
    hosts
}

#[test]
fn cl_01_a_message_says_both_nodes_in_frame_and_completions() {
    let mut hosts = pair();
    hosts[1].post_receive(1, DATA, 64, DATA_KEY);
    let to = |node| Peer { node, qpn: 1 };
    hosts[0].post_send(1, &work(to(THERE), DATA, 5));
    hosts.iter_mut().for_each(Host::step);
    let frame = hosts[0].card.next_frame(0).unwrap();
    let link = decode(&frame).unwrap().link;
    assert_eq!(link, Link::between(HERE, THERE));
    assert_eq!(link.src_ip, [10, 5, 0, 7]);
    assert_eq!(link.dst_mac, [2, 0, 0xA0, 0, 0x70, 0]);
    hosts[1].card.receive_frame(&frame, 0);
    exchange(&mut hosts);
    assert_eq!(hosts[1].poll(1).unwrap().peer, to(HERE));
    let sent = hosts[0].poll(1).unwrap();
    assert_eq!((sent.peer, sent.status), (to(THERE), Outcome::Ok));
}

#[test]
fn cl_01_xud_03_an_acknowledgement_of_a_node_with_other_upper_bits_is_none() {
    let mut host = Host::new(HERE);
    host.connect(1, LOGS);
    let to = Peer {
        node: THERE,
        qpn: 1,
    };
    let request = work(to, DATA, 5);
    host.post_send(1, &request);
    host.step();
    let frame = host.card.next_frame(0).unwrap();
    let psn = decode(&frame).unwrap().bth.psn;
    let ack = Packet::Ack(Ack {
        dest_qp: 1,
        psn,
        reply: Reply::Ok,
        echo: Some(Echo {
            window: request.window,
            flags: 0,
            qpn: 1,
        }),
        marked: false,
    });
    for (bit, from) in (16..20).map(|bit| (bit, THERE ^ 1 << bit)) {
        let frame = wire::encode_frame(&Link::between(from, HERE), &ack).unwrap();
        host.card.receive_frame(&frame, 0);
        host.step();
        assert_eq!(host.count(Counter::AckSource), bit - 15);
        assert!(host.poll(1).is_none());
    }
    let frame = wire::encode_frame(&Link::between(THERE, HERE), &ack).unwrap();
    host.card.receive_frame(&frame, 0);
    host.step();
    assert_eq!(host.outcomes(1), [Outcome::Ok]);
}

#[test]
fn cl_01_larger_numbers_are_refused_by_register_command_and_frame() {
    let mut host = Host::new(HERE);
    let before = host.count(Counter::BadWrite);
    host.write(&regs::NODE, NODES);
    assert_eq!(host.read(&regs::NODE), HERE);
    assert_eq!(host.count(Counter::BadWrite), before + 1);
    host.create(1, LOGS);
    let open = |host: &mut Host, node| host.command(Command::OpenWindow, 0, &[1, node, 1, 1]).0;
    assert_eq!(open(&mut host, NODES), Status::BadArgument);
    assert_eq!(open(&mut host, NODES - 1), Status::Ok);
    let ack = Packet::Ack(Ack {
        dest_qp: 1,
        psn: 0,
        reply: Reply::Ok,
        echo: None,
        marked: false,
    });
    for bit in 4..8 {
        let mut link = Link::between(THERE, HERE);
        link.src_ip[1] |= 1 << bit;
        let bad = host.count(Counter::BadFrame);
        let frame = wire::encode_frame(&link, &ack).unwrap();
        host.card.receive_frame(&frame, 0);
        assert_eq!(host.count(Counter::BadFrame), bad + 1, "bit {bit}");
    }
}

//! Bus mastering taken away: all that needs host memory waits.

use tributary_protocol::card::command::{Command, Status};
use tributary_protocol::card::model::PciState;
use tributary_protocol::card::regs::{self, Counter, doorbell};
use tributary_protocol::xud::{Outcome, Peer};

use crate::bench::{DATA, DATA_KEY, Host, MSI, exchange, work};

/// Clocks of 8 ns after which a command that waits is given up.
const PATIENCE: u64 = 8 << 23;

fn set_bus_master(host: &mut Host, bus_master: bool) {
    host.card.set_pci(PciState {
        bus_master,
        ..PciState::default()
    });
}

/// Two cards; a message for the second, which may not reach its memory, has arrived there.
fn silent() -> [Host; 2] {
    let mut hosts = [0, 1].map(Host::new);
    for host in &mut hosts {
        host.connect(1, [4, 4, 5]);
        host.card.write(regs::MSIX_TABLE + 16, MSI as u32);
        host.card.write(regs::MSIX_TABLE + 20, (MSI >> 32) as u32);
        host.card.write(regs::MSIX_TABLE + 28, 0);
    }
    hosts[1].post_receive(1, DATA, 64, DATA_KEY);
    exchange(&mut hosts);
    hosts[1].memory.accesses.clear();
    set_bus_master(&mut hosts[1], false);
    let mut request = work(Peer { node: 1, qpn: 1 }, DATA, 64);
    request.window.epoch = 1;
    hosts[0].post_send(1, &request);
    hosts[1].card.write(doorbell(1, &regs::DOORBELL_ARM), 0);
    exchange(&mut hosts);
    hosts
}

fn status(host: &Host) -> (u32, u32) {
    let status = host.read(&regs::STATUS);
    (regs::STATUS_BUSY.get(status), regs::STATUS_CODE.get(status))
}

fn start(host: &mut Host, command: Command, index: u32) {
    host.write(&regs::COMMAND, u32::from(command.code()) | index << 8);
    host.step();
}

#[test]
fn xud_04_what_may_not_be_written_is_neither_acknowledged_nor_interrupted_for() {
    let mut hosts = silent();
    assert!(hosts[1].memory.accesses.is_empty());
    assert_eq!(hosts[1].count(Counter::AcksSent), 0);
    assert_eq!(hosts[0].outcomes(1), []);
    set_bus_master(&mut hosts[1], true);
    exchange(&mut hosts);
    assert_eq!(hosts[0].outcomes(1), [Outcome::Ok]);
    assert_eq!(hosts[1].outcomes(1), [Outcome::Ok]);
    assert_eq!(hosts[1].memory.interrupts.len(), 1);
    // Now one falls due while it may not be sent.
    set_bus_master(&mut hosts[1], false);
    hosts[1].card.write(doorbell(1, &regs::DOORBELL_ARM), 0);
    hosts[1].step();
    assert_eq!(hosts[1].card.read(regs::MSIX_PENDING), 1 << 1);
    assert_eq!(hosts[1].count(Counter::Interrupts), 1);
    set_bus_master(&mut hosts[1], true);
    hosts[1].step();
    assert_eq!(hosts[1].card.read(regs::MSIX_PENDING), 0);
    assert_eq!(hosts[1].memory.interrupts.len(), 2);
}

#[test]
fn a_command_that_needs_a_card_at_rest_waits_and_is_given_up_in_the_end() {
    let args = |host: &mut Host, words: &[u32]| {
        for (at, word) in words.iter().enumerate() {
            host.card
                .write(u32::from(regs::ARG0) + 4 * at as u32, *word);
        }
    };
    for (command, index) in [
        (Command::DestroyQp, 1),
        (Command::ClearRegion, 3),
        (Command::OpenWindow, 0),
        (Command::CloseWindow, 0),
    ] {
        let [_, mut host] = silent();
        args(&mut host, &[1, 0, 1, 1]);
        start(&mut host, command, index);
        assert_eq!(status(&host).0, 1, "{command:?}");
        host.now += PATIENCE;
        host.step();
        assert_eq!(status(&host).0, 1, "{command:?}");
        host.now += 1;
        host.step();
        let given_up = (0, u32::from(Status::NotIdle.code()));
        assert_eq!(status(&host), given_up, "{command:?}");
        // It may be given again, and ends when the card may reach memory.
        start(&mut host, command, index);
        assert_eq!(status(&host).0, 1, "{command:?}");
        set_bus_master(&mut host, true);
        host.step();
        assert_eq!(status(&host), (0, 0), "{command:?}");
        assert!(!host.memory.accesses.is_empty(), "the message came first");
    }
}

#[test]
fn commands_that_are_refused_or_need_no_rest_do_not_wait() {
    let [_, mut host] = silent();
    for (command, index, status) in [
        (Command::DestroyQp, 2, Status::BadState),
        (Command::DestroyQp, 99, Status::BadIndex),
        (Command::ClearRegion, 99, Status::BadIndex),
        (Command::CloseWindow, 256, Status::BadIndex),
        (Command::QueryQp, 1, Status::Ok),
        (Command::NextEpoch, 1, Status::Ok),
    ] {
        assert_eq!(host.command(command, index, &[]).0, status, "{command:?}");
    }
    // With nothing under way a card needs no memory to end a queue pair.
    let mut host = Host::new(0);
    host.connect(1, [4, 4, 5]);
    set_bus_master(&mut host, false);
    assert_eq!(host.command(Command::DestroyQp, 1, &[]).0, Status::Ok);
}

#[test]
fn a_reset_forgets_a_command_that_waits_and_what_it_waits_for() {
    let [_, mut host] = silent();
    start(&mut host, Command::DestroyQp, 1);
    host.card.reset();
    assert_eq!(status(&host), (0, 0));
    set_bus_master(&mut host, true);
    host.step();
    assert!(host.memory.accesses.is_empty());
}

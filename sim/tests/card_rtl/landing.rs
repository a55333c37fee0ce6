//! When acknowledgements leave, clock by clock.

use std::sync::OnceLock;

use tributary_hdl::catalog;
use tributary_protocol::card::descriptor::Of;
use tributary_protocol::xud::Outcome;
use tributary_protocol::xud::wire::{self, Packet, Reply};
use tributary_sim::card::Node;
use tributary_sim::pcie::Config;
use tributary_sim::testbench::stall::Profile;
use tributary_sim::verilate::{BuildOptions, Verilated};

use super::back_to_back::Pair;
use super::{library, long, seed};

/// Messages of a run.
const COUNT: u16 = 200;
/// Of these under way at once: fewer than the receive requests that a card reads ahead, else most end in RNR.
const UNDER_WAY: u16 = 8;
/// Clocks without anything new after which a run is over.
const QUIET: u64 = 20_000;

/// What one card has done so far.
#[derive(Default)]
struct Side {
    /// Work requests that have ended.
    ended: u16,
    /// Completions of received messages in host memory.
    landed: u64,
    /// The same when the frame that is on the line began.
    landed_at_begin: u64,
    /// Acknowledgements OK that have left.
    acknowledged: u64,
    /// Clocks in which there were more completions than acknowledgements: the rule is tested only then.
    apart: u64,
}

/// Messages both ways over cards like this; what each card has done, or how it broke XUD-4.
fn run(library: &Verilated, fault: u64, config: &Config, length: u32) -> Result<[Side; 2], String> {
    let mut pair = Pair::of(library, config);
    for host in &mut pair.hosts {
        if fault > 0 {
            let model = host.card.model();
            let port = model.port("fault").unwrap();
            model.set(port, fault);
        }
        host.receives(COUNT, 4096);
    }
    (0..4_000).for_each(|_| pair.clock());
    let mut sides = [(); 2].map(|()| Side::default());
    for host in &mut pair.hosts {
        host.sends(COUNT, 8, length);
        host.ring(UNDER_WAY);
    }
    let mut quiet = 0;
    while quiet < QUIET {
        quiet += 1;
        for (at, side) in sides.iter_mut().enumerate() {
            let host = &mut pair.hosts[at];
            let between = !host.card.is_sending();
            host.card.clock(Some(&mut host.memory));
            if between && host.card.is_sending() {
                side.landed_at_begin = side.landed;
            }
            for completion in host.poll() {
                quiet = 0;
                let known = [Outcome::Ok, Outcome::RemoteRnr];
                assert!(known.contains(&completion.status), "{completion:?}");
                if completion.of == Of::Receive {
                    side.landed += 1;
                } else {
                    side.ended += 1;
                    host.ring(COUNT.min(side.ended + UNDER_WAY));
                }
            }
            while let Some(frame) = pair.hosts[at].card.next_frame(0) {
                let (_, packet) = wire::decode_frame(&frame).unwrap();
                if let Packet::Ack(ack) = packet
                    && ack.reply == Reply::Ok
                {
                    side.acknowledged += 1;
                    if side.acknowledged > side.landed_at_begin {
                        return Err(format!(
                            "acknowledgement {} of node {at} began to leave when {} completions were in memory",
                            side.acknowledged, side.landed_at_begin,
                        ));
                    }
                }
                pair.hosts[1 - at].card.receive_frame(&frame, 0);
            }
            side.apart += u64::from(side.landed > side.acknowledged);
        }
    }
    pair.check();
    Ok(sides)
}

/// A host that answers after a while, and stalls in so many of 256 clocks.
fn host(seed: u64, stall: u32) -> Config {
    Config {
        seed,
        stall: Profile::Independent(stall),
        latency: 20..=300,
        ..Config::default()
    }
}

/// Stalls, and bytes of a message behind its head.
const KINDS: [(u32, u32); 4] = [(0, 0), (60, 64), (160, 500), (220, 8)];

#[test]
fn xud_04_no_acknowledgement_leaves_before_its_completion_is_in_memory() {
    let runs = if long() { 40 } else { 2 };
    for seed in seed()..seed() + runs {
        for (stall, length) in KINDS {
            let sides = run(library(), 0, &host(seed, stall), length);
            for side in sides.unwrap_or_else(|wrong| panic!("seed {seed}: {wrong}")) {
                println!(
                    "seed {seed}, stall {stall}: {} completions, {} acknowledgements, {} clocks apart",
                    side.landed, side.acknowledged, side.apart
                );
                assert_eq!(side.landed, side.acknowledged);
                assert!(side.landed > u64::from(COUNT) * 9 / 10 && side.apart > 0);
            }
        }
    }
}

/// What takes the place of the card's `cq_m_landed`.
const FAULTS: [(&str, &str); 4] = [
    ("completion handed over", "recv_m_rx_valid & cq_s_rx_ready"),
    (
        "writing has begun",
        "cq_m_wr_valid & write_mux_s_req_ready_1 & cq_m_wr_ctx[12]",
    ),
    (
        "payload written",
        "write_m_done_valid & (write_m_done_ctx[15:13] == 3'd0)",
    ),
    (
        "any completion written",
        "write_m_done_valid & (write_m_done_ctx[15:13] == 3'd1)",
    ),
];

/// The fault that follows: numbers of writes are taken for those of before each other reset.
pub const NO_LAP: u64 = FAULTS.len() as u64 + 1;

/// The card with all of them; input `fault` chooses one, counted from 1.
pub fn wrong_card() -> &'static Verilated {
    static CARD: OnceLock<Verilated> = OnceLock::new();
    CARD.get_or_init(build_wrong_card)
}

fn build_wrong_card() -> Verilated {
    let design = catalog::choose("card", &[("Q", 16), ("R", 32), ("F", 64)])
        .unwrap()
        .emit()
        .unwrap();
    let mut files = design.files();
    let landed = FAULTS
        .iter()
        .zip(1..)
        .fold("cq_m_landed".to_owned(), |right, ((_, wrong), number)| {
            format!("(fault == 8'd{number}) ? ({wrong}) : ({right})")
        });
    let core = design.top.replace("card", "card_core");
    let header = |module: &str| {
        (
            format!("module {module} ("),
            format!("module {module} (\n    input wire [7:0] fault,"),
        )
    };
    for (old, new) in [
        header(&design.top),
        (
            format!("    {core} core ("),
            format!("    {core} core (\n        .fault (fault),"),
        ),
        header(&core),
        (
            ".landed             (cq_m_landed)".to_owned(),
            format!(".landed ({landed})"),
        ),
        (
            ".s_lap        (write_m_tx_wr_req_tlp_seq[5])".to_owned(),
            format!(".s_lap (write_m_tx_wr_req_tlp_seq[5] & fault != 8'd{NO_LAP})"),
        ),
    ] {
        let mut places = files.iter_mut().filter(|(_, text)| text.contains(&old));
        let (Some((_, text)), None) = (places.next(), places.next()) else {
            panic!("not in one file: {old}");
        };
        assert_eq!(text.matches(&old).count(), 1, "{old}");
        *text = text.replace(&old, &new);
    }
    let options = BuildOptions::new(&design.top, &files)
        .with_random_init(true)
        .with_checks();
    Verilated::build(&options).unwrap()
}

#[test]
fn xud_04_cards_that_acknowledge_too_early_are_noticed() {
    let library = wrong_card();
    for (stall, length) in KINDS {
        run(library, 0, &host(7, stall), length).expect("none is chosen");
    }
    for (fault, (name, _)) in (1..).zip(FAULTS) {
        let noticed = KINDS.map(|(stall, length)| {
            let wrong = run(library, fault, &host(7, stall), length).err();
            println!("{name}, stall {stall}: {wrong:?}");
            wrong.is_some()
        });
        assert!(noticed.contains(&true), "{name}");
    }
}

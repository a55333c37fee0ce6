//! card_read_mux: four clients of the read engine take turns, and words come back to whom they belong.

use rand::RngExt;
use tributary_hdl::card::CardReadMux;
use tributary_sim::testbench::{Stalls, number, profiles};

use super::ports::{Group, Record, build, rng};

/// Context of the reads of one-sided operations.
const ONE_SIDED: u64 = 0xC000;
/// And of bulk transfers.
const BULK: u64 = 0x4001;

/// Long form: `TRIBUTARY_FRAMES=1000000 cargo test --release -p tributary-hdl --test card_joints requests_pass -- --nocapture`.
#[test]
fn requests_pass_once_in_turns_and_what_is_offered_stays() {
    let library = build(CardReadMux::default());
    let clients = ["a", "b", "c", "d"].map(|prefix| Group::of(&library, prefix));
    let m = Group::of(&library, "m");
    let mut passed = [0; 4];
    profiles("card_read_mux: requests", |seed| {
        let mut stalls = Stalls::of_seed(seed, 1);
        let (mut rng, mut model) = (rng(seed), library.model_with_seed(seed).unwrap());
        model.reset(2).unwrap();
        let rst = model.port("rst").unwrap();
        let busy = [(); 4].map(|()| rng.random_range(1..=10));
        let mut offered: [Option<Record>; 4] = [const { None }; 4];
        // How many have passed each that waits: of the two that take turns, of these and of bulk transfers, of all.
        let mut behind = [[0; 3]; 4];
        let (mut count, mut moved) = (0, 0);
        for clock in 0..7_000 {
            let place = format!("{stalls}, clock {clock}");
            let reset = rng.random_range(0..900) == 0;
            model.set(rst, reset.into());
            for (i, client) in clients.iter().enumerate() {
                if reset {
                    offered[i] = None;
                } else if offered[i].is_none() && rng.random_range(0..10) < busy[i] {
                    offered[i] = Some(client.draw(&mut rng));
                    behind[i] = [0; 3];
                }
                client.offer(&mut model, &mut rng, offered[i].as_ref());
            }
            stalls.clock();
            let ready = stalls.ready(0);
            m.set_ready(&mut model, ready);
            model.eval().unwrap();
            let out = m.offered(&model);
            stalls.observe(0, out.is_some(), true);
            let takes = |i: usize| offered[i].is_some() && clients[i].is_ready(&model);
            let taken: Vec<usize> = (0..4).filter(|&i| takes(i)).collect();
            if reset {
                model.clock().unwrap();
                moved = clock;
                continue;
            }
            let passes = usize::from(out.is_some() && ready);
            assert_eq!(taken.len(), passes, "{place}");
            if let Some(&one) = taken.first() {
                let mut record = offered[one].take().unwrap();
                match one {
                    2 => drop(record.insert("ctx".to_owned(), vec![ONE_SIDED])),
                    3 => drop(record.insert("ctx".to_owned(), vec![BULK])),
                    _ => {}
                }
                assert_eq!(out, Some(record), "{place}: of client {one}");
                for other in (0..4).filter(|&i| offered[i].is_some()) {
                    behind[other][0] += u32::from(one < 2);
                    behind[other][1] += u32::from(one != 2);
                    behind[other][2] += 1;
                }
                assert!(
                    behind[0][0] < 2 && behind[1][0] < 2,
                    "{place}: not in turns"
                );
                assert!(behind[3][1] < 2, "{place}: bulk transfers wait");
                assert!(
                    behind[0][1] < 4 && behind[1][1] < 4,
                    "{place}: bulk transfers take more than their turns"
                );
                assert!(behind[2][2] < 2, "{place}: one-sided operations wait");
                passed[one] += 1;
                count += 1;
                moved = clock;
            }
            if offered.iter().all(Option::is_none) {
                moved = clock;
            }
            let patience = 3 * u64::from(stalls.profile().pause()) + 400;
            assert!(clock - moved < patience, "{place}: nothing moves");
            model.clock().unwrap();
        }
        count
    });
    if number("TRIBUTARY_SEED").is_none() {
        assert!(passed.iter().all(|&count| count > 500), "{passed:?}");
    }
}

#[test]
fn words_go_to_their_client_and_to_no_other() {
    let library = build(CardReadMux::default());
    let mut model = library.model().unwrap();
    model.reset(2).unwrap();
    let port = |name: &str| library.port(name).unwrap();
    let ready = ["wq_ready", "pl_ready", "rr_ready"].map(port);
    let valid = ["wq_valid", "pl_valid", "rr_valid", "os_valid", "bk_valid"].map(port);
    for client in 0..5 {
        for bits in 0..16u32 {
            let bit = |i: usize| bits >> i & 1 == 1;
            // Bulk transfers are those of the payload that say so; of others the bit means nothing.
            model.set(port("s_data_client"), [0, 1, 2, 3, 1][client]);
            let bulk = client == 4 || client != 1 && bits & 1 == 1;
            model.set(port("s_data_bulk"), bulk.into());
            model.set(port("s_data_valid"), bit(3).into());
            for (i, ready) in ready.into_iter().enumerate() {
                model.set(ready, bit(i).into());
            }
            model.eval().unwrap();
            for (i, valid) in valid.into_iter().enumerate() {
                assert_eq!(model.is_set(valid), bit(3) && i == client);
            }
            // One-sided operations and bulk transfers take every word.
            let taken = client >= 3 || bit(client);
            assert_eq!(model.is_set(port("s_data_ready")), taken);
        }
    }
}

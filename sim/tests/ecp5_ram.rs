//! `ram_reg` of ECP5, in LUTs, PDPW16KD and DP16KD, against the memory that other tools infer.

use rand::{RngExt, SeedableRng, rngs::SmallRng};
use tributary_hdl::blocks::RamReg;
use tributary_hdl::emit::emit_block;
use tributary_hdl::prelude::Block;
use tributary_sim::verilate::{BuildOptions, Model, Verilated};

const DP16KD: &str = include_str!("models/dp16kd.v");
const PDPW16KD: &str = include_str!("models/pdpw16kd.v");

fn model(files: &[(String, String)], top: &str, ecp5: bool) -> Model {
    let mut files = files.to_vec();
    if ecp5 {
        files.push(("pdpw16kd.v".to_owned(), PDPW16KD.to_owned()));
        files.push(("dp16kd.v".to_owned(), DP16KD.to_owned()));
    }
    let mut options = BuildOptions::new(top, &files);
    if ecp5 {
        options = options.with_define("TRIBUTARY_ECP5", "1");
    }
    Verilated::build(&options).unwrap().model().unwrap()
}

fn compare<B: Block + Default>(width: u32, address_bits: u32) {
    let design = emit_block(&mut B::default()).unwrap();
    let files = design.files();
    let mut inferred = model(&files, &design.top, false);
    let mut columns = model(&files, &design.top, true);
    let mut rng = SmallRng::seed_from_u64(u64::from(width * 100 + address_bits));
    let mask = if width == 64 {
        u64::MAX
    } else {
        (1 << width) - 1
    };
    let mut differs_from_zero = 0;
    for clock in 0..4000 {
        let last = (1u64 << address_bits) - 1;
        // Few addresses, from both ends of the memory, so that words are read back.
        let mut address = || {
            let near = rng.random_range(0..8u64);
            if rng.random_range(0..2) == 0 {
                near & last
            } else {
                last - (near & last)
            }
        };
        let (read, write) = (address(), address());
        // A word written in the clock in which it is read is undefined.
        let enable = u64::from(read != write && rng.random_range(0..4) != 0);
        let data = rng.random_range(0..=u64::MAX) & mask;
        for m in [&mut inferred, &mut columns] {
            let ports =
                ["rd_addr", "wr_addr", "wr_en", "wr_data"].map(|name| m.port(name).unwrap());
            for (port, value) in ports.into_iter().zip([read, write, enable, data]) {
                m.set(port, value);
            }
            m.clock().unwrap();
        }
        let [a, b] = [&inferred, &columns].map(|m| m.get(m.port("rd_data").unwrap()));
        assert_eq!(a, b, "{width} x 2^{address_bits}, clock {clock}");
        differs_from_zero += u32::from(a != 0);
    }
    assert!(differs_from_zero > 1000, "the memories were hardly used");
}

#[test]
fn ecp5_columns_of_every_width_equal_the_inferred_memory() {
    compare::<RamReg<64, 6>>(64, 6);
    compare::<RamReg<64, 9>>(64, 9);
    compare::<RamReg<36, 9>>(36, 9);
    compare::<RamReg<7, 1>>(7, 1);
    compare::<RamReg<64, 4>>(64, 4);
    compare::<RamReg<37, 5>>(37, 5);
    compare::<RamReg<40, 10>>(40, 10);
    compare::<RamReg<38, 10>>(38, 10);
    compare::<RamReg<20, 11>>(20, 11);
    compare::<RamReg<54, 12>>(54, 12);
    compare::<RamReg<5, 13>>(5, 13);
}

//! `cargo xtask board`: bitstreams for boards: with an ECP5 by open tools alone, with an FPGA of AMD by Vivado where it is
//! installed.
//!
//! A board is a folder of `constraints/`. With an ECP5: `board.toml` (the device, the clocks, the designs), `top.v` (what
//! stands between the generated block of a design and the pads), `pins.lpf` (pins and their clocks). With Vivado:
//! `board.toml` and a script that builds a design from nothing. Everything is built in `target/board/BOARD/DESIGN`.

mod description;
mod timing;
mod vivado;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};
use tributary_fpga::{rams, sites};

use crate::process::{run_loudly, run_quietly, shown};
use crate::{tools, workspace};
use description::{Board, Design, Flow, Generated, Nextpnr};

/// What is done.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Task {
    /// The boards there are.
    List,
    /// Make a bitstream: Verilog, Yosys, nextpnr, a verdict for each clock, ecppack; or Vivado and the board's script.
    Build {
        /// The board, as `list` names it.
        board: String,
        /// The design, as `list` names it; without a name the first one.
        #[arg(long)]
        design: Option<String>,
        /// Seed of nextpnr's placement, otherwise that of `board.toml`.
        #[arg(long)]
        seed: Option<u32>,
        /// The program `tributary` that writes the Verilog; otherwise `cargo run --release`.
        #[arg(long, value_name = "PROGRAM")]
        generator: Option<PathBuf>,
        /// A new folder in which it is built, instead of `target/board/BOARD/DESIGN`.
        #[arg(long, value_name = "FOLDER")]
        out: Option<PathBuf>,
    },
    /// Load the bitstream into the board with openFPGALoader.
    Load {
        /// The board, as `list` names it.
        board: String,
        /// The design, as `list` names it; without a name the first one.
        #[arg(long)]
        design: Option<String>,
    },
}

/// Does it.
pub fn run(task: &Task) -> Result<()> {
    match task {
        Task::List => list(),
        Task::Build {
            board,
            design,
            seed,
            generator,
            out,
        } => build(
            board,
            design.as_deref(),
            *seed,
            generator.as_deref(),
            out.as_deref(),
        ),
        Task::Load { board, design } => load(board, design.as_deref()),
    }
}

fn list() -> Result<()> {
    for name in description::names()? {
        let board = Board::read(&name)?;
        let designs: Vec<&dyn Design> = match &board.flow {
            Flow::Nextpnr(flow) => {
                println!(
                    "{name}: {}, {} in {}, speed grade {}",
                    board.name, flow.device, flow.package, flow.speed
                );
                flow.design.iter().map(|design| design as _).collect()
            }
            Flow::Vivado(flow) => {
                println!("{name}: {}, {}, by Vivado", board.name, flow.part);
                flow.design.iter().map(|design| design as _).collect()
            }
        };
        for design in designs {
            println!("  {:<12} {}", design.name(), design.what());
        }
    }
    Ok(())
}

/// The folder in which a design for a board is built.
fn folder(name: &str, design: &dyn Design) -> PathBuf {
    workspace::root()
        .join("target/board")
        .join(name)
        .join(design.name())
}

fn build(
    name: &str,
    design: Option<&str>,
    seed: Option<u32>,
    generator: Option<&Path>,
    out: Option<&Path>,
) -> Result<()> {
    let board = Board::read(name)?;
    let place = |design: &dyn Design| match out {
        Some(out) if out.exists() => bail!("{} is there already", out.display()),
        Some(out) => Ok(std::path::absolute(out)?),
        None => Ok(folder(name, design)),
    };
    match &board.flow {
        Flow::Nextpnr(flow) => {
            let design = board.choose(&flow.design, design)?;
            let dir = place(design)?;
            build_ecp5(
                name,
                flow,
                design,
                seed.unwrap_or(design.seed),
                generator,
                &dir,
            )
        }
        Flow::Vivado(flow) => {
            if seed.is_some() || generator.is_some() {
                bail!(
                    "{name} is built by Vivado from rtl_out: there is no --seed and no --generator"
                );
            }
            let design = board.choose(&flow.design, design)?;
            let dir = place(design)?;
            vivado::build(name, flow, design, &dir)
        }
    }
}

fn build_ecp5(
    name: &str,
    flow: &Nextpnr,
    design: &Generated,
    seed: u32,
    generator: Option<&Path>,
    dir: &Path,
) -> Result<()> {
    let sites = ram_sites(flow, design)?;
    tools::install(false)?;
    let start = Instant::now();
    if dir.exists() {
        fs::remove_dir_all(dir).with_context(|| format!("cannot remove {}", dir.display()))?;
    }
    let rtl = dir.join("rtl");
    fs::create_dir_all(&rtl).with_context(|| format!("cannot create {}", rtl.display()))?;
    let mut gen_command = match generator {
        Some(program) => Command::new(program),
        None => {
            let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
            cargo
                .current_dir(workspace::root())
                .args(["run", "--release", "--quiet", "--"]);
            cargo
        }
    };
    gen_command
        .args(["gen", "--block", &design.block])
        .args(design.set.iter().flat_map(|size| ["--set", size]))
        .arg("--out")
        .arg(&rtl);
    run_quietly(&mut gen_command)?;
    let (module, sources) = gather(dir, &rtl, name)?;
    let code = user_code(dir, &sources, flow, design, seed)?;

    step(&start, "yosys");
    let script = format!(
        "read_verilog -D TRIBUTARY_ECP5 -D DESIGN={module} {}; synth_ecp5 -top {}; check -assert; write_json netlist.json",
        sources.join(" "),
        flow.top
    );
    tool(dir, "yosys", &["-q", "-l", "yosys.log", "-p", &script])?;

    let netlist = place_rams(dir, flow, design, &sites, &start)?;
    step(&start, "nextpnr");
    let mut more = vec!["--textcfg", "board.config", "--report", "report.json"];
    more.extend(design.router.iter().map(String::as_str));
    nextpnr(dir, flow, &netlist, seed, "nextpnr.log", &more)?;
    let verdict = timing::verdict(&dir.join("report.json"), &flow.clocks)?;
    print!("{verdict}");
    if !verdict.met() {
        bail!(
            "no bitstream of {} for {name} with seed {seed}: its clocks are not met; try another --seed",
            design.name
        );
    }

    step(&start, "ecppack");
    // It takes no other base.
    let decimal = code.to_string();
    let arguments = [
        "--compress",
        "--usercode",
        &decimal,
        "--input",
        "board.config",
        "--bit",
        "board.bit",
    ];
    tool(dir, "ecppack", &arguments)?;
    let bitstream = dir.join("board.bit");
    let bytes =
        fs::read(&bitstream).with_context(|| format!("ecppack left no {}", bitstream.display()))?;
    println!(
        "{}: {} bytes, USERCODE 0x{code:08x}, SHA-256 {}; {} s",
        workspace::shown(&bitstream),
        bytes.len(),
        hex(&Sha256::digest(&bytes)),
        start.elapsed().as_secs()
    );
    Ok(())
}

/// Sites of the device's block RAMs, if the design wants them placed first.
fn ram_sites(flow: &Nextpnr, design: &Generated) -> Result<Vec<rams::Site>> {
    if design.ram_rounds == 0 {
        return Ok(vec![]);
    }
    sites::ecp5(&flow.device).with_context(|| {
        format!(
            "the sites of the block RAMs of {} are not known: `ram_rounds` of {} must be 0",
            flow.device, design.name
        )
    })
}

/// Places everything as often as the design wants only to find sites for the block RAMs, and fixes them there; gives the
/// netlist to go on with.
fn place_rams(
    dir: &Path,
    flow: &Nextpnr,
    design: &Generated,
    sites: &[rams::Site],
    start: &Instant,
) -> Result<String> {
    let original = dir.join("netlist.json");
    let mut netlist = "netlist.json".to_owned();
    for round in 1..=design.ram_rounds {
        step(start, "nextpnr, for the sites of block RAMs");
        let more = ["--no-route", "--write", "placed.json"];
        nextpnr(dir, flow, &netlist, 1, &format!("rams-{round}.log"), &more)?;
        netlist = format!("rams-{round}.json");
        let fixed = rams::fixed(&original, &dir.join("placed.json"), sites)?;
        fs::write(dir.join(&netlist), fixed)
            .with_context(|| format!("cannot write {netlist} in {}", dir.display()))?;
    }
    Ok(netlist)
}

fn nextpnr(
    dir: &Path,
    flow: &Nextpnr,
    netlist: &str,
    seed: u32,
    log: &str,
    more: &[&str],
) -> Result<()> {
    let (seed, speed) = (seed.to_string(), flow.speed.to_string());
    let device = format!("--{}", flow.device);
    let mut arguments = vec![&device, "--package", &flow.package, "--speed", &speed];
    arguments.extend(["--lpf", "pins.lpf", "--seed", &seed, "--json", netlist]);
    arguments.extend(["--log", log, "--timing-allow-fail", "--quiet"]);
    arguments.extend(more);
    tool(dir, "nextpnr-ecp5", &arguments)
}

fn step(start: &Instant, what: &str) {
    eprintln!("{what} ({} s)", start.elapsed().as_secs());
}

/// Copies what was generated, and the board's own files, into one folder: the tools see nothing outside of it. Gives the
/// generated module and all sources.
fn gather(dir: &Path, rtl: &Path, name: &str) -> Result<(String, Vec<String>)> {
    let mut module = None;
    let mut sources = vec![];
    let entries = fs::read_dir(rtl).with_context(|| format!("cannot read {}", rtl.display()))?;
    for block in entries {
        let block = block?.path();
        module = block
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        let list = block.join("files.f");
        let list =
            fs::read_to_string(&list).with_context(|| format!("cannot read {}", list.display()))?;
        for file in list.lines() {
            copy(&block.join(file), &dir.join(file))?;
            sources.push(file.to_owned());
        }
    }
    let own = description::folder(name);
    for file in ["top.v", "pins.lpf"] {
        copy(&own.join(file), &dir.join(file))?;
    }
    sources.push("top.v".to_owned());
    let module = module.with_context(|| format!("nothing was generated in {}", rtl.display()))?;
    Ok((module, sources))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to)
        .with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    Ok(())
}

/// The first 32 bits of a hash of all that the bitstream is made from: sources, pins, device, seed, versions of the tools.
fn user_code(
    dir: &Path,
    sources: &[String],
    flow: &Nextpnr,
    design: &Generated,
    seed: u32,
) -> Result<u32> {
    let mut hash = Sha256::new();
    let files = sources.iter().map(String::as_str).chain(["pins.lpf"]);
    for file in files {
        let text = fs::read(dir.join(file)).with_context(|| format!("cannot read {file}"))?;
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    }
    let stamp = workspace::tools_dir().join("stamp");
    hash.update(fs::read(&stamp).with_context(|| format!("cannot read {}", stamp.display()))?);
    hash.update(format!(
        "{} {} {} {seed} {} {:?}",
        flow.device, flow.package, flow.speed, design.ram_rounds, design.router
    ));
    let hash = hash.finalize();
    Ok(u32::from_be_bytes([hash[0], hash[1], hash[2], hash[3]]))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn tool(dir: &Path, name: &str, arguments: &[&str]) -> Result<()> {
    let program = workspace::tools_dir().join("bin").join(name);
    run_quietly(Command::new(program).current_dir(dir).args(arguments))?;
    Ok(())
}

fn load(name: &str, design: Option<&str>) -> Result<()> {
    let board = Board::read(name)?;
    let flow = match &board.flow {
        Flow::Nextpnr(flow) => flow,
        Flow::Vivado(flow) => return vivado::load(name, board.choose(&flow.design, design)?),
    };
    let design = board.choose(&flow.design, design)?;
    let bitstream = folder(name, design).join("board.bit");
    if !bitstream.is_file() {
        bail!(
            "there is no {}; `cargo xtask board build {name} --design {}` makes it",
            workspace::shown(&bitstream),
            design.name
        );
    }
    if let Some(hint) = &flow.before_loading {
        println!("{hint}");
    }
    let mut command = Command::new("openFPGALoader");
    command
        .current_dir(workspace::root())
        .args(&flow.loader)
        .arg(workspace::shown(&bitstream));
    let installed = Command::new("openFPGALoader")
        .arg("--Version")
        .output()
        .is_ok();
    if !installed {
        bail!(
            "openFPGALoader is not installed; where it is, run `{}`",
            shown(&command)
        );
    }
    run_loudly(&mut command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_rams_are_placed_first_only_where_their_sites_are_known() {
        let board = Board::read("versa").unwrap();
        let Flow::Nextpnr(mut flow) = board.flow.clone() else {
            panic!("the Versa has an ECP5");
        };
        let nic = board.choose(&flow.design, Some("nic")).unwrap().clone();
        let repeater = board
            .choose(&flow.design, Some("repeater"))
            .unwrap()
            .clone();
        assert_eq!(ram_sites(&flow, &nic).unwrap().len(), 108);
        assert!(ram_sites(&flow, &repeater).unwrap().is_empty());
        flow.device = "25k".to_owned();
        let error = ram_sites(&flow, &nic).unwrap_err().to_string();
        assert!(
            error.contains("25k") && error.contains("`ram_rounds` of nic must be 0"),
            "{error}"
        );
        assert!(ram_sites(&flow, &repeater).is_ok());
    }
}

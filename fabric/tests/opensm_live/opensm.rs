//! OpenSM on the simulator ibsim: a subnet manager that was not written here.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tributary_fabric::{Group, Network};

const PATIENCE: Duration = Duration::from_secs(60);
/// OpenSM gives its own port the first.
const OPENSM_LID: &str = "1";
const HEADER: &str = "/usr/include/infiniband/umad.h";

/// What Debian's packages opensm, ibsim-utils and libibumad-dev install, and the program that joins ports to groups.
pub struct OpenSm {
    opensm: PathBuf,
    ibsim: PathBuf,
    /// Gives a program simulated ports instead of the kernel's.
    preload: PathBuf,
    join: PathBuf,
    folder: PathBuf,
}

/// A process that ends with its owner.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into()]);
    folders.map(|f| f.join(name)).find(|f| f.is_file())
}

fn preload() -> Option<PathBuf> {
    let folders = fs::read_dir("/usr/lib").ok()?.flatten();
    let files = folders.map(|f| f.path().join("umad2sim/libumad2sim.so"));
    files.into_iter().find(|f| f.is_file())
}

impl OpenSm {
    /// None if a part is not installed.
    pub fn find(folder: &Path) -> Option<Self> {
        let (opensm, ibsim, preload) = (program("opensm")?, program("ibsim")?, preload()?);
        let (compiler, true) = (program("cc")?, Path::new(HEADER).is_file()) else {
            return None;
        };
        fs::create_dir_all(folder).unwrap();
        let join = folder.join("join");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/opensm_live/join.c");
        let mut build = Command::new(compiler);
        build.arg("-o").arg(&join).arg(source).arg("-libumad");
        assert!(build.status().unwrap().success(), "join.c does not compile");
        Some(Self {
            opensm,
            ibsim,
            preload,
            join,
            folder: folder.to_owned(),
        })
    }

    /// OpenSM's dump of its multicast tables when all groups have been joined, in their order, by all their members.
    pub fn tables(&self, network: &Network, file: &str, engine: &str, groups: &[Group]) -> String {
        let folder = self.folder.join(format!("{}-{engine}", network.name()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let at = |name: &str| folder.join(name);
        fs::write(at("net"), file).unwrap();
        // Without a group of its own for IP, the first that is joined gets the first number.
        fs::write(at("partitions"), "Default=0x7fff : ALL=full, SELF=full;\n").unwrap();
        fs::write(at("options"), "force_log_flush TRUE\n").unwrap();
        let simulated = format!("tributary-{}", std::process::id());
        let mut ibsim = Command::new(&self.ibsim);
        ibsim.args(["-s", "-n"]).arg(at("net"));
        let _ibsim = Running(start(ibsim, &simulated, &at("ibsim.log")));
        std::thread::sleep(Duration::from_millis(500));
        let port = |of: usize| [("SIM_HOST", network.endnodes()[of].name.clone())];
        let mut opensm = Command::new(&self.opensm);
        // The simulated ports are files in the working folder.
        opensm.current_dir(&folder);
        opensm.args(["-R", engine, "-D", "0x43", "--console", "off", "-f"]);
        opensm
            .arg(at("log"))
            .arg("-F")
            .arg(at("options"))
            .arg("-P")
            .arg(at("partitions"));
        opensm
            .env("OSM_TMP_DIR", &folder)
            .env("OSM_CACHE_DIR", &folder);
        opensm.env("LD_PRELOAD", &self.preload).envs(port(0));
        let opensm = Running(start(opensm, &simulated, &at("opensm.log")));
        until("the subnet is up", &at("log"), || {
            fs::read_to_string(at("log")).is_ok_and(|log| log.contains("SUBNET UP"))
        });
        let mut joins = String::new();
        for (index, group) in groups.iter().enumerate() {
            for &member in group.endnodes() {
                // ibsim gives port p of a node the GUID of the node and p.
                let port = network.endnodes()[member as usize].guid + 1;
                joins += &format!("{index} {port:x}\n");
            }
        }
        let mut join = Command::new(&self.join);
        join.current_dir(&folder);
        join.arg(OPENSM_LID).env("IBSIM_SOCKNAME", &simulated);
        join.env("LD_PRELOAD", &self.preload).envs(port(1));
        let mut join = join.stdin(Stdio::piped()).spawn().unwrap();
        let mut input = join.stdin.take().unwrap();
        input.write_all(joins.as_bytes()).unwrap();
        drop(input);
        assert!(join.wait().unwrap().success(), "a join failed");
        // Trees that were made while members joined are made anew, from nothing, in the order of the groups.
        let sweeps = || {
            fs::read_to_string(at("log"))
                .unwrap_or_default()
                .matches("SUBNET UP")
                .count()
        };
        let before = sweeps();
        let hup = format!("kill -HUP {}", opensm.0.id());
        assert!(
            Command::new("sh")
                .args(["-c", &hup])
                .status()
                .unwrap()
                .success()
        );
        until("the subnet is up again", &at("log"), || sweeps() > before);
        let dump = || fs::read_to_string(at("opensm.mcfdbs")).unwrap_or_default();
        until("the tables are written", &at("log"), || {
            let text = dump();
            std::thread::sleep(Duration::from_millis(300));
            !text.is_empty() && text == dump()
        });
        dump()
    }
}

fn start(mut command: Command, simulated: &str, log: &Path) -> Child {
    let log = File::create(log).unwrap();
    let command = command
        .env("IBSIM_SOCKNAME", simulated)
        .stdin(Stdio::null());
    let command = command.stdout(log.try_clone().unwrap()).stderr(log);
    command.spawn().unwrap()
}

fn until(what: &str, log: &Path, done: impl Fn() -> bool) {
    let begun = Instant::now();
    while !done() {
        let log = log.display();
        assert!(
            begun.elapsed() < PATIENCE,
            "waited a minute: {what} ({log})"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}

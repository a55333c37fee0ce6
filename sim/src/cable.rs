//! Cables between programs, or to a board: whole Ethernet frames without FCS, which may get lost.

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

use pnet_datalink::{Channel, Config, DataLinkReceiver, DataLinkSender, channel, interfaces};

/// Bytes of the longest frame.
const LONGEST: usize = 9_018;
/// Bytes that may wait until the other program takes them; more frames are lost.
const WAITING: usize = 1 << 18;
/// Bytes that are read at a time.
const CHUNK: usize = 1 << 16;

/// An end of a cable. No call waits.
pub struct Cable(End);

enum End {
    Stream(Stream),
    Interface(Interface),
}

/// Frames on a Unix socket, each behind its length in 4 bytes, most significant first: as QEMU's `-netdev stream` has it.
struct Stream {
    socket: UnixStream,
    came: Vec<u8>,
    leaves: Vec<u8>,
}

/// A network interface of this machine.
struct Interface {
    sender: Box<dyn DataLinkSender>,
    receiver: Box<dyn DataLinkReceiver>,
}

impl Cable {
    /// Waits at a socket for the other end, which [`connect`](Self::connect)s.
    ///
    /// # Errors
    /// Of the socket.
    pub fn accept(listener: &UnixListener) -> io::Result<Self> {
        let (socket, _) = listener.accept()?;
        Self::stream(socket)
    }

    /// The other end of what [`accept`](Self::accept)s, or a QEMU that listens.
    ///
    /// # Errors
    /// Nobody listens.
    pub fn connect(path: &Path) -> io::Result<Self> {
        Self::stream(UnixStream::connect(path)?)
    }

    /// Both ends of a cable in one process.
    ///
    /// # Errors
    /// Of the operating system.
    pub fn pair() -> io::Result<(Self, Self)> {
        let (one, other) = UnixStream::pair()?;
        Ok((Self::stream(one)?, Self::stream(other)?))
    }

    fn stream(socket: UnixStream) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self(End::Stream(Stream {
            socket,
            came: vec![],
            leaves: vec![],
        })))
    }

    /// The cable at a network interface, with every frame that comes there. Needs CAP_NET_RAW.
    ///
    /// # Errors
    /// There is no such interface, or no right to it.
    pub fn interface(name: &str) -> io::Result<Self> {
        let all = interfaces();
        let interface = all.iter().find(|interface| interface.name == name);
        let Some(interface) = interface else {
            let names: Vec<_> = all.iter().map(|interface| &*interface.name).collect();
            let names = names.join(", ");
            return Err(io::Error::new(
                ErrorKind::NotFound,
                format!("there is no network interface `{name}`; there are {names}"),
            ));
        };
        let config = Config {
            read_timeout: Some(Duration::ZERO),
            read_buffer_size: CHUNK,
            write_buffer_size: CHUNK,
            ..Config::default()
        };
        match channel(interface, config)? {
            Channel::Ethernet(sender, receiver) => {
                Ok(Self(End::Interface(Interface { sender, receiver })))
            }
            _ => Err(io::Error::new(
                ErrorKind::Unsupported,
                format!("{name} is no Ethernet"),
            )),
        }
    }

    /// Sends a frame; one that finds no room is lost.
    ///
    /// # Errors
    /// The other end is gone.
    pub fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        match &mut self.0 {
            End::Stream(stream) => stream.send(frame),
            End::Interface(interface) => match interface.sender.send_to(frame, None) {
                Some(Err(error)) if !passes(&error) => Err(error),
                _ => Ok(()),
            },
        }
    }

    /// The next frame that has come.
    ///
    /// # Errors
    /// The other end is gone, or sends no frames.
    pub fn receive(&mut self) -> io::Result<Option<Vec<u8>>> {
        match &mut self.0 {
            End::Stream(stream) => stream.receive(),
            End::Interface(interface) => match interface.receiver.next() {
                Ok(frame) => Ok(Some(frame.to_vec())),
                Err(error) if passes(&error) => Ok(None),
                Err(error) => Err(error),
            },
        }
    }
}

/// Whether the other end of a cable is gone, and nothing else is wrong.
#[must_use]
pub fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe | ErrorKind::ConnectionReset
    )
}

/// Nothing is wrong, there is only nothing to do now.
fn passes(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
    )
}

impl Stream {
    fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        if self.leaves.len() < WAITING {
            self.leaves.extend((frame.len() as u32).to_be_bytes());
            self.leaves.extend(frame);
        }
        self.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        while !self.leaves.is_empty() {
            match self.socket.write(&self.leaves) {
                Ok(taken) => drop(self.leaves.drain(..taken)),
                Err(error) if passes(&error) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn receive(&mut self) -> io::Result<Option<Vec<u8>>> {
        self.flush()?;
        if let Some(frame) = self.frame()? {
            return Ok(Some(frame));
        }
        let mut chunk = [0; CHUNK];
        match self.socket.read(&mut chunk) {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                self.came.extend(&chunk[..count]);
                self.frame()
            }
            Err(error) if passes(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The first frame of what has come.
    fn frame(&mut self) -> io::Result<Option<Vec<u8>>> {
        let Some((length, rest)) = self.came.split_first_chunk::<4>() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes(*length) as usize;
        if length > LONGEST {
            return Err(io::Error::new(
                ErrorKind::InvalidData,
                format!("a frame of {length} bytes; {LONGEST} are the most"),
            ));
        }
        if rest.len() < length {
            return Ok(None);
        }
        let frame = rest[..length].to_vec();
        self.came.drain(..4 + length);
        Ok(Some(frame))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_arrive_whole_and_in_order_whatever_their_length() {
        let (mut one, mut other) = Cable::pair().unwrap();
        let frames: Vec<Vec<u8>> = (0..300usize)
            .map(|at| vec![at as u8; at * 30 % LONGEST])
            .collect();
        let mut came = vec![];
        for frame in &frames {
            one.send(frame).unwrap();
            came.extend(other.receive().unwrap());
        }
        while let Some(frame) = other.receive().unwrap() {
            came.push(frame);
        }
        assert_eq!(came, frames);
    }

    #[test]
    fn what_nobody_takes_is_lost_and_what_follows_arrives_whole() {
        let (mut one, mut other) = Cable::pair().unwrap();
        for at in 0..1_000u32 {
            one.send(&at.to_be_bytes().repeat(1_000)).unwrap();
        }
        let mut came = 0;
        loop {
            one.receive().unwrap();
            let Some(frame) = other.receive().unwrap() else {
                break;
            };
            assert!(frame.chunks(4).all(|part| part == &frame[..4]), "{came}");
            came += 1;
        }
        assert!((1..1_000).contains(&came), "{came}");
        one.send(b"the last one").unwrap();
        assert_eq!(other.receive().unwrap().unwrap(), b"the last one");
    }

    #[test]
    fn an_end_that_is_gone_and_one_that_sends_no_frames_are_errors() {
        let (mut one, other) = Cable::pair().unwrap();
        drop(other);
        assert_eq!(one.receive().unwrap_err().kind(), ErrorKind::UnexpectedEof);
        let (one, mut other) = Cable::pair().unwrap();
        let End::Stream(stream) = &one.0 else {
            unreachable!()
        };
        (&stream.socket).write_all(&[0xFF; 16]).unwrap();
        let error = other.receive().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData, "{error}");
    }

    #[test]
    fn interfaces_that_are_not_there_are_named_with_those_that_are() {
        let error = Cable::interface("no such one").err().unwrap().to_string();
        assert!(error.contains("there is no network interface"), "{error}");
        assert!(error.contains("lo"), "{error}");
    }
}

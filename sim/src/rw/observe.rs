//! Watching a transfer.

use std::io::Write;

use anyhow::{Context, Result};
use tributary_protocol::rw::{Completion, Message, SenderCompletion, WriteCmd};

use crate::link::Fate;

/// One of the two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Node 0, which has the bytes.
    Sender,
    /// Node 1, which wants them.
    Receiver,
}

impl End {
    /// Name in timelines and captures.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Receiver => "receiver",
        }
    }
}

/// Something that happened.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A node puts a message on its link.
    Sent {
        /// Which node.
        end: End,
        /// The message.
        message: &'a Message,
        /// It as bytes, in transfers of real bytes.
        frame: &'a [u8],
        /// What the link will do with it.
        fate: Fate,
    },
    /// A message has come out of a link.
    Arrived {
        /// At this node.
        end: End,
        /// The message.
        message: &'a Message,
        /// It as bytes, in transfers of real bytes.
        frame: &'a [u8],
    },
    /// The receiver writes a payload.
    Written(&'a WriteCmd),
    /// The receiver has ended the transfer.
    Completed(&'a Completion),
    /// The sender has ended the transfer.
    Ended(&'a SenderCompletion),
}

/// Is told everything that happens, in order.
pub trait Observer {
    /// Something happened in slot `now`.
    ///
    /// # Errors
    /// The observer cannot keep it; ends the simulation.
    fn event(&mut self, now: u64, event: &Event<'_>) -> Result<()>;
}

/// Every event as a line of text.
#[derive(Debug)]
pub struct Timeline<W: Write> {
    out: W,
}

impl<W: Write> Timeline<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> Self {
        Self { out }
    }

    /// Writes out what may still be kept back.
    ///
    /// # Errors
    /// `out` cannot be written.
    pub fn finish(mut self) -> Result<()> {
        self.out.flush().context("cannot write the time line")
    }
}

impl<W: Write> Observer for Timeline<W> {
    fn event(&mut self, now: u64, event: &Event<'_>) -> Result<()> {
        let line = match event {
            Event::Sent {
                end, message, fate, ..
            } => {
                let fate = match fate {
                    Fate::Lost => "lost".to_owned(),
                    Fate::Arrives {
                        due,
                        copy_due: None,
                    } => format!("arrives in slot {due}"),
                    Fate::Arrives {
                        due,
                        copy_due: Some(copy),
                    } => format!("arrives in slots {due} and {copy}"),
                };
                format!("{:8} sends  {message}, {fate}", end.name())
            }
            Event::Arrived { end, message, .. } => format!("{:8} takes  {message}", end.name()),
            Event::Written(write) => format!(
                "receiver writes packet {} at {:#x}, {} bytes",
                write.pidx, write.addr, write.len
            ),
            Event::Completed(done) => format!(
                "receiver completes slot={} xid={}: {}, {} bytes",
                done.slot, done.xid, done.status, done.length
            ),
            Event::Ended(done) => format!(
                "sender   ends   slot={} xid={}: {:?}",
                done.slot, done.xid, done.outcome
            ),
        };
        writeln!(self.out, "{now:>8} {line}").context("cannot write the time line")
    }
}

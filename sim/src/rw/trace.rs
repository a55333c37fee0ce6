//! The records that enter a receiver, and files of them.
//!
//! A trace file is text, one JSON object a line. The first line says what follows; then comes one
//! line per record, in the order in which they entered, with the slot they entered in:
//!
//! ```json
//! {"format":"tributary-rw-trace","version":1,"windows":64,"window_packets":256,"allowance":34,…}
//! {"slot":66,"record":{"connect":{"src":0,"slot":0,"xid":1,"incarnation":0,"length":4096,"addr":65536,"rkey":7,"mtu":9}}}
//! {"slot":259,"record":{"data":{"src":0,"wptr":0,"gen":1,"pidx":0,"tail":false,"round":0,"len":512}}}
//! {"slot":260,"record":{"write_done":{"wptr":0,"gen":1}}}
//! ```
//!
//! The timer sweep is no record: it visits every window once at the end of every slot, from slot 0
//! to that of the last record. Payload is not kept. Times in ticks, one tick is one slot.

use std::io::{BufRead, Write};

use serde::{Deserialize, Serialize};
use thiserror::Error;
use tributary_protocol::rw::{Abort, Connect, Data, Message, Poll, Reason, ReceiverConfig};

/// What the first line of a trace file has in `format`.
const FORMAT: &str = "tributary-rw-trace";
/// The only `version` so far.
const VERSION: u32 = 1;
/// Largest slot number: bounds the time that a replay takes.
const MAX_SLOT: u64 = (1 << 26) - 1;

/// Something that enters a receiver. Fields as in [`Message`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[allow(missing_docs)] // the fields are those of the messages
pub enum Record {
    /// [`Data`].
    Data {
        src: u32,
        wptr: u16,
        r#gen: u32,
        pidx: u32,
        tail: bool,
        round: u8,
        len: u16,
    },
    /// [`Connect`].
    Connect {
        src: u32,
        slot: u16,
        xid: u32,
        incarnation: u16,
        length: u32,
        addr: u64,
        rkey: u32,
        mtu: u8,
    },
    /// [`Poll`].
    Poll {
        src: u32,
        wptr: u16,
        r#gen: u32,
        slot: u16,
        xid: u32,
        seq: u16,
    },
    /// [`Abort`] of the sender; `reason` by its code.
    Abort {
        src: u32,
        slot: u16,
        xid: u32,
        reason: u8,
    },
    /// A write has become visible in host memory.
    WriteDone { wptr: u16, r#gen: u32 },
}

impl Record {
    /// The record that a message for receivers makes; `None` for messages to senders.
    #[must_use]
    pub fn from_message(message: &Message) -> Option<Self> {
        match *message {
            Message::Data(Data {
                src,
                wptr,
                r#gen,
                pidx,
                tail,
                round,
                len,
            }) => Some(Self::Data {
                src,
                wptr,
                r#gen,
                pidx,
                tail,
                round,
                len,
            }),
            Message::Connect(Connect {
                src,
                slot,
                xid,
                incarnation,
                length,
                addr,
                rkey,
                mtu,
            }) => Some(Self::Connect {
                src,
                slot,
                xid,
                incarnation,
                length,
                addr,
                rkey,
                mtu,
            }),
            Message::Poll(Poll {
                src,
                wptr,
                r#gen,
                slot,
                xid,
                seq,
            }) => Some(Self::Poll {
                src,
                wptr,
                r#gen,
                slot,
                xid,
                seq,
            }),
            Message::Abort(Abort {
                src,
                slot,
                xid,
                reason,
            }) => Some(Self::Abort {
                src,
                slot,
                xid,
                reason: reason.code(),
            }),
            Message::Complete(_)
            | Message::RetxOne(_)
            | Message::RetxRange(_)
            | Message::ConnectResp(_)
            | Message::Status(_)
            | Message::Unknown(_) => None,
        }
    }

    /// The message it stands for; as an error, window and generation of a write that is done.
    ///
    /// # Errors
    /// [`Record::WriteDone`].
    pub fn message(&self) -> Result<Message, (u16, u32)> {
        Ok(match *self {
            Self::Data {
                src,
                wptr,
                r#gen,
                pidx,
                tail,
                round,
                len,
            } => Message::Data(Data {
                src,
                wptr,
                r#gen,
                pidx,
                tail,
                round,
                len,
            }),
            Self::Connect {
                src,
                slot,
                xid,
                incarnation,
                length,
                addr,
                rkey,
                mtu,
            } => Message::Connect(Connect {
                src,
                slot,
                xid,
                incarnation,
                length,
                addr,
                rkey,
                mtu,
            }),
            Self::Poll {
                src,
                wptr,
                r#gen,
                slot,
                xid,
                seq,
            } => Message::Poll(Poll {
                src,
                wptr,
                r#gen,
                slot,
                xid,
                seq,
            }),
            Self::Abort {
                src,
                slot,
                xid,
                reason,
            } => Message::Abort(Abort {
                src,
                slot,
                xid,
                reason: Reason::from_code(reason).unwrap_or(Reason::GaveUp),
            }),
            Self::WriteDone { wptr, r#gen } => return Err((wptr, r#gen)),
        })
    }

    /// The first field that is wider than its place on the wire.
    fn check(&self) -> Result<(), String> {
        let fits = |name: &str, value: u32, max: u32| {
            if value <= max {
                Ok(())
            } else {
                Err(format!("{name} is {value}, the most is {max}"))
            }
        };
        match *self {
            Self::Data {
                r#gen,
                pidx,
                round,
                len,
                ..
            } => {
                fits("gen", r#gen, 0xFF_FFFF)?;
                fits("pidx", pidx, 0x3F_FFFF)?;
                fits("round", round.into(), 15)?;
                fits("len", len.into(), 4096)
            }
            Self::Poll { r#gen, .. } | Self::WriteDone { r#gen, .. } => {
                fits("gen", r#gen, 0xFF_FFFF)
            }
            Self::Abort { reason, .. } => match Reason::from_code(reason) {
                Some(_) => Ok(()),
                None => Err(format!(
                    "reason is {reason}, which no ABORT has: 0 to {}",
                    Reason::ALL.len() - 1
                )),
            },
            Self::Connect { .. } => Ok(()),
        }
    }
}

/// The first line of a trace file: format and the parameters of the receiver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    format: String,
    version: u32,
    /// R.
    pub windows: u32,
    /// W.
    pub window_packets: u32,
    /// Reorder allowance, packets.
    pub allowance: u32,
    /// Reorder allowance, ticks.
    pub allowance_ticks: u16,
    /// Round trip + allowance, ticks.
    pub retry_ticks: u16,
    /// Silence after which the tail is asked for, ticks.
    pub tail_ticks: u16,
    /// Silence after which a transfer is aborted, ticks.
    pub idle_ticks: u16,
    /// Retry hint of a BUSY answer, ticks.
    pub busy_hint: u16,
    /// How often each message leaves.
    #[serde(default = "one")]
    pub copies: u8,
}

/// Files without a number of copies are of a time when each message left once.
fn one() -> u8 {
    1
}

impl Header {
    /// The header for a receiver with these parameters.
    #[must_use]
    pub fn new(config: &ReceiverConfig) -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            windows: config.r,
            window_packets: config.w,
            allowance: config.allowance,
            allowance_ticks: config.allowance_ticks,
            retry_ticks: config.retry_ticks,
            tail_ticks: config.tail_ticks,
            idle_ticks: config.idle_ticks,
            busy_hint: config.busy_hint,
            copies: config.copies,
        }
    }

    /// Parameters for a receiver like the one recorded.
    #[must_use]
    pub fn config(&self) -> ReceiverConfig {
        ReceiverConfig {
            r: self.windows,
            w: self.window_packets,
            allowance: self.allowance,
            allowance_ticks: self.allowance_ticks,
            retry_ticks: self.retry_ticks,
            tail_ticks: self.tail_ticks,
            idle_ticks: self.idle_ticks,
            busy_hint: self.busy_hint,
            copies: self.copies,
            ..ReceiverConfig::default()
        }
    }
}

/// A record and the slot it entered in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Slot.
    pub slot: u64,
    /// What entered.
    pub record: Record,
}

/// A whole trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The receiver.
    pub header: Header,
    /// What entered it, slots ascending.
    pub entries: Vec<Entry>,
}

/// What is wrong with a trace file.
#[derive(Debug, Error)]
pub enum TraceError {
    /// A line that is not what it should be.
    #[error("line {line}: {what}")]
    Line {
        /// Counted from 1.
        line: usize,
        /// What is wrong and what would be right.
        what: String,
    },
    /// No lines at all.
    #[error("the file is empty; a trace starts with a line that has \"format\":\"{FORMAT}\"")]
    Empty,
    /// The file cannot be read.
    #[error("line {line} cannot be read")]
    Read {
        /// Counted from 1.
        line: usize,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

impl Trace {
    /// Reads a trace file.
    ///
    /// # Errors
    /// The first line that is wrong, by number.
    pub fn read(input: impl BufRead) -> Result<Self, TraceError> {
        let mut header = None;
        let mut entries: Vec<Entry> = Vec::new();
        for (index, text) in input.lines().enumerate() {
            let line = index + 1;
            let wrong = |what: String| TraceError::Line { line, what };
            let text = text.map_err(|source| TraceError::Read { line, source })?;
            if header.is_none() {
                header = Some(header_of(&text).map_err(wrong)?);
                continue;
            }
            let entry: Entry = parse(&text, "a record").map_err(wrong)?;
            entry.record.check().map_err(wrong)?;
            let last = entries.last().map_or(0, |entry| entry.slot);
            if entry.slot < last {
                return Err(wrong(format!(
                    "slot {} after slot {last}; slots never fall",
                    entry.slot
                )));
            }
            if entry.slot > MAX_SLOT {
                return Err(wrong(format!(
                    "slot is {}, the most is {MAX_SLOT}",
                    entry.slot
                )));
            }
            entries.push(entry);
        }
        Ok(Self {
            header: header.ok_or(TraceError::Empty)?,
            entries,
        })
    }

    /// Writes a trace file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, mut out: impl Write) -> std::io::Result<()> {
        serde_json::to_writer(&mut out, &self.header)?;
        out.write_all(b"\n")?;
        for entry in &self.entries {
            serde_json::to_writer(&mut out, entry)?;
            out.write_all(b"\n")?;
        }
        out.flush()
    }
}

fn header_of(text: &str) -> Result<Header, String> {
    let header: Header = parse(text, "the first line of a trace")?;
    if header.format != FORMAT {
        return Err(format!(
            "format is \"{}\", expected \"{FORMAT}\"",
            header.format
        ));
    }
    if header.version != VERSION {
        return Err(format!(
            "version is {}, this program reads version {VERSION}",
            header.version
        ));
    }
    header.config().check().map_err(|error| error.to_string())?;
    Ok(header)
}

/// A line as JSON. The parser counts lines of its own text, which is always line 1: only its
/// column is of use.
fn parse<'a, T: Deserialize<'a>>(text: &'a str, what: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| {
        let full = error.to_string();
        let reason = full
            .rsplit_once(" at line ")
            .map_or(full.as_str(), |(reason, _)| reason);
        format!("not {what}: column {}: {reason}", error.column())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace() -> Trace {
        let record = Record::Data {
            src: 1,
            wptr: 2,
            r#gen: 3,
            pidx: 4,
            tail: false,
            round: 0,
            len: 512,
        };
        let entries = vec![
            Entry { slot: 5, record },
            Entry {
                slot: 5,
                record: Record::WriteDone { wptr: 2, r#gen: 3 },
            },
            Entry {
                slot: 9,
                record: Record::Abort {
                    src: 1,
                    slot: 0,
                    xid: 9,
                    reason: 1,
                },
            },
        ];
        Trace {
            header: Header::new(&ReceiverConfig::default()),
            entries,
        }
    }

    fn text() -> String {
        let mut out = Vec::new();
        trace().write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn error(text: &str) -> String {
        Trace::read(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn what_was_written_is_read_back() {
        assert_eq!(Trace::read(text().as_bytes()).unwrap(), trace());
        assert_eq!(trace().header.config(), ReceiverConfig::default());
    }

    #[test]
    fn every_malformed_line_is_named_by_number_and_reason() {
        let good = text();
        assert!(error("").contains("empty"));
        assert!(
            error("hello\n")
                .starts_with("line 1: not the first line of a trace: column 1: expected value")
        );
        assert!(
            error(&good.replace(FORMAT, "pcap"))
                .starts_with("line 1: format is \"pcap\", expected")
        );
        assert!(error(&good.replace("\"version\":1", "\"version\":2")).contains("version is 2"));
        assert!(
            error(&good.replace("\"windows\":64", "\"windows\":0"))
                .starts_with("line 1: r = 0 is out of range")
        );
        assert!(
            error(&good.replace("\"pidx\":4,", "")).starts_with("line 2: not a record: column")
        );
        assert!(error(&good.replace("\"pidx\":4,", "")).contains("missing field `pidx`"));
        assert!(
            error(&good.replace("\"pidx\":4", "\"pidx\":4194304"))
                .starts_with("line 2: pidx is 4194304, the most is 4194303")
        );
        assert!(error(&good.replace("\"pidx\":4", "\"pidx\":-1")).contains("line 2: "));
        assert!(error(&good.replace("write_done", "write_dome")).contains("line 3: not a record"));
        assert!(
            error(&good.replace("\"reason\":1", "\"reason\":9")).starts_with("line 4: reason is 9")
        );
        assert!(
            error(&good.replace("\"slot\":9", "\"slot\":4"))
                .starts_with("line 4: slot 4 after slot 5")
        );
        assert!(
            error(&good.replace("\"slot\":9", "\"slot\":67108864"))
                .starts_with("line 4: slot is 67108864")
        );
        assert!(error(&good[..good.len() - 10]).starts_with("line 4: "));
    }
}

//! A waveform under way: VCD text from the model comes in, an FST file goes out.
//!
//! Verilator's own FST writer needs zlib's headers, which a plain machine lacks; its VCD writer
//! needs nothing, and hands its text over in pieces of memory. So no VCD file is ever written.

use std::collections::HashMap;
use std::ffi::{c_char, c_void};
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use fst_writer::{
    FstBodyWriter, FstFileType, FstHeaderWriter, FstInfo, FstScopeType, FstSignalId, FstSignalType,
    FstVarDirection, FstVarType,
};

use super::library::TraceWrite;
use super::vcd::{Event, Reader};

/// Changes are written out whenever this many bytes of them have gathered.
const FLUSH_BYTES: usize = 64 << 20;

/// A waveform that is being recorded.
#[derive(Debug)]
pub(super) struct Trace {
    path: PathBuf,
    temporary: PathBuf,
    receiver: Box<Receiver>,
}

impl Trace {
    /// What the C++ side calls with [`Trace::receiver`].
    pub const WRITE: TraceWrite = write;

    /// Starts a recording that will end up at `path`.
    pub fn create(path: &Path) -> Result<Self, String> {
        let name = path
            .file_name()
            .ok_or_else(|| "this is not the name of a file".to_owned())?;
        let mut temporary = name.to_owned();
        temporary.push(".partial");
        let temporary = path.with_file_name(temporary);
        let file = File::create(&temporary).map_err(|error| error.to_string())?;
        let info = FstInfo {
            start_time: 0,
            timescale_exponent: -12,
            version: "Tributary".to_owned(),
            // Left out, so that equal runs make equal files.
            date: String::new(),
            file_type: FstFileType::Verilog,
        };
        let header = FstHeaderWriter::new(BufWriter::new(file), &info).map_err(text)?;
        Ok(Self {
            path: path.to_path_buf(),
            temporary,
            receiver: Box::new(Receiver {
                reader: Reader::default(),
                output: Output {
                    state: State::Header(header),
                    signals: HashMap::new(),
                    padded: Vec::new(),
                },
                failure: None,
            }),
        })
    }

    /// Where the recording will end up.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The first argument of [`Trace::WRITE`]; good for as long as `self` is.
    pub fn receiver(&mut self) -> *mut c_void {
        (&raw mut *self.receiver).cast()
    }

    /// Completes the file. `end` is the time at which the recording ends.
    pub fn finish(self, end: u64) -> Result<(), String> {
        let Self {
            path,
            temporary,
            receiver,
        } = self;
        let Receiver {
            output, failure, ..
        } = *receiver;
        let result = match failure {
            Some(failure) => Err(failure),
            None => output
                .finish(end)
                .and_then(|()| fs::rename(&temporary, &path).map_err(|error| error.to_string())),
        };
        if result.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        result
    }
}

/// Takes a piece of text. The first failure is kept and ends the recording.
///
/// # Safety
/// `receiver` must come from [`Trace::receiver`], and `text` point to `length` bytes.
unsafe extern "C" fn write(receiver: *mut c_void, text: *const c_char, length: usize) {
    // SAFETY: as the caller promises; only one thread runs a model.
    let (receiver, piece) = unsafe {
        (
            &mut *receiver.cast::<Receiver>(),
            std::slice::from_raw_parts(text.cast::<u8>(), length),
        )
    };
    if receiver.failure.is_none() {
        let Receiver { reader, output, .. } = receiver;
        receiver.failure = reader.push(piece, |event| output.take(event)).err();
    }
}

#[derive(Debug)]
struct Receiver {
    reader: Reader,
    output: Output,
    failure: Option<String>,
}

type Out = BufWriter<File>;

/// The FST writer is one of two types: before and after the declarations.
enum State {
    Header(FstHeaderWriter<Out>),
    Body(FstBodyWriter<Out>),
    Moved,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Header(_) => "Header",
            Self::Body(_) => "Body",
            Self::Moved => "Moved",
        })
    }
}

#[derive(Debug)]
struct Signal {
    id: FstSignalId,
    width: usize,
    real: bool,
}

#[derive(Debug)]
struct Output {
    state: State,
    signals: HashMap<String, Signal>,
    /// Scratch for values with their leading zeros.
    padded: Vec<u8>,
}

impl Output {
    fn take(&mut self, event: Event<'_>) -> Result<(), String> {
        match (&mut self.state, event) {
            (State::Header(header), Event::Scope(name)) => {
                header.scope(name, "", FstScopeType::Module).map_err(text)
            }
            (State::Header(header), Event::UpScope) => header.up_scope().map_err(text),
            (
                State::Header(header),
                Event::Var {
                    width,
                    code,
                    name,
                    real,
                },
            ) => {
                let (signal_type, var_type) = if real {
                    (FstSignalType::real(), FstVarType::Real)
                } else {
                    (FstSignalType::bit_vec(width), FstVarType::Wire)
                };
                let alias = self.signals.get(code).map(|signal| signal.id);
                let direction = FstVarDirection::Implicit;
                let id = header
                    .var(name, signal_type, var_type, direction, alias)
                    .map_err(text)?;
                self.signals.entry(code.to_owned()).or_insert(Signal {
                    id,
                    width: width as usize,
                    real,
                });
                Ok(())
            }
            (State::Header(_), Event::EndDefinitions) => {
                let State::Header(header) = std::mem::replace(&mut self.state, State::Moved) else {
                    return Ok(());
                };
                self.state = State::Body(header.finish().map_err(text)?);
                Ok(())
            }
            (State::Body(body), Event::Time(time)) => {
                if body.size() > FLUSH_BYTES {
                    body.flush().map_err(text)?;
                }
                body.time_change(time).map_err(text)
            }
            (State::Body(body), Event::Change { code, value }) => {
                let signal = self
                    .signals
                    .get(code)
                    .ok_or_else(|| format!("a change of an unknown signal {code:?}"))?;
                if signal.real {
                    let number: f64 = value
                        .parse()
                        .map_err(|_| format!("{value:?} is not a number"))?;
                    return body
                        .signal_change(signal.id, &number.to_le_bytes())
                        .map_err(text);
                }
                self.padded.clear();
                self.padded
                    .resize(signal.width.saturating_sub(value.len()), b'0');
                self.padded.extend_from_slice(value.as_bytes());
                body.signal_change(signal.id, &self.padded).map_err(text)
            }
            (_, event) => Err(format!("{event:?} at the wrong place")),
        }
    }

    fn finish(self, end: u64) -> Result<(), String> {
        let mut body = match self.state {
            State::Body(body) => body,
            // Closed before the first clock: Verilator has written nothing yet.
            State::Header(header) => header.finish().map_err(text)?,
            State::Moved => return Err("it broke off".to_owned()),
        };
        body.time_change(end).map_err(text)?;
        let out = body.finish().map_err(text)?;
        out.into_inner()
            .map_err(|error| error.error().to_string())?
            .sync_data()
            .map_err(|error| error.to_string())
    }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

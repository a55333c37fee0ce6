//! One running instance of a design.

use std::ffi::{CStr, c_int, c_void};
use std::path::Path;
use std::sync::Arc;

use super::error::{ModelError, PortError};
use super::library::Inner;
use super::ports::{Direction, Port};
use super::trace::Trace;

/// One running instance of a [`Verilated`](super::Verilated) design.
///
/// Ports are resolved by name once ([`Model::port`]) and then read and written as plain memory.
/// An input written with [`Model::set`] counts from the next [`Model::eval`] or
/// [`Model::clock`] on; an output read with [`Model::get`] is the one of the last of these.
///
/// # Panics
/// `set`, `get` and their relatives panic when given a [`Port`] of another library: a slip of
/// the program, not of its input.
#[derive(Debug)]
pub struct Model {
    inner: Arc<Inner>,
    handle: *mut c_void,
    library: u32,
    slots: Vec<Slot>,
    trace: Option<Trace>,
}

/// The memory of a port.
#[derive(Debug, Clone, Copy)]
struct Slot {
    address: *mut u8,
    width: u32,
}

// SAFETY: a model has a Verilator context of its own and shares nothing that is written with
// other models; it may be used by any one thread at a time.
unsafe impl Send for Model {}

impl Model {
    pub(super) fn new(inner: Arc<Inner>, seed: u64) -> Result<Self, ModelError> {
        let failed = |what: &str| ModelError::Create {
            top: inner.top.clone(),
            what: what.to_owned(),
        };
        // SAFETY: no conditions.
        let handle = unsafe { (inner.functions.new)(seed, u32::from(inner.random_init)) };
        if handle.is_null() {
            return Err(failed("out of memory"));
        }
        // SAFETY: the handle is valid; the text is copied before anything else is called.
        let error = unsafe { CStr::from_ptr((inner.functions.error)(handle)) }
            .to_string_lossy()
            .into_owned();
        if !error.is_empty() {
            // SAFETY: made above and not used after.
            unsafe { (inner.functions.delete)(handle) };
            return Err(failed(&error));
        }
        let mut addresses = vec![std::ptr::null_mut(); inner.ports.len()];
        // SAFETY: the function writes one address for each port of the table.
        unsafe { (inner.functions.addresses)(handle, addresses.as_mut_ptr()) };
        let slots = addresses
            .into_iter()
            .zip(&inner.ports)
            .map(|(address, (_, port))| Slot {
                address,
                width: port.width,
            })
            .collect();
        let library = inner.ports.first().map_or(0, |(_, port)| port.library);
        Ok(Self {
            inner,
            handle,
            library,
            slots,
            trace: None,
        })
    }

    /// Name of the top module.
    pub fn top(&self) -> &str {
        &self.inner.top
    }

    /// The port of that name.
    pub fn port(&self, name: &str) -> Result<Port, PortError> {
        self.inner.port(name)
    }

    /// The input of that name and width.
    pub fn input(&self, name: &str, width: u32) -> Result<Port, PortError> {
        self.inner.checked(name, width, Direction::Input)
    }

    /// The output of that name and width.
    pub fn output(&self, name: &str, width: u32) -> Result<Port, PortError> {
        self.inner.checked(name, width, Direction::Output)
    }

    /// Writes an input. Bits above its width are cut off; of a port wider than 64 bits, the
    /// bits from 64 up become zero.
    #[inline]
    pub fn set(&mut self, port: Port, value: u64) {
        let slot = self.slot(port);
        let value = value & mask(slot.width);
        // SAFETY: the address is that of a live member of the model, of the type Verilator
        // gives a port of this width; `&mut self` keeps others away.
        unsafe {
            match slot.width {
                ..=8 => slot.address.write(value as u8),
                9..=16 => slot.address.cast::<u16>().write(value as u16),
                17..=32 => slot.address.cast::<u32>().write(value as u32),
                33..=64 => slot.address.cast::<u64>().write(value),
                _ => {
                    let words = slot.words_mut();
                    words.fill(0);
                    words[0] = value as u32;
                    words[1] = (value >> 32) as u32 & last_mask(slot.width, 1);
                }
            }
        }
    }

    /// Reads a port; of one wider than 64 bits, the lowest 64.
    #[inline]
    pub fn get(&self, port: Port) -> u64 {
        let slot = self.slot(port);
        // SAFETY: as in `set`; nothing writes while `self` is borrowed.
        unsafe {
            match slot.width {
                ..=8 => u64::from(slot.address.read()),
                9..=16 => u64::from(slot.address.cast::<u16>().read()),
                17..=32 => u64::from(slot.address.cast::<u32>().read()),
                33..=64 => slot.address.cast::<u64>().read(),
                _ => {
                    let words = slot.words();
                    u64::from(words[0]) | u64::from(words[1]) << 32
                }
            }
        }
    }

    /// Whether a port is not zero; the natural reading of a 1-bit port.
    #[inline]
    pub fn is_set(&self, port: Port) -> bool {
        self.get(port) != 0
    }

    /// Writes an input of any width from words of 64 bits, lowest first. Bits above its width
    /// are cut off; the slice must have [`Port::words`] words.
    #[inline]
    pub fn set_wide(&mut self, port: Port, value: &[u64]) -> Result<(), PortError> {
        self.check_words(port, value.len())?;
        let slot = self.slot(port);
        if slot.width <= 64 {
            self.set(port, value[0]);
            return Ok(());
        }
        // SAFETY: as in `set`.
        let words = unsafe { slot.words_mut() };
        for (index, word) in words.iter_mut().enumerate() {
            let part = (value[index / 2] >> (32 * (index % 2))) as u32;
            *word = part & last_mask(slot.width, index);
        }
        Ok(())
    }

    /// Reads a port of any width into words of 64 bits, lowest first; the slice must have
    /// [`Port::words`] words.
    #[inline]
    pub fn get_wide(&self, port: Port, value: &mut [u64]) -> Result<(), PortError> {
        self.check_words(port, value.len())?;
        let slot = self.slot(port);
        if slot.width <= 64 {
            value[0] = self.get(port);
            return Ok(());
        }
        // SAFETY: as in `get`.
        let words = unsafe { slot.words() };
        for (target, pair) in value.iter_mut().zip(words.chunks(2)) {
            *target = u64::from(pair[0]) | u64::from(pair.get(1).copied().unwrap_or(0)) << 32;
        }
        Ok(())
    }

    /// A port of any width as words of 64 bits, lowest first.
    pub fn words(&self, port: Port) -> Vec<u64> {
        let mut words = vec![0; port.words()];
        // The length is right by construction.
        let _ = self.get_wide(port, &mut words);
        words
    }

    /// Lets combinational logic settle, without a clock edge.
    #[inline]
    pub fn eval(&mut self) -> Result<(), ModelError> {
        // SAFETY: the handle is valid until drop.
        let result = unsafe { (self.inner.functions.eval)(self.handle) };
        self.check(result)
    }

    /// One clock: low, settle, high, settle. Registers take what the inputs were before the
    /// call; outputs are those after the edge, with the same inputs.
    #[inline]
    pub fn clock(&mut self) -> Result<(), ModelError> {
        self.clocks(1)
    }

    /// `count` clocks with the inputs as they are.
    #[inline]
    pub fn clocks(&mut self, count: u64) -> Result<(), ModelError> {
        // SAFETY: the handle is valid until drop.
        let result = unsafe { (self.inner.functions.clock)(self.handle, count) };
        self.check(result)
    }

    /// Holds reset for `count` clocks, then releases it.
    pub fn reset(&mut self, count: u64) -> Result<(), ModelError> {
        let reset = self.inner.checked(&self.inner.reset, 1, Direction::Input)?;
        self.set(reset, 1);
        self.clocks(count)?;
        self.set(reset, 0);
        self.eval()
    }

    /// Simulated time in picoseconds.
    pub fn time(&self) -> u64 {
        // SAFETY: the handle is valid until drop.
        unsafe { (self.inner.functions.time)(self.handle) }
    }

    /// Sets the length of a clock in picoseconds, for waveforms; 5,000 at first.
    pub fn set_period(&mut self, picoseconds: u64) {
        // SAFETY: the handle is valid until drop.
        unsafe { (self.inner.functions.half_period)(self.handle, (picoseconds / 2).max(1)) }
    }

    /// Whether the Verilog has called `$finish`.
    pub fn is_finished(&self) -> bool {
        // SAFETY: the handle is valid until drop.
        unsafe { (self.inner.functions.finished)(self.handle) != 0 }
    }

    /// Records all signals of all following clocks in `path`, in FST form.
    ///
    /// The file appears when the recording ends: with [`Model::trace_close`], or when the model
    /// is dropped. Needs [`BuildOptions::trace`](super::BuildOptions::trace).
    pub fn trace_open(&mut self, path: impl AsRef<Path>) -> Result<(), ModelError> {
        let path = path.as_ref();
        self.trace_close()?;
        if !self.inner.trace {
            return Err(self.trace_error(path, "it was built without `trace`"));
        }
        let mut trace = Trace::create(path).map_err(|what| self.trace_error(path, &what))?;
        // SAFETY: the receiver lives on the heap, and in `self.trace` until after the trace is
        // closed on the C++ side.
        let result = unsafe {
            (self.inner.functions.trace_open)(self.handle, Trace::WRITE, trace.receiver())
        };
        if result != 0 {
            let what = self.error_text();
            return Err(self.trace_error(path, &what));
        }
        self.trace = Some(trace);
        Ok(())
    }

    /// Ends a recording and completes its file; nothing happens if there is none.
    pub fn trace_close(&mut self) -> Result<(), ModelError> {
        let Some(trace) = self.trace.take() else {
            return Ok(());
        };
        let path = trace.path().to_path_buf();
        let end = self.time();
        // SAFETY: the handle is valid; the receiver is dropped after this call.
        let result = unsafe { (self.inner.functions.trace_close)(self.handle) };
        if result != 0 {
            let what = self.error_text();
            return Err(self.trace_error(&path, &what));
        }
        trace
            .finish(end)
            .map_err(|what| self.trace_error(&path, &what))
    }

    #[inline]
    fn slot(&self, port: Port) -> Slot {
        assert!(
            port.library == self.library,
            "a port of another design was used with a model of `{}`",
            self.inner.top
        );
        self.slots[port.index as usize]
    }

    #[inline]
    fn check_words(&self, port: Port, actual: usize) -> Result<(), PortError> {
        let expected = port.words();
        if actual == expected {
            return Ok(());
        }
        Err(PortError::Words {
            top: self.inner.top.clone(),
            name: self.inner.name_of(port),
            width: port.width,
            expected,
            actual,
        })
    }

    #[inline]
    fn check(&self, result: c_int) -> Result<(), ModelError> {
        if result == 0 {
            Ok(())
        } else {
            Err(self.stopped())
        }
    }

    #[cold]
    fn stopped(&self) -> ModelError {
        ModelError::Stopped {
            top: self.inner.top.clone(),
            time: self.time(),
            what: self.error_text(),
        }
    }

    fn error_text(&self) -> String {
        // SAFETY: the handle is valid; the text is copied at once.
        unsafe { CStr::from_ptr((self.inner.functions.error)(self.handle)) }
            .to_string_lossy()
            .into_owned()
    }

    fn trace_error(&self, path: &Path, what: &str) -> ModelError {
        ModelError::Trace {
            top: self.inner.top.clone(),
            path: path.to_path_buf(),
            what: what.to_owned(),
        }
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        let _ = self.trace_close();
        // SAFETY: made by `new`, and not used after.
        unsafe { (self.inner.functions.delete)(self.handle) };
    }
}

impl Slot {
    /// The 32-bit words of a port wider than 64 bits.
    ///
    /// # Safety
    /// The model must be alive, and nothing may write to the port meanwhile.
    unsafe fn words<'a>(self) -> &'a [u32] {
        // SAFETY: Verilator keeps such a port as `width.div_ceil(32)` words, lowest first.
        unsafe { std::slice::from_raw_parts(self.address.cast(), self.width.div_ceil(32) as usize) }
    }

    /// As `words`, to write.
    ///
    /// # Safety
    /// As `words`, and nothing may read the port meanwhile.
    unsafe fn words_mut<'a>(self) -> &'a mut [u32] {
        // SAFETY: as in `words`.
        unsafe {
            std::slice::from_raw_parts_mut(self.address.cast(), self.width.div_ceil(32) as usize)
        }
    }
}

/// The bits of a value of `width` bits; all of them from 64 up.
#[inline]
fn mask(width: u32) -> u64 {
    if width >= 64 {
        u64::MAX
    } else {
        (1 << width) - 1
    }
}

/// The bits that 32-bit word `index` of a port of `width` bits has.
#[inline]
fn last_mask(width: u32, index: usize) -> u32 {
    mask(width.saturating_sub(32 * index as u32).min(32)) as u32
}

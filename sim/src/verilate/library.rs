//! A compiled model library, opened.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use libloading::Library;

use super::error::{ModelError, PortError, VerilateError};
use super::model::Model;
use super::options::BuildOptions;
use super::ports::{Direction, Port};
use super::{build, shim};

/// A compiled design, from which any number of [`Model`]s can be made. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Verilated {
    pub(super) inner: Arc<Inner>,
}

/// What all models of one library share.
#[derive(Debug)]
pub(super) struct Inner {
    pub top: String,
    pub reset: String,
    pub trace: bool,
    pub random_init: bool,
    pub ports: Vec<(String, Port)>,
    pub functions: Functions,
    /// Keeps the functions' code in memory; declared after them, closed last.
    _library: Library,
}

/// Called by a trace with a piece of its text.
pub(super) type TraceWrite = unsafe extern "C" fn(*mut c_void, *const c_char, usize);

/// The functions of `shim.cpp`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Functions {
    pub new: unsafe extern "C" fn(u64, u32) -> *mut c_void,
    pub delete: unsafe extern "C" fn(*mut c_void),
    pub addresses: unsafe extern "C" fn(*mut c_void, *mut *mut u8),
    pub error: unsafe extern "C" fn(*mut c_void) -> *const c_char,
    pub time: unsafe extern "C" fn(*mut c_void) -> u64,
    pub finished: unsafe extern "C" fn(*mut c_void) -> c_int,
    pub half_period: unsafe extern "C" fn(*mut c_void, u64),
    pub eval: unsafe extern "C" fn(*mut c_void) -> c_int,
    pub clock: unsafe extern "C" fn(*mut c_void, u64) -> c_int,
    pub trace_open: unsafe extern "C" fn(*mut c_void, TraceWrite, *mut c_void) -> c_int,
    pub trace_close: unsafe extern "C" fn(*mut c_void) -> c_int,
}

#[repr(C)]
struct PortInfo {
    name: *const c_char,
    width: u32,
    is_output: u32,
}

impl Verilated {
    /// Builds the design, or opens it from the cache.
    pub fn build(options: &BuildOptions) -> Result<Self, VerilateError> {
        let path = build::library(options)?;
        let inner = Inner::open(&path, options)?;
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// A new model; all that starts unknown is zero (or, with
    /// [`BuildOptions::random_init`], from seed 0).
    pub fn model(&self) -> Result<Model, ModelError> {
        self.model_with_seed(0)
    }

    /// A new model whose random initial values come from `seed`.
    pub fn model_with_seed(&self, seed: u64) -> Result<Model, ModelError> {
        Model::new(Arc::clone(&self.inner), seed)
    }

    /// Name of the top module.
    pub fn top(&self) -> &str {
        &self.inner.top
    }

    /// All ports by name, in the order of Verilator's class (grouped by size).
    pub fn ports(&self) -> impl Iterator<Item = (&str, Port)> {
        self.inner
            .ports
            .iter()
            .map(|(name, port)| (name.as_str(), *port))
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
}

impl Inner {
    fn open(path: &Path, options: &BuildOptions) -> Result<Self, VerilateError> {
        static NEXT_ID: AtomicU32 = AtomicU32::new(0);
        let failed = |what: String| VerilateError::Open {
            path: path.to_path_buf(),
            what,
        };

        // SAFETY: the library was made by `build`; its initialisers are those of Verilator's
        // runtime and the C++ library, which have no conditions.
        let library = unsafe { Library::new(path) }.map_err(|error| failed(error.to_string()))?;

        // SAFETY (all of them): `shim.cpp` defines the functions with these types, which the
        // version number, checked first, stands for.
        macro_rules! function {
            ($name:literal) => {
                *unsafe { library.get(concat!($name, "\0").as_bytes()) }
                    .map_err(|error| failed(error.to_string()))?
            };
        }
        let abi: unsafe extern "C" fn() -> u32 = function!("trib_abi");
        // SAFETY: takes nothing, returns a constant.
        let abi = unsafe { abi() };
        if abi != shim::ABI {
            return Err(failed(format!("shim version {abi}, not {}", shim::ABI)));
        }
        let functions = Functions {
            new: function!("trib_new"),
            delete: function!("trib_delete"),
            addresses: function!("trib_addresses"),
            error: function!("trib_error"),
            time: function!("trib_time"),
            finished: function!("trib_finished"),
            half_period: function!("trib_half_period"),
            eval: function!("trib_eval"),
            clock: function!("trib_clock"),
            trace_open: function!("trib_trace_open"),
            trace_close: function!("trib_trace_close"),
        };
        let table: unsafe extern "C" fn() -> *const PortInfo = function!("trib_ports");
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        let mut ports: Vec<(String, Port)> = Vec::new();
        // SAFETY: the table is a static array that ends with a null name; every name before it
        // is a string literal.
        unsafe {
            let mut entry = table();
            while !(*entry).name.is_null() {
                let name = CStr::from_ptr((*entry).name).to_string_lossy().into_owned();
                let port = Port {
                    library: id,
                    index: ports.len() as u32,
                    width: (*entry).width,
                    direction: if (*entry).is_output == 0 {
                        Direction::Input
                    } else {
                        Direction::Output
                    },
                };
                ports.push((name, port));
                entry = entry.add(1);
            }
        }
        Ok(Self {
            top: options.top.clone(),
            reset: options.reset.clone(),
            trace: options.trace,
            random_init: options.random_init,
            ports,
            functions,
            _library: library,
        })
    }

    pub fn port(&self, name: &str) -> Result<Port, PortError> {
        self.ports
            .iter()
            .find(|(other, _)| other == name)
            .map(|(_, port)| *port)
            .ok_or_else(|| PortError::Unknown {
                top: self.top.clone(),
                name: name.to_owned(),
                hint: self.hint(name),
            })
    }

    pub fn checked(&self, name: &str, width: u32, way: Direction) -> Result<Port, PortError> {
        let port = self.port(name)?;
        let (top, name) = (self.top.clone(), name.to_owned());
        if port.width != width {
            return Err(PortError::Width {
                top,
                name,
                actual: port.width,
                expected: width,
            });
        }
        if port.direction != way {
            return Err(PortError::Direction {
                top,
                name,
                actual: port.direction,
                expected: way,
            });
        }
        Ok(port)
    }

    pub fn name_of(&self, port: Port) -> String {
        self.ports
            .get(port.index as usize)
            .map_or_else(String::new, |(name, _)| name.clone())
    }

    /// Ports whose name shares a word with the wanted one, or else all of them.
    fn hint(&self, wanted: &str) -> String {
        let words: Vec<&str> = wanted
            .split(['_', '$'])
            .filter(|word| word.len() > 1)
            .collect();
        let names = || self.ports.iter().map(|(name, _)| name.as_str());
        let mut close: Vec<&str> = names()
            .filter(|name| name.split(['_', '$']).any(|word| words.contains(&word)))
            .collect();
        if close.is_empty() {
            close = names().collect();
        }
        if close.is_empty() {
            return "it has no ports at all".to_owned();
        }
        close.sort_unstable();
        let shown = close.len().min(12);
        let more = if shown < close.len() { ", ..." } else { "" };
        format!("there are {}{more}", close[..shown].join(", "))
    }
}

//! The contract between the solver and its backends.
//!
//! A backend makes *plans*, as an FFT library does: decide once, run many steps. The plan owns its
//! fields in the vendor's layout and decides launches, passes and fusion; the solver says how many
//! steps to advance. Everything that a solver may ask stands in [`Backend`], [`Propagator`] and, for
//! patch kernels, [`PatchKernel`].
//!
//! # Laws
//! - `advance(a)` then `advance(b)` gives bit for bit what `advance(a + b)` gives.
//! - Step n records p^n at the receivers, then injects `s(t_n)`, giving p^(n+1).
//! - After an error the plan is poisoned: every call but [`Propagator::reset`] and
//!   [`Propagator::traces`] answers [`Error::Poisoned`]; traces recorded before it can be read.
//! - Two plans of one backend do not disturb each other.
//! - Denormals are flushed to zero: no step leaves one.
//! - A problem that a backend lists variants for works; any other is [`Error::Unsupported`].

pub mod device;
pub mod error;
pub mod fields;
pub mod parameters;
pub mod patch;
pub mod plan;
pub mod roofs;
pub mod state;
pub mod tables;
pub mod tuning;

pub use device::{Capabilities, DeviceInfo};
pub use error::{Error, Result};
pub use fields::{ElementType, Field, HostArray, HostView, HostViewMut, Region};
pub use parameters::{Parameter, Parameters};
pub use patch::{
    Beyond, Cell, HostMemory, PatchFault, PatchKernel, PatchOptions, PatchReport, PatchSet,
};
pub use plan::{
    Backend, Footprint, FootprintItem, Health, KernelKind, KernelTime, PlanOptions, Propagator,
    Ticket, Variant,
};
pub use roofs::{Nominal, StreamPattern, StreamRequest};
pub use tables::{ReceiverTable, SourceTable, Traces};

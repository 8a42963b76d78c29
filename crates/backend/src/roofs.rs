//! What a device can move and compute at most, as measured: the rates that kernels are seen beside.
//!
//! The first four patterns are those of STREAM (McCalpin 1995); `Step` is the traffic of one leapfrog
//! step in place: p, p- and c^2 dt^2 read, p+ written over p-.

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// A pattern of reads and writes over arrays of f32.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StreamPattern {
    /// `c = a`.
    Copy,
    /// `b = s c`.
    Scale,
    /// `c = a + b`.
    Add,
    /// `a = b + s c`.
    Triad,
    /// `a = 2 b - a + c`: 3 reads and 1 write, in place.
    Step,
}

impl StreamPattern {
    /// All, STREAM's first.
    pub const ALL: [Self; 5] = [Self::Copy, Self::Scale, Self::Add, Self::Triad, Self::Step];

    /// Name as in files and tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Copy => "copy",
            Self::Scale => "scale",
            Self::Add => "add",
            Self::Triad => "triad",
            Self::Step => "step",
        }
    }

    /// Bytes read and written per element, counted as STREAM does: no line is fetched to be
    /// overwritten.
    #[must_use]
    pub const fn bytes_per_element(self) -> u32 {
        match self {
            Self::Copy | Self::Scale => 8,
            Self::Add | Self::Triad => 12,
            Self::Step => 16,
        }
    }
}

/// What to stream.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StreamRequest {
    /// Pattern.
    pub pattern: StreamPattern,
    /// Elements of each of three arrays.
    pub elements: u64,
    /// Part of each array that holds random values in [0, 1), 0 to 1; the rest holds STREAM's
    /// constants 1, 2 and 0. Constant data shows compression between device and memory.
    pub fill: f64,
    /// Samples, after one that warms up.
    pub samples: u32,
    /// Seconds that a sample lasts at least; passes over the arrays are repeated until then.
    pub seconds: f64,
}

impl StreamRequest {
    /// Refuses what cannot be measured.
    ///
    /// # Errors
    /// [`Error::Invalid`] for no elements, a fill that is no part, or a time that is none.
    pub fn check(&self) -> Result<()> {
        let (what, remedy) = if self.elements == 0 {
            ("streams over 0 elements".into(), "ask for at least 1")
        } else if !(0.0..=1.0).contains(&self.fill) {
            (format!("a fill of {}", self.fill), "ask for a part from 0 to 1")
        } else if !(self.seconds.is_finite() && self.seconds >= 0.0) {
            (format!("samples of {} s", self.seconds), "ask for a time, 0 s or more")
        } else {
            return Ok(());
        };
        Err(Error::Invalid { what, remedy: remedy.into() })
    }
}

/// What a vendor's data sheet or the driver says, as opposed to what was measured.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Nominal {
    /// Memory bandwidth, B/s.
    pub bandwidth: Option<f64>,
    /// Single-precision operations per second, a fused multiply-add counted as two.
    pub flops: Option<f64>,
}

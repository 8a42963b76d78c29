//! Sources and receivers as a plan takes them, and the traces it gives back.

use ndarray::Array2;
use temblor_physics::PointWeights;

use crate::ElementType;

/// Point sources and their amplitudes.
///
/// At step n a plan adds `c^2 dt^2 w s[n]` to p^(n+1) at each node of each source, with the node's
/// own c and weight w. Whoever builds the table has divided the weights by the cell's measure
/// (hx hy hz, in 2-D hx hz). Steps past the table's end have no source.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceTable {
    /// One per source, weights divided by the cell's measure, 1/m^3 (2-D: 1/m^2).
    pub points: Vec<PointWeights>,
    /// Amplitudes, shape (step, source).
    pub amplitudes: Array2<f64>,
}

impl SourceTable {
    /// No sources.
    #[must_use]
    pub fn none() -> Self {
        Self { points: Vec::new(), amplitudes: Array2::zeros((0, 0)) }
    }
}

/// Receivers: each records the weighted sum of p over its nodes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReceiverTable {
    /// One per receiver.
    pub points: Vec<PointWeights>,
}

/// What receivers recorded since the last call, element type of the plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Traces {
    /// Step of the first sample.
    pub first_step: u64,
    /// Samples, shape (receiver, step).
    pub samples: TraceSamples,
}

/// Samples of [`Traces`], shape (receiver, step).
#[derive(Debug, Clone, PartialEq)]
pub enum TraceSamples {
    /// Single precision.
    F32(Array2<f32>),
    /// Double precision.
    F64(Array2<f64>),
}

impl TraceSamples {
    /// (receivers, steps).
    #[must_use]
    pub fn dim(&self) -> (usize, usize) {
        match self {
            Self::F32(samples) => samples.dim(),
            Self::F64(samples) => samples.dim(),
        }
    }

    /// Element type.
    #[must_use]
    pub const fn element_type(&self) -> ElementType {
        match self {
            Self::F32(_) => ElementType::F32,
            Self::F64(_) => ElementType::F64,
        }
    }

    /// As double precision.
    #[must_use]
    pub fn to_f64(&self) -> Array2<f64> {
        match self {
            Self::F32(samples) => samples.mapv(f64::from),
            Self::F64(samples) => samples.clone(),
        }
    }
}

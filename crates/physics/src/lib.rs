//! What temblor solves: grids, media, wave problems, boundaries, operators, wavelets, dispersion.
//!
//! No backend and no file format appears here. Arrays are C order, shape (x, y, z), z (depth)
//! fastest; a 2-D problem has one node along y. SI units throughout; geometry, time and weights
//! are `f64`.

pub mod arithmetic;
pub mod boundary;
pub mod cfl;
pub mod choice;
pub mod composed;
pub mod cpml;
pub mod cpml_limit;
pub mod dispersion;
pub mod error;
mod exchange;
pub mod fit;
pub mod greens;
pub mod grid;
pub mod implicit;
pub mod interpolate;
pub mod kaiser;
pub mod lattice;
pub mod layers;
pub mod minimod;
pub mod operator;
pub mod operator_name;
pub mod points;
pub mod problem;
pub mod quantised;
pub mod resample;
pub mod time_dispersion;
pub mod wavelet;
pub mod weights;
pub mod work;

pub use arithmetic::{Arithmetic, DigitKind, Digits, SpeedStorage, Storage, WavefieldStorage};
pub use boundary::{Boundaries, Boundary, Cpml, Minimod};
pub use error::{Error, Result};
pub use grid::{Axis, Face, Grid};
pub use interpolate::{receiver_weights, source_weights};
pub use operator::{Criterion, Fit, Operator, Real, TimeFit};
pub use operator_name::{OperatorName, RunBand, RunStep};
pub use points::{AxisWeights, PointWeights};
pub use problem::{BoundaryKind, Equation, ProblemClass, WaveProblem, WaveProblemBuilder};
pub use quantised::{Quantisation, QuantisedOperator, Slicing};
pub use resample::{Resampler, sample_count};
pub use wavelet::Wavelet;
pub use work::StepWork;

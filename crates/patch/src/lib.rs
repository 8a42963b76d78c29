//! A kernel language for hyperbolic PDEs on patches, `Q_t + div F(Q) + B(Q) grad Q = S(Q)`.
//!
//! The numerics are written once as a [`scheme`](crate::kernel), whatever the dimension and the size
//! of a patch; the physics is plain C ([`physics`]), one text for every target. Both become one
//! [`graph`], which passes lower to a [`kernel`] and emitters print.
//!
//! A patch is a cube of p^d voxels with a halo of h voxels on each side; a kernel takes K of them,
//! each a chunk of its own, unknown fastest, then x, y, z.

#![deny(unsafe_code)]

mod c;
pub mod cell;
pub mod emit;
pub mod error;
pub mod graph;
pub mod kernel;
pub mod library;
pub mod physics;
#[doc(hidden)]
pub mod sample;

pub use cell::Cell;
pub use error::{Error, Result};
pub use kernel::{Kernel, Output, Shape};
pub use physics::{Physics, Term};

//! A kernel language for hyperbolic PDEs on patches, `Q_t + div F(Q) + B(Q) grad Q = S(Q)`.
//!
//! The numerics are written once as a [`scheme`], whatever the dimension and the size
//! of a patch; the physics is plain C ([`physics`]), one text for every target. Both become one
//! [`graph`], which passes lower to a [`kernel`] and emitters print.
//!
//! A patch is a cube of p^d voxels with a halo of h voxels on each side; a kernel takes K of them,
//! each a chunk of its own, unknown fastest, then x, y, z.

#![deny(unsafe_code)]

mod c;
pub mod cell;
pub mod describe;
pub mod emit;
pub mod error;
pub mod export;
pub mod graph;
pub mod interpret;
pub mod kernel;
pub mod library;
pub mod lower;
pub mod matrix;
pub mod physics;
pub mod ranges;
#[doc(hidden)]
pub mod sample;
pub mod scheme;
pub mod shipped;
mod slab;
pub mod stability;
pub mod text;

pub use cell::Cell;
pub use error::{Error, Result};
pub use interpret::{Interpreter, interpret};
pub use kernel::{Kernel, Output, Shape};
pub use lower::{Plan, Request, lower};
pub use physics::{Physics, Term};
pub use scheme::Scheme;
pub use slab::Slab;

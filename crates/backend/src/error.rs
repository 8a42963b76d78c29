//! What a caller could not foresee.

use crate::Field;

/// Errors of backends and plans; each message says what to do next.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The backend cannot do this, on this device or at all.
    #[error(
        "backend {backend} does not support {what}; `temblor devices` lists what each backend can do"
    )]
    Unsupported {
        /// Backend id.
        backend: String,
        /// What was asked for.
        what: String,
    },
    /// A host array does not fit the region it is meant for.
    #[error("{field:?}: an array of shape {want:?} is needed, {got:?} was given")]
    Shape {
        /// The field.
        field: Field,
        /// Shape that fits.
        want: Vec<usize>,
        /// Shape given.
        got: Vec<usize>,
    },
    /// A region or a point lies outside the grid.
    #[error("{what} reaches outside the grid of {shape:?} nodes")]
    Outside {
        /// The region or the point.
        what: String,
        /// Nodes along (x, y, z).
        shape: [usize; 3],
    },
    /// An argument that the contract does not allow, such as more receivers than planned for.
    #[error("{what}; {remedy}")]
    Invalid {
        /// What is wrong, with the value.
        what: String,
        /// What to do.
        remedy: String,
    },
    /// The plan does not fit the device's memory.
    #[error(
        "the plan needs {needed} bytes and {available} are free: use a smaller grid or a coarser spacing, or free memory"
    )]
    OutOfMemory {
        /// Bytes of the plan.
        needed: u64,
        /// Bytes free.
        available: u64,
    },
    /// A driver or a runtime call failed.
    #[error("backend {backend}: {call} failed")]
    Driver {
        /// Backend id.
        backend: String,
        /// The call.
        call: String,
        /// What it said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The wavefield is not finite or grows without bound.
    #[error(
        "{field:?} is not finite or runs away at step {step}, node {index:?}: lower dt (or cfl_fraction) and check the model there"
    )]
    Unstable {
        /// Where it was seen.
        field: Field,
        /// Step of the check.
        step: u64,
        /// First bad node (x, y, z), layers included.
        index: [usize; 3],
    },
    /// An earlier call failed and the plan was not reset.
    #[error("the plan failed earlier ({cause}); call reset before using it again")]
    Poisoned {
        /// The earlier error.
        cause: String,
    },
    /// A saved state does not belong to this plan.
    #[error("the saved state does not fit: {what}; start the shot afresh")]
    State {
        /// What differs.
        what: String,
    },
    /// Reading or writing a state failed.
    #[error("cannot read or write the saved state")]
    Io(#[from] std::io::Error),
    /// The problem cannot be posed.
    #[error(transparent)]
    Physics(#[from] temblor_physics::Error),
}

/// Result of the contract.
pub type Result<T, E = Error> = std::result::Result<T, E>;

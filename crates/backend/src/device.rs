//! What a device is and what a backend can do with it, in the solver's terms.

use serde::{Deserialize, Serialize};
use temblor_physics::{Arithmetic, BoundaryKind, Equation};

/// What a device is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceInfo {
    /// Backend id: `cpu`, `cpu-ref`, `cuda`, ...
    pub backend: String,
    /// Device name as its vendor gives it.
    pub name: String,
    /// Architecture token: `avx512`, `sm_90`, `gfx942`, ...
    pub arch: String,
    /// Memory of the device that a process may use, bytes; on CPUs the cgroup's limit counts.
    pub memory: u64,
    /// Driver or operating system version.
    pub driver: String,
    /// Parallel units that the plan will use: threads or multiprocessors.
    pub units: usize,
}

/// What a backend can do, in the solver's terms; never which instructions it has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Capabilities {
    /// Equations.
    pub equations: Vec<Equation>,
    /// Storage and arithmetic.
    pub arithmetics: Vec<Arithmetic>,
    /// Boundary kinds.
    pub boundaries: Vec<BoundaryKind>,
    /// Smallest and largest order of the direct operator.
    pub orders: (usize, usize),
    /// Names of all variants, best first.
    pub variants: Vec<String>,
}

impl Capabilities {
    /// All fields at once; for backends.
    #[must_use]
    pub const fn new(
        equations: Vec<Equation>,
        arithmetics: Vec<Arithmetic>,
        boundaries: Vec<BoundaryKind>,
        orders: (usize, usize),
        variants: Vec<String>,
    ) -> Self {
        Self { equations, arithmetics, boundaries, orders, variants }
    }
}

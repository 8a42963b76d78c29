//! temblor: wave propagation on structured grids, one solver, kernels tuned for each vendor.

pub use temblor_backend as backend;
pub use temblor_conformance as conformance;
pub use temblor_cpu as cpu;
pub use temblor_io as io;
pub use temblor_physics as physics;
pub use temblor_solver as solver;

//! Marching of hyperbolic systems on patches: a box cut into patches of p^d voxels, halo exchange,
//! Runge-Kutta stages, the time step, constraints, restart.
//!
//! Everything runs through [`temblor_backend::PatchSet`], so that the state stays on the device from
//! the first step to the last; the host reads one speed per step and what outputs ask for. A result
//! depends neither on the number of patches that the box is cut into nor on their order.

mod march;
mod norms;
mod problem;
mod profile;
mod restart;
mod step_rule;
mod tableau;
#[cfg(test)]
mod test_set;
#[cfg(test)]
mod tests;
mod tiling;

pub use march::{March, MarchSpec, Reached, Status};
pub use norms::Norms;
pub use problem::{Outset, Problem, Started};
pub use profile::Profile;
pub use step_rule::{StepLimits, StepRule};
pub use tableau::Tableau;
pub use tiling::{Side, Tiling};

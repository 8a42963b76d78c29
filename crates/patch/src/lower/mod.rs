//! From a scheme and a physics to a kernel.
//!
//! The passes, in order: `resolve` takes the physics' terms and drops what follows from absent ones;
//! `hoist` (unfused only) gives every nested call a block of its own; [`crate::ranges`] infers
//! ranges and drops dead blocks; `expand` writes directions out, inlines every block that is not
//! stored, and joins all into one graph; `fuse` merges stages of equal ranges. [`scratch()`] lays the
//! temporaries of a finished kernel out in one slab.

mod expand;
mod fuse;
mod hoist;
mod plan;
mod resolve;
pub mod scratch;
mod stages;

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::kernel::{Kernel, Shape};
use crate::physics::{Parameter, Physics};
use crate::scheme::Scheme;

pub use plan::Plan;
pub(crate) use resolve::Resolved;
pub use scratch::{Scratch, scratch};

/// What a kernel is made for.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Request {
    /// d: 2 or 3.
    pub dimensions: u8,
    /// p: voxels per axis, halo apart.
    pub cells: u16,
    /// Values of `int` parameters by name; others keep their defaults.
    pub integers: Vec<(String, i64)>,
    /// Real parameters that are built in as numbers.
    pub frozen: Vec<(String, f64)>,
    /// Which blocks are stored.
    pub plan: Plan,
}

impl Request {
    /// Fused, with all parameters at their defaults and none frozen.
    #[must_use]
    pub const fn new(dimensions: u8, cells: u16) -> Self {
        Self { dimensions, cells, integers: Vec::new(), frozen: Vec::new(), plan: Plan::Fused }
    }

    /// With another plan.
    #[must_use]
    pub fn with_plan(mut self, plan: Plan) -> Self {
        self.plan = plan;
        self
    }

    /// With values for `int` parameters.
    #[must_use]
    pub fn with_integers(mut self, integers: Vec<(String, i64)>) -> Self {
        self.integers = integers;
        self
    }

    /// With real parameters built in as numbers.
    #[must_use]
    pub fn with_frozen(mut self, frozen: Vec<(String, f64)>) -> Self {
        self.frozen = frozen;
        self
    }
}

/// Makes a kernel of a scheme and a physics.
///
/// # Errors
/// [`Error::Mismatch`] where scheme, physics and request do not go together; [`Error::Scheme`] where
/// the scheme breaks a rule; [`Error::Physics`] where a term has no graph.
pub fn lower(scheme: &Scheme, physics: &Arc<Physics>, request: &Request) -> Result<Kernel> {
    scheme.check()?;
    let parameters = parameters(scheme, physics, request)?;
    if !(2..=3).contains(&request.dimensions) {
        return Err(Error::Mismatch(format!(
            "a patch has 2 or 3 dimensions, not {}",
            request.dimensions
        )));
    }
    if request.cells == 0 || request.cells > 1024 {
        return Err(Error::Mismatch(format!(
            "a patch has 1 to 1024 voxels per axis, not {}",
            request.cells
        )));
    }
    let short = |count: usize| {
        u16::try_from(count).map_err(|_| Error::Mismatch(format!("{count} unknowns are too many")))
    };
    let shape = Shape {
        dimensions: request.dimensions,
        cells: request.cells,
        halo: scheme.halo,
        unknowns: short(physics.evolved())?,
        auxiliary: short(physics.auxiliary.len())?,
        output: scheme.output,
    };
    if let Plan::Staged(names) = &request.plan {
        for name in names {
            if !scheme.blocks[2..].iter().any(|block| block.name == *name) {
                let known: Vec<&str> =
                    scheme.blocks[2..].iter().map(|block| block.name.as_str()).collect();
                return Err(Error::Mismatch(format!(
                    "scheme {} has no block {name} to store; it has {}",
                    scheme.name,
                    known.join(", ")
                )));
            }
        }
    }
    let resolved = resolved(scheme, physics, request)?;
    stages::kernel(&resolved, physics, request, shape, parameters)
}

fn resolved(scheme: &Scheme, physics: &Physics, request: &Request) -> Result<Resolved> {
    let mut resolved = resolve::resolve(scheme, physics)?;
    if request.plan == Plan::Unfused {
        hoist::hoist(&mut resolved);
    }
    Ok(resolved)
}

/// The statements of a scheme for one physics, directions written out, each with its range; what is
/// zero for lack of a term is gone.
///
/// # Errors
/// As [`lower`].
pub fn expanded(scheme: &Scheme, physics: &Physics, request: &Request) -> Result<String> {
    scheme.check()?;
    let resolved = resolved(scheme, physics, request)?;
    crate::describe::expanded(&resolved, usize::from(request.dimensions.clamp(2, 3)))
}

/// Parameters of the physics, `int` ones as chosen, then those of the scheme.
fn parameters(scheme: &Scheme, physics: &Physics, request: &Request) -> Result<Vec<Parameter>> {
    let mut all = physics.parameters.clone();
    for (name, value) in &request.integers {
        let place = all.iter().position(|known| known.integer && known.name == *name);
        let place = place.ok_or_else(|| {
            Error::Mismatch(format!("physics {} has no int parameter {name}", physics.name))
        })?;
        let small = i32::try_from(*value)
            .map_err(|_| Error::Mismatch(format!("{name} = {value} does not fit a C int")))?;
        all[place].default = f64::from(small);
    }
    for own in &scheme.parameters {
        if all.iter().any(|known| known.name == own.name) {
            return Err(Error::Mismatch(format!(
                "physics {} and scheme {} both have a parameter {}: rename the scheme's",
                physics.name, scheme.name, own.name
            )));
        }
        all.push(own.clone());
    }
    for (name, value) in &request.frozen {
        if !all.iter().any(|known| !known.integer && known.name == *name) {
            return Err(Error::Mismatch(format!(
                "there is no real parameter {name} to freeze; int parameters always are"
            )));
        }
        if !value.is_finite() {
            return Err(Error::Mismatch(format!("{name} = {value} is no number to freeze")));
        }
    }
    Ok(all)
}

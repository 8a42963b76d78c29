//! How long a time step may be.
//!
//! A scheme that steps: `dt = C min(dx) / lambda`. A rate under Runge-Kutta with s stages:
//! `dt = C min(dx) / (lambda (2 s - 1))`. Dissipation of strength sigma damps the shortest wave at
//! the rate `sigma sum 1/dx`, which has to stay within the method's reach on the negative real axis:
//! with sigma = 8 in 3-D and four stages `dt <= 0.116 dx`.

use super::tableau::Tableau;
use super::tiling::Tiling;
use crate::error::{Error, Result};

/// How the time step is chosen.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum StepRule {
    /// Always this step, s.
    Fixed(f64),
    /// C, from the largest eigenvalue of the state.
    Courant(f64),
}

/// What a step must respect.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepLimits {
    /// `min(dx)`, m, over `2 s - 1` where the kernel gives a rate.
    pub reach: f64,
    /// Longest step that the dissipation allows, s; infinite without it.
    pub dissipation: f64,
}

impl StepLimits {
    /// For a tiling, a method (none: the kernel steps by itself) and dissipation of strength `sigma`,
    /// m/s.
    #[must_use]
    pub fn new(tiling: &Tiling, tableau: Option<&Tableau>, sigma: f64) -> Self {
        let stages = tableau.map_or(1, |tableau| tableau.stages);
        let inverse: f64 =
            tiling.spacing[..usize::from(tiling.dimensions)].iter().map(|dx| 1.0 / dx).sum();
        let dissipation = match tableau {
            Some(tableau) if sigma > 0.0 => tableau.real_reach / (sigma * inverse),
            _ => f64::INFINITY,
        };
        Self { reach: tiling.finest() / (2 * stages - 1) as f64, dissipation }
    }

    /// Whether a rule can be used at all.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a step or a factor that is not positive, and a fixed step above what
    /// the dissipation allows.
    pub fn check(&self, rule: StepRule) -> Result<()> {
        match rule {
            StepRule::Fixed(dt) if !(dt.is_finite() && dt > 0.0) => {
                Err(Error::invalid("dt", format!("{dt} s"), "give a positive number of seconds"))
            }
            StepRule::Fixed(dt) if dt > self.dissipation => {
                let remedy = format!(
                    "the dissipation is stable up to {:.6e} s with this voxel and Runge-Kutta \
                     method; lower dt or sigma",
                    self.dissipation
                );
                Err(Error::invalid("dt", format!("{dt} s"), remedy))
            }
            StepRule::Courant(factor) if !(factor.is_finite() && factor > 0.0) => {
                Err(Error::invalid("courant", factor, "give a positive number"))
            }
            _ => Ok(()),
        }
    }

    /// The step for a largest eigenvalue, m/s; `None` where none follows from it.
    #[must_use]
    pub fn step(&self, rule: StepRule, speed: f64) -> Option<f64> {
        match rule {
            StepRule::Fixed(dt) => Some(dt),
            StepRule::Courant(factor) => {
                let dt = factor * self.reach / speed;
                (speed > 0.0 && dt.is_finite() && dt > 0.0).then(|| dt.min(self.dissipation))
            }
        }
    }
}

//! How space derivatives are taken: which operator, and its weights.
//!
//! An operator is a symmetric stencil per axis whose weights sum to zero and whose second moment
//! `sum r^2 w_r` is one, so that it is exact for long waves; both hold to rounding for all of them. They
//! differ in what they do with the freedom that is left: central differences are exact for as many
//! powers as they have (Fornberg 1988), fitted ones spread the error of the phase velocity over a
//! band ([`crate::fit`]; Holberg 1987, Geophysical Prospecting 35, 629-655), those of the implicit scheme
//! follow Lele (1992), J. Comput. Phys. 103, 16-42 ([`crate::implicit`]).
//!
//! C-PML layers need first derivatives: those are central differences of the same radius, whatever
//! the operator. Layers damp what they get, and their error does not travel.

use serde::{Deserialize, Serialize};

use crate::{Error, Result, cfl, dispersion, fit, implicit};

/// A finite number that is a key: equal and hashed by its bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "f64", into = "f64")]
pub struct Real(u64);

impl Real {
    /// The number.
    #[must_use]
    pub const fn get(self) -> f64 {
        f64::from_bits(self.0)
    }
}

impl From<f64> for Real {
    fn from(value: f64) -> Self {
        // One zero, as keys compare bits.
        Self(if value == 0.0 { 0 } else { value.to_bits() })
    }
}

impl From<Real> for f64 {
    fn from(value: Real) -> Self {
        value.get()
    }
}

impl std::fmt::Debug for Real {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.get().fmt(f)
    }
}

impl std::fmt::Display for Real {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.get().fmt(f)
    }
}

/// What a fit makes small. The error is that of the phase velocity, relative to the wave speed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Criterion {
    /// The largest error in the band.
    Minimax,
    /// The mean square of the error over the band.
    L2,
    /// The mean square of error times amplitude of a Ricker wavelet whose highest frequency (40 dB
    /// below its peak) is the band's edge.
    Ricker,
}

impl Criterion {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Minimax, Self::L2, Self::Ricker];

    /// As names of operators have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Minimax => "minimax",
            Self::L2 => "l2",
            Self::Ricker => "ricker",
        }
    }
}

/// The time step that a fit takes into account: leapfrog's error of time is made up for in space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TimeFit {
    /// Courant number c dt / h at the largest wave speed.
    pub courant: Real,
    /// Largest over smallest wave speed; the band's edge is at the smallest.
    pub contrast: Real,
    /// 1, 2 or 3: over which directions.
    pub dimensions: usize,
}

/// A fit of the phase velocity over a band.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Fit {
    /// Nodes on either side, 2 to 8.
    pub radius: usize,
    /// What is made small.
    pub criterion: Criterion,
    /// The band's edge: fewest cells per wavelength.
    pub points: Real,
    /// Of space and time together; of space alone without it.
    pub time: Option<TimeFit>,
}

impl Fit {
    /// A fit of space alone for wavelengths of `points` cells and more.
    #[must_use]
    pub fn of_space(radius: usize, criterion: Criterion, points: f64) -> Self {
        Self { radius, criterion, points: points.into(), time: None }
    }

    /// The same for a time step.
    #[must_use]
    pub fn with_time(self, courant: f64, contrast: f64, dimensions: usize) -> Self {
        let time = TimeFit { courant: courant.into(), contrast: contrast.into(), dimensions };
        Self { time: Some(time), ..self }
    }
}

/// How space derivatives are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Operator {
    /// Central differences of this (even) order, weights by Fornberg (1988). The compact operators
    /// of radius 1 and 2 are those of order 2 and 4.
    Direct {
        /// Formal order of accuracy, 2 to 16.
        order: usize,
    },
    /// Weights fitted for a band of wavelengths.
    Fitted(Fit),
    /// Lele's tridiagonal operator of sixth order, inverted, truncated and refitted.
    Implicit {
        /// Nodes on either side, 2 to 8.
        radius: usize,
    },
}

/// Radii of operators that are not central differences.
pub(crate) const RADII: std::ops::RangeInclusive<usize> = 2..=8;

impl Operator {
    /// Nodes on either side of the centre.
    #[must_use]
    pub const fn radius(&self) -> usize {
        match self {
            Self::Direct { order } => *order / 2,
            Self::Fitted(fit) => fit.radius,
            Self::Implicit { radius } => *radius,
        }
    }

    /// Weights of the second derivative for unit spacing, centre first; length radius + 1.
    ///
    /// # Panics
    /// If [`Operator::check`] refuses the operator.
    #[must_use]
    pub fn second_derivative(&self) -> Vec<f64> {
        match self {
            Self::Direct { order } => crate::weights::second_derivative(*order),
            Self::Fitted(fit) => fit::weights(fit),
            Self::Implicit { radius } => implicit::refitted(*radius),
        }
    }

    /// Weights of the first derivative for unit spacing at +r; antisymmetric; length radius + 1.
    /// Those of central differences of the same radius.
    ///
    /// # Panics
    /// If [`Operator::check`] refuses the operator.
    #[must_use]
    pub fn first_derivative(&self) -> Vec<f64> {
        crate::weights::first_derivative(2 * self.radius())
    }

    /// Whether there are such weights and leapfrog can be stable with them.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the nearest radius, band or Courant number that there is.
    pub fn check(&self) -> Result<()> {
        match self {
            Self::Direct { order } => {
                let remedy = "use an even order from 2 to 16";
                let known = (2..=16).contains(order) && order.is_multiple_of(2);
                if known { Ok(()) } else { Err(Error::invalid("operator order", order, remedy)) }
            }
            Self::Implicit { radius } => check_radius(*radius),
            Self::Fitted(fit) => check_fit(fit),
        }
    }
}

fn check_radius(radius: usize) -> Result<()> {
    if RADII.contains(&radius) {
        return Ok(());
    }
    let remedy = match radius {
        0 => "the nearest is 2",
        1 => {
            "two constraints leave nothing to choose there: use direct-2 (compact-r1), or a radius \
             from 2 to 8"
        }
        _ => "the nearest is 8",
    };
    Err(Error::invalid("operator radius", radius, remedy))
}

fn check_fit(fit: &Fit) -> Result<()> {
    check_radius(fit.radius)?;
    let points = fit.points.get();
    if !(points.is_finite() && points >= fit::FEWEST_POINTS) {
        let remedy = format!(
            "the nearest is {}: at 2 a wave is no longer told from its alias",
            fit::FEWEST_POINTS
        );
        return Err(Error::invalid("points per wavelength of the fit", points, remedy));
    }
    let most = fit::most_points(fit.radius);
    if points > most {
        let remedy = format!(
            "the nearest is {most}: direct-{} is exact to 1e-11 for longer waves",
            2 * fit.radius
        );
        return Err(Error::invalid("points per wavelength of the fit", points, remedy));
    }
    let Some(time) = fit.time else { return Ok(()) };
    let (courant, contrast) = (time.courant.get(), time.contrast.get());
    if !(1..=3).contains(&time.dimensions) {
        let remedy = "use 1, 2 or 3";
        return Err(Error::invalid("dimensions of the fit", time.dimensions, remedy));
    }
    if !(contrast.is_finite() && (1.0..=100.0).contains(&contrast)) {
        let nearest = if contrast > 100.0 { 100 } else { 1 };
        let remedy = format!("largest over smallest wave speed: the nearest is {nearest}");
        return Err(Error::invalid("contrast of the fit", contrast, remedy));
    }
    if !(courant.is_finite() && courant > 0.0) {
        let remedy = "give a positive number, such as 0.4, or leave it out for a fit of space";
        return Err(Error::invalid("Courant number of the fit", courant, remedy));
    }
    let stable = |courant: f64| {
        let weights = fit::weights(&fit.with_time(courant, contrast, time.dimensions));
        dispersion::is_elliptic(&weights)
            && courant <= cfl::courant_limit_of(&weights, time.dimensions)
    };
    // No operator that is exact for long waves is stable beyond 1 / sqrt(D) times pi / 2 or so; the
    // largest stable one of these is found from below.
    if courant < 1.0 && stable(courant) {
        return Ok(());
    }
    let (mut low, mut high) = (0.0, courant.min(1.0));
    for _ in 0..12 {
        let middle = 0.5 * (low + high);
        *(if stable(middle) { &mut low } else { &mut high }) = middle;
    }
    let remedy = format!("leapfrog is not stable with these weights: the nearest is {low:.3}");
    Err(Error::invalid("Courant number of the fit", courant, remedy))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(operator: Operator) -> String {
        operator.check().unwrap_err().to_string()
    }

    #[test]
    fn what_cannot_be_met_is_refused_with_the_nearest() {
        let fit =
            |radius, points| Operator::Fitted(Fit::of_space(radius, Criterion::Minimax, points));
        assert!(message(fit(9, 8.0)).contains("the nearest is 8"));
        assert!(message(fit(1, 8.0)).contains("direct-2"));
        assert!(message(fit(3, 2.0)).contains("the nearest is 2.1"));
        assert!(message(fit(3, 1e3)).contains("direct-6 is exact"));
        assert!(message(fit(3, f64::NAN)).contains("the nearest is 2.1"));
        assert!(message(Operator::Direct { order: 7 }).contains("even order"));
        assert!(message(Operator::Implicit { radius: 12 }).contains("the nearest is 8"));
    }

    #[test]
    fn a_courant_number_beyond_stability_is_refused_with_one_that_is_stable() {
        let base = Fit::of_space(3, Criterion::Minimax, 5.0);
        let text = message(Operator::Fitted(base.with_time(0.9, 1.0, 3)));
        let nearest: f64 = text.rsplit(' ').next().unwrap().parse().unwrap();
        assert!((0.4..0.6).contains(&nearest), "{text}");
        Operator::Fitted(base.with_time(nearest - 0.001, 1.0, 3)).check().unwrap();
        assert!(message(Operator::Fitted(base.with_time(0.3, 0.5, 3))).contains("nearest is 1"));
        assert!(message(Operator::Fitted(base.with_time(-1.0, 1.0, 3))).contains("positive"));
    }

    #[test]
    fn operators_are_written_and_read_back_the_same() {
        let fit = Fit::of_space(3, Criterion::Minimax, 5.1).with_time(0.37, 2.5, 3);
        for operator in
            [Operator::Direct { order: 8 }, Operator::Fitted(fit), Operator::Implicit { radius: 4 }]
        {
            let text = toml::to_string(&operator).unwrap();
            assert_eq!(toml::from_str::<Operator>(&text).unwrap(), operator, "{text}");
        }
    }
}

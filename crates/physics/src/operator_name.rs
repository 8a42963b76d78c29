//! Names of operators: `direct-8`, `minimax-r3:ppw=5`, `l2-r3:ppw=8:courant=0.4`, `implicit-r4`.
//!
//! What a name leaves out is taken from where it is used: a run knows its shortest wavelength, its
//! wave speeds and its step; elsewhere a fit is one of space alone for 8 cells per wavelength.

use std::str::FromStr;

use crate::operator::{Criterion, Fit, Operator};
use crate::{Error, Result};

/// Cells per wavelength at the edge of a fit whose name gives none.
pub const DEFAULT_POINTS: f64 = 8.0;

/// What names can be.
const KNOWN: &str = "use direct-2 to direct-16, compact-r1, compact-r2, minimax-r2 to minimax-r8, \
                     l2-rN, ricker-rN, or implicit-r2 to implicit-r8; a fit takes :ppw=5 (shortest \
                     wavelength in cells), :courant=0.4 or :courant=run, :contrast=2, :dims=3";

/// The Courant number that a name asks for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Courant {
    /// This one.
    Number(f64),
    /// That of the run.
    Run,
}

/// A name as it was given.
#[derive(Debug, Clone, PartialEq)]
pub enum OperatorName {
    /// It says all.
    Whole(Operator),
    /// A fit, whose band and step may be left to the run.
    Fitted {
        /// Radius.
        radius: usize,
        /// Criterion.
        criterion: Criterion,
        /// Cells per wavelength at the band's edge.
        points: Option<f64>,
        /// Courant number; a fit of space alone without it.
        courant: Option<Courant>,
        /// Largest over smallest wave speed.
        contrast: Option<f64>,
        /// 1, 2 or 3.
        dimensions: Option<usize>,
    },
}

/// What a run knows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunBand {
    /// Cells per wavelength at the highest frequency and smallest wave speed.
    pub points: f64,
    /// Largest over smallest wave speed.
    pub contrast: f64,
    /// 2 or 3.
    pub dimensions: usize,
    /// Its step.
    pub step: RunStep,
}

/// A run's step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RunStep {
    /// Courant number c dt / h.
    Courant(f64),
    /// Fraction of the largest stable step, which depends on the operator.
    CflFraction(f64),
}

impl OperatorName {
    /// The operator, with what the name leaves out taken from a run if there is one.
    ///
    /// # Errors
    /// As [`Operator::check`], and for `courant=run` where there is no run.
    pub fn resolve(&self, run: Option<&RunBand>) -> Result<Operator> {
        let (radius, criterion, points, courant, contrast, dimensions) = match self {
            Self::Whole(operator) => {
                operator.check()?;
                return Ok(*operator);
            }
            Self::Fitted { radius, criterion, points, courant, contrast, dimensions } => {
                (radius, criterion, points, courant, contrast, dimensions)
            }
        };
        let points = points
            .or_else(|| {
                let most = crate::fit::most_points((*radius).clamp(2, 8));
                run.map(|run| hundredth(run.points.clamp(crate::fit::FEWEST_POINTS, most)))
            })
            .unwrap_or(DEFAULT_POINTS);
        let fit = Fit::of_space(*radius, *criterion, points);
        Operator::Fitted(fit).check()?;
        let Some(courant) = courant else { return Ok(Operator::Fitted(fit)) };
        let contrast = contrast.or(run.map(|r| hundredth(r.contrast))).unwrap_or(1.0);
        let dimensions = dimensions.or(run.map(|r| r.dimensions)).unwrap_or(3);
        let with = |courant: f64| Operator::Fitted(fit.with_time(courant, contrast, dimensions));
        let operator = match (*courant, run.map(|run| run.step)) {
            (Courant::Number(number), _) | (Courant::Run, Some(RunStep::Courant(number))) => {
                with(number)
            }
            (Courant::Run, Some(RunStep::CflFraction(fraction))) => {
                // The limit depends on the weights and they on the step: it hardly moves.
                let limit = |operator: &Operator| crate::cfl::courant_limit(operator, dimensions);
                let mut number = 0.98 * fraction * limit(&Operator::Fitted(fit));
                for _ in 0..6 {
                    let next = with(number);
                    if next.check().is_err() {
                        break;
                    }
                    number = (1e4 * fraction * limit(&next)).round() / 1e4;
                }
                with(number)
            }
            (Courant::Run, None) => {
                let remedy = "there is no run here: give a number, such as courant=0.4";
                return Err(Error::invalid("Courant number of the fit", "run", remedy));
            }
        };
        operator.check()?;
        Ok(operator)
    }
}

fn hundredth(value: f64) -> f64 {
    (100.0 * value).round() / 100.0
}

impl FromStr for OperatorName {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let refuse = || Error::invalid("operator", text, KNOWN);
        let mut parts = text.split(':');
        let (kind, size) = parts.next().and_then(|p| p.rsplit_once('-')).ok_or_else(refuse)?;
        let number = |text: &str| text.parse::<usize>().map_err(|_| refuse());
        let radius = || number(size.strip_prefix('r').ok_or_else(refuse)?);
        let whole = match kind {
            "direct" => Some(Operator::Direct { order: number(size)? }),
            "implicit" => Some(Operator::Implicit { radius: radius()? }),
            // The deck's names for the smallest central differences.
            "compact" => match radius()? {
                n @ 1..=2 => Some(Operator::Direct { order: 2 * n }),
                _ => return Err(refuse()),
            },
            _ => None,
        };
        if let Some(operator) = whole {
            return if parts.next().is_none() { Ok(Self::Whole(operator)) } else { Err(refuse()) };
        }
        let criterion = Criterion::ALL.into_iter().find(|c| c.name() == kind).ok_or_else(refuse)?;
        let radius = radius()?;
        let (mut points, mut courant, mut contrast, mut dimensions) = (None, None, None, None);
        for part in parts {
            let (key, value) = part.split_once('=').ok_or_else(refuse)?;
            let real = || value.parse::<f64>().map_err(|_| refuse());
            match key {
                "ppw" => points = Some(real()?),
                "courant" if value == "run" => courant = Some(Courant::Run),
                "courant" => courant = Some(Courant::Number(real()?)),
                "contrast" => contrast = Some(real()?),
                "dims" => dimensions = Some(number(value)?),
                _ => return Err(refuse()),
            }
        }
        if courant.is_none() && (contrast.is_some() || dimensions.is_some()) {
            let remedy = "contrast and dims belong to a fit with a step: add courant=0.4 or \
                          courant=run";
            return Err(Error::invalid("operator", text, remedy));
        }
        Ok(Self::Fitted { radius, criterion, points, courant, contrast, dimensions })
    }
}

impl std::fmt::Display for Operator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Direct { order } => write!(f, "direct-{order}"),
            Self::Implicit { radius } => write!(f, "implicit-r{radius}"),
            Self::Fitted(fit) => {
                write!(f, "{}-r{}:ppw={}", fit.criterion.name(), fit.radius, fit.points)?;
                if let Some(time) = fit.time {
                    write!(f, ":courant={}", time.courant)?;
                    write!(f, ":contrast={}:dims={}", time.contrast, time.dimensions)?;
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(text: &str, run: Option<&RunBand>) -> Result<Operator> {
        text.parse::<OperatorName>()?.resolve(run)
    }

    #[test]
    fn every_operator_is_read_back_from_its_name() {
        let fit = Fit::of_space(3, Criterion::L2, 5.25);
        for operator in [
            Operator::Direct { order: 8 },
            Operator::Implicit { radius: 4 },
            Operator::Fitted(fit),
            Operator::Fitted(fit.with_time(0.375, 2.5, 2)),
        ] {
            assert_eq!(resolved(&operator.to_string(), None).unwrap(), operator, "{operator}");
        }
        assert_eq!(resolved("compact-r2", None).unwrap(), Operator::Direct { order: 4 });
    }

    #[test]
    fn what_a_name_leaves_out_is_the_run_s() {
        let step = RunStep::CflFraction(0.9);
        let run = RunBand { points: 4.567, contrast: 3.0, dimensions: 3, step };
        let fit = |text| match resolved(text, Some(&run)).unwrap() {
            Operator::Fitted(fit) => fit,
            other => panic!("{other}"),
        };
        assert_eq!(fit("minimax-r3"), Fit::of_space(3, Criterion::Minimax, 4.57));
        assert_eq!(fit("minimax-r3:ppw=6").points.get().to_bits(), 6.0_f64.to_bits());
        let joint = fit("minimax-r3:courant=run");
        let time = joint.time.unwrap();
        assert_eq!((time.contrast.get().to_bits(), time.dimensions), (3.0_f64.to_bits(), 3));
        let limit = crate::cfl::courant_limit(&Operator::Fitted(joint), 3);
        assert!((time.courant.get() / limit - 0.9).abs() < 1e-3, "{time:?} {limit}");
        assert!(
            resolved("minimax-r3:courant=run", None).unwrap_err().to_string().contains("no run")
        );
    }

    #[test]
    fn unknown_names_are_refused_with_the_known_ones() {
        for text in ["order-8", "direct", "direct-x", "compact-r3", "minimax-3", "l2-r3:pw=4", ""] {
            let message = text.parse::<OperatorName>().unwrap_err().to_string();
            assert!(message.contains("direct-2 to direct-16"), "{text}: {message}");
        }
        assert!("l2-r3:dims=2".parse::<OperatorName>().unwrap_err().to_string().contains("step"));
    }
}

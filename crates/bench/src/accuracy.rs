//! Accuracy before speed: a small twin of a row against `cpu-ref` in double precision.
//!
//! The twin is stepped by the row's own backend, variant and parameters, with its operator, kind of
//! boundary and layer, on random fields with a source. Its interior is 37 x 77 x 161 nodes: odd, no
//! multiple of a vector or a tile, and along y and z more than a tile of any kernel (the widest takes
//! 32 rows of 128 nodes, the tallest 64 rows of 64), so that whole tiles, cut tiles and the seams
//! between them are all stepped.
//!
//! The bound. With unit roundoff u, the operator's 2RD + 1 terms and its weights, c^2 dt^2 and the
//! sums of the step round at most k = 2RD + 8 times. At half of the CFL limit
//! `c^2 dt^2 sum |w| / h^2 <= 1`, so each errs by at most u of the field. Over half a million nodes of
//! random data they add in the 2-norm as the square root of their number (Higham and Mary 2019, DOI
//! 10.1137/18M1226312): a step errs by sqrt(k) u, not by k u. An error made in one step goes on as a
//! wave of `sin(m theta) / sin(theta)`, 1.6 on average over white noise, and roundings of weights are the
//! same in every step, so n steps err by at most 2 n sqrt(k) u. Layers double the roundings of a step:
//! their memory variables are as many sums again.
//!
//! What it finds: where the outermost tap reads the wrong node everywhere, the first step errs by 4e-5
//! of the field at order 8 and 1e-6 at order 12, against bounds of 7e-7 and 8e-7. At order 16 that weight
//! is below rounding; the conformance suite's impulses find it.

use std::rc::Rc;

use ndarray::Array3;
use temblor_backend::{Backend, Field, HostViewMut, PlanOptions, Propagator, Region, Result};
use temblor_cpu::ReferenceBackend;
use temblor_physics::{Arithmetic, WaveProblem};

use crate::fill::Filler;
use crate::matrix::{Planned, SEED};
use crate::results::{Accuracy, Case, Start};
use crate::{pose, source};

/// Interior of the twin, nodes along (x, y, z).
const INTERIOR: [usize; 3] = [37, 77, 161];

/// Steps after which fields are compared.
const AFTER: [u32; 3] = [1, 10, 100];

/// Steps after which the checksum is taken.
const CHECKSUM_AFTER: u32 = 10;

/// Oracles kept: the twins of one problem come one after the other.
const ORACLES: usize = 4;

/// What a twin showed.
#[derive(Debug, Clone, PartialEq)]
pub struct Twin {
    /// Nodes along (x, y, z).
    pub shape: [usize; 3],
    /// Errors by step.
    pub accuracy: Vec<Accuracy>,
    /// CRC-32 of the field after ten steps, hexadecimal.
    pub checksum: String,
    /// Why the row gets no rate, if it gets none.
    pub failure: Option<String>,
}

/// Fields of `cpu-ref` after each of [`AFTER`].
type Fields = Rc<Vec<Array3<f64>>>;

/// Twins of a run, each made once.
#[derive(Default)]
pub struct Twins {
    done: Vec<(String, Twin)>,
    oracles: Vec<(String, Fields)>,
}

impl Twins {
    /// The twin of a row on its backend.
    pub fn of(&mut self, planned: &Planned, backend: &dyn Backend) -> Twin {
        let case = &planned.case;
        let key = format!(
            "{} {} {} {} {:?} {:?}",
            planned.subject,
            case.variant,
            case.operator,
            oracle_key(case),
            case.arithmetic,
            case.parameters
        );
        if let Some((_, twin)) = self.done.iter().find(|(known, _)| *known == key) {
            return twin.clone();
        }
        let shape = shape(case);
        let mut twin = Twin { shape, accuracy: Vec::new(), checksum: String::new(), failure: None };
        if let Err(error) = self.compare(planned, backend, &mut twin) {
            twin.failure = Some(format!("the twin for accuracy failed: {error}"));
        }
        self.done.push((key, twin.clone()));
        twin
    }

    fn compare(&mut self, planned: &Planned, backend: &dyn Backend, twin: &mut Twin) -> Result<()> {
        let (case, peak_hz) = (&planned.case, planned.peak_hz);
        let problem = pose::problem(case, twin.shape, peak_hz)?;
        let oracle = self.oracle(planned, &problem)?;
        let seen_against = match pose::stands_for(&case.operator) {
            None => None,
            Some(operator) => {
                let mut other = problem.clone();
                other.operator = operator;
                Some(self.oracle(planned, &other)?)
            }
        };
        let mut place = 0;
        run(backend, &problem, &planned.options(), case, peak_hz, |steps, field| {
            let bound = bound(&problem, steps);
            let own = errors(&field, &oracle[place], steps, Some(bound));
            twin.accuracy.push(match &seen_against {
                None => own,
                Some(other) => errors(&field, &other[place], steps, None),
            });
            place += 1;
            // A NaN is above every bound.
            if own.l2.is_nan() || own.l2 > bound {
                let unit = if steps == 1 { "step" } else { "steps" };
                twin.failure = Some(format!(
                    "wrong results: relative L2 error {:.2e} after {steps} {unit} of the twin, \
                     bound {bound:.2e}",
                    own.l2
                ));
            }
            if steps == CHECKSUM_AFTER {
                twin.checksum = checksum(&field, problem.arithmetic);
            }
            twin.failure.is_none()
        })
    }

    /// The oracle's fields of a problem, which are in double precision.
    fn oracle(&mut self, planned: &Planned, problem: &WaveProblem) -> Result<Fields> {
        let key =
            format!("{:?} {:.17e} {}", problem.operator, problem.dt, oracle_key(&planned.case));
        if let Some((_, fields)) = self.oracles.iter().find(|(known, _)| *known == key) {
            return Ok(Rc::clone(fields));
        }
        let mut double = problem.clone();
        double.arithmetic = Arithmetic::F64;
        let (oracle, options) = (ReferenceBackend::new(), PlanOptions::new(0, 0));
        let mut fields = Vec::new();
        run(&oracle, &double, &options, &planned.case, planned.peak_hz, |_, field| {
            fields.push(field);
            true
        })?;
        let fields = Rc::new(fields);
        self.oracles.truncate(ORACLES - 1);
        self.oracles.insert(0, (key, Rc::clone(&fields)));
        Ok(fields)
    }
}

/// What decides about the oracle's fields beside operator and step.
fn oracle_key(case: &Case) -> String {
    let Case { boundary, cells, spacing, vmax, .. } = case;
    let planar = case.shape[1] == 1;
    format!("{} {cells} {spacing:?} {vmax} {planar}", boundary.name())
}

/// Nodes of a row's twin: the interior and the row's layers.
fn shape(case: &Case) -> [usize; 3] {
    let both = 2 * case.cells;
    let [nx, ny, nz] = INTERIOR.map(|n| n + both);
    if case.shape[1] == 1 { [nx + 60, 1, nz] } else { [nx, ny, nz] }
}

/// Largest relative error of the twin in the 2-norm after `steps`; see the module's text.
#[must_use]
pub fn bound(problem: &WaveProblem, steps: u32) -> f64 {
    let single = f64::from(f32::EPSILON) / 2.0;
    let unit = match problem.arithmetic {
        Arithmetic::F64 => f64::EPSILON / 2.0,
        // Of the uniform data here a tile's largest value is 1.7 times the root mean square.
        arithmetic @ Arithmetic::Stored(_) => {
            (arithmetic.laplacian_error(&problem.operator) / 2.0).max(single)
        }
        _ => single,
    };
    let taps = 2 * problem.operator.radius() * problem.grid.dimensions();
    let layered = problem.boundaries.cells().iter().any(|&cells| cells > 0);
    let roundings = (taps + 8) * if layered { 2 } else { 1 };
    let rounding = 2.0 * (roundings as f64).sqrt() * unit;
    // A step adds c^2 dt^2 L p, which is at most four times p.
    let digits = match problem.arithmetic {
        arithmetic @ Arithmetic::Digits(_) => 4.0 * arithmetic.laplacian_error(&problem.operator),
        _ => 0.0,
    };
    f64::from(steps) * (rounding + digits)
}

/// Runs a twin and hands out its field after each of [`AFTER`] for as long as `goes_on` says so.
fn run(
    backend: &dyn Backend,
    problem: &WaveProblem,
    options: &PlanOptions,
    case: &Case,
    peak_hz: f64,
    mut goes_on: impl FnMut(u32, Array3<f64>) -> bool,
) -> Result<()> {
    let mut plan = backend.propagator(problem, options)?;
    let shape = problem.grid.shape;
    let filler =
        Filler { start: Start::Random, shape, vmax: case.vmax, seed: SEED + 7, moving: true };
    filler.wave_speed(plan.as_mut())?;
    filler.pressure(plan.as_mut())?;
    let steps = u64::from(AFTER[AFTER.len() - 1]);
    plan.set_sources(&source::table(problem, 1, peak_hz, case.vmax, steps))?;
    let mut done = 0;
    for steps in AFTER {
        plan.advance(steps - done)?;
        done = steps;
        if !goes_on(steps, downloaded(plan.as_mut(), shape)?) {
            break;
        }
    }
    Ok(())
}

fn downloaded(plan: &mut dyn Propagator, shape: [usize; 3]) -> Result<Array3<f64>> {
    let mut field = Array3::zeros(shape);
    let view = HostViewMut::from(field.view_mut());
    plan.download(Field::Pressure, Region::whole(shape), view)?;
    Ok(field)
}

/// Relative errors in the 2-norm and in the largest value.
fn errors(field: &Array3<f64>, wanted: &Array3<f64>, steps: u32, bound: Option<f64>) -> Accuracy {
    let mut sums = [0.0, 0.0];
    let mut largest = [0.0_f64, 0.0];
    for (value, wanted) in field.iter().zip(wanted) {
        for (n, v) in [value - wanted, *wanted].into_iter().enumerate() {
            sums[n] += v * v;
            largest[n] = if v.is_nan() { f64::NAN } else { largest[n].max(v.abs()) };
        }
    }
    let [error, norm] = sums.map(f64::sqrt);
    Accuracy { steps, l2: error / norm, linf: largest[0] / largest[1], bound }
}

/// CRC-32 of the values as the plan holds them, little endian.
#[expect(clippy::cast_possible_truncation, reason = "values that were f32 before")]
fn checksum(field: &Array3<f64>, arithmetic: Arithmetic) -> String {
    let mut hasher = crc32fast::Hasher::new();
    for value in field {
        match arithmetic {
            Arithmetic::F64 => hasher.update(&value.to_le_bytes()),
            _ => hasher.update(&(*value as f32).to_le_bytes()),
        }
    }
    format!("{:08x}", hasher.finalize())
}

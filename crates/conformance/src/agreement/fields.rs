//! Random fields against `cpu-ref`.
//!
//! One f32 step errs by at most a few roundings of its largest term: at 0.9 of the CFL limit
//! `c^2 dt^2 |L p|` is below 3.3 |p|, and with the roundings of weights, c^2 dt^2, sums and product
//! (each 6e-8) a step stays below 1e-6 of the largest |p|. Errors add over steps.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use temblor_backend::Backend;
use temblor_cpu::ReferenceBackend;
use temblor_physics::{Arithmetic, Boundaries, Boundary, Cpml, Face, Minimod, WaveProblem};

use crate::orders::Orders;
use crate::setup::{self, Case, Final};
use crate::{CheckError, Outcome};

type Outcomes = Result<Vec<Outcome>, CheckError>;

/// Largest error of one step in f32, relative to the largest |p|.
const PER_STEP: f64 = 1e-6;

/// Shapes and steps: no multiple of a vector or a tile, a cube of them, and two axes shorter than
/// the stencil. Seven steps are odd for every number of fused steps.
const SHAPES: [([usize; 3], u32); 3] = [([33, 17, 65], 7), ([64, 64, 64], 5), ([7, 5, 200], 7)];

/// The same in 2-D, the last one shorter than the stencil.
const PLANAR: [([usize; 3], u32); 2] = [([33, 1, 65], 7), ([90, 1, 6], 7)];

/// Boundary of a face, given the nodes along its axis.
type Choice = fn(Face, usize) -> Boundary;

/// Layer width: 20 where two fit with an interior, else up to 3; one less at high ends. On long axes
/// widths with which the layer's end and its reach lie in different vectors of 16.
fn cells(face: Face, nodes: usize) -> usize {
    match (nodes, face.is_min()) {
        (150.., true) => 30,
        (150.., false) => 23,
        (44.., true) => 20,
        (44.., false) => 19,
        (_, true) => (nodes / 2).clamp(1, 3),
        (_, false) => (nodes / 2).clamp(2, 3) - 1,
    }
}

/// A C-PML whose parameters differ from face to face, so that mixed-up faces show.
fn cpml(face: Face, nodes: usize) -> Boundary {
    let number = face.index() as f64;
    Boundary::Cpml(Cpml {
        cells: cells(face, nodes),
        r0: 1e-3 / (1.0 + number),
        peak_hz: 15.0 + 3.0 * number,
        vmax: setup::SPEEDS.1,
    })
}

fn minimod(face: Face, nodes: usize) -> Boundary {
    let eta_peak = 0.1 + 0.05 * face.index() as f64;
    Boundary::Minimod(Minimod { cells: cells(face, nodes), eta_peak })
}

fn with_zero(_: Face, _: usize) -> Boundary {
    Boundary::Zero
}

fn with_free(_: Face, _: usize) -> Boundary {
    Boundary::Free
}

fn with_rigid(_: Face, _: usize) -> Boundary {
    Boundary::Rigid
}

fn with_walls(face: Face, _: usize) -> Boundary {
    match face {
        Face::XMin | Face::YMax | Face::ZMax => Boundary::Rigid,
        Face::XMax | Face::ZMin => Boundary::Free,
        Face::YMin => Boundary::Zero,
    }
}

fn with_cpml_under_free(face: Face, nodes: usize) -> Boundary {
    if face == Face::ZMin { Boundary::Free } else { cpml(face, nodes) }
}

fn with_cpml_opposite_walls(face: Face, nodes: usize) -> Boundary {
    match face {
        Face::XMax | Face::ZMin => Boundary::Rigid,
        Face::YMin => Boundary::Free,
        _ => cpml(face, nodes),
    }
}

fn with_minimod_opposite_walls(face: Face, nodes: usize) -> Boundary {
    match face {
        Face::XMin | Face::ZMin => Boundary::Free,
        Face::YMax => Boundary::Rigid,
        _ => minimod(face, nodes),
    }
}

pub(super) fn zero(backend: &dyn Backend, variant: &str) -> Outcomes {
    agree(backend, variant, &SHAPES, with_zero)
}

pub(super) fn free(backend: &dyn Backend, variant: &str) -> Outcomes {
    agree(backend, variant, &SHAPES, with_free)
}

pub(super) fn rigid(backend: &dyn Backend, variant: &str) -> Outcomes {
    agree(backend, variant, &SHAPES, with_rigid)
}

pub(super) fn walls(backend: &dyn Backend, variant: &str) -> Outcomes {
    agree(backend, variant, &SHAPES, with_walls)
}

pub(super) fn cpml_all(backend: &dyn Backend, variant: &str) -> Outcomes {
    agree(backend, variant, &SHAPES, cpml)
}

pub(super) fn cpml_free(backend: &dyn Backend, variant: &str) -> Outcomes {
    agree(backend, variant, &SHAPES, with_cpml_under_free)
}

pub(super) fn cpml_walls(backend: &dyn Backend, variant: &str) -> Outcomes {
    agree(backend, variant, &SHAPES, with_cpml_opposite_walls)
}

pub(super) fn minimod_all(backend: &dyn Backend, variant: &str) -> Outcomes {
    agree(backend, variant, &SHAPES, minimod)
}

pub(super) fn minimod_walls(backend: &dyn Backend, variant: &str) -> Outcomes {
    agree(backend, variant, &SHAPES, with_minimod_opposite_walls)
}

/// All choices of boundaries in 2-D.
pub(super) fn planar(backend: &dyn Backend, variant: &str) -> Outcomes {
    let choices: [(&str, Choice); 9] = [
        ("zero", with_zero),
        ("free", with_free),
        ("rigid", with_rigid),
        ("walls", with_walls),
        ("cpml", cpml),
        ("cpml under free", with_cpml_under_free),
        ("cpml opposite walls", with_cpml_opposite_walls),
        ("minimod", minimod),
        ("minimod opposite walls", with_minimod_opposite_walls),
    ];
    let mut outcomes = Vec::new();
    for (name, choice) in choices {
        for mut outcome in agree(backend, variant, &PLANAR, choice)? {
            outcome.quantity = format!("{name}: {}", outcome.quantity);
            outcomes.push(outcome);
        }
    }
    Ok(outcomes)
}

/// The case of one shape and order.
fn case(shape: [usize; 3], steps: u32, order: usize, choice: Choice) -> Result<Case, CheckError> {
    let mut boundaries = Boundaries::uniform(Boundary::Zero);
    for face in Face::ALL {
        boundaries.set(face, choice(face, shape[face.axis().index()]));
    }
    let problem = setup::problem(shape, order, boundaries, Arithmetic::F32)?;
    Ok(Case::random(&problem, steps, 100 + order as u64))
}

/// What the oracle made of the cases before this one. Variants are checked one after the other with the
/// same cases, and the oracle takes longer than they do.
#[derive(Default)]
struct Known {
    runs: VecDeque<(WaveProblem, u32, Rc<Final>)>,
    values: usize,
}

impl Known {
    /// Values that are kept, the latest: those of one check, 128 MiB.
    const MOST: usize = 1 << 24;

    fn find(&self, case: &Case) -> Option<Rc<Final>> {
        let same = |run: &&(WaveProblem, u32, _)| run.0 == case.problem && run.1 == case.steps;
        self.runs.iter().find(same).map(|run| run.2.clone())
    }

    fn keep(&mut self, case: &Case, run: &Rc<Final>) {
        let size = |run: &Final| run.pressure.len() + run.previous.len() + run.traces.len();
        self.values += size(run);
        self.runs.push_back((case.problem.clone(), case.steps, run.clone()));
        while self.values > Self::MOST
            && let Some((_, _, oldest)) = self.runs.pop_front()
        {
            self.values -= size(&oldest);
        }
    }
}

/// What `cpu-ref` makes of a case of [`case`], which its problem and steps decide.
fn oracle(case: &Case) -> Result<Rc<Final>, CheckError> {
    thread_local!(static KNOWN: RefCell<Known> = RefCell::default());
    if let Some(run) = KNOWN.with_borrow(|known| known.find(case)) {
        return Ok(run);
    }
    let run = Rc::new(case.run(&ReferenceBackend::new(), "loops")?);
    KNOWN.with_borrow_mut(|known| known.keep(case, &run));
    Ok(run)
}

fn largest<'a>(values: impl IntoIterator<Item = &'a f64>) -> f64 {
    values.into_iter().fold(0.0, |m, v| if v.is_nan() { f64::NAN } else { v.abs().max(m) })
}

/// Largest difference of fields and samples, relative to the largest |p|.
fn error(run: &Final, oracle: &Final) -> f64 {
    let scale = largest(&oracle.pressure);
    let fields = [
        largest(&(&run.pressure - &oracle.pressure)),
        largest(&(&run.previous - &oracle.previous)),
        largest(&(&run.traces - &oracle.traces)),
    ];
    largest(&fields) / scale
}

fn agree(
    backend: &dyn Backend,
    variant: &str,
    shapes: &[([usize; 3], u32)],
    choice: Choice,
) -> Outcomes {
    let mut outcomes = Vec::new();
    let mut orders = Orders::new(backend, variant);
    for &(shape, steps) in shapes {
        let mut worst = [(0.0, 0), (0.0, 0)];
        for order in (2..=16).step_by(2) {
            let case = case(shape, steps, order, choice)?;
            if !orders.take(backend, &case.problem)? {
                continue;
            }
            let run = case.run(backend, variant)?;
            for (worst, arithmetic) in worst.iter_mut().zip([Arithmetic::F64, Arithmetic::F32]) {
                let error = error(&run, oracle(&case.with_arithmetic(arithmetic))?.as_ref());
                // A NaN is worst of all and must not be lost.
                if error.is_nan() || error >= worst.0 {
                    *worst = (error, order);
                }
                if error.is_nan() {
                    break;
                }
            }
        }
        for ((error, order), oracle) in worst.into_iter().zip(["f64", "f32"]) {
            let quantity = format!("error against {oracle} at {shape:?}, worst at order {order}");
            outcomes.push(Outcome::new(quantity, error, PER_STEP * f64::from(steps)));
        }
    }
    outcomes.extend(orders.law());
    Ok(outcomes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oracle_runs_once_for_a_case_and_again_for_another() {
        let case = |steps, order| case([7, 5, 9], steps, order, with_free).unwrap();
        let first = oracle(&case(3, 4)).unwrap();
        assert!(Rc::ptr_eq(&first, &oracle(&case(3, 4)).unwrap()));
        let exact = case(3, 4).with_arithmetic(Arithmetic::F64);
        for other in [case(2, 4), case(3, 6), exact] {
            let run = oracle(&other).unwrap();
            assert!(run.differing(&first) > 0.0);
            let anew = other.run(&ReferenceBackend::new(), "loops").unwrap();
            assert!(run.differing(&anew) == 0.0);
        }
    }

    #[test]
    fn the_oldest_runs_are_forgotten_first() {
        let case = |steps| case([7, 5, 9], steps, 2, with_zero).unwrap();
        let zeros = |n| ndarray::Array3::zeros([1, 1, n]);
        let run = |n: usize| {
            let traces = ndarray::Array2::zeros([0, 0]);
            Rc::new(Final { pressure: zeros(n), previous: zeros(0), traces })
        };
        let mut known = Known::default();
        known.keep(&case(1), &run(10));
        known.keep(&case(2), &run(Known::MOST - 10));
        assert!(known.find(&case(1)).is_some() && known.find(&case(2)).is_some());
        known.keep(&case(3), &run(10));
        assert!(known.find(&case(1)).is_none());
        assert!(known.find(&case(2)).is_some() && known.find(&case(3)).is_some());
    }
}

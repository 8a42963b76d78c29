//! Runs of a term: as a graph and as text, on random states.

use std::cell::RefCell;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use temblor_patch::graph::{Function, Leaf};
use temblor_patch::physics::{Argument, arguments};
use temblor_patch::{Physics, Term};

use super::compiler::Job;

/// Runs a traced function.
pub(crate) fn graph(function: &Function, arguments: &[f64], parameters: &[f64]) -> Vec<f64> {
    Ready::new(function.clone()).run(arguments, parameters)
}

/// A traced function, ready to run often.
pub(crate) struct Ready {
    function: Function,
    needed: Vec<bool>,
    values: RefCell<Vec<f64>>,
}

impl Ready {
    pub(crate) fn new(function: Function) -> Self {
        let needed = function.graph.reachable(&function.outputs);
        Self { function, needed, values: RefCell::default() }
    }

    pub(crate) fn run(&self, arguments: &[f64], parameters: &[f64]) -> Vec<f64> {
        let mut values = self.values.borrow_mut();
        self.function.graph.evaluate(&self.needed, &mut values, |leaf| match leaf {
            Leaf::Argument(place) => arguments[usize::from(place)],
            Leaf::Parameter(place) => parameters[usize::from(place)],
            other => panic!("a physics has no leaf {other:?}"),
        });
        self.function.outputs.iter().map(|output| values[output.index()]).collect()
    }
}

/// Defaults of the parameters with some changed.
pub(crate) fn parameters(physics: &Physics, changed: &[(&str, f64)]) -> Vec<f64> {
    let value = |name: &str| changed.iter().find(|(changed, _)| *changed == name);
    let all = &physics.parameters;
    all.iter().map(|each| value(&each.name).map_or(each.default, |(_, value)| *value)).collect()
}

/// The `int` parameters as the trace takes them.
pub(crate) fn integers(physics: &Physics, parameters: &[f64]) -> Vec<(String, i64)> {
    let all = physics.parameters.iter().zip(parameters);
    #[allow(clippy::cast_possible_truncation, reason = "int parameters are ints")]
    all.filter(|(each, _)| each.integer).map(|(each, &v)| (each.name.clone(), v as i64)).collect()
}

/// Random arguments of a term: `states` gives each unknown's range, everything else lies in -1..1,
/// widths and times in 0.1..1.
pub(crate) fn random(term: Term, states: &[(f64, f64)], seed: u64, count: usize) -> Vec<Vec<f64>> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let kinds = arguments(term, u16::try_from(states.len()).unwrap());
    let mut one = || {
        let value = |kind: &Argument| match *kind {
            Argument::Unknown(u) | Argument::Right(u) => {
                let (low, high) = states[usize::from(u)];
                random.random_range(low..high)
            }
            Argument::Slope { .. } | Argument::Position(_) => random.random_range(-1.0..1.0),
            Argument::Spacing(_) | Argument::Time | Argument::TimeStep => {
                random.random_range(0.1..1.0)
            }
        };
        kinds.iter().map(value).collect()
    };
    (0..count).map(|_| one()).collect()
}

/// Whether two results are the same: bits, zeros of either sign, or both no number.
pub(crate) fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()) || (a.abs() + b.abs()).to_bits() == 0
}

/// Demands that two lists of results are the same.
pub(crate) fn assert_same(what: &str, got: &[f64], want: &[f64]) {
    assert_eq!(got.len(), want.len(), "{what}");
    for (place, (&got, &want)) in got.iter().zip(want).enumerate() {
        assert!(same(got, want), "{what}: result {place} is {got:e}, not {want:e}");
    }
}

/// A term in all its directions on the same cases.
pub(crate) fn jobs(term: Term, cases: &[Vec<f64>], parameters: &[f64]) -> Vec<Job> {
    let directions = if term.directional() { 0..3 } else { 0..1 };
    let job = |direction| {
        let (cases, parameters) = (cases.to_vec(), parameters.to_vec());
        Job { term, direction, cases, parameters }
    };
    directions.map(job).collect()
}

/// Demands that trace, run and the C compiler agree on all jobs.
pub(crate) fn agree(physics: &Physics, jobs: &[Job]) {
    for (job, compiled) in jobs.iter().zip(super::compiler::run(physics, jobs)) {
        let Job { term, direction, cases, parameters } = job;
        let what = format!("{} {} {direction}", physics.file, term.name());
        let traced = physics.trace(*term, *direction, &integers(physics, parameters)).unwrap();
        let traced = Ready::new(traced);
        assert_eq!(cases.len(), compiled.len());
        for (case, compiled) in cases.iter().zip(compiled) {
            let run = physics.evaluate(*term, *direction, case, parameters).unwrap();
            assert_same(&format!("{what}: trace and run"), &traced.run(case, parameters), &run);
            let what = format!("{what}: run and compiler");
            if physics.text.contains("cbrt(") {
                // Rust brings a cube root of its own, a few units in the last place from C's.
                let most = compiled.iter().fold(0.0f64, |most, value| most.max(value.abs()));
                for (run, compiled) in run.iter().zip(&compiled) {
                    assert!((run - compiled).abs() <= 1e-14 * most, "{what}: {run} {compiled}");
                }
            } else {
                assert_same(&what, &run, &compiled);
            }
        }
    }
}

//! How a text of the physics is compared: with recorded right-hand sides and with the transcription.

use temblor_patch::graph::{Function, Leaf};
use temblor_patch::physics::arguments;
use temblor_patch::{Physics, Term};

use crate::transcription::{Constants, State, problems, rate};

/// The text that ships.
pub(crate) const TEXT: &str = include_str!("../../../../csrc/physics/ccz4.c");

/// Parameters that only bound, floor or start something.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Extra {
    pub(crate) glm: [f64; 2],
    pub(crate) state_floor: f64,
    pub(crate) amplitude: f64,
    pub(crate) wavelength: f64,
    pub(crate) mass: f64,
}

/// A state with its derivatives, for some constants.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) constants: Constants,
    pub(crate) extra: Extra,
    pub(crate) q: State,
    pub(crate) dq: [State; 3],
    /// Position, m, and time, s, at which problems are compared.
    pub(crate) x: [f64; 3],
    pub(crate) t: f64,
}

impl Case {
    /// Parameters of the text, by name; `int` ones too.
    pub(crate) fn parameters(&self, physics: &Physics, choices: &[(&str, i64)]) -> Vec<f64> {
        let c = &self.constants;
        let value = |name: &str| match name {
            "lapse" => f64::from(u8::from(c.one_plus_log)),
            "advection" => f64::from(u8::from(c.advection)),
            "s" => c.s,
            "bs" => c.bs,
            "k1" => c.k1,
            "k2" => c.k2,
            "k3" => c.k3,
            "e" => c.e,
            "c" => c.c,
            "ds" => c.ds,
            "f" => c.f,
            "xi" => c.xi,
            "eta" => c.eta,
            "mu" => c.mu,
            "itau" => c.itau,
            "alpha_floor" => c.alpha_floor,
            "phi_floor" => c.phi_floor,
            "state_floor" => self.extra.state_floor,
            "glm_c" => self.extra.glm[0],
            "glm_d" => self.extra.glm[1],
            "amplitude" => self.extra.amplitude,
            "wavelength" => self.extra.wavelength,
            "mass" => self.extra.mass,
            "sharp" | "problem" => 0.0,
            other => panic!("no value for the parameter {other}"),
        };
        let chosen = |name: &str| choices.iter().find(|(known, _)| *known == name);
        let each = physics.parameters.iter().map(|parameter| match chosen(&parameter.name) {
            Some(&(_, choice)) => f64::from(i32::try_from(choice).unwrap()),
            None => value(&parameter.name),
        });
        each.collect()
    }

    /// The `int` parameters as a trace takes them.
    pub(crate) fn integers(&self, physics: &Physics) -> Vec<(String, i64)> {
        let values = self.parameters(physics, &[]);
        let pairs = physics.parameters.iter().zip(values);
        #[allow(clippy::cast_possible_truncation, reason = "these are 0 or 1")]
        let integers = pairs
            .filter(|(parameter, _)| parameter.integer)
            .map(|(parameter, value)| (parameter.name.clone(), value as i64));
        integers.collect()
    }

    /// Arguments of a term, along direction `n` where it has one.
    pub(crate) fn arguments(&self, term: Term, n: usize) -> Vec<f64> {
        let mut given = Vec::new();
        if term != Term::Initial && term != Term::Exact {
            given.extend(self.q);
        }
        match term {
            Term::Rhs => given.extend(self.dq.iter().flatten()),
            Term::Ncp => given.extend(self.dq[n]),
            _ => {}
        }
        given.extend(self.x);
        given.extend([0.1, 0.1, 0.1, self.t, 0.01]);
        assert_eq!(given.len(), arguments(term, 59).len());
        given
    }

    /// A term of the text, statement by statement.
    pub(crate) fn evaluate(
        &self,
        physics: &Physics,
        term: Term,
        n: usize,
        choices: &[(&str, i64)],
    ) -> Result<Vec<f64>, String> {
        let parameters = self.parameters(physics, choices);
        let direction = u8::try_from(n).unwrap();
        physics
            .evaluate(term, direction, &self.arguments(term, n), &parameters)
            .map_err(|error| error.to_string())
    }

    /// A traced term of the text.
    pub(crate) fn run(
        &self,
        physics: &Physics,
        function: &Function,
        term: Term,
        n: usize,
    ) -> Vec<f64> {
        let (given, parameters) = (self.arguments(term, n), self.parameters(physics, &[]));
        run(function, &given, &parameters)
    }
}

/// Runs a traced function.
pub(crate) fn run(function: &Function, given: &[f64], parameters: &[f64]) -> Vec<f64> {
    let needed = function.graph.reachable(&function.outputs);
    let mut values = Vec::new();
    function.graph.evaluate(&needed, &mut values, |leaf| match leaf {
        Leaf::Argument(place) => given[usize::from(place)],
        Leaf::Parameter(place) => parameters[usize::from(place)],
        other => panic!("a physics has no leaf {other:?}"),
    });
    function.outputs.iter().map(|output| values[output.index()]).collect()
}

/// Not so where either is not a number.
fn within(got: f64, want: f64, bound: f64) -> bool {
    (got - want).abs() <= bound
}

/// Whether |difference| <= 1e-12 max |want|; else the worst place.
pub(crate) fn as_a_whole(what: &str, got: &[f64], want: &[f64]) -> Result<(), String> {
    assert_eq!(got.len(), want.len());
    let scale = want.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
    match (0..got.len()).find(|&u| !within(got[u], want[u], 1e-12 * scale)) {
        None => Ok(()),
        Some(u) => Err(format!("{what}: unknown {u} is {:e}, not {:e}", got[u], want[u])),
    }
}

/// Whether every entry agrees to 1e-11 of itself: both sides take some ten roundings, a cosine near
/// its zero and powers of sums near 1 some ten times that.
pub(crate) fn entry_by_entry(what: &str, got: &[f64], want: &[f64]) -> Result<(), String> {
    assert_eq!(got.len(), want.len());
    match (0..got.len()).find(|&u| !within(got[u], want[u], 1e-11 * want[u].abs())) {
        None => Ok(()),
        Some(u) => Err(format!("{what}: unknown {u} is {:e}, not {:e}", got[u], want[u])),
    }
}

/// Compares a text with a case's recorded rate: `rhs`, and `source` less the three `ncp`.
pub(crate) fn compare_rate(physics: &Physics, case: &Case, want: &[f64]) -> Result<(), String> {
    let got = case.evaluate(physics, Term::Rhs, 0, &[])?;
    as_a_whole(&format!("{}: rhs", case.name), &got, want)?;
    let mut split = case.evaluate(physics, Term::Source, 0, &[])?;
    for n in 0..3 {
        for (sum, part) in split.iter_mut().zip(case.evaluate(physics, Term::Ncp, n, &[])?) {
            *sum -= part;
        }
    }
    as_a_whole(&format!("{}: source - ncp", case.name), &split, want)
}

/// Compares a text with the transcription: rate, speeds, constraints, problems.
pub(crate) fn compare(physics: &Physics, case: &Case) -> Result<(), String> {
    let (c, extra) = (&case.constants, &case.extra);
    compare_rate(physics, case, &rate(c, &case.q, &case.dq))?;
    for n in 0..3 {
        for (sharp, want) in
            [(0, problems::bound(c, extra.glm, &case.q, n)), (1, problems::fastest(c, &case.q, n))]
        {
            let got = case.evaluate(physics, Term::Eigenvalue, n, &[("sharp", sharp)])?;
            entry_by_entry(&format!("{}: eigenvalue, sharp {sharp}", case.name), &got, &[want])?;
        }
    }
    let got = case.evaluate(physics, Term::Post, 0, &[])?;
    let want = problems::enforced(&case.q, extra.state_floor);
    as_a_whole(&format!("{}: post", case.name), &got, &want)?;
    for problem in 0..5i64 {
        let state = |t: f64| match problem {
            0 => problems::flat(),
            1 => problems::gauge_wave(case.x, t, extra.wavelength, extra.amplitude),
            2 => problems::diagonal_gauge_wave(case.x, t, extra.wavelength, extra.amplitude),
            3 => problems::linear_wave(case.x, t, extra.wavelength, extra.amplitude),
            _ => problems::puncture(case.x, extra.mass),
        };
        // A puncture has no exact solution in closed form: `exact` is flat space, which is not how it
        // begins, so that no errors are made of it.
        let solution = if problem == 4 { problems::flat() } else { state(case.t) };
        for (term, want) in [(Term::Initial, state(0.0)), (Term::Exact, solution)] {
            let got = case.evaluate(physics, term, 0, &[("problem", problem)])?;
            let what = format!("{}: problem {problem}, {}", case.name, term.name());
            entry_by_entry(&what, &got, &want)?;
        }
    }
    Ok(())
}

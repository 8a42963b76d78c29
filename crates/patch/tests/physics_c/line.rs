//! Finite volumes along x in a few lines: what the shipped physics give in a scheme is what theory says.

use std::sync::Arc;

use temblor_patch::physics::arguments;
use temblor_patch::{Cell, Physics, Request, Scheme, Term, interpret, lower};

use super::run::{Ready, integers, parameters};

/// A physics along a line of cells.
pub(crate) struct Line {
    physics: Physics,
    parameters: Vec<f64>,
    /// Terms along x, each with the number of its arguments.
    terms: Vec<(Term, usize, Ready)>,
    /// Left end and width of a cell, m.
    low: f64,
    dx: f64,
    pub(crate) cells: Vec<Vec<f64>>,
    pub(crate) time: f64,
}

impl Line {
    /// The initial state of a shipped physics on `count` cells of `low..high`.
    pub(crate) fn new(
        name: &str,
        changed: &[(&str, f64)],
        (low, high): (f64, f64),
        count: u32,
    ) -> Self {
        let physics = Physics::shipped(name).unwrap();
        let parameters = parameters(&physics, changed);
        let chosen = integers(&physics, &parameters);
        let ready = |&term: &Term| {
            // The explosion has no exact solution.
            let function = physics.trace(term, 0, &chosen).ok()?;
            let width = u16::try_from(physics.width()).unwrap();
            Some((term, arguments(term, width).len(), Ready::new(function)))
        };
        let terms = physics.terms.iter().filter_map(ready).collect();
        let dx = (high - low) / f64::from(count);
        let mut line = Self { physics, parameters, terms, low, dx, cells: Vec::new(), time: 0.0 };
        line.cells = (0..count).map(|cell| line.at(Term::Initial, cell, 0.0)).collect();
        line
    }

    /// Runs a term on states, slopes, or position and time.
    fn run(&self, term: Term, first: &[&[f64]], x: f64, t: f64) -> Option<Vec<f64>> {
        let (_, end, ready) = self.terms.iter().find(|(known, ..)| *known == term)?;
        let end = *end;
        let mut given = vec![0.0; end];
        let states = first.concat();
        given[..states.len()].copy_from_slice(&states);
        (given[end - 8], given[end - 5], given[end - 2]) = (x, self.dx, t);
        Some(ready.run(&given, &self.parameters))
    }

    fn at(&self, term: Term, cell: u32, t: f64) -> Vec<f64> {
        let x = self.low + (f64::from(cell) + 0.5) * self.dx;
        self.run(term, &[], x, t).expect("the physics has it")
    }

    /// Steps to `end` with the Courant number `courant`; the ends keep their state. The flux through
    /// a face is the physics' own, or Rusanov's.
    pub(crate) fn advance(&mut self, end: f64, courant: f64, own: bool) {
        let evolved = self.physics.evolved();
        while self.time < end {
            let speeds: Vec<f64> = self
                .cells
                .iter()
                .map(|q| self.run(Term::Eigenvalue, &[q], 0.0, 0.0).expect("a speed")[0])
                .collect();
            let most = speeds.iter().copied().fold(0.0, f64::max);
            let dt = (courant * self.dx / most).min(end - self.time);
            let mut next = self.cells.clone();
            for face in 0..self.cells.len() - 1 {
                let (left, right) = (&self.cells[face], &self.cells[face + 1]);
                let most = speeds[face].max(speeds[face + 1]);
                let (flux, product) = self.face(left, right, most, own);
                for u in 0..evolved {
                    next[face][u] -= dt / self.dx * (flux[u] + 0.5 * product[u]);
                    next[face + 1][u] += dt / self.dx * (flux[u] - 0.5 * product[u]);
                }
            }
            let last = next.len() - 1;
            next[0] = self.cells[0].clone();
            next[last] = self.cells[last].clone();
            if next.iter().any(|q| self.run(Term::Post, &[q], 0.0, 0.0).is_some()) {
                for q in &mut next {
                    let post = self.run(Term::Post, &[q], 0.0, 0.0).expect("asked above");
                    q[..evolved].copy_from_slice(&post);
                }
            }
            self.cells = next;
            self.time += dt;
        }
    }

    /// Numerical flux and the jump's product.
    fn face(&self, left: &[f64], right: &[f64], most: f64, own: bool) -> (Vec<f64>, Vec<f64>) {
        let evolved = self.physics.evolved();
        let zero = vec![0.0; evolved];
        let mean: Vec<f64> = left.iter().zip(right).map(|(l, r)| 0.5 * (l + r)).collect();
        let jump: Vec<f64> = left.iter().zip(right).map(|(l, r)| r - l).collect();
        let product = self.run(Term::Ncp, &[&mean, &jump], 0.0, 0.0).unwrap_or(zero.clone());
        let flux = if own {
            self.run(Term::Face, &[left, right], 0.0, 0.0).expect("the physics has its own flux")
        } else {
            let of = |q: &[f64]| self.run(Term::Flux, &[q], 0.0, 0.0).unwrap_or(zero.clone());
            let (l, r) = (of(left), of(right));
            (0..evolved).map(|u| 0.5 * (l[u] + r[u]) - 0.5 * most * jump[u]).collect()
        };
        (flux, product)
    }

    /// Integral of |unknown - exact|.
    pub(crate) fn error(&self, unknown: usize) -> f64 {
        let exact = (0u32..).map(|cell| self.at(Term::Exact, cell, self.time)[unknown]);
        let differences = self.cells.iter().zip(exact).map(|(q, exact)| (q[unknown] - exact).abs());
        differences.sum::<f64>() * self.dx
    }

    /// Integral of an unknown over `low..high`.
    pub(crate) fn integral(&self, unknown: usize, low: f64, high: f64) -> f64 {
        let x = |cell: u32| self.low + (f64::from(cell) + 0.5) * self.dx;
        let inside = (0u32..).zip(&self.cells).filter(|(cell, _)| (low..high).contains(&x(*cell)));
        inside.map(|(_, q)| q[unknown]).sum::<f64>() * self.dx
    }
}

const HALF: f64 = 0.5;

#[test]
fn sod_by_rusanov_has_the_known_error_and_hllc_a_smaller_one() {
    let error = |count: u32, own: bool| {
        let mut line = Line::new("euler", &[], (0.0, 1.0), count);
        line.advance(0.2, 0.45, own);
        line.error(0)
    };
    // The same scheme run elsewhere, C = 0.45.
    for (count, want) in [(100, 2.458e-2), (200, 1.679e-2), (400, 1.103e-2)] {
        let rusanov = error(count, false);
        assert!((rusanov / want - 1.0).abs() < 0.05, "{count}: {rusanov:e}, not {want:e}");
        let hllc = error(count, true);
        assert!(hllc < 0.75 * rusanov, "{count}: {hllc:e} of HLLC, {rusanov:e} of Rusanov");
    }
}

#[test]
fn hllc_keeps_a_contact_at_rest() {
    let mut line = Line::new("euler", &[], (0.0, 1.0), 10);
    for (cell, q) in line.cells.iter_mut().enumerate() {
        *q = vec![if cell < 5 { 1.0 } else { 0.3 }, 0.0, 0.0, 0.0, 2.5];
    }
    let before = line.cells.clone();
    line.advance(0.1, 0.45, true);
    for (after, before) in line.cells.iter().flatten().zip(before.iter().flatten()) {
        assert!((after - before).abs() < 1e-15, "{after} was {before}");
    }
}

/// A pulse meets the interface at `HALF`: what came back and what went through, as integrals over the
/// integral of the pulse. Numerical damping within a medium keeps them, the interface alone decides.
///
/// `speeds` are those of the pulse and the fastest ones, which damp, in both media.
fn two_media(
    name: &str,
    changed: &[(&str, f64)],
    unknown: usize,
    speeds: [(f64, f64); 2],
    counts: [u32; 2],
    own: bool,
) {
    let width = 0.08;
    let mut all = vec![("centre", 0.0), ("width", width)];
    // The pulse is then as far beyond the interface as it was before it.
    let (met, end) = (0.5 / speeds[0].0, 0.95 / speeds[0].0);
    all.extend(changed);
    let mut errors = Vec::new();
    for count in counts {
        let mut line = Line::new(name, &all, (-1.0, 1.5), count);
        let before = line.integral(unknown, -1.0, HALF);
        line.advance(end, 0.9, own);
        let back = line.integral(unknown, -1.0, HALF) / before;
        let through = line.integral(unknown, HALF, 1.5) / before;
        errors.push(line.error(unknown) / before);
        // Impedances 1 and 2: of the pressure 1/3 returns and 4/3 goes on, of the velocity -1/3 and
        // 2/3, in the second medium at half the speed, so half as long.
        let want =
            if name == "acoustics" { (1.0 / 3.0, 2.0 / 3.0) } else { (-1.0 / 3.0, 1.0 / 3.0) };
        // Each pulse is a Gaussian whose variance grows by damping; so much of its tail has not left
        // the interface yet.
        let dx = 2.5 / f64::from(count);
        let tail = |(speed, fastest): (f64, f64)| {
            let first = (width * speed / speeds[0].0).powi(2) / 2.0;
            let variance = first + dx * (fastest - 0.9 * speed * speed / speeds[0].1) * end;
            (-(speed * (end - met)).powi(2) / (2.0 * variance)).exp()
        };
        let tail = tail(speeds[0]) + tail(speeds[1]);
        assert!((back - want.0).abs() < tail, "{name}: {back} came back, not {}", want.0);
        assert!((through - want.1).abs() < tail, "{name}: {through} went on, not {}", want.1);
    }
    // First order, not reached yet on such cells: more than one half.
    assert!(errors[1] < 0.7 * errors[0], "{name}: {errors:?}");
}

#[test]
fn sound_is_reflected_and_transmitted_between_two_media_by_both_fluxes() {
    let speeds = [(1.0, 1.0), (0.5, 0.5)];
    two_media("acoustics", &[], 0, speeds, [200, 400], false);
    two_media("acoustics", &[], 0, speeds, [200, 400], true);
}

#[test]
fn elastic_pulses_are_reflected_and_transmitted_between_two_media() {
    two_media("elastics", &[("wave", 0.0)], 0, [(2.0, 2.0), (1.0, 1.0)], [200, 400], false);
    two_media("elastics", &[("wave", 1.0)], 1, [(1.0, 2.0), (0.5, 1.0)], [400, 800], false);
}

#[test]
fn a_dam_breaks_as_stoker_computed() {
    let error = |count: u32, own: bool| {
        let mut line = Line::new("shallow_water", &[], (0.0, 1.0), count);
        line.advance(0.06, 0.9, own);
        line.error(0)
    };
    for own in [false, true] {
        let (coarse, fine) = (error(100, own), error(200, own));
        // Between one half and first order, as Sod's shock tube.
        assert!(fine < 0.7 * coarse && fine < 0.012, "{own}: {coarse:e} {fine:e}");
    }
}

#[test]
fn a_dam_breaks_onto_dry_ground() {
    for own in [false, true] {
        let mut line = Line::new("shallow_water", &[("depth_right", 0.0)], (0.0, 1.0), 100);
        line.advance(0.04, 0.9, own);
        assert!(line.cells.iter().all(|q| q[0] >= 0.0 && q[1].is_finite()), "{own}");
        assert!((line.integral(0, 0.0, 1.0) - 1.0).abs() < 1e-12, "water is lost or made");
        // The front runs at 2 sqrt(g h) (Ritter 1892), at most.
        let front = HALF + 2.0 * (9.81f64 * 2.0).sqrt() * 0.04;
        assert!(line.integral(0, front + 0.02, 1.0) < 1e-3);
        assert!(line.integral(0, HALF, front) > 0.1);
    }
}

#[test]
fn water_at_rest_over_a_mound_stays_at_rest() {
    let mut line = Line::new("shallow_water", &[("problem", 1.0)], (-1.0, 1.0), 100);
    line.advance(0.5, 0.9, true);
    assert!(line.error(0) < 1e-14 && line.error(1) < 1e-14, "{} {}", line.error(0), line.error(1));
}

#[test]
fn a_sine_is_carried_along() {
    for own in [false, true] {
        // At Courant number 1 the upwind flux, and here Rusanov's, shifts by whole cells.
        let mut line = Line::new("advection", &[], (0.0, 2.0), 64);
        line.advance(0.5, 1.0, own);
        let want: Vec<f64> = (0u32..64)
            .map(|cell| (2.0 * std::f64::consts::PI * (f64::from(cell) + 0.5 - 16.0) / 32.0).sin())
            .collect();
        // The left end does not know what flows in, the right end stays as it was.
        for cell in 16..63 {
            let (got, want) = (line.cells[cell][0], want[cell]);
            assert!((got - want).abs() < 1e-13, "{own}: {got} is not {want}");
        }
    }
}

#[test]
fn the_shipped_schemes_march_sound_as_this_line_does() {
    let cells = 48u16;
    let (p, halo) = (usize::from(cells), usize::from(cells) + 2);
    for (scheme, own) in [("rusanov", false), ("godunov", true)] {
        let changed = [("centre", 0.1), ("width", 0.15)];
        let mut line = Line::new("acoustics", &changed, (-1.0, 1.5), u32::from(cells));
        let (scheme, physics) = (Scheme::shipped(scheme).unwrap(), Arc::new(line.physics.clone()));
        let kernel = lower(&scheme, &physics, &Request::new(2, cells)).unwrap();
        let mut rows = line.cells.clone();
        for _ in 0..28 {
            let dt = 0.9 * line.dx;
            line.advance(line.time + dt, 1.0, own);
            // The same along each y, the halo a copy of the edge.
            let at = |x: usize| &rows[x.saturating_sub(1).min(p - 1)];
            let input: Vec<f64> = (0..halo).flat_map(|_| (0..halo).flat_map(at).copied()).collect();
            let cell = Cell { centre: [0.25; 3], size: [2.5; 3], time: 0.0, time_step: dt };
            let (mut output, mut speed) = (vec![0.0; p * p * 6], [0.0]);
            interpret(
                &kernel,
                &line.parameters,
                &[cell],
                &[&input],
                &mut [&mut output[..]],
                &mut speed,
            )
            .unwrap();
            assert_eq!(speed[0].to_bits(), 1.0f64.to_bits());
            let middle = &output[(p / 2) * p * 6..][..p * 6];
            rows = middle.chunks(6).map(<[f64]>::to_vec).collect();
        }
        // Apart from the ends, which this line keeps and the halo lets go.
        let inside = |cells: &[Vec<f64>]| cells[1..p - 1].concat();
        for (got, want) in inside(&rows).iter().zip(&inside(&line.cells)) {
            assert!((got - want).abs() < 1e-12, "{}: {got} is not {want}", scheme.name);
        }
        // The pulse, damped, is across.
        let most = rows.iter().skip(p * 3 / 5).fold(0.0f64, |most, q| most.max(q[0]));
        assert!(most > 0.4, "{most}");
    }
}

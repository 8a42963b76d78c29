//! What the equations imply, whatever the code: exact solutions, flat space, auxiliary equations that
//! are derivatives, and the Hamiltonian constraint in the equation for theta.

use temblor_patch::graph::Function;
use temblor_patch::{Physics, Term};

use crate::agreement::{Case, TEXT};
use crate::field::{derivative, einstein, field};
use crate::puncture::permuted;
use crate::seeded::cases;
use crate::transcription::constraints::{constraints, physical};
use crate::transcription::{State, inverse, pair, problems, sum2, symmetric};

/// A case with everything drawn but the branch; the floors are out of the way.
fn case(one_plus_log: bool, shift: f64) -> Case {
    let mut case = cases()[0].clone();
    case.constants.one_plus_log = one_plus_log;
    case.constants.advection = true;
    (case.constants.s, case.constants.bs) = (shift, shift);
    (case.constants.alpha_floor, case.constants.phi_floor) = (1e-4, 1e-2);
    case
}

/// The rate of a state by the graph.
struct Rate {
    physics: Physics,
    case: Case,
    function: Function,
}

impl Rate {
    fn new(case: Case) -> Self {
        let physics = Physics::from_c("ccz4.c", TEXT).unwrap();
        let function = physics.trace(Term::Rhs, 0, &case.integers(&physics)).unwrap();
        Self { physics, case, function }
    }

    fn at(&mut self, q: State, dq: [State; 3]) -> State {
        (self.case.q, self.case.dq) = (q, dq);
        let rate = self.case.run(&self.physics, &self.function, Term::Rhs, 0);
        rate.try_into().unwrap()
    }
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most, value| most.max(value.abs()))
}

/// The gauge wave and its derivative by the phase x - t: every entry is c H^p H'^m, so that the
/// derivative is c (p H^(p-1) H'^(m+1) + m H^p H'').
fn gauge_wave_and_slope(phase: f64, wavelength: f64, amplitude: f64) -> (State, State) {
    let entries: [(usize, f64, f64, i32); 16] = [
        (0, 1.0, 2.0 / 3.0, 0),
        (3, 1.0, -1.0 / 3.0, 0),
        (5, 1.0, -1.0 / 3.0, 0),
        (6, 1.0 / 3.0, -5.0 / 6.0, 1),
        (9, -1.0 / 6.0, -11.0 / 6.0, 1),
        (11, -1.0 / 6.0, -11.0 / 6.0, 1),
        (13, 2.0 / 3.0, -5.0 / 3.0, 1),
        (16, 1.0, 0.5, 0),
        (23, 0.5, -0.5, 1),
        (35, 1.0 / 3.0, -1.0 / 3.0, 1),
        (38, -1.0 / 6.0, -4.0 / 3.0, 1),
        (40, -1.0 / 6.0, -4.0 / 3.0, 1),
        (53, 0.5, -1.5, 1),
        (54, 1.0, -1.0 / 6.0, 0),
        (55, -1.0 / 6.0, -7.0 / 6.0, 1),
        (58, 0.0, 1.0, 0),
    ];
    let k = 2.0 * std::f64::consts::PI / wavelength;
    let h = 1.0 - amplitude * (k * phase).sin();
    let dh = -k * amplitude * (k * phase).cos();
    let ddh = k * k * amplitude * (k * phase).sin();
    let (mut q, mut slope) = ([0.0; 59], [0.0; 59]);
    for (u, c, power, m) in entries {
        q[u] = c * h.powf(power) * dh.powi(m);
        slope[u] = c * power * h.powf(power - 1.0) * dh.powi(m + 1)
            + if m == 1 { c * h.powf(power) * ddh } else { 0.0 };
    }
    (q, slope)
}

#[test]
fn the_gauge_wave_solves_the_equations() {
    let mut rate = Rate::new(case(false, 0.0));
    for place in 0..17u8 {
        let phase = f64::from(place) / 17.0 - 0.5;
        let (q, slope) = gauge_wave_and_slope(phase, 1.0, 0.1);
        // d_t = -d_x of a function of x - t.
        let got = rate.at(q, [slope, [0.0; 59], [0.0; 59]]);
        for u in 0..59 {
            assert!((got[u] + slope[u]).abs() <= 1e-13, "unknown {u}: {} {}", got[u], -slope[u]);
        }
        let (h, momentum) = constraints(&q, &[slope, [0.0; 59], [0.0; 59]]);
        assert!(h.abs() <= 1e-12 && largest(&momentum) <= 1e-12, "{h} {momentum:?}");
    }
}

#[test]
fn the_diagonal_gauge_wave_solves_the_equations() {
    let mut rate = Rate::new(case(false, 0.0));
    let along = 0.5f64.sqrt();
    for place in 0..17u8 {
        let phase = f64::from(place) / 17.0 - 0.5;
        let (q, slope) = gauge_wave_and_slope(phase, along, 0.1);
        let (q, slope) = (problems::turned(&q), problems::turned(&slope));
        let scaled = |factor: f64| slope.map(|value| factor * value);
        let dq = [scaled(along), scaled(-along), [0.0; 59]];
        let got = rate.at(q, dq);
        // The wave number is sqrt(2) times that along x, hence twice the rates.
        for u in 0..59 {
            assert!((got[u] + slope[u]).abs() <= 2e-13, "unknown {u}: {} {}", got[u], -slope[u]);
        }
        let (h, momentum) = constraints(&q, &dq);
        assert!(h.abs() <= 2e-12 && largest(&momentum) <= 2e-12, "{h} {momentum:?}");
    }
}

#[test]
fn flat_space_stays_flat_exactly() {
    for (one_plus_log, shift) in [(false, 0.0), (false, 1.0), (true, 0.0), (true, 1.0)] {
        let got = Rate::new(case(one_plus_log, shift)).at(problems::flat(), [[0.0; 59]; 3]);
        assert!(largest(&got) == 0.0, "{got:?}");
    }
}

#[test]
fn permuted_axes_permute_the_rate() {
    for seeded in cases() {
        let (q, dq) = (seeded.q, seeded.dq);
        let mut rate = Rate::new(seeded);
        let straight = rate.at(q, dq);
        for order in [[1, 0, 2], [0, 2, 1], [2, 0, 1]] {
            let mut turned = dq;
            for k in 0..3 {
                turned[order[k]] = permuted(&dq[k], order);
            }
            let got = rate.at(permuted(&q, order), turned);
            let want = permuted(&straight, order);
            let bound = 1e-13 * largest(&want);
            for u in 0..59 {
                assert!((got[u] - want[u]).abs() <= bound, "{order:?} {u}: {} {}", got[u], want[u]);
            }
        }
    }
}

/// Places inside the field, away from symmetry.
const PLACES: [[f64; 3]; 3] = [[0.1, -0.2, 0.3], [0.7, 0.4, -0.5], [-0.6, 0.9, 0.2]];

fn slopes(of: &impl Fn([f64; 3]) -> State, x: [f64; 3]) -> [State; 3] {
    [0, 1, 2].map(|axis| derivative(of, x, axis))
}

#[test]
fn auxiliary_equations_are_derivatives_of_the_primary_ones() {
    for one_plus_log in [false, true] {
        let mut rate = Rate::new(case(one_plus_log, 1.0));
        for x in PLACES {
            let got = rate.at(field(x), slopes(&field, x));
            // The rates of metric, lapse, shift and conformal factor hold no derivative.
            let cell = std::cell::RefCell::new(&mut rate);
            let primary = |y: [f64; 3]| cell.borrow_mut().at(field(y), [[0.0; 59]; 3]);
            let scale = largest(&got);
            for k in 0..3 {
                let want = derivative(&primary, x, k);
                let mut pairs = vec![(23 + k, want[16]), (55 + k, want[54])];
                pairs.extend((0..3).map(|i| (26 + 3 * k + i, want[17 + i])));
                pairs.extend((0..6).map(|entry| (35 + 6 * k + entry, 0.5 * want[entry])));
                for (u, want) in pairs {
                    let bound = 1e-10 * scale;
                    assert!((got[u] - want).abs() <= bound, "unknown {u}: {} {want}", got[u]);
                }
            }
        }
    }
}

#[test]
fn theta_is_driven_by_the_hamiltonian_constraint_alone() {
    // With no Z4 vector, d_t theta - beta^k d_k theta = alpha e^2 H / 2, and H comes from the physical
    // metric by the definition of the Ricci tensor.
    let mut rate = Rate::new(case(true, 1.0));
    for x in PLACES {
        let (q, dq) = (einstein(x), slopes(&einstein, x));
        let got = rate.at(q, dq);
        let (h, _) = constraints(&q, &dq);
        let e = rate.case.constants.e;
        let want = 0.5 * q[16] * e * e * h;
        assert!(want.abs() > 0.01 && (got[12] - want).abs() <= 1e-10, "{} {want}", got[12]);
    }
}

/// Without a Z4 vector the equations of metric and extrinsic curvature are those of Arnowitt, Deser and
/// Misner.
#[test]
fn metric_and_extrinsic_curvature_evolve_as_in_general_relativity() {
    for one_plus_log in [false, true] {
        let mut rate = Rate::new(case(one_plus_log, 1.0));
        for x in PLACES {
            let (q, dq) = (einstein(x), slopes(&einstein, x));
            let got = rate.at(q, dq);
            let want = physical(&q, &dq);
            let (phi, growth) = (q[54], -2.0 * got[54] / q[54]);
            for i in 0..3 {
                for j in i..3 {
                    let u = pair(i, j);
                    // gamma_ij = g_ij / phi^2 and K_ij = (A_ij + g_ij K / 3) / phi^2.
                    let gamma_rate = got[u] / (phi * phi) + growth * want.gamma[i][j];
                    let parts = got[6 + u] + (got[u] * q[53] + q[u] * got[53]) / 3.0;
                    let k_rate = parts / (phi * phi) + growth * want.k[i][j];
                    for (got, want) in
                        [(gamma_rate, want.gamma_rate[i][j]), (k_rate, want.k_rate[i][j])]
                    {
                        assert!((got - want).abs() <= 1e-10, "{i} {j}: {got} {want}");
                    }
                }
            }
        }
    }
}

/// Without a Z4 vector `d_t Z_i = alpha M_i`, so that the contracted Christoffel symbols differ from those
/// of the moving metric, `-d_j g^ij`, at the rate `2 alpha g^ij M_j`.
#[test]
fn contracted_christoffel_symbols_are_driven_by_the_momentum_constraint() {
    let mut rate = Rate::new(case(true, 1.0));
    for x in PLACES {
        let (q, dq) = (einstein(x), slopes(&einstein, x));
        let got = rate.at(q, dq);
        // d_t g^ij = -g^im g^jn d_t g_mn, a field of its own.
        let cell = std::cell::RefCell::new(&mut rate);
        let inverse_rate = |y: [f64; 3]| {
            let q = einstein(y);
            let rate = symmetric(&cell.borrow_mut().at(q, [[0.0; 59]; 3]), 0);
            let (up, _) = inverse(&symmetric(&q, 0));
            let mut field = [0.0; 59];
            for i in 0..3 {
                for j in 0..3 {
                    field[3 * i + j] = -sum2(|m, n| up[i][m] * up[j][n] * rate[m][n]);
                }
            }
            field
        };
        let slopes = slopes(&inverse_rate, x);
        let (up, _) = inverse(&symmetric(&q, 0));
        let (_, momentum) = constraints(&q, &dq);
        for i in 0..3 {
            let metric: f64 = (0..3).map(|j| -slopes[j][3 * i + j]).sum();
            let push: f64 = (0..3).map(|j| 2.0 * q[16] * up[i][j] * momentum[j]).sum();
            let want = metric + push;
            assert!(push.abs() > 1e-3, "{push}");
            assert!((got[13 + i] - want).abs() <= 1e-10, "{i}: {} {want}", got[13 + i]);
        }
    }
}

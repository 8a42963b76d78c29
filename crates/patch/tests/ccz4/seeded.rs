//! States drawn from a seed, with every constant varied, against the transcription.

use temblor_patch::{Physics, Term};

use crate::agreement::{Case, Extra, compare};
use crate::transcription::{Constants, State};

/// Splitmix64 (Steele, Lea, Flood 2014), uniform in [0, 1).
pub(crate) struct Draw(pub u64);

impl Draw {
    pub(crate) fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let bits = u32::try_from((z ^ (z >> 31)) >> 32).unwrap();
        f64::from(bits) / 4_294_967_296.0
    }

    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// A metric near flat, everything else within 0.4 of zero, lapse and conformal factor near 0.8.
    pub(crate) fn state(&mut self) -> State {
        let mut q = [0.0; 59];
        for value in &mut q {
            *value = self.between(-0.4, 0.4);
        }
        for u in 0..6 {
            q[u] *= 0.5;
        }
        for u in [0, 3, 5] {
            q[u] += 1.0;
        }
        q[16] += 0.8;
        q[54] += 0.8;
        q
    }
}

/// All constants away from their defaults, whichever branch `place` asks for.
pub(crate) fn cases() -> Vec<Case> {
    let mut draw = Draw(59);
    let floors = [
        ("no floor", 1e-4, 1e-2),
        ("lapse below its floor", 1.7, 1e-2),
        ("conformal factor below its floor", 1e-4, 1.9),
        ("both below their floors", 1.6, 1.8),
    ];
    let shifts = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0)];
    let mut all = Vec::new();
    for (which, alpha_floor, phi_floor) in floors {
        for (s, bs) in shifts {
            for one_plus_log in [false, true] {
                let advection = draw.unit() < 0.7;
                let constants = Constants {
                    one_plus_log,
                    advection,
                    s,
                    bs,
                    k1: draw.between(0.1, 1.0),
                    k2: draw.between(-0.9, 0.9),
                    k3: draw.between(0.1, 1.0),
                    e: draw.between(0.5, 3.0),
                    c: draw.between(0.2, 1.2),
                    ds: draw.between(0.2, 2.5),
                    f: draw.between(0.2, 4.0),
                    xi: draw.between(0.2, 2.0),
                    eta: draw.between(0.2, 2.0),
                    mu: draw.between(0.1, 1.0),
                    itau: draw.between(0.2, 2.0),
                    alpha_floor,
                    phi_floor,
                };
                let extra = Extra {
                    glm: [draw.between(0.5, 6.0), draw.between(0.5, 6.0)],
                    state_floor: draw.between(0.7, 0.9),
                    amplitude: draw.between(0.05, 0.2),
                    wavelength: draw.between(0.7, 1.6),
                    mass: draw.between(0.5, 2.0),
                };
                let x = [0; 3].map(|_| draw.between(-1.0, 1.0));
                all.push(Case {
                    name: format!("{which}, s {s}, bs {bs}, one plus log {one_plus_log}"),
                    constants,
                    extra,
                    q: draw.state(),
                    dq: [draw.state(), draw.state(), draw.state()],
                    x: if all.len() == 5 { [0.0; 3] } else { x },
                    t: draw.between(0.1, 2.0),
                });
            }
        }
    }
    // The bound on the speeds where its other branches decide.
    let mut slow = all[0].clone();
    slow.name = "light decides the bound".to_owned();
    (slow.constants.e, slow.constants.ds, slow.extra.glm) = (0.7, 0.6, [0.3, 0.2]);
    let mut wide = slow.clone();
    wide.name = "the bound is 1".to_owned();
    wide.q[..6].iter_mut().for_each(|entry| *entry *= 9.0);
    all.extend([slow, wide]);
    all
}

#[test]
fn seeded_states_agree_with_a_second_transcription() {
    let physics = Physics::shipped("ccz4").unwrap();
    for case in cases() {
        compare(&physics, &case).unwrap();
    }
}

/// Tracing reorders nothing: it drops literal zeros, moves signs, and computes equal values once.
#[test]
fn a_trace_gives_the_bits_of_the_text() {
    let physics = Physics::shipped("ccz4").unwrap();
    for case in cases() {
        let integers = case.integers(&physics);
        for (term, directions) in
            [(Term::Rhs, 1), (Term::Source, 1), (Term::Ncp, 3), (Term::Post, 1)]
        {
            for n in 0..directions {
                let function = physics.trace(term, u8::try_from(n).unwrap(), &integers).unwrap();
                let got = case.run(&physics, &function, term, n);
                let want = case.evaluate(&physics, term, n, &[]).unwrap();
                for (u, (got, want)) in got.iter().zip(want).enumerate() {
                    // The sum makes -0 to 0: a sign that was moved may turn a zero's.
                    let same = (got + 0.0).to_bits() == (want + 0.0).to_bits();
                    assert!(same, "{} {term:?} {n}: {u} is {got:e}, not {want:e}", case.name);
                }
            }
        }
    }
}

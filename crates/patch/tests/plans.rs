//! Every plan of a kernel computes what the unfused one does, which runs the C text as it stands.

mod support;

use support::{Random, apply, assert_same, cell, chunk, kernel, physics};
use temblor_patch::library::shipped;
use temblor_patch::shipped::SCHEMES;
use temblor_patch::{Plan, Scheme, Term};

/// Shipped physics and the toy with every shipped scheme that suits them.
fn pairs() -> Vec<(&'static str, &'static str)> {
    let names = shipped().iter().map(|(name, _)| *name).chain(["toy"]);
    let mut pairs = Vec::new();
    for name in names {
        let physics = physics(name);
        for (scheme, _) in SCHEMES {
            let suits = match scheme {
                "godunov" => physics.has(Term::Face),
                "dg" => physics.has(Term::Flux) && !physics.has(Term::Ncp),
                _ => true,
            };
            if suits {
                pairs.push((name, scheme));
            }
        }
    }
    pairs
}

#[test]
fn fused_staged_and_unfused_kernels_give_the_same_bits() {
    for (name, scheme) in pairs() {
        let physics = physics(name);
        let scheme = Scheme::shipped(scheme).unwrap();
        for d in [2, 3] {
            for p in [2, 3, 5] {
                let unfused = kernel(&scheme, &physics, d, p, Plan::Unfused);
                let mut random = Random(7 + u64::from(d) * 100 + u64::from(p));
                let inputs = [chunk(&unfused, &mut random)];
                let (want, speed) = apply(&unfused, &[cell()], &inputs);
                assert!(want[0].iter().all(|value| value.is_finite()), "{}", unfused.name);
                let temporaries = scheme.blocks[2..].iter().map(|block| block.name.clone());
                let some = temporaries.step_by(2).collect();
                for plan in [Plan::Fused, Plan::Staged(some)] {
                    let other = kernel(&scheme, &physics, d, p, plan);
                    let (got, fastest) = apply(&other, &[cell()], &inputs);
                    assert_same(&got[0], &want[0], &other.name);
                    assert_same(&fastest, &speed, &other.name);
                }
            }
        }
    }
}

//! Marching on a patch kernel of a few lines; what a march does beyond the kernel.

use std::f64::consts::PI;
use std::ops::ControlFlow;

use temblor_backend::patch::Beyond;
use temblor_patch::Output;

use super::test_set::Advection;
use super::{March, MarchSpec, Reached, Side, StepLimits, StepRule, Tableau, Tiling};
use crate::error::Error;

const PERIODIC: [[Side; 2]; 3] = [[Side::Periodic; 2]; 3];

/// A box of 1 m x 0.5 m of `patches` x 1 patches.
fn strip(cells: u16, patches: usize, sides: [[Side; 2]; 3]) -> Tiling {
    Tiling::new(2, cells, [patches, 1, 1], [0.0; 3], [1.0, 0.5, 0.0], sides).unwrap()
}

fn spec(order: u8, rule: StepRule) -> MarchSpec {
    MarchSpec { order, rule, dissipation: 0.0, check_every: 10 }
}

fn start(kind: &Advection, tiling: &Tiling, spec: MarchSpec) -> March {
    let mut march = March::new(&kind.kernel(), kind, tiling, spec).unwrap();
    march
        .fill(0.0, |[x, y, _], state| {
            state.copy_from_slice(&[(2.0 * PI * x).sin() + 0.1 * y, 7.0 + x]);
        })
        .unwrap();
    march
}

fn on(_: &super::Status) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// A sine that went around once.
fn after_a_period(order: u8, patches: usize, dt: f64) -> March {
    let kind = Advection::new(10, Output::Rate, 1.0);
    let tiling = strip(10, patches, PERIODIC);
    let mut march =
        March::new(&kind.kernel(), &kind, &tiling, spec(order, StepRule::Fixed(dt))).unwrap();
    march.fill(0.0, |[x, ..], state| state.copy_from_slice(&[(2.0 * PI * x).sin(), 0.0])).unwrap();
    assert_eq!(march.advance(1.0, on).unwrap(), Reached::End);
    march
}

/// Its L2 error.
fn error_after_a_period(patches: usize, dt: f64) -> f64 {
    let norms = after_a_period(4, patches, dt)
        .errors(|[x, ..], t, exact| exact.copy_from_slice(&[(2.0 * PI * (x - t)).sin(), 0.0]))
        .unwrap();
    assert_eq!(norms.len(), 1, "the fixed unknown is not compared");
    assert!(norms[0].l1 <= norms[0].l2 && norms[0].l2 <= norms[0].linf);
    norms[0].l2
}

#[test]
fn every_runge_kutta_method_converges_with_its_order_in_time() {
    let exact_in_time = after_a_period(4, 4, 5e-4).state().unwrap();
    for (order, dt) in [(1_u8, 5e-4), (2, 0.01), (3, 0.02), (4, 0.02)] {
        let error = |dt: f64| {
            let state = after_a_period(order, 4, dt).state().unwrap();
            (state - &exact_in_time).mapv(|d| d * d).sum().sqrt()
        };
        let rate = (error(dt) / error(dt / 2.0)).log2();
        assert!((rate - f64::from(order)).abs() < 0.1, "order {order}: {rate}");
    }
}

#[test]
fn a_sine_on_central_differences_has_the_error_of_its_phase() {
    // Modified wave number (8 sin a - sin 2a) / 6 for a = 2 pi / 40; the error of a sine that is out
    // of phase by e is 2 sin(e / 2), its root mean square that over sqrt(2).
    let a = 2.0 * PI / 40.0;
    let slow = a - (8.0 * a.sin() - (2.0 * a).sin()) / 6.0;
    let phase = slow * 40.0;
    let expected = 2.0 * (phase / 2.0).sin() / 2.0_f64.sqrt();
    let measured = error_after_a_period(4, 5e-4);
    assert!((measured / expected - 1.0).abs() < 1e-3, "{measured} {expected}");
}

#[test]
fn upwind_at_courant_one_moves_the_state_by_a_voxel_per_step() {
    let kind = Advection::new(5, Output::Step, 2.0);
    let tiling = strip(5, 4, PERIODIC);
    let mut march = start(&kind, &tiling, spec(1, StepRule::Courant(1.0)));
    let before = march.state().unwrap();
    let dx = 1.0 / 20.0;
    march.advance(3.0 * dx / 2.0, on).unwrap();
    assert_eq!(march.status().step, 3);
    let after = march.state().unwrap();
    for i in 0..20 {
        for j in 0..5 {
            let moved = before[[0, (i + 20 - 3) % 20, j, 0]];
            assert!((after[[0, i, j, 0]] - moved).abs() < 1e-14);
            assert_eq!(after[[1, i, j, 0]].to_bits(), before[[1, i, j, 0]].to_bits());
        }
    }
}

#[test]
fn the_cut_into_patches_does_not_change_a_bit() {
    for (output, order) in [(Output::Step, 1), (Output::Rate, 4), (Output::Rate, 3)] {
        for sides in [PERIODIC, [[Side::Outflow; 2]; 3], [[Side::Fixed, Side::Outflow]; 3]] {
            let states = [(3_u16, 8), (6, 4), (12, 2)].map(|(cells, patches)| {
                let kind = Advection::new(cells, output, 1.0);
                // 24 x 12 voxels, whatever the patch.
                let tall = 12 / usize::from(cells);
                let size = [1.0, 0.5, 0.0];
                let tiling =
                    Tiling::new(2, cells, [patches, tall, 1], [0.0; 3], size, sides).unwrap();
                let mut march = start(&kind, &tiling, spec(order, StepRule::Courant(0.4)));
                march.advance(0.3, on).unwrap();
                march.state().unwrap().mapv(f64::to_bits)
            });
            assert_eq!(states[0], states[1], "{output:?} {order} {sides:?}");
            assert_eq!(states[0], states[2], "{output:?} {order} {sides:?}");
        }
    }
}

#[test]
fn a_fixed_face_feeds_the_state_that_it_began_with() {
    let kind = Advection::new(5, Output::Step, 1.0);
    let sides = [[Side::Fixed, Side::Outflow], [Side::Outflow; 2], [Side::Outflow; 2]];
    let tiling = strip(5, 4, sides);
    let mut march =
        March::new(&kind.kernel(), &kind, &tiling, spec(1, StepRule::Courant(1.0))).unwrap();
    march
        .fill(0.0, |[x, ..], state| state.copy_from_slice(&[if x < 0.0 { 3.0 } else { 0.0 }, 0.0]))
        .unwrap();
    march.advance(2.0, on).unwrap();
    assert!(
        march
            .state()
            .unwrap()
            .slice(ndarray::s![0, .., .., ..])
            .iter()
            .all(|v| v.to_bits() == 3.0_f64.to_bits())
    );
}

#[test]
fn a_restart_gives_the_bits_of_a_march_without_one() {
    for (output, order) in [(Output::Step, 1), (Output::Rate, 4)] {
        let kind = Advection::new(4, output, 1.0);
        let sides = [[Side::Fixed, Side::Outflow], [Side::Periodic; 2], [Side::Outflow; 2]];
        let tiling = strip(4, 5, sides);
        let spec = spec(order, StepRule::Courant(0.3));
        let mut whole = start(&kind, &tiling, spec);
        whole.advance(0.5, on).unwrap();

        let mut first = start(&kind, &tiling, spec);
        let stopped = first
            .advance(0.5, |status| {
                if status.step == 7 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })
            .unwrap();
        assert_eq!(stopped, Reached::Stopped);
        let mut file = Vec::new();
        first.save("this run", &mut file).unwrap();

        let mut second = March::new(&kind.kernel(), &kind, &tiling, spec).unwrap();
        second.restore("this run", &mut file.as_slice()).unwrap();
        assert_eq!(second.status(), first.status());
        second.advance(0.5, on).unwrap();
        assert_eq!(second.history(), whole.history());
        let bits = |march: &mut March| march.state().unwrap().mapv(f64::to_bits);
        assert_eq!(bits(&mut second), bits(&mut whole));

        let mut other = |name: &str, bytes: &[u8]| {
            second.restore(name, &mut &bytes[..]).unwrap_err().to_string()
        };
        assert!(other("that run!", &file).contains("another run"));
        assert!(other("that run", &file).contains("another run"));
        assert!(other("this run", &file[..100]).contains("restart file"));
        file[400] ^= 1;
        assert!(other("this run", &file).contains("checksum"), "a flipped bit goes unnoticed");
    }
}

#[test]
fn a_value_that_is_not_finite_is_named_with_cell_voxel_unknown_and_place() {
    let kind = Advection::new(5, Output::Step, 1.0);
    let tiling = strip(5, 4, PERIODIC);
    let spec = MarchSpec { check_every: 1, ..spec(1, StepRule::Courant(0.5)) };
    let mut march = March::new(&kind.kernel(), &kind, &tiling, spec).unwrap();
    // Voxel 12 of 20 along x, 3 of 5 along y.
    march
        .fill(0.0, |[x, y, _], state| {
            let bad = (x - 0.625).abs() < 1e-9 && (y - 0.35).abs() < 1e-9;
            state.copy_from_slice(&[if bad { f64::NAN } else { 1.0 }, 0.0]);
        })
        .unwrap();
    let error = march.advance(1.0, on).unwrap_err();
    let Error::NotFinite { unknown, step, patch, voxel, position, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!((unknown.as_str(), *step, *patch, *voxel), ("tracer", 1, 2, [2, 3, 0]));
    assert!((position[0] - 0.625).abs() < 1e-12 && (position[1] - 0.35).abs() < 1e-12);
}

#[test]
fn no_step_follows_from_a_speed_of_zero_or_one_that_is_not_finite() {
    for speed in [0.0, f64::NAN, f64::INFINITY] {
        let kind = Advection::new(5, Output::Step, speed);
        let tiling = strip(5, 4, PERIODIC);
        let mut march = start(&kind, &tiling, spec(1, StepRule::Courant(0.5)));
        let error = march.advance(1.0, on).unwrap_err();
        assert!(matches!(error, Error::NoStep { step: 0, .. }), "{error}");
    }
}

#[test]
fn steps_land_on_the_time_asked_for_without_a_sliver_behind() {
    let kind = Advection::new(5, Output::Step, 1.0);
    let tiling = strip(5, 4, PERIODIC);
    let mut march = start(&kind, &tiling, spec(1, StepRule::Fixed(0.01)));
    for until in [0.07, 0.1, 0.25] {
        march.advance(until, on).unwrap();
        assert_eq!(march.status().time.to_bits(), until.to_bits());
    }
    // Seven, three and fifteen steps, though 0.07 is not seven times 0.01 in binary.
    assert_eq!(march.status().step, 25);
}

#[test]
fn the_dissipation_bounds_the_step_as_the_real_axis_of_the_method_does() {
    // 8 m/s in 3-D with four stages: 0.116 dx.
    let sides = PERIODIC;
    let tiling = Tiling::new(3, 4, [2; 3], [0.0; 3], [8.0; 3], sides).unwrap();
    let limits = StepLimits::new(&tiling, Tableau::of_order(4).as_ref(), 8.0);
    assert!((limits.dissipation - 0.116).abs() < 1e-3, "{}", limits.dissipation);
    assert!(limits.check(StepRule::Fixed(0.115)).is_ok());
    let refused = limits.check(StepRule::Fixed(0.12)).unwrap_err().to_string();
    assert!(refused.contains("sigma"), "{refused}");
    // The rule of speeds: C dx / lambda / 7, or the dissipation's bound.
    let step = limits.step(StepRule::Courant(0.7), 2.0).unwrap();
    assert!((step - 0.05).abs() < 1e-15);
    assert!((limits.step(StepRule::Courant(7.0), 2.0).unwrap() - limits.dissipation).abs() < 1e-15);
}

#[test]
fn what_does_not_go_together_is_refused_with_the_remedy() {
    let sides = |low, high| [[low, high], [Side::Outflow; 2], [Side::Outflow; 2]];
    let tiling = |dimensions, patches, size, sides| {
        Tiling::new(dimensions, 4, patches, [0.0; 3], size, sides).unwrap_err().to_string()
    };
    let free = [[Side::Outflow; 2]; 3];
    assert!(tiling(4, [1; 3], [1.0; 3], free).contains("give 2 or 3"));
    assert!(tiling(2, [1, 0, 1], [1.0; 3], free).contains("patches along y"));
    assert!(tiling(3, [1; 3], [1.0, 1.0, -1.0], free).contains("along z"));
    let half = tiling(2, [1; 3], [1.0; 3], sides(Side::Periodic, Side::Outflow));
    assert!(half.contains("both faces periodic"), "{half}");

    let kind = Advection::new(4, Output::Step, 1.0);
    let tiling = strip(4, 2, PERIODIC);
    let refused = |order, rule| {
        March::new(&kind.kernel(), &kind, &tiling, spec(order, rule)).err().unwrap().to_string()
    };
    assert!(refused(4, StepRule::Courant(0.5)).contains("Euler step by itself"));
    assert!(refused(5, StepRule::Courant(0.5)).contains("1, 2, 3 or 4"));
    assert!(refused(1, StepRule::Courant(-0.5)).contains("positive"));
    let wrong = strip(5, 2, PERIODIC);
    let error = March::new(&kind.kernel(), &kind, &wrong, spec(1, StepRule::Fixed(0.1)));
    assert!(error.err().unwrap().to_string().contains("the kernel is for"));
}

#[test]
fn neighbours_of_patches_are_where_the_box_says() {
    let mut sides = [[Side::Outflow; 2]; 3];
    sides[0] = [Side::Periodic; 2];
    sides[1] = [Side::Fixed, Side::Outflow];
    let tiling = Tiling::new(3, 4, [3, 2, 2], [0.0; 3], [3.0, 2.0, 2.0], sides).unwrap();
    let neighbours = tiling.neighbours();
    // Patch (0, 1, 0) is 3, patch (2, 0, 1) is 8.
    assert_eq!(neighbours[3][0], [Beyond::Patch(5), Beyond::Patch(4)]);
    assert_eq!(neighbours[3][1], [Beyond::Patch(0), Beyond::Outflow]);
    assert_eq!(neighbours[3][2], [Beyond::Outflow, Beyond::Patch(9)]);
    assert_eq!(neighbours[8][0], [Beyond::Patch(7), Beyond::Patch(6)]);
    assert_eq!(neighbours[8][1], [Beyond::Fixed, Beyond::Patch(11)]);
    let cells = tiling.cells();
    assert_eq!(cells[8].centre.map(f64::to_bits), [2.5, 0.5, 1.5].map(f64::to_bits));
    assert_eq!(cells[8].size.map(f64::to_bits), [1.0; 3].map(f64::to_bits));
    let cells = strip(4, 2, PERIODIC).cells();
    // Beyond the dimension a patch is one voxel, as wide as along x.
    assert_eq!(cells[1].centre.map(f64::to_bits), [0.75, 0.25, 0.0].map(f64::to_bits));
    assert_eq!(cells[1].size.map(f64::to_bits), [0.5, 0.5, 0.125].map(f64::to_bits));
}

#[test]
fn totals_are_sums_over_the_box_and_periodic_upwind_keeps_them() {
    let kind = Advection::new(5, Output::Step, 1.0);
    let tiling = strip(5, 4, PERIODIC);
    let mut march = start(&kind, &tiling, spec(1, StepRule::Courant(0.4)));
    // Of sin + 0.1 y over 1 m x 0.5 m: 0.1 * 0.25 * 0.5.
    let before = march.totals().unwrap();
    assert!((before[0] - 0.0125).abs() < 1e-15, "{before:?}");
    march.advance(1.0, on).unwrap();
    assert!((march.totals().unwrap()[0] - before[0]).abs() < 1e-15);
}

//! Acoustics in two media: unknowns that do not evolve, through the whole march.

use temblor_solver::patches::Side;

use crate::support::{orders, problem, start, strip};

/// L1 error of the pressure after the pulse met the interface, over its L1 norm, and the state.
fn after_the_interface(count: usize) -> (f64, f64, Vec<f64>) {
    let sides = [[Side::Outflow; 2], [Side::Periodic; 2], [Side::Outflow; 2]];
    let problem = problem("acoustics", "godunov", &[], &strip(count, 5, sides)).courant(0.9);
    let mut started = start(&problem);
    started.run_to(0.45).unwrap();
    let error = started.errors().unwrap().expect("the solution is known")[0].l1;
    let state = started.march.state().unwrap();
    let pressure: Vec<f64> = state.slice(ndarray::s![0, .., 2, 0]).to_vec();
    let norm = pressure.iter().map(|p| p.abs()).sum::<f64>() / count as f64;
    // Density 1 and 4, speed 1 and 0.5: the medium is where it was.
    for i in 0..count {
        let (density, speed) = if i < count / 2 { (1.0_f64, 1.0_f64) } else { (4.0, 0.5) };
        assert_eq!(state[[4, i, 0, 0]].to_bits(), density.to_bits());
        assert_eq!(state[[5, i, 0, 0]].to_bits(), speed.to_bits());
    }
    (error, norm, pressure)
}

#[test]
fn a_pulse_meets_an_interface_as_the_exact_solution_says() {
    let runs = [400, 800, 1600].map(after_the_interface);
    let errors = runs.each_ref().map(|run| run.0);
    // Waves run along x alone, so nearly a voxel per step is stable. Godunov's upwind flux is of the first order, and the pulse is resolved by 20 voxels and more.
    for order in orders(&errors) {
        assert!((0.7..1.2).contains(&order), "{:?} {errors:?}", orders(&errors));
    }
    assert!(errors[2] < 0.05 * runs[2].1, "{errors:?} {}", runs[2].1);
    // Impedances 1 and 2: a third comes back, four thirds go on. The scheme's diffusion, D = c dx
    // (1 - C) / 2, lowers a Gaussian of width w to 1 / sqrt(1 + 4 D t / w^2): by a hundredth what comes
    // back, by 5 hundredths what goes on, half as wide and at half the Courant number.
    let largest = |range: std::ops::Range<usize>| {
        runs[2].2[range].iter().copied().fold(f64::NEG_INFINITY, f64::max)
    };
    let (back, on) = (largest(0..800), largest(800..1600));
    assert!((back * 3.0 - 0.99).abs() < 0.01, "{back}");
    assert!((on * 0.75 - 0.95).abs() < 0.01, "{on}");
}

//! Queueing and memory on a card. These need an NVIDIA device: `cargo test -p temblor-cuda -- --ignored`.

#![expect(clippy::unwrap_used, reason = "helpers of tests: a failure is a failed test")]

mod cases;

use cases::{FASTEST, cpml, download, minimod, problem, random, tables};
use ndarray::Array3;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use temblor_backend::{Backend, Field, PlanOptions, Region, StreamPattern, StreamRequest, Traces};
use temblor_cuda::{CudaBackend, Queueing};
use temblor_physics::{Boundaries, Boundary, Face, WaveProblem};

const STEPS: usize = 77;

/// Wavefield and samples of a run of 77 steps, whose sources' table ends at step 50.
fn run(
    backend: &CudaBackend,
    problem: &WaveProblem,
    variant: &str,
    cuts: &[u32],
) -> (Array3<f64>, Traces) {
    let shape = problem.grid.shape;
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let options = PlanOptions::new(3, STEPS).variant(variant);
    let mut plan = backend.propagator(problem, &options).unwrap();
    let whole = Region::whole(shape);
    let p = random(&mut rng, shape, -1.0, 1.0);
    let speed = random(&mut rng, shape, 1500.0, FASTEST);
    plan.upload(Field::WaveSpeed, whole, speed.view().into()).unwrap();
    plan.upload(Field::Pressure, whole, p.view().into()).unwrap();
    let (sources, receivers) = tables(&mut rng, shape, 51);
    plan.set_sources(&sources).unwrap();
    plan.set_receivers(&receivers).unwrap();
    cuts.iter().for_each(|&steps| plan.advance(steps).unwrap());
    (download(plan.as_mut(), Field::Pressure, shape), plan.traces().unwrap())
}

#[test]
#[ignore = "needs an NVIDIA device"]
fn graphs_and_branches_change_no_bit() {
    let mut walls = Boundaries::uniform(minimod(8));
    walls.set(Face::ZMin, Boundary::Free);
    walls.set(Face::XMax, Boundary::Rigid);
    for boundaries in [Boundaries::uniform(Boundary::Zero), Boundaries::uniform(cpml(8)), walls] {
        let problem = problem([70, 90, 83], 8, boundaries);
        let backend = |steps_per_graph, branches| {
            let queueing = Queueing { steps_per_graph, branches };
            CudaBackend::new(0).unwrap().with_queueing(queueing)
        };
        let (plain, graphs) = (backend(0, false), backend(16, false));
        let (branches, both) = (backend(0, true), backend(16, true));
        for variant in plain.variants(&problem).unwrap() {
            let name = &variant.name;
            let expected = run(&plain, &problem, name, &[77]);
            assert!(expected.0.iter().all(|v| v.is_finite()), "{name}");
            assert!(run(&graphs, &problem, name, &[77]) == expected, "{name}, graphs");
            assert!(run(&graphs, &problem, name, &[3, 18, 56]) == expected, "{name}, cut graphs");
            assert!(run(&branches, &problem, name, &[77]) == expected, "{name}, branches");
            assert!(run(&both, &problem, name, &[77]) == expected, "{name}, branches in graphs");
        }
    }
}

/// Footprint and free memory before and after, context and modules excluded. An allocation takes
/// whole pages of 2 MiB.
#[test]
#[ignore = "needs an NVIDIA device"]
fn a_plan_takes_the_memory_of_its_footprint() {
    let backend = CudaBackend::new(0).unwrap();
    for (name, kind) in [("zero", Boundary::Zero), ("cpml", cpml(20)), ("minimod", minimod(20))] {
        let problem = problem([300, 310, 320], 8, Boundaries::uniform(kind));
        for variant in backend.variants(&problem).unwrap() {
            let options = PlanOptions::new(10_000, 500).variant(&variant.name);
            // Modules are loaded and the driver's own pools filled by a first plan.
            drop(backend.propagator(&problem, &options).unwrap());
            let footprint = backend.footprint(&problem, &options).unwrap();
            let before = backend.free_memory().unwrap();
            let plan = backend.propagator(&problem, &options).unwrap();
            let taken = before - backend.free_memory().unwrap();
            drop(plan);
            let (total, items) = (footprint.total(), footprint.items.len() as u64);
            println!("{name} {}: {taken} bytes taken, {total} predicted", variant.name);
            let slack = total / 50 + items * (2 << 20);
            assert!(taken.abs_diff(total) <= slack, "{name} {}: {footprint:?}", variant.name);
        }
    }
}

/// The last nodes of a grid after three steps from a noisy box among them, silence elsewhere.
fn far_corner(backend: &CudaBackend, shape: [usize; 3], variant: &str) -> Array3<f64> {
    const LAST: usize = 40;
    let problem = problem(shape, 8, Boundaries::uniform(Boundary::Zero));
    let options = PlanOptions::new(0, 0).variant(variant);
    let mut plan = backend.propagator(&problem, &options).unwrap();
    let planes = 8;
    let speed = Array3::from_elem((planes, shape[1], shape[2]), 2000.0_f32);
    for first in (0..shape[0]).step_by(planes) {
        let count = planes.min(shape[0] - first);
        let part = speed.slice(ndarray::s![..count, .., ..]);
        plan.upload(Field::WaveSpeed, Region::slab(shape, first, count), part.into()).unwrap();
    }
    // Twelve nodes away from where the small grid ends: three steps of radius four.
    let noise = random(&mut ChaCha8Rng::seed_from_u64(4), [20; 3], -1.0, 1.0);
    let noisy = Region { start: shape.map(|n| n - 28), shape: [20; 3], stride: [1; 3] };
    plan.upload(Field::Pressure, noisy, noise.view().into()).unwrap();
    plan.advance(3).unwrap();
    let last = Region { start: shape.map(|n| n - LAST), shape: [LAST; 3], stride: [1; 3] };
    let mut corner = Array3::zeros((LAST, LAST, LAST));
    plan.download(Field::Pressure, last, corner.view_mut().into()).unwrap();
    corner
}

/// Places beyond 32 bits: what a node gets does not depend on how many nodes lie before it.
#[test]
#[ignore = "needs an NVIDIA device with 50 GB"]
fn the_far_corner_of_more_nodes_than_32_bits_count_is_that_of_a_small_grid() {
    let backend = CudaBackend::new(0).unwrap();
    let (large, small) = ([1300, 1299, 1301], [40; 3]);
    assert!(large.iter().product::<usize>() > 1 << 31);
    let variants = {
        let problem = problem(large, 8, Boundaries::uniform(Boundary::Zero));
        backend.variants(&problem).unwrap()
    };
    for variant in variants {
        let expected = far_corner(&backend, small, &variant.name);
        assert!(expected.iter().any(|v| v.abs() > 0.1), "{}", variant.name);
        assert!(far_corner(&backend, large, &variant.name) == expected, "{}", variant.name);
    }
}

/// Every pattern runs at between a third and all of what the clocks allow, on arrays far larger than
/// any cache; so do multiply-adds.
#[test]
#[ignore = "needs an NVIDIA device"]
fn roofs_are_below_the_nominal_figures_and_not_far_below() {
    let backend = CudaBackend::new(0).unwrap();
    let nominal = backend.nominal();
    let near = |what: &str, rates: &[f64], most: Option<f64>| {
        let most = most.unwrap_or_else(|| panic!("{what}: the driver gives no clocks"));
        println!("{what}: {rates:?} of {most:e}");
        assert_eq!(rates.len(), 5);
        assert!(rates.iter().all(|rate| (most / 3.0..1.02 * most).contains(rate)), "{what}");
    };
    for pattern in StreamPattern::ALL {
        for fill in [1.0, 0.5, 0.0] {
            let (elements, samples, seconds) = (1 << 28, 5, 0.05);
            let request = StreamRequest { pattern, elements, fill, samples, seconds };
            let rates = backend.stream(&request).unwrap();
            near(&format!("{}, fill {fill}", pattern.name()), &rates, nominal.bandwidth);
        }
    }
    near("multiply-adds", &backend.peak_flops(5).unwrap(), nominal.flops);
}

//! What is timed by kernel, seen by a stand-in whose every launch takes 1 ms.

mod standin;

use ndarray::{Array2, Array3};
use temblor_backend::{Backend, Field, PlanOptions, ReceiverTable, Region, SourceTable};
use temblor_cuda::CudaBackend;
use temblor_physics::{Boundaries, Boundary, Cpml, Face, Grid, PointWeights, WaveProblem};

/// Run by the next test: five steps of a problem that has every kind of kernel.
#[test]
#[ignore = "run by the other tests"]
fn probe_by_kernel() {
    let grid = Grid::new([40, 40, 90], [10.0; 3], [0.0; 3]).expect("a grid");
    let layer = Boundary::Cpml(Cpml { cells: 6, r0: 1e-6, peak_hz: 10.0, vmax: 3000.0 });
    let mut boundaries = Boundaries::uniform(layer);
    boundaries.set(Face::ZMin, Boundary::Free);
    let problem = WaveProblem::builder(grid, 1e-3).boundaries(boundaries).build();
    let problem = problem.expect("a problem");
    let backend = CudaBackend::new(0).expect("a stand-in");
    for variant in ["baseline", "tma", "wide", "fused2"] {
        let options = PlanOptions::new(2, 10).variant(variant);
        let mut plan = backend.propagator(&problem, &options).expect("a plan");
        let speed = Array3::from_elem((40, 40, 90), 2000.0);
        let whole = Region::whole([40, 40, 90]);
        plan.upload(Field::WaveSpeed, whole, speed.view().into()).expect("speeds");
        let point = PointWeights::on_node([20, 20, 60]);
        let amplitudes = Array2::from_elem((10, 1), 1.0);
        let sources = SourceTable { points: vec![point.clone()], amplitudes };
        plan.set_sources(&sources).expect("a source");
        plan.set_receivers(&ReceiverTable { points: vec![point; 2] }).expect("receivers");
        for kind in plan.advance_by_kernel(5).expect("times") {
            println!("{variant} {} {:.4?}", kind.name, kind.seconds);
        }
        println!("{variant} at {}", plan.step());
    }
}

#[test]
fn every_launch_belongs_to_a_kind_and_a_step() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = include_str!("standin/driver.c");
    let text = standin::run(folder.path(), source, "probe_by_kernel", &[]);
    for variant in ["baseline", "tma", "wide", "fused2"] {
        // One launch per step and kind: with a layer and a wall `fused2` makes single steps too.
        for kind in ["interior", "layers", "walls", "sources", "receivers"] {
            let line = format!("{variant} {kind} {:.4?}", [1e-3; 5]);
            assert!(text.contains(&line), "no '{line}' in {text}");
        }
        assert!(text.contains(&format!("{variant} at 5")), "{text}");
    }
    assert!(!text.contains("graph"), "{text}");
}

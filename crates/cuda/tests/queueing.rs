//! What a plan asks of the driver, seen by a stand-in that plays two kernels: modules are loaded once,
//! graphs give the samples and amplitudes of plain launches, faults are told and samples kept.

mod standin;

use std::error::Error;

use ndarray::{Array2, Array3};
use temblor_backend::{
    Backend, Field, PlanOptions, Propagator, ReceiverTable, Region, SourceTable,
};
use temblor_cuda::{CudaBackend, Queueing};
use temblor_physics::{Boundaries, Boundary, Cpml, Grid, PointWeights, WaveProblem};

const DRIVER: &str = include_str!("standin/driver.c");

const STEPS: usize = 100;

/// By digits for the variants that do so, without layers for the one that fuses steps there.
fn problem_for(variant: &str) -> WaveProblem {
    let mut single = problem();
    if variant == "fused2" {
        single.boundaries = Boundaries::uniform(Boundary::Zero);
    }
    let arithmetic = if variant.starts_with("ozaki") { "int8-2x3" } else { "f32" };
    WaveProblem::builder(single.grid, single.dt)
        .boundaries(single.boundaries)
        .arithmetic(arithmetic.parse().expect("an arithmetic"))
        .build()
        .expect("a problem")
}

fn problem() -> WaveProblem {
    let grid = Grid::new([40, 40, 40], [10.0; 3], [0.0; 3]).expect("a grid");
    let layer = Boundary::Cpml(Cpml { cells: 6, r0: 1e-6, peak_hz: 10.0, vmax: 3000.0 });
    let boundaries = Boundaries::uniform(layer);
    WaveProblem::builder(grid, 1e-3).boundaries(boundaries).build().expect("a problem")
}

/// A plan whose source fires n + 0.5 at step n, until `source_steps`.
fn plan(backend: &CudaBackend, variant: &str, source_steps: usize) -> Box<dyn Propagator> {
    let options = PlanOptions::new(3, STEPS).variant(variant);
    let mut plan = backend.propagator(&problem_for(variant), &options).expect("a plan");
    let speed = Array3::from_elem((40, 40, 40), 2000.0);
    plan.upload(Field::WaveSpeed, Region::whole([40; 3]), speed.view().into()).expect("speeds");
    let point = PointWeights::on_node([20, 20, 20]);
    let amplitudes = Array2::from_shape_fn((source_steps, 1), |(n, _)| n as f64 + 0.5);
    plan.set_sources(&SourceTable { points: vec![point.clone()], amplitudes }).expect("sources");
    plan.set_receivers(&ReceiverTable { points: vec![point; 3] }).expect("receivers");
    plan
}

/// Text of an error and its source.
fn told(error: &dyn Error) -> String {
    format!("{error}: {}", error.source().map(ToString::to_string).unwrap_or_default())
}

/// Run by the other tests: cuts, graph steps and the end of the sources' table from the environment.
#[test]
#[ignore = "run by the other tests"]
fn probe_samples() {
    let setting = |name: &str| std::env::var(name).expect("set by the test");
    let number = |name| setting(name).parse::<u32>().expect("a number");
    let queueing =
        Queueing { steps_per_graph: number("GRAPH"), branches: setting("BRANCHES") == "1" };
    let backend = CudaBackend::new(0).expect("a stand-in").with_queueing(queueing);
    let mut plan = plan(&backend, &setting("VARIANT"), number("SOURCE_STEPS") as usize);
    for steps in setting("CUTS").split(',') {
        plan.advance(steps.parse().expect("a number")).expect("steps");
    }
    let traces = plan.traces().expect("traces");
    println!("first {} of {:?}", traces.first_step, traces.samples.to_f64().dim());
    for (n, column) in traces.samples.to_f64().columns().into_iter().enumerate() {
        println!("sample {n}: {column}");
    }
    assert_eq!(plan.step(), STEPS as u64);
}

/// Lines of samples and injections, and those about graphs.
fn samples(variant: &str, graph: &str, branches: &str, cuts: &str, end: &str) -> [Vec<String>; 2] {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = [
        ("VARIANT", variant),
        ("GRAPH", graph),
        ("BRANCHES", branches),
        ("CUTS", cuts),
        ("SOURCE_STEPS", end),
    ];
    let text = standin::run(folder.path(), DRIVER, "probe_samples", &settings);
    let lines = |starts: &[&str]| -> Vec<String> {
        let chosen = text.lines().filter(|line| starts.iter().any(|s| line.starts_with(s)));
        chosen.map(ToOwned::to_owned).collect()
    };
    [lines(&["first", "sample", "inject"]), lines(&["graph"])]
}

#[test]
fn graphs_give_the_samples_and_amplitudes_of_plain_launches() {
    // The table ends within a graph, at its end, beyond the run.
    for variant in ["baseline", "tma", "ozaki_mma"] {
        for end in ["50", "64", "200"] {
            let [plain, none] = samples(variant, "0", "0", "100", end);
            assert!(none.is_empty(), "{none:?}");
            let injections = plain.iter().filter(|line| line.starts_with("inject"));
            let expected = end.parse::<usize>().expect("a number").min(STEPS);
            assert_eq!(injections.count(), expected, "{variant} {end}");
            assert!(plain.contains(&"inject 49: 49.5".to_owned()));
            assert!(plain.contains(&"sample 99: [99, 99, 99]".to_owned()));
            for (graph, branches, cuts) in
                [("32", "0", "100"), ("16", "1", "100"), ("8", "0", "33,1,66"), ("4", "1", "5,95")]
            {
                let [queued, graphs] = samples(variant, graph, branches, cuts, end);
                assert_eq!(queued, plain, "{variant}, {end}, graphs of {graph}, cuts {cuts}");
                assert!(graphs.iter().any(|line| line.starts_with("graph run")), "{graphs:?}");
            }
        }
    }
}

#[test]
fn fused_graphs_give_the_samples_of_plain_launches() {
    let of = |lines: Vec<String>| -> Vec<String> {
        lines.into_iter().filter(|line| !line.starts_with("inject")).collect()
    };
    let [plain, _] = samples("fused2", "0", "0", "100", "70");
    let [cut, graphs] = samples("fused2", "8", "0", "1,99", "70");
    assert_eq!(of(cut), of(plain));
    // 99 steps from step 1 on: 8 graphs end before the table does, 3 begin after it.
    let run = graphs.iter().filter(|line| line.starts_with("graph run")).count();
    assert_eq!(run, 11, "{graphs:?}");
}

/// Run by the next test: a plan that asks for graphs of 8 steps, of a backend that makes none.
#[test]
#[ignore = "run by the other tests"]
fn probe_parameters() {
    let backend = CudaBackend::new(0).expect("a stand-in").with_queueing(Queueing::PLAIN);
    let known = backend.parameters(&problem(), "tma").expect("parameters");
    println!("known: {:?}", known.iter().map(|p| (p.name.as_str(), p.default)).collect::<Vec<_>>());
    let asked = [("steps_per_graph".to_owned(), 8)].into_iter().collect();
    let options = PlanOptions::new(0, STEPS).variant("tma").parameters(asked);
    let mut plan = backend.propagator(&problem(), &options).expect("a plan");
    let speed = Array3::from_elem((40, 40, 40), 2000.0);
    plan.upload(Field::WaveSpeed, Region::whole([40; 3]), speed.view().into()).expect("speeds");
    plan.advance(29).expect("steps");
}

#[test]
fn a_plan_may_ask_for_other_graphs_than_its_backends() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = standin::run(folder.path(), DRIVER, "probe_parameters", &[]);
    assert!(
        text.contains(r#"known: [("planes", 400), ("branches", 0), ("steps_per_graph", 0)]"#),
        "{text}"
    );
    // Three of eight steps, then five steps by themselves.
    assert_eq!(text.matches("graph run").count(), 3, "{text}");
}

/// Run by the next test: two plans of each variant.
#[test]
#[ignore = "run by the other tests"]
fn probe_modules() {
    let backend = CudaBackend::new(0).expect("a stand-in");
    for variant in ["baseline", "tma", "baseline", "tma"] {
        println!("plan {}", plan(&backend, variant, 10).variant().name);
    }
}

#[test]
fn a_module_is_loaded_once_per_backend_and_only_if_needed() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = standin::run(folder.path(), DRIVER, "probe_modules", &[]);
    let loads = |text: &str| text.lines().filter(|line| line.starts_with("module ")).count();
    let (first, later) = text.split_once("plan tma").expect("two variants");
    // baseline: points, its own file, the layers'; tma: its own file.
    assert_eq!((loads(first), loads(later)), (4, 0), "{text}");
}

/// Run by the next test: a fault in the second of three calls of `advance`.
#[test]
#[ignore = "run by the other tests"]
fn probe_fault() {
    let backend = CudaBackend::new(0).expect("a stand-in").with_queueing(Queueing::PLAIN);
    let mut plan = plan(&backend, "baseline", 10);
    plan.advance(20).expect("no fault yet");
    let error = plan.advance(20).and_then(|()| plan.synchronize()).expect_err("a fault");
    println!("fault: {}", told(&error));
    println!("poisoned: {}", plan.advance(1).expect_err("poisoned"));
    let traces = plan.traces().expect("samples from before the fault");
    println!("kept: {:?} from {}", traces.samples.to_f64().dim(), traces.first_step);
    println!("last: {}", traces.samples.to_f64()[[2, 19]]);
    println!("reset: {}", told(&plan.reset().expect_err("a lost device")));
    let options = PlanOptions::new(0, 0);
    let error = backend.propagator(&problem(), &options).map(|_| ()).expect_err("a lost device");
    println!("new: {}", told(&error));
}

#[test]
fn a_fault_is_told_with_its_call_and_samples_before_it_are_kept() {
    for (code, advice) in
        [("700", "compute-sanitizer"), ("214", "reset the card"), ("702", "longer")]
    {
        let folder = tempfile::tempdir().expect("a folder");
        let settings = [("STANDIN_FAULT_AFTER", "30"), ("STANDIN_FAULT", code)];
        let text = standin::run(folder.path(), DRIVER, "probe_fault", &settings);
        let line = |start: &str| {
            let found = text.lines().find_map(|line| line.strip_prefix(start));
            found.unwrap_or_else(|| panic!("no '{start}' in {text}"))
        };
        assert!(line("fault: ").contains("cu") && line("fault: ").contains(advice), "{text}");
        assert!(line("poisoned: ").contains(advice), "{text}");
        assert_eq!(line("kept: "), "(3, 20) from 0");
        assert_eq!(line("last: "), "19");
        assert!(line("reset: ").contains("start the process again"), "{text}");
        assert!(line("new: ").contains("start the process again"), "{text}");
    }
}

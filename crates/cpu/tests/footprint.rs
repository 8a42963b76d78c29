//! Whether a plan allocates what its footprint says, counted by the allocator itself.

#![expect(clippy::unwrap_used, reason = "a failed set-up is a failed test")]
#![expect(unsafe_code, reason = "a global allocator is an unsafe trait")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use ndarray::Array3;
use temblor_backend::{Backend, Field, PlanOptions, Region};
use temblor_cpu::{CpuBackend, ReferenceBackend};
use temblor_physics::{Arithmetic, Boundaries, Boundary, Cpml, Face, Grid, Minimod, WaveProblem};

/// Counts live bytes and their peak.
struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator unchanged; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(live, Ordering::Relaxed);
        // SAFETY: the caller's contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(live, Ordering::Relaxed);
        // SAFETY: the caller's contract.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const SHAPE: [usize; 3] = [110, 90, 130];

/// (bytes counted at the peak, bytes of the footprint) of a plan that is made, filled and run.
fn counted(backend: &dyn Backend, boundary: Boundary, arithmetic: Arithmetic) -> (usize, u64) {
    let grid = Grid::new(SHAPE, [10.0; 3], [0.0; 3]).unwrap();
    let mut boundaries = Boundaries::uniform(boundary);
    boundaries.set(Face::ZMin, Boundary::Free);
    let builder = WaveProblem::builder(grid, 1e-3).boundaries(boundaries);
    let problem = builder.arithmetic(arithmetic).build().unwrap();
    let options = PlanOptions::new(100, 200).speeds(1500.0, 2500.0);
    let footprint = backend.footprint(&problem, &options).unwrap().total();
    let slab = Array3::from_elem([1, SHAPE[1], SHAPE[2]], 2000.0_f32);
    let before = LIVE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let mut plan = backend.propagator(&problem, &options).unwrap();
    for i in 0..SHAPE[0] {
        let region = Region::slab(SHAPE, i, 1);
        plan.upload(Field::WaveSpeed, region, slab.view().into()).unwrap();
    }
    plan.advance(3).unwrap();
    plan.health().unwrap();
    plan.save(&mut std::io::sink()).unwrap();
    (PEAK.load(Ordering::Relaxed) - before, footprint)
}

/// One test, so that nothing else allocates meanwhile.
#[test]
fn a_plan_allocates_its_footprint_and_three_per_cent_at_most_on_top() {
    let layers = [
        Boundary::Zero,
        Boundary::Cpml(Cpml { cells: 20, r0: 1e-6, peak_hz: 10.0, vmax: 2000.0 }),
        Boundary::Minimod(Minimod { cells: 20, eta_peak: 0.02 }),
    ];
    let (reference, tuned) = (ReferenceBackend::new(), CpuBackend::new());
    let stored = |name: &str| name.parse::<Arithmetic>().unwrap();
    let runs: [(&dyn Backend, Arithmetic); 6] = [
        (&reference, Arithmetic::F64),
        (&reference, Arithmetic::F32),
        (&tuned, Arithmetic::F32),
        (&tuned, stored("int16+u16")),
        (&tuned, stored("int16-increment")),
        (&tuned, stored("bf16x2+u16")),
    ];
    for (backend, arithmetic) in runs {
        for layer in layers {
            let (counted, footprint) = counted(backend, layer, arithmetic);
            let ratio = counted as f64 / footprint as f64;
            let id = &backend.device().backend;
            println!("{id} {arithmetic:?} {layer:?}: {counted} of {footprint}, {ratio}");
            assert!((1.0..1.03).contains(&ratio), "{id} {arithmetic:?} {layer:?}: {ratio}");
        }
    }
}

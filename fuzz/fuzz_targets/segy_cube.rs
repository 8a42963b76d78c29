//! Any bytes as a velocity model in SEG-Y: refused, or a cube whose columns are all different traces.
#![no_main]

use libfuzzer_sys::fuzz_target;
use temblor_fuzz::with_file;
use temblor_io::segy::SegyOptions;
use temblor_io::segy::cube::{CubeOptions, SegyCube};

fuzz_target!(|data: &[u8]| {
    with_file(data, "sgy", |path| {
        for spacing in [[None; 3], [Some(1.0); 3]] {
            match SegyCube::open(path, &SegyOptions::default(), &CubeOptions { spacing }) {
                Err(error) => drop(error.to_string()),
                Ok(cube) => {
                    let [nx, ny, nz] = cube.shape();
                    assert_eq!((nx * ny) as u64, cube.reader().traces());
                    let mut seen = vec![false; nx * ny];
                    for (ix, iy) in (0..nx).flat_map(|ix| (0..ny).map(move |iy| (ix, iy))) {
                        let trace = usize::try_from(cube.trace_of(ix, iy)).expect("a small file");
                        assert!(!std::mem::replace(&mut seen[trace], true), "twice {trace}");
                    }
                    assert_eq!(cube.read_planes(nx - 1, 1).expect("a plane").dim(), (1, ny, nz));
                    drop(cube.to_string());
                }
            }
        }
    });
});

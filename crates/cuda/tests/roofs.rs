//! What measuring the roofs asks of the driver, seen by a stand-in whose kernels do nothing.

mod standin;

use temblor_backend::{Backend, StreamPattern, StreamRequest};
use temblor_cuda::CudaBackend;

/// Run by the next test.
#[test]
#[ignore = "run by the other tests"]
fn probe_roofs() {
    let backend = CudaBackend::new(0).expect("a stand-in");
    for pattern in StreamPattern::ALL {
        let (elements, fill, samples, seconds) = (4098, 0.5, 3, 0.004);
        let request = StreamRequest { pattern, elements, fill, samples, seconds };
        let rates = backend.stream(&request).expect("rates");
        assert!(rates.iter().all(|rate| rate.is_finite() && *rate > 0.0), "{rates:?}");
        println!("{}: {} rates", pattern.name(), rates.len());
        let large = StreamRequest { elements: 1 << 30, ..request };
        println!("large: {}", backend.stream(&large).expect_err("8 GiB are free"));
    }
    println!("multiply-adds: {} rates", backend.peak_flops(2).expect("rates").len());
    println!("nominal: {:?}", backend.nominal());
}

#[test]
fn samples_come_one_by_one_and_arrays_beyond_memory_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = standin::run(folder.path(), include_str!("standin/driver.c"), "probe_roofs", &[]);
    for pattern in StreamPattern::ALL {
        assert!(text.contains(&format!("{}: 3 rates", pattern.name())), "{text}");
    }
    assert!(text.contains("multiply-adds: 2 rates"), "{text}");
    let needed = format!("needs {} bytes and {} are free", 12_u64 << 30, 8_u64 << 30);
    assert_eq!(text.matches(&needed).count(), StreamPattern::ALL.len(), "{text}");
    // The stand-in gives no clocks.
    assert!(text.contains("bandwidth: None, flops: None"), "{text}");
}

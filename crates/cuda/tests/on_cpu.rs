//! Kernels compiled for the CPU against f64, by a stand-in for what they use of CUDA C++
//! (`host/cuda_on_cpu.h`). What passes here has not run on a card.

mod host;

#[test]
fn the_stand_in_multiplies_shuffles_and_copies_as_the_manual_says() {
    assert!(host::run("selftest.cpp", &[]).contains("all as it should be"));
}

//! Kernels compiled for the CPU against f64, by a stand-in for what they use of CUDA C++
//! (`host/cuda_on_cpu.h`). What passes here has not run on a card.

mod host;

use temblor_physics::{Operator, QuantisedOperator};

#[test]
fn the_stand_in_multiplies_shuffles_and_copies_as_the_manual_says() {
    assert!(host::run("selftest.cpp", &[]).contains("all as it should be"));
}

#[test]
fn kernels_by_limbs_give_the_laplacian_on_the_cpu() {
    let said = host::run("limbs.cpp", &[]);
    assert!(said.contains("all as it should be"), "{said}");
}

/// An operator as the program takes it.
fn words(order: usize, digits: u8) -> Vec<String> {
    let operator = QuantisedOperator::new(&Operator::Direct { order }, digits).expect("it exists");
    let radius = operator.integers.len() - 1;
    let mut words = vec![digits.to_string(), radius.to_string(), format!("{:e}", operator.scale)];
    words.extend((0..5).map(|r| operator.integers.get(r).unwrap_or(&0).to_string()));
    words
}

#[test]
fn kernels_by_digits_give_the_laplacian_on_the_cpu() {
    let operators = [(8, 1), (8, 2), (8, 3), (2, 2), (4, 2), (6, 2)];
    let words: Vec<_> = operators.into_iter().flat_map(|(order, n)| words(order, n)).collect();
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let said = host::run("ozaki.cpp", &words);
    println!("{said}");
    assert!(said.contains("all as it should be"), "{said}");
}

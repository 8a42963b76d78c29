//! Kernels compiled for the CPU against f64, by a stand-in for what they use of CUDA C++
//! (`host/cuda_on_cpu.h`). What passes here has not run on a card.

mod host;

use temblor_physics::{Criterion, DigitKind, Digits, Fit, Operator, QuantisedOperator};

#[test]
fn the_stand_in_multiplies_shuffles_and_copies_as_the_manual_says() {
    assert!(host::run("selftest.cpp", &[]).contains("all as it should be"));
}

#[test]
fn two_fused_steps_are_two_single_ones_bit_for_bit_on_the_cpu_whoever_is_slow() {
    assert!(host::run("fused2.cpp", &[]).contains("all as it should be"));
}

#[test]
fn kernels_by_limbs_give_the_laplacian_on_the_cpu() {
    let said = host::run("limbs.cpp", &[]);
    assert!(said.contains("all as it should be"), "{said}");
}

#[test]
fn chunks_at_any_places_are_moved_whole_and_nothing_beside_them_on_the_cpu() {
    let checks = ["-fsanitize=alignment", "-fno-sanitize-recover=alignment"];
    let said = host::run_built_with("chunks.cpp", &checks, &[]);
    assert!(said.contains("all as it should be"), "{said}");
}

/// An operator as the programs take it.
fn words(operator: &Operator, digits: u8) -> Vec<String> {
    let operator = QuantisedOperator::new(operator, digits).expect("it exists");
    let radius = operator.integers.len() - 1;
    let mut words = vec![digits.to_string(), radius.to_string(), format!("{:e}", operator.scale)];
    words.extend((0..9).map(|r| operator.integers.get(r).unwrap_or(&0).to_string()));
    words
}

/// What a program says of operators and further words.
fn said(program: &str, operators: &[(Operator, u8)], more: Vec<String>) -> String {
    let mut all = vec![operators.len().to_string()];
    all.extend(operators.iter().flat_map(|(operator, digits)| words(operator, *digits)));
    all.extend(more);
    let all: Vec<_> = all.iter().map(String::as_str).collect();
    let said = host::run(program, &all);
    println!("{said}");
    said
}

const fn direct(order: usize) -> Operator {
    Operator::Direct { order }
}

#[test]
fn kernels_by_digits_give_the_laplacian_on_the_cpu() {
    let operators =
        [(8, 1), (8, 2), (8, 3), (2, 2), (4, 2), (6, 2)].map(|(order, n)| (direct(order), n));
    assert!(said("ozaki.cpp", &operators, Vec::new()).contains("all as it should be"));
}

/// By every count of digits with every number of dropped products, any operator, in 2-D and 3-D.
#[test]
fn the_plain_kernel_gives_the_laplacian_of_any_digits_on_the_cpu() {
    let order8: Vec<_> = (1..=3).map(|n| (direct(8), n)).collect();
    let fit = |radius| Operator::Fitted(Fit::of_space(radius, Criterion::Minimax, 5.0));
    let others = (2..=16).step_by(2).map(direct).chain([fit(3), Operator::Implicit { radius: 6 }]);
    let operators: Vec<_> = order8.into_iter().chain(others.map(|other| (other, 2))).collect();
    // What theory says of the error of white data.
    let mut rows = Vec::new();
    for operator in 1..=3 {
        let quantised = QuantisedOperator::new(&direct(8), operator).expect("it exists");
        for wavefield in 1..=3 {
            for trim in 0..operator + wavefield - 1 {
                let digits = Digits { trim, ..Digits::new(DigitKind::Int8, operator, wavefield) };
                let error = format!("{:e}", quantised.predicted_error(digits));
                rows.extend([operator, wavefield, trim].map(|n| n.to_string()));
                rows.push(error);
            }
        }
    }
    assert!(said("ozaki_plain.cpp", &operators, rows).contains("all as it should be"));
}

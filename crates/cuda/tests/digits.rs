//! Laplacians by digits through plans, with the kernels compiled for the CPU behind a stand-in for the
//! driver. What passes here has not run on a card; `digits_card.rs` has.

mod cases;
#[path = "cases/digits.rs"]
mod claims;
#[path = "host/compile.rs"]
mod host;
mod oracle;
#[path = "host/probe.rs"]
mod probe;
#[path = "cases/start.rs"]
mod start;

use claims::{
    bf16_limbs_err_by_their_bits, cells_take_the_fewest_digits_that_reach_their_bits,
    errors_are_those_asked_for, every_count_of_digits_errs_as_predicted, steps_agree_with_f64,
    variants_give_the_same_bits, what_is_not_built_takes_the_plain_kernel,
};
use temblor_cuda::CudaBackend;

fn on_cpu(part: &str, backwards: bool) {
    probe::on_cpu("driver_of_digits.cpp", part, backwards);
}

#[test]
fn errors_of_digits_on_a_cpu_are_those_predicted_and_asked_for() {
    on_cpu("errors", true);
}

#[test]
fn steps_by_digits_on_a_cpu_agree_with_f64_beside_layers_and_walls() {
    on_cpu("steps", false);
}

#[test]
fn variants_by_digits_on_a_cpu_give_the_same_bits() {
    on_cpu("bits", true);
}

/// Run by the tests.
#[test]
#[ignore = "run by the other tests"]
fn probe_stand_in() {
    let backend = CudaBackend::new(0).expect("a device");
    let part = std::env::var("PART").expect("set by the test");
    match part.as_str() {
        "errors" => {
            every_count_of_digits_errs_as_predicted(&backend, &[[13, 17, 37], [43, 1, 75]]);
            errors_are_those_asked_for(&backend, &[[43, 1, 75]], &["ozaki_plain"]);
            cells_take_the_fewest_digits_that_reach_their_bits(&backend, &[[9, 11, 70]]);
            bf16_limbs_err_by_their_bits(&backend, "ozaki_plain", [9, 11, 20]);
            bf16_limbs_err_by_their_bits(&backend, "ozaki_plain", [31, 1, 40]);
            what_is_not_built_takes_the_plain_kernel(&backend);
        }
        "steps" => {
            for order in [4, 8] {
                steps_agree_with_f64(&backend, "ozaki_plain", [22, 20, 33], order);
            }
            steps_agree_with_f64(&backend, "ozaki_plain", [29, 28, 35], 16);
            for order in [8, 16] {
                steps_agree_with_f64(&backend, "ozaki_plain", [70, 1, 45], order);
            }
        }
        _ => variants_give_the_same_bits(&backend, [22, 20, 41], 4),
    }
    println!("{part} as it should be");
}

//! The interpreter's door: what it refuses, and one made ready for many calls.

#![allow(clippy::unwrap_used, reason = "what cannot be built fails the test")]

mod support;

use std::sync::Arc;

use support::{Random, apply, assert_same, cell, chunk, defaults, kernel, physics};
use temblor_patch::{Interpreter, Plan, Request, Scheme, interpret, lower};

#[test]
fn lengths_that_do_not_fit_are_refused() {
    let kernel = kernel(&Scheme::shipped("fd4").unwrap(), &physics("toy"), 2, 2, Plan::Fused);
    let good = vec![1.0; kernel.shape.input_len()];
    let parameters = defaults(&kernel);
    let run = |parameters: &[f64], inputs: &[&[f64]], len: usize, speeds: &mut [f64]| {
        let mut output = vec![0.0; len];
        let result =
            interpret(&kernel, parameters, &[cell()], inputs, &mut [&mut output[..]], speeds);
        result.map_err(|error| error.to_string())
    };
    let len = kernel.shape.output_len();
    assert_eq!(run(&parameters, &[&good], len, &mut []), Ok(()));
    for (got, want) in [
        (run(&parameters[1..], &[&good], len, &mut []), "parameters: 2 given, 3 needed"),
        (run(&parameters, &[], len, &mut []), "input chunks: 0 given, 1 needed"),
        (run(&parameters, &[&good[1..]], len, &mut []), "input chunk: 191 given, 192 needed"),
        (run(&parameters, &[&good], len + 1, &mut []), "output chunk: 9 given, 8 needed"),
        (run(&parameters, &[&good], len, &mut [0.0; 2]), "speeds: 2 given, 1 needed"),
    ] {
        let error = got.unwrap_err();
        assert!(error.contains(want), "{error}");
    }
}

#[test]
fn interpreter_made_ready_once_gives_the_same() {
    let scheme = Scheme::shipped("rusanov").unwrap();
    let kernel = Arc::new(kernel(&scheme, &physics("toy"), 3, 3, Plan::Staged(vec!["G".into()])));
    let ready = Interpreter::new(Arc::clone(&kernel));
    assert_eq!(ready.kernel().name, "toy_rusanov_d3_p3_staged");
    let mut random = Random(9);
    for _ in 0..2 {
        let input = chunk(&kernel, &mut random);
        let (want, speed) = apply(&kernel, &[cell()], std::slice::from_ref(&input));
        let (mut output, mut fastest) = (vec![0.0; kernel.shape.output_len()], [0.0]);
        let result =
            ready.apply(&defaults(&kernel), &[cell()], &[&input], &mut [&mut output], &mut fastest);
        result.unwrap();
        assert_same(&output, &want[0], "output");
        assert_same(&fastest, &speed, "speed");
    }
}

#[test]
fn built_in_numbers_cannot_be_changed_by_the_caller() {
    let (scheme, toy) = (Scheme::shipped("fd4").unwrap(), physics("toy"));
    let request = Request::new(2, 2)
        .with_frozen(vec![("k".into(), 0.5)])
        .with_integers(vec![("twice".into(), 0)])
        .with_plan(Plan::Unfused);
    let kernel = lower(&scheme, &toy, &request).unwrap();
    let input = chunk(&kernel, &mut Random(4));
    let run = |parameters: [f64; 3]| {
        let mut output = vec![0.0; kernel.shape.output_len()];
        interpret(&kernel, &parameters, &[cell()], &[&input], &mut [&mut output], &mut []).unwrap();
        output
    };
    assert_same(&run([0.5, 0.0, 8.0]), &run([9.0, 1.0, 8.0]), "k and twice");
    assert_ne!(run([0.5, 0.0, 8.0]), run([0.5, 0.0, 4.0]), "sigma");
}

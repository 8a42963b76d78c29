//! Broken schemes are refused or work, whichever way they are lowered, and never panic.

#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "small numbers"
)]

mod support;

use support::{Random, apply, assert_same, cell, chunk, physics};
use temblor_patch::shipped::SCHEMES;
use temblor_patch::{Plan, Request, lower, text};

/// Words that mean something, to throw between others.
const WORDS: [&str; 30] = [
    "Q",
    "[+1]",
    "[-3]",
    "F",
    "G",
    "New",
    "R",
    "n",
    "p",
    "dt",
    "dx(n)",
    "sum(",
    "apply(",
    ")",
    "(",
    "flux(Q, n)",
    "evolved(",
    "complete(",
    "max(",
    " over -1..p+1 ",
    " at faces ",
    " = ",
    " + ",
    " * ",
    "0",
    "1e300",
    "\n",
    "\n    ",
    "reduce max ",
    " if has rhs else ",
];

fn mutated(text: &str, random: &mut Random) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    let mut place = |len: usize| ((random.next() * len as f64) as usize).min(len.saturating_sub(1));
    for _ in 0..=place(3) {
        let at = place(characters.len());
        match place(4) {
            0 => {
                let end = (at + place(8)).min(characters.len());
                characters.drain(at..end);
            }
            1 => {
                let word: Vec<char> = WORDS[place(WORDS.len())].chars().collect();
                characters.splice(at..at, word);
            }
            2 => {
                let from = place(characters.len());
                let piece: Vec<char> = characters[from..].iter().take(12).copied().collect();
                characters.splice(at..at, piece);
            }
            _ => {
                let lines: Vec<String> =
                    characters.iter().collect::<String>().lines().map(String::from).collect();
                let mut lines = lines;
                let (a, b) = (place(lines.len()), place(lines.len()));
                lines.swap(a, b);
                characters = lines.join("\n").chars().collect();
            }
        }
        if characters.is_empty() {
            break;
        }
    }
    characters.into_iter().collect()
}

#[test]
fn broken_schemes_are_refused_or_give_the_same_bits_in_every_plan() {
    let toy = physics("toy");
    let mut random = Random(41);
    let (mut refused, mut worked, mut compared) = (0, 0, 0);
    for round in 0..8000 {
        let (_, text) = SCHEMES[round % SCHEMES.len()];
        let text = mutated(text, &mut random);
        let Ok(scheme) = text::parse("mutant", &text) else {
            refused += 1;
            continue;
        };
        let printed = scheme.to_string();
        let again = text::parse("mutant", &printed);
        assert_eq!(again.as_ref(), Ok(&scheme), "{text}\n{printed}");
        let request = Request::new(2, 2);
        let plans = [Plan::Fused, Plan::Unfused].map(|plan| request.clone().with_plan(plan));
        let [Ok(fused), Ok(unfused)] = plans.map(|request| lower(&scheme, &toy, &request)) else {
            continue;
        };
        worked += 1;
        let input = [chunk(&fused, &mut random)];
        let (a, fast) = apply(&fused, &[cell()], &input);
        let (b, fastest) = apply(&unfused, &[cell()], &input);
        if b[0].iter().all(|value| value.is_finite()) {
            compared += 1;
            assert_same(&a[0], &b[0], &text);
            assert_same(&fast, &fastest, &text);
        }
    }
    let counts = format!("{refused} refused, {worked} kernels, {compared} compared");
    assert!(refused > 2000 && worked > 500 && compared > 400, "{counts}");
}

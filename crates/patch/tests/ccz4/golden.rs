//! The 16 recorded right-hand sides, and what the right-hand side costs.

use std::sync::Arc;

use serde_json::Value;
use temblor_patch::graph::{Function, Leaf, Node};
use temblor_patch::lower::{Request, lower};
use temblor_patch::{Physics, Scheme, Term};

use crate::agreement::{Case, Extra, as_a_whole, compare_rate};
use crate::transcription::{Constants, State, rate};

/// The recorded cases with their rates.
pub(crate) fn recorded() -> Vec<(Case, Vec<f64>)> {
    let text = include_str!("data/ccz4_golden_rhs.json");
    let all: Vec<Value> = serde_json::from_str(text).unwrap();
    let row = |value: &Value| -> State {
        let numbers: Vec<f64> =
            value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect();
        numbers.try_into().unwrap()
    };
    let read = |(place, case): (usize, &Value)| {
        let of = |name: &str| case["params"][name].as_f64().unwrap();
        assert_eq!(of("k1alpha").to_bits(), 0);
        let constants = Constants {
            one_plus_log: of("lapse") > 0.5,
            advection: of("adv") > 0.5,
            s: of("sk"),
            bs: of("bs"),
            k1: of("k1"),
            k2: of("k2"),
            k3: of("k3"),
            e: of("e"),
            c: of("c"),
            ds: of("ds"),
            f: of("f"),
            xi: of("xi"),
            eta: of("eta"),
            mu: of("mu"),
            itau: of("itau"),
            alpha_floor: 1e-4,
            phi_floor: 1e-2,
        };
        let extra = Extra {
            glm: [1.2, 2.0],
            state_floor: 1e-16,
            amplitude: 0.1,
            wavelength: 1.0,
            mass: 1.0,
        };
        let case_read = Case {
            name: format!("{} {place}", case["case"].as_str().unwrap()),
            constants,
            extra,
            q: row(&case["Q"]),
            dq: [0, 1, 2].map(|k| row(&case["dQ"][k])),
            x: [0.3, 0.2, 0.1],
            t: 0.4,
        };
        (case_read, row(&case["rhs"]).to_vec())
    };
    all.iter().enumerate().map(read).collect()
}

#[test]
fn recorded_rates_are_reproduced_by_the_text_as_it_stands() {
    let physics = Physics::shipped("ccz4").unwrap();
    let all = recorded();
    assert_eq!(all.len(), 16);
    for (case, want) in all {
        compare_rate(&physics, &case, &want).unwrap();
    }
}

#[test]
fn recorded_rates_are_reproduced_by_the_graph() {
    let physics = Physics::shipped("ccz4").unwrap();
    for (case, want) in recorded() {
        let integers = case.integers(&physics);
        let trace = |term, n| physics.trace(term, n, &integers).unwrap();
        let got = case.run(&physics, &trace(Term::Rhs, 0), Term::Rhs, 0);
        as_a_whole(&case.name, &got, &want).unwrap();
        let mut split = case.run(&physics, &trace(Term::Source, 0), Term::Source, 0);
        for n in 0..3u8 {
            let ncp = case.run(&physics, &trace(Term::Ncp, n), Term::Ncp, usize::from(n));
            split.iter_mut().zip(ncp).for_each(|(sum, part)| *sum -= part);
        }
        as_a_whole(&case.name, &split, &want).unwrap();
    }
}

#[test]
fn recorded_rates_are_reproduced_by_the_transcription() {
    for (case, want) in recorded() {
        as_a_whole(&case.name, &rate(&case.constants, &case.q, &case.dq), &want).unwrap();
    }
}

#[test]
fn a_voxel_costs_what_the_page_says() {
    let physics = Arc::new(Physics::shipped("ccz4").unwrap());
    // All operations, divisions; fused, in three dimensions.
    for (scheme, on, want) in [
        ("fd4", 0, (4494, 8)),
        ("fd4", 1, (5239, 8)),
        ("rusanov", 0, (5139, 27)),
        ("rusanov", 1, (7049, 27)),
    ] {
        let integers = ["lapse", "s", "bs"].map(|name| (name.to_owned(), on)).to_vec();
        let request = Request::new(3, 6).with_integers(integers);
        let kernel = lower(&Scheme::shipped(scheme).unwrap(), &physics, &request).unwrap();
        let flops = kernel.graph.flops(&kernel.stages[0].outputs());
        assert_eq!((flops.total(), flops.divide), want, "{scheme} {on}");
    }
}

/// Different unknowns whose derivative a term reads; the first one is argument 59.
fn slopes(function: &Function) -> usize {
    let needed = function.graph.reachable(&function.outputs);
    let read = function.graph.values().filter_map(|(value, node)| match node {
        Node::Leaf(Leaf::Argument(place)) if needed[value.index()] && place >= 59 => {
            Some((place - 59) % 59)
        }
        _ => None,
    });
    read.collect::<std::collections::BTreeSet<u16>>().len()
}

/// The table of docs/patch-ccz4.md.
#[test]
fn the_right_hand_side_costs_what_the_page_says() {
    let physics = Physics::shipped("ccz4").unwrap();
    let sets: [(&str, i64, [u32; 3], usize); 2] =
        [("gauge wave", 0, [2144, 1624, 255], 35), ("puncture", 1, [2694, 1704, 537], 47)];
    for (name, on, want, derivatives) in sets {
        let integers: Vec<(String, i64)> =
            ["lapse", "s", "bs"].map(|name| (name.to_owned(), on)).to_vec();
        let trace = |term, n| physics.trace(term, n, &integers).unwrap();
        let cost = |function: &Function| function.graph.flops(&function.outputs);
        let rhs = trace(Term::Rhs, 0);
        assert_eq!(cost(&rhs).divide, 2, "{name}");
        assert_eq!(slopes(&rhs), derivatives, "{name}");
        let totals = [&rhs, &trace(Term::Source, 0), &trace(Term::Ncp, 0)]
            .map(|function| cost(function).total());
        assert_eq!(totals, want, "{name}");
        for n in 1..3 {
            assert_eq!(cost(&trace(Term::Ncp, n)).total(), totals[2], "{name}");
        }
    }
}

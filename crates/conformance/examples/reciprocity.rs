//! How far two shots whose source and receiver change places lie apart by the rounding of single precision
//! alone, over orders of summation, models and pairs of points: what the bound of the check
//! `source_and_receiver_may_change_places` is made from. `cargo run --release -p temblor-conformance
//! --example reciprocity [STEPS ...]`

use temblor_conformance::CheckError;
use temblor_conformance::physics::emulated::Order;
use temblor_conformance::physics::symmetry::{Model, asymmetry, emulated_shots, pair_asymmetry};

/// Points of a model, of which every pair is looked at.
const POINTS: usize = 10;

fn main() -> Result<(), CheckError> {
    let mut asked: Vec<usize> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    if asked.is_empty() {
        asked = vec![300, 3000];
    }
    println!(
        "| steps | order | model | pairs: least | median | largest | sets of 4: least | median | largest |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for steps in asked {
        for order in Order::ALL {
            for model in Model::ALL {
                let shots = emulated_shots(model, order, None, POINTS, steps)?;
                let all = 0..POINTS;
                let mut pairs = Vec::new();
                let mut sets = Vec::new();
                for a in all.clone() {
                    for b in a + 1..POINTS {
                        pairs.push(pair_asymmetry(&shots, a, b));
                        for c in b + 1..POINTS {
                            sets.extend((c + 1..POINTS).map(|d| asymmetry(&shots, &[a, b, c, d])));
                        }
                    }
                }
                print!("| {steps} | {order:?} | {model:?} |");
                for mut found in [pairs, sets] {
                    found.sort_by(f64::total_cmp);
                    let (least, most) = (found[0], found[found.len() - 1]);
                    print!(" {least:.2e} | {:.2e} | {most:.2e} |", found[found.len() / 2]);
                }
                println!();
            }
        }
    }
    Ok(())
}

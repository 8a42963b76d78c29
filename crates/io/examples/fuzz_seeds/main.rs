//! Writes small files of every dialect, from which fuzzing starts:
//! `cargo run -p temblor-io --example fuzz_seeds -- FOLDER`.

mod others;
mod segy;

use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Some(folder) = std::env::args().nth(1).map(PathBuf::from) else {
        eprintln!("usage: fuzz_seeds FOLDER");
        std::process::exit(2);
    };
    others::write(&folder)?;
    let segy = folder.join("segy");
    std::fs::create_dir_all(&segy)?;
    for seed in segy::write(&segy)? {
        let (text, trace) = seed.extensions;
        println!(
            "{}: revision {}, {}, {}, {text} extended texts, {trace} extended headers{}",
            seed.path.display(),
            seed.revision,
            seed.order,
            seed.format.name(),
            if seed.variable { ", unequal traces" } else { "" }
        );
    }
    Ok(())
}

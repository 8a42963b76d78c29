//! Writes SEG-Y files whose samples stand beside them as npy: `.ci/check_segy.py` has other people's
//! readers read both. `cargo run -p temblor-io --example write_segy -- FOLDER`.

use std::path::{Path, PathBuf};

use temblor_io::segy::{SampleFormat, SegyHeader, SegyWriter, TraceHeader, WordOrder};
use temblor_io::{Result, npy};

fn main() -> Result<()> {
    let Some(folder) = std::env::args().nth(1).map(PathBuf::from) else {
        eprintln!("usage: write_segy FOLDER");
        std::process::exit(2);
    };
    for order in [WordOrder::Big, WordOrder::Little] {
        for format in [SampleFormat::Ibm, SampleFormat::Ieee] {
            let mut header = SegyHeader::new(0.001, 1000);
            (header.format, header.order) = (format, order);
            let name = format!("random-{}-{}", format.name(), order.name().replace(' ', "-"));
            write(&folder, &name, &header, 40, random())?;
        }
    }
    // Beyond what a signed 16-bit count holds, and what an unsigned one does.
    write(&folder, "long", &SegyHeader::new(0.0005, 40_000), 3, random())?;
    write(&folder, "longer", &SegyHeader::new(0.0005, 70_000), 3, random())
}

/// Singles of all exponents that are finite, by a linear congruential generator (Knuth, MMIX).
fn random() -> impl FnMut() -> f32 {
    let mut state = 1_u64;
    move || loop {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let value = f32::from_bits(u32::try_from(state >> 32).unwrap_or(0));
        if value.is_finite() {
            return value;
        }
    }
}

fn write(
    folder: &Path,
    name: &str,
    header: &SegyHeader,
    traces: usize,
    mut sample: impl FnMut() -> f32,
) -> Result<()> {
    let mut writer = SegyWriter::create(folder.join(format!("{name}.sgy")), header)?;
    let mut truth =
        npy::writer::<f32>(folder.join(format!("{name}.npy")), &[traces, header.samples])?;
    for _ in 0..traces {
        let samples: Vec<f32> = (0..header.samples).map(|_| sample()).collect();
        writer.write_trace(&TraceHeader::default(), &samples)?;
        truth.write(&samples)?;
    }
    writer.finish()?;
    truth.finish()
}

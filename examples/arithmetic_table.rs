//! Errors of every arithmetic over many steps, as a Markdown table: `cargo run --release --example
//! arithmetic_table -- [cpu|cuda] [NAME ...] [--short]`. Without names all that the backend offers; a row
//! is printed as soon as it is known, the table at the end.

use temblor::conformance::arithmetic::long::{self, Lengths};
use temblor::physics::Arithmetic;

fn backend(id: &str) -> anyhow::Result<Box<dyn temblor::backend::Backend>> {
    match id {
        "cpu" => Ok(Box::new(temblor::cpu::CpuBackend::new())),
        "cpu-ref" => Ok(Box::new(temblor::cpu::ReferenceBackend::new())),
        #[cfg(feature = "cuda")]
        "cuda" => Ok(Box::new(temblor_cuda::CudaBackend::new(0)?)),
        other => anyhow::bail!("backend `{other}` is not in this build: name cpu, cpu-ref or cuda"),
    }
}

fn main() -> anyhow::Result<()> {
    let (mut id, mut lengths, mut wanted) = ("cpu".to_owned(), Lengths::GUIDE, Vec::new());
    for word in std::env::args().skip(1) {
        match word.as_str() {
            "--short" => lengths = Lengths::SHORT,
            "cpu" | "cpu-ref" | "cuda" => id = word,
            name => wanted.push(name.parse::<Arithmetic>()?),
        }
    }
    let backend = backend(&id)?;
    let backend = backend.as_ref();
    println!("{}: {}\n", backend.device().name, backend.device().arch);
    let reference = long::reference(backend, lengths)?;
    let mut all = Vec::new();
    for (arithmetic, variant) in long::rows(backend)? {
        if !wanted.is_empty() && !wanted.contains(&arithmetic) {
            continue;
        }
        let errors = long::errors(backend, &variant, arithmetic, lengths, &reference)?;
        eprintln!("{errors:?}");
        all.push((errors, variant));
    }
    print!("{}", long::table(&all, lengths));
    Ok(())
}

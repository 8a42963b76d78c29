//! Errors of every arithmetic over many steps, as a Markdown table through the contract: `cargo run --release
//! --example arithmetic_table -- [cpu|cpu-ref|cuda] [NAME ...] [--short] [--threads N]`. Without names all that
//! the backend offers; a line is printed as soon as it is known. Runs of different arithmetics go side by
//! side only if more than one thread is asked for.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Context as _;
use temblor::conformance::arithmetic::long::{self, Lengths};
use temblor::conformance::arithmetic::table;
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
    let mut threads = 1;
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--short" => lengths = Lengths::SHORT,
            "--threads" => {
                let count = words.next().context("--threads needs a number")?;
                threads = count.parse::<usize>().context("--threads needs a number")?;
            }
            "cpu" | "cpu-ref" | "cuda" => id = word,
            name => wanted.push(name.parse::<Arithmetic>()?),
        }
    }
    let backend = backend(&id)?;
    let backend = backend.as_ref();
    println!("{}: {}\n", backend.device().name, backend.device().arch);
    let reference = long::reference(backend, lengths)?;
    let mut rows = table::rows(backend)?;
    rows.retain(|(arithmetic, _)| wanted.is_empty() || wanted.contains(arithmetic));
    print!("{}", table::heading(lengths));
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(None));
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, rows.len().max(1)) {
            scope.spawn(|| {
                while let Some((arithmetic, variant)) =
                    rows.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    match long::errors(backend, variant, *arithmetic, lengths, &reference) {
                        Ok(errors) => println!("{}", table::row(&errors, variant)),
                        Err(error) => {
                            eprintln!("{arithmetic}: {error}");
                            *failed.lock().expect("no thread panics with it") = Some(error);
                        }
                    }
                }
            });
        }
    });
    match failed.into_inner().expect("no thread panics with it") {
        Some(error) => Err(error.into()),
        None => Ok(()),
    }
}

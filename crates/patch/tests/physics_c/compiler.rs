//! The text as a C compiler understands it: compiled with a small program around it and run.

use std::fmt::Write;
use std::process::Command;

use temblor_patch::physics::{Argument, arguments};
use temblor_patch::{Physics, Term};

/// A term to run on some arguments.
pub(crate) struct Job {
    pub(crate) term: Term,
    pub(crate) direction: u8,
    pub(crate) cases: Vec<Vec<f64>>,
    pub(crate) parameters: Vec<f64>,
}

impl Job {
    fn results(&self, physics: &Physics) -> usize {
        match self.term {
            Term::Eigenvalue => 1,
            Term::Initial | Term::Exact => physics.width(),
            _ => physics.evolved(),
        }
    }
}

/// Results of each job for each of its cases, from `cc -O2 -ffp-contract=off`.
pub(crate) fn run(physics: &Physics, jobs: &[Job]) -> Vec<Vec<Vec<f64>>> {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("run.c"), program(physics, jobs)).unwrap();
    // SymPy includes a header of the text's own name.
    std::fs::write(path(&format!("{}.h", physics.name)), "").unwrap();
    let cc = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let built = Command::new(&cc)
        .args(["-std=gnu99", "-O2", "-ffp-contract=off", "-o"])
        .args([path("run"), path("run.c")])
        .arg("-lm")
        .output()
        .unwrap_or_else(|error| {
            panic!(
                "this test needs a C compiler, and `{cc}` does not run ({error}): install gcc \
                    or clang, or name one in CC"
            )
        });
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let out = Command::new(path("run")).output().unwrap();
    assert!(out.status.success(), "{}", physics.file);
    let bits = String::from_utf8(out.stdout).unwrap();
    let mut numbers =
        bits.split_whitespace().map(|bits| f64::from_bits(u64::from_str_radix(bits, 16).unwrap()));
    let mut all = Vec::new();
    for job in jobs {
        let count = job.results(physics);
        let case = |_: &Vec<f64>| numbers.by_ref().take(count).collect::<Vec<f64>>();
        all.push(job.cases.iter().map(case).collect());
    }
    assert_eq!(numbers.count(), 0);
    all
}

/// Names of a function's arguments, in order, from its text.
fn names(text: &str, function: &str) -> Vec<String> {
    let (_, rest) = text.split_once(&format!(" {function}(")).unwrap();
    let (list, _) = rest.split_once(')').unwrap();
    let name = |argument: &str| {
        let bare = argument.split('[').next().unwrap().trim();
        bare.rsplit([' ', '*']).next().unwrap().to_owned()
    };
    list.split(',').map(name).collect()
}

fn program(physics: &Physics, jobs: &[Job]) -> String {
    let mut text = String::from("#include <stdio.h>\n#include <string.h>\n#include <stdint.h>\n");
    writeln!(text, "#line 1 \"{}\"\n{}", physics.file, physics.text).unwrap();
    for (number, job) in jobs.iter().enumerate() {
        add(&mut text, physics, number, job);
    }
    text.push_str("int main(void) {\n");
    for number in 0..jobs.len() {
        writeln!(text, "  job{number}();").unwrap();
    }
    text.push_str("  return 0;\n}\n");
    text
}

/// A function that runs a job and prints the bits of its results.
fn add(text: &mut String, physics: &Physics, number: usize, job: &Job) {
    let (term, width, count) = (job.term, physics.width(), job.results(physics));
    let kinds = arguments(term, u16::try_from(width).unwrap());
    let first = |want: fn(&Argument) -> bool| kinds.iter().position(want).unwrap_or(0);
    let at = |place: usize| format!("a + {place}");
    let value = |name: String| match &*name {
        "Q" | "QL" => at(0),
        "QR" => at(width),
        "dQ" if term == Term::Rhs => format!("(const double (*)[{width}])(a + {width})"),
        "dQ" => at(width),
        "n" => job.direction.to_string(),
        "x" => at(first(|kind| matches!(kind, Argument::Position(_)))),
        "dx" => at(first(|kind| matches!(kind, Argument::Spacing(_)))),
        "t" => format!("a[{}]", first(|kind| matches!(kind, Argument::Time))),
        "dt" => format!("a[{}]", first(|kind| matches!(kind, Argument::TimeStep))),
        "P" => "&p".into(),
        _ => "r".into(),
    };
    let list: Vec<String> = names(&physics.text, term.name()).into_iter().map(value).collect();
    let result = if term == Term::Eigenvalue { "r[0] = " } else { "" };
    writeln!(text, "static const uint64_t cases{number}[][{}] = {{", kinds.len()).unwrap();
    for case in &job.cases {
        let bits: Vec<String> = case.iter().map(|v| format!("0x{:x}u", v.to_bits())).collect();
        writeln!(text, "{{{}}},", bits.join(", ")).unwrap();
    }
    writeln!(text, "}};\nstatic void job{number}(void) {{").unwrap();
    if !physics.parameters.is_empty() {
        text.push_str("  parameters p;\n");
        for (each, value) in physics.parameters.iter().zip(&job.parameters) {
            writeln!(text, "  p.{} = {value:e};", each.name).unwrap();
        }
    }
    writeln!(
        text,
        "  for (size_t i = 0; i < {}; i++) {{\n    double a[{}], r[{count}] = {{0}};\n    \
         memcpy(a, cases{number}[i], sizeof a);\n    {result}{}({});\n    \
         for (int u = 0; u < {count}; u++) {{\n      uint64_t bits;\n      \
         memcpy(&bits, r + u, 8);\n      printf(\"%llx\\n\", (unsigned long long)bits);\n    \
         }}\n  }}\n}}",
        job.cases.len(),
        kinds.len(),
        term.name(),
        list.join(", ")
    )
    .unwrap();
}

//! Provenance for `temblor --version`: commit, compiler, target, features. Nothing else.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=.git/HEAD");
    println!("cargo::rerun-if-changed=.git/refs");
    let run = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    let commit = run("git", &["describe", "--always", "--dirty", "--abbrev=12"]);
    println!("cargo::rustc-env=TEMBLOR_COMMIT={}", commit.as_deref().unwrap_or("unknown"));
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let version = run(&rustc, &["--version"]);
    println!("cargo::rustc-env=TEMBLOR_RUSTC={}", version.as_deref().unwrap_or("unknown"));
    for (variable, name) in [("TARGET", "TEMBLOR_TARGET"), ("PROFILE", "TEMBLOR_PROFILE")] {
        let value = std::env::var(variable).unwrap_or_default();
        println!("cargo::rustc-env={name}={value}");
    }
    let features: Vec<_> = ["cuda", "hip", "level-zero"]
        .into_iter()
        .filter(|f| {
            let variable = format!("CARGO_FEATURE_{}", f.to_uppercase().replace('-', "_"));
            std::env::var_os(variable).is_some()
        })
        .collect();
    let features = if features.is_empty() { "none".into() } else { features.join(", ") };
    println!("cargo::rustc-env=TEMBLOR_FEATURES={features}");
}

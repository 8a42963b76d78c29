//! `cargo xtask`: what a cargo alias cannot do.

mod bundle;

use std::process::ExitCode;

const HELP: &str = "\
Usage: cargo xtask bundle [--quick] [--out FOLDER]

bundle   put the release binary with the feature cuda, the tests and benches
         that need a card and their data into one folder, to carry to a machine
         that has no Rust; FOLDER/go.sh runs them there
  --quick       binary and bench from the dev profile too: what is there is
                rebuilt in seconds, the host part runs a little slower
  --out FOLDER  where to [default: bundle]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.split_first() {
        Some((command, rest)) if command == "bundle" => {
            bundle::Options::parse(rest).and_then(|options| bundle::run(&options))
        }
        Some((command, _)) if command == "--help" || command == "-h" => {
            println!("{HELP}");
            Ok(())
        }
        Some((command, _)) => Err(format!("there is no task `{command}`\n\n{HELP}")),
        None => Err(HELP.to_owned()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

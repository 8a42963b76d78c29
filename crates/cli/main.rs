//! The command `temblor`.

use std::process::ExitCode;

fn main() -> ExitCode {
    temblor::main()
}

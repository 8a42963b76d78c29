//! The command `temblor`.

use std::process::ExitCode;

fn main() -> ExitCode {
    leave_quietly_when_the_reader_has_gone();
    temblor::main()
}

/// `println!` panics when whoever reads has gone, as in `temblor verify | head`; that is no fault.
fn leave_quietly_when_the_reader_has_gone() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let text = panic.payload_as_str().unwrap_or_default();
        if text.starts_with("failed printing to stdout") && text.contains("Broken pipe") {
            std::process::exit(0);
        }
        report(panic);
    }));
}

//! `temblor patch list`: physics and schemes that ship.

use temblor_patch::library;
use temblor_patch::shipped::SCHEMES;

use crate::patchfile;

/// Prints what ships.
///
/// # Errors
/// If a shipped text cannot be read, which is a bug.
pub(super) fn run() -> anyhow::Result<()> {
    for &(name, _) in library::shipped() {
        let physics = patchfile::physics(name)?;
        let terms: Vec<&str> = physics.terms.iter().map(|term| term.name()).collect();
        println!("physics {name}");
        println!("  unknowns   {}", wrapped(&physics.unknowns));
        if !physics.auxiliary.is_empty() {
            println!("  fixed      {}", wrapped(&physics.auxiliary));
        }
        println!("  terms      {}", terms.join(", "));
        print_parameters(&physics.parameters);
    }
    for (name, text) in SCHEMES {
        let scheme = patchfile::scheme(name)?;
        println!("scheme {name}");
        print_comment(text);
        println!("  halo       {}", scheme.halo);
        println!("  gives      {}", format!("{:?}", scheme.output).to_lowercase());
        print_parameters(&scheme.parameters);
    }
    Ok(())
}

/// What a scheme says of itself, in lines of less than 80 columns.
fn print_comment(text: &str) {
    let comment = text.lines().take_while(|line| line.starts_with('#'));
    let words = comment.flat_map(|line| line.trim_start_matches('#').split_whitespace());
    let mut row = String::new();
    for word in words {
        if row.len() + word.len() > 76 {
            println!(" {row}");
            row.clear();
        }
        row.push(' ');
        row.push_str(word);
    }
    println!(" {row}");
}

fn print_parameters(parameters: &[temblor_patch::physics::Parameter]) {
    if parameters.is_empty() {
        return;
    }
    let shown = parameters.iter().map(|parameter| {
        let kind = if parameter.integer { " (int)" } else { "" };
        format!("{} = {}{kind}", parameter.name, parameter.default)
    });
    println!("  parameters {}", wrapped(&shown.collect::<Vec<_>>()));
}

/// Names in lines of some 80 columns.
fn wrapped(names: &[String]) -> String {
    let (mut text, mut column) = (String::new(), 0);
    for (place, name) in names.iter().enumerate() {
        if place > 0 {
            text.push(',');
            if column + name.len() > 64 {
                text.push_str("\n            ");
                column = 0;
            }
            text.push(' ');
        }
        text.push_str(name);
        column += name.len() + 2;
    }
    text
}

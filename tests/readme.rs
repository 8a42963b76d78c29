//! What the README says of the backends is what they say of themselves.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write;

use temblor::backend::Backend;
use temblor::cpu::{CpuBackend, ReferenceBackend};

const BEGIN: &str = "<!-- capabilities: kept equal to what the backends say of themselves by \
                     tests/readme.rs -->\n";
const END: &str = "<!-- end of capabilities -->";

/// A table with one column per backend.
fn table() -> String {
    let backends: [Box<dyn Backend>; 2] =
        [Box::new(CpuBackend::new()), Box::new(ReferenceBackend::new())];
    let mut table = String::from("| |");
    for backend in &backends {
        write!(table, " `{}` |", backend.device().backend).unwrap();
    }
    table.push_str("\n|---|");
    table.push_str(&"---|".repeat(backends.len()));
    let list = |items: Vec<String>| items.join(", ");
    type Row<'a> = (&'a str, &'a dyn Fn(&dyn Backend) -> String);
    let rows: [Row<'_>; 5] = [
        ("equations", &|b| {
            list(b.capabilities().equations.iter().map(|e| snake(&format!("{e:?}"))).collect())
        }),
        ("arithmetic", &|b| {
            list(b.capabilities().arithmetics.iter().map(ToString::to_string).collect())
        }),
        ("boundaries", &|b| {
            list(b.capabilities().boundaries.iter().map(|k| snake(&format!("{k:?}"))).collect())
        }),
        ("space orders", &|b| {
            let (least, most) = b.capabilities().orders;
            format!("{least} to {most}, even")
        }),
        ("variants", &|b| {
            list(b.capabilities().variants.iter().map(|v| format!("`{v}`")).collect())
        }),
    ];
    for (name, value) in rows {
        write!(table, "\n| {name} |").unwrap();
        for backend in &backends {
            write!(table, " {} |", value(backend.as_ref())).unwrap();
        }
    }
    table.push('\n');
    table
}

/// `AcousticIso` as `acoustic_iso`.
fn snake(name: &str) -> String {
    let mut text = String::new();
    for (n, letter) in name.chars().enumerate() {
        if letter.is_uppercase() && n > 0 {
            text.push('_');
        }
        text.extend(letter.to_lowercase());
    }
    text
}

#[test]
fn the_table_of_backends_is_what_they_can_do() {
    let readme = include_str!("../README.md");
    let (_, rest) = readme.split_once(BEGIN).expect("the README has the begin mark");
    let (written, _) = rest.split_once(END).expect("the README has the end mark");
    assert_eq!(written, table(), "put the table on the right into README.md");
}

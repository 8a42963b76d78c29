//! How to read each column, from the columns themselves.

use std::fmt::Write as _;

use crate::tables::{Table, html::escape};

pub(super) fn guide(measured: &[Table], seeds: &[Table]) -> String {
    let mut known: Vec<(String, &str)> = Vec::new();
    for column in measured.iter().chain(seeds).flat_map(|table| &table.columns) {
        let name = if column.group.is_empty() { &column.name } else { &column.group };
        let said = known.iter().any(|(_, about)| *about == column.about);
        if !column.about.is_empty() && !said {
            known.push((name.clone(), column.about));
        }
    }
    let mut text = String::from("<dl class=\"guide\">\n");
    for (name, about) in known {
        let (name, about) = (escape(&name), escape(about));
        let _ = writeln!(text, "<div><dt>{name}</dt><dd>{about}</dd></div>");
    }
    text + "</dl>\n"
}

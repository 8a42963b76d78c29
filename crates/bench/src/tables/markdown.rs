//! A table as Markdown whose columns are aligned, so that it reads as text too.

use std::fmt::Write as _;

use super::{Column, Table};

pub(super) fn render(table: &Table) -> String {
    let mut text = format!("### {}\n\n", escape(&table.title));
    let header: Vec<_> = table.columns.iter().map(|column| escape(&column.full())).collect();
    let rows: Vec<Vec<String>> =
        table.rows.iter().map(|row| row.iter().map(|cell| escape(cell)).collect()).collect();
    let widths: Vec<usize> = (0..header.len())
        .map(|at| {
            let cells = rows.iter().map(|row| row[at].as_str());
            let widths = std::iter::once(header[at].as_str()).chain(cells).map(width);
            widths.max().unwrap_or(0).max(3)
        })
        .collect();
    line(&mut text, &header, &table.columns, &widths);
    for (column, width) in table.columns.iter().zip(&widths) {
        let dashes = "-".repeat(width + 1);
        let _ = if column.number { write!(text, "|{dashes}:") } else { write!(text, "|{dashes}-") };
    }
    text += "|\n";
    for row in &rows {
        line(&mut text, row, &table.columns, &widths);
    }
    if !table.notes.is_empty() {
        text.push('\n');
    }
    for note in &table.notes {
        let _ = writeln!(text, "- {}", escape(note));
    }
    text
}

fn line(text: &mut String, cells: &[String], columns: &[Column], widths: &[usize]) {
    for ((cell, column), wanted) in cells.iter().zip(columns).zip(widths) {
        let space = " ".repeat(wanted - width(cell));
        let _ = if column.number {
            write!(text, "| {space}{cell} ")
        } else {
            write!(text, "| {cell}{space} ")
        };
    }
    text.push_str("|\n");
}

fn width(text: &str) -> usize {
    text.chars().count()
}

/// What would end a cell, a line or a table, or be read as HTML.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '|' | '\\' | '`' | '*' => {
                escaped.push('\\');
                escaped.push(c);
            }
            '<' => escaped.push_str("&lt;"),
            '&' => escaped.push_str("&amp;"),
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_to_the_right_and_hostile_cells_stay_in_place() {
        let table = Table {
            title: "A".into(),
            columns: vec![Column::words("Path"), Column::number("H100").under("Zero")],
            rows: vec![
                vec!["FP32 direct".into(), "7.5".into()],
                vec!["a|b\n<script>".into(), String::new()],
            ],
            notes: vec!["one".into()],
        };
        let expected = "\
### A

| Path             | Zero H100 |
|------------------|----------:|
| FP32 direct      |       7.5 |
| a\\|b &lt;script> |           |

- one
";
        assert_eq!(table.markdown(), expected);
    }
}

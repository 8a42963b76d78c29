//! A table as HTML.

use std::fmt::Write as _;

use super::{Column, Table, anchor};

/// Text that means nothing to a browser.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c if c.is_control() && !c.is_whitespace() => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

/// The table alone, without title and notes, in a box that scrolls sideways where it must.
pub(crate) fn bare(table: &Table) -> String {
    let label = escape(&table.title);
    let mut text = format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{label}\"><table>\n<thead>\n"
    );
    let grouped = table.columns.iter().any(|column| !column.group.is_empty());
    if grouped {
        text += "<tr>";
        let mut at = 0;
        while let Some(column) = table.columns.get(at) {
            let group = &column.group;
            let span = if group.is_empty() {
                1
            } else {
                table.columns[at..].iter().take_while(|c| c.group == *group).count()
            };
            let _ = if group.is_empty() {
                write!(text, "<th rowspan=\"2\"{}>{}</th>", class(column), name(column))
            } else {
                let group = escape(group);
                write!(
                    text,
                    "<th colspan=\"{span}\" class=\"group\" scope=\"colgroup\">{group}</th>"
                )
            };
            at += span;
        }
        text += "</tr>\n";
    }
    text += "<tr>";
    for column in table.columns.iter().filter(|c| !grouped || !c.group.is_empty()) {
        let _ = write!(text, "<th scope=\"col\"{}>{}</th>", class(column), name(column));
    }
    text += "</tr>\n</thead>\n<tbody>\n";
    for row in &table.rows {
        text += "<tr>";
        let (figures, reason) = without_rate(row);
        for (cell, column) in row[..figures].iter().zip(&table.columns) {
            let _ = write!(text, "<td{}>{}</td>", class(column), escape(cell));
        }
        if let Some(reason) = reason {
            let (span, reason_class) = (row.len() - figures, class_of(reason));
            let reason = escape(reason);
            let _ = write!(text, "<td colspan=\"{span}\"{reason_class}>{reason}</td>");
        }
        text += "</tr>\n";
    }
    text + "</tbody>\n</table></div>\n"
}

pub(super) fn render(table: &Table) -> String {
    let title = escape(&table.title);
    let mut text = format!("<h3 id=\"{}\">{title}</h3>\n{}", anchor(&table.title), bare(table));
    if !table.notes.is_empty() {
        text += "<ul class=\"notes\">\n";
        for note in &table.notes {
            let _ = writeln!(text, "<li>{}</li>", escape(note));
        }
        text += "</ul>\n";
    }
    text
}

fn class(column: &Column) -> &'static str {
    if column.number { " class=\"number\"" } else { "" }
}

/// A row that is blank up to a reason at its end: cells before the blank ones, and the reason, which
/// then takes their place.
fn without_rate(row: &[String]) -> (usize, Option<&str>) {
    let Some((last, cells)) = row.split_last() else { return (0, None) };
    let blanks = cells.iter().rev().take_while(|cell| cell.is_empty()).count();
    if blanks > 2 && !last.is_empty() {
        (cells.len() - blanks, Some(last))
    } else {
        (row.len(), None)
    }
}

/// Reasons are long, and failures are to be seen.
fn class_of(cell: &str) -> &'static str {
    if cell.starts_with("failed:") { " class=\"remark failed\"" } else { " class=\"remark\"" }
}

fn name(column: &Column) -> String {
    let name = escape(&column.name);
    if column.about.is_empty() {
        name
    } else {
        format!("<span title=\"{}\">{name}</span>", escape(column.about))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        Table {
            title: "T & U".into(),
            columns: vec![
                Column::words("Version"),
                Column::number("1k").under("Zero"),
                Column::number("2k").under("Zero"),
            ],
            rows: vec![vec!["</td><script>alert('x')</script>".into(), "1".into(), String::new()]],
            notes: vec!["a < b".into()],
        }
    }

    #[test]
    fn a_hostile_cell_stays_text() {
        let html = table().html();
        assert!(!html.contains("<script"), "{html}");
        assert!(html.contains("&lt;/td&gt;&lt;script&gt;alert(&#39;x&#39;)"), "{html}");
    }

    #[test]
    fn groups_span_their_columns_and_the_document_is_well_formed() {
        let html = format!("<div>{}</div>", table().html());
        let document = roxmltree::Document::parse(&html).unwrap();
        let spans: Vec<_> =
            document.descendants().filter_map(|node| node.attribute("colspan")).collect();
        assert_eq!(spans, ["2"]);
        let cells = document.descendants().filter(|node| node.has_tag_name("td"));
        let texts: Vec<_> = cells.map(|node| node.text().unwrap_or_default()).collect();
        assert_eq!(texts, ["</td><script>alert('x')</script>", "1", ""]);
    }
}

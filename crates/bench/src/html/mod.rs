//! The report: one file of HTML that needs no network and no script, light, dark and on paper.

mod guide;
mod headline;
mod rows;
mod runs;

use std::fmt::Write as _;

use crate::machines::machines;
use crate::plots::{self, Plot, PlotError, Theme};
use crate::results::{Outcome, Results};
use crate::tables::{self, Table, html::escape};

const STYLE: &str = include_str!("style.css");

/// The report of `results`.
///
/// # Errors
/// [`PlotError`] where a plot cannot be drawn.
pub fn report(results: &Results) -> Result<String, PlotError> {
    let measured = tables::measured(results);
    let seeds = tables::seeds(results);
    let machines = machines(results);
    let title = match machines.as_slice() {
        [] => "no device".to_owned(),
        [one] => one.label.clone(),
        [first, rest @ ..] => format!("{} and {} more", first.label, rest.len()),
    };
    let title = escape(&title);
    let mut text = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>temblor bench: {title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n"
    );
    text += &headline::headline(results, &machines);
    text += &contents(results);
    text += &section("plots", "Plots", &figures(results)?);
    text += &section("tables", "Tables", &tables_of(&measured));
    if results.rows.iter().any(|row| row.outcome.measured().is_none()) {
        text += &section("without", "Rows without a rate", &without(results));
    }
    text += &section("seeds", "Published tables, with this file's figures", &published(&seeds));
    text += &section("rows", "Rows in detail", &rows::rows(results));
    text += &section("machines", "Machines and commands", &runs::runs(results));
    text += &section("guide", "How to read the columns", &guide::guide(&measured, &seeds));
    text += "</main>\n</body>\n</html>\n";
    Ok(text)
}

fn section(id: &str, title: &str, content: &str) -> String {
    format!("<section id=\"{id}\">\n<h2>{title}</h2>\n{content}</section>\n")
}

fn contents(results: &Results) -> String {
    let mut links = vec![("plots", "Plots"), ("tables", "Tables")];
    if results.rows.iter().any(|row| row.outcome.measured().is_none()) {
        links.push(("without", "Rows without a rate"));
    }
    links.extend([
        ("seeds", "Published tables"),
        ("rows", "Rows in detail"),
        ("machines", "Machines and commands"),
        ("guide", "How to read the columns"),
    ]);
    let links = links.iter().map(|(id, name)| format!("<a href=\"#{id}\">{name}</a>"));
    format!("<nav aria-label=\"Contents\">{}</nav>\n", links.collect::<Vec<_>>().join(" "))
}

fn figures(results: &Results) -> Result<String, PlotError> {
    let mut text = String::from("<div class=\"figures\">\n");
    for plot in plots::all(results) {
        text += &figure(&plot)?;
    }
    Ok(text + "</div>\n")
}

/// A plot on both grounds, of which style shows one.
fn figure(plot: &Plot) -> Result<String, PlotError> {
    let label = escape(&format!("{}, {}", plot.title, plot.subtitle));
    let mut text = String::from("<figure>\n");
    for (theme, class) in [(Theme::Light, "light"), (Theme::Dark, "dark")] {
        let svg = plot.svg(theme)?;
        let _ = writeln!(
            text,
            "<div class=\"plot {class}\" role=\"img\" aria-label=\"{label}\" tabindex=\"0\">{svg}</div>"
        );
    }
    if !plot.notes.is_empty() {
        let _ = writeln!(text, "<figcaption>{}</figcaption>", escape(&plot.notes.join(" ")));
    }
    Ok(text + "</figure>\n")
}

/// Tables, long ones that few need folded.
fn tables_of(tables: &[Table]) -> String {
    let mut text = String::new();
    for table in tables {
        if ["Roofs", "Accuracy"].contains(&table.title.as_str()) {
            let rows = table.rows.len();
            let title = escape(&table.title);
            let _ = write!(
                text,
                "<details><summary>{title}, {rows} rows</summary>\n{}</details>\n",
                table.html()
            );
        } else {
            text += &table.html();
        }
    }
    if tables.is_empty() { "<p>Nothing was measured.</p>\n".into() } else { text }
}

fn published(seeds: &[Table]) -> String {
    let mut text = String::from(
        "<p>Tables of the LIBXSTREAM stencil deck, of Ewart and Araya-Polo (2026) and of DSLHyPE (2026), in \
         their own shape. Every figure is of this file; a cell that was not measured is blank, and no \
         published figure is repeated.</p>\n",
    );
    for table in seeds {
        text += &table.html();
        if table.rows.is_empty() || table.is_blank() {
            text += "<p class=\"blank\">Nothing measured for this table.</p>\n";
        }
    }
    text
}

fn without(results: &Results) -> String {
    let mut text = String::from("<ul>\n");
    for (at, row) in results.rows.iter().enumerate() {
        let (word, why) = match &row.outcome {
            Outcome::Measured(_) => continue,
            Outcome::Skipped { why } => ("skipped", why),
            Outcome::Failed { why } => ("failed", why),
        };
        let _ = writeln!(
            text,
            "<li><a href=\"#row-{0}\">Row {0}</a>, {1}: <strong class=\"{word}\">{word}</strong>: {2}</li>",
            at + 1,
            escape(&row.case.key()),
            escape(why)
        );
    }
    text + "</ul>\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{merge, sample};

    /// The report without what is HTML and not XML.
    fn parsed(html: &str) -> Result<roxmltree::Document<'_>, roxmltree::Error> {
        let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
        roxmltree::Document::parse_with_options(html, options)
    }

    fn as_xml(html: &str) -> String {
        let closed: Vec<_> =
            html.lines()
                .map(|line| {
                    if line.starts_with("<meta ") {
                        line.replace('>', "/>")
                    } else {
                        line.to_owned()
                    }
                })
                .collect();
        let text = closed.join("\n");
        let style = text.find("<style>").unwrap()..text.find("</style>").unwrap();
        text.replacen(&text[style], "<style>", 1)
    }

    #[test]
    fn the_report_is_well_formed_and_needs_nothing_from_elsewhere() {
        let results = merge::merge(vec![sample::gpu(1), sample::cpu()]);
        let html = report(&results).unwrap();
        let xml = as_xml(&html);
        let document = parsed(&xml).unwrap();
        for node in document.descendants().filter(roxmltree::Node::is_element) {
            assert_ne!(node.tag_name().name(), "script");
            assert!(node.attribute("src").is_none());
            let href = node.attribute("href").unwrap_or("#");
            assert!(href.starts_with('#'), "{href}");
        }
        assert!(!STYLE.contains("url(") && !STYLE.contains("@import"));
    }

    #[test]
    fn every_link_leads_somewhere() {
        let html = report(&sample::gpu(1)).unwrap();
        let xml = as_xml(&html);
        let document = parsed(&xml).unwrap();
        let ids: Vec<_> = document.descendants().filter_map(|n| n.attribute("id")).collect();
        let hrefs = document.descendants().filter_map(|n| n.attribute("href"));
        for href in hrefs {
            assert!(ids.contains(&&href[1..]), "{href}");
        }
        let mut once = ids.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), ids.len(), "an id stands twice");
    }

    #[test]
    fn hostile_texts_stay_texts() {
        let mut results = sample::gpu(1);
        let hostile = "</title><script>alert(1)</script><img src=x onerror=alert(2)>";
        results.runs[0].command = hostile.into();
        results.runs[0].host.processor = hostile.into();
        results.runs[0].devices[0].info.name = hostile.into();
        results.runs[0].devices[0].why_no_roof = Some(hostile.into());
        results.runs[0].program[0] = (hostile.into(), hostile.into());
        results.runs[0].peers[0].name = hostile.into();
        for row in &mut results.rows {
            row.case.device = hostile.into();
            row.case.path = hostile.into();
            row.case.operator = hostile.into();
            row.case.preset = Some(hostile.into());
            if let Outcome::Skipped { why } | Outcome::Failed { why } = &mut row.outcome {
                *why = hostile.into();
            }
        }
        let html = report(&results).unwrap();
        assert!(!html.contains("<script") && !html.contains("<img"));
        assert!(parsed(&as_xml(&html)).is_ok());
    }

    #[test]
    fn an_empty_run_says_so() {
        let html = report(&sample::empty()).unwrap();
        assert!(html.contains("stopped before all rows were measured"));
        assert!(html.contains("Nothing was measured."));
        assert!(html.contains("nothing to plot"));
    }

    #[test]
    fn reasons_stand_in_a_section_of_their_own() {
        let html = report(&sample::gpu(1)).unwrap();
        let from = html.find("id=\"without\"").unwrap();
        let part = &html[from..from + 2000];
        assert!(part.contains("needs 170 GiB, 139 GiB are free: use a smaller size"), "{part}");
        assert!(part.contains("above its bound 1.0e-5"), "{part}");
    }
}

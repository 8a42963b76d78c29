//! Results as tables: all rows, and the seeds' tables in their own shape.
//!
//! A cell without a measurement is blank. No value comes from anywhere but the file of results.

mod accuracy;
mod cases;
mod deck;
mod dslhype;
mod found;
mod gain;
pub(crate) mod html;
mod markdown;
mod paper;
mod peers;
mod profile;
mod rates;
mod roofs;

use crate::results::Results;

pub use accuracy::accuracy;
pub use dslhype::{crossover, dslhype};
pub use gain::gain;
pub use peers::peers;
pub use rates::rates;
pub use roofs::roofs;

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// What stands over several columns, if anything.
    pub group: String,
    /// Name, with its unit.
    pub name: String,
    /// How to read it; empty where the name says all.
    pub about: &'static str,
    /// Whether it holds numbers, which are set to the right.
    pub number: bool,
}

impl Column {
    /// A column of words.
    pub(crate) fn words(name: impl Into<String>) -> Self {
        Self { group: String::new(), name: name.into(), about: "", number: false }
    }

    /// A column of numbers.
    pub(crate) fn number(name: impl Into<String>) -> Self {
        Self { number: true, ..Self::words(name) }
    }

    pub(crate) fn under(mut self, group: impl Into<String>) -> Self {
        self.group = group.into();
        self
    }

    pub(crate) const fn about(mut self, about: &'static str) -> Self {
        self.about = about;
        self
    }

    /// Group and name on one line.
    #[must_use]
    pub fn full(&self) -> String {
        if self.group.is_empty() {
            self.name.clone()
        } else {
            format!("{} {}", self.group, self.name).trim_end().to_owned()
        }
    }
}

/// A table, for any renderer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Heading.
    pub title: String,
    /// Columns.
    pub columns: Vec<Column>,
    /// Cells by row; as many as columns. Blank where nothing was measured.
    pub rows: Vec<Vec<String>>,
    /// What is to be said below it.
    pub notes: Vec<String>,
}

impl Table {
    /// Whether all cells but those of words are blank.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        let numbers = |row: &Vec<String>| {
            row.iter().zip(&self.columns).all(|(cell, column)| !column.number || cell.is_empty())
        };
        self.rows.iter().all(numbers)
    }

    /// As Markdown, its columns aligned so that it reads as text.
    #[must_use]
    pub fn markdown(&self) -> String {
        markdown::render(self)
    }

    /// As HTML, all text escaped.
    #[must_use]
    pub fn html(&self) -> String {
        html::render(self)
    }
}

/// A name for a place where several tables stand, for links.
#[must_use]
pub fn anchor(title: &str) -> String {
    let words = title.to_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), " ");
    words.split_whitespace().collect::<Vec<_>>().join("-")
}

/// Tables of what was measured: rates, accuracy, roofs, kernels, counters, peers; those that would be
/// empty are left out.
#[must_use]
pub fn measured(results: &Results) -> Vec<Table> {
    let mut tables = vec![rates(results), accuracy(results), roofs(results), peers(results)];
    tables.retain(|table| !table.rows.is_empty());
    tables
}

/// The seeds' tables in their own shape, in their order; cells without a measurement are blank.
#[must_use]
pub fn seeds(results: &Results) -> Vec<Table> {
    let mut tables = vec![deck::paths(results), deck::minimod(results)];
    tables.extend(deck::accuracies(results));
    tables.push(paper::platforms(results));
    tables.extend(paper::fills(results));
    tables.extend(paper::versions(results));
    tables.push(profile::kernels(results));
    tables.push(profile::counters(results));
    tables.push(paper::hardware(results));
    tables.push(dslhype(results));
    let patches = [gain(results), crossover(results)];
    tables.extend(patches.into_iter().filter(|table| !table.rows.is_empty()));
    tables
}

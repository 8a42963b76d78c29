//! How much faster a patch kernel in one piece is than the same statement by statement, by the number of
//! patches per call.

use std::collections::BTreeMap;

use super::{Column, Table};
use crate::machines::{Machine, machines};
use crate::results::{Results, median};

/// Schedules that run statement by statement, by their names.
const PLAIN: [&str; 3] = ["plain-openmp", "plain", "unfused"];

/// Whether a schedule is to be compared with a plain one: handed out in the same way.
fn suits(plain: &str, schedule: &str) -> bool {
    let is_plain = schedule.starts_with("plain") || schedule.starts_with("unfused");
    !is_plain && plain.ends_with("openmp") == schedule.contains("openmp")
}

/// Compute times of a case by K, s.
type Times = BTreeMap<u32, f64>;

/// A row per machine, kernel, patch size and pair of schedules; a column per K.
#[must_use]
pub fn gain(results: &Results) -> Table {
    let machines = machines(results);
    let mut found: Vec<([String; 4], Times)> = Vec::new();
    for machine in &machines {
        let cases = cases(machine);
        for ((path, size, schedule), times) in &cases {
            let beside = PLAIN.iter().filter(|plain| suits(plain, schedule)).find_map(|&plain| {
                Some((plain, cases.get(&(path.clone(), *size, plain.to_owned()))?))
            });
            let Some((plain, before)) = beside else { continue };
            let ratio = |(&k, &time): (&u32, &f64)| before.get(&k).map(|before| (k, before / time));
            let ratios: Times = times.iter().filter_map(ratio).collect();
            let pair = format!("{plain} / {schedule}");
            found.push(([machine.label.clone(), path.clone(), size.to_string(), pair], ratios));
        }
    }
    let mut patches: Vec<u32> =
        found.iter().flat_map(|(_, ratios)| ratios.keys().copied()).collect();
    patches.sort_unstable();
    patches.dedup();
    let mut columns: Vec<Column> =
        ["Device", "Kernel", "Patch size", "Schedules"].into_iter().map(Column::words).collect();
    columns.extend(patches.iter().map(|k| Column::number(format!("K = {k}"))));
    let rows = found.into_iter().map(|(named, ratios)| {
        let cell = |k| ratios.get(k).map_or_else(String::new, |ratio| format!("{ratio:.2}"));
        named.into_iter().chain(patches.iter().map(cell)).collect()
    });
    Table {
        title: "Patch kernels: times as fast as statement by statement".into(),
        columns,
        rows: rows.collect(),
        notes: vec![
            "Medians of compute time, patches on the device; both schedules on the same threads, with the \
             same flags."
                .into(),
        ],
    }
}

/// Compute times by kernel, patch size and schedule.
fn cases(machine: &Machine<'_>) -> BTreeMap<(String, usize, String), Times> {
    let mut cases: BTreeMap<_, Times> = BTreeMap::new();
    for (row, measured) in machine.measured() {
        let Some(patch) = &measured.patch else { continue };
        let case = (row.case.path.clone(), row.case.shape[0], row.case.variant.clone());
        cases.entry(case).or_default().insert(patch.patches, median(&measured.seconds));
    }
    cases
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Outcome;
    use crate::sample;

    fn add(results: &mut Results, schedule: &str, k: u32, seconds: f64) {
        let measured = results.rows.iter().find(|row| row.outcome.measured().is_some());
        let mut row = measured.expect("the sample has one").clone();
        row.case.path = "Euler FV".into();
        row.case.shape = [3; 3];
        row.case.variant = schedule.into();
        let Outcome::Measured(measured) = &mut row.outcome else { return };
        measured.seconds = vec![seconds];
        measured.patch = Some(sample::patch_figures(k, seconds));
        results.rows.push(row);
    }

    #[test]
    fn schedules_stand_beside_the_plain_one_that_is_handed_out_alike() {
        let mut results = sample::cpu();
        for (schedule, k, seconds) in [
            ("fused", 1, 1.0),
            ("fused", 8, 2.0),
            ("openmp", 8, 0.5),
            ("plain", 8, 5.0),
            ("plain-flat", 8, 9.0),
            ("plain-openmp", 8, 3.0),
        ] {
            add(&mut results, schedule, k, seconds);
        }
        let table = gain(&results);
        let rows: Vec<_> = table.rows.iter().map(|row| &row[1..]).collect();
        assert_eq!(
            rows,
            [
                ["Euler FV", "3", "plain / fused", "2.50"],
                ["Euler FV", "3", "plain-openmp / openmp", "6.00"]
            ]
        );
        assert_eq!(table.columns.last().map(Column::full), Some("K = 8".into()));
    }

    #[test]
    fn kernels_of_a_card_stand_beside_their_chain() {
        let mut results = sample::cpu();
        for (schedule, seconds) in [("flat-t128", 1.0), ("unfused", 4.0), ("unfused-flat", 5.0)] {
            add(&mut results, schedule, 64, seconds);
        }
        let table = gain(&results);
        assert_eq!(table.rows.len(), 1);
        assert_eq!(table.rows[0][3..], ["unfused / flat-t128", "4.00"]);
    }
}

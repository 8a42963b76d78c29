//! Tables I, II, III and VI of "Stencil Computation at the Intersection of AI and HPC" (Ewart and
//! Araya-Polo 2026).

use temblor_backend::StreamPattern;

use super::found::{COLUMNS, N, cell, fastest, fewer, is_minimod};
use super::{Column, Table};
use crate::figures::{fraction, rate, significant, thousands};
use crate::machines::{Machine, machines, version};
use crate::results::{Results, Start, median};

const PATTERNS: [(&str, StreamPattern); 4] = [
    ("Copy", StreamPattern::Copy),
    ("Scale", StreamPattern::Scale),
    ("Add", StreamPattern::Add),
    ("Triad", StreamPattern::Triad),
];

/// Table I: nominal beside measured.
pub(super) fn platforms(results: &Results) -> Table {
    let gb = |value: Option<f64>| value.map_or_else(String::new, |v| significant(v / 1e9, 4));
    let tera = |value: Option<f64>| value.map_or_else(String::new, |v| significant(v / 1e12, 3));
    let rows = machines(results).into_iter().map(|machine| {
        let triad = machine.stream(StreamPattern::Triad, 1.0).map(|s| median(&s.samples));
        let arch = machine.devices.first().map_or_else(String::new, |d| d.info.arch.clone());
        vec![
            machine.label.clone(),
            arch,
            gb(machine.nominal_bandwidth()),
            gb(triad),
            tera(machine.nominal_flops()),
            tera(machine.flops()),
        ]
    });
    Table {
        title: "Table I: hardware platforms".into(),
        columns: vec![
            Column::words("Hardware"),
            Column::words("Architecture"),
            Column::number("Peak BW Th. GB/s"),
            Column::number("STREAM GB/s"),
            Column::number("Peak Vec. FP32 TFLOPs"),
            Column::number("Measured FP32 TFLOPs"),
        ],
        rows: rows.collect(),
        notes: vec!["STREAM is triad on random data. Nominal values are the driver's.".into()],
    }
}

/// Table II: STREAM by the part of the arrays that is random; a table per device with any of it.
pub(super) fn fills(results: &Results) -> Vec<Table> {
    let all = machines(results);
    let with = |machine: &&Machine<'_>| machine.devices.iter().any(|d| !d.streams.is_empty());
    let mut tables: Vec<_> = all.iter().filter(with).map(|machine| fill(Some(machine))).collect();
    if tables.is_empty() {
        tables.push(fill(None));
    }
    tables
}

fn fill(machine: Option<&Machine<'_>>) -> Table {
    let mut fills: Vec<f64> = (0..=7).rev().map(|power| 0.5_f64.powi(power)).collect();
    let devices = machine.into_iter().flat_map(|machine| &machine.devices);
    for stream in devices.flat_map(|device| &device.streams) {
        if !fills.iter().any(|fill| fill.to_bits() == stream.fill.to_bits()) {
            fills.push(stream.fill);
        }
    }
    fills.sort_by(f64::total_cmp);
    let mut columns = vec![Column::words("Fill")];
    columns.extend(PATTERNS.map(|(name, _)| Column::number(name)));
    let rows = fills.into_iter().map(|fill| {
        let cells = PATTERNS.map(|(_, pattern)| {
            let stream = machine.and_then(|machine| machine.stream(pattern, fill));
            stream.map_or_else(String::new, |s| rate(median(&s.samples) / 1e9))
        });
        std::iter::once(fraction(fill)).chain(cells).collect()
    });
    let on = machine.map_or_else(String::new, |machine| format!(", {}", machine.label));
    Table {
        title: format!("Table II: STREAM by fill, GB/s{on}"),
        columns,
        rows: rows.collect(),
        notes: vec!["Fill is the part of each array that holds random values.".into()],
    }
}

fn zero_and_random(first: &str) -> Vec<Column> {
    let mut columns = vec![Column::words(first)];
    columns.extend(COLUMNS.map(|(start, steps)| {
        let start = if start == Start::Zero { "Zero" } else { "Random" };
        Column::number(thousands(steps)).under(format!("{start}-Initialization"))
    }));
    columns
}

/// Cells of a version of a machine.
fn cells(machine: &Machine<'_>, of: &str) -> Vec<String> {
    let cell_of = |&(start, steps): &(Start, u32)| {
        cell(fastest(machine, |row| version(row) == of && is_minimod(row, start, steps)))
    };
    COLUMNS.iter().map(cell_of).collect()
}

/// Versions of a machine that ran any of Minimod, in the order of the file.
fn versions_of(machine: &Machine<'_>) -> Vec<String> {
    let mut versions = Vec::new();
    for row in &machine.rows {
        let listed = COLUMNS.iter().any(|&(start, steps)| is_minimod(row, start, steps));
        let version = version(row);
        if listed && !versions.contains(&version) {
            versions.push(version);
        }
    }
    versions
}

/// Table III: versions by start and steps; a table per device that ran any.
pub(super) fn versions(results: &Results) -> Vec<Table> {
    let all = machines(results);
    let table = |on: String, rows: Vec<Vec<String>>, notes: Vec<String>| Table {
        title: format!("Table III: throughput, Gpts/s, {N}³{on}"),
        columns: zero_and_random("Version"),
        rows,
        notes,
    };
    let mut tables = Vec::new();
    for machine in &all {
        let rows: Vec<_> = versions_of(machine)
            .into_iter()
            .map(|version| {
                let cells = cells(machine, &version);
                std::iter::once(version).chain(cells).collect()
            })
            .collect();
        if !rows.is_empty() {
            let notes = fewer(std::slice::from_ref(machine));
            tables.push(table(format!(", {}", machine.label), rows, notes));
        }
    }
    if tables.is_empty() {
        tables.push(table(String::new(), Vec::new(), Vec::new()));
    }
    tables
}

/// Table VI: devices by start and steps, each with the fastest version of each of its backends.
pub(super) fn hardware(results: &Results) -> Table {
    let all = machines(results);
    let mut rows = Vec::new();
    for machine in &all {
        let mut backends: Vec<&str> =
            machine.devices.iter().map(|d| d.info.backend.as_str()).collect();
        backends.dedup();
        for backend in backends {
            let found = fastest(machine, |row| {
                row.case.backend == backend
                    && COLUMNS.iter().any(|&(start, steps)| is_minimod(row, start, steps))
            });
            if let Some((row, _)) = found {
                let version = version(row);
                let name = format!("{} ({version})", machine.label);
                rows.push(std::iter::once(name).chain(cells(machine, &version)).collect());
            }
        }
        if !rows.iter().any(|row: &Vec<String>| row[0].starts_with(&machine.label)) {
            let blanks = vec![String::new(); COLUMNS.len()];
            rows.push(std::iter::once(machine.label.clone()).chain(blanks).collect());
        }
    }
    Table {
        title: "Table VI: throughput, Gpts/s, across devices".into(),
        columns: zero_and_random("Hardware"),
        rows,
        notes: fewer(&all),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{merge, sample};

    fn header(table: &Table) -> Vec<String> {
        table.columns.iter().map(Column::full).collect()
    }

    #[test]
    fn table_one_has_nominal_beside_measured() {
        let table = platforms(&merge::merge(vec![sample::gpu(1), sample::cpu()]));
        let wanted = [
            "Hardware",
            "Architecture",
            "Peak BW Th. GB/s",
            "STREAM GB/s",
            "Peak Vec. FP32 TFLOPs",
            "Measured FP32 TFLOPs",
        ];
        assert_eq!(header(&table), wanted);
        assert_eq!(table.rows[0][..3], ["Sample GPU A", "sample_90", "5060"]);
        // The processor says nothing of itself: blank.
        assert_eq!([&table.rows[1][2], &table.rows[1][4]], ["", ""]);
        assert!(!table.rows[1][3].is_empty());
    }

    #[test]
    fn table_two_is_fill_by_pattern() {
        let tables = fills(&sample::gpu(1));
        assert_eq!(header(&tables[0]), ["Fill", "Copy", "Scale", "Add", "Triad"]);
        let fills: Vec<_> = tables[0].rows.iter().map(|row| row[0].as_str()).collect();
        assert_eq!(fills, ["1/128", "1/64", "1/32", "1/16", "1/8", "1/4", "1/2", "1/1"]);
        assert!(tables[0].rows.iter().flatten().all(|cell| !cell.is_empty()));
    }

    const HEADER: [&str; 6] = [
        "Zero-Initialization 1k",
        "Zero-Initialization 2k",
        "Zero-Initialization 4k",
        "Random-Initialization 1k",
        "Random-Initialization 2k",
        "Random-Initialization 4k",
    ];

    #[test]
    fn table_three_is_version_by_start_and_steps() {
        let tables = versions(&sample::gpu(1));
        assert_eq!(header(&tables[0])[0], "Version");
        assert_eq!(header(&tables[0])[1..], HEADER);
        let first: Vec<_> = tables[0].rows.iter().map(|row| row[0].as_str()).collect();
        assert_eq!(first, ["cuda/wide", "cuda/tma"]);
    }

    #[test]
    fn table_six_has_the_fastest_version_of_each_device() {
        let table = hardware(&merge::merge(vec![sample::gpu(1), sample::cpu()]));
        assert_eq!(header(&table)[1..], HEADER);
        let first: Vec<_> = table.rows.iter().map(|row| row[0].as_str()).collect();
        assert_eq!(first, ["Sample GPU A (cuda/wide)", "Sample Xeon Q (cpu/blocked)"]);
        assert_eq!(table.rows[1][2..4], ["", ""]);
    }

    #[test]
    fn a_device_that_did_not_run_minimod_has_blank_cells() {
        let mut results = sample::gpu(1);
        results.rows.retain(|row| row.case.preset.as_deref() != Some("minimod"));
        let table = hardware(&results);
        assert_eq!(table.rows, [["Sample GPU A", "", "", "", "", "", ""]]);
    }

    #[test]
    fn another_layer_or_size_is_not_minimods_benchmark() {
        let mut results = sample::gpu(1);
        for row in &mut results.rows {
            row.case.cells = 20;
        }
        assert!(hardware(&results).is_blank());
    }
}

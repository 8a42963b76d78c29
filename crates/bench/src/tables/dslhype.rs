//! The figures of `DSLHyPE` (Stokes et al. 2026, figures 3 and 4) as a table: time per cell of patch
//! kernels, computing alone and with the rearrangement of data; and from which K on the GPU is faster.

use super::{Column, Table};
use crate::machines::{Machine, machines};
use crate::results::{Measured, Outcome, PatchFigures, Results, Row, median};

/// Equations and schemes of the paper.
const PATHS: [&str; 4] = ["Euler FV", "Euler FD4", "CCZ4 FV", "CCZ4 FD4"];

/// Kernels, patch sizes, patches per call and schedules by devices; a cell is one of the p^3 of a
/// patch.
#[must_use]
pub fn dslhype(results: &Results) -> Table {
    let mut columns = vec![
        Column::words("Kernel"),
        Column::words("Patch size"),
        Column::words("K"),
        Column::words("Schedule"),
    ];
    let named = columns.len();
    let machines = machines(results);
    for machine in &machines {
        for name in ["Compute [s/cell]", "Total [s/cell]"] {
            columns.push(Column::number(name).under(&machine.label));
        }
    }
    let mut kernels: Vec<[String; 4]> = Vec::new();
    let mut notes = Vec::new();
    for row in ours(results) {
        let kernel = kernel(row);
        if !kernels.contains(&kernel) {
            kernels.push(kernel);
        }
        if let Outcome::Skipped { why } | Outcome::Failed { why } = &row.outcome {
            let note = format!("Not measured: {why}");
            if !notes.contains(&note) && notes.len() < 12 {
                notes.push(note);
            }
        }
    }
    if kernels.is_empty() {
        kernels.extend(PATHS.map(|path| [path, "", "", ""].map(String::from)));
    }
    let rows = kernels.into_iter().map(|wanted| {
        let mut cells = wanted.to_vec();
        for machine in &machines {
            let found = figures(machine).find(|(row, ..)| kernel(row) == wanted);
            let [compute, total] = found.map_or([f64::NAN; 2], |(row, m, patch)| {
                let count = f64::from(patch.patches) * row.case.points() as f64;
                [median(&m.seconds) / count, median(&patch.total) / count]
            });
            cells.extend([compute, total].map(seconds));
        }
        debug_assert!(cells.len() == named + 2 * machines.len(), "a cell per column");
        cells
    });
    let rows = rows.collect();
    Table { title: "DSLHyPE, figures 3 and 4: time per cell".into(), columns, rows, notes }
}

/// The number of patches per call from which on a device is faster than the host, for every pair in the
/// file; blank where one of them was not measured.
#[must_use]
pub fn crossover(results: &Results) -> Table {
    let machines = machines(results);
    let of = |on_host: bool| {
        machines
            .iter()
            .filter(move |machine| {
                figures(machine).any(|(row, ..)| row.case.backend.starts_with("cpu") == on_host)
            })
            .collect::<Vec<_>>()
    };
    let (hosts, devices) = (of(true), of(false));
    let mut columns = vec![Column::words("Kernel"), Column::words("Patch size")];
    for host in &hosts {
        for device in &devices {
            for name in ["compute, K", "total, K"] {
                let pair = format!("{} beside {}", device.label, host.label);
                columns.push(Column::number(name).under(pair));
            }
        }
    }
    let mut cases: Vec<(String, usize)> = Vec::new();
    if columns.len() > 2 {
        for row in ours(results) {
            let case = (row.case.path.clone(), row.case.shape[0]);
            if !cases.contains(&case) {
                cases.push(case);
            }
        }
    }
    let rows = cases.into_iter().map(|(path, size)| {
        let mut cells = vec![path.clone(), size.to_string()];
        for host in &hosts {
            for device in &devices {
                for total in [false, true] {
                    let best = |machine: &Machine<'_>| best(machine, &path, size, total);
                    cells.push(from_which(&best(host), &best(device)));
                }
            }
        }
        cells
    });
    let rows = rows.collect();
    let notes = vec![
        "Smallest K measured on both from which on the device is faster for every larger one; the best \
         schedule of each."
            .into(),
    ];
    let title = "Patch kernels: patches per call from which on the GPU is faster".into();
    Table { title, columns, rows, notes }
}

/// Shortest time by K.
fn best(machine: &Machine<'_>, path: &str, size: usize, total: bool) -> Vec<(u32, f64)> {
    let mut best: Vec<(u32, f64)> = Vec::new();
    for (row, measured, patch) in figures(machine) {
        if row.case.path != path || row.case.shape[0] != size {
            continue;
        }
        let time = median(if total { &patch.total } else { &measured.seconds });
        match best.iter_mut().find(|(k, _)| *k == patch.patches) {
            Some(known) => known.1 = known.1.min(time),
            None => best.push((patch.patches, time)),
        }
    }
    best.sort_by_key(|&(k, _)| k);
    best
}

fn from_which(host: &[(u32, f64)], device: &[(u32, f64)]) -> String {
    let common: Vec<(u32, bool)> = device
        .iter()
        .filter_map(|&(k, time)| {
            host.iter().find(|known| known.0 == k).map(|known| (k, time < known.1))
        })
        .collect();
    if common.is_empty() {
        return String::new();
    }
    let slower = common.iter().rposition(|&(_, faster)| !faster);
    match slower {
        None => common[0].0.to_string(),
        Some(last) => common.get(last + 1).map_or_else(|| "none".into(), |&(k, _)| k.to_string()),
    }
}

fn ours(results: &Results) -> impl Iterator<Item = &Row> {
    results.rows.iter().filter(|row| row.case.preset.as_deref() == Some("dslhype"))
}

fn figures<'a>(
    machine: &'a Machine<'_>,
) -> impl Iterator<Item = (&'a Row, &'a Measured, &'a PatchFigures)> {
    machine.measured().filter_map(|(row, m)| m.patch.as_ref().map(|patch| (row, m, patch)))
}

fn kernel(row: &Row) -> [String; 4] {
    let schedule = if row.case.variant == "-" { String::new() } else { row.case.variant.clone() };
    let size = row.case.shape[0].to_string();
    [row.case.path.clone(), size, patches(&row.case.operator), schedule]
}

/// Patches per call, which end an operator's name as `-k8694`.
fn patches(operator: &str) -> String {
    match operator.rsplit_once("-k") {
        Some((_, k)) if k.bytes().all(|byte| byte.is_ascii_digit()) => k.to_owned(),
        _ => String::new(),
    }
}

fn seconds(value: f64) -> String {
    if value.is_finite() { format!("{value:.3e}") } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn header(table: &Table) -> Vec<String> {
        table.columns.iter().map(Column::full).collect()
    }

    #[test]
    fn kernels_stand_in_their_rows_blank_with_the_reason_below() {
        let table = dslhype(&sample::gpu(1));
        assert_eq!(table.rows, [["Euler FV", "3", "8694", "patch", "", ""]]);
        assert_eq!(table.notes, ["Not measured: there are no patch kernels in this build"]);
        let wanted = [
            "Kernel",
            "Patch size",
            "K",
            "Schedule",
            "Sample GPU A Compute [s/cell]",
            "Sample GPU A Total [s/cell]",
        ];
        assert_eq!(header(&table), wanted);
    }

    #[test]
    fn without_rows_the_papers_kernels_are_named() {
        let table = dslhype(&sample::cpu());
        let first: Vec<_> = table.rows.iter().map(|row| row[0].as_str()).collect();
        assert_eq!(first, PATHS);
        assert!(table.is_blank());
        assert!(crossover(&sample::cpu()).rows.is_empty());
    }

    /// A measured row of a patch kernel: compute and total time, s.
    fn add(results: &mut Results, k: u32, compute: f64, total: f64) {
        let mut row =
            results.rows.iter().find(|row| row.outcome.measured().is_some()).unwrap().clone();
        row.case.preset = Some("dslhype".into());
        row.case.path = "Euler FV".into();
        row.case.operator = format!("euler-fv-rusanov-k{k}");
        row.case.shape = [3; 3];
        row.case.variant = "fused".into();
        let Outcome::Measured(measured) = &mut row.outcome else { return };
        (measured.seconds, measured.steps) = (vec![compute], k);
        measured.patch = Some(crate::sample::patch_figures(k, total));
        results.rows.push(row);
    }

    #[test]
    fn times_are_per_cell_of_a_patch() {
        let mut results = sample::cpu();
        add(&mut results, 4, 2.7e-4, 5.4e-4);
        // 4 patches of 27 cells.
        let table = dslhype(&results);
        assert_eq!(table.rows, [["Euler FV", "3", "4", "fused", "2.500e-6", "5.000e-6"]]);
    }

    #[test]
    fn the_crossover_is_the_k_from_which_on_the_device_stays_faster() {
        let (mut host, mut device) = (sample::cpu(), sample::gpu(1));
        for (k, on_host, on_device) in [(1, 1.0, 3.0), (2, 2.0, 1.9), (4, 4.0, 4.1), (8, 8.0, 4.2)]
        {
            add(&mut host, k, on_host, on_host);
            add(&mut device, k, on_device, 9.0);
        }
        device.rows.iter_mut().for_each(|row| row.run += host.runs.len());
        host.rows.extend(device.rows);
        host.runs.extend(device.runs);
        let table = crossover(&host);
        assert_eq!(table.rows, [["Euler FV", "3", "8", "none"]]);
    }
}

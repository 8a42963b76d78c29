//! Tables IV and V of Ewart and Araya-Polo (2026): below the run, by kernel.

use super::{Column, Table};
use crate::figures::{percent, rate, shape, significant};
use crate::machines::{Machine, machines, version};
use crate::results::{Measured, Results, Row, median, spread};

/// Rows of machines with figures, each with what names it.
fn named<'a>(machines: &[Machine<'a>]) -> Vec<(String, &'a Row, &'a Measured)> {
    let mut all = Vec::new();
    for machine in machines {
        for (row, measured) in machine.measured() {
            let on =
                if machines.len() > 1 { format!(", {}", machine.label) } else { String::new() };
            let what = format!(
                "{} {} {} {}{on}",
                version(row),
                shape(row.case.shape),
                row.case.boundary.name(),
                row.case.start
            );
            all.push((what, row, measured));
        }
    }
    all
}

/// Table IV: intensity, operations, traffic and time of each kind of kernel.
pub(super) fn kernels(results: &Results) -> Table {
    let figure =
        |group: &str| [Column::number("median").under(group), Column::number("±").under(group)];
    let mut columns = vec![
        Column::words("Version"),
        Column::words("Kernel"),
        Column::number("AI [FLOPs/B]")
            .about("Operations over the least bytes that the kernel must move."),
    ];
    columns.extend(figure("Perf [GFLOPs/s]"));
    columns.extend(figure("BW [GB/s]"));
    columns.extend(figure("Time [ms]"));
    let mut rows = Vec::new();
    for (what, _, measured) in named(&machines(results)) {
        for kernel in measured.stepping() {
            let seconds = median(&kernel.seconds);
            // Half the quartiles' distance of a rate is, to first order, that of the time.
            let part = spread(&kernel.seconds);
            let with = |value: f64, digits| {
                let around = if value.is_finite() { value * part } else { f64::NAN };
                [significant(value, digits), significant(around, 2)]
            };
            let mut cells = vec![
                what.clone(),
                kernel.name.clone(),
                significant(kernel.flops_per_step / kernel.bytes_per_step, 4),
            ];
            cells.extend(with(kernel.flops_per_step / seconds / 1e9, 4));
            cells.extend(with(kernel.bytes_per_step / seconds / 1e9, 4));
            cells.extend(with(1e3 * seconds, 4));
            rows.push(cells);
        }
    }
    Table {
        title: "Table IV: roofline metrics by kernel".into(),
        columns,
        rows,
        notes: vec![
            "AI and BW are of the least traffic, not of counted bytes. Time is of a step. ± is half the \
             distance between the quartiles; the paper gives means and standard deviations."
                .into(),
        ],
    }
}

/// Table V: what a profiler counted.
pub(super) fn counters(results: &Results) -> Table {
    let names = [
        "Time [ms]",
        "DRAM Rd [GB]",
        "DRAM Wr [GB]",
        "L2 Rd [GB]",
        "L1 Rd [GB]",
        "L2 hit [%]",
        "L1 hit [%]",
    ];
    let mut columns = vec![Column::words("Version"), Column::words("Kernel")];
    columns.extend(names.map(Column::number));
    columns.push(Column::words("Tool"));
    let gb = |bytes: Option<f64>| bytes.map_or_else(|| "n/a".to_owned(), |b| rate(b / 1e9));
    let part = |part: Option<f64>| part.map_or_else(|| "n/a".to_owned(), percent);
    let mut rows = Vec::new();
    for (what, _, measured) in named(&machines(results)) {
        for counted in &measured.counters {
            let time = counted.milliseconds;
            rows.push(vec![
                what.clone(),
                counted.kernel.clone(),
                time.map_or_else(|| "n/a".to_owned(), |ms| significant(ms, 4)),
                gb(counted.dram_read),
                gb(counted.dram_written),
                gb(counted.l2_read),
                gb(counted.l1_read),
                part(counted.l2_hit),
                part(counted.l1_hit),
                counted.tool.clone(),
            ]);
        }
    }
    Table {
        title: "Table V: memory hierarchy by kernel".into(),
        columns,
        rows,
        notes: vec![
            "Per launch. n/a: the profiler does not count it, or may not be used here.".into(),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Counters, Outcome};
    use crate::sample;
    use temblor_backend::KernelTime;

    fn header(table: &Table) -> Vec<String> {
        table.columns.iter().map(Column::full).collect()
    }

    fn with(edit: impl Fn(&mut Measured)) -> Results {
        let mut results = sample::cpu();
        results.rows.truncate(1);
        if let Outcome::Measured(measured) = &mut results.rows[0].outcome {
            edit(measured);
        }
        results
    }

    #[test]
    fn table_four_gives_intensity_rates_and_time_of_each_kernel() {
        // 1e9 nodes of 33 flop and 16 B in 10 ms: 3300 GFLOP/s, 1600 GB/s, 2.0625 flop/B. Quartiles
        // of the samples are 9 and 11 ms: half their distance is a tenth of the median.
        let results = with(|measured| {
            measured.kernels = vec![KernelTime {
                name: "interior".into(),
                points: 1_000_000_000,
                bytes_per_step: 16e9,
                flops_per_step: 33e9,
                seconds: vec![0.008, 0.009, 0.010, 0.011, 0.012],
            }];
        });
        let table = kernels(&results);
        let wanted = [
            "Version",
            "Kernel",
            "AI [FLOPs/B]",
            "Perf [GFLOPs/s] median",
            "Perf [GFLOPs/s] ±",
            "BW [GB/s] median",
            "BW [GB/s] ±",
            "Time [ms] median",
            "Time [ms] ±",
        ];
        assert_eq!(header(&table), wanted);
        assert_eq!(table.rows.len(), 1);
        assert_eq!(table.rows[0][1], "interior");
        assert_eq!(table.rows[0][2..], ["2.062", "3300", "330", "1600", "160", "10.00", "1.0"]);
    }

    #[test]
    fn counters_that_are_missing_are_not_available_rather_than_zero() {
        let results = with(|measured| {
            measured.counters = vec![Counters {
                kernel: "interior".into(),
                tool: "perf may not be used: perf_event_paranoid is 3".into(),
                milliseconds: None,
                dram_read: Some(5.9e9),
                dram_written: None,
                l2_read: None,
                l2_to_sm: None,
                l1_read: None,
                l2_hit: Some(0.735),
                l1_hit: None,
            }];
        });
        let table = counters(&results);
        let wanted = ["n/a", "5.90", "n/a", "n/a", "n/a", "73.5", "n/a"];
        assert_eq!(table.rows[0][2..9], wanted);
        assert!(table.rows[0][9].contains("perf_event_paranoid"));
    }
}

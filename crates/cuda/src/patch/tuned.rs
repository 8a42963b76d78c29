//! Fastest schedules as measured, by `patch_rates`.

use temblor_patch::Kernel;

/// A measured choice.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Row {
    /// Part of the device's name.
    device: &'static str,
    /// Name of the kernel, which holds physics, scheme, dimension and patch size.
    kernel: &'static str,
    /// Schedule.
    pub(super) schedule: &'static str,
    /// Its rate, Gcell/s.
    gcells: f64,
}

/// A row of an H200 (driver 580.159.04, CUDA 13.0, 2026-11-30, `patch_rates`).
const fn h200(kernel: &'static str, schedule: &'static str, gcells: f64) -> Row {
    Row { device: "H200", kernel, schedule, gcells }
}

/// Rows in any order; of two for one kernel the faster holds.
const ROWS: &[Row] = &[
    h200("euler_rusanov_d3_p3", "bulk-t256-b3-r28", 9.245),
    h200("euler_rusanov_d3_p6", "bulk-t256-b4-r24", 17.63),
    h200("euler_rusanov_d3_p16", "bulk-t256-b3-r28-z2", 22.95),
    h200("euler_fd4_d3_p6", "direct-t256-b3-r28", 9.154),
    h200("euler_fd4_d3_p16", "flat-t256-b3-r28", 13.94),
    h200("ccz4_rusanov_d3_p6", "direct-t256-r88-oe-g4", 0.511),
    h200("ccz4_fd4_d3_p6", "flat-t128-b2-r88-od-g2", 0.651),
    h200("ccz4_fd4_d3_p16", "flat-t128-b2-r88-od-g2", 0.943),
];

/// The row of a kernel on a device.
pub(super) fn find(device: &str, kernel: &Kernel) -> Option<Row> {
    let fits = |row: &&Row| device.contains(row.device) && row.kernel == kernel.name;
    let single = kernel.stages.len() == 1;
    let rows = ROWS.iter().filter(fits).filter(|_| single);
    rows.max_by(|a, b| a.gcells.total_cmp(&b.gcells)).copied()
}

#[cfg(test)]
mod tests {
    use temblor_patch::emit::gpu::Schedule;

    use super::*;

    #[test]
    fn every_row_names_a_schedule() {
        assert!(ROWS.iter().all(|row| Schedule::parse(row.schedule).is_ok() && row.gcells > 0.0));
    }
}

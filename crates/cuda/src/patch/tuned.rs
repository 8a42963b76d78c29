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
    // bulk-t256-b3-r28: 8.65 in the same run, direct-t224-b3-r28-l8 9.16.
    h200("euler_rusanov_d3_p3", "flat-t256-b3-r28-l8", 9.629),
    h200("euler_rusanov_d3_p6", "bulk-t256-b4-r24", 17.63),
    h200("euler_rusanov_d3_p16", "bulk-t256-b3-r28-z2", 22.95),
    // Without -l 3.74 to 3.76, -l8 6.64, -l4 5.76.
    h200("euler_fd4_d3_p3", "flat-t256-b3-r28-l32", 7.205),
    // direct-t256-b3-r28 8.18 in the same run, -l4 9.12, direct-t288-b3-r28-l8 7.60.
    h200("euler_fd4_d3_p6", "flat-t256-b3-r28-l8", 10.10),
    h200("euler_fd4_d3_p16", "flat-t256-b3-r28", 13.94),
    h200("ccz4_rusanov_d3_p6", "direct-t256-r88-oe-g4", 0.511),
    // Without -l 0.290, -l4 0.506, in one group 0.359.
    h200("ccz4_fd4_d3_p3", "flat-t128-b2-r88-od-g2-l8", 0.601),
    // Without -l 0.631 in the same run.
    h200("ccz4_fd4_d3_p6", "flat-t128-b2-r88-od-g2-l8", 0.762),
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

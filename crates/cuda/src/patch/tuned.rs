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

/// Rows in any order; of two for one kernel the faster holds.
const ROWS: &[Row] = &[];

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

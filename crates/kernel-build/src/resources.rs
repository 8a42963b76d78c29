//! Registers, spills and shared memory of every kernel, read from what `ptxas -v` prints.

use serde::{Deserialize, Serialize};

/// What the assembler reports for one kernel on one architecture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resources {
    /// Source file without its extension.
    pub file: String,
    /// Entry point, as mangled.
    pub kernel: String,
    /// Architecture, such as `sm_90a`.
    pub arch: String,
    /// Registers per thread.
    pub registers: u32,
    /// Bytes of spill stores.
    pub spill_stores: u32,
    /// Bytes of spill loads.
    pub spill_loads: u32,
    /// Bytes of stack frame.
    pub stack: u32,
    /// Bytes of static shared memory.
    pub shared: u32,
}

/// Reads the assembler's log of `file`.
#[must_use]
pub fn parse(file: &str, log: &str) -> Vec<Resources> {
    let mut found = Vec::new();
    let mut current: Option<Resources> = None;
    for line in log.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            let mut parts = rest.split('\'');
            let kernel = parts.next().unwrap_or_default().to_owned();
            let arch = parts.nth(1).unwrap_or_default().to_owned();
            current = Some(Resources {
                file: file.to_owned(),
                kernel,
                arch,
                registers: 0,
                spill_stores: 0,
                spill_loads: 0,
                stack: 0,
                shared: 0,
            });
        } else if let Some(entry) = current.as_mut() {
            if line.contains("bytes stack frame") {
                entry.stack = number_before(line, " bytes stack frame");
                entry.spill_stores = number_before(line, " bytes spill stores");
                entry.spill_loads = number_before(line, " bytes spill loads");
            } else if line.contains("Used ") {
                entry.registers = number_before(line, " registers");
                entry.shared = number_before(line, " bytes smem");
                found.extend(current.take());
            }
        }
    }
    found
}

fn number_before(line: &str, unit: &str) -> u32 {
    line.split_once(unit)
        .and_then(|(before, _)| before.rsplit(|c: char| !c.is_ascii_digit()).next()?.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_of_one_kernel_is_read() {
        let log = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'step_r4' for 'sm_90a'
ptxas info    : Function properties for step_r4
    16 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 98 registers, used 1 barriers, 2056 bytes smem, 600 bytes cmem[0]
";
        let found = parse("a", log);
        assert_eq!(found.len(), 1);
        let entry = &found[0];
        assert_eq!((entry.kernel.as_str(), entry.arch.as_str()), ("step_r4", "sm_90a"));
        assert_eq!((entry.registers, entry.shared, entry.stack), (98, 2056, 16));
        assert_eq!((entry.spill_stores, entry.spill_loads), (8, 4));
    }
}

//! How a kernel's voxels are dealt out to threads, by a name that says it.
//!
//! `direct-t256-b2-r100-g3`: a way, then what differs from its defaults. Ways:
//! - `tile`: the whole chunk of a patch is copied into shared memory, a thread per voxel reads there;
//! - `bulk`: the same, copied by the bulk copy engine (`sm_90` and newer);
//! - `direct`: threads read neighbours from global memory; a block owns whole patches;
//! - `flat`: as `direct`, with the voxels of all patches in one row, so that no thread idles;
//! - `unfused`: a kernel per stage with temporaries in global memory, the baseline.

use crate::emit::gpu::order::Order;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Output};

/// Way of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Way {
    /// Chunk in shared memory, copied by the threads.
    Tile,
    /// Chunk in shared memory, copied in bulk.
    Bulk,
    /// Whole patches per block, read from global memory.
    Direct,
    /// Voxels in a row.
    Flat,
    /// A kernel per stage.
    Unfused,
}

/// A schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Schedule {
    /// Way.
    pub way: Way,
    /// Threads of a block at most (`t`).
    pub threads: u32,
    /// Blocks that a multiprocessor should hold at least (`b`): bounds the registers.
    pub blocks: u32,
    /// Values that a thread keeps in registers (`r`), the rest waits in shared memory; 0: all.
    pub values: u32,
    /// Groups of outputs, each computed by threads of its own (`g`).
    pub groups: u32,
    /// Whether the blocks of a group follow each other instead of those of a patch (`s`).
    pub sweep: bool,
    /// Whether divisions and roots that neighbours need too are computed once per voxel of the tile
    /// (`p`); of `tile` and `bulk`.
    pub share: bool,
    /// Planes of a tile (`z`), of `tile` and `bulk` in three dimensions; 0: the whole patch.
    pub planes: u32,
    /// Patches that lie side by side where they stay on the device (`l`), of `direct` and `flat`.
    pub lanes: u32,
    /// Order of a voxel's program (`ob`, `oe`, `od`, `og`); none: the one with the fewest moves.
    pub order: Option<Order>,
}

impl Schedule {
    /// A way with its defaults.
    #[must_use]
    pub const fn new(way: Way) -> Self {
        let threads = 256;
        Self {
            way,
            threads,
            blocks: 1,
            values: 0,
            groups: 1,
            sweep: false,
            share: false,
            planes: 0,
            lanes: 1,
            order: None,
        }
    }

    /// Reads a name.
    ///
    /// # Errors
    /// [`Error::Mismatch`] that says what names are.
    pub fn parse(name: &str) -> Result<Self> {
        let wrong = || {
            Error::Mismatch(format!(
                "there is no schedule `{name}`: a name is tile, bulk, direct, flat or unfused, then \
                 any of -tN (threads), -bN (blocks per multiprocessor), -rN (values in registers), \
                 -gN (groups of outputs), -s (groups one after the other), -zN (planes of a tile), -p (points shared, of \
                 tile and bulk), -lN (patches side by side: 2, 4, 8, 16 or 32, of direct and flat), -ob, -oe, -od, -og (order), \
                 such as direct-t128-b2-r100"
            ))
        };
        let mut parts = name.split('-');
        let mut schedule = Self::new(match parts.next() {
            Some("tile") => Way::Tile,
            Some("bulk") => Way::Bulk,
            Some("direct") => Way::Direct,
            Some("flat") => Way::Flat,
            Some("unfused") => Way::Unfused,
            _ => return Err(wrong()),
        });
        for part in parts {
            match part {
                "s" => schedule.sweep = true,
                "p" if matches!(schedule.way, Way::Tile | Way::Bulk) => schedule.share = true,
                "ob" => schedule.order = Some(Order::Built),
                "oe" => schedule.order = Some(Order::Eager),
                "od" => schedule.order = Some(Order::Depth),
                "og" => schedule.order = Some(Order::Greedy),
                _ => {
                    let number = part.get(1..).and_then(|n| n.parse::<u32>().ok());
                    let number = number.filter(|&n| n > 0).ok_or_else(wrong)?;
                    match part.as_bytes()[0] {
                        b't' if number <= 1024 => schedule.threads = number,
                        b'b' if number <= 32 => schedule.blocks = number,
                        b'r' if number >= 8 => schedule.values = number,
                        b'z' if number <= 1024 => schedule.planes = number,
                        b'g' if number <= 64 => schedule.groups = number,
                        b'l' if number <= 32 && number.is_power_of_two() => schedule.lanes = number,
                        _ => return Err(wrong()),
                    }
                }
            }
        }
        Ok(schedule)
    }
}

/// Schedules worth trying for a kernel on a card with so much shared memory per block, preferred
/// first.
#[must_use]
pub fn candidates(kernel: &Kernel, shared: usize, bulk: bool) -> Vec<String> {
    if kernel.stages.len() != 1 {
        return names(&["unfused"]);
    }
    let heavy = kernel.graph.flops(&kernel.stages[0].outputs()).total() > 1500;
    let mut whole = alone(kernel, heavy, shared, bulk);
    let mut beside = beside(kernel, heavy);
    // Halos as wide as the patch: most of what rows of memory deliver would be corners. On an H200
    // fd4 takes 0.5 (Euler, CCZ4, p = 3) and 0.8 (p = 6) of the time of the best without.
    if 2 * kernel.shape.halo >= kernel.shape.cells {
        beside.append(&mut whole);
        return beside;
    }
    whole.append(&mut beside);
    whole
}

fn names(list: &[&str]) -> Vec<String> {
    list.iter().map(|&name| name.to_owned()).collect()
}

/// Schedules with patches side by side, for rows of less than 64 bytes.
fn beside(kernel: &Kernel, heavy: bool) -> Vec<String> {
    if kernel.shape.cells >= 8 {
        return Vec::new();
    }
    names(match (heavy, kernel.shape.output) {
        (true, Output::Rate) => {
            &["flat-t128-b2-r88-od-g2-l8", "flat-t128-b2-r88-od-g2-l32", "flat-t128-b2-r84-od-l8"]
        }
        (true, Output::Step) => &["flat-t128-b2-r88-oe-g4-l8", "flat-t128-b2-r88-oe-g4-l32"],
        (false, _) => &["flat-t256-b3-r28-l8", "flat-t256-b3-r28-l32", "direct-t224-b3-r28-l8"],
    })
}

/// Schedules with patches one after the other.
fn alone(kernel: &Kernel, heavy: bool, shared: usize, bulk: bool) -> Vec<String> {
    match (heavy, kernel.shape.output) {
        // Registers and spills as NVRTC 13.0 reports them for sm_90 and CCZ4, p = 6.
        // Without -r any way spills hundreds of bytes; -b4-og 800, -b3-r56-g3 64, -b3-r50-g2 40.
        (true, Output::Rate) => names(&[
            "flat-t128-b2-r84-od",
            "flat-t128-b4-r40-od-g4",
            "flat-t128-b3-r54-od-g4",
            "flat-t128-b2-r90-od-g4",
            "flat-t128-b2-r88-od-g2",
            "flat-t128-b4-r36-od-g6",
            "flat-t128-b4-r40-od-g4-s",
            "flat-t64-b4-r84-od",
            "flat-t256-r84-od",
            "direct-t256-r84-od",
        ]),
        // Sums over faces: -b2-r80 in one group spills 60 bytes, -b3-r54-g4 24, -b3-r44-g6 8,
        // -b4-r38-g6 56.
        (true, Output::Step) => names(&[
            "flat-t128-b2-r88-oe-g4",
            "flat-t128-b3-r48-oe-g4",
            "flat-t128-b2-r80-oe-g3",
            "flat-t128-b2-r72-oe-g2",
            "flat-t128-b2-r88-oe-g4-s",
            "flat-t128-b3-r40-oe-g6",
            "flat-t64-b4-r88-oe-g4",
            "direct-t256-r88-oe-g4",
            "flat-t128-b2-r56-oe",
        ]),
        (false, _) => {
            // With 64 registers (t256-b4) r20 spills 28 bytes in large patches, r18 still 8.
            let mut list = names(&[
                "flat-t256-b3-r28",
                "direct-t256-b4-r18",
                "flat-t256-b4-r16",
                "flat-t128-b8-r18",
                "direct-t256-b3-r28",
                "direct-t512-b2-r18",
            ]);
            let tile = 8 * kernel.shape.input_len();
            // Tiles beside the columns of a block: as many blocks as fit.
            let fits = |blocks: usize| blocks * (tile + (26 << 10)) <= shared;
            let tiles: &[(usize, &str)] = &[
                (4, "-t256-b4-r24-p"),
                (3, "-t256-b3-r28-p"),
                (2, "-t256-b2-r44-p"),
                (4, "-t256-b4-r24"),
                (3, "-t256-b3-r28"),
                (2, "-t256-b2-r44"),
                (2, "-t512-b2-r24-p"),
            ];
            // Copied by the threads, tiles are kept for cards without the bulk copy engine.
            let ways: &[(&str, usize)] =
                if bulk { &[("bulk", 7), ("tile", 1)] } else { &[("tile", 7)] };
            let mut front = Vec::new();
            for &(way, count) in ways {
                let rest = tiles.iter().filter(|(blocks, _)| fits(*blocks)).take(count);
                front.extend(rest.map(|(_, rest)| format!("{way}{rest}")));
            }
            // Where few tiles fit, reading through the cache is tried first.
            if fits(4) {
                front.append(&mut list);
                return front;
            }
            list.append(&mut front);
            // Large patches by slabs: the halo planes are read again, from the second-level cache.
            let shape = &kernel.shape;
            let wide = usize::from(shape.cells + 2 * shape.halo);
            let plane = 8 * wide * wide * (shape.width() + 3);
            let slabs: &[(usize, usize, &str)] = &[
                (3, 1, "-t256-b3-r28-z1-p"),
                (2, 2, "-t256-b2-r44-z2-p"),
                (1, 4, "-t1024-b1-r20-z4-p"),
                (3, 2, "-t256-b3-r28-z2"),
                (1, 4, "-t1024-b1-r20-z4"),
            ];
            for &(blocks, planes, rest) in slabs {
                let high = planes + 2 * usize::from(shape.halo);
                let divides = usize::from(shape.cells).is_multiple_of(planes);
                let large = shape.dimensions == 3 && shape.cells >= 12;
                if large && divides && blocks * high * plane <= shared + (24 << 10) {
                    list.push(format!("{}{rest}", ways[0].0));
                }
            }
            list
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_what_it_changes() {
        let schedule = Schedule::parse("flat-t128-b2-r96-g3-s-od").unwrap();
        assert_eq!(schedule.way, Way::Flat);
        assert_eq!((schedule.threads, schedule.blocks, schedule.values), (128, 2, 96));
        assert_eq!((schedule.groups, schedule.sweep), (3, true));
        assert_eq!(schedule.order, Some(Order::Depth));
        for wrong in [
            "",
            "fast",
            "tile-x3",
            "tile-t0",
            "tile-t",
            "direct-t4096",
            "flat-l3",
            "flat-l64",
            "tile-\u{e9}",
        ] {
            let error = Schedule::parse(wrong).unwrap_err().to_string();
            assert!(error.contains("direct-t128-b2-r100"), "{error}");
        }
    }

    #[test]
    fn every_candidate_has_a_name_that_can_be_read() {
        for (p, fused) in [(3, true), (6, true), (16, true), (6, false)] {
            let kernel = crate::sample::euler_rusanov(3, p, fused);
            let list = candidates(&kernel, 232_448, true);
            assert!(list.iter().all(|name| Schedule::parse(name).is_ok()), "{list:?}");
            assert_eq!(list[0] == "unfused", !fused);
        }
    }
}

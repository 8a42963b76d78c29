//! Traces on a lattice of two numbers: where each is, and where the lattice lies in the plane.

use super::super::reader::Headers;
use super::super::{RawTraceHeader, SegyReader};
use super::CubeAxis;
use super::scan::{Keys, Pair, Scan};
use crate::{Error, Result};

/// Missing nodes that are named.
const NAMED: usize = 3;
/// What coordinates may be off the lattice by, beside their rounding, in steps of it.
const OFF: f64 = 1e-3;

/// A lattice, complete and without repeats.
#[derive(Debug)]
pub(super) struct Lattice {
    pub(super) axes: [CubeAxis; 2],
    /// The slow axis in the file's order; `None` if there is no order.
    pub(super) slow: Option<usize>,
    /// Way in the plane from node to node along each axis, m; zero if coordinates do not say.
    pub(super) steps: [[f64; 2]; 2],
    corner: [f64; 2],
    /// Half a unit of the coordinates, m.
    pub(super) rounding: f64,
    order: Order,
}

#[derive(Debug)]
enum Order {
    /// Node after node along the fast axis, then the slow one; `true` for from the last to the first.
    Regular { slow: usize, reversed: [bool; 2] },
    /// The trace of each node, second axis fastest.
    Listed(Vec<u64>),
}

impl Lattice {
    pub(super) fn new(
        reader: &SegyReader,
        scan: &Scan,
        keys: Keys,
        place: Option<Pair>,
    ) -> Result<Self> {
        let axes = scan.axes(keys, reader.traces());
        let axes = axes.map(|(field, first, step, count)| CubeAxis { field, first, step, count });
        let nodes = axes[0].count.checked_mul(axes[1].count);
        let complete = nodes.is_some_and(|nodes| nodes as u64 == reader.traces());
        let mut lattice = Self {
            axes,
            slow: None,
            steps: [[0.0; 2]; 2],
            corner: [0.0; 2],
            rounding: 0.0,
            order: Order::Listed(Vec::new()),
        };
        if !complete {
            return Err(lattice.irregular(reader, scan, keys)?);
        }
        if let Some(order) = lattice.guess(reader, scan, keys)? {
            lattice.order = order;
            lattice.lie(reader, scan, place)?;
            if lattice.verify(reader, scan, keys, place)? {
                if let Order::Regular { slow, .. } = lattice.order {
                    lattice.slow = Some(slow);
                }
                return Ok(lattice);
            }
        }
        lattice.list(reader, scan, keys)?;
        lattice.lie(reader, scan, place)?;
        lattice.verify(reader, scan, keys, place)?;
        Ok(lattice)
    }

    /// The trace of a node.
    pub(super) fn trace(&self, node: [usize; 2]) -> u64 {
        match &self.order {
            Order::Regular { slow, reversed } => {
                let at = |axis: usize| {
                    if reversed[axis] { self.axes[axis].count - 1 - node[axis] } else { node[axis] }
                };
                (at(*slow) * self.axes[1 - slow].count + at(1 - slow)) as u64
            }
            Order::Listed(traces) => traces[node[0] * self.axes[1].count + node[1]],
        }
    }

    /// Coordinates of the corner from which flipped axes run, m.
    pub(super) fn corner(&self, flipped: [bool; 2]) -> [f64; 2] {
        let node = [0, 1].map(|a| if flipped[a] { self.axes[a].count - 1 } else { 0 });
        self.position(node)
    }

    fn position(&self, node: [usize; 2]) -> [f64; 2] {
        [0, 1].map(|k| {
            self.corner[k] + self.steps[0][k] * node[0] as f64 + self.steps[1][k] * node[1] as f64
        })
    }

    /// The node of two numbers, if they are on the lattice.
    fn node(&self, numbers: [i64; 2]) -> Option<[usize; 2]> {
        let at = |a: usize| {
            let axis = &self.axes[a];
            let way = numbers[a].checked_sub(axis.first)?;
            let node = usize::try_from(way / axis.step).ok()?;
            (way % axis.step == 0 && node < axis.count).then_some(node)
        };
        Some([at(0)?, at(1)?])
    }

    /// An order that the first two traces and the last suggest.
    fn guess(&self, reader: &SegyReader, scan: &Scan, keys: Keys) -> Result<Option<Order>> {
        let last = reader.traces() - 1;
        let node = |trace: u64| -> Result<Option<[usize; 2]>> {
            Ok(self.node(scan.place(keys, trace, &reader.header(trace)?)))
        };
        let (Some(first), Some(second)) = (node(0)?, node(1.min(last))?) else { return Ok(None) };
        let slow = usize::from(first[0] != second[0]);
        let reversed = [0, 1].map(|a| self.axes[a].count > 1 && first[a] > 0);
        Ok(Some(Order::Regular { slow, reversed }))
    }

    /// Lists the traces of all nodes; an error if one has two.
    fn list(&mut self, reader: &SegyReader, scan: &Scan, keys: Keys) -> Result<()> {
        const NONE: u64 = u64::MAX;
        let mut traces = vec![NONE; self.axes[0].count * self.axes[1].count];
        reader.scan(|trace, raw| {
            let numbers = scan.place(keys, trace, raw);
            let Some(node) = self.node(numbers) else { return Ok(()) };
            let slot = &mut traces[node[0] * self.axes[1].count + node[1]];
            if *slot != NONE {
                return Err(self.repeated(reader, trace, *slot, numbers));
            }
            *slot = trace;
            Ok(())
        })?;
        // As many traces as nodes and none twice: all are there.
        self.order = Order::Listed(traces);
        self.slow = None;
        Ok(())
    }

    /// Where the lattice lies, from three corners.
    fn lie(&mut self, reader: &SegyReader, scan: &Scan, place: Option<Pair>) -> Result<()> {
        let Some(pair) = place else { return Ok(()) };
        let corner = |node: [usize; 2]| -> Result<([f64; 2], f64)> {
            let trace = self.trace(node);
            let extensions = reader.header_extensions(trace)?;
            let raw = reader.header(trace)?;
            let headers = Headers { raw: &raw, extension: extensions.first_chunk() };
            Ok((scan.position(reader, pair, &headers), scan.rounding(pair, &headers)))
        };
        let [n, m] = [self.axes[0].count, self.axes[1].count];
        let ends = [corner([0, 0])?, corner([n - 1, 0])?, corner([0, m - 1])?];
        let [zero, one, two] = ends.map(|(place, _)| place);
        let step = |end: [f64; 2], count: usize| {
            [0, 1].map(|k| if count > 1 { (end[k] - zero[k]) / (count - 1) as f64 } else { 0.0 })
        };
        self.steps = [step(one, n), step(two, m)];
        self.corner = zero;
        // Where one has doubles all have: zero in a double is no number there.
        self.rounding = ends.iter().map(|(_, rounding)| *rounding).fold(f64::INFINITY, f64::min);
        Ok(())
    }

    /// Looks whether all traces are where they should be: `false` if not in the order, an error if
    /// not in the plane.
    fn verify(
        &self,
        reader: &SegyReader,
        scan: &Scan,
        keys: Keys,
        place: Option<Pair>,
    ) -> Result<bool> {
        let mut ordered = true;
        // Coordinates are judged only if numbers are as expected, since the corners follow from them.
        let mut off = None;
        reader.scan_headers(|trace, headers| {
            let Some(node) = self.node(scan.place(keys, trace, headers.raw)) else {
                ordered = false;
                return Ok(());
            };
            ordered &= self.trace(node) == trace;
            if let (Some(pair), true, None) = (place, ordered, &off) {
                let (found, wanted) = (scan.position(reader, pair, headers), self.position(node));
                let way = (found[0] - wanted[0]).hypot(found[1] - wanted[1]);
                let step = |axis: usize| self.steps[axis][0].hypot(self.steps[axis][1]);
                let allowed = 4.0 * scan.rounding(pair, headers) + OFF * step(0).max(step(1));
                if way > allowed {
                    off = Some((trace, found, wanted));
                }
            }
            Ok(())
        })?;
        match off {
            Some((trace, found, wanted)) if ordered => {
                let what = format!(
                    "it lies at ({}, {}) m, the grid through the corners at ({}, {}) m",
                    found[0], found[1], wanted[0], wanted[1]
                );
                let remedy = "resample the model onto a regular grid, or name other header fields";
                Err(reader.trace_error(trace, what, remedy))
            }
            _ => Ok(ordered),
        }
    }

    fn numbers(&self, node: [usize; 2]) -> [i64; 2] {
        [0, 1].map(|a| {
            let axis = &self.axes[a];
            axis.first + axis.step * i64::try_from(node[a]).unwrap_or(i64::MAX)
        })
    }

    fn named(&self, numbers: [i64; 2]) -> String {
        let [a, b] = &self.axes;
        match b.field {
            "line" => format!("{} {}", a.field, numbers[0]),
            _ => format!("{} {}, {} {}", a.field, numbers[0], b.field, numbers[1]),
        }
    }

    fn repeated(&self, reader: &SegyReader, trace: u64, before: u64, numbers: [i64; 2]) -> Error {
        let what = format!("{} is that of trace {} already", self.named(numbers), before + 1);
        let remedy = "a model has one column per place: remove one, or name other header fields";
        reader.trace_error(trace, what, remedy)
    }

    /// Why the traces are not a lattice, with the first that show it.
    fn irregular(&self, reader: &SegyReader, scan: &Scan, keys: Keys) -> Result<Error> {
        let jumps = scan.jumps(keys);
        let [a, b] = &self.axes;
        let mut first = None;
        let mut off_step = None;
        let nodes = a.count.saturating_mul(b.count);
        // A bit per node, unless the lattice is absurd.
        let traces = usize::try_from(reader.traces()).unwrap_or(usize::MAX);
        let listed = nodes <= traces.saturating_mul(8);
        let mut seen = vec![0_u8; if listed { nodes.div_ceil(8) } else { 0 }];
        let mut repeat = None;
        reader.scan(|trace, raw| {
            let numbers = scan.place(keys, trace, raw);
            let start = *first.get_or_insert(numbers);
            let off =
                |k: usize| jumps[k] > 1 && (numbers[k].wrapping_sub(start[k])) % jumps[k] != 0;
            if off_step.is_none() && (off(0) || off(1)) {
                off_step = Some((trace, numbers));
            }
            if let (true, Some([i, j])) = (listed, self.node(numbers)) {
                let bit = i * b.count + j;
                if repeat.is_none() && seen[bit / 8] >> (bit % 8) & 1 == 1 {
                    repeat = Some((trace, numbers));
                }
                seen[bit / 8] |= 1 << (bit % 8);
            }
            Ok(())
        })?;
        if let Some((trace, numbers)) = repeat {
            let same = |n: u64, raw: &RawTraceHeader| scan.place(keys, n, raw) == numbers;
            let before = reader.find(same)?.first().copied().unwrap_or(trace);
            return Ok(self.repeated(reader, trace, before, numbers));
        }
        if let Some((trace, numbers)) = off_step {
            let what = format!(
                "{} is not on the grid that the first traces begin, steps {} and {}",
                self.named(numbers),
                jumps[0],
                jumps[1]
            );
            let remedy = "resample the model onto a regular grid, or name other header fields";
            return Ok(reader.trace_error(trace, what, remedy));
        }
        let missing: Vec<String> = (0..if listed { nodes } else { 0 })
            .filter(|bit| seen[bit / 8] >> (bit % 8) & 1 == 0)
            .take(NAMED)
            .map(|bit| self.named(self.numbers([bit / b.count, bit % b.count])))
            .collect();
        let got = format!(
            "{} for {} x {} nodes ({}, {})",
            reader.traces(),
            a.count,
            b.count,
            a.field,
            b.field
        );
        let remedy = if missing.is_empty() {
            "name the header fields that hold inline and crossline numbers".to_owned()
        } else {
            format!("there is no trace at {}: fill the gaps", missing.join("; "))
        };
        Ok(Error::invalid(reader.path(), "the number of traces", got, remedy))
    }
}

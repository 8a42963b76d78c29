//! The wave speed as c^2 dt^2 in singles, or as codes of two bytes.
//!
//! A code k stands for `c = least + k (largest - least) / 65535` with the range that the plan was
//! made with, so the error is at most half a step: 0.023 m/s for 1500 to 4500 m/s. c^2 dt^2 is
//! computed in FP32 where it is needed.

use temblor_backend::{Error, HostView, PlanOptions, Region, Result};
use temblor_physics::WaveProblem;

use super::codecs::Codec;
use super::packed::Words;
use crate::memory::AlignedVec;
use crate::tuned::fields::{node_without_c2, upload, upload_c2};
use crate::tuned::images::Images;
use crate::tuned::layers::to_f32;
use crate::tuned::layout::Layout;

/// The largest code.
const LARGEST: f64 = 65535.0;

/// Uploads may lie outside the range by this part of the largest speed: singles of doubles do.
const ROUNDING: f64 = 1e-6;

/// Wave speeds that a plan will be given, m/s.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::tuned) struct Range {
    least: f64,
    largest: f64,
}

impl Range {
    /// The range of a plan's options.
    ///
    /// # Errors
    /// [`Error::Invalid`] without one, or where it is none.
    pub(in crate::tuned) fn of(options: &PlanOptions) -> Result<Self> {
        let invalid = |what: String| Error::Invalid {
            what,
            remedy:
                "make the plan with PlanOptions::speeds(least, largest), the wave speeds of the \
                     model, m/s"
                    .into(),
        };
        let Some([least, largest]) = options.speeds else {
            return Err(invalid("a two-byte wave speed without the range of the model".into()));
        };
        if least > 0.0 && least <= largest && largest.is_finite() {
            Ok(Self { least, largest })
        } else {
            Err(invalid(format!("a range of wave speeds from {least} to {largest} m/s")))
        }
    }

    /// m/s from code to code; 0 where all speeds are the same.
    fn step(self) -> f64 {
        (self.largest - self.least) / LARGEST
    }

    /// The code of a speed, or `None` outside the range.
    fn code(self, speed: f64) -> Option<u16> {
        let slack = ROUNDING * self.largest;
        if !(speed >= self.least - slack && speed <= self.largest + slack) {
            return None;
        }
        let steps = (speed - self.least) / self.step();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in 0..=65535")]
        let code = if steps > 0.0 { steps.round_ties_even().min(LARGEST) as u16 } else { 0 };
        Some(code)
    }
}

/// See the module.
#[derive(Debug)]
pub(super) enum Speed {
    /// `c^2 dt^2` on all nodes, m^2.
    Singles(AlignedVec),
    /// Codes.
    Codes(Codes),
}

/// A two-byte wave speed.
#[derive(Debug)]
pub(super) struct Codes {
    codes: Words,
    range: Range,
    /// The least speed and the step, each times dt, m.
    moved: [f32; 2],
    /// A bit per node that was not set yet, rows of whole words; empty when all are set.
    unset: Vec<u32>,
    /// Nodes along z where p is held at zero.
    held: Vec<usize>,
}

/// Words of bits that the nodes of a row take.
const fn bit_words(layout: &Layout) -> usize {
    layout.shape[2].div_ceil(32)
}

/// Rows of the grid.
const fn rows(layout: &Layout) -> usize {
    layout.shape[0] * layout.shape[1]
}

impl Speed {
    /// Bytes that [`Speed::new`] allocates.
    pub(super) const fn bytes(codes: bool, layout: &Layout) -> u64 {
        let rows = rows(layout);
        if codes {
            Words::bytes(rows * layout.row) + (4 * rows * bit_words(layout)) as u64
        } else {
            AlignedVec::bytes(rows * layout.row)
        }
    }

    /// Unset on all nodes; codes if there is a range.
    pub(super) fn new(
        problem: &WaveProblem,
        range: Option<Range>,
        layout: &Layout,
        images: &Images,
    ) -> Self {
        let rows = rows(layout);
        let Some(range) = range else {
            return Self::Singles(AlignedVec::zeroed(rows * layout.row));
        };
        let moved = to_f32([range.least * problem.dt, range.step() * problem.dt]);
        let held = &images.held[2];
        Self::Codes(Codes {
            codes: Words::zeroed(rows * layout.row),
            range,
            moved: [moved[0], moved[1]],
            unset: vec![u32::MAX; rows * bit_words(layout)],
            held: (0..held.len()).filter(|&k| held[k]).collect(),
        })
    }

    /// Sets a part.
    ///
    /// # Errors
    /// [`Error::Invalid`] where codes cannot hold it; nothing has changed then.
    pub(super) fn upload(
        &mut self,
        dt: f64,
        layout: &Layout,
        images: &Images,
        region: &Region,
        host: &HostView<'_>,
    ) -> Result<()> {
        let Codes { codes, range, unset, .. } = match self {
            Self::Singles(c2) => {
                upload_c2(c2, dt, layout, images, region, host);
                return Ok(());
            }
            Self::Codes(codes) => codes,
        };
        let mut refused = None;
        upload(region, host, |node, speed| {
            if refused.is_none() && range.code(speed).is_none() && !images.held(node) {
                refused = Some((node, speed));
            }
        });
        if let Some((node, speed)) = refused {
            let Range { least, largest } = range;
            return Err(Error::Invalid {
                what: format!(
                    "a wave speed of {speed} m/s at node {node:?}, outside {least} to {largest} m/s"
                ),
                remedy: "make the plan with PlanOptions::speeds that hold the whole model".into(),
            });
        }
        let [_, ny, _] = layout.shape;
        upload(region, host, |[i, j, k], speed| {
            let row = i * ny + j;
            codes[row * layout.row + k] = range.code(speed).unwrap_or(0);
            if !unset.is_empty() {
                unset[row * bit_words(layout) + k / 32] &= !(1 << (k % 32));
            }
        });
        Ok(())
    }

    /// First node whose speed is not set.
    pub(super) fn unset_node(&mut self, layout: &Layout, images: &Images) -> Option<[usize; 3]> {
        let Codes { unset, .. } = match self {
            Self::Singles(c2) => return node_without_c2(c2, layout, images),
            Self::Codes(codes) => codes,
        };
        if unset.is_empty() {
            return None;
        }
        let [_, ny, nz] = layout.shape;
        for (row, bits) in unset.chunks_exact(bit_words(layout)).enumerate() {
            if bits.iter().all(|&word| word == 0) {
                continue;
            }
            let node = |k| [row / ny, row % ny, k];
            let is_unset = |k: &usize| bits[k / 32] >> (k % 32) & 1 == 1 && !images.held(node(*k));
            if let Some(k) = (0..nz).find(is_unset) {
                return Some(node(k));
            }
        }
        *unset = Vec::new();
        None
    }
}

impl Codes {
    /// c^2 dt^2 of row (i, j): zero past its last node and where p is held at zero.
    pub(super) fn read(
        &self,
        codec: &Codec,
        layout: &Layout,
        images: &Images,
        [i, j]: [usize; 2],
        c2: &mut [f32],
    ) {
        let [_, ny, nz] = layout.shape;
        if images.held[0][i] || images.held[1][j] {
            c2.fill(0.0);
            return;
        }
        let codes = &self.codes[(i * ny + j) * layout.row..][..layout.row];
        codec.decode_speed(codes, self.moved, c2);
        c2[nz..].fill(0.0);
        for &k in &self.held {
            c2[k] = 0.0;
        }
    }
}

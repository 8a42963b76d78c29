//! Numbers of a volume by their position in the order of the file, whatever stands between them.

use std::fs::File;
use std::path::Path;

use ndarray::Array1;

use crate::ascii::AsciiNumbers;
use crate::element::Real;
use crate::positioned::read_exact_at;
use crate::segy::cube::SegyCube;
use crate::su::SuReader;
use crate::{ByteOrder, Element, Error, Result};

/// Where numbers are.
#[derive(Debug)]
pub(crate) enum Store {
    /// One after the other from a byte on.
    Array { file: File, element: Element, order: ByteOrder, offset: u64 },
    /// As text.
    Ascii(AsciiNumbers),
    /// As traces.
    Su(Box<SuReader>),
    /// As columns of a SEG-Y cube, z fastest, then y.
    Segy(Box<SegyCube>),
}

impl Store {
    /// Reads numbers `begin..begin + out.len()`; `bytes` is a buffer that is kept between calls.
    pub(crate) fn read<R: Real>(
        &self,
        path: &Path,
        begin: u64,
        bytes: &mut Vec<u8>,
        out: &mut [R],
    ) -> Result<()> {
        match self {
            Self::Array { file, element, order, offset } => {
                let width = element.bytes();
                bytes.resize(out.len() * width, 0);
                read_exact_at(file, bytes, offset + begin * width as u64)
                    .map_err(|e| Error::io(path, "read", None, e))?;
                element.decode(*order, bytes, out);
                Ok(())
            }
            Self::Ascii(numbers) => numbers.read(begin, out),
            Self::Su(reader) => columns(reader.samples(), begin, out, |column, start, part| {
                reader.read_part(column, start, part)
            }),
            Self::Segy(cube) => {
                let [_, ny, nz] = cube.shape();
                let mut whole = Array1::zeros(nz);
                columns(nz, begin, out, |column, start, part| {
                    let column = usize::try_from(column).unwrap_or(usize::MAX);
                    cube.read_column(column / ny, column % ny, whole.view_mut())?;
                    let found = whole.iter().skip(start);
                    part.iter_mut().zip(found).for_each(|(to, &value)| *to = value);
                    Ok(())
                })
            }
        }
    }
}

/// Reads a span of numbers that lie in columns of `length`: `read` gets a column, where to start in
/// it, and what to fill.
fn columns<R: Real>(
    length: usize,
    begin: u64,
    out: &mut [R],
    mut read: impl FnMut(u64, usize, &mut [f32]) -> Result<()>,
) -> Result<()> {
    let mut single = Vec::new();
    let mut done = 0;
    while done < out.len() {
        let at = begin + done as u64;
        let start = usize::try_from(at % length as u64).unwrap_or(0);
        let count = (length - start).min(out.len() - done);
        single.resize(count, 0.0);
        read(at / length as u64, start, &mut single)?;
        for (to, &value) in out[done..done + count].iter_mut().zip(&single) {
            *to = R::of_f32(value);
        }
        done += count;
    }
    Ok(())
}

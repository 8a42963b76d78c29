//! An npy file of traces that grows shot by shot and can be gone on with.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use temblor_backend::tables::TraceSamples;
use temblor_io::{Element, npy};

/// A growing array of shape (trace, sample); its header says the final shape from the start.
#[derive(Debug)]
pub(super) struct NpyRows {
    file: BufWriter<File>,
    element: Element,
}

impl NpyRows {
    pub(super) fn create(
        path: &Path,
        element: Element,
        traces: usize,
        samples: usize,
    ) -> std::io::Result<Self> {
        let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
        file.write_all(&npy::header_bytes(element, &[traces, samples]))?;
        Ok(Self { file, element })
    }

    /// Goes on after `done` traces; what follows them is cut off.
    pub(super) fn resume(
        path: &Path,
        element: Element,
        traces: usize,
        samples: usize,
        done: u64,
    ) -> std::io::Result<Self> {
        let wanted = npy::header_bytes(element, &[traces, samples]);
        let mut file = OpenOptions::new().read(true).write(true).open(path)?;
        let mut found = vec![0; wanted.len()];
        let keep = wanted.len() as u64 + done * (samples * element.bytes()) as u64;
        let whole = file.metadata()?.len() >= keep;
        if !whole || file.read_exact(&mut found).is_err() || found != wanted {
            let message = "it is not what the journal says it is: remove both and start afresh";
            return Err(std::io::Error::other(message));
        }
        file.set_len(keep)?;
        file.seek(SeekFrom::Start(keep))?;
        Ok(Self { file: BufWriter::with_capacity(1 << 20, file), element })
    }

    pub(super) fn append(&mut self, samples: &TraceSamples) -> std::io::Result<()> {
        let same = matches!(
            (samples, self.element),
            (TraceSamples::F32(_), Element::F32) | (TraceSamples::F64(_), Element::F64)
        );
        assert!(same, "{:?} samples for an array of {:?}", samples.element_type(), self.element);
        match samples {
            TraceSamples::F32(all) => {
                all.iter().try_for_each(|v| self.file.write_all(&v.to_le_bytes()))
            }
            TraceSamples::F64(all) => {
                all.iter().try_for_each(|v| self.file.write_all(&v.to_le_bytes()))
            }
        }
    }

    pub(super) fn sync(&mut self) -> std::io::Result<()> {
        self.file.flush()?;
        self.file.get_ref().sync_data()
    }
}

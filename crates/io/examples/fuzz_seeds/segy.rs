//! SEG-Y files of every dialect that is read: those that are written here too, and those of others,
//! made from them byte by byte.

use std::path::{Path, PathBuf};

use temblor_io::segy::cube::CubeWriter;
use temblor_io::segy::{
    SampleFormat, SegyHeader, SegyWriter, TextEncoding, TraceHeader, WordOrder,
};

/// Traces of each file but the cube.
pub(crate) const TRACES: i32 = 4;
/// Samples of each trace but the variable ones.
pub(crate) const SAMPLES: usize = 6;

/// A file and what it must be read as.
#[derive(Debug, Clone)]
pub(crate) struct Seed {
    pub(crate) path: PathBuf,
    pub(crate) order: WordOrder,
    pub(crate) format: SampleFormat,
    pub(crate) revision: u8,
    /// Extended text headers and trace header extensions.
    pub(crate) extensions: (u32, u16),
    pub(crate) variable: bool,
}

/// Header of trace `n`, from 0.
pub(crate) fn header(n: i32) -> TraceHeader {
    TraceHeader {
        field_record: 7,
        trace_in_record: n + 1,
        source: [10.0, 20.5, 3.0],
        receiver: [10.0 + 12.5 * f64::from(n), 20.5, 0.0],
        cdp: [10.0 + 6.25 * f64::from(n), 20.5],
        ensemble: n + 1,
        inline: 1,
        crossline: n + 1,
        ..TraceHeader::default()
    }
}

/// Sample `k` of trace `n`: whole, not negative, and below 2^7, so that every format holds it.
pub(crate) fn sample(n: i32, k: usize) -> f32 {
    ((13 * n.unsigned_abs() as usize + 7 * k) % 120) as f32
}

/// Samples of trace `n`; `variable` ones have one to four.
pub(crate) fn samples(n: i32, variable: bool) -> Vec<f32> {
    let count = if variable { 1 + n.unsigned_abs() as usize % 4 } else { SAMPLES };
    (0..count).map(|k| sample(n, k)).collect()
}

/// Writes all files into a folder.
pub(crate) fn write(folder: &Path) -> Result<Vec<Seed>, Box<dyn std::error::Error>> {
    let mut seeds = Vec::new();
    for format in SampleFormat::ALL {
        for order in WordOrder::ALL {
            if order == WordOrder::Pairwise && format.bytes() % 2 == 1 {
                continue;
            }
            let mut header = SegyHeader::new(0.004, SAMPLES);
            (header.format, header.order) = (format, order);
            let name = format!("{}-{}.sgy", format.name(), order.name().replace(' ', "-"));
            seeds.push(file(folder, &name, &header)?);
        }
    }
    let plain = || SegyHeader::new(0.002, SAMPLES);
    let lines = |text: &str| vec![vec![text.to_owned()]];
    let named: [(&str, SegyHeader); 7] = [
        ("ascii.sgy", {
            let mut header = plain();
            header.encoding = TextEncoding::Ascii;
            header
        }),
        ("revision-0.sgy", {
            let mut header = plain();
            (header.revision, header.format) = (Some(0), SampleFormat::Ibm);
            header
        }),
        ("extended-text.sgy", {
            let mut header = plain();
            header.extended_text = lines("((SEG: Processing ver 1.0))");
            header
        }),
        ("extended-traces.sgy", {
            let mut header = plain();
            header.trace_extensions = 1;
            header
        }),
        ("two-extensions.sgy", {
            let mut header = plain();
            (header.trace_extensions, header.order) = (2, WordOrder::Little);
            header
        }),
        ("fine-interval.sgy", SegyHeader::new(2.5e-9, SAMPLES)),
        ("variable.sgy", {
            let mut header = plain();
            header.variable = true;
            header
        }),
    ];
    for (name, header) in named {
        seeds.push(file(folder, name, &header)?);
    }
    foreign(folder, &mut seeds)?;
    let values = ndarray::Array3::from_elem((3, 2, 4), 1500.0);
    let mut cube =
        CubeWriter::create(folder.join("cube.sgy"), [3, 2, 4], [10.0, 20.0, 5.0], [0.0; 3], &[])?;
    cube.write_planes(&values.view())?;
    cube.finish()?;
    Ok(seeds)
}

fn file(folder: &Path, name: &str, file: &SegyHeader) -> Result<Seed, Box<dyn std::error::Error>> {
    let path = folder.join(name);
    let mut writer = SegyWriter::create(&path, file)?;
    for n in 0..TRACES {
        writer.write_trace(&header(n), &samples(n, file.variable))?;
    }
    let revision = writer.revision();
    writer.finish()?;
    let text = u32::try_from(file.extended_text.len())?;
    Ok(Seed {
        path,
        order: file.order,
        format: file.format,
        revision,
        extensions: (text, file.trace_extensions),
        variable: file.variable,
    })
}

/// Dialects that are read and not written, made from files that are.
fn foreign(folder: &Path, seeds: &mut Vec<Seed>) -> Result<(), Box<dyn std::error::Error>> {
    let read = |name: &str| std::fs::read(folder.join(name));
    let mut add = |name: &str, bytes: &[u8], seed: &Seed| {
        let path = folder.join(name);
        std::fs::write(&path, bytes)?;
        seeds.push(Seed { path, ..seed.clone() });
        Ok::<(), std::io::Error>(())
    };
    let seed = |order, format, revision| Seed {
        path: PathBuf::new(),
        order,
        format,
        revision,
        extensions: (0, 0),
        variable: false,
    };
    let first = seed(WordOrder::Big, SampleFormat::Ieee, 1);
    // As 16-bit machines copied tapes: all bytes of revision 1 exchanged, text too.
    let mut swapped = read("f4-big-endian.sgy")?;
    swapped.as_chunks_mut::<2>().0.iter_mut().for_each(|pair| pair.reverse());
    add("swapped-tape.sgy", &swapped, &seed(WordOrder::Pairwise, SampleFormat::Ieee, 1))?;
    // A tape label of 128 bytes before it.
    let label = format!("{:<128}", "   1SY1.0RECORD");
    let labelled = [label.as_bytes(), &read("f4-big-endian.sgy")?].concat();
    add("tape-label.sgy", &labelled, &first)?;
    // Extended text of unknown count: -1 and an EndText stanza.
    let mut unknown = read("extended-text.sgy")?;
    unknown[3504..3506].copy_from_slice(&(-1_i16).to_be_bytes());
    let mut end = vec![b' '; 3200];
    end[..16].copy_from_slice(b"((SEG: EndText))");
    unknown.splice(6800..6800, end);
    add("end-text.sgy", &unknown, &Seed { extensions: (2, 0), ..first.clone() })?;
    // Data trailers behind the traces, counted and not.
    let second = seed(WordOrder::Big, SampleFormat::F64, 2);
    let mut trailer = vec![b' '; 3200];
    trailer[..12].copy_from_slice(b"((SEG: Done)");
    for (name, count) in [("trailer.sgy", 1_i32), ("trailers-unknown.sgy", -1)] {
        let mut bytes = [read("f8-big-endian.sgy")?, trailer.clone()].concat();
        bytes[3528..3532].copy_from_slice(&count.to_be_bytes());
        add(name, &bytes, &second)?;
    }
    // A private block before the traces, which only their stated offset tells.
    let mut moved = read("f8-big-endian.sgy")?;
    moved.splice(3600..3600, [0x55; 100]);
    moved[3520..3528].copy_from_slice(&3700_u64.to_be_bytes());
    add("stated-offset.sgy", &moved, &second)?;
    // Revision 0 with no numbers in its trace headers.
    let mut bare = read("revision-0.sgy")?;
    for trace in 0..TRACES.unsigned_abs() as usize {
        let start = 3600 + trace * (240 + 4 * SAMPLES);
        bare[start + 114..start + 118].fill(0);
    }
    add("no-counts.sgy", &bare, &seed(WordOrder::Big, SampleFormat::Ibm, 0))?;
    // The count in the trace headers only.
    let mut traces_only = read("f4-big-endian.sgy")?;
    traces_only[3220..3222].fill(0);
    add("no-file-count.sgy", &traces_only, &first).map_err(Into::into)
}

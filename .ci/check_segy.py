"""Has segyio and obspy read the SEG-Y dialects that temblor-io writes, and temblor-io what they ship.

Usage: check_segy.py FOLDER PROGRAMS. FOLDER/segy holds the output of the example fuzz_seeds, FOLDER
that of write_segy; PROGRAMS is the folder of the examples segy_to_npy and segy_headers.
"""

import io
import pathlib
import subprocess
import sys
import warnings

import numpy as np
import obspy
import segyio
from obspy.io.segy.segy import _read_segy

warnings.filterwarnings("ignore")
folder, programs = map(pathlib.Path, sys.argv[1:])
np.set_printoptions(threshold=20)
checks = 0


def same(what, got, wanted):
    """Exactly equal, arrays element by element; NaN is equal to NaN."""
    global checks
    checks += 1
    got, wanted = np.asarray(got), np.asarray(wanted)
    equal_nan = got.dtype.kind == "f" and wanted.dtype.kind == "f"
    if not np.array_equal(got, wanted, equal_nan=equal_nan):
        sys.exit(f"{what}: got {got}, wanted {wanted}")


def ours(path):
    """Samples as temblor-io reads them."""
    output = folder / "ours.npy"
    subprocess.run([programs / "segy_to_npy", path, output], check=True)
    return np.load(output)


def our_headers(path):
    """Trace header fields as temblor-io reads them, by first byte."""
    text = subprocess.run([programs / "segy_headers", path], check=True, capture_output=True).stdout
    table = np.genfromtxt(io.BytesIO(text), delimiter=",", dtype=np.int64, skip_header=1, ndmin=2)
    return {int(byte): table[:, n] for n, byte in enumerate(text.split(b"\n")[0].split(b","))}


# The formulas of fuzz_seeds/segy.rs.
n, k = np.arange(4)[:, None], np.arange(6)[None, :]
samples = ((13 * n + 7 * k) % 120).astype(np.float64)
x = 10 + 12.5 * np.arange(4)
# By byte, in millimetres where they are lengths.
words = {
    1: range(1, 5),
    5: range(1, 5),
    9: 7,
    13: range(1, 5),
    21: range(1, 5),
    37: np.floor(12.5 * np.arange(4) + 0.5),
    41: 0,
    49: 3000,
    69: -1000,
    71: -1000,
    73: 10000,
    77: 20500,
    81: 1000 * x,
    85: 20500,
    115: 6,
    117: 4000,
    181: 10000 + 6250 * np.arange(4),
    185: 20500,
    189: 1,
    193: range(1, 5),
}
# What each reader has: format codes as temblor-io names them, in the two orders.
SEGYIO = ["ibm", "f4", "f8", "i1", "i2", "i4", "u1", "u2", "u4"]
OBSPY = ["ibm", "f4", "i2", "i4"]
for order, endian, sign in (("big-endian", "big", ">"), ("little-endian", "little", "<")):
    for code in SEGYIO:
        path = str(folder / "segy" / f"{code}-{order}.sgy")
        with segyio.open(path, ignore_geometry=True, endian=endian) as f:
            same(f"segyio {path} samples", [trace.copy() for trace in f.trace], samples)
            for byte, wanted in words.items():
                wanted = np.broadcast_to(wanted, 4)
                same(f"segyio {path} byte {byte}", f.attributes(byte)[:], wanted)
            same(f"segyio {path} interval", segyio.tools.dt(f), 4000)
    for code in OBSPY:
        path = folder / "segy" / f"{code}-{order}.sgy"
        stream = _read_segy(str(path))
        same(f"obspy {path} order", stream.endian, sign)
        same(f"obspy {path} samples", [trace.data for trace in stream.traces], samples)
        sx = [trace.header.source_coordinate_x for trace in stream.traces]
        same(f"obspy {path} source x", sx, [10000] * 4)
for name in ("ascii", "extended-text", "revision-0", "fine-interval"):
    path = str(folder / "segy" / f"{name}.sgy")
    with segyio.open(path, ignore_geometry=True) as f:
        same(f"segyio {name}", f.trace.raw[:], samples)
    # obspy has no extended text headers.
    if name != "extended-text":
        same(f"obspy {name}", [trace.data for trace in _read_segy(path).traces], samples)


def as_ibm(values):
    """The nearest IBM floats to singles, ties to even, as doubles."""
    values = values.astype(np.float64)
    mantissa, exponent = np.frexp(values)
    # 24 bits of fraction after a power of 16; numpy's rint rounds ties to even.
    unit = np.ldexp(1.0, 4 * -(-exponent // 4) - 24)
    return np.rint(values / unit) * unit


# Random singles of all exponents, and traces longer than 16-bit counts hold.
for order, endian in (("big-endian", "big"), ("little-endian", "little")):
    truth = np.load(folder / f"random-f4-{order}.npy")
    path = str(folder / f"random-f4-{order}.sgy")
    with segyio.open(path, ignore_geometry=True, endian=endian) as f:
        same(f"segyio random f4 {order}", f.trace.raw[:], truth)
    same(f"obspy random f4 {order}", [t.data for t in _read_segy(path).traces], truth)
    path = str(folder / f"random-ibm-{order}.sgy")
    wanted = as_ibm(np.load(folder / f"random-ibm-{order}.npy"))
    words = np.fromfile(path, ">u4" if endian == "big" else "<u4", offset=3600)
    words = words.reshape(40, 60 + 1000)[:, 60:].astype(np.uint64)
    power = 4.0 * ((words >> np.uint64(24)) & np.uint64(127)).astype(np.float64) - 280
    value = (words & np.uint64(0xFFFFFF)).astype(np.float64) * 2.0**power
    value = np.where(words >> np.uint64(31) == 1, -value, value)
    same(f"IBM words {order}", value, wanted)
    with segyio.open(path, ignore_geometry=True, endian=endian) as f:
        got = f.trace.raw[:].astype(np.float64)
    # segyio has no subnormal singles: compare where singles are normal, and so in IBM's own range.
    normal = np.abs(wanted) >= np.finfo(np.float32).tiny
    finite = normal & (np.abs(wanted) <= np.finfo(np.float32).max)
    same(f"segyio random ibm {order}", got[finite], wanted[finite])
    with np.errstate(over="ignore"):
        same(f"own random ibm {order}", ours(path), wanted.astype(np.float32))
truth = np.load(folder / "long.npy")
with segyio.open(str(folder / "long.sgy"), ignore_geometry=True) as f:
    same("segyio long", f.trace.raw[:], truth)
for name in ("long", "longer"):
    same(f"own {name}", ours(folder / f"{name}.sgy"), np.load(folder / f"{name}.npy"))

# Every SEG-Y file that obspy ships, headers and samples as obspy reads them.
shipped = pathlib.Path(obspy.__file__).parent / "io/segy/tests/data"
read = 0
for path in sorted(shipped.iterdir()):
    if path.suffix in (".npy", ".su", ".sg2", ".md", ".gz", ".bz2", ".seg2", ".dat"):
        continue
    try:
        stream = _read_segy(str(path))
    except Exception:
        continue
    got, headers = ours(path), our_headers(path)
    same(f"{path.name} samples", got, np.array([t.data for t in stream.traces], np.float32))
    for byte, attribute in (
        (1, "trace_sequence_number_within_line"),
        (9, "original_field_record_number"),
        (69, "scalar_to_be_applied_to_all_elevations_and_depths"),
        (73, "source_coordinate_x"),
        (81, "group_coordinate_x"),
        (115, "number_of_samples_in_this_trace"),
        (117, "sample_interval_in_ms_for_this_trace"),
        (157, "year_data_recorded"),
    ):
        wanted = [getattr(trace.header, attribute) for trace in stream.traces]
        same(f"{path.name} byte {byte}", headers[byte], wanted)
    read += 1
assert read >= 7, f"obspy ships {read} SEG-Y files, 7 are known"
print(f"segy: {checks} comparisons, all equal; {read} files of obspy's")

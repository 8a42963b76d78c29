"""Reads what temblor-io wrote with independent readers, and has it read what others wrote.

Usage: check_files.py FOLDER SEGY_TO_NPY. FOLDER holds the output of the example write_formats; the
expected values are the formulas stated there, worked out here anew.
"""

import pathlib
import subprocess
import sys
import warnings

import numpy as np
import obspy
import segyio
from fieldcompare.io import read as read_mesh
from obspy.io.segy.segy import _read_segy

warnings.filterwarnings("ignore")
folder, segy_to_npy = pathlib.Path(sys.argv[1]), sys.argv[2]
SHOTS, RECEIVERS, SAMPLES = 3, 7, 501
np.set_printoptions(threshold=20)
checks = 0


def same(what, got, wanted):
    """Exactly equal, arrays element by element."""
    global checks
    checks += 1
    if not np.array_equal(np.asarray(got), np.asarray(wanted)):
        sys.exit(f"{what}: got {got}, wanted {wanted}")


k = np.arange(SAMPLES, dtype=np.float32)
traces = [(shot, receiver) for shot in range(1, SHOTS + 1) for receiver in range(1, RECEIVERS + 1)]
samples = np.array([shot - np.float32(receiver) / 8 + k * k / 1024 for shot, receiver in traces])
# In millimetres; offset is the horizontal distance in whole metres with the sign of x.
sx = [int(1000 * (1000 + 12.5 * shot)) for shot, _ in traces]
gx = [int(1000 * (900 + 25.125 * receiver)) for _, receiver in traces]
offset = [
    int(np.copysign(np.floor(np.hypot((g - s) / 1000, 430.25) + 0.5), g - s)) for s, g in zip(sx, gx)
]
words = {
    1: range(1, len(traces) + 1),
    5: range(1, len(traces) + 1),
    9: [shot for shot, _ in traces],
    13: [receiver for _, receiver in traces],
    17: [100 + shot for shot, _ in traces],
    29: 1,
    35: 1,
    37: offset,
    41: -12000,
    49: 7500,
    69: -1000,
    71: -1000,
    73: sx,
    77: -30250,
    81: gx,
    85: 400000,
    89: 1,
    109: -100,
    115: SAMPLES,
    117: 2000,
    215: 0,
}

path = str(folder / "survey.sgy")
with segyio.open(path, ignore_geometry=True) as f:
    same("segyio samples", f.trace.raw[:], samples)
    for byte, wanted in words.items():
        got = f.attributes(byte)[:]
        same(f"segyio trace header byte {byte}", got, np.broadcast_to(wanted, got.shape))
    binary = {3213: RECEIVERS, 3217: 2000, 3221: SAMPLES, 3225: 5, 3255: 1, 3501: 1, 3503: 1}
    for byte, wanted in binary.items():
        # segyio knows the revision as two bytes: 3501 is the major one.
        same(f"segyio binary header byte {byte}", f.bin[byte], wanted)
    same("segyio interval", segyio.tools.dt(f), 2000)
    text = segyio.tools.wrap(f.text[0]).split("\n")
    same("segyio text line 1", text[0].rstrip(), "C 1 written by temblor")
    same("segyio text line 39", text[38].rstrip(), "C39 SEG Y REV1")
    same("segyio text line 40", text[39].rstrip(), "C40 END TEXTUAL HEADER")

stream = _read_segy(path)
same("obspy byte order", stream.endian, ">")
same("obspy samples", [trace.data for trace in stream.traces], samples)
names = {
    9: "original_field_record_number",
    13: "trace_number_within_the_original_field_record",
    37: "distance_from_center_of_the_source_point_to_the_center_of_the_receiver_group",
    41: "receiver_group_elevation",
    49: "source_depth_below_surface",
    69: "scalar_to_be_applied_to_all_elevations_and_depths",
    71: "scalar_to_be_applied_to_all_coordinates",
    73: "source_coordinate_x",
    77: "source_coordinate_y",
    81: "group_coordinate_x",
    85: "group_coordinate_y",
    109: "delay_recording_time",
    115: "number_of_samples_in_this_trace",
    117: "sample_interval_in_ms_for_this_trace",
}
for byte, name in names.items():
    got = np.array([getattr(trace.header, name) for trace in stream.traces])
    wanted = words[byte]
    same(f"obspy {name}", got, np.broadcast_to(wanted, got.shape))
header = stream.binary_file_header
same("obspy revision", header.seg_y_format_revision_number, 0x0100)
same("obspy format", header.data_sample_format_code, 5)

volume = np.fromfunction(lambda i, j, k: 100 * i + 10 * j + k, (5, 3, 7)).astype(np.float32)
same("numpy npy", np.load(folder / "volume.npy"), volume)
np.save(folder / "own.npy", volume)
same("npy bytes", (folder / "volume.npy").read_bytes(), (folder / "own.npy").read_bytes())
same("numpy raw", np.fromfile(folder / "volume.bin", ">f4").reshape(5, 3, 7), volume)

mesh = read_mesh(str(folder / "volume.vti"))
field = {f.name: f.values for f in mesh.point_fields}
# VTK's points run with x fastest.
same("vti values", field["wave_speed"], volume.transpose(2, 1, 0).ravel())
x, y, z = (1000 + 25 * np.arange(5), -37.5 + 12.5 * np.arange(3), 5 + 10 * np.arange(7))
points = np.array([(a, b, c) for c in z for b in y for a in x])
same("vti points", mesh.domain.points, points)


def ours(path):
    output = folder / "ours.npy"
    subprocess.run([segy_to_npy, path, output], check=True)
    return np.load(output)


# What others write. Whole numbers below 2^24 are exact in IBM floats too.
rng = np.random.default_rng(1)
wanted = rng.integers(-(2**20), 2**20, (5, 40)).astype(np.float32)
for order in "><":
    for code, kind in ((1, np.float32), (2, np.int32), (3, np.int16), (5, np.float32)):
        data = (wanted % 1000 if code == 3 else wanted).astype(kind)
        stream = obspy.Stream([obspy.Trace(row, {"delta": 0.004}) for row in data])
        path = str(folder / f"obspy{code}.sgy")
        stream.write(path, format="SEGY", data_encoding=code, byteorder=order)
        same(f"obspy format {code} {order}", ours(path), data.astype(np.float32))
for code in (1, 2, 3, 5, 8):
    spec = segyio.spec()
    spec.format, spec.samples, spec.tracecount = code, np.arange(40), 5
    data = wanted % 100 if code in (3, 8) else wanted
    path = str(folder / f"segyio{code}.sgy")
    with segyio.create(path, spec) as f:
        f.bin[segyio.BinField.Interval] = 4000
        for n, row in enumerate(data):
            f.trace[n] = row.astype(f.dtype)
    same(f"segyio format {code}", ours(path), data)

shipped = pathlib.Path(obspy.__file__).parent / "io/segy/tests/data"
truths = sorted(shipped.glob("*.npy"))
assert len(truths) >= 7, "obspy ships fewer files than known"
for truth in truths:
    got, wanted = ours(truth.with_suffix("")), np.load(truth).ravel().astype(np.float32)
    same(truth.stem, got.ravel(), wanted)

print(f"files: {checks} comparisons, all equal")

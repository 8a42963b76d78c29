"""SU, RSF, npy and VTI: reads what temblor-io wrote with independent readers, and has it read what
others wrote.

Usage: check_formats.py FOLDER TO_NPY. FOLDER holds the output of the example write_formats; the
expected values are the formulas stated there, worked out here anew. No reader of RSF is on PyPI: the
one here is written from Madagascar's manual.
"""

import pathlib
import re
import subprocess
import sys
import warnings

import numpy as np
import obspy
from fieldcompare.io import read as read_mesh
from obspy.io.segy.segy import _read_su
from pyevtk.hl import imageToVTK

warnings.filterwarnings("ignore")
folder, to_npy = pathlib.Path(sys.argv[1]), sys.argv[2]
checks = 0


def same(what, got, wanted):
    """Exactly equal, arrays element by element."""
    global checks
    checks += 1
    if not np.array_equal(np.asarray(got), np.asarray(wanted)):
        sys.exit(f"{what}: got {got}, wanted {wanted}")


def ours(kind, path):
    output = folder / "ours.npy"
    subprocess.run([to_npy, kind, path, output], check=True)
    return np.load(output)


# What temblor-io writes: gathers.
SHOTS, RECEIVERS, SAMPLES = 3, 7, 501
k = np.arange(SAMPLES, dtype=np.float32)
pairs = [(shot, receiver) for shot in range(1, SHOTS + 1) for receiver in range(1, RECEIVERS + 1)]
traces = np.array([shot - np.float32(receiver) / 8 + k * k / 1024 for shot, receiver in pairs])
names = {
    "trace_sequence_number_within_line": range(1, len(pairs) + 1),
    "original_field_record_number": [shot for shot, _ in pairs],
    "trace_number_within_the_original_field_record": [receiver for _, receiver in pairs],
    "energy_source_point_number": [100 + shot for shot, _ in pairs],
    "receiver_group_elevation": -12000,
    "source_depth_below_surface": 7500,
    "scalar_to_be_applied_to_all_elevations_and_depths": -1000,
    "scalar_to_be_applied_to_all_coordinates": -1000,
    "source_coordinate_x": [int(1000 * (1000 + 12.5 * shot)) for shot, _ in pairs],
    "source_coordinate_y": -30250,
    "group_coordinate_x": [int(1000 * (900 + 25.125 * receiver)) for _, receiver in pairs],
    "group_coordinate_y": 400000,
    "delay_recording_time": -100,
    "number_of_samples_in_this_trace": SAMPLES,
    "sample_interval_in_ms_for_this_trace": 2000,
}
for name, order in (("survey.su", "<"), ("survey-big.su", ">")):
    stream = _read_su(str(folder / name))
    same(f"{name} byte order", stream.endian, order)
    same(f"{name} samples", [trace.data for trace in stream.traces], traces)
    for field, wanted in names.items():
        got = np.array([getattr(trace.header, field) for trace in stream.traces])
        same(f"{name} {field}", got, np.broadcast_to(wanted, got.shape))
    # SU's own fields, which obspy does not know: d1 and f1 in seconds.
    tail = np.fromfile(folder / name, np.uint8).reshape(len(pairs), -1)[:, 180:188]
    tail = np.ascontiguousarray(tail).view(f"{order}f4")
    same(f"{name} d1 f1", tail, np.broadcast_to(np.float32([0.002, -0.1]), tail.shape))
same("survey.npy", np.load(folder / "survey.npy"), traces)


def read_rsf(path):
    """Array with the fastest axis last, and the header's last value of each key."""
    whole = path.read_bytes()
    head, mark, data = whole.partition(b"\x0c\x0c\x04")
    keys = dict(re.findall(r"(\w+)=\"?([^\s\"]*)", head.decode()))
    kind = {"float": "f4", "double": "f8", "short": "i2", "int": "i4"}
    encoding, element = keys["data_format"].split("_")
    dtype = {"native": "<", "xdr": ">"}[encoding] + kind[element]
    if keys["in"] != "stdin":
        data = (path.parent / keys["in"]).read_bytes()
    shape = [int(keys[f"n{axis}"]) for axis in range(9, 0, -1) if f"n{axis}" in keys]
    return np.frombuffer(data, dtype).reshape(shape), keys


for name in ("survey.rsf", "survey-xdr.rsf"):
    got, keys = read_rsf(folder / name)
    same(name, got, traces.reshape(SHOTS, RECEIVERS, SAMPLES))
    same(f"{name} o1 d1", [float(keys["o1"]), float(keys["d1"])], [-0.1, 0.002])

# What temblor-io writes: volumes.
volume = np.fromfunction(lambda i, j, k: 100 * i + 10 * j + k, (5, 3, 7))
spacing, origin = (25.0, 12.5, 10.0), (1000.0, -37.5, 5.0)
for element in ("f2", "f4", "f8", "i2", "i4"):
    for order, mark in (("little", "<"), ("big", ">")):
        for fortran in (False, True):
            path = folder / f"v-{element}-{order}-{str(fortran).lower()}.npy"
            values = volume.astype(mark + element)
            same(path.name, np.load(path), values)
            np.save(folder / "own.npy", np.asfortranarray(values) if fortran else values)
            same(f"{path.name} bytes", path.read_bytes(), (folder / "own.npy").read_bytes())
        if element == "f2":
            continue
        got, keys = read_rsf(folder / f"v-{element}-{order}.rsf")
        # Madagascar's axes are depth, inline, crossline.
        same(f"rsf {element} {order}", got, volume.transpose(1, 0, 2))
        same("rsf d", [float(keys[f"d{n}"]) for n in (2, 3, 1)], spacing)
        same("rsf o", [float(keys[f"o{n}"]) for n in (2, 3, 1)], origin)
    if element != "f2":
        mesh = read_mesh(str(folder / f"v-{element}.vti"))
        field = {f.name: f.values for f in mesh.point_fields}["wave_speed"]
        same(f"vti {element} type", field.dtype, np.dtype(element))
        same(f"vti {element}", field, volume.transpose(2, 1, 0).ravel())

# What others write: SU by obspy, in both byte orders.
rng = np.random.default_rng(2)
wanted = rng.standard_normal((5, 40)).astype(np.float32)
for order in "><":
    stream = obspy.Stream([obspy.Trace(row, {"delta": 0.004}) for row in wanted])
    stream.write(str(folder / "obspy.su"), format="SU", byteorder=order)
    same(f"obspy SU {order}", ours("traces", folder / "obspy.su"), wanted)
shipped = sorted((pathlib.Path(obspy.__file__).parent / "io/segy/tests/data").glob("*.su*"))
shipped = [path for path in shipped if path.suffix != ".npy"]
assert len(shipped) >= 3, "obspy ships fewer SU files than known"
for path in shipped:
    data = [trace.data for trace in obspy.read(str(path), format="SU", unpack_trace_headers=False)]
    same(path.name, ours("traces", path), np.array(data, np.float32))
    truth = path.parent / path.name.replace(".su", ".sgy")
    truth = truth.with_name(truth.name + ".npy")
    if truth.exists():
        same(f"{path.name} truth", ours("traces", path).ravel(), np.load(truth).ravel())

# RSF as Madagascar leaves it: words of several programs, the numbers in another file.
cube = rng.standard_normal((3, 5, 7))
for name, dtype, text in (
    ("native_float", "<f4", False),
    ("xdr_float", ">f4", False),
    ("native_double", "<f8", False),
    ("xdr_int", ">i4", False),
    ("native_short", "<i2", False),
    ("ascii_float", "f4", True),
):
    values = (1000 * cube).astype(dtype)
    if text:
        np.savetxt(folder / "cube@", values.reshape(-1, 7), fmt="%.9g")
    else:
        values.tofile(folder / "cube@")
    header = f'sfspike\n\tn1=1 in="gone@"\nsfput\n\tn1=7 n2=5\n\tn3=3 d1=10 d2=25 d3=50\n'
    header += f'\tdata_format="{name}"\n\tesize={0 if text else values.itemsize} in="cube@"\n'
    (folder / "cube.rsf").write_text(header)
    same(f"rsf {name}", ours("volume", folder / "cube.rsf"), values.transpose(1, 0, 2))
    same(f"rsf traces {name}", ours("traces", folder / "cube.rsf"), values.reshape(-1, 7))

# npy by numpy, all layouts.
for element in ("f2", "f4", "f8", "i2", "i4"):
    for mark in "<>":
        for values in (volume.astype(mark + element), np.asfortranarray(volume, mark + element)):
            np.save(folder / "numpy.npy", values)
            same(f"numpy {mark}{element}", ours("volume", folder / "numpy.npy"), volume)

# VTI by pyevtk: appended raw, values on points or on cells.
for dtype in ("f4", "f8", "i2", "i4"):
    values = np.asfortranarray(volume.astype(dtype))
    imageToVTK(str(folder / "evtk"), origin, spacing, pointData={"vp": values})
    same(f"pyevtk {dtype}", ours("volume", folder / "evtk.vti"), values)
imageToVTK(str(folder / "evtk"), origin, spacing, cellData={"vp": np.asfortranarray(volume)})
same("pyevtk cells", ours("volume", folder / "evtk.vti"), volume)

print(f"formats: {checks} comparisons, all equal")

"""A peer's trace beside temblor's: the same source, receiver, medium and steps.

Usage: compare_traces.py TEMBLOR_BINARY PEER_TRACE; needs numpy. Runs temblor on the problem that the
peers' `--trace` options describe and prints the relative L2 difference; fails above 1e-4. Both step
the same scheme in single precision. A step rounds by 2^-24 at most, and leapfrog sums roundings twice:
as a random walk over n = 200 steps they reach 2^-24 sqrt(n^3 / 3) = 1e-4. A sign, a scale or a step
off would show as 1e-2 or more.
"""

import os
import subprocess
import sys
import tempfile

import numpy as np

TOLERANCE = 1e-4
RUN = """
[grid]
shape = [64, 64, 64]
spacing = [10.0, 10.0, 10.0]
[model]
vp = { constant = 2000.0 }
[time]
duration = 0.199
dt = 0.001
[boundary]
other = { kind = "cpml", cells = 20 }
[source]
wavelet = { kind = "ricker", peak_hz = 15.0, t0 = 0.1 }
positions = [[320.0, 320.0, 320.0]]
[receivers]
interval = 0.001
positions = [[420.0, 320.0, 320.0]]
[output]
traces = "trace.npy"
"""

temblor, peer = sys.argv[1:3]
theirs = np.loadtxt(peer)
with tempfile.TemporaryDirectory() as folder:
    with open(os.path.join(folder, "run.toml"), "w", encoding="ascii") as file:
        file.write(RUN)
    subprocess.run([os.path.abspath(temblor), "-q", "run", "run.toml"], cwd=folder, check=True)
    ours = np.load(os.path.join(folder, "trace.npy"))[0].astype(float)
if ours.shape != theirs.shape:
    sys.exit(f"temblor has {ours.shape[0]} samples and the peer {theirs.shape[0]}")
difference = np.linalg.norm(ours - theirs) / np.linalg.norm(ours)
print(f"relative L2 difference of the traces: {difference:.2e} (at most {TOLERANCE:.0e})")
sys.exit(not difference <= TOLERANCE)

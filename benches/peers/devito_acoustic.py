"""Devito's isotropic acoustic step, timed: order 8, float32, no layer, random fields.

The same problem as `cpu`'s: p+ = 2p - p- + dt^2 c^2 lap(p), c a field. Prints as its last line
`devito VERSION N THREADS GPTS`, the best of several repetitions, autotuned.

What differs: Devito's halo is not updated, so that random values stand beyond the faces where
temblor's are zero; the work is the same. There is no layer here: it is not one of Devito's operators,
and one written for this script would measure the script (`--boundary cpml` is refused).

`--trace FILE` writes p beside a Ricker source instead, one value per line: see
`deepwave_acoustic.py` and `compare_traces.py`.
"""

import argparse
import os
import time

parser = argparse.ArgumentParser()
parser.add_argument("--size", type=int, default=256)
parser.add_argument("--order", type=int, default=8)
parser.add_argument("--steps", type=int, default=0, help="0: enough for a second")
parser.add_argument("--repetitions", type=int, default=3)
parser.add_argument("--threads", type=int, default=os.cpu_count())
parser.add_argument("--boundary", choices=["zero", "cpml"], default="zero")
parser.add_argument("--trace", metavar="FILE")
parser.add_argument("--cpu-time", action="store_true", help="count the time that threads ran")
arguments = parser.parse_args()
if arguments.boundary != "zero":
    parser.error("Devito has no absorbing layer of its own: --boundary zero")
clock = time.process_time if arguments.cpu_time else time.perf_counter

os.environ["OMP_NUM_THREADS"] = str(arguments.threads)
os.environ.setdefault("DEVITO_LANGUAGE", "openmp")
os.environ.setdefault("DEVITO_LOGGING", "ERROR")

import devito  # noqa: E402
import numpy as np  # noqa: E402



def trace(file):
    # No layer: over 200 steps nothing returns from faces 32 nodes away to the receiver.
    n, steps, hertz, dt, h = 64, 200, 15.0, 1e-3, 10.0
    grid = devito.Grid(shape=(n, n, n), extent=(h * (n - 1),) * 3, dtype=np.float32)
    p = devito.TimeFunction(name="p", grid=grid, time_order=2, space_order=8)
    step = devito.solve(p.dt2 / 2000.0**2 - p.laplace, p.forward)
    operator = devito.Operator([devito.Eq(p.forward, step)])
    square = (np.pi * hertz * (np.arange(steps) * dt - 1.5 / hertz)) ** 2
    wavelet = (1 - 2 * square) * np.exp(-square)
    middle = n // 2
    for number in range(steps):
        now, following = number % 3, (number + 1) % 3
        file.write(f"{p.data[now, middle + 10, middle, middle]:.9e}\n")
        operator.apply(time_m=number, time_M=number, dt=np.float32(dt))
        p.data[following, middle, middle, middle] += (2000.0 * dt) ** 2 * wavelet[number] / h**3


if arguments.trace:
    with open(arguments.trace, "w", encoding="ascii") as file:
        trace(file)
    raise SystemExit

n = arguments.size
grid = devito.Grid(shape=(n, n, n), extent=(10.0 * (n - 1),) * 3, dtype=np.float32)
p = devito.TimeFunction(name="p", grid=grid, time_order=2, space_order=arguments.order)
m = devito.Function(name="m", grid=grid, space_order=arguments.order)
random = np.random.default_rng(1)
m.data[:] = 1.0 / (1500.0 + 1500.0 * random.random((n, n, n), dtype=np.float32)) ** 2
p.data[:] = random.random((3, n, n, n), dtype=np.float32) - 0.5
step = devito.solve(m * p.dt2 - p.laplace, p.forward)
operator = devito.Operator([devito.Eq(p.forward, step)])


steps = arguments.steps or 10


def advance(autotune=False):
    start = clock()
    operator.apply(time_m=1, time_M=steps, dt=np.float32(1e-3), autotune=autotune)
    return clock() - start


advance(autotune=("aggressive", "runtime"))
while arguments.steps == 0 and advance() < 1.0:
    steps *= 2
best = min(advance() for _ in range(arguments.repetitions))
rate = n**3 * steps / best / 1e9
assert np.isfinite(p.data[0]).all()
print(f"devito {devito.__version__} {n} {arguments.threads} {rate:.4f}")

"""Devito's isotropic acoustic step, timed: order 8, float32, no layer, random fields.

The same problem as `cpu`'s: p+ = 2p - p- + dt^2 c^2 lap(p), c a field. Prints one line,
`devito <version> <grid> <threads> <Gpoint/s>`, the best of several repetitions, autotuned.
"""

import argparse
import os
import time

parser = argparse.ArgumentParser()
parser.add_argument("--size", type=int, default=256)
parser.add_argument("--order", type=int, default=8)
parser.add_argument("--steps", type=int, default=20)
parser.add_argument("--repetitions", type=int, default=3)
parser.add_argument("--threads", type=int, default=os.cpu_count())
arguments = parser.parse_args()

os.environ["OMP_NUM_THREADS"] = str(arguments.threads)
os.environ.setdefault("DEVITO_LANGUAGE", "openmp")
os.environ.setdefault("DEVITO_LOGGING", "ERROR")

import devito  # noqa: E402
import numpy as np  # noqa: E402

n = arguments.size
grid = devito.Grid(shape=(n, n, n), extent=(10.0 * (n - 1),) * 3, dtype=np.float32)
p = devito.TimeFunction(name="p", grid=grid, time_order=2, space_order=arguments.order)
m = devito.Function(name="m", grid=grid, space_order=arguments.order)
random = np.random.default_rng(1)
m.data[:] = 1.0 / (1500.0 + 1500.0 * random.random((n, n, n), dtype=np.float32)) ** 2
p.data[:] = random.random((3, n, n, n), dtype=np.float32) - 0.5
step = devito.solve(m * p.dt2 - p.laplace, p.forward)
operator = devito.Operator([devito.Eq(p.forward, step)])


def advance(autotune=False):
    start = time.perf_counter()
    operator.apply(time_m=1, time_M=arguments.steps, dt=np.float32(1e-3), autotune=autotune)
    return time.perf_counter() - start


advance(autotune=("aggressive", "runtime"))
best = min(advance() for _ in range(arguments.repetitions))
rate = n**3 * arguments.steps / best / 1e9
assert np.isfinite(p.data[0]).all()
print(f"devito {devito.__version__} {n}^3 {arguments.threads} {rate:.4f}")

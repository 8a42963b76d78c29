"""deepwave's scalar propagator, timed, and its trace beside temblor's.

The same problem as temblor's: p+ = 2p - p- + dt^2 c^2 lap(p), order 8, float32, c a random field of
1500 to 3000 m/s, p random, h = 10 m, dt = 1 ms. Prints as its last line
`deepwave VERSION N THREADS_OR_DEVICE GPTS`, the median of its repetitions, layers included in N^3.

What differs: with `--boundary zero` deepwave's faces of width 0 reflect with inverted polarity (its
free surface), temblor's `zero` has zeros beyond the faces; both reflect, neither costs more than the
interior. With `cpml` both have 20 cells of C-PML on all faces, deepwave's of its own profile.

`--trace FILE` writes p at a receiver 10 nodes from a Ricker source of 15 Hz in a homogeneous medium
instead, one value per line, over -h^3: deepwave has the source on the other side of the equation, and
does not divide it by a cell's volume. Before anything returns from a face that is temblor's trace;
`compare_traces.py` checks it.
"""

import argparse
import math
import os
import statistics
import time
import warnings

parser = argparse.ArgumentParser()
parser.add_argument("--size", type=int, default=256)
parser.add_argument("--boundary", choices=["zero", "cpml"], default="zero")
parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
parser.add_argument("--threads", type=int, default=os.cpu_count())
parser.add_argument("--repetitions", type=int, default=3)
parser.add_argument("--trace", metavar="FILE")
arguments = parser.parse_args()
os.environ["OMP_NUM_THREADS"] = str(arguments.threads)

import deepwave  # noqa: E402
import torch  # noqa: E402

# It warns of reflecting faces, which are what is asked for.
warnings.simplefilter("ignore")
torch.set_num_threads(arguments.threads)
torch.set_grad_enabled(False)
device = torch.device(arguments.device)
CELLS, SPACING, DT = 20, 10.0, 1e-3


def trace(file):
    n, steps, hertz, speed = 64, 200, 15.0, 2000.0
    times = torch.arange(steps, dtype=torch.float64) * DT - 1.5 / hertz
    square = (math.pi * hertz * times) ** 2
    wavelet = ((1 - 2 * square) * torch.exp(-square)).float().to(device)
    place = [n // 2] * 3
    out = deepwave.scalar(
        torch.full((n, n, n), speed, device=device),
        SPACING,
        DT,
        source_amplitudes=wavelet[None, None],
        source_locations=torch.tensor([[place]], device=device),
        receiver_locations=torch.tensor([[[place[0] + 10, *place[1:]]]], device=device),
        accuracy=8,
        pml_width=CELLS,
        pml_freq=hertz,
    )
    samples = out.receiver_amplitudes[0, 0].double() / -(SPACING**3)
    file.writelines(f"{sample:.9e}\n" for sample in samples.tolist())


def rate():
    n, cells = arguments.size, CELLS if arguments.boundary == "cpml" else 0
    inner = (n - 2 * cells,) * 3
    if inner[0] < 1:
        parser.error(f"--size {n} leaves nothing inside {cells} cells of C-PML")
    torch.manual_seed(1)
    speed = 1500.0 + 1500.0 * torch.rand(inner, device=device)
    fields = [torch.rand((1, n, n, n), device=device) - 0.5 for _ in range(2)]

    def advance(steps):
        start = time.perf_counter()
        out = deepwave.scalar(
            speed,
            SPACING,
            DT,
            nt=steps,
            wavefield_0=fields[0],
            wavefield_m1=fields[1],
            accuracy=8,
            pml_width=cells,
            pml_freq=20.0,
            check_output_finite=False,
        )
        if arguments.device == "cuda":
            torch.cuda.synchronize()
        seconds = time.perf_counter() - start
        assert torch.isfinite(out[0]).all()
        return seconds

    # A call allocates, pads and copies: what a short one takes is not the steps'.
    few, steps = 2, 4
    advance(few)
    setup = statistics.median(advance(few) for _ in range(arguments.repetitions))
    while advance(steps + few) - setup < 1.0:
        steps *= 2
    times = [advance(steps + few) - setup for _ in range(arguments.repetitions)]
    return n**3 * steps / statistics.median(times) / 1e9


if arguments.trace:
    with open(arguments.trace, "w", encoding="ascii") as file:
        trace(file)
else:
    where = arguments.threads
    if arguments.device == "cuda":
        where = torch.cuda.get_device_name().replace(" ", "_")
    print(f"deepwave {deepwave.__version__} {arguments.size} {where} {rate():.4f}")

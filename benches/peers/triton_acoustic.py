"""A plain Triton kernel for the same step, timed: what a day's work in that language gives.

p+ = 2p - p- + dt^2 c^2 lap(p), order 8, float32, no layer, zeros beyond the faces, c^2 dt^2 a random
field. A program marches along x through a tile of (y, z) with the nine planes of p that the x
derivative needs in registers (a queue), and reads the y and z neighbours through the caches. Needs
PyTorch with Triton and an NVIDIA or AMD card. Prints as its last line
`triton VERSION N DEVICE GPTS`, the median of its repetitions.

What differs: arrays carry a halo of 4 zeros on each side, so that no load is masked; the halo is not
counted. The chosen tile's first step is compared with PyTorch's own arithmetic in double precision (up
to 512^3); a relative L2 error above 1e-6 ends the script before a rate is printed.
"""

import argparse
import statistics

import torch
import triton
import triton.language as tl

parser = argparse.ArgumentParser()
parser.add_argument("--size", type=int, default=512)
parser.add_argument("--boundary", choices=["zero", "cpml"], default="zero")
parser.add_argument("--repetitions", type=int, default=5)
arguments = parser.parse_args()
if arguments.boundary != "zero":
    parser.error("this kernel has no absorbing layer: --boundary zero")
if not torch.cuda.is_available():
    parser.error("PyTorch finds no card: give it one, or compare with deepwave on the CPU")

HALO = 4
# Fornberg (1988): second derivative, order 8.
WEIGHTS = (-205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560)
W0, W1, W2, W3, W4 = (tl.constexpr(w) for w in WEIGHTS)


@triton.jit
def step(p, previous, factor, n, row, plane, planes: tl.constexpr, by: tl.constexpr, bz: tl.constexpr):
    y = tl.program_id(1) * by + tl.arange(0, by)
    z = tl.program_id(0) * bz + tl.arange(0, bz)
    first = tl.program_id(2) * planes
    inside = (y[:, None] < n) & (z[None, :] < n)
    at = (first + 4) * plane + (y[:, None] + 4) * row + z[None, :] + 4
    # p of planes i - 4 to i + 3 at the tile's own points.
    a = tl.load(p + at - 4 * plane, mask=inside, other=0.0)
    b = tl.load(p + at - 3 * plane, mask=inside, other=0.0)
    c = tl.load(p + at - 2 * plane, mask=inside, other=0.0)
    d = tl.load(p + at - plane, mask=inside, other=0.0)
    e = tl.load(p + at, mask=inside, other=0.0)
    f = tl.load(p + at + plane, mask=inside, other=0.0)
    g = tl.load(p + at + 2 * plane, mask=inside, other=0.0)
    h = tl.load(p + at + 3 * plane, mask=inside, other=0.0)
    for _ in range(planes):
        here = inside & (first < n)
        q = tl.load(p + at + 4 * plane, mask=here, other=0.0)
        lap = 3.0 * W0 * e + W1 * (d + f) + W2 * (c + g) + W3 * (b + h) + W4 * (a + q)
        y1 = tl.load(p + at - row, mask=here, other=0.0) + tl.load(p + at + row, mask=here, other=0.0)
        z1 = tl.load(p + at - 1, mask=here, other=0.0) + tl.load(p + at + 1, mask=here, other=0.0)
        lap += W1 * (y1 + z1)
        y2 = tl.load(p + at - 2 * row, mask=here, other=0.0) + tl.load(p + at + 2 * row, mask=here, other=0.0)
        z2 = tl.load(p + at - 2, mask=here, other=0.0) + tl.load(p + at + 2, mask=here, other=0.0)
        lap += W2 * (y2 + z2)
        y3 = tl.load(p + at - 3 * row, mask=here, other=0.0) + tl.load(p + at + 3 * row, mask=here, other=0.0)
        z3 = tl.load(p + at - 3, mask=here, other=0.0) + tl.load(p + at + 3, mask=here, other=0.0)
        lap += W3 * (y3 + z3)
        y4 = tl.load(p + at - 4 * row, mask=here, other=0.0) + tl.load(p + at + 4 * row, mask=here, other=0.0)
        z4 = tl.load(p + at - 4, mask=here, other=0.0) + tl.load(p + at + 4, mask=here, other=0.0)
        lap += W4 * (y4 + z4)
        old = tl.load(previous + at, mask=here, other=0.0)
        new = 2.0 * e - old + tl.load(factor + at, mask=here, other=0.0) * lap
        tl.store(previous + at, new, mask=here)
        a, b, c, d, e, f, g, h = b, c, d, e, f, g, h, q
        at += plane
        first += 1


def padded(values):
    return torch.nn.functional.pad(values, (HALO,) * 6).contiguous()


n = arguments.size
torch.manual_seed(1)
device = torch.device("cuda")
fields = [padded(torch.rand((n, n, n), device=device) - 0.5) for _ in range(2)]
# c^2 dt^2 / h^2 of 1500 to 3000 m/s, 1 ms and 10 m.
factor = padded((0.15 + 0.15 * torch.rand((n, n, n), device=device)) ** 2)
row, plane = fields[0].stride(1), fields[0].stride(0)


def launch(tile, one, other):
    planes, by, bz = tile
    grid = (triton.cdiv(n, bz), triton.cdiv(n, by), triton.cdiv(n, planes))
    step[grid](one, other, factor, n, row, plane, planes, by, bz, num_warps=4)


def expected(one, other):
    """The step in double precision, by slices."""
    one, other = one.double(), other.double()
    inner = slice(HALO, HALO + n)
    lap = 3.0 * WEIGHTS[0] * one[inner, inner, inner]
    for axis in range(3):
        for k in range(1, HALO + 1):
            for sign in (-k, k):
                at = [inner] * 3
                at[axis] = slice(HALO + sign, HALO + sign + n)
                lap = lap + WEIGHTS[k] * one[tuple(at)]
    new = 2.0 * one - other
    new[inner, inner, inner] += factor[inner, inner, inner].double() * lap
    return new


def check(tile):
    new = fields[1].clone()
    launch(tile, fields[0], new)
    wanted = expected(fields[0], fields[1])
    error = (torch.linalg.norm(new.double() - wanted) / torch.linalg.norm(wanted)).item()
    if not error <= 1e-6:
        raise SystemExit(f"tile {tile} computes something else: relative L2 error {error:.1e}")


def seconds(tile, steps):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for number in range(steps):
        launch(tile, fields[number % 2], fields[(number + 1) % 2])
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) * 1e-3


# Doubles of larger grids would need more memory than the fields themselves.
checked = n <= 512
tiles = [(planes, by, bz) for planes in (16, 64) for by in (4, 8, 16) for bz in (32, 64, 128)]
best, least = None, float("inf")
for tile in tiles:
    seconds(tile, 2)
    time = seconds(tile, 4)
    if time < least:
        best, least = tile, time
if checked:
    check(best)
steps = max(4, 2 * round(1.0 / (least / 4) / 2))
times = [seconds(best, steps) for _ in range(arguments.repetitions)]
assert torch.isfinite(fields[0]).all()
rate = n**3 * steps / statistics.median(times) / 1e9
name = torch.cuda.get_device_name().replace(" ", "_")
note = "" if checked else ", too large to be checked"
print(f"tile (planes, y, z) {best}, {steps} steps{note}")
print(f"triton {triton.__version__} {n} {name} {rate:.4f}")

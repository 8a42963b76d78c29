#!/bin/sh
# deepwave on the problem of `cpu` and `cuda`: order 8, f32, 3-D. Needs python3 (3.9 or newer, with
# venv); deepwave and PyTorch come from PyPI into .venv (several GB with PyTorch's CUDA libraries).
# Options: --size N --boundary zero|cpml --device cpu|cuda --threads N, see deepwave_acoustic.py. The
# last line is `deepwave VERSION N THREADS_OR_DEVICE GPTS`. `--check TEMBLOR_BINARY` compares a trace
# with temblor's instead.
set -eu
cd "$(dirname "$0")/../.."
if [ ! -x .venv/bin/python ]; then python3 -m venv .venv; fi
if ! .venv/bin/python -c 'import deepwave, numpy' 2>/dev/null; then
    .venv/bin/pip install --quiet --disable-pip-version-check deepwave==0.1.0 numpy
fi
if [ "${1:-}" = --check ]; then
    trace=$(mktemp)
    trap 'rm -f "$trace"' EXIT
    .venv/bin/python benches/peers/deepwave_acoustic.py --trace "$trace"
    .venv/bin/python benches/peers/compare_traces.py "$2" "$trace"
    exit
fi
exec .venv/bin/python benches/peers/deepwave_acoustic.py "$@"

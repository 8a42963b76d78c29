#!/bin/sh
# Devito beside `cpu`, in the same minute on the same cores: order 8, 256^3, f32, no layer.
# Needs python3 (3.9 or newer, with venv) and a C compiler with OpenMP; Devito comes from PyPI into .venv.
set -eu
cd "$(dirname "$0")/../.."
size=${1:-256}
threads=${RAYON_NUM_THREADS:-$(nproc)}
if [ ! -x .venv/bin/python ]; then python3 -m venv .venv; fi
if ! .venv/bin/python -c 'import devito' 2>/dev/null; then .venv/bin/pip install --quiet devito; fi
export TEMBLOR_DEVITO="'$PWD/.venv/bin/python' '$PWD/benches/peers/devito_acoustic.py' --size $size --threads $threads"
exec cargo bench --bench compare -- --size "$size"

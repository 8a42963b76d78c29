#!/bin/sh
# Devito beside `cpu`, in the same minute on the same cores: order 8, 256^3, f32, no layer.
# Needs python3 (3.9 or newer, with venv) and a C compiler with OpenMP; Devito comes from PyPI into
# .venv. Options go to the bench: see benches/compare.rs.
set -eu
cd "$(dirname "$0")/../.."
if [ ! -x .venv/bin/python ]; then python3 -m venv .venv; fi
if ! .venv/bin/python -c 'import devito' 2>/dev/null; then .venv/bin/pip install --quiet devito; fi
threads=${RAYON_NUM_THREADS:-$(nproc)}
script="$PWD/benches/peers/devito_acoustic.py"
export TEMBLOR_DEVITO="'$PWD/.venv/bin/python' '$script' --threads $threads"
exec cargo bench --bench compare -- "$@"

#!/usr/bin/env bash
# Speed of SEG-Y beside plain reads and writes and segyio, in the same rounds. Options go to the bench.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -x .venv/bin/python ] || python3 -m venv .venv
.venv/bin/python -m pip install --quiet --disable-pip-version-check numpy segyio==1.9.14
TEMBLOR_SEGYIO="$PWD/.venv/bin/python $PWD/benches/peers/segyio_traces.py" \
    cargo bench --quiet -p temblor-io --bench segy -- "$@"

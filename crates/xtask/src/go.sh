#!/usr/bin/env bash
# Runs parts of a temblor bundle on a machine with a card. Usage: ./go.sh PART [ARGUMENT...]
#   conformance             contract and agreement checks, every variant
#   physics                 physics checks, every variant
#   arithmetic              checks of reduced storage and digits, every arithmetic and variant
#   cuda [FILTER]           agreement with f64, graphs, memory
#   verify [ARGUMENT...]    temblor verify --backend cuda
#   throughput [CASE [VARIANT]] [--graph STEPS] [--one-by-one]
#   patch [FILTER]          patch kernels against the interpreter, every schedule
#   patch_rates [CASE [SCHEDULE...]] [--no-apply]
#   digits [FILTER]         steps by INT8 digits against f64, every engine
#   stored [FILTER]         reduced storage against f64 and its own definition
#   arithmetic_rates [NODES [SECONDS]]   rates and errors of digits beside FP32
#   arithmetic_table [NAME...] [--short] errors of arithmetics over many steps
#   storage_rates [NODES [SECONDS]]      rates of reduced storage beside FP32
#   sanitizer [TOOL...]     compute-sanitizer (memcheck racecheck initcheck) on small runs of every variant,
#                           by digits and of stored fields too
#   devices                 what temblor finds
#   all                     conformance, physics, arithmetic, cuda, patch, digits, stored
# The exit status is that of the part; with several tests, the first that failed.
set -uo pipefail
cd "$(dirname "$0")" || exit 2

status=0
try() {
    printf '== %s\n' "$*"
    local start=$SECONDS
    "$@"
    local rc=$?
    printf '== rc %s after %s s: %s\n' "$rc" "$((SECONDS - start))" "$*"
    [ "$status" -ne 0 ] || status=$rc
}

conformance() { try tests/conformance cuda_ --nocapture "$@"; }
physics() { try tests/physics cuda_ --nocapture "$@"; }
arithmetic() { try bin/temblor conformance --backend cuda --family arithmetic "$@"; }

# One thread: two tests would share the card and its memory.
cuda() {
    try tests/agreement --ignored --test-threads=1 --nocapture "$@"
    try tests/card --ignored --test-threads=1 --nocapture "$@"
}

patch() {
    local program
    for program in tests/patch_card tests/patch_chunks_card tests/patch_sets_card; do
        try "$program" --ignored --test-threads=1 --nocapture "$@"
    done
}

digits() { try tests/digits_card --ignored --test-threads=1 --nocapture "$@"; }
stored() { try tests/stored --ignored --test-threads=1 --nocapture --skip probe "$@"; }

sanitizer() {
    local tool=compute-sanitizer
    command -v "$tool" >/dev/null || tool=/usr/local/cuda/bin/compute-sanitizer
    [ $# -gt 0 ] || set -- memcheck racecheck initcheck
    local check small
    for check in "$@"; do
        for small in agreement:small_runs_of_every_variant digits_card:small_runs_by_digits \
            stored:small_runs_of_stored_fields; do
            try "$tool" --tool "$check" --error-exitcode 1 "tests/${small%%:*}" --ignored \
                --test-threads=1 --exact "${small##*:}"
        done
    done
}

part=${1:-}
[ $# -eq 0 ] || shift
case $part in
conformance | physics | arithmetic | cuda | patch | digits | stored | sanitizer) "$part" "$@" ;;
verify) try bin/temblor verify --backend cuda "$@" ;;
throughput) try bin/throughput "$@" ;;
patch_rates) try bin/patch_rates "$@" ;;
arithmetic_rates) try bin/arithmetic_rates "$@" ;;
arithmetic_table) try bin/arithmetic_table cuda "$@" ;;
storage_rates) try bin/storage_rates "$@" ;;
devices) try bin/temblor devices "$@" ;;
all)
    conformance
    physics
    arithmetic
    cuda
    patch
    digits
    stored
    ;;
*)
    sed -n '2,20s/^# //p' "$0"
    exit 2
    ;;
esac
exit "$status"

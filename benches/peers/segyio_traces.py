"""Seconds that segyio takes to read all traces of a SEG-Y file and to write them to another one.

Usage: segyio_traces.py INPUT.sgy OUTPUT.sgy [--cpu-time]. Reads through `trace.raw[:]`, which
converts all samples to singles in one call, and writes through `trace =`, which leaves headers at
zero: its fastest ways. With --cpu-time, seconds are those that the process ran.
"""

import sys
import time

import segyio

source, output = sys.argv[1:3]
clock = time.process_time if "--cpu-time" in sys.argv else time.perf_counter
start = clock()
with segyio.open(source, ignore_geometry=True) as file:
    samples = file.trace.raw[:]
    read = clock() - start
    spec = segyio.spec()
    spec.format, spec.samples, spec.tracecount = file.format, file.samples, file.tracecount

start = clock()
with segyio.create(output, spec) as file:
    file.trace = samples
print(read, clock() - start)

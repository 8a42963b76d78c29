"""Seconds that segyio takes to read all traces of a SEG-Y file and to write them to another one.

Usage: segyio_traces.py INPUT.sgy OUTPUT.sgy. Reads through `trace.raw[:]`, which converts all samples to
singles in one call, and writes trace by trace with one header each, as its documentation shows.
"""

import sys
import time

import segyio

source, output = sys.argv[1:]
start = time.perf_counter()
with segyio.open(source, ignore_geometry=True) as file:
    samples = file.trace.raw[:]
    read = time.perf_counter() - start
    spec = segyio.spec()
    spec.format, spec.samples, spec.tracecount = file.format, file.samples, file.tracecount
    header = dict(file.header[0])

start = time.perf_counter()
with segyio.create(output, spec) as file:
    for number, trace in enumerate(samples):
        file.header[number] = header
        file.trace[number] = trace
print(read, time.perf_counter() - start)

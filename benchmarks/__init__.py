"""Speed, measured: `python -m benchmarks [SCENARIO …]` prints what this machine does; no test asserts it."""

"""Speed, measured: `python -m benchmarks [SCENARIO …]` tells what this machine does; no test asserts it."""

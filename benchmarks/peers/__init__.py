"""Tocsin and its peers side by side on one machine: `python -m benchmarks.peers [PEER …]`."""

"""What runs Tocsin outside of its tests: units, and servers of this machine. Not in the wheel."""

"""
Whether the node of this container serves requests: exits with 0 if so, for HEALTHCHECK in an image without curl.

It asks the port of the probes if there is one, else that of the API.
"""

from __future__ import annotations

import os
import sys
import urllib.request


def main() -> None:
    """Ask once; an answer that is no success, and none at all, end with 1 and a line that says why."""
    port = os.environ.get("TOCSIN_PROBE_PORT") or os.environ.get("TOCSIN_PORT") or "8080"
    try:
        # Loopback is served whatever the allowed hosts are, and no proxy knows it.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        opener.open(f"http://127.0.0.1:{port}/health", timeout=4).close()
    except OSError as error:
        sys.exit(f"port {port}: {error}")


if __name__ == "__main__":
    main()

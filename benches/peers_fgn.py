"""Python's `stochastic` on a path of 2^24 points of fractional Gaussian noise: its time, and how many of ours that is.

usage: peers_fgn.py FGN, the file with what the bench `fgn` printed. The first path also pays for the eigenvalues, which
the second one has.
"""

import re
import sys
import time

from stochastic.processes.noise import FractionalGaussianNoise

POINTS = 2**24

fgn = open(sys.argv[1]).read()
noise = FractionalGaussianNoise(hurst=0.8)
for ours in ["first call, with the plan", "planned before"]:
    row = re.search(rf"^{ours} +\d+ ms +(\d+) ms", fgn, re.MULTILINE)
    if row is None:
        sys.exit(f"{sys.argv[1]}: no row `{ours}` to compare with")
    start = time.perf_counter()
    noise.sample(POINTS)
    took_ms = (time.perf_counter() - start) * 1e3
    print(f"stochastic, {ours:<26} {took_ms:>7.0f} ms: {took_ms / float(row[1]):.1f} times as long as sojourn", flush=True)

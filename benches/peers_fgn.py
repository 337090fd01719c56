"""Python's `stochastic` on a path of 2^24 points of fractional Gaussian noise. Prints one line: NAME POINTS_PER_SECOND.

The first path also pays for the eigenvalues, which the second one has.
"""

import time

from stochastic.processes.noise import FractionalGaussianNoise

POINTS = 2**24

noise = FractionalGaussianNoise(hurst=0.8)
for name in ["stochastic-fgn-first", "stochastic-fgn"]:
    start = time.perf_counter()
    noise.sample(POINTS)
    print(f"{name} {POINTS / (time.perf_counter() - start):.0f}", flush=True)

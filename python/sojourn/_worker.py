"""A process that asks points of a sweep: `python -m sojourn._worker`, which `sojourn.sweep(on="processes")` starts.

Standard input has the job, then numbers of points and of their requests (0: their own affair), a line each; standard output gets
a record for each, or `!` and what went wrong. It ends with its standard input, also in the middle of a point: then nothing is left
that would read a record.
"""

from __future__ import annotations

import os
import pickle
import queue
import sys
import threading


def main() -> None:
    """Until standard input ends."""
    # What a policy prints is not a record.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    source = sys.stdin.buffer
    length = int.from_bytes(source.read(8), "little")
    job = pickle.loads(source.read(length))
    from sojourn._sweep import work

    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def read() -> None:
        for line in source:
            lines.put(line)
        os._exit(0)

    threading.Thread(target=read, name="input", daemon=True).start()
    while True:
        try:
            number, requests = lines.get().split()
            said = work(job, int(number), int(requests) or None)
        except Exception as error:
            said = "!" + " ".join(f"{type(error).__name__}: {error}".split())
        out.write(said + "\n")
        out.flush()


if __name__ == "__main__":
    main()

"""The program that the wheel ships: where it is, and running it as a child that ends with us."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import threading
from pathlib import Path

from sojourn._errors import InputError, Interrupted, RunError

# What the program is asked to do when its standard input ends: as if it were interrupted (crates/sojourn/src/interrupt.rs).
_STOP = "SOJOURN_STOP_AT_END_OF_INPUT"


def program() -> str:
    """The path of the command line's program: ``$SOJOURN_PROGRAM``, the wheel's own, or the one on the path.

    Raises:
        InputError: when there is none.
    """
    named = os.environ.get("SOJOURN_PROGRAM")
    if named:
        if not os.access(named, os.X_OK):
            raise InputError(f"SOJOURN_PROGRAM: {named} is no program")
        return named
    # As installers place scripts: of this environment, of --user, and beside the package where it is in a --target folder.
    user = sysconfig.get_preferred_scheme("user")
    folders = [
        sysconfig.get_path("scripts"),
        sysconfig.get_path("scripts", scheme=user),
        str(Path(__file__).parent.parent / "bin"),
        str(Path(sys.executable).parent),
    ]
    for folder in folders:
        found = Path(folder) / "sojourn"
        if found.is_file() and os.access(found, os.X_OK):
            return str(found)
    found_on_path = shutil.which("sojourn")
    if found_on_path:
        return found_on_path
    raise InputError(
        "the program `sojourn` is not found: install the wheel (what was built from the source distribution has none), or name it by "
        "SOJOURN_PROGRAM"
    )


def call(arguments: list[str], ok: tuple[int, ...] = (0,)) -> tuple[str, str]:
    """Runs the program and gives what it printed: standard output, and standard error.

    It ends when this process does. Ctrl-C ends it within a second.

    Raises:
        InputError: for exit code 2.
        RunError: for any other code that is not in ``ok``.
        Interrupted: on Ctrl-C.
    """
    child = subprocess.Popen(
        [program(), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {_STOP: "1"},
        # The terminal's Ctrl-C is ours to pass on, once.
        start_new_session=True,
    )
    try:
        # Standard input stays open: its end is what stops the child.
        out, err = _communicate(child)
    except KeyboardInterrupt:
        if child.stdin:
            child.stdin.close()
        try:
            child.wait(timeout=0.8)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        raise Interrupted(None) from None
    finally:
        for stream in (child.stdin, child.stdout, child.stderr):
            if stream and not stream.closed:
                stream.close()
    said = err.strip()
    last = said.splitlines()[-1].removeprefix("sojourn: ") if said else f"it ended with code {child.returncode}"
    if child.returncode == 2:
        raise InputError(last)
    if child.returncode not in ok:
        raise RunError(last)
    return out, err


def _communicate(child: subprocess.Popen[str]) -> tuple[str, str]:
    """Standard output and error to their ends, with standard input left open."""
    said: dict[str, str] = {}

    def read(name: str, stream: object) -> None:
        said[name] = stream.read()  # type: ignore[attr-defined]

    readers = [
        threading.Thread(target=read, args=(name, stream), daemon=True)
        for name, stream in (("out", child.stdout), ("err", child.stderr))
    ]
    for reader in readers:
        reader.start()
    for reader in readers:
        while reader.is_alive():
            reader.join(timeout=0.1)
    child.wait()
    return said.get("out", ""), said.get("err", "")

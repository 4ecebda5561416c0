"""How the scripts of this folder end: what is missing, and what a program says
that failed, is one line and exit status 1."""

import pathlib
import subprocess
import sys


def last_line(text):
    """The last words of a program that failed."""
    lines = (text or "").strip().splitlines()
    return lines[-1] if lines else "it says no more"


def complaint(error):
    """What an error means to those who run a script."""
    if isinstance(error, ModuleNotFoundError):
        return f"needs the Python package {error.name}"
    if isinstance(error, FileNotFoundError):
        return f"there is no {error.filename}"
    name = pathlib.Path(error.cmd[0]).name
    return f"{name}: exit status {error.returncode}: {last_line(error.stderr)}"


def run_script(main):
    """Calls `main`."""
    try:
        main()
    except (ModuleNotFoundError, FileNotFoundError,
            subprocess.CalledProcessError) as error:
        sys.exit(f"{pathlib.Path(sys.argv[0]).name}: {complaint(error)}")

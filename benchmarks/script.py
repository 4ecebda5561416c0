"""Error handling of the scripts in this folder: a missing file or package, or
the failure of a program, is reported in one line with exit status 1, a name
that an option does not know with exit status 2."""

import argparse
import pathlib
import subprocess
import sys


def last_line(text):
    """The last line of output of a program that failed."""
    lines = (text or "").strip().splitlines()
    return lines[-1] if lines else "no error output"


def complaint(error):
    """The message for an error."""
    if isinstance(error, ModuleNotFoundError):
        return f"needs the Python package {error.name}"
    if isinstance(error, FileNotFoundError):
        return f"there is no {error.filename}"
    name = pathlib.Path(error.cmd[0]).name
    return f"{name}: exit status {error.returncode}: {last_line(error.stderr)}"


def comma_list(known):
    """An argument's type: names of `known`, separated by commas."""
    def parse(text):
        names = text.split(",")
        for name in names:
            if name not in known:
                raise argparse.ArgumentTypeError(
                    f"{name!r} is not one of {', '.join(known)}")
        return names
    return parse


def run_script(main):
    """Calls `main`; reports errors."""
    try:
        main()
    except (ModuleNotFoundError, FileNotFoundError,
            subprocess.CalledProcessError) as error:
        sys.exit(f"{pathlib.Path(sys.argv[0]).name}: {complaint(error)}")

"""The facts about a run that its committed result states."""

import json
import os
import pathlib
import platform
import subprocess
import sys
import time


def cpu_model():
    """The processor's name, or the architecture if the system does not tell."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.machine()


def system_name():
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        return platform.system()


def spillway_commit():
    """The commit of this checkout, followed by "-dirty" if it has changes."""
    folder = pathlib.Path(__file__).resolve().parent
    described = subprocess.run(
        ["git", "-C", folder, "describe", "--always", "--dirty", "--abbrev=12"],
        capture_output=True, text=True, check=False)
    return described.stdout.strip() or "unknown"


def run_facts(threads, versions=None):
    """date, command, machine and versions, as the head of a JSON result.

    `versions`: name to version of everything but Spillway and Python.
    """
    return {"date": time.strftime("%Y-%m-%d"),
            "command": " ".join(sys.argv),
            "machine": {"cpu": cpu_model(), "threads": threads,
                        "cores": len(os.sched_getaffinity(0)),
                        "system": system_name()},
            "versions": {"spillway": spillway_commit(),
                         **(versions or {}),
                         "python": platform.python_version()}}


def write_result(path, result):
    """Writes `result` as the JSON file of a committed result."""
    text = json.dumps(result, indent=2) + "\n"
    pathlib.Path(path).write_text(text, encoding="utf-8")

"""Programs of a bundle, run within a deadline."""

import glob
import json
import os
import pathlib
import subprocess
import sys
import time


class Failed(Exception):
    """A program failed; the message is its last line of output."""


class Clock:
    """Counts down `seconds`. `now`: returns the time in seconds."""

    def __init__(self, seconds, now=time.monotonic):
        self.seconds = seconds
        self.now = now
        self.begin = now()

    def taken(self):
        return self.now() - self.begin

    def left(self):
        return self.seconds - self.taken()


def library_folders():
    """The folders of CUDA libraries that were installed as Python packages."""
    folders = []
    for path in sys.path:
        folders += glob.glob(os.path.join(path, "nvidia", "*", "lib"))
    return folders


class Bundle:
    """The programs of `folder` on one device; results go to `out`.

    quick: all steps have tiny images, for every network.
    """

    def __init__(self, folder, device, out, seconds, quick=False):
        self.programs = pathlib.Path(folder).resolve() / "bin"
        self.device = device
        self.quick = quick
        self.out = pathlib.Path(out)
        self.clock = Clock(seconds)
        self.environment = dict(os.environ)
        paths = [self.environment.get("LD_LIBRARY_PATH"), *library_folders()]
        self.environment["LD_LIBRARY_PATH"] = ":".join(filter(None, paths))

    @property
    def on_gpu(self):
        return self.device.startswith("cuda")

    def process(self, command, log=None, environment=None, seconds=None):
        """The finished process. `log`: file for all of its output.
        `environment`: variables in addition. `seconds`: the most that it may
        take, if the time is not over before."""
        left = max(1, self.clock.left())
        try:
            done = subprocess.run(
                [str(part) for part in command],
                env=self.environment | (environment or {}),
                capture_output=True, text=True, check=False,
                timeout=left if seconds is None else min(left, seconds))
        except subprocess.TimeoutExpired as error:
            raise Failed(f"{pathlib.Path(command[0]).name} was stopped: "
                         "the time is over") from error
        if log is not None:
            (self.out / log).write_text(done.stdout + done.stderr,
                                        encoding="utf-8")
        return done

    def step_flags(self, model, batch, precision="fp32", image_size=0):
        """Flags of a plain training step, the same for every command."""
        side, classes = (12, 10) if self.quick else (image_size, 0)
        return [f"--model={model}", f"--batch_size={batch}",
                f"--precision={precision}", f"--image_size={side}",
                f"--num_classes={classes}", "--optimizer=sgd",
                "--weight_decay=0"]

    def spillway(self, command, *arguments, device=None, environment=None):
        """Standard output of `spillway COMMAND` on the device."""
        done = self.process([self.programs / "spillway", command,
                             f"--device={device or self.device}", *arguments],
                            environment=environment)
        if done.returncode == 0:
            return done.stdout
        words = done.stderr.strip().splitlines()[-1:] or ["no message"]
        raise Failed(f"{command}: exit status {done.returncode}: {words[0]}")

    def result(self, command, name, *arguments, device=None, environment=None):
        """The JSON result of `spillway COMMAND`; kept as NAME.json."""
        path = self.out / f"{name}.json"
        self.spillway(command, *arguments, f"--json={path}", device=device,
                      environment=environment)
        return read_json(path)


def read_json(path):
    return json.loads(pathlib.Path(path).read_text(encoding="utf-8"))

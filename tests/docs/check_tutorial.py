#!/usr/bin/env python3
"""Follows docs/tutorial.md with an installed package: writes its files,
runs its commands in order, and compares exit statuses and outputs.

The comment before a block says what it is:
  <!-- file: NAME -->             a file of the current folder
  <!-- run -->                    commands for a shell
  <!-- run: exit status N -->     the same, which fail
  <!-- output -->                 what the commands before it print
  <!-- not run: REASON -->

Outputs are compared word by word. Numbers may differ, since they depend on the
machine; "..." stands for any text. HOME is the work folder, in which
~/spillway is the installed package. Exit status 1: the page is wrong."""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

import markdown

PAGE = pathlib.Path(__file__).parents[2] / "docs/tutorial.md"
CHECKSUM = re.compile(r"\b[0-9a-f]{16}\b")
NUMBER = re.compile(r"\d+(\.\d+)?")
SIZE = re.compile(r"# ([KMG]i)?B\b")


class Wrong(Exception):
    """The output of the commands differs from the page."""


def words(text):
    """The text without the parts that depend on the machine."""
    text = NUMBER.sub("#", CHECKSUM.sub("#", text))
    return " ".join(SIZE.sub("# B", text).split())


def matches(expected, printed):
    parts = [re.escape(words(part)) for part in expected.split("...")]
    return re.fullmatch(r"\s*" + r".*".join(parts) + r"\s*", words(printed),
                        re.DOTALL) is not None


class Shell:
    """Runs blocks in order; folder and variables persist."""

    def __init__(self, home):
        self.state = home / ".state"
        self.state.write_text(f"cd '{home}'\n")
        self.environment = {
            "HOME": str(home),
            "PATH": os.environ["PATH"],
            "OMP_WAIT_POLICY": "passive",  # other programs may run
            "TERM": "dumb",
        }

    def folder(self):
        return pathlib.Path(self.run("pwd").stdout.strip())

    def run(self, commands):
        keep = f"{{ export -p; echo \"cd '$PWD'\"; }} > '{self.state}'"
        script = f"source '{self.state}'\ntrap \"{self.quote(keep)}\" EXIT\n"
        script += f"set -e\n{commands}"
        return subprocess.run(["bash", "-c", script], env=self.environment,
                              stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False)

    @staticmethod
    def quote(text):
        return re.sub(r'(["$])', r"\\\1", text)


def run_block(shell, block):
    status = re.fullmatch(r"run(?:: exit status (\d+))?", block.mark)
    if not status:
        raise Wrong(f"line {block.line}: what is '{block.mark}'?")
    print(block.text, end="", flush=True)
    done = shell.run(block.text)
    print(done.stdout + done.stderr, end="", flush=True)
    if done.returncode != int(status[1] or 0):
        raise Wrong(f"line {block.line}: exit status {done.returncode}")
    return done


def compare(block, done):
    if done is None:
        raise Wrong(f"line {block.line}: an output without commands")
    either = (done.stdout + done.stderr, done.stderr + done.stdout)
    if not any(matches(block.text, printed) for printed in either):
        raise Wrong(f"line {block.line}: the page shows another output:\n"
                    f"{block.text}")


def follow(page, home):
    """Errors: Wrong, naming the line of the page."""
    shell = Shell(home)
    done = None
    checksums = []
    for block in markdown.blocks(page):
        if block.mark.startswith("file: "):
            (shell.folder() / block.mark[len("file: "):]).write_text(block.text)
        elif block.mark == "output":
            compare(block, done)
        elif not block.mark.startswith("not run: "):
            done = run_block(shell, block)
            checksums += re.findall(r"^checksum of all variables: (.*)$",
                                    done.stdout, re.MULTILINE)
    # The page promises this for its first two runs.
    if len(set(checksums[:2])) > 1:
        raise Wrong(f"with and without a budget: {' and '.join(checksums[:2])}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("install_folder", type=pathlib.Path)
    parser.add_argument("work_folder", type=pathlib.Path,
                        help="is deleted first, with everything in it")
    arguments = parser.parse_args()
    home = arguments.work_folder.resolve()
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    (home / "spillway").symlink_to(arguments.install_folder.resolve())
    try:
        follow(PAGE.read_text(), home)
    except Wrong as wrong:
        print(f"check_tutorial: docs/tutorial.md: {wrong}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

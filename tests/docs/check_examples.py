#!/usr/bin/env python3
"""Runs the `$ spillway ...` examples of README.md and docs/ in order, in one
folder per page, and compares their output with the page. Lines that make files
(`$ mkdir`, `$ cat`, `$ cp`) run, too.

Words must be equal. Numbers may differ by 10 %, since workspaces depend on the
CPU. Times, rates and percentages may have any value, and so may anything that
the page writes as "...". After a comment "numbers of another machine", all
numbers may have any value until the next text, and after "output of another
machine" the words, too. Examples without output on the page must succeed, and
are made short. The output of a refused example begins
with "spillway: ". Exit status 1: a page is wrong."""

import argparse
import dataclasses
import functools
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import markdown

ROOT = pathlib.Path(__file__).parents[2]
PROMPT = re.compile(r"    \$ (?:build/release/bin/)?((?:spillway|mkdir|cat|cp) .*)")
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
CHECKSUM = re.compile(r"[0-9a-f]{16}")
FREE_NUMBERS = "<!-- numbers of another machine -->"
FREE_OUTPUT = "<!-- output of another machine -->"
TIME_UNITS = {"ns", "us", "ms", "s"}
FREE_UNITS = TIME_UNITS | {"images/s", "GB/s", "%"}
TOLERANCE = 0.1

# For commands that take minutes otherwise.
ONE_STEP = " --num_batches=1 --num_warmup_batches=0"
ONNX_MODEL = "--onnx resnet50.onnx"
LENGTH = re.compile(r"(--num_steps|--num_epochs) \d+")
MODEL = re.compile(r"--model \S+ --batch_size \d+")


@dataclasses.dataclass
class Example:
    """A command, its output on the page ("": none), and its place."""

    command: str
    output: str
    line: int  # from 1
    mark: str  # FREE_NUMBERS, FREE_OUTPUT or other text

    def shortened(self):
        name = self.command.split()[1]
        if name == "profile":
            return MODEL.sub("--model resnet20 --batch_size 4",
                             self.command) + ONE_STEP
        if "--frontier" in self.command:
            return MODEL.sub("--model lenet --batch_size 64", self.command)
        if name == "bench" and not self.output:
            return self.command + ONE_STEP
        if name == "train" and not self.output:
            return LENGTH.sub(r"\1 1", self.command)
        return self.command


def examples(page):
    found = []
    current = None
    continues = False
    mark = ""
    for number, line in enumerate(page.split("\n"), 1):
        prompt = PROMPT.match(line)
        if prompt:
            current = Example(prompt[1], "", number, mark)
            found.append(current)
            continues = line.endswith("\\")
        elif current and continues:
            current.command = current.command[:-1] + line.strip()
            continues = line.endswith("\\")
        elif current and line.startswith("    ") and not line[4:].startswith("$ "):
            current.output += line[4:] + "\n"
        elif line.strip():
            current = None
            mark = line
    for example in found:
        example.command = re.sub(r" +#.*", "", example.command)
    return found


def same_number(shown, printed):
    return math.isclose(float(shown), float(printed), rel_tol=TOLERANCE,
                        abs_tol=1e-9)


def same_word(shown, printed, is_free):
    """`is_free`: its numbers are times or rates."""
    if "..." in shown:
        parts = [re.escape(part) for part in shown.split("...")]
        return re.fullmatch(".*".join(parts), printed) is not None
    if shown in TIME_UNITS:
        return printed in TIME_UNITS
    if CHECKSUM.fullmatch(shown):
        return CHECKSUM.fullmatch(printed) is not None
    if NUMBER.sub("#", shown) != NUMBER.sub("#", printed):
        return False
    return is_free or all(map(same_number, NUMBER.findall(shown),
                              NUMBER.findall(printed)))


def matches(shown_text, printed_text, are_free=False):
    shown, printed = shown_text.split(), printed_text.split()

    @functools.cache
    def tail_matches(i, j):
        if i == len(shown):
            return j == len(printed)
        if shown[i] == "...":
            return tail_matches(i + 1, j) or (j < len(printed)
                                              and tail_matches(i, j + 1))
        is_free = are_free or (
            i + 1 < len(shown) and shown[i + 1].strip(",;:)") in FREE_UNITS)
        return (j < len(printed) and same_word(shown[i], printed[j], is_free)
                and tail_matches(i + 1, j + 1))

    sys.setrecursionlimit(10 * (len(shown) + len(printed)) + 1000)
    return tail_matches(0, 0)


def missing(example, folder):
    """What the example needs but this machine lacks, or ""."""
    file = re.search(r"--csv (\S+)", example.command)
    if file and not (folder / file[1]).exists():
        return f"{file[1]}, an instance of MiniMalloc's benchmark"
    model = re.search(r"--onnx (\S+)", example.command)
    if model and not (folder / model[1]).exists():
        return f"{model[1]}, a model that torchvision exports"
    if "| man " in example.command and not shutil.which("man"):
        return "man"
    return ""


profiles = {}  # by command: those that measure this machine


def run(command, folder, environment):
    if command in profiles:
        return profiles[command]
    print(f"$ {command}", flush=True)
    start = time.monotonic()
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=folder,
                          env=environment, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    print(done.stdout + done.stderr, end="")
    print(f"({time.monotonic() - start:.0f} s)", flush=True)
    if command.startswith("spillway profile"):
        profiles[command] = done
    return done


def check(example, folder, environment):
    """A description of the failure, or ""."""
    command = example.shortened()
    done = run(command, folder, environment)
    expected = 3 if example.output.startswith("spillway: ") else 0
    if done.returncode != expected:
        return f"exit status {done.returncode}"
    printed = (done.stdout, done.stderr + done.stdout, done.stdout + done.stderr)
    if not example.output or example.mark == FREE_OUTPUT:
        return ""
    are_free = example.mark == FREE_NUMBERS
    if not any(matches(example.output, text, are_free) for text in printed):
        return f"the page shows another output:\n{example.output}"
    return ""


def prepare(folder, page, onnx_files):
    """The files that examples have from elsewhere: cli.md's graph from
    graph_file.md, and what is in `onnx_files` for pages of ONNX models."""
    folder.mkdir(parents=True)
    (folder / ".config/fish/completions").mkdir(parents=True)
    first = markdown.blocks((ROOT / "docs/graph_file.md").read_text())[0]
    (folder / "polynomial.json").write_text(first.text)
    if ONNX_MODEL in page:
        for file in onnx_files.iterdir():
            os.link(file, folder / file.name)


def write_onnx_files(folder):
    """Writes none without Debian's torchvision."""
    done = subprocess.run(["/usr/bin/python3", ROOT / "tests/docs/onnx_files.py",
                           folder], check=False)
    if done.returncode not in (0, 3):
        sys.exit("check_examples: onnx_files.py failed")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("install_folder", type=pathlib.Path)
    parser.add_argument("work_folder", type=pathlib.Path,
                        help="is deleted first, with everything in it")
    parser.add_argument("pages", type=pathlib.Path, nargs="*",
                        default=[ROOT / "README.md",
                                 *sorted((ROOT / "docs").glob("*.md"))])
    options = parser.parse_args()
    work = options.work_folder.resolve()
    shutil.rmtree(work, ignore_errors=True)
    path = f"{options.install_folder.resolve()}/bin:{os.environ['PATH']}"
    onnx_files = work / "onnx_files"
    onnx_files.mkdir(parents=True)
    if any(ONNX_MODEL in page.read_text() for page in options.pages):
        write_onnx_files(onnx_files)
    wrong = []
    for page in options.pages:
        folder = work / page.stem
        prepare(folder, page.read_text(), onnx_files)
        environment = {"HOME": str(folder), "PATH": path, "TERM": "dumb",
                       "OMP_WAIT_POLICY": "passive"}
        for example in examples(page.read_text()):
            lacking = missing(example, folder)
            if lacking:
                print(f"left out, for want of {lacking}: {example.command}")
                continue
            reason = check(example, folder, environment)
            if reason:
                wrong.append(f"check_examples: {page.name}:{example.line}: {reason}")
                print(wrong[-1], file=sys.stderr)
    if wrong:  # once more, below the output of all other examples
        print("\n".join(["check_examples: wrong pages:", *wrong]), file=sys.stderr)
    return min(len(wrong), 1)


if __name__ == "__main__":
    sys.exit(main())

"""Starts a script as several ranks on this machine:

    python -m spillway.launch -n 2 train.py --epochs 3

Lines of the ranks come with their number, "[1] loss 0.42". The first rank that
fails ends the others; its exit status is that of this program. The script calls
spillway.workers().
"""

import argparse
import sys

from ._spillway import _launch


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="python -m spillway.launch",
        description="Starts a script as several ranks on this machine.")
    parser.add_argument("-n", "--num_ranks", type=int, required=True,
                        help="processes to start")
    parser.add_argument("--log_dir", default="", metavar="FOLDER",
                        help="also write the output of each rank to rank_N.log there")
    parser.add_argument("--max_restarts", type=int, default=0, metavar="K",
                        help="after a failure, start all ranks again, up to K times; "
                             "for scripts that go on from a checkpoint")
    parser.add_argument("--grace", type=float, default=10, metavar="SECONDS",
                        help="from SIGTERM to SIGKILL for the other ranks; default 10")
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    given = parser.parse_args(arguments)
    if given.max_restarts < 0 or given.grace < 0:
        parser.error("--max_restarts and --grace are not negative")
    status, reason = _launch([sys.executable, given.script, *given.arguments],
                             ranks=given.num_ranks, log_dir=given.log_dir,
                             max_restarts=given.max_restarts, grace=given.grace)
    if reason:
        print(f"spillway.launch: {reason}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())

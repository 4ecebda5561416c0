#!/usr/bin/env bash
# Runs a command that must end with the given exit status.
# usage: check_exit_status.sh STATUS COMMAND [ARGUMENT...]
set -uo pipefail
expected=$1
shift
"$@"
status=$?
[[ $status -eq $expected ]] || {
  printf 'check_exit_status: status %s, not %s: %s\n' "$status" "$expected" "$*" >&2
  exit 1
}

#!/usr/bin/env bash
# Checks the completions that bash offers after <TAB> with spillway's script.
# Bash's line editor is not needed: this script also sets COMP_WORDS and calls
# the function.
# usage: check_bash_completion.sh SCRIPT
set -euo pipefail
script=$1
cd "$(mktemp --directory)"
trap 'rm --recursive "$PWD"' EXIT
touch 'a plan.json'
mkdir folder

fail() {
  printf 'check_bash_completion: %s\n' "$*" >&2
  exit 1
}

# offers WORD...: prints the offers for the last of the words, on one line. The
# builtin compopt fails outside of the line editor, so there is no errexit.
offers() {
  bash --norc -uc '
    source "$1"
    shift
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    $(complete -p spillway | sed "s/.* -F \([^ ]*\) .*/\1/")
    printf "%s\n" "${COMPREPLY[@]}"' bash "$script" "$@" | paste --serial --delimiters=' '
}

expect() {
  local expected=$1 offered
  shift
  offered=$(offers "$@") || fail "no offers for '$*'"
  [[ $offered == "$expected" ]] || fail "'$*' offers '$offered', not '$expected'"
}

# Words that must be among the offers.
expect_among() {
  local word offered
  offered=" $(offers "${@:2}") " || fail "no offers for '${*:2}'"
  for word in $1; do
    [[ $offered == *" $word "* ]] || fail "'${*:2}' offers '$offered', not '$word'"
  done
}

bash -n "$script"
expect train spillway tr
expect_among "bench help --version" spillway ''
expect_among "off auto v1 v2" spillway train --lms ''
expect auto spillway train --lms a
expect auto spillway train --lms = a
expect "off auto v1 v2" spillway train --lms =
expect --lms=auto spillway train --lms=a
expect "resnet50 resnet50_v1.5 resnet50_v2" spillway bench --model resnet50
expect_among "p100_pcie folder a plan.json" spillway tune --profile ''
expect p100_nvlink spillway tune --profile p100_n
expect "a plan.json" spillway run --plan a
expect folder spillway train --data_dir ''
expect "" spillway train --batch_size ''
expect "--lms_compat --lms_ctrld_strategy" spillway train --lms off --lms_c
expect "true false" spillway train --lms_compat = ''
expect_among "true --model" spillway train --lms_compat ''
expect_among "--model --json" spillway train --lms auto ''
expect "" spillway edit --mod
expect "bash zsh fish --help --help_all" spillway completion ''
expect tune spillway help tu
expect "" spillway nothing --

#!/usr/bin/env bash
# Trains a network on a device that is too small for it: the device has 40 % of
# the memory that a training step takes without a budget, and less than it takes
# in the order of its nodes that needs the least. Run by `./dev demo`.
#
#   tools/demo.sh [PROGRAM [DATA_DIR]]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

program=${1:-build/release/bin/spillway}
data_dir=${2:-/usr/share/datasets/fashion-mnist}
percent=40
least_accuracy=0.86
model=(--model resnet20 --batch_size 128
  --optimizer momentum --learning_rate 0.1 --lr_schedule linear)
images=(--image_size 28 --channels 1)  # those of the data
training=(--data fashion_mnist --data_dir "$data_dir" --num_epochs 1)

folder=$(mktemp --directory)
trap 'rm --recursive "$folder"' EXIT

say() { printf '\n== %s\n' "$*"; }
fail() {
  printf 'demo: %s\n' "$*" >&2
  exit 1
}

# Shows the command, then runs it.
spillway() {
  printf '$ spillway %s\n' "$*"
  "$program" "$@"
}

# Prints the first number after KEY in a JSON result (one key per line), or the
# number after the first INNER key that follows it: number FILE KEY [INNER].
number() {
  awk -v key="\"$2\":" -v inner="\"${3:-$2}\":" '
    index($0, key) { seen = 1 }
    seen && index($0, inner) { gsub(/[^0-9.]/, "", $2); print $2; exit }
  ' "$1"
}

[[ -x $program ]] || fail "$program is not there; run ./dev build first"
[[ -d $data_dir ]] || fail "$data_dir is not there; run ./dev setup first"

say "What does a training step take when nothing limits it?"
spillway simulate "${model[@]}" "${images[@]}" --json "$folder/free.json"
peak=$(number "$folder/free.json" peak_device_bytes)
budget=$((peak * percent / 100))

say "And with its nodes in the order that needs the least memory?"
spillway simulate "${model[@]}" "${images[@]}" --schedule memory --json "$folder/least.json"
least=$(number "$folder/least.json" peak_device_bytes)
percent_of_least=$(((budget * 100 + least / 2) / least))

say "A device with $budget bytes, $percent % of the former and \
$percent_of_least % of the latter, is too small"
status=0
spillway train "${model[@]}" "${training[@]}" --device_memory $budget ||
  status=$?
[[ $status -eq 3 ]] || fail "expected exit status 3, not $status"
printf '(exit status 3: refused before anything ran)\n'

say "The same budget with large-model support: tensors leave and come back"
spillway train "${model[@]}" "${training[@]}" --device_memory $budget \
  --lms v1 --json "$folder/train.json"

accuracy=$(awk '/"test_accuracy":/ { last = $2 } END { print last + 0 }' \
  "$folder/train.json")
swapped=$(number "$folder/train.json" swap out_bytes)
predicted=$(number "$folder/train.json" peak_device_bytes predicted)
measured=$(number "$folder/train.json" peak_device_bytes measured)

say "Result"
printf 'unconstrained peak   %12d bytes\n' "$peak"
printf 'in the best order    %12d bytes\n' "$least"
printf 'budget               %12d bytes (%d %% and %d %% of these)\n' \
  "$budget" "$percent" "$percent_of_least"
printf 'predicted peak       %12d bytes\n' "$predicted"
printf 'measured peak        %12d bytes\n' "$measured"
printf 'swapped out a step   %12d bytes\n' "$swapped"
printf 'test accuracy        %12s\n' "$accuracy"

[[ $measured -eq $predicted ]] || fail "the peak was not as predicted"
[[ $measured -le $budget ]] || fail "the budget was overrun"
[[ $swapped -gt 0 ]] || fail "nothing was swapped"
awk -v a="$accuracy" -v least="$least_accuracy" 'BEGIN { exit !(a >= least) }' ||
  fail "the test accuracy is below $least_accuracy"
say "As promised: it trained in $percent_of_least % of the memory that it needs \
without swapping, in the best order"

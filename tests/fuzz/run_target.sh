#!/usr/bin/env bash
# Runs the fuzz target of a folder of seeds for a few seconds. New inputs go to
# a separate folder; the seeds do not change. The output comes at the end, in
# one piece, so that several targets can run at a time.
# usage: run_target.sh BUILD_FOLDER SEEDS
set -euo pipefail
build_folder=$1
seeds=$2
name=$(basename "$seeds")
found=$build_folder/corpus/$name
dictionary=()
[[ ! -f tests/fuzz/$name.dict ]] || dictionary=("-dict=tests/fuzz/$name.dict")
mkdir --parents "$found"

status=0
output=$("$build_folder/bin/${name}_fuzz" "${dictionary[@]}" \
  -max_total_time=6 -timeout=10 -verbosity=0 \
  -rss_limit_mb=2048 -print_final_stats=1 "-artifact_prefix=$build_folder/" \
  "$found" "$seeds" 2>&1) || status=$?
printf '== fuzz %s\n%s\n' "$name" "$output"
exit "$status"

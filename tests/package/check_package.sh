#!/usr/bin/env bash
# Uses an installed Spillway as a user does: its headers compile alone and
# without warnings, its CMake package is found and linked, its examples run.
# usage: check_package.sh INSTALL_FOLDER WORK_FOLDER
set -euo pipefail
source_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
install_folder=$(realpath "$1")
work_folder=$(realpath --canonicalize-missing "$2")
include=$install_folder/include
config_folder=$(dirname "$(find "$install_folder" -name spillwayConfig.cmake)")
data=/usr/share/datasets/fashion-mnist
export OMP_WAIT_POLICY=passive  # other programs may run

fail() {
  printf 'check_package: %s\n' "$*" >&2
  exit 1
}

# The headers that no source includes first. All others were compiled alone when
# the library was built; this is also checked here.
headers_without_source() {
  local header source first
  (cd "$include/spillway" && find . -name '*.h' -printf '%P\n' | sort) |
    while read -r header; do
      source=$source_folder/${header%.h}.cc
      if [[ ! -e $source ]]; then
        echo "$include/spillway/$header"
        continue
      fi
      first=$(grep --max-count=1 '^#include' "$source")
      [[ $first == "#include \"$header\"" ]] ||
        fail "$source does not include $header first"
    done
}

check_headers() {
  local compiler=$1
  shift
  printf '%s\0' "$@" |
    xargs --null --max-procs="$(nproc)" --max-args=1 \
      "$compiler" -std=c++20 -Wall -Wextra -Werror -fsyntax-only -I "$include" -x c++
}

# build NAME SOURCE [ARGUMENT...]: builds the project in SOURCE in its own
# folder.
build() {
  local name=$1 source=$2
  shift 2
  rm --recursive --force "${work_folder:?}/$name"
  cmake -S "$source" -B "$work_folder/$name" -G Ninja \
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$install_folder" "$@" \
    > "$work_folder/$name.log" 2>&1 &&
    cmake --build "$work_folder/$name" >> "$work_folder/$name.log" 2>&1
}

build_or_fail() {
  build "$@" || {
    cat "$work_folder/$1.log" >&2
    fail "$1 cannot be built"
  }
}

has_cuda_code() { readelf --section-headers --wide "$1" | grep --quiet nv_fatbin; }

# A program without the GPU links nothing of CUDA, and its CMake does not look
# for the toolkit.
check_cpu_program() {
  local said
  build_or_fail stranger "$source_folder/tests/package/stranger" \
    -DCMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit=ON
  said=$("$work_folder/stranger/stranger")
  [[ $said == *"own headers 7"* && $said == *"link spillway::cuda"* ]] ||
    fail "stranger says: $said"
  ! grep --quiet cudart "$work_folder/stranger/build.ninja" ||
    fail "stranger links cudart"
  ! has_cuda_code "$work_folder/stranger/stranger" ||
    fail "stranger contains GPU kernels"
}

check_gpu_program() {
  local said
  if [[ ! -e $config_folder/spillwayCudaTargets.cmake ]]; then
    ! build stranger_gpu "$source_folder/tests/package/stranger" -DGPU=ON ||
      fail "component cuda is found, but was not built"
    grep --quiet "built without CUDA" "$work_folder/stranger_gpu.log" ||
      fail "no word of the missing component in $work_folder/stranger_gpu.log"
    return
  fi
  build_or_fail stranger_gpu "$source_folder/tests/package/stranger" -DGPU=ON
  said=$("$work_folder/stranger_gpu/stranger")
  [[ $said != *"link spillway::cuda"* ]] || fail "stranger_gpu says: $said"
  has_cuda_code "$work_folder/stranger_gpu/stranger" ||
    fail "stranger_gpu contains no GPU kernels"
}

# The installed sources, not those of the repository.
check_examples() {
  local examples
  examples=$install_folder/share/doc/spillway/examples
  build_or_fail lenet "$examples/lenet"
  "$work_folder/lenet/lenet" "$data"
  build_or_fail residual "$examples/residual"
  "$work_folder/residual/residual" "$data"
  build_or_fail image_sizes "$examples/image_sizes"
  "$work_folder/image_sizes/image_sizes" "$data"
  build_or_fail own_op "$examples/own_op"
  "$work_folder/own_op/own_op"
}

main() {
  local headers
  mkdir --parents "$work_folder"
  "$install_folder/bin/spillway" --help > /dev/null
  headers=$(headers_without_source)
  mapfile -t headers <<< "$headers"
  check_headers "${CXX:-g++}" "${headers[@]}"
  [[ -z $(type -P clang++) ]] ||
    check_headers clang++ "$include/spillway/spillway.h"
  check_cpu_program
  check_gpu_program
  check_examples
}

main

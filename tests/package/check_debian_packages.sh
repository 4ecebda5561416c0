#!/usr/bin/env bash
# Checks the Debian packages: each file of an installation is in exactly one
# package, their fields are sane, and their manual page and completion scripts
# are valid.
# usage: check_debian_packages.sh INSTALL_FOLDER PACKAGES_FOLDER WORK_FOLDER
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
install_folder=$1
packages_folder=$2
work_folder=$3
version=$("$install_folder/bin/spillway" --version | cut --delimiter=' ' --fields=2)
program=$packages_folder/spillway_${version}_$(dpkg --print-architecture).deb
development=$packages_folder/libspillway-dev_${version}_$(dpkg --print-architecture).deb

fail() {
  printf 'check_debian_packages: %s\n' "$*" >&2
  exit 1
}

# check_field PACKAGE FIELD PATTERN: an extended regular expression for the
# field.
check_field() {
  local value
  value=$(dpkg-deb --field "$1" "$2")
  [[ $value =~ ^$3$ ]] || fail "$1: $2 is '$value', not '$3'"
}

check_fields() {
  local package relation='[a-z0-9.+-]+( \(>= [^ ()]+\))?'
  for package in "$program" "$development"; do
    [[ -f $package ]] || fail "there is no $package"
    check_field "$package" Version "$version"
    check_field "$package" Maintainer 'Spillway developers <[^ ]+@[^ ]+>'
    check_field "$package" Depends "$relation(, $relation)*"
    check_field "$package" Installed-Size '[1-9][0-9]+'
    check_field "$package" Description '[a-z][^.]{20,79}[^.]'$'\n''.*'
    [[ -z $(dpkg-deb --field "$package" Description | awk 'length > 80') ]] ||
      fail "$package: a line of its description is longer than 80 characters"
  done
  check_field "$program" Package spillway
  check_field "$program" Section science
  check_field "$program" Depends '.*libc6 \(>= .*libdnnl2.*'
  check_field "$development" Package libspillway-dev
  check_field "$development" Section libdevel
  # The packages that the CMake package looks for
  # (cmake/spillwayConfig.cmake.in).
  for package in libabsl-dev libdnnl-dev libfmt-dev libspdlog-dev nlohmann-json3-dev; do
    check_field "$development" Depends ".*$package \\(>= [0-9].*"
  done
  for package in libjpeg62-turbo-dev libpng-dev zlib1g-dev; do
    check_field "$development" Depends ".*$package.*"
  done
}

# Owners and modes follow Debian's policy; nothing is outside /usr.
check_entries() {
  local package bad
  for package in "$program" "$development"; do
    bad=$(dpkg-deb --contents "$package" |
      awk '$2 != "root/root" || $6 !~ "^\\./(usr/.*)?$" ||
           ($1 != "drwxr-xr-x" && $1 != "-rw-r--r--" &&
            !($1 == "-rwxr-xr-x" && $6 ~ "^\\./usr/bin/"))')
    [[ -z $bad ]] || fail "$package holds $bad"
  done
}

files_of() { dpkg-deb --contents "$1" | awk '$1 !~ "^d" {print $6}' | sort; }

check_files() {
  local package shared documents
  shared=$(comm -12 <(files_of "$program") <(files_of "$development"))
  [[ -z $shared ]] || fail "in both packages: $shared"
  for package in "$program" "$development"; do
    dpkg-deb --extract "$package" "$work_folder"
    documents=$work_folder/usr/share/doc/$(dpkg-deb --field "$package" Package)
    [[ -f $documents/copyright ]] || fail "$package has no copyright"
    [[ $(gzip --decompress --stdout "$documents/changelog.gz") == "spillway ($version) "* ]] ||
      fail "the changelog of $package does not begin with version $version"
  done
  diff --recursive --brief "$install_folder" "$work_folder/usr" ||
    fail "an installation and the packages hold different files"
  [[ $(files_of "$program") == *./usr/bin/spillway* ]] || fail "no program in $program"
  [[ $(files_of "$program") != *.h* ]] || fail "headers in $program"
}

check_man_page() {
  local page=$work_folder/usr/share/man/man1/spillway.1.gz text said
  said=$(gzip --decompress --stdout "$page" | groff -man -ww -z 2>&1)
  [[ -z $said ]] || fail "groff warns: $said"
  text=$(gzip --decompress --stdout "$page" |
    GROFF_NO_SGR=1 groff -man -Tascii -P -c -P -b -P -u)
  [[ $text == *"spillway train [FLAGS]"*"EXIT STATUS"* ]] ||
    fail "the manual page reads: $text"
  # A gzip header without a name (byte 4) and without a time (bytes 5 to 8).
  [[ $(od --address-radix=n --format=x1 --skip-bytes=3 --read-bytes=5 "$page") == \
    " 00 00 00 00 00" ]] || fail "$page has a name or a time in its header"
}

# Checks zsh and fish only if they exist: ./dev setup does not install them.
check_completion() {
  local share=$work_folder/usr/share offered
  "$here/check_bash_completion.sh" \
    "$(realpath "$share/bash-completion/completions/spillway")"
  [[ -z $(type -P zsh) ]] || zsh --no-exec "$share/zsh/vendor-completions/_spillway"
  [[ -n $(type -P fish) ]] || return 0
  offered=$(fish --no-config --command "
    source $share/fish/vendor_completions.d/spillway.fish
    complete --do-complete 'spillway tr'
    complete --do-complete 'spillway train --lms=v'" | cut --fields=1 | paste --serial)
  [[ $offered == $'train\t--lms=v1\t--lms=v2' ]] || fail "fish offers '$offered'"
}

main() {
  rm --recursive --force "$work_folder"
  mkdir --parents "$work_folder"
  check_fields
  check_entries
  check_files
  check_man_page
  check_completion
}

main

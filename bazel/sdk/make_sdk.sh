#!/bin/bash
# Packs the SDK: emulsion_sdk of bazel/sdk.bzl runs it. The last argument is a file with three lines for each
# file that goes in: its kind, where it is, where it goes.
set -eu

out=$1 version_header=$2 license=$3 ld=$4 ar=$5 contents=$6
version=$(sed -n 's/^#define EMULSION_VERSION "\(.*\)"/\1/p' "$version_header")
[ -n "$version" ] || {
  echo "make_sdk: expected a version in $version_header, got none" >&2
  exit 1
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/emulsion-sdk
mkdir -p "$root/lib"

# put FROM TO: a copy that everybody may read.
put() {
  mkdir -p "$(dirname "$root/$2")"
  cp -L "$1" "$root/$2"
  chmod 644 "$root/$2"
}

generator=() runtime=() archives=()
while read -r kind && read -r from && read -r to; do
  case $kind in
    header) put "$from" "include/$to" ;;
    example) put "$from" "example/$to" ;;
    shared) put "$from" "lib/$to" ;;
    generator) generator+=("$from") ;;
    runtime) if [[ $from == *.a ]]; then archives+=("$from"); else runtime+=("$from"); fi ;;
    template)
      case $to in
        *.pc) to=lib/pkgconfig/$to ;;
        *.cmake) to=lib/cmake/Emulsion/$to ;;
      esac
      mkdir -p "$(dirname "$root/$to")"
      sed "s/@VERSION@/$version/g" "$from" >"$root/$to"
      ;;
    *)
      echo "make_sdk: expected a kind of file, got $kind" >&2
      exit 1
      ;;
  esac
done <"$contents"
put "$license" LICENSE

# Members of one name are all kept. No times and owners.
"$ar" qcsD "$root/lib/libemulsion_generator.a" "${generator[@]}"

# One object file: Halide's weak functions give way to ours here, whatever an application links first.
"$ld" -r -o "$work/emulsion_runtime.o" "${runtime[@]}" --whole-archive "${archives[@]}"
"$ar" qcsD "$root/lib/libemulsion_runtime.a" "$work/emulsion_runtime.o"

tar -C "$work" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=go=rX,u+rw,a-s \
  -cf - emulsion-sdk | gzip -n -1 >"$out"

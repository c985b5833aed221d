#!/bin/sh
# Programs that tests use beside Python: installed where we are root and apt is there, else named.
set -eu
missing=""
for program in git zstd node npm; do
    command -v "$program" >/dev/null 2>&1 || missing="$missing $program"
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    packages=$(echo "$missing" | sed 's/ node/ nodejs/')
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq >/dev/null 2>&1 || true
    # shellcheck disable=SC2086
    if apt-get install -y -qq --no-install-recommends $packages >/dev/null 2>&1; then
        exit 0
    fi
fi
echo "these programs are missing, tests that need them are skipped:$missing" >&2

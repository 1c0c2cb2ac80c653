#!/bin/bash
# load.sh [ROUNDS]: microseconds to start a program without a preload, with libeatmydata, and with ours.
set -eu
cd "$(dirname "$0")/../.."
BUILD=${BUILD:-$PWD/build} rounds=${1:-7} starts=400
eatmydata=$(find /usr/lib -name 'libeatmydata.so*' | head -n 1)
once() { # NAME LIBRARY
	local start i
	start=$(date +%s%N)
	LD_PRELOAD=$2 "$BUILD/tests/exec" $starts /bin/true
	echo "load $1 seconds=$(awk "BEGIN { print ($(date +%s%N) - $start) / $starts / 1e9 * 1e3 }")e-3"
}
for ((i = 0; i < rounds; i++)); do
	once plain ''
	once eatmydata "$eatmydata"
	once fastalloc "$BUILD/libfastalloc.so"
done

#!/bin/sh
# Stands for the benchmark of a real server: prints a latency on its last line. Some runs fail, some hang.
threads=$1 cache=$2 policy=$3 seed=$4
case $((seed % 15)) in
    0) echo "connection refused" >&2; exit 1 ;;
    1) exec sleep 600 ;;
esac
echo "warming up"
awk -v t="$threads" -v c="$cache" -v p="$policy" -v s="$seed" 'BEGIN {
    noise = (s * 7919 % 1000) / 1000 - 0.5
    print 20 + (t - 12) ^ 2 / 20 + 30 * (c - 0.6) ^ 2 + (p == "fifo" ? 3 : 0) + 0.2 * noise
}'

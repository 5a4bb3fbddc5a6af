echo "the instrument is off" >&2
exit 3

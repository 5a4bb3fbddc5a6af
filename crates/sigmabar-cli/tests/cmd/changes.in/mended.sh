awk -v x="$1" 'BEGIN { print 1 - (x - 0.4) * (x - 0.4) }'

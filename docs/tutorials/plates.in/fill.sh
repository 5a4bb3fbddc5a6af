# Stands for an afternoon in the laboratory: every well gets a yield, one stays empty, one is spilt, one has bubbles.
awk -F, -v OFS=, 'NR == 1 { print; next }
    $1 == "B2" { print; next }
    $1 == "C3" { $6 = "failed"; $8 = "spilt"; print; next }
    $1 == "D4" { $8 = "bubbles" }
    { $6 = 60 - ($3 - 55) ^ 2 / 40 + $4 + ($5 == "thf" ? 5 : 0) + ($2 * 7919 % 100) / 200; print }' "$1" > filled && mv filled "$1"

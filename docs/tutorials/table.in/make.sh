# 400 measurements of a reaction; with `bad` as argument, one cell is a word.
awk -v bad="$1" 'BEGIN {
    print "temperature,ph,solvent,yield"
    for (i = 0; i < 400; i++) {
        t = 20 + (i * 7919 % 601) / 10; p = 4 + (i * 104729 % 501) / 100; s = (i % 3) ? "thf" : "dmso"
        y = 50 + 20 * sin(t / 15) + 5 * cos(p) + (s == "thf" ? 3 : 0) + (i * i * 7919 % 1009) / 504 - 1
        if (bad && i == 250) p = "acid"
        print t "," p "," s "," y
    }
}'

# Compares tables of the benchmark: those of files named a.N with those of files named b.N, row by row, by the median of ours.
# Exits with 1 if a row is worse by more than a tenth.

BEGIN { FS = "  +"; scale["us"] = 1e-6; scale["ms"] = 1e-3; scale["s"] = 1; scale["KB"] = 1024; scale["MB"] = 1048576; scale["/s"] = 1 }
FNR == 1 { side = FILENAME; sub(/.*\//, "", side); side = substr(side, 1, 1); inside = 0 }
/^row  / { inside = 1; next }
/^$/ { inside = 0 }
inside && NF >= 2 && split($2, figure, " ") == 2 && figure[2] in scale {
    if (!($1 in unit)) names[++rows] = $1
    unit[$1] = figure[2]
    values[side, $1, ++counts[side, $1]] = figure[1] * scale[figure[2]]
    texts[side, $1, counts[side, $1]] = $2
}

# The place of the median of a row's figures, the lower one of two.
function median(side, name,    i, j, n, smaller) {
    n = counts[side, name]
    for (i = 1; i <= n; i++) {
        smaller = 0
        for (j = 1; j <= n; j++) smaller += values[side, name, j] < values[side, name, i] || values[side, name, j] == values[side, name, i] && j < i
        if (smaller == int((n - 1) / 2)) return i
    }
    return 0
}

END {
    printf "%-60s  %-12s  %-12s  %s\n", "row", "before", "now", "change"
    for (i = 1; i <= rows; i++) {
        name = names[i]
        before = median("a", name)
        now = median("b", name)
        if (!before || !now) {
            printf "%-60s  %-12s  %-12s  only on one side\n", name, before ? texts["a", name, before] : "-", now ? texts["b", name, now] : "-"
            continue
        }
        ratio = values["b", name, now] / values["a", name, before]
        # A rate is worse when it is lower.
        isWorse = unit[name] == "/s" ? ratio < 1 / 1.1 : ratio > 1.1
        worse += isWorse
        printf "%-60s  %-12s  %-12s  %+.0f %%%s\n", name, texts["a", name, before], texts["b", name, now], (ratio - 1) * 100, isWorse ? "  WORSE" : ""
    }
    if (!rows) { print "no rows were measured"; exit 1 }
    exit worse > 0
}

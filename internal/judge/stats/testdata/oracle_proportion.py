"""Computes with scipy what proportion.go computes in Go.

Limits are those of binomtest; at the ends the one-sided ones. Several tables
are compared by enumerating what each could have been, table by table.
"""
import itertools
import json
import sys

from scipy import stats


def limits(hits, n):
    if hits in (0, n):
        side = "less" if hits == 0 else "greater"
        ci = stats.binomtest(hits, n, alternative=side).proportion_ci(0.95, "exact")
    else:
        ci = stats.binomtest(hits, n).proportion_ci(0.95, "exact")
    return [float(ci.low), float(ci.high)]


def exact(tables):
    if len(tables) == 1:
        a, n, b, m = tables[0]
        return float(stats.fisher_exact([[a, n - a], [b, m - b]])[1])
    laws = []
    for a, n, b, m in tables:
        law = stats.hypergeom(n + m, a + b, n)
        laws.append([(k, float(law.pmf(k))) for k in range(max(0, a + b - m), min(a + b, n) + 1)])
    sums = {}
    for ways in itertools.product(*laws):
        total, p = sum(k for k, _ in ways), 1.0
        for _, q in ways:
            p *= q
        sums[total] = sums.get(total, 0.0) + p
    seen = sums[sum(t[0] for t in tables)]
    return min(1.0, sum(p for p in sums.values() if p <= seen * (1 + 1e-7)))


cases = json.load(sys.stdin)
json.dump({
    "limits": [limits(*c) for c in cases["limits"]],
    "exact": [exact(c) for c in cases["exact"]],
}, sys.stdout)

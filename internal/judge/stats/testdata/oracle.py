"""Computes with scipy and numpy what package stats computes in Go.

Reads cases as JSON from standard input, answers in JSON. Nothing here is a
translation of the Go code: least squares go through numpy's lstsq on an
explicit design matrix, Holm's adjustment follows its definition.
"""
import json
import sys

import numpy as np
from scipy import special, stats


def quantile(df):
    """97.5 % of Student's t. scipy's own t.ppf is off by 2e-9 at six degrees
    of freedom (its cdf tells), so the incomplete beta function is inverted."""
    x = special.betaincinv(df / 2, 0.5, 0.05)
    return float(np.sqrt(df / x - df))


def interval(values):
    logs = np.log(values)
    mean = logs.mean()
    if len(logs) == 1:
        return [float(np.exp(mean))] * 3
    half = quantile(len(logs) - 1) * stats.sem(logs)
    return [float(np.exp(x)) for x in (mean, mean - half, mean + half)]


def blocks(rows):
    """rows: per candidate a list with null for missing cells."""
    y, design = [], []
    n, r = len(rows), max(len(row) for row in rows)
    for i, row in enumerate(rows):
        for j, v in enumerate(row):
            if v is None:
                continue
            x = np.zeros(n + r)
            x[i], x[n + j] = 1, 1
            y.append(np.log(v))
            design.append(x)
    y, design = np.array(y), np.array(design)
    beta, _, rank, _ = np.linalg.lstsq(design, y, rcond=None)
    df = int(len(y) - rank)
    rss = float(((y - design @ beta) ** 2).sum())
    return {"df": df, "variance": rss / df if df else 0.0}


def plain(values):
    """Mean with its interval, without logarithms."""
    if len(values) == 1:
        return values * 3
    half = quantile(len(values) - 1) * float(stats.sem(values))
    mean = float(np.mean(values))
    return [mean, mean - half, mean + half]


def difference(a, b):
    """Mean difference of pairs with its interval, and the p of a paired t test."""
    d = [x - y for x, y in zip(a, b)]
    return plain(d) + [float(stats.ttest_rel(a, b).pvalue)]


def holm(p):
    p = np.array(p)
    m = len(p)
    out = []
    for i in range(m):
        # The largest, over all j with p_j <= p_i, of (number of p >= p_j by rank) * p_j.
        ordered = sorted(p)
        out.append(max(min(1.0, (m - k) * q) for k, q in enumerate(ordered) if q <= p[i]))
    return out


def tau(x, y):
    t = stats.kendalltau(x, y, variant="b")[0]
    return None if np.isnan(t) else float(t)


def pooled_pair(rows):
    """p and interval of the first two candidates by the pooled variance."""
    b = blocks(rows)
    d = np.array([np.log(a) - np.log(c) for a, c in zip(rows[0], rows[1]) if a is not None and c is not None])
    se = np.sqrt(2 * b["variance"] / len(d))
    p = float(2 * stats.t.sf(abs(d.mean()) / se, b["df"]))
    half = quantile(b["df"]) * se
    return {"p": p, "low": float(np.exp(d.mean() - half)), "high": float(np.exp(d.mean() + half))}


def main():
    cases = json.load(sys.stdin)
    json.dump({
        "intervals": [interval(c) for c in cases["intervals"]],
        "blocks": [blocks(c) for c in cases["blocks"]],
        "pairs": [pooled_pair(c) for c in cases["blocks"]],
        "plain": [plain(c) for c in cases["plain"]],
        "differences": [difference(*c) for c in cases["differences"]],
        "holm": [holm(c) for c in cases["holm"]],
        "tau": [tau(*c) for c in cases["tau"]],
        "trigamma": [float(special.polygamma(1, x)) for x in cases["gamma"]],
        "digamma": [float(special.digamma(x)) for x in cases["gamma"]],
        "tail": [float(2 * stats.t.sf(abs(t), df)) for t, df in cases["tail"]],
    }, sys.stdout)


main()

"""Computes with statsmodels and scipy what package stats computes in Go:
simultaneous intervals, covariate, factor effects, interaction, spending,
probabilities of being the best.

Reads cases as JSON from standard input, answers in JSON. Models are fitted by
statsmodels' OLS on design matrices; the studentised range, the multivariate
normal and the multivariate t are scipy's. Moderation of variances follows Smyth
(2004) with scipy's root finder.
"""
import functools
import json
import os
import sys

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # matrices are tiny: threads only wait

import numpy as np
import statsmodels.api as sm
from scipy import optimize, special, stats
from statsmodels.stats.anova import anova_lm
from statsmodels.stats.multitest import multipletests

RESOLUTION = 1e-4


def t_tail(p, df):
    """Upper quantile of Student's t, by the incomplete beta function."""
    x = special.betaincinv(df / 2, 0.5, 2 * p)
    return float(np.sqrt(df / x - df))


@functools.lru_cache
def span(tail, n, df):
    """Upper quantile of the studentised range."""
    return float(stats.studentized_range.isf(tail, n, df))


def dummies(labels):
    names = sorted(set(labels))
    return np.array([[float(l == n) for n in names] for l in labels])


def fit(y, *parts):
    x = np.hstack(parts)
    return sm.OLS(np.array(y), x).fit(method="pinv")


def moderated(own, dfs, df):
    """Variances with degrees of freedom after learning from each other."""
    known = [(max(v, RESOLUTION**2), d) for v, d in zip(own, dfs) if d > 0]
    v, d = np.array([k[0] for k in known]), np.array([float(k[1]) for k in known])
    prior, typical = np.inf, (v * d).sum() / d.sum()
    if len(v) >= 3:
        e = np.log(v) - special.digamma(d / 2) + np.log(d / 2)
        beyond = e.var(ddof=1) - special.polygamma(1, d / 2).mean()
        if beyond > 0:
            half = optimize.brentq(lambda h: special.polygamma(1, h) - beyond, 1e-6, 1e9, xtol=1e-14, rtol=1e-14)
            prior = 2 * half
            typical = np.exp(e.mean() + special.digamma(half) - np.log(half))
    out = []
    for w, k in zip(own, dfs):
        w = max(w, RESOLUTION**2)
        if np.isinf(prior):
            m = (typical, df)
        else:
            m = ((prior * typical + k * w) / (prior + k), min(prior + k, df))
        out.append((w, k) if k > 0 and w > m[0] else m)
    return out


def rows(case):
    """Cells of a table with null for missing ones: log, candidate, round."""
    return [(np.log(v), i, j) for i, row in enumerate(case) for j, v in enumerate(row) if v is not None]


def pairs(case):
    """All pairs of candidates, marginal and simultaneous."""
    cells = rows(case)
    y = [c[0] for c in cells]
    who, when = [c[1] for c in cells], [c[2] for c in cells]
    model = fit(y, dummies(who), dummies(when))
    df, pooled = int(model.df_resid), float(model.scale)
    n = len(case)
    own, dfs = [], []
    for i in range(n):
        mine = [k for k in range(len(cells)) if who[k] == i]
        company = stats.hmean([float(sum(1 for c in cells if c[2] == when[k])) for k in mine])
        s = float((model.resid[mine] ** 2).sum()) / (len(mine) - 1) if len(mine) > 1 else 0.0
        dfs.append(len(mine) - 1)
        if len(mine) < 2 or company < 1.5:
            own.append(pooled)
        elif company < 3:
            own.append(s * company / (company - 1))
        else:
            own.append(max(company / (company - 2) * (s - pooled / company), 0.5 * s * company / (company - 1)))
    m = moderated(own, dfs, df)
    out = []
    for i in range(n):
        for j in range(i + 1, n):
            d = [np.log(a) - np.log(b) for a, b in zip(case[i], case[j]) if a is not None and b is not None]
            if len(d) < 2:
                out.append(None)
                continue
            mean, k = float(np.mean(d)), len(d)
            (v, f), (w, g) = m[i], m[j]
            ownse, owndf = np.sqrt((v + w) / k), min((v + w) ** 2 / (v**2 / f + w**2 / g), df)
            se = np.sqrt(2 * max(pooled, RESOLUTION**2) / k)
            # The package rounds these degrees of freedom down, and says so.
            rounded = max(1, np.floor(owndf * 8) / 8 if owndf < 16 else np.floor(owndf))
            half = max(t_tail(0.025, df) * se, t_tail(0.025, owndf) * ownse)
            q = [span(0.05, n, x) for x in (df, rounded)]
            wide = max(q[0] * se, q[1] * ownse) / np.sqrt(2)
            wide = max(wide, half)
            p = max(2 * stats.t.sf(abs(mean) / se, df), 2 * stats.t.sf(abs(mean) / ownse, owndf))
            out.append([mean, mean - half, mean + half, mean - wide, mean + wide, float(p)])
    return out


def drift(case):
    """Analysis of covariance: slope, its limits, p, variance before and after."""
    cells = rows(case["values"])
    y = [c[0] for c in cells]
    x = np.array([[case["sentinel"][i][j]] for _, i, j in cells])
    blocks = [dummies([c[1] for c in cells]), dummies([c[2] for c in cells])]
    before, after = fit(y, *blocks), fit(y, *blocks, x)
    low, high = after.conf_int()[-1]
    # The F test by the analysis of variance of the two models. Their design
    # matrices have more columns than rank, so degrees of freedom are the models'.
    f, p, _ = after.compare_f_test(before)
    table = anova_lm(before, after)
    assert abs(table["F"].iloc[1] - f) < 1e-6 * max(1, f)
    return [float(v) for v in (after.params[-1], low, high, p, before.scale, after.scale)]


def effects(case):
    """Pooled and own effects of levels, and the test of their interaction."""
    cells = case["cells"]  # candidate, level, round, value
    y = [np.log(c[3]) for c in cells]
    n, levels = 1 + max(c[0] for c in cells), 1 + max(c[1] for c in cells)
    blocks = dummies([(c[0], c[2]) for c in cells])
    level = np.array([[float(c[1] == l) for l in range(1, levels)] for c in cells])
    each = np.array([[float(c[1] == l and c[0] == i) for i in range(n) for l in range(1, levels)] for c in cells])
    common, full = fit(y, blocks, level), fit(y, blocks, each)
    f, p, df1 = full.compare_f_test(common)
    resid, own, dfs = np.array(full.resid), [], []
    for i in range(n):
        mine = [k for k, c in enumerate(cells) if c[0] == i]
        part = fit([y[k] for k in mine], blocks[mine], each[mine])
        dfs.append(int(part.df_resid))
        own.append(float((resid[mine] ** 2).sum()) / dfs[-1] if dfs[-1] else 0.0)
    m = moderated(own, dfs, int(full.df_resid))
    # Box: means and variances of both quadratic forms, by their matrices.
    v = np.array([max(x, RESOLUTION**2) for x, d in zip(own, dfs) if d > 0])
    d = np.array([float(x) for x in dfs if x > 0])
    centre = np.eye(len(v)) - np.ones((len(v), len(v))) / len(v)
    a = centre @ np.diag(v)
    trace, trace2 = np.trace(a), np.trace(a @ a)
    expected = trace / (len(v) - 1) / ((d * v).sum() / full.df_resid)
    box = stats.f.sf(f / expected, df1 / (len(v) - 1) * trace**2 / trace2, (d * v).sum() ** 2 / (d * v**2).sum())
    sidak = lambda k: -np.expm1(np.log1p(-0.05) / k) / 2
    pooled, base = [], blocks.shape[1]
    dfp = (d * v).sum() ** 2 / (d * v**2).sum()
    value = {(c[0], c[2], c[1]): np.log(c[3]) for c in cells}
    for k in range(levels - 1):
        spread = [x - value[i, r, 0] for (i, r, l), x in value.items() if l == k + 1 and (i, r, 0) in value]
        b = float(common.params[base + k])
        noise = [(float(common.bse[base + k]) * np.sqrt(full.scale / common.scale), dfp), (float(stats.sem(spread)), len(spread) - 1)]
        h, s = (max(t_tail(a, f) * se for se, f in noise) for a in (0.025, sidak(levels - 1)))
        pooled.append([b, b - h, b + h, b - s, b + s, max(float(2 * stats.t.sf(abs(b) / se, f)) for se, f in noise)])
    single = []
    known = [(i, l) for i in range(n) for l in range(1, levels)
             if any(c[0] == i and c[1] == l for c in cells)]
    for i, l in known:
        k = base + i * (levels - 1) + l - 1
        b, se = float(full.params[k]), float(full.bse[k])
        own_se = se / np.sqrt(full.scale) * np.sqrt(m[i][0])
        h = max(t_tail(0.025, full.df_resid) * se, t_tail(0.025, m[i][1]) * own_se)
        s = max(t_tail(sidak(len(known)), full.df_resid) * se, t_tail(sidak(len(known)), m[i][1]) * own_se)
        pv = max(2 * stats.t.sf(abs(b) / se, full.df_resid), 2 * stats.t.sf(abs(b) / own_se, m[i][1]))
        single.append([b, b - h, b + h, b - s, b + s, float(pv)])
    holm = lambda es: [float(x) for x in multipletests([e[5] for e in es], method="holm")[1]]
    return {"pooled": pooled, "own": single, "f": float(f), "p": float(max(p, box)), "df1": int(df1),
            "df2": int(full.df_resid), "variances": [float(common.scale), float(full.scale)],
            "adjusted": [holm(pooled), holm(single)]}


def crossing(case):
    """Probability that a normal random walk, looked at after each of so many
    rounds, has crossed one of the boundaries with the given one-sided errors."""
    n = np.arange(case["first"], case["first"] + len(case["errors"]), dtype=float)
    z = stats.norm.isf(case["errors"])
    cov = np.sqrt(np.minimum.outer(n, n) / np.maximum.outer(n, n))
    return [float(stats.norm.sf(z[0]))] + [
        float(1 - stats.multivariate_normal.cdf(z[:k], np.zeros(k), cov[:k, :k], maxpts=300_000, abseps=1e-7, releps=1e-7))
        for k in range(2, len(n) + 1)]


def best(case):
    """Probability that each of several t-distributed means is the lowest."""
    mean, cov = np.array(case["means"]), np.array(case["covariance"])
    out = []
    for i in range(len(mean)):
        a = np.array([[float(k == i) - float(k == j) for k in range(len(mean))] for j in range(len(mean)) if j != i])
        # A multivariate t is a normal over the square root of a chi-square.
        u = (np.arange(120) + 0.5) / 120
        scale = np.sqrt(stats.chi2.ppf(u, case["df"]) / case["df"])
        normal = stats.multivariate_normal(cov=a @ cov @ a.T)
        out.append(float(np.mean([normal.cdf(-s * (a @ mean)) for s in scale])))
    return out


def main():
    cases = json.load(sys.stdin)
    json.dump({
        "span": [span(tail, n, df) for n, tail, df in cases["span"]],
        "pairs": [pairs(c) for c in cases["tables"]],
        "drift": [drift(c) for c in cases["drift"]],
        "effects": [effects(c) for c in cases["effects"]],
        "crossing": [crossing(c) for c in cases["crossing"]],
        "best": [best(c) for c in cases["best"]],
        "ratio": [[float(np.exp(np.median(np.log(np.array(a) / np.array(b))))),
                   float(np.mean([max(x / y, y / x) <= 1.5 for x, y in zip(a, b)]))] for a, b in cases["ratio"]],
    }, sys.stdout)


main()

"""The elementwise functions of scipy.special, in the form of `rows.py`; nothing of SciPy is imported here.

The names in the expressions are scipy.special's and those of rows for arrays. Numbers are those of the
formulas in the Digital Library of Mathematical Functions (dlmf.nist.gov). No closed form is known of the
derivative of a Bessel function in its order (DLMF 10.15 and 10.38 have series and special cases) or of the
zeta function in its exponent: there the partial is `refused`, which raises where that argument varies. Nor of
an incomplete gamma or beta function in its parameters (8.8 and 8.17 only in the argument); these are analytic
in them, and differences of order eight have ten digits.
"""

from __future__ import annotations

from ctxdispatch_contexts.derivatives.rows import Row, row


def refused(param: str, name: str, what: str) -> str:
    return f"refused({param}, {name!r}, {what!r})"


def bessel(name: str, partial: str) -> Row:
    return row("v z", refused("v", name, "order"), partial)


ROWS = {
    # -- gamma and beta: DLMF 5.2.2, 5.12, 8.8.13, 8.17.7 ----------------------------------------------------
    "gamma": row("x", "y * psi(x)"),
    "rgamma": row(
        "x",
        "where((real(x) <= 0.0) & (x == rint(x)), cos(3.141592653589793 * x) * gamma(1.0 - x), "
        "-y * psi(where((real(x) <= 0.0) & (x == rint(x)), 0.5, x)))",
    ),
    "gammaln": row("x", "psi(x)"),
    "loggamma": row("x", "psi(x)"),
    "psi": row("x", "zeta(2.0, x)"),
    "polygamma": row("n x", refused("n", "polygamma", "order"), "polygamma(n + 1, x)"),
    "zeta": row("x q", refused("x", "zeta", "exponent"), "-x * zeta(x + 1.0, q)"),
    "beta": row("a b", "y * (psi(a) - psi(a + b))", "y * (psi(b) - psi(a + b))"),
    "betaln": row("a b", "psi(a) - psi(a + b)", "psi(b) - psi(a + b)"),
    "gammainc": row(
        "a x",
        "difference(gammainc, 0, y, a, x)",
        "exp(xlogy(weak(a, x) - 1.0, x) - x - gammaln(weak(a, x)))",
    ),
    "gammaincc": row(
        "a x",
        "difference(gammaincc, 0, y, a, x)",
        "-exp(xlogy(weak(a, x) - 1.0, x) - x - gammaln(weak(a, x)))",
    ),
    "betainc": row(
        "a b x",
        "difference(betainc, 0, y, a, b, x)",
        "difference(betainc, 1, y, a, b, x)",
        "exp(xlogy(weak(a, x) - 1.0, x) + xlog1py(weak(b, x) - 1.0, -x) - betaln(weak(a, x), weak(b, x)))",
    ),

    # -- distribution functions: DLMF 8.17.7, 8.8.13, and the densities --------------------------------------
    "betaincc": row(
        "a b x",
        "difference(betaincc, 0, y, a, b, x)",
        "difference(betaincc, 1, y, a, b, x)",
        "-exp(xlogy(weak(a, x) - 1.0, x) + xlog1py(weak(b, x) - 1.0, -x) - betaln(weak(a, x), weak(b, x)))",
    ),
    "chdtr": row(
        "v x", "difference(chdtr, 0, y, v, x)",
        "exp(xlogy(0.5 * v - 1.0, 0.5 * x) - 0.5 * x - gammaln(0.5 * v)) * 0.5",
    ),
    "chdtrc": row(
        "v x", "difference(chdtrc, 0, y, v, x)",
        "-exp(xlogy(0.5 * v - 1.0, 0.5 * x) - 0.5 * x - gammaln(0.5 * v)) * 0.5",
    ),
    "stdtr": row(
        "v t", "difference(stdtr, 0, y, v, t)",
        "exp(-0.5 * (v + 1.0) * log1p(t * t / v) - betaln(0.5 * v, weak(0.5, v))) / sqrt(v)",
    ),
    "gammaincinv": row(
        "a p", "difference(gammaincinv, 0, y, a, p)", "exp(gammaln(a) + y - xlogy(a - 1.0, y))",
    ),
    "gammainccinv": row(
        "a p", "difference(gammainccinv, 0, y, a, p)", "-exp(gammaln(a) + y - xlogy(a - 1.0, y))",
    ),
    "stdtrit": row(
        "v p", "difference(stdtrit, 0, y, v, p)",
        "sqrt(v) * exp(0.5 * (v + 1.0) * log1p(y * y / v) + betaln(0.5 * v, weak(0.5, v)))",
    ),
    "betaincinv": row(
        "a b p",
        "difference(betaincinv, 0, y, a, b, p)", "difference(betaincinv, 1, y, a, b, p)",
        "exp(betaln(a, b) - xlogy(a - 1.0, y) - xlog1py(b - 1.0, -y))",
    ),
    "betainccinv": row(
        "a b p",
        "difference(betainccinv, 0, y, a, b, p)", "difference(betainccinv, 1, y, a, b, p)",
        "-exp(betaln(a, b) - xlogy(a - 1.0, y) - xlog1py(b - 1.0, -y))",
    ),
    "chdtri": row(
        "v p", "difference(chdtri, 0, y, v, p)",
        "-2.0 * exp(gammaln(0.5 * v) + 0.5 * y - xlogy(0.5 * v - 1.0, 0.5 * y))",
    ),
    "fdtr": row(
        "m n x", "difference(fdtr, 0, y, m, n, x)", "difference(fdtr, 1, y, m, n, x)", "f_density(m, n, x)",
    ),
    "fdtrc": row(
        "m n x",
        "difference(fdtrc, 0, y, m, n, x)", "difference(fdtrc, 1, y, m, n, x)", "-f_density(m, n, x)",
    ),
    "fdtri": row(
        "m n p", "difference(fdtri, 0, y, m, n, p)", "difference(fdtri, 1, y, m, n, p)",
        "1.0 / f_density(m, n, y)",
    ),
    "_ufuncs._cauchy_ppf": row("p a b", "pi * b * (1.0 + ((y - a) / b) ** 2)", "1", "(y - a) / b"),
    "_ufuncs._cauchy_isf": row("p a b", "-pi * b * (1.0 + ((y - a) / b) ** 2)", "1", "(y - a) / b"),
    "_ufuncs._cosine_cdf": row("x", "0.15915494309189535 * where(abs(x) < pi, 1.0 + cos(x), 0.0)"),
    "_ufuncs._cosine_invcdf": row("p", "6.283185307179586 / (1.0 + cos(y))"),
    "pdtr": row("k m", "0", "-exp(xlogy(floor(weak(k, m)), m) - m - gammaln(floor(weak(k, m)) + 1.0))"),
    "pdtrc": row("k m", "0", "exp(xlogy(floor(weak(k, m)), m) - m - gammaln(floor(weak(k, m)) + 1.0))"),
    "poch": row("z m", "y * (psi(z + m) - psi(z))", "y * psi(z + m)"),
    "expm1": row("x", "y + 1.0"),
    "log1p": row("x", "1.0 / (x + 1.0)"),
    "_ufuncs._beta_pdf": row(
        "x a b", "y * ((a - 1.0) / x - (b - 1.0) / (1.0 - x))", "y * (log(x) - psi(a) + psi(a + b))",
        "y * (log1p(-x) - psi(b) + psi(a + b))",
    ),
    "_ufuncs._beta_ppf": row(
        "p a b",
        "exp(betaln(a, b) - xlogy(a - 1.0, y) - xlog1py(b - 1.0, -y))",
        "difference(_beta_ppf, 1, y, p, a, b)", "difference(_beta_ppf, 2, y, p, a, b)",
    ),

    # -- error functions and the normal distribution: DLMF 7.2, 7.17, 7.10.2 ---------------------------------
    "erf": row("x", "1.1283791670955126 * exp(-x * x)"),
    "erfc": row("x", "-1.1283791670955126 * exp(-x * x)"),
    "erfcx": row("x", "erfcx_slope(x, y)"),
    "erfi": row("x", "1.1283791670955126 * exp(x * x)"),
    "dawsn": row("x", "1.0 - 2.0 * x * y"),
    "erfinv": row("x", "0.886226925452758 * exp(y * y)"),
    "erfcinv": row("x", "-0.886226925452758 * exp(y * y)"),
    "ndtr": row("x", "0.3989422804014327 * exp(-0.5 * x * x)"),
    "log_ndtr": row("x", "0.7978845608028654 / erfcx(-0.7071067811865476 * x)"),
    "ndtri_exp": row("a", "1.2533141373155003 * erfcx(-0.7071067811865476 * y)"),
    "ndtri": row("p", "2.5066282746310002 * exp(0.5 * y * y)"),

    # -- powers, logarithms of small differences -------------------------------------------------------------
    "cosm1": row("x", "-sin(x)"),
    "powm1": row("a b", "b * a ** (b - 1.0)", "xlogy(a ** b, a)"),
    "boxcox": row("x b", "x ** (b - 1.0)", "power_slope(log(x), b)"),
    "boxcox1p": row("x b", "exp((b - 1.0) * log1p(x))", "power_slope(log1p(x), b)"),
    "inv_boxcox": row("a b", "y ** (1.0 - b)", "y * root_slope(a, b)"),
    "inv_boxcox1p": row("a b", "(y + 1.0) ** (1.0 - b)", "(y + 1.0) * root_slope(a, b)"),
    "_ufuncs._log1mexp": row("x", "-1.0 / expm1(-x)"),

    # -- logistic functions, logarithms and entropies --------------------------------------------------------
    "expit": row("x", "y * expit(-x)"),
    "log_expit": row("x", "expit(-x)"),
    "logit": row("x", "1.0 / (x * (1.0 - x))"),
    "xlogy": row("a b", "log(b)", "a / where((a == 0) & (b == 0), 1.0, b)"),
    "xlog1py": row("a b", "log1p(b)", "a / where((a == 0) & (b == -1), 1.0, b + 1.0)"),
    "entr": row("x", "-log(x) - 1.0"),
    "rel_entr": row("a b", "log(a / b) + 1.0", "-a / where((a == 0) & (b == 0), 1.0, b)"),
    "kl_div": row("a b", "log(a / b)", "1.0 - a / where((a == 0) & (b == 0), 1.0, b)"),

    # -- Bessel functions: DLMF 10.6.1, 10.6.3, 10.29.1, 10.29.3 ---------------------------------------------
    "j0": row("x", "-j1(x)"),
    "j1": row("x", "0.5 * (j0(x) - jv(2.0, x))"),
    "y0": row("x", "-y1(x)"),
    "y1": row("x", "0.5 * (y0(x) - yv(2.0, x))"),
    "jv": bessel("jv", "0.5 * (jv(v - 1.0, z) - jv(v + 1.0, z))"),
    "yv": bessel("yv", "0.5 * (yv(v - 1.0, z) - yv(v + 1.0, z))"),
    "yn": bessel("yn", "0.5 * (yv(v - 1.0, z) - yv(v + 1.0, z))"),
    "i0": row("x", "i1(x)"),
    "i1": row("x", "0.5 * (i0(x) + iv(2.0, x))"),
    "i0e": row("x", "i1e(x) - sign(x) * y"),
    "i1e": row("x", "0.5 * (i0e(x) + ive(2.0, x)) - sign(x) * y"),
    "iv": bessel("iv", "0.5 * (iv(v - 1.0, z) + iv(v + 1.0, z))"),
    "ive": bessel("ive", "0.5 * (ive(v - 1.0, z) + ive(v + 1.0, z)) - sign(z) * y"),
    "k0": row("x", "-k1(x)"),
    "k1": row("x", "-0.5 * (k0(x) + kv(2.0, x))"),
    "k0e": row("x", "y - k1e(x)"),
    "k1e": row("x", "y - 0.5 * (k0e(x) + kve(2.0, x))"),
    "kve": bessel("kve", "y - 0.5 * (kve(v - 1.0, z) + kve(v + 1.0, z))"),
    "kv": bessel("kv", "-0.5 * (kv(v - 1.0, z) + kv(v + 1.0, z))"),
}  # fmt: skip

REAL_ONLY = frozenset({"psi", "ive", "polygamma"})
"""Rows that do not hold for complex arguments: |Re z| scales `ive`, and zeta and polygamma take real numbers
alone. `ive` and `psi` have rules for complex ones."""

"""Math.exp and Math.log of V8, the JavaScript engine of Node.js.

V8 does not call the C library: it compiles fdlibm's algorithms (v8/src/base/ieee754.cc), so that
every machine gets the same numbers. They differ from glibc's in the last bit of a double for some
arguments; the page of tsampler has the figures. Constants and steps are fdlibm's (Sun Microsystems,
e_exp.c and e_log.c, 1993 and 2004). Thresholds that fdlibm compares by the high word of the double
are written as the double with that high word.
"""

import math

from sampler_parity.reference.compiled import vectorize

_LN2_HIGH = float.fromhex("0x1.62e42fee00000p-1")
_LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
_INVERSE_LN2 = float.fromhex("0x1.71547652b82fep+0")
_OVERFLOW = 7.09782712893383973096e02
_UNDERFLOW = -7.45133219101941108420e02
_HALF_LN2 = float.fromhex("0x1.62e4300000000p-2")
_THREE_HALVES_LN2 = float.fromhex("0x1.0a2b200000000p+0")
_P1, _P2, _P3 = 1.66666666666666019037e-01, -2.77777777770155933842e-03, 6.61375632143793436117e-05
_P4, _P5 = -1.65339022054652515390e-06, 4.13813679705723846039e-08
_L1, _L2, _L3 = 6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01
_L4, _L5, _L6 = 2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01
_L7 = 1.479819860511658591e-01
_SQRT2 = 1 + 0x6A09C / 2**20
_MIDDLE_LOW, _MIDDLE_HIGH = 1 + 0x6147A / 2**20, 1 + 0x6B852 / 2**20


@vectorize(["f8(f8)"])
def exp(x: float) -> float:
    """Compute Math.exp, elementwise: within 1 ULP of e**x."""
    if math.isnan(x):
        return x
    if x > _OVERFLOW:
        return math.inf
    if x < _UNDERFLOW:
        return 0.0
    if x == 1.0:  # V8's own exception: the steps below would miss e by a bit
        return math.e
    size = abs(x)
    k, high, low, r = 0, 0.0, 0.0, x
    if size >= _HALF_LN2:
        if size < _THREE_HALVES_LN2:
            k = 1 if x > 0 else -1
        else:
            k = int(_INVERSE_LN2 * x + (0.5 if x > 0 else -0.5))
        high = x - k * _LN2_HIGH
        low = k * _LN2_LOW
        r = high - low
    elif size < 2.0**-28:
        return 1.0 + x
    t = r * r
    c = r - t * (_P1 + t * (_P2 + t * (_P3 + t * (_P4 + t * _P5))))
    if k == 0:
        return 1.0 - ((r * c) / (c - 2.0) - r)
    y = 1.0 - ((low - (r * c) / (2.0 - c)) - high)
    if k == 1024:
        return y * 2.0 * 2.0**1023
    if k >= -1021:
        return y * math.ldexp(1.0, k)
    return y * math.ldexp(1.0, k + 1000) * 2.0**-1000


@vectorize(["f8(f8)"])
def log(x: float) -> float:
    """Compute Math.log, elementwise: within 1 ULP; log(0) = -inf, log(x < 0) = NaN."""
    if math.isnan(x) or x == math.inf:
        return x
    if x == 0.0:
        return -math.inf
    if x < 0.0:
        return math.nan
    half, k = math.frexp(x)
    m, k = 2.0 * half, k - 1  # x = 2**k * m with 1 <= m < 2
    f = m - 1.0
    if m >= _SQRT2:
        k += 1
        f = half - 1.0
    if -(2.0**-20) <= f < 2.0**-20:
        if f == 0.0:
            return k * _LN2_HIGH + k * _LN2_LOW
        r = f * f * (0.5 - 0.33333333333333333 * f)
        return f - r if k == 0 else k * _LN2_HIGH - ((r - k * _LN2_LOW) - f)
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    r = z * (_L1 + w * (_L3 + w * (_L5 + w * _L7))) + w * (_L2 + w * (_L4 + w * _L6))
    if _MIDDLE_LOW <= m < _MIDDLE_HIGH:
        half_square = 0.5 * f * f
        if k == 0:
            return f - (half_square - s * (half_square + r))
        return k * _LN2_HIGH - ((half_square - (s * (half_square + r) + k * _LN2_LOW)) - f)
    if k == 0:
        return f - s * (f - r)
    return k * _LN2_HIGH - ((s * (f - r) - k * _LN2_LOW) - f)

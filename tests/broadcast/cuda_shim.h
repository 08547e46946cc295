// What CUDA C has and C++ has not, so that a compiler for the host takes device functions.
#pragma once

#include <cmath>
#include <cstring>

#define __device__
#define __forceinline__ inline

inline float __int_as_float(int bits) {
    float x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

inline double __longlong_as_double(long long bits) {
    double x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

inline double cyl_bessel_i0(double x) {  // its power series, which has no cancellation
    double term = 1, sum = 1;
    for (int k = 1; k < 400 && term > 0 && term < INFINITY; k++) sum += term *= x * x / (4.0 * k * k);
    return std::isinf(x) || std::isnan(x) ? x * x : sum;
}

inline double erfinv(double y) {  // Newton's method on erf, on erfc in the tails
    if (!(std::fabs(y) < 1)) return y == 1 ? INFINITY : y == -1 ? -INFINITY : NAN;
    if (y == 0) return y;
    double a = std::fabs(y), x = a < 0.9 ? a : std::sqrt(-std::log(1 - a));
    for (int k = 0; k < 60; k++) {
        double error = a < 0.5 ? std::erf(x) - a : (1 - a) - std::erfc(x);
        x -= error * 0.886226925452758014 * std::exp(x * x);
    }
    return std::copysign(x, y);
}

inline float cyl_bessel_i0f(float x) { return (float)cyl_bessel_i0((double)x); }
inline float erfinvf(float y) { return (float)erfinv((double)y); }

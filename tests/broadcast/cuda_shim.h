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

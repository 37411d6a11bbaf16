// exp and log of float32 within 2 ULP. The built-in functions of a device may be off by hundreds.
// Polynomials of Cephes, expf.c and logf.c. A constant may not be infinite, so bits stand for it.

var<private> inf_bits: u32 = 0x7f800000u;
var<private> nan_bits: u32 = 0x7fc00000u;

fn infinity() -> f32 { return bitcast<f32>(inf_bits); }
fn is_nan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }
fn is_masked(x: f32) -> bool { return bitcast<u32>(x) == 0xff800000u; }

fn two_to(n: i32) -> f32 { return bitcast<f32>(u32(n + 127) << 23u); }

fn exp_of(x: f32) -> f32 {
    if (is_nan(x)) { return x; }
    if (x > 88.72284) { return infinity(); }
    if (x < -104.0) { return 0.0; }
    let n = floor(x * 1.44269504 + 0.5);
    let r = (x - n * 0.693359375) + n * 2.12194440e-4;
    var y = 1.9875691500e-4;
    y = y * r + 1.3981999507e-3;
    y = y * r + 8.3334519073e-3;
    y = y * r + 4.1665795894e-2;
    y = y * r + 1.6666665459e-1;
    y = y * r + 5.0000001201e-1;
    y = (y * (r * r) + r) + 1.0;
    let half = i32(n) / 2;  // in two steps: 2^n may be subnormal or above the range
    return (y * two_to(half)) * two_to(i32(n) - half);
}

fn log_of(x: f32) -> f32 {
    let bits = bitcast<u32>(x);
    if (is_nan(x) || bits == 0x7f800000u) { return x; }
    if ((bits & 0x7fffffffu) == 0u) { return -infinity(); }
    if (bits >> 31u == 1u) { return bitcast<f32>(nan_bits); }
    var word = bits;
    var e = 0;
    if (word < 0x00800000u) {  // subnormal: a device may take it for 0, so no product is formed
        let places = countLeadingZeros(word) - 8u;
        word <<= places;
        e = -i32(places);
    }
    e += i32(word >> 23u) - 126;
    var f = bitcast<f32>((word & 0x007fffffu) | 0x3f000000u);  // 0.5 to 1
    if (f < 0.70710678) {
        e -= 1;
        f = f + f - 1.0;
    } else {
        f = f - 1.0;
    }
    let z = f * f;
    var y = 7.0376836292e-2;
    y = y * f - 1.1514610310e-1;
    y = y * f + 1.1676998740e-1;
    y = y * f - 1.2420140846e-1;
    y = y * f + 1.4249322787e-1;
    y = y * f - 1.6668057665e-1;
    y = y * f + 2.0000714765e-1;
    y = y * f - 2.4999993993e-1;
    y = y * f + 3.3333331174e-1;
    y = y * f * z;
    y = y - f32(e) * 2.12194440e-4;
    y = y - 0.5 * z;
    return (f + y) + f32(e) * 0.693359375;
}

// Larger values have larger keys, and -0 has that of 0.
fn key_of(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    if (bits == 0x80000000u) { return bits; }
    return select(bits | 0x80000000u, ~bits, bits >> 31u == 1u);
}

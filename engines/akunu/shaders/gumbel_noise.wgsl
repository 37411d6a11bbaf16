// Akunu's noise: a hash of 32 bits for each token, a uniform in whole numbers, -log(-log(u)).

fn pcg(state: u32) -> u32 {
    let s = state * 747796405u + 2891336453u;
    let word = ((s >> ((s >> 28u) + 4u)) ^ s) * 277803737u;
    return (word >> 22u) ^ word;
}

// word / 2^32, rounded to even. The rounding of f32(word) is the device's choice.
fn uniform_of(state: u32) -> f32 {
    let word = pcg(state);
    let drop = max(firstLeadingBit(word | 1u), 23u) - 23u;
    let cut = word & ((1u << drop) - 1u);
    var kept = word >> drop;
    let middle = (1u << drop) >> 1u;
    if (cut > middle || (cut == middle && drop > 0u && (kept & 1u) == 1u)) { kept += 1u; }
    let u = f32(kept) * two_to(i32(drop) - 32);
    return clamp(u, 1e-7, 0x1.fffffcp-1);  // to 1 - 2^-23
}

fn noise_of(u: f32) -> f32 { return -log_of(-log_of(u)); }

// The nearest float16, ties to even, as float32; from 65520 on infinite.
fn half_of(x: f32) -> f32 {
    let bits = bitcast<u32>(x);
    let size_ = bits & 0x7fffffffu;
    let sign_ = bits & 0x80000000u;
    if (size_ > 0x7f800000u) { return x; }
    if (size_ >= 0x477ff000u) { return bitcast<f32>(sign_ | inf_bits); }
    if (size_ >= 0x38800000u) {  // 13 bits go
        return bitcast<f32>((bits + 0xfffu + ((bits >> 13u) & 1u)) & 0xffffe000u);
    }
    let units = bitcast<f32>(size_) * 16777216.0;  // of 2^-24
    let whole = floor(units);
    let odd = (u32(whole) & 1u) == 1u;
    let rest = units - whole;
    let rounded = select(whole, whole + 1.0, rest > 0.5 || (rest == 0.5 && odd));
    return bitcast<f32>(sign_ | bitcast<u32>(rounded * two_to(-24)));
}

// probs = exp(logit - max) / sum. A lane adds its part in order; a tree adds the lanes.

fn larger(a: f32, b: f32) -> f32 {  // a NaN is not larger
    return select(a, b, b > a || is_nan(a));
}

fn largest_but_nan() -> f32 {
    let mine = part(row.n);
    lane_f[lane] = -infinity();
    for (var i = mine.x; i < mine.y; i += 1u) { lane_f[lane] = larger(lane_f[lane], logits[base + i]); }
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if (lane < half) { lane_f[lane] = larger(lane_f[lane], lane_f[lane + half]); }
    }
    return same_f(lane_f[0]);
}

// The largest logit; a NaN only if it is the first, as where candidates are compared one by one.
fn largest() -> f32 {
    let top = largest_but_nan();
    let first = logits[base];
    return select(top, first, is_nan(first));
}

// Set probs to exp(logit - max), and return their sum in this lane's part.
fn weigh() -> f32 {
    let top = largest();
    let mine = part(row.n);
    var sum = 0.0;
    for (var i = mine.x; i < mine.y; i += 1u) {
        let weight = exp_of(logits[base + i] - top);
        probs[base + i] = weight;
        sum += weight;
    }
    return sum;
}

fn divide(total: f32) {
    let mine = part(row.n);
    for (var i = mine.x; i < mine.y; i += 1u) { probs[base + i] = probs[base + i] / total; }
    sync();
}

fn softmax() { divide(sum_f(weigh())); }

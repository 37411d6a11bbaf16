// The position of the largest logit: the first of equals; 0 if the first is a NaN. Keys are compared,
// not floats: a device may take subnormal floats for 0.

var<workgroup> lane_key: array<u32, LANES>;

fn first_largest() -> u32 {
    let mine = part(row.n);
    var best = 0u;
    var top = key_of(-infinity());
    for (var i = mine.x; i < mine.y; i += 1u) {
        let key = key_of(logits[base + i]);
        if (key > top && !is_nan(logits[base + i])) {
            top = key;
            best = i;
        }
    }
    lane_key[lane] = top;
    lane_u[lane] = best;
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if (lane < half) {
            let other = lane_key[lane + half];
            let here = lane_key[lane];
            if (other > here || (other == here && lane_u[lane + half] < lane_u[lane])) {
                lane_key[lane] = other;
                lane_u[lane] = lane_u[lane + half];
            }
        }
    }
    return same_u(select(lane_u[0], 0u, is_nan(logits[base])));
}

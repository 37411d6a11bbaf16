// The position of the largest logit: the first of equals; 0 if the first is a NaN.

fn first_largest() -> u32 {
    let mine = part(row.n);
    var best = 0u;
    var top = -infinity();
    for (var i = mine.x; i < mine.y; i += 1u) {
        if (logits[base + i] > top) {
            top = logits[base + i];
            best = i;
        }
    }
    lane_f[lane] = top;
    lane_u[lane] = best;
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if (lane < half) {
            let other = lane_f[lane + half];
            let here = lane_f[lane];
            if (other > here || (other == here && lane_u[lane + half] < lane_u[lane])) {
                lane_f[lane] = other;
                lane_u[lane] = lane_u[lane + half];
            }
        }
    }
    return same_u(select(lane_u[0], 0u, is_nan(logits[base])));
}

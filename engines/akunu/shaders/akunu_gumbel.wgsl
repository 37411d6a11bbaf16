// akunu_gumbel: Akunu's Gumbel-max kernel. Round to float16, penalize, set what a filter removes to
// -inf, add noise, select the first largest.
//
// a: temperature. b: 1 / temperature. c: repeat penalty. k: top_k. least: the state of token 0.
// table: the bits of min_p and top_p; 1 for float16 noise; then tokens and how often they occurred.

fn penalize() {
    for (var j = task.first + 2u + lane; j < task.past; j += LANES) {
        let at = base + u32(table[j].x);
        for (var times = table[j].y; times > 0; times -= 1) {
            let x = logits[at];
            if (x > 0.0) { logits[at] = x / task.c; } else { logits[at] = x * task.c; }
        }
    }
    sync();
}

// Set probs at the temperature, and return the largest. A row with a NaN is refused.
fn probabilities() -> f32 {
    let mine = part(row.n);
    let top = largest() * task.b;
    var sum = 0.0;
    for (var i = mine.x; i < mine.y; i += 1u) {
        probs[base + i] = exp_of(logits[base + i] * task.b - top);
        sum += probs[base + i];
    }
    let inverse = 1.0 / sum_f(sum);
    for (var i = mine.x; i < mine.y; i += 1u) {
        probs[base + i] = probs[base + i] * inverse;
        if (is_nan(probs[base + i])) { rows[task.row].refused = 1u; }
    }
    return inverse;
}

fn remove_filtered() {
    let mine = part(row.n);
    let keys = scratch_of(0u);
    let top = probabilities();
    let min_p = bitcast<f32>(table[task.first].x);
    let top_p = bitcast<f32>(table[task.first].y);
    keys_of_logits(row.n);
    let kth = search(Enough(task.k, 0.0, 0u, 0u)).key;
    for (var i = mine.x; i < mine.y; i += 1u) {
        let p = probs[base + i];
        let low = min_p > 0.0 && p < top * min(min_p, 1.0);
        let stays = scratch[keys + i] >= kth && !low;
        if (!stays) { logits[base + i] = -infinity(); }
        probs[base + i] = select(0.0, p, stays);
        scratch[keys + i] = select(0u, key_of(p), stays);
    }
    if (!agreed(top_p < 1.0)) { return; }
    let crossing = search(Enough(1u, top_p, 1u, 0u)).key;
    for (var i = mine.x; i < mine.y; i += 1u) {
        if (scratch[keys + i] < crossing) { logits[base + i] = -infinity(); }
    }
}

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    begin(group.x, local);
    let mine = part(row.n);
    for (var i = mine.x; i < mine.y; i += 1u) { logits[base + i] = half_of(logits[base + i]); }
    sync();
    penalize();
    if (agreed(task.a > 0.0)) {
        remove_filtered();
        let as_half = table[task.first + 1u].x == 1;
        for (var i = mine.x; i < mine.y; i += 1u) {
            let x = logits[base + i] + task.a * noise_of(uniform_of(task.least + i));
            logits[base + i] = select(x, half_of(x), as_half);
        }
    }
    sync();
    let best = first_largest();
    if (lane == 0u) { rows[task.row].selected = i32(best); }
}

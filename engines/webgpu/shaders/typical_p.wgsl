// typical_p: keep the fewest candidates whose surprise is nearest to the entropy and whose
// probabilities exceed p, the nearest first. a: p.

// The nearest has the largest key. Without an entropy, where it is NaN, all are equally far.
fn keys_of_distances(n: u32, entropy: f32) {
    let mine = part(n);
    for (var i = mine.x; i < mine.y; i += 1u) {
        let distance = abs(-log_of(probs[base + i]) - entropy);
        scratch[scratch_of(0u) + i] = select(~key_of(distance), 0u, is_nan(distance));
    }
}

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    begin(group.x, local);
    if (agreed(row.is_sorted == 0u)) { sort(row.n); }  // equal distances keep the order of the logits
    softmax();
    let mine = part(row.n);
    var sum = 0.0;
    for (var i = mine.x; i < mine.y; i += 1u) {
        let p = probs[base + i];
        sum += p * -log_of(p);
    }
    let entropy = sum_f(sum);
    keys_of_distances(row.n, entropy);
    mark_enough(Enough(max(1u, task.least), task.a, 1u, 1u));
    let kept = keep_marked();
    keys_of_distances(kept, entropy);
    sort_by_keys(kept);
    if (lane == 0u) {
        rows[task.row].n = kept;
        rows[task.row].is_sorted = 0u;
    }
}

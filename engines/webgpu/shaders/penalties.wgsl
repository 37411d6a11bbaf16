// penalties: a repeated token is divided (negative: multiplied) by `a`, and `count * b + c` is taken
// from it. table: pairs of a token and its count, by token.

fn count_of(token: i32) -> i32 {
    var low = task.first;
    var high = task.past;
    while (low < high) {
        let middle = (low + high) / 2u;
        if (table[middle].x < token) { low = middle + 1u; } else { high = middle; }
    }
    if (low < task.past && table[low].x == token) { return table[low].y; }
    return 0;
}

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    begin(group.x, local);
    let mine = part(row.n);
    for (var i = mine.x; i < mine.y; i += 1u) {
        let count = count_of(ids[base + i]);
        if (count == 0) { continue; }
        var logit = logits[base + i];
        if (logit <= 0.0) { logit = logit * task.a; } else { logit = logit / task.a; }
        logits[base + i] = logit - (f32(count) * task.b + task.c);
    }
    if (lane == 0u) { rows[task.row].is_sorted = 0u; }
}

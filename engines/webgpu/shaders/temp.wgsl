// temp: divide the logits by the temperature. a: the temperature; 0 and below leaves the first
// largest logit and masks all others.

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    begin(group.x, local);
    let mine = part(row.n);
    if (agreed(task.a > 0.0)) {
        for (var i = mine.x; i < mine.y; i += 1u) { logits[base + i] = logits[base + i] / task.a; }
        return;
    }
    let best = first_largest();
    for (var i = mine.x; i < mine.y; i += 1u) {
        if (i != best) { logits[base + i] = -infinity(); }
    }
}

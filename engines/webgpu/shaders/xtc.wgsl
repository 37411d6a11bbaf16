// xtc: of the candidates with at least probability t, drop all but the last; sorted. a: t. The
// chance of it is decided before.

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    begin(group.x, local);
    if (agreed(row.is_sorted == 0u)) { sort(row.n); }
    softmax();
    let mine = part(row.n);
    var first = row.n;  // that is below t
    for (var i = mine.x; i < mine.y; i += 1u) {
        if (!(probs[base + i] >= task.a)) { first = min(first, i); }
    }
    first = min_u(first);
    let dropped = max(first, 1u) - 1u;
    var kept = row.n;
    if (agreed(dropped > 0u && row.n - dropped >= task.least)) {
        for (var i = mine.x; i < mine.y; i += 1u) {
            scratch[scratch_of(2u) + i] = select(0u, 1u, i >= dropped);
        }
        kept = keep_marked();
    }
    if (lane == 0u) {
        rows[task.row].n = kept;
        rows[task.row].is_sorted = 1u;
    }
}

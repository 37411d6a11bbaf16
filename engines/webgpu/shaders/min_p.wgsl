// min_p: keep the logits of at least max + log(p). a: p. If fewer than min_keep pass, the row is
// sorted first.

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    begin(group.x, local);
    let mine = part(row.n);
    let distance = log_of(task.a);
    let least = max(1u, task.least);
    let mark = scratch_of(2u);
    let top = largest_but_nan();
    var passing = 0u;
    for (var i = mine.x; i < mine.y; i += 1u) {
        if (logits[base + i] >= top + distance) { passing += 1u; }
    }
    let all_passing = sum_u(passing);
    let too_few = agreed(is_masked(top) || all_passing < least);
    let was_sorted = agreed(row.is_sorted == 1u);
    if (too_few && !was_sorted) { sort(row.n); }
    if (too_few || was_sorted) {  // up to the first that is below, behind the first `least`
        let threshold = logits[base] + distance;
        var first = row.n;
        for (var i = max(least, mine.x); i < mine.y; i += 1u) {
            if (logits[base + i] < threshold) { first = min(first, i); }
        }
        let kept = min_u(first);
        if (lane == 0u) {
            rows[task.row].n = kept;
            rows[task.row].is_sorted = 1u;
        }
    } else {
        for (var i = mine.x; i < mine.y; i += 1u) {
            scratch[mark + i] = select(0u, 1u, logits[base + i] >= top + distance);
        }
        let kept = keep_marked();
        if (lane == 0u) { rows[task.row].n = kept; }
    }
}

// top_p: keep the fewest of the largest logits whose probabilities reach p, sorted. a: p. A row that
// counts as sorted keeps its order, also if a bias has changed it.

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    begin(group.x, local);
    softmax();
    if (agreed(row.is_sorted == 1u)) { keys_of_positions(); } else { keys_of_logits(row.n); }
    mark_enough(Enough(max(1u, task.least), task.a, 1u, 0u));
    let kept = keep_marked();
    if (agreed(row.is_sorted == 0u)) { sort(kept); }
    if (lane == 0u) {
        rows[task.row].n = kept;
        rows[task.row].is_sorted = 1u;
    }
}

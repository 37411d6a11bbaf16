// top_k: keep the k largest logits, sorted. k: how many, 1 to n.

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    begin(group.x, local);
    var kept = min(task.k, row.n);
    if (agreed(row.is_sorted == 0u)) {
        if (agreed(kept < row.n)) {
            keys_of_logits(row.n);
            mark_enough(Enough(kept, 0.0, 0u, 0u));
            kept = keep_marked();
        }
        sort(kept);
    }
    if (lane == 0u) {
        rows[task.row].n = kept;
        rows[task.row].is_sorted = 1u;
    }
}

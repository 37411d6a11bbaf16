// greedy: select the first largest logit.

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    begin(group.x, local);
    let best = first_largest();
    if (lane == 0u) { rows[task.row].selected = i32(best); }
}

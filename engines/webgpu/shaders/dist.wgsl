// dist: select the first candidate at which the running sum of the weights reaches u of the total.
// a: u, 0 to 1. A lane adds its part behind the sum of the lanes before.

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    begin(group.x, local);
    if (agreed(row.n < 2u)) {
        if (lane == 0u) {
            if (row.n == 1u) { probs[base] = 1.0; }
            rows[task.row].selected = i32(row.n) - 1;
        }
        return;
    }
    let mine = part(row.n);
    let sum = weigh();
    var running = before_f(sum);
    let total = same_f(lane_f[LANES - 1u]);
    var first = row.n;
    var past = 0u;  // the last with a weight: selected if rounding keeps the sum below u of the total
    for (var i = mine.x; i < mine.y; i += 1u) {
        let weight = probs[base + i];
        running += weight;
        let reached = running >= total * task.a && (weight > 0.0 || task.a == 0.0);
        if (reached) { first = min(first, i); }
        if (weight > 0.0) { past = i + 1u; }
    }
    first = min_u(first);
    past = ~min_u(~past);
    let lost = select(past, row.n, past == 0u || is_nan(total)) - 1u;
    if (lane == 0u) { rows[task.row].selected = i32(select(first, lost, first == row.n)); }
    divide(total);
}

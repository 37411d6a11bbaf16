// logit_bias: add each bias to its token. table: pairs of a token and the bits of its bias. If a
// token stands at another position than its id, only its first bias counts, as in llama.cpp.

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    begin(group.x, local);
    let mine = part(row.n);
    for (var i = mine.x; i < mine.y; i += 1u) {
        let token = ids[base + i];
        for (var j = task.first; j < task.past; j += 1u) {
            if (table[j].x != token) { continue; }
            logits[base + i] = logits[base + i] + bitcast<f32>(table[j].y);
            if (u32(token) != i) { break; }
        }
    }
}

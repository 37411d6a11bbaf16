// noise: write the uniform of each token to its probability, and its noise to its logit. least: the
// state of token 0. The tests compare a million of them with the model.

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    begin(group.x, local);
    let mine = part(row.n);
    for (var i = mine.x; i < mine.y; i += 1u) {
        let u = uniform_of(task.least + i);
        probs[base + i] = u;
        logits[base + i] = noise_of(u);
    }
}

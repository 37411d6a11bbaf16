// The fewest candidates of the largest keys that are enough, found without a sort.
//
// A radix search: eight times, the candidates with the digits found so far are counted, and their
// probabilities added, by the next digit. n candidates cost eight reads. Among equal keys the first
// positions stay. A mass is added in another order than a running sum over sorted candidates adds.

struct Enough { least: u32, mass: f32, by_mass: u32, exceeds: u32 }

var<workgroup> counts: array<u32, 1024>;  // [16][LANES]
var<workgroup> masses: array<f32, 1024>;
var<workgroup> bin_count: array<u32, 16>;
var<workgroup> bin_mass: array<f32, 16>;
var<workgroup> found: vec2<u32>;  // the digit, and how many have larger keys
var<workgroup> found_mass: f32;

fn is_enough(need: Enough, n: u32, mass: f32) -> bool {
    if (n < need.least) { return false; }
    if (need.by_mass == 0u) { return true; }
    return select(mass >= need.mass, mass > need.mass, need.exceeds == 1u);
}

// The key of the last that stays; how many have larger keys, and their mass.
struct Last { key: u32, above: u32, mass: f32 }

// Find the key at which the candidates with the largest keys are enough. The keys are set.
fn search(need: Enough) -> Last {
    let keys = scratch_of(0u);
    let mine = part(row.n);
    var prefix = 0u;
    var above = 0u;
    var above_mass = 0.0;
    for (var digit = 0u; digit < 8u; digit += 1u) {
        let shift = 28u - 4u * digit;
        var n: array<u32, 16>;
        var mass: array<f32, 16>;
        for (var d = 0u; d < 16u; d += 1u) { n[d] = 0u; mass[d] = 0.0; }
        for (var i = mine.x; i < mine.y; i += 1u) {
            let key = scratch[keys + i];
            if (digit == 0u || (key >> (shift + 4u)) == prefix) {
                let d = (key >> shift) & 15u;
                n[d] += 1u;
                mass[d] += probs[base + i];
            }
        }
        for (var d = 0u; d < 16u; d += 1u) {
            counts[d * LANES + lane] = n[d];
            masses[d * LANES + lane] = mass[d];
        }
        workgroupBarrier();
        if (lane < 16u) {
            var count = 0u;
            var sum = 0.0;
            for (var l = 0u; l < LANES; l += 1u) {
                count += counts[lane * LANES + l];
                sum += masses[lane * LANES + l];
            }
            bin_count[lane] = count;
            bin_mass[lane] = sum;
        }
        workgroupBarrier();
        if (lane == 0u) {
            found_mass = above_mass;
            found = vec2<u32>(16u, above);
            for (var d = 15i; d >= 0i; d -= 1i) {
                if (bin_count[d] == 0u) { continue; }
                if (found.x < 16u) {  // the digit before was not enough
                    above += bin_count[found.x];
                    above_mass += bin_mass[found.x];
                }
                found = vec2<u32>(u32(d), above);
                found_mass = above_mass;
                if (is_enough(need, above + bin_count[d], above_mass + bin_mass[d])) { break; }
            }
        }
        let chosen = workgroupUniformLoad(&found);
        above_mass = workgroupUniformLoad(&found_mass);
        above = chosen.y;
        prefix = (prefix << 4u) | chosen.x;
    }
    return Last(prefix, above, above_mass);
}

// Mark the candidates that stay, for keep_marked.
fn mark_enough(need: Enough) {
    let keys = scratch_of(0u);
    let mark = scratch_of(2u);
    let mine = part(row.n);
    let last = search(need);
    var n = 0u;
    var mass = 0.0;
    for (var i = mine.x; i < mine.y; i += 1u) {
        if (scratch[keys + i] == last.key) {
            n += 1u;
            mass += probs[base + i];
        }
    }
    n = last.above + before_u(n);
    mass = last.mass + before_f(mass);
    for (var i = mine.x; i < mine.y; i += 1u) {
        let key = scratch[keys + i];
        var stays = key > last.key;
        if (key == last.key) {
            stays = !is_enough(need, n, mass);
            n += 1u;
            mass += probs[base + i];
        }
        scratch[mark + i] = select(0u, 1u, stays);
    }
}

// Set the keys so that the first position has the largest.
fn keys_of_positions() {
    let mine = part(row.n);
    for (var i = mine.x; i < mine.y; i += 1u) { scratch[scratch_of(0u) + i] = ~i; }
}

// Candidates in another order, or fewer of them. The scratch of a row has four parts: keys,
// positions, and both once more.

var<workgroup> digits: array<u32, 1024>;  // [16][LANES]

fn scratch_of(which: u32) -> u32 { return 4u * base + which * size; }

// Reorder the row: candidate i is the one that was at positions[i].
fn gather(n: u32) {
    let at = scratch_of(1u);
    let to = scratch_of(2u);
    let mine = part(n);
    sync();
    for (var i = mine.x; i < mine.y; i += 1u) { scratch[to + i] = bitcast<u32>(ids[base + scratch[at + i]]); }
    sync();
    for (var i = mine.x; i < mine.y; i += 1u) { ids[base + i] = bitcast<i32>(scratch[to + i]); }
    sync();
    for (var i = mine.x; i < mine.y; i += 1u) { scratch[to + i] = bitcast<u32>(logits[base + scratch[at + i]]); }
    sync();
    for (var i = mine.x; i < mine.y; i += 1u) { logits[base + i] = bitcast<f32>(scratch[to + i]); }
    sync();
    for (var i = mine.x; i < mine.y; i += 1u) { scratch[to + i] = bitcast<u32>(probs[base + scratch[at + i]]); }
    sync();
    for (var i = mine.x; i < mine.y; i += 1u) { probs[base + i] = bitcast<f32>(scratch[to + i]); }
    sync();
}

// Keep the candidates whose mark (the second copy of the keys) is 1, in their order.
fn keep_marked() -> u32 {
    let mark = scratch_of(2u);
    let mine = part(row.n);
    sync();
    var n = 0u;
    for (var i = mine.x; i < mine.y; i += 1u) { n += scratch[mark + i]; }
    var to = scratch_of(1u) + before_u(n);
    for (var i = mine.x; i < mine.y; i += 1u) {
        if (scratch[mark + i] == 1u) {
            scratch[to] = i;
            to += 1u;
        }
    }
    let kept = sum_u(n);
    gather(kept);
    return kept;
}

// Sort by the keys, the largest first, equal ones in their order: a stable radix sort, the lowest
// of eight digits first. n candidates cost 16 reads and writes each, in any order of memory.
fn sort_by_keys(n: u32) {
    let mine = part(n);
    sync();
    for (var i = mine.x; i < mine.y; i += 1u) { scratch[scratch_of(1u) + i] = i; }
    for (var pass_ = 0u; pass_ < 8u; pass_ += 1u) {
        let source = scratch_of(2u * (pass_ & 1u));
        let target_ = scratch_of(2u - 2u * (pass_ & 1u));
        let shift = 4u * pass_;
        for (var d = 0u; d < 16u; d += 1u) { digits[d * LANES + lane] = 0u; }
        for (var i = mine.x; i < mine.y; i += 1u) {
            digits[(15u - ((scratch[source + i] >> shift) & 15u)) * LANES + lane] += 1u;
        }
        workgroupBarrier();
        var sum = 0u;  // of sixteen neighbours in the order of digits, then lanes
        for (var j = 16u * lane; j < 16u * lane + 16u; j += 1u) { sum += digits[j]; }
        var at = before_u(sum);
        workgroupBarrier();
        for (var j = 16u * lane; j < 16u * lane + 16u; j += 1u) {
            let here = digits[j];
            digits[j] = at;
            at += here;
        }
        workgroupBarrier();
        for (var i = mine.x; i < mine.y; i += 1u) {
            let key = scratch[source + i];
            let place = (15u - ((key >> shift) & 15u)) * LANES + lane;
            let to = digits[place];
            digits[place] = to + 1u;
            scratch[target_ + to] = key;
            scratch[target_ + size + to] = scratch[source + size + i];
        }
        sync();
    }
    gather(n);
}

// Set the keys to the logits. A row with a NaN is refused: no order is defined.
fn keys_of_logits(n: u32) {
    let mine = part(n);
    for (var i = mine.x; i < mine.y; i += 1u) {
        let logit = logits[base + i];
        scratch[scratch_of(0u) + i] = key_of(logit);
        if (is_nan(logit) && n > 1u) { rows[task.row].refused = 1u; }
    }
}

fn sort(n: u32) {
    keys_of_logits(n);
    sort_by_keys(n);
}

// What every stage has: the candidates of all rows, and one task for each row that takes the stage.
// A workgroup of 64 lanes computes one task.

const LANES = 64u;

struct Row { n: u32, is_sorted: u32, selected: i32, refused: u32 }

// row: its place. first, past: its part of `table`. k: a count. least: min_keep.
struct Task { row: u32, first: u32, past: u32, k: u32, least: u32, a: f32, b: f32, c: f32 }

@group(0) @binding(0) var<storage, read_write> ids: array<i32>;
@group(0) @binding(1) var<storage, read_write> logits: array<f32>;
@group(0) @binding(2) var<storage, read_write> probs: array<f32>;
@group(0) @binding(3) var<storage, read_write> rows: array<Row>;
@group(0) @binding(4) var<storage, read> tasks: array<Task>;
@group(0) @binding(5) var<storage, read> table: array<vec2<i32>>;
@group(0) @binding(6) var<storage, read_write> scratch: array<u32>;  // four words for a candidate

var<private> task: Task;
var<private> lane: u32;
var<private> size: u32;   // candidates that a row has room for
var<private> base: u32;   // its first candidate
var<private> row: Row;    // as the stage begins

var<workgroup> shared_row: Row;
var<workgroup> shared_u: u32;
var<workgroup> shared_f: f32;
var<workgroup> lane_u: array<u32, LANES>;
var<workgroup> lane_f: array<f32, LANES>;

fn begin(group: u32, local: u32) {
    task = tasks[group];
    lane = local;
    size = arrayLength(&ids) / arrayLength(&rows);
    base = task.row * size;
    if (lane == 0u) { shared_row = rows[task.row]; }
    row = workgroupUniformLoad(&shared_row);
}

// Part of the candidates that belongs to this lane: from .x to before .y, in the order of positions.
fn part(n: u32) -> vec2<u32> {
    let each = (n + LANES - 1u) / LANES;
    return vec2<u32>(min(n, lane * each), min(n, (lane + 1u) * each));
}

fn sync() { workgroupBarrier(); storageBarrier(); }

fn same_u(value: u32) -> u32 {  // lane 0's value, in every lane
    if (lane == 0u) { shared_u = value; }
    return workgroupUniformLoad(&shared_u);
}

fn same_f(value: f32) -> f32 {
    if (lane == 0u) { shared_f = value; }
    return workgroupUniformLoad(&shared_f);
}

// A condition that all lanes have, for branches with barriers: WGSL asks for a proof of it.
fn agreed(condition: bool) -> bool { return same_u(select(0u, 1u, condition)) == 1u; }

fn sum_u(value: u32) -> u32 {
    lane_u[lane] = value;
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if (lane < half) { lane_u[lane] += lane_u[lane + half]; }
    }
    return same_u(lane_u[0]);
}

fn sum_f(value: f32) -> f32 {  // a tree: float32[64], six roundings
    lane_f[lane] = value;
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if (lane < half) { lane_f[lane] += lane_f[lane + half]; }
    }
    return same_f(lane_f[0]);
}

fn min_u(value: u32) -> u32 {
    lane_u[lane] = value;
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if (lane < half) { lane_u[lane] = min(lane_u[lane], lane_u[lane + half]); }
    }
    return same_u(lane_u[0]);
}

// The sum of the values of the lanes before this one; the last lane_u has that of all.
fn before_u(value: u32) -> u32 {
    lane_u[lane] = value;
    for (var step = 1u; step < LANES; step *= 2u) {
        workgroupBarrier();
        var left = 0u;
        if (lane >= step) { left = lane_u[lane - step]; }
        workgroupBarrier();
        lane_u[lane] += left;
    }
    workgroupBarrier();
    var left = 0u;
    if (lane > 0u) { left = lane_u[lane - 1u]; }
    workgroupBarrier();
    return left;
}

fn before_f(value: f32) -> f32 {
    lane_f[lane] = value;
    for (var step = 1u; step < LANES; step *= 2u) {
        workgroupBarrier();
        var left = 0.0;
        if (lane >= step) { left = lane_f[lane - step]; }
        workgroupBarrier();
        lane_f[lane] += left;
    }
    workgroupBarrier();
    var left = 0.0;
    if (lane > 0u) { left = lane_f[lane - 1u]; }
    workgroupBarrier();
    return left;
}

// Heaps over positions. The order is total: by key, equal keys by position, so that results do not
// depend on how a heap was built. -0 and 0 are equal keys.

/** Whether position a comes before b: larger key first, then the smaller position. */
function before(keys: Float32Array, a: number, b: number): boolean {
  return keys[a] > keys[b] || (keys[a] === keys[b] && a < b);
}

/** Heap of the positions 0..n-1 with the first one (in the order above) at its top. */
export function heapify(heap: Uint32Array, keys: Float32Array, n: number): void {
  for (let i = 0; i < n; i++) heap[i] = i;
  for (let i = (n >>> 1) - 1; i >= 0; i--) sink(heap, keys, i, n);
}

/** Moves the top of a heap of n to place n - 1; the heap has n - 1 then. Returns it. */
export function pop(heap: Uint32Array, keys: Float32Array, n: number): number {
  const top = heap[0];
  heap[0] = heap[n - 1];
  heap[n - 1] = top;
  sink(heap, keys, 0, n - 1);
  return top;
}

function sink(heap: Uint32Array, keys: Float32Array, at: number, n: number): void {
  const moving = heap[at];
  for (;;) {
    let child = 2 * at + 1;
    if (child >= n) break;
    if (child + 1 < n && before(keys, heap[child + 1], heap[child])) child += 1;
    if (!before(keys, heap[child], moving)) break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = moving;
}

/**
 * The k largest of n values, in descending order, equal ones by id: ids into idx, values into val
 * (both of length k or more). O(n log k): a heap of the k best so far with the worst at its top.
 */
export function selectLargest(
  value: (id: number) => number,
  n: number,
  k: number,
  idx: Uint32Array,
  val: Float32Array,
): void {
  for (let id = 0; id < k; id++) {
    idx[id] = id;
    val[id] = value(id);
  }
  for (let i = (k >>> 1) - 1; i >= 0; i--) lift(idx, val, i, k);
  for (let id = k; id < n; id++) {
    const v = value(id);
    if (v > val[0]) {
      idx[0] = id;
      val[0] = v;
      lift(idx, val, 0, k);
    }
  }
  for (let left = k - 1; left > 0; left--) {
    const worstId = idx[0], worst = val[0];
    idx[0] = idx[left];
    val[0] = val[left];
    idx[left] = worstId;
    val[left] = worst;
    lift(idx, val, 0, left);
  }
}

function lift(idx: Uint32Array, val: Float32Array, at: number, n: number): void {
  const id = idx[at], v = val[at];
  for (;;) {
    let child = 2 * at + 1;
    if (child >= n) break;
    const other = child + 1;
    if (other < n && worse(val[other], idx[other], val[child], idx[child])) child = other;
    if (!worse(val[child], idx[child], v, id)) break;
    idx[at] = idx[child];
    val[at] = val[child];
    at = child;
  }
  idx[at] = id;
  val[at] = v;
}

function worse(value: number, id: number, thanValue: number, thanId: number): boolean {
  return value < thanValue || (value === thanValue && id > thanId);
}

// Runs SGLang's CUDA kernel that verifies trees of drafts, one block after the other, on a CPU.
//
// kernel.cuh and draw.cuh are the texts of the installed packages (tree.py). Here are the words of
// CUDA, CUB and FlashInfer that they use. The threads of a block take turns on one stack each. They
// wait for each other only where the kernel says so: at __syncthreads, in CUB's calls, and in the
// shuffles of a warp.
#include <ucontext.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#ifndef THREADS
#define THREADS 64
#endif

struct Index {
  uint32_t x;
};
static Index blockIdx, threadIdx;

namespace threads {
constexpr size_t STACK = 1 << 15;
static ucontext_t back, of[THREADS];
static bool done[THREADS];
static std::vector<char> stacks(THREADS * STACK);

static void next() {
  const uint32_t me = threadIdx.x;
  for (uint32_t step = 1; step <= THREADS; ++step) {
    const uint32_t other = (me + step) % THREADS;
    if (done[other]) continue;
    if (other == me) return;
    threadIdx.x = other;
    swapcontext(&of[me], &of[other]);
    return;
  }
  swapcontext(&of[me], &back);
}

// A group of threads that meet. Values are kept twice: the first to leave may meet again before the
// last has read.
struct Group {
  uint32_t size, arrived = 0, generation = 0;
  double values[2][THREADS];

  const double* meet(uint32_t place, double value) {
    const uint32_t mine = generation;
    values[mine % 2][place] = value;
    if (++arrived == size) {
      arrived = 0;
      ++generation;
    }
    while (generation == mine) next();
    return values[mine % 2];
  }
};
static Group block{THREADS}, warps[(THREADS + 31) / 32];
}  // namespace threads

#define __global__
#define __device__
#define __forceinline__ inline
#define __shared__
#define __align__(n) __attribute__((aligned(n)))
#define FLASHINFER_CUB_SUBTRACTLEFT_DEFINED

inline void __syncthreads() { threads::block.meet(threadIdx.x, 0); }

inline float shuffled(float value, uint32_t from) {
  const uint32_t lane = threadIdx.x % 32;
  const double* values = threads::warps[threadIdx.x / 32].meet(lane, value);
  return static_cast<float>(from < 32 ? values[from] : values[lane]);
}
inline float __shfl_up_sync(uint32_t, float value, uint32_t by) {
  return shuffled(value, threadIdx.x % 32 - by);  // below lane 0: its own
}
inline float __shfl_sync(uint32_t, float value, uint32_t lane) { return shuffled(value, lane % 32); }
inline float __shfl_xor_sync(uint32_t, float value, uint32_t mask) {
  return shuffled(value, (threadIdx.x % 32) ^ mask);
}
inline void atomicMin(int32_t* at, int32_t value) { *at = std::min(*at, value); }
using std::max;

namespace cub {
enum BlockScanAlgorithm { BLOCK_SCAN_WARP_SCANS };
enum BlockReduceAlgorithm { BLOCK_REDUCE_WARP_REDUCTIONS };

// As in CUB, only thread 0 gets the result.
template <typename T, uint32_t N, BlockReduceAlgorithm = BLOCK_REDUCE_WARP_REDUCTIONS>
struct BlockReduce {
  struct TempStorage {};
  explicit BlockReduce(TempStorage&) {}

  template <typename Op>
  static T of_all(T own, Op op) {
    const double* values = threads::block.meet(threadIdx.x, own);
    if (threadIdx.x) return T(-1e30f);
    T result = static_cast<T>(values[0]);
    for (uint32_t i = 1; i < N; ++i) result = op(result, static_cast<T>(values[i]));
    return result;
  }
  template <int ITEMS, typename Op>
  T Reduce(T (&items)[ITEMS], Op op) {
    T own = items[0];
    for (int i = 1; i < ITEMS; ++i) own = op(own, items[i]);
    return of_all(own, op);
  }
  template <int ITEMS>
  T Sum(T (&items)[ITEMS]) {
    return Reduce(items, [](T a, T b) { return a + b; });
  }
};

template <typename T, uint32_t N, BlockScanAlgorithm = BLOCK_SCAN_WARP_SCANS>
struct BlockScan {
  struct TempStorage {};
  explicit BlockScan(TempStorage&) {}

  template <int ITEMS>
  void InclusiveSum(T (&items)[ITEMS], T (&sums)[ITEMS]) {
    T own = 0;
    for (int i = 0; i < ITEMS; ++i) sums[i] = own += items[i];
    const double* values = threads::block.meet(threadIdx.x, own);
    T before = 0;
    for (uint32_t i = 0; i < threadIdx.x; ++i) before += static_cast<T>(values[i]);
    for (int i = 0; i < ITEMS; ++i) sums[i] += before;
  }
};

template <typename T, uint32_t N>
struct BlockAdjacentDifference {
  struct TempStorage {};
  explicit BlockAdjacentDifference(TempStorage&) {}

  template <int ITEMS, typename Op>
  void SubtractLeft(T (&items)[ITEMS], T (&out)[ITEMS], Op op) {
    const double* lasts = threads::block.meet(threadIdx.x, items[ITEMS - 1]);
    for (int i = ITEMS - 1; i > 0; --i) out[i] = op(items[i], items[i - 1]);
    out[0] = threadIdx.x ? op(items[0], static_cast<T>(lasts[threadIdx.x - 1])) : items[0];
  }
};
}  // namespace cub

namespace flashinfer {
template <typename T, size_t N>
struct vec_t {
  T data[N];
  T& operator[](size_t i) { return data[i]; }
  void fill(T value) { std::fill(data, data + N, value); }
  void load(const T* from) { std::copy(from, from + N, data); }
};
inline uint32_t ceil_div(uint32_t a, uint32_t b) { return (a + b - 1) / b; }

namespace sampling {
using namespace cub;
struct MaxReduceOp {
  template <typename T>
  T operator()(T a, T b) const {
    return std::max(a, b);
  }
};
#include "draw.cuh"
}  // namespace sampling
}  // namespace flashinfer

namespace sglang::speculative_sampling {
alignas(64) uint8_t smem_sampling[1 << 16];
}
#include "kernel.cuh"

namespace {
struct Arguments {
  int32_t *predicts, *accept_index, *accept_token_num;
  int64_t *candidates, *index, *next, *sibling;
  float *coins, *final_coins, *target, *draft;
  uint32_t batch, speculative, drafts, vocabulary;
  float single, accumulated;
} given;

template <uint32_t VEC, bool DETERMINISTIC>
void thread() {
  const Arguments& of = given;
  sglang::speculative_sampling::TreeSpeculativeSamplingTargetOnly<
      THREADS, cub::BLOCK_SCAN_WARP_SCANS, cub::BLOCK_REDUCE_WARP_REDUCTIONS, VEC, DETERMINISTIC,
      float, int32_t, int64_t>(
      of.predicts, of.accept_index, of.accept_token_num, of.candidates, of.index, of.next,
      of.sibling, of.coins, of.final_coins, of.target, of.draft, of.batch, of.speculative,
      of.drafts, of.vocabulary, of.single, of.accumulated);
  threads::done[threadIdx.x] = true;
  threads::next();
}

void launch(void (*kernel)()) {
  for (auto& warp : threads::warps) warp.size = 32;
  for (blockIdx.x = 0; blockIdx.x < given.batch; ++blockIdx.x) {
    std::fill(threads::done, threads::done + THREADS, false);
    for (uint32_t i = 0; i < THREADS; ++i) {
      getcontext(&threads::of[i]);
      threads::of[i].uc_stack.ss_sp = threads::stacks.data() + i * threads::STACK;
      threads::of[i].uc_stack.ss_size = threads::STACK;
      makecontext(&threads::of[i], kernel, 0);
    }
    threadIdx.x = 0;
    swapcontext(&threads::back, &threads::of[0]);
  }
}
}  // namespace

extern "C" void tree(int32_t* predicts, int32_t* accept_index, int32_t* accept_token_num,
                     int64_t* candidates, int64_t* index, int64_t* next, int64_t* sibling,
                     float* coins, float* final_coins, float* target, float* draft, uint32_t batch,
                     uint32_t speculative, uint32_t drafts, uint32_t vocabulary, float single,
                     float accumulated, bool deterministic) {
  given = {predicts, accept_index, accept_token_num, candidates, index,      next,   sibling,
           coins,    final_coins,  target,           draft,      batch,      speculative,
           drafts,   vocabulary,   single,           accumulated};
  const bool four = vocabulary % 4 == 0, two = vocabulary % 2 == 0;
  if (deterministic)
    launch(four ? thread<4, true> : two ? thread<2, true> : thread<1, true>);
  else
    launch(four ? thread<4, false> : two ? thread<2, false> : thread<1, false>);
}

// The loop over the stages of a chain, so that Python is not called for each of them. It links to
// no llama.cpp: its functions are passed as pointers, and llama_token_data_array is alike in every
// release.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <memory>

#define EXPORTED extern "C" __attribute__((visibility("default")))

struct token_data {
    int32_t id;
    float logit;
    float p;
};

struct token_data_array {
    token_data * data;
    size_t size;
    int64_t selected;
    bool sorted;
};

using apply_function = void(void * sampler, token_data_array * candidates);
using accept_function = void(void * sampler, int32_t token);

static int64_t nanoseconds() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

// Applies samplers in turn to the candidates of a row of n logits. `left`: the selected token, or
// INT64_MIN for none (infill may select -1), the nanoseconds in the samplers, then n, sorted and
// selected of each stage. `out`: of each stage all ids, all logits and all p; null: not wanted.
EXPORTED void stages_apply(
    apply_function * apply, void * const * samplers, int32_t count, const float * row, int32_t n,
    int32_t * out, int64_t * left) {
    // exactly n: an address sanitizer then finds a sampler that reads behind them
    const std::unique_ptr<token_data[]> candidates(new token_data[n]);
    for (int32_t i = 0; i < n; i++) {
        candidates[i] = {i, row[i], 0.0f};
    }
    token_data_array array = {candidates.get(), static_cast<size_t>(n), -1, false};
    const token_data * end = candidates.get() + n;
    int64_t ns = 0;
    size_t size = n;
    for (int32_t stage = 0; stage < count; stage++) {
        const int64_t start = nanoseconds();
        apply(samplers[stage], &array);
        ns += nanoseconds() - start;
        // a defective sampler may leave more than there is
        const bool inside = array.data >= candidates.get() && array.data <= end;
        const size_t there = inside ? end - array.data : 0;
        size = array.size < there ? array.size : there;
        int64_t * of_stage = left + 2 + 3 * stage;
        of_stage[0] = size;
        of_stage[1] = array.sorted;
        of_stage[2] = array.selected;
        if (!out) {
            continue;
        }
        for (size_t i = 0; i < size; i++) {
            out[i] = array.data[i].id;
            memcpy(&out[size + i], &array.data[i].logit, sizeof(float));
            memcpy(&out[2 * size + i], &array.data[i].p, sizeof(float));
        }
        out += 3 * size;
    }
    const bool drawn = array.selected >= 0 && static_cast<size_t>(array.selected) < size;
    left[0] = drawn ? array.data[array.selected].id : INT64_MIN;
    left[1] = ns;
}

EXPORTED void stages_accept(
    accept_function * accept, void * const * samplers, int32_t count, int32_t token) {
    for (int32_t i = 0; i < count; i++) {
        accept(samplers[i], token);
    }
}

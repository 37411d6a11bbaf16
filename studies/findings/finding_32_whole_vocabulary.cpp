// llama.cpp v0.5.0: penalties look up every token of the vocabulary for a history of 64.
//
//     c++ -std=c++17 finding_32_whole_vocabulary.cpp -o repro -I PREFIX/include -L PREFIX/lib -lllama -Wl,-rpath,PREFIX/lib
//     ./repro
//
// PREFIX is where llama.cpp is installed. Prints expected and got, exit status 1 where they differ.

#include <llama.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

// The fastest of 200 calls in microseconds, behind 64 tokens.
static double fastest(int n_vocab) {
    llama_sampler * sampler = llama_sampler_init_penalties(n_vocab, 64, 1.1f, 0.1f, 0.1f);
    for (int token = 0; token < 64; token++) llama_sampler_accept(sampler, token);
    double best = 1e9;
    for (int round = 0; round < 200; round++) {
        std::vector<llama_token_data> row;
        for (int i = 0; i < n_vocab; i++) row.push_back({i, 1, 0});
        llama_token_data_array left = {row.data(), row.size(), -1, false};
        const auto start = std::chrono::steady_clock::now();
        llama_sampler_apply(sampler, &left);
        const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
        best = std::min(best, time.count());
    }
    return best;
}

int main() {
    const double small = fastest(4096), large = fastest(131072);
    std::puts("penalties with 64 tokens of history: 131,072 tokens against 4,096, fastest of 200");
    std::printf("  expected about the same time: 64 logits change\n");
    std::printf("  got      %.0f us for %.1f us, %.0f times\n", large, small, large / small);
    return large > 8 * small;  // 32 times as many tokens
}

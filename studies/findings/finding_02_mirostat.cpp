// llama.cpp v0.5.0: mirostat (v1) turns greedy at a large tau.
//
//     c++ -std=c++17 finding_02_mirostat.cpp -o repro -I PREFIX/include -L PREFIX/lib -lllama -Wl,-rpath,PREFIX/lib
//     ./repro
//
// PREFIX is where llama.cpp is installed. Prints expected and got, exit status 1 where they differ.

#include <llama.h>

#include <cmath>
#include <cstdio>
#include <vector>

// How many of 64 almost equal tokens it draws from.
static size_t kept(float tau) {
    std::vector<llama_token_data> row;
    for (int i = 0; i < 64; i++) row.push_back({i, -0.3f * std::log(i + 1.0f), 0});
    llama_token_data_array left = {row.data(), row.size(), -1, false};
    llama_sampler_apply(llama_sampler_init_mirostat(64, 1, tau, 0.1f, 100), &left);
    return left.size;
}

int main() {
    std::printf("mirostat, 64 tokens of logits -0.3 ln(rank): at tau 5 it draws from %zu\n", kept(5));
    std::printf("at tau 8, which asks for more surprise\n  expected 64\n  got      %zu\n", kept(8));
    return kept(8) != 64;
}

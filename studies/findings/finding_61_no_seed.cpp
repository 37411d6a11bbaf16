// llama.cpp v0.5.0 on WebAssembly: two samplers without a seed that are made together draw the same tokens.
//
//     em++ -std=c++17 finding_61_no_seed.cpp -o repro.js -fexceptions -I SOURCE/include -I SOURCE/src -I SOURCE/ggml/include SOURCE/src/llama-sampler.cpp -sERROR_ON_UNDEFINED_SYMBOLS=0 -sWASM_ASYNC_COMPILATION=0 -sEXIT_RUNTIME=1
//     node repro.js
//
// SOURCE is llama.cpp's source; what its sampler file asks of a vocabulary is left undefined and never called.
// Prints expected and got, exit status 1 where a pair is the same.

#include <llama.h>

#include <cstdio>
#include <vector>

// 64 of 1,000 equally likely tokens, one behind the other.
static std::vector<llama_token> drawn(llama_sampler * sampler) {
    std::vector<llama_token> tokens;
    for (int draw = 0; draw < 64; draw++) {
        std::vector<llama_token_data> row;
        for (int id = 0; id < 1000; id++) row.push_back({id, 0.0f, 0.0f});
        llama_token_data_array candidates = {row.data(), row.size(), -1, false};
        llama_sampler_apply(sampler, &candidates);
        tokens.push_back(row[candidates.selected].id);
    }
    return tokens;
}

int main() {
    int same = 0;
    for (int pair = 0; pair < 200; pair++) {
        llama_sampler * one = llama_sampler_init_dist(LLAMA_DEFAULT_SEED);
        llama_sampler * two = llama_sampler_init_dist(LLAMA_DEFAULT_SEED);
        same += drawn(one) == drawn(two);
        llama_sampler_free(one);
        llama_sampler_free(two);
    }
    std::printf("200 pairs of dist without a seed, made one behind the other: how many draw the same 64 tokens\n"
                "  expected 0\n  got      %d\n", same);
    return same > 0;
}

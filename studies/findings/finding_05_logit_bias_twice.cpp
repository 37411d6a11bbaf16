// llama.cpp v0.5.0: a bias for a token that is named twice depends on the order of the candidates.
//
//     c++ -std=c++17 finding_05_logit_bias_twice.cpp -o repro -I PREFIX/include -L PREFIX/lib -lllama -Wl,-rpath,PREFIX/lib
//     ./repro
//
// PREFIX is where llama.cpp is installed. Prints expected and got, exit status 1 where they differ.

#include <llama.h>

#include <cstdio>
#include <vector>

// The logit of token 2, which has two biases of 1; `sorted`: behind a sort of the candidates.
static float biased(bool sorted) {
    std::vector<llama_token_data> row = {{0, 1, 0}, {1, 3, 0}, {2, 2, 0}};
    llama_token_data_array left = {row.data(), row.size(), -1, false};
    if (sorted) llama_sampler_apply(llama_sampler_init_top_k(3), &left);
    const llama_logit_bias biases[] = {{2, 1}, {2, 1}};
    llama_sampler_apply(llama_sampler_init_logit_bias(3, 2, biases), &left);
    for (size_t i = 0; i < left.size; i++)
        if (left.data[i].id == 2) return left.data[i].logit;
    return 0;
}

int main() {
    std::puts("logit_bias {2: +1, 2: +1} on logits 1, 3, 2, behind a sort: the logit of token 2");
    std::printf("  expected %g, as in the vocabulary's order\n  got      %g\n", biased(false), biased(true));
    return biased(false) != biased(true);
}

// llama.cpp v0.5.0: logit_bias leaves the flag sorted, and the next sampler believes it.
//
//     c++ -std=c++17 finding_06_logit_bias_sorted.cpp -o repro -I PREFIX/include -L PREFIX/lib -lllama -Wl,-rpath,PREFIX/lib
//     ./repro
//
// PREFIX is where llama.cpp is installed. Prints expected and got, exit status 1 where they differ.

#include <llama.h>

#include <cstdio>
#include <vector>

int main() {
    std::vector<llama_token_data> row = {{0, 3, 0}, {1, 2, 0}, {2, 1, 0}};
    llama_token_data_array left = {row.data(), row.size(), -1, false};
    const llama_logit_bias bias = {2, 5};
    llama_sampler_apply(llama_sampler_init_top_k(3), &left);
    llama_sampler_apply(llama_sampler_init_logit_bias(3, 1, &bias), &left);
    llama_sampler_apply(llama_sampler_init_top_k(1), &left);
    std::puts("logits 3, 2, 1: top_k 3, a bias of 5 for token 2, top_k 1");
    std::printf("  expected token 2\n  got      token %d\n", left.data[0].id);
    return left.data[0].id != 2;
}

// llama.cpp v0.5.0: dist draws a banned first candidate where its uniform number is 0.
//
//     c++ -std=c++17 finding_30_zero.cpp -o repro -I SOURCE/include -I SOURCE/src -I SOURCE/ggml/include -L PREFIX/lib -lllama -lggml-base -Wl,-rpath,PREFIX/lib
//     ./repro
//
// SOURCE is llama.cpp's source, PREFIX where it is installed. The sampler file is compiled in, for its generator is
// of no header: a state of zeros gives the uniform number 0, which comes once in 2^64 draws, and in a port that
// draws 24 bits once in 16.8 million. Prints expected and got, exit status 1 where they differ.

#include "llama-sampler.cpp"

#include <cmath>
#include <cstdio>
#include <sstream>

static std::mt19937 zeros() {
    std::string words;
    for (size_t word = 0; word < std::mt19937::state_size; word++) words += "0 ";
    std::istringstream state(words + std::to_string(std::mt19937::state_size));
    std::mt19937 generator;
    state >> generator;
    return generator;
}

int main() {
    llama_sampler * dist = llama_sampler_init_dist(1);
    static_cast<llama_sampler_dist *>(dist->ctx)->rng = zeros();
    llama_token_data row[] = {{0, -INFINITY, 0.0f}, {1, 0.0f, 0.0f}, {2, 0.0f, 0.0f}};
    llama_token_data_array candidates = {row, 3, -1, false};
    llama_sampler_apply(dist, &candidates);
    std::printf("logits -inf, 0, 0 and a uniform number of 0: the token drawn, and its p\n"
                "  expected 1, p 0.5\n  got      %d, p %g\n",
                row[candidates.selected].id, row[candidates.selected].p);
    return row[candidates.selected].p == 0.0f;
}

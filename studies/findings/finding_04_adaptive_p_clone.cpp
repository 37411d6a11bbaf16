// llama.cpp v0.5.0: a clone of adaptive_p does not continue the random stream.
//
//     c++ -std=c++17 finding_04_adaptive_p_clone.cpp -o repro -I PREFIX/include -L PREFIX/lib -lllama -Wl,-rpath,PREFIX/lib
//     ./repro
//
// PREFIX is where llama.cpp is installed. Prints expected and got, exit status 1 where they differ.

#include <llama.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

static std::string drawn(llama_sampler * sampler, int steps) {
    std::string tokens;
    for (int step = 0; step < steps; step++) {
        std::vector<llama_token_data> row;
        for (int i = 0; i < 64; i++) row.push_back({i, std::sin(7.0f * i), 0});
        llama_token_data_array left = {row.data(), row.size(), -1, false};
        llama_sampler_apply(sampler, &left);
        const llama_token token = left.data[left.selected].id;
        llama_sampler_accept(sampler, token);
        tokens += " " + std::to_string(token);
    }
    return tokens;
}

static bool goes_on(const char * name, llama_sampler * sampler) {
    drawn(sampler, 8);
    llama_sampler * clone = llama_sampler_clone(sampler);
    const std::string expected = drawn(sampler, 8), got = drawn(clone, 8);
    std::printf("%s, 8 tokens, then a clone and 8 tokens of each\n  expected%s\n  got     %s\n", name,
                expected.c_str(), got.c_str());
    return expected == got;
}

int main() {
    const bool dist = goes_on("dist, seed 7", llama_sampler_init_dist(7));
    const bool adaptive = goes_on("adaptive_p, seed 7", llama_sampler_init_adaptive_p(0.1f, 0.9f, 7));
    return !(dist && adaptive);
}

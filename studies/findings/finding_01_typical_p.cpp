// llama.cpp v0.5.0: one banned token makes the cut of typical_p arbitrary.
//
//     c++ -std=c++17 finding_01_typical_p.cpp -o repro -I PREFIX/include -L PREFIX/lib -lllama -Wl,-rpath,PREFIX/lib
//     ./repro
//
// PREFIX is where llama.cpp is installed. Prints expected and got, exit status 1 where they differ.

#include <llama.h>

#include <cmath>
#include <cstdio>
#include <vector>

// 36 logits, the last of which is banned or is not; how many tokens are left, and the likeliest.
static std::vector<llama_token_data> kept(bool ban) {
    std::vector<llama_token_data> row;
    for (int i = 0; i < 36; i++) row.push_back({i, i < 6 ? 5.0f - i : -1.0f, 0});
    if (ban) row[35].logit = -INFINITY;
    llama_token_data_array left = {row.data(), row.size(), -1, false};
    llama_sampler_apply(llama_sampler_init_typical(0.5f, 1), &left);
    return {left.data, left.data + left.size};
}

int main() {
    const auto plain = kept(false), banned = kept(true);
    bool same = plain.size() == banned.size();
    std::puts("typical_p 0.5 of logits 5, 4, 3, 2, 1, 0, 30 times -1; then with the last one banned");
    std::printf("  expected %zu tokens:", plain.size());
    for (auto & token : plain) std::printf(" %d", token.id);
    std::printf("\n  got      %zu tokens:", banned.size());
    for (auto & token : banned) std::printf(" %d", token.id);
    std::puts("");
    for (size_t i = 0; same && i < plain.size(); i++) same = plain[i].id == banned[i].id;
    return !same;
}

// llama.cpp v0.5.0: the bucket sort loses logits above 3.4e8.
//
//     c++ -std=c++17 finding_03_bucket_sort.cpp -o repro -I PREFIX/include -L PREFIX/lib -lllama -Wl,-rpath,PREFIX/lib
//     ./repro
//
// PREFIX is where llama.cpp is installed. Prints expected and got, exit status 1 where they differ.

#include <llama.h>

#include <cmath>
#include <cstdio>
#include <vector>

// The first token that top_k leaves of 200, of which token 7 has the largest logit by far.
static llama_token first(int k, float largest) {
    std::vector<llama_token_data> row;
    for (int i = 0; i < 200; i++) row.push_back({i, i == 7 ? largest : 0.01f * i, 0});
    llama_token_data_array left = {row.data(), row.size(), -1, false};
    llama_sampler_apply(llama_sampler_init_top_k(k), &left);
    return left.data[0].id;
}

int main() {
    bool same = true;
    for (int k : {128, 150}) {  // more than 128 are sorted in buckets
        for (float largest : {5e8f, INFINITY}) {
            const llama_token token = first(k, largest);
            std::printf("top_k %d of 200, logit %g is token 7's, the others' are below 2: first\n"
                        "  expected 7\n  got      %d\n", k, largest, token);
            same = same && token == 7;
        }
    }
    return !same;
}

// llama.cpp v0.5.0: three samplers count masked tokens, so a mask is not a removal.
//
//     c++ -std=c++17 finding_23_masked.cpp -o repro -I PREFIX/include -L PREFIX/lib -lllama -Wl,-rpath,PREFIX/lib
//     ./repro
//
// PREFIX is where llama.cpp is installed. Prints expected and got, exit status 1 where they differ.

#include <llama.h>

#include <cmath>
#include <cstdio>
#include <vector>

static unsigned noise = 1;
static float next() { return (noise = noise * 1664525u + 1013904223u) / 1073741824.0f; }

// Of 100 rows of 1,000 tokens, three of them allowed, in how many it selects otherwise when the rest
// is masked with -inf than when it is removed.
template <class Make> static int differing(Make make) {
    int count = 0;
    for (int round = 0; round < 100; round++) {
        std::vector<llama_token_data> masked, removed;
        for (int i = 0; i < 1000; i++) {
            const float logit = next() + next() + next() - 6;
            const bool allowed = i % 333 == 1;  // 1, 334 and 667
            masked.push_back({i, allowed ? logit : -INFINITY, 0});
            if (allowed) removed.push_back({i, logit, 0});
        }
        llama_token selected[2];
        std::vector<llama_token_data> * rows[] = {&masked, &removed};
        for (int i = 0; i < 2; i++) {
            llama_token_data_array left = {rows[i]->data(), rows[i]->size(), -1, false};
            llama_sampler_apply(make(), &left);
            if (left.selected < 0) llama_sampler_apply(llama_sampler_init_dist(round), &left);
            selected[i] = left.data[left.selected].id;
        }
        count += selected[0] != selected[1];
    }
    return count;
}

int main() {
    const int counts[] = {
        differing([] { return llama_sampler_init_top_p(0.9f, 1); }),
        differing([] { return llama_sampler_init_typical(0.5f, 1); }),
        differing([] { return llama_sampler_init_mirostat(1000, 1, 5, 0.1f, 100); }),
        differing([] { return llama_sampler_init_temp_ext(0.8f, 0.5f, 1); }),
    };
    const char * names[] = {"top_p 0.9", "typical_p 0.5", "mirostat", "temp_ext 0.8, delta 0.5"};
    std::puts("997 of 1,000 tokens masked with -inf, or removed: rows of 100 with another token");
    for (int i = 0; i < 4; i++)
        std::printf("%s\n  expected 0\n  got      %d\n", names[i], counts[i]);
    return counts[0] + counts[1] + counts[2] + counts[3] != 0;
}

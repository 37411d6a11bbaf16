// Nanoseconds of a token by the power-law sampler and by top-k, both as llama.cpp writes samplers: over
// an array of (id, logit, p), float32, libstdc++'s sort and draw. Arguments: tokens, rounds.
// Prints a line a round: power_law top_k_and_dist.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

struct Candidate {
    int id;
    float logit;
    float p;
};

static std::mt19937 rng(1);

static void softmax(std::vector<Candidate> & cands) {
    float most = cands[0].logit;
    for (const auto & c : cands) most = std::max(most, c.logit);
    float sum = 0;
    for (auto & c : cands) {
        c.p = expf(c.logit - most);
        sum += c.p;
    }
    for (auto & c : cands) c.p /= sum;
}

static int draw(const std::vector<Candidate> & cands) {
    std::vector<float> p;
    p.reserve(cands.size());
    for (const auto & c : cands) p.push_back(c.p);
    std::discrete_distribution<int> law(p.begin(), p.end());
    return cands[law(rng)].id;
}

// Two softmaxes and the distance from the target between them.
static int power_law(std::vector<Candidate> & cands) {
    const float target = 0.12f, width = 0.08f, heaviness = 3.0f, peak = 10.0f;
    softmax(cands);
    for (auto & c : cands) {
        c.logit = peak / (1.0f + powf(std::fabs(c.p - target) / width, heaviness));
    }
    softmax(cands);
    return draw(cands);
}

static int top_k(std::vector<Candidate> & cands) {
    const int k = 40;
    std::partial_sort(cands.begin(), cands.begin() + k, cands.end(),
                      [](const Candidate & a, const Candidate & b) { return a.logit > b.logit; });
    cands.resize(k);
    softmax(cands);
    return draw(cands);
}

int main(int argc, char ** argv) {
    if (argc != 3) return 2;
    const int n = std::atoi(argv[1]), rounds = std::atoi(argv[2]);
    std::vector<Candidate> row(n), cands;
    for (int i = 0; i < n; i++) {
        const int rank = static_cast<int>((i * 7919LL) % n);
        row[i] = {i, 10.0f - 1.2f * logf(1.0f + static_cast<float>(rank)), 0};
    }
    long drawn = 0;
    const auto timed = [&](int (*sampler)(std::vector<Candidate> &)) {
        cands = row;
        const auto start = std::chrono::steady_clock::now();
        drawn += sampler(cands);
        const auto end = std::chrono::steady_clock::now();
        return static_cast<long>(std::chrono::nanoseconds(end - start).count());
    };
    for (int round = -5; round < rounds; round++) {
        const long first = timed(power_law), second = timed(top_k);
        if (round >= 0) std::printf("%ld %ld\n", first, second);
    }
    return drawn < 0;
}

// libstdc++ and glibc as an oracle: reads commands from stdin, writes results to stdout, all binary
// and little-endian. A command is uint32 {operation, a, b} and its input.
//
//   0 sort           a floats                -> int32[a]: where each sorted key stood (descending)
//   1 partial sort   a floats, b wanted      -> int32[b]
//   2 sort that never falls back to heap sort, a floats -> int32[a]
//   3 killer         a                       -> float[a]: the worst input for this std::sort
//   4 mt19937        seed a, b words         -> uint32[b]
//   5 uniform double seed a, b numbers       -> double[b]
//   6 uniform float  seed a, b numbers       -> float[b]
//   7 discrete       seed, a weights, b draws: uint32 seed and float[a] follow -> int32[b]
//   8 expf  9 logf  10 log2f   a floats      -> float[a]
//   11 powf          a bases and a exponents -> float[a]

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <random>
#include <vector>

template <typename T> static std::vector<T> read(size_t n) {
    std::vector<T> values(n);
    if (std::fread(values.data(), sizeof(T), n, stdin) != n) {
        std::exit(2);
    }
    return values;
}

template <typename T> static void write(const std::vector<T> & values) {
    std::fwrite(values.data(), sizeof(T), values.size(), stdout);
}

struct Item {
    float key;
    int32_t at;
};

static std::vector<Item> read_items(size_t n) {
    const auto keys = read<float>(n);
    std::vector<Item> items(n);
    for (size_t i = 0; i < n; i++) {
        items[i] = {keys[i], (int32_t) i};
    }
    return items;
}

static void write_order(const std::vector<Item> & items, size_t n) {
    std::vector<int32_t> order;
    for (size_t i = 0; i < n; i++) {
        order.push_back(items[i].at);
    }
    write(order);
}

static bool descending(const Item & a, const Item & b) { return a.key > b.key; }

// M. D. McIlroy, "A Killer Adversary for Quicksort": decide every comparison as late as possible.
static std::vector<float> killer(size_t n) {
    const int undecided = (int) n;
    std::vector<int> value(n, undecided), order(n);
    std::iota(order.begin(), order.end(), 0);
    int decided = 0, pivot = -1;
    std::sort(order.begin(), order.end(), [&](int a, int b) {
        if (value[a] == undecided && value[b] == undecided) {
            value[a == pivot ? a : b] = decided++;
        }
        if (value[a] == undecided) {
            pivot = a;
        } else if (value[b] == undecided) {
            pivot = b;
        }
        return value[a] < value[b];
    });
    std::vector<float> keys(n);
    std::transform(value.begin(), value.end(), keys.begin(), [](int v) { return -(float) v; });
    return keys;
}

template <typename Function> static void map(size_t n, Function function) {
    auto values = read<float>(n);
    for (auto & value : values) {
        value = function(value);
    }
    write(values);
}

static void answer(uint32_t operation, uint32_t a, uint32_t b) {
    std::mt19937 rng(a);
    switch (operation) {
        case 0: {
            auto items = read_items(a);
            std::sort(items.begin(), items.end(), descending);
            return write_order(items, a);
        }
        case 1: {
            auto items = read_items(a);
            std::partial_sort(items.begin(), items.begin() + b, items.end(), descending);
            return write_order(items, b);
        }
        case 2: {
            auto items = read_items(a);
#if _GLIBCXX_RELEASE >= 16  // since when std::sort's parts take the comparison as it is
            const auto compare = descending;
#else
            const auto compare = __gnu_cxx::__ops::__iter_comp_iter(descending);
#endif
            if (a > 0) {
                std::__introsort_loop(items.begin(), items.end(), 1L << 40, compare);
                std::__final_insertion_sort(items.begin(), items.end(), compare);
            }
            return write_order(items, a);
        }
        case 3:
            return write(killer(a));
        case 4: {
            std::vector<uint32_t> words(b);
            std::generate(words.begin(), words.end(), [&] { return rng(); });
            return write(words);
        }
        case 5: {
            std::uniform_real_distribution<double> uniform(0, 1);
            std::vector<double> numbers(b);
            std::generate(numbers.begin(), numbers.end(), [&] { return uniform(rng); });
            return write(numbers);
        }
        case 6: {
            std::uniform_real_distribution<float> uniform(0, 1);
            std::vector<float> numbers(b);
            std::generate(numbers.begin(), numbers.end(), [&] { return uniform(rng); });
            return write(numbers);
        }
        case 7: {
            rng.seed(read<uint32_t>(1)[0]);
            const auto weights = read<float>(a);
            std::discrete_distribution<int> discrete(weights.begin(), weights.end());
            std::vector<int32_t> drawn(b);
            std::generate(drawn.begin(), drawn.end(), [&] { return discrete(rng); });
            drawn.push_back((int32_t) rng());
            return write(drawn);
        }
        case 8: return map(a, [](float x) { return expf(x); });
        case 9: return map(a, [](float x) { return logf(x); });
        case 10: return map(a, [](float x) { return log2f(x); });
        case 11: {
            auto bases = read<float>(a);
            const auto exponents = read<float>(a);
            for (size_t i = 0; i < a; i++) {
                bases[i] = powf(bases[i], exponents[i]);
            }
            return write(bases);
        }
        default: std::exit(3);
    }
}

int main() {
    uint32_t command[3];
    while (std::fread(command, sizeof(uint32_t), 3, stdin) == 3) {
        answer(command[0], command[1], command[2]);
    }
}

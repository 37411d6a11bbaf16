// The compiled trie in threads: what studies/trie_threads.py and the tests of its cache ask.
//
//   cache THREADS shared|own TIMES   taking and giving back a payload that the cache holds
//   span THREADS shared|own TIMES    the same, and four tokens of 128,256 candidates between
//   race THREADS TIMES               payloads come and go, samplers are cloned; prints nothing
//   script                           of stdin: "a K" takes payload K, "r K" gives it back; a line
//                                    for each: what the cache holds, the last used last
//
// The first two print the nanoseconds of one, over all threads: the time from the first's beginning
// to the last's end, divided by how many there were.

#include "token_trie.cpp"

#include <atomic>
#include <chrono>
#include <iostream>
#include <map>
#include <thread>

static const int VOCABULARY = 128256;

// 30 leaves of four tokens, K the first of all
static std::string payload(int k) {
    std::string leaves;
    for (int i = 0; i < 30; i++) {
        std::string n = std::to_string(i);
        std::string tokens = std::to_string(k) + "," + std::to_string(100 + i / 3) + ",";
        leaves += std::string(i ? "," : "") + R"({"name":")" + n + R"(","tokens":[)" + tokens +
            std::to_string(200 + i) + ",7]}";
    }
    return R"({"modelId":"m","descriptors":[{"path":"action","leaves":[)" + leaves + "]}]}";
}

using Candidates = std::vector<llama_token_data>;

static void span(token_trie_cache * cache, const std::string & json, Candidates & row) {
    token_trie_params params = token_trie_default_params();
    params.compact = true;
    params.cache = cache;
    llama_sampler * trie = token_trie_init(json.data(), json.size(), 0, params);
    for (int i = 0; i < 4; i++) {
        llama_token_data_array array{row.data(), row.size(), -1, false};
        llama_sampler_apply(trie, &array);
        llama_token token = array.data[array.selected].id;
        for (size_t at = 0; at < array.size; at++) row[at].id = llama_token(at);
        llama_sampler_accept(trie, token);
    }
    llama_sampler_free(trie);
}

template <class Work> static void in_threads(int n, Work work) {
    std::atomic<int> ready{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < n; i++)
        threads.emplace_back([&, i] {
            ready++;
            while (ready < n) std::this_thread::yield();
            work(i);
        });
    for (auto & thread : threads) thread.join();
}

static double measured(const std::string & what, int n, bool shared, int times) {
    std::vector<token_trie_cache> caches(size_t(shared ? 1 : n));
    const std::string json = payload(1);
    for (auto & cache : caches) cache.release(cache.acquire(json));
    using Clock = std::chrono::steady_clock;
    std::vector<Clock::time_point> began(static_cast<size_t>(n)), ended(began.size());
    in_threads(n, [&](int i) {
        token_trie_cache & cache = caches[size_t(shared ? 0 : i)];
        Candidates row(what == "span" ? VOCABULARY : 0);
        for (size_t at = 0; at < row.size(); at++) row[at] = {llama_token(at), 0, 0};
        began[size_t(i)] = Clock::now();
        for (int done = 0; done < times; done++) {
            if (what == "span") span(&cache, json, row);
            else cache.release(cache.acquire(json));
        }
        ended[size_t(i)] = Clock::now();
    });
    auto first = *std::min_element(began.begin(), began.end());
    auto last = *std::max_element(ended.begin(), ended.end());
    std::chrono::duration<double, std::nano> all = last - first;
    return all.count() / n / times;
}

static void race(int n, int times) {
    token_trie_cache cache;
    in_threads(n, [&](int) {
        Candidates row(300);
        for (size_t at = 0; at < row.size(); at++) row[at] = {llama_token(at), 0, 0};
        token_trie_params params = token_trie_default_params();
        params.cache = &cache;
        for (int done = 0; done < times; done++) {
            std::string json = payload(done % 200);  // more than the cache holds, alike in all
            span(&cache, json, row);
            llama_sampler * trie = token_trie_init(json.data(), json.size(), 1, params);
            for (int clones = 0; clones < 20; clones++) {
                llama_sampler * twin = llama_sampler_clone(trie);
                std::this_thread::yield();
                llama_sampler_free(trie);
                trie = twin;
                llama_sampler_accept(trie, 1);
            }
            llama_sampler_free(trie);
        }
    });
}

static void script() {
    token_trie_cache cache;
    std::map<std::string, int> number;
    std::map<int, token_trie::Entry *> entries;
    char command;
    int k;
    while (std::cin >> command >> k) {
        number[payload(k)] = k;
        if (command == 'a') entries[k] = cache.acquire(payload(k));
        else cache.release(entries.at(k));
        for (auto & entry : cache.entries) std::cout << number.at(entry.json) << " ";
        std::cout << "\n";
    }
}

int main(int argc, char ** argv) {
    const std::vector<std::string> words(argv + 1, argv + argc);
    const std::string & what = words.at(0);
    if (what == "script") {
        script();
    } else if (what == "race") {
        race(std::stoi(words.at(1)), std::stoi(words.at(2)));
    } else {
        bool shared = words.at(2) == "shared";
        std::cout << measured(what, std::stoi(words.at(1)), shared, std::stoi(words.at(3))) << "\n";
    }
}

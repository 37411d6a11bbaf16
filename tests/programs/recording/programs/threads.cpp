// `threads NAME [N]`: what threads may do to a recorder, one by name, with N candidates. No model is needed.

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>

#include "llama.h"

static int N = 3000;

static llama_sampler * chain(uint32_t seed) {
    llama_sampler * made = llama_sampler_chain_init(llama_sampler_chain_default_params());
    for (llama_sampler * one : {llama_sampler_init_penalties(N, 16, 1.3f, 0.1f, 0.0f), llama_sampler_init_top_k(40),
                                llama_sampler_init_temp(0.8f), llama_sampler_init_dist(seed)})
        llama_sampler_chain_add(made, one);
    return made;
}

static llama_token sample(llama_sampler * made, uint32_t seed) {
    std::vector<llama_token_data> data(N);
    for (int i = 0; i < N; i++) {
        seed = seed * 1664525u + 1013904223u;
        data[i] = {i, float(seed >> 8) / float(1 << 22), 0.0f};
    }
    llama_token_data_array candidates = {data.data(), data.size(), -1, false};
    llama_sampler_apply(made, &candidates);
    llama_token token = candidates.data[candidates.selected].id;
    llama_sampler_accept(made, token);
    return token;
}

static int generated(uint32_t seed, int n) {
    llama_sampler * made = chain(seed);
    int sum = 0;
    for (int i = 0; i < n; i++) sum += sample(made, seed + i);
    llama_sampler_free(made);
    return sum;
}

// Children begin while other threads are in the middle of a recorded call.
static void forks() {
    std::atomic<bool> done{false};
    std::vector<std::thread> threads;
    for (uint32_t seed = 1; seed < 4; seed++)
        threads.emplace_back([&, seed] { while (!done) generated(seed, 5), usleep(2000); });
    for (uint32_t i = 0; i < 10; i++) {
        pid_t child = fork();
        if (child == 0) _exit(generated(i, 20) % 100);
        int status;
        waitpid(child, &status, 0);
        printf("%d\n", WEXITSTATUS(status));
    }
    done = true;
    for (std::thread & thread : threads) thread.join();
}

// A thread that is cancelled in a recorded call.
static void cancelled() {
    for (uint32_t i = 0; i < 20; i++) {
        pthread_t thread;
        pthread_create(&thread, nullptr, [](void *) -> void * {
            for (;;) {
                pthread_testcancel();
                generated(1, 3);
            }
        }, nullptr);
        usleep(1000 * i);
        pthread_cancel(thread);
        void * result;
        pthread_join(thread, &result);
        printf("%d\n", result == PTHREAD_CANCELED);
    }
}

static const char * name_of(const llama_sampler *) { return "throws"; }
static void throws(llama_sampler *, llama_token_data_array *) { throw std::runtime_error("apply"); }
static void refuses(llama_sampler *, llama_token) { throw std::runtime_error("accept"); }

// Exceptions of samplers go through libllama and the recorder to the program.
static void thrown() {
    static llama_sampler_i interface = {};
    interface.name = name_of;
    interface.apply = throws;
    interface.accept = refuses;
    llama_sampler * made = chain(1);
    llama_sampler_chain_add(made, llama_sampler_init(&interface, nullptr));
    for (int i = 0; i < 3; i++) try {
        sample(made, i);
    } catch (const std::runtime_error & error) {
        printf("%s\n", error.what());
    }
    try {
        llama_sampler_accept(made, 3);
    } catch (const std::runtime_error & error) {
        printf("%s\n", error.what());
    }
    llama_sampler_free(made);
    printf("%d\n", generated(2, 20));
}

// Other threads go on while the program ends.
static void leaves() {
    for (uint32_t seed = 1; seed < 4; seed++)
        std::thread([=] { for (;;) generated(seed, 5); }).detach();
    printf("%d\n", generated(9, 20));
}

static void plain() {
    std::vector<std::thread> threads;
    for (uint32_t seed = 1; seed < 9; seed++) threads.emplace_back([=] { generated(seed, 50); });
    for (std::thread & thread : threads) thread.join();
    printf("%d\n", generated(9, 200));
}

int main(int argc, char ** argv) {
    setvbuf(stdout, nullptr, _IONBF, 0);
    if (argc > 2) N = atoi(argv[2]);
    if (!strcmp(argv[1], "forks")) forks();
    if (!strcmp(argv[1], "cancelled")) cancelled();
    if (!strcmp(argv[1], "thrown")) thrown();
    if (!strcmp(argv[1], "leaves")) leaves();
    if (!strcmp(argv[1], "plain")) plain();
}

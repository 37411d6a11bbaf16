// `steps STEPS PAUSE_US [MODE]`: print the tokens of a chain on random rows, a line each; end with 7.
//
// MODE makes it a difficult program: see `difficult`. It needs no model.

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "llama.h"

static const int n_vocab = 3000;

static llama_sampler * chain_of(uint32_t seed) {
    llama_sampler * chain = llama_sampler_chain_init(llama_sampler_chain_default_params());
    llama_sampler_chain_add(chain, llama_sampler_init_penalties(n_vocab, 16, 1.3f, 0.1f, 0.1f));
    llama_sampler_chain_add(chain, llama_sampler_init_top_k(60));
    llama_sampler_chain_add(chain, llama_sampler_init_top_p(0.9f, 1));
    llama_sampler_chain_add(chain, llama_sampler_init_temp(0.8f));
    llama_sampler_chain_add(chain, llama_sampler_init_dist(seed));
    return chain;
}

static void sample(uint32_t seed, int steps, int pause_us, bool print, llama_sampler * chain = nullptr) {
    bool own = !chain;
    if (own) chain = chain_of(seed);
    std::mt19937 rng(seed);
    std::normal_distribution<float> normal(0, 3);
    std::vector<llama_token_data> row(n_vocab);
    for (int step = 0; step < steps; step++) {
        for (int i = 0; i < n_vocab; i++) row[i] = {i, normal(rng), 0};
        llama_token_data_array candidates = {row.data(), row.size(), -1, false};
        llama_sampler_apply(chain, &candidates);
        llama_token token = candidates.data[candidates.selected].id;
        llama_sampler_accept(chain, token);
        if (print) {
            printf("%d\n", token);
            fflush(stdout);
        }
        if (pause_us) usleep(pause_us);
    }
    if (own) llama_sampler_free(chain);
}

// Do something that a recorder may not like, half way.
static void difficult(const char * mode, char ** argv, int steps) {
    if (!strcmp(mode, "fork")) {
        pid_t child = fork();
        if (!child) {
            sample(2, steps, 0, false);
            exit(0);
        }
        waitpid(child, nullptr, 0);
    }
    if (!strcmp(mode, "pipe")) {  // a reader sees the end when the last writer has closed it
        int ends[2];
        char byte;
        if (pipe(ends)) abort();
        pid_t child = fork();
        if (!child) {
            alarm(60);
            sample(2, steps, 0, false);
            close(ends[1]);
            exit(read(ends[0], &byte, 1));
        }
        close(ends[0]);
        close(ends[1]);
        int status;
        waitpid(child, &status, 0);
        printf("%d\n", status);
    }
    if (!strcmp(mode, "one chain, forked")) {
        llama_sampler * chain = chain_of(5);
        sample(5, 1, 0, false, chain);
        pid_t child = fork();
        sample(6, child ? 9 : 10, 0, false, chain);
        if (!child) exit(0);
        waitpid(child, nullptr, 0);
    }
    if (!strcmp(mode, "exec")) {
        argv[3] = nullptr;
        execv("/proc/self/exe", argv);
    }
    if (!strcmp(mode, "threads")) {
        std::vector<std::thread> threads;
        for (int i = 2; i < 6; i++) threads.emplace_back([=] { sample(i, steps, 0, false); });
        for (auto & thread : threads) thread.join();
    }
    if (!strcmp(mode, "closed descriptors")) {
        for (int fd = 3; fd < 1024; fd++) close(fd);
        for (int i = 0; i < 600; i++) dup(open("/dev/null", O_RDWR));  // others have our numbers now
    }
    if (!strcmp(mode, "no folder") && system("rm -rf \"$SAMPLER_PARITY_RECORD\"")) abort();
    if (!strcmp(mode, "daemon") && !fork()) {  // goes on when the program has ended
        setsid();
        sample(3, steps, 20000, false);
        exit(0);
    }
    if (!strcmp(mode, "_exit")) _exit(7);
    if (!strcmp(mode, "abort")) abort();
}

int main(int argc, char ** argv) {
    int steps = atoi(argv[1]), pause_us = atoi(argv[2]);
    sample(1, steps, pause_us, true);
    if (argc > 3) difficult(argv[3], argv, steps);
    sample(4, steps, pause_us, true);
    return 7;
}

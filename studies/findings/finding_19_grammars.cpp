// llama.cpp v0.5.0: grammars that take down the process that reads them.
//
//     c++ -std=c++17 finding_19_grammars.cpp -o repro -I PREFIX/include -L PREFIX/lib -lllama -Wl,-rpath,PREFIX/lib
//     ./repro MODEL.gguf
//
// PREFIX is where llama.cpp is installed, MODEL.gguf any model. Prints expected and got, exit status 1 where they differ.

#include <llama.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

// How a process ends that reads the grammar with 2 GiB of memory and 10 seconds: by signal 6,
// an abort, 9, out of time, or 11, SIGSEGV.
static bool ends(const llama_vocab * vocab, const char * what, const std::string & grammar) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        freopen("/dev/null", "w", stderr);
        const rlimit memory = {2ull << 30, 2ull << 30}, seconds = {10, 10};
        setrlimit(RLIMIT_AS, &memory), setrlimit(RLIMIT_CPU, &seconds);
        llama_sampler_init_grammar(vocab, grammar.c_str(), "root");
        _exit(0);
    }
    int status = 0;
    rusage used = {};
    wait4(child, &status, 0, &used);
    std::printf("%s\n  expected signal 0, below 100 MiB\n  got      signal %d, %ld MiB\n", what,
                WIFSIGNALED(status) ? WTERMSIG(status) : 0, used.ru_maxrss / 1024);
    return status != 0 || used.ru_maxrss > 100 * 1024;
}

int main(int, char ** arguments) {
    setenv("GGML_NO_BACKTRACE", "1", 1);
    llama_log_set([](ggml_log_level, const char *, void *) {}, nullptr);
    llama_model_params words = llama_model_default_params();
    words.vocab_only = true;
    const llama_vocab * vocab = llama_model_get_vocab(llama_model_load_from_file(arguments[1], words));
    std::string chain = "root ::= r0\n", twice = "root ::= r0\n";
    for (int i = 0; i < 100000; i++)
        chain += "r" + std::to_string(i) + " ::= r" + std::to_string(i + 1) + "\n";
    for (int i = 0; i < 40; i++) {
        const std::string next = "r" + std::to_string(i + 1);
        twice += "r" + std::to_string(i) + " ::= " + next + " | " + next + "\n";
    }
    const std::string open(50000, '('), close(50000, ')');
    bool end = ends(vocab, "left recursion behind a rule that is empty by way of another",
                    "root ::= e root \"x\" | \"y\"\ne ::= f\nf ::= \"\"");
    end |= ends(vocab, "\"a\"{2,1}", "root ::= \"a\"{2,1}");
    end |= ends(vocab, "50,000 groups inside one another", "root ::= " + open + "\"a\"" + close);
    end |= ends(vocab, "100,000 rules that begin with one another", chain + "r100000 ::= \"a\"\n");
    end |= ends(vocab, "40 lines r0 ::= r1 | r1", twice + "r40 ::= \"a\"\n");
    return end;
}

// llama.cpp's samplers for a Python that cannot load them: built for another processor, standard
// library or system. A command a line on stdin, its answer a line on stdout; candidates follow the
// line as they lie in memory. program.py is the other end.
//
//   hello                         ok KIND WORDS     KIND: which vocabulary.hpp is linked
//   vocab ...                     ok HANDLE         as read_vocabulary takes it
//   init NAME ARGUMENT...         ok HANDLE         or: refused WORDS
//   chain HANDLE...               ok HANDLE         llama_sampler_chain: it owns its stages
//   clone HANDLE...               ok HANDLE...
//   apply HANDLE N SELECTED SORTED + candidates     ok N SELECTED SORTED + candidates
//   draw HANDLE TIMES N SELECTED SORTED + candidates  ok TIMES + tokens: drawn from one array
//   accept TOKEN HANDLE...        ok
//   reset HANDLE...               ok
//   free HANDLE...                ok
//
// A whole number is decimal; a float the hexadecimal of its bits; a text the hexadecimal of its
// bytes behind an x, "-" for none; a list its length and then its items.

#include "words.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <new>
#include <string>
#include <tuple>
#include <vector>

#ifdef _WIN32
#include <fcntl.h>
#include <io.h>
#endif

static std::string errors;  // what llama.cpp logged since the last command
static std::map<int, llama_sampler *> samplers;
static int newest = 0;

static void keep_error(ggml_log_level level, const char * text, void *) {
    if (level == GGML_LOG_LEVEL_ERROR) {
        errors += text;
    }
}

static int keep(llama_sampler * sampler) {
    samplers[++newest] = sampler;
    return newest;
}

// The arguments are read in their order: that of a list in braces.
template <class... A>
static llama_sampler * call(llama_sampler * (*init)(A...), Words & words) {
    return std::apply(init, std::tuple<A...>{words.next<A>()...});
}

static llama_sampler * init(const std::string & name, Words & words) {
#define SAMPLER(sampler) if (name == #sampler) { return call(llama_sampler_init_##sampler, words); }
    SAMPLER(greedy)
    SAMPLER(dist)
    SAMPLER(top_k)
    SAMPLER(top_p)
    SAMPLER(min_p)
    SAMPLER(typical)
    SAMPLER(temp)
    SAMPLER(temp_ext)
    SAMPLER(xtc)
    SAMPLER(top_n_sigma)
    SAMPLER(mirostat)
    SAMPLER(mirostat_v2)
    SAMPLER(penalties)
    SAMPLER(dry)
    SAMPLER(adaptive_p)
    SAMPLER(logit_bias)
    SAMPLER(infill)
    SAMPLER(grammar)
    SAMPLER(grammar_lazy)
    SAMPLER(grammar_lazy_patterns)
#undef SAMPLER
    fprintf(stderr, "no sampler %s\n", name.c_str());
    exit(2);
}

static void answer_init(Words & words) {
    const std::string name = words.word();
    llama_sampler * sampler = init(name, words);
    if (sampler) {
        printf("ok %d\n", keep(sampler));
        return;
    }
    for (char & letter : errors) {
        letter = letter == '\n' ? ' ' : letter;
    }
    printf("refused %s\n", errors.c_str());
}

static void answer_chain(Words & words) {
    llama_sampler * chain = llama_sampler_chain_init(llama_sampler_chain_default_params());
    while (words.more()) {
        const int stage = words.next<int>();
        llama_sampler_chain_add(chain, samplers.at(stage));
        samplers.erase(stage);
    }
    printf("ok %d\n", keep(chain));
}

static void answer_clone(Words & words) {
    printf("ok");
    while (words.more()) {
        printf(" %d", keep(llama_sampler_clone(samplers.at(words.next<int>()))));
    }
    printf("\n");
}

static llama_token_data_array read_candidates(Words & words, std::vector<llama_token_data> & data) {
    data.resize(words.next<size_t>());
    const int64_t selected = words.next<int64_t>();
    const bool sorted = words.next<int>() != 0;
    const size_t n = data.size();
    if (n && fread(data.data(), sizeof(llama_token_data), n, stdin) != n) {
        exit(1);
    }
    return { data.data(), data.size(), selected, sorted };
}

static void answer_draw(Words & words) {
    llama_sampler * sampler = samplers.at(words.next<int>());
    std::vector<llama_token> tokens(words.next<size_t>());
    std::vector<llama_token_data> data;
    llama_token_data_array array = read_candidates(words, data);
    for (llama_token & token : tokens) {
        llama_sampler_apply(sampler, &array);
        if (array.selected < 0 || (size_t) array.selected >= array.size) {
            fprintf(stderr, "the sampler selects no token\n");
            exit(2);
        }
        token = array.data[array.selected].id;
    }
    printf("ok %zu\n", tokens.size());
    if (!tokens.empty()) {
        fwrite(tokens.data(), sizeof(llama_token), tokens.size(), stdout);
    }
}

static void answer_apply(Words & words) {
    llama_sampler * sampler = samplers.at(words.next<int>());
    std::vector<llama_token_data> data;
    llama_token_data_array array = read_candidates(words, data);
    llama_sampler_apply(sampler, &array);
    printf("ok %zu %lld %d\n", array.size, (long long) array.selected, array.sorted ? 1 : 0);
    if (array.size) {
        fwrite(array.data, sizeof(llama_token_data), array.size, stdout);  // xtc moves the start
    }
}

static void answer_accept(Words & words) {
    const llama_token token = words.next<llama_token>();
    while (words.more()) {
        llama_sampler_accept(samplers.at(words.next<int>()), token);
    }
    printf("ok\n");
}

static void answer_reset(Words & words) {
    while (words.more()) {
        llama_sampler_reset(samplers.at(words.next<int>()));
    }
    printf("ok\n");
}

static void answer_free(Words & words) {
    while (words.more()) {
        const int handle = words.next<int>();
        llama_sampler_free(samplers.at(handle));
        samplers.erase(handle);
    }
    printf("ok\n");
}

static const char * compiler() {
#if defined(__clang__)
    return "clang " __clang_version__;
#else
    return "GCC " __VERSION__;
#endif
}

static std::string standard_library() {
#ifdef _LIBCPP_VERSION
    return "libc++ " + std::to_string(_LIBCPP_VERSION);
#else
    return "libstdc++ " + std::to_string(__GLIBCXX__);
#endif
}

static void answer(Words & words) {
    const std::string command = words.word();
    if (command == "hello") {
        printf("ok %s %s, %s\n", VOCABULARY, compiler(), standard_library().c_str());
    } else if (command == "vocab") {
        printf("ok %d\n", read_vocabulary(words));
    } else if (command == "init") {
        answer_init(words);
    } else if (command == "chain") {
        answer_chain(words);
    } else if (command == "clone") {
        answer_clone(words);
    } else if (command == "apply") {
        answer_apply(words);
    } else if (command == "draw") {
        answer_draw(words);
    } else if (command == "accept") {
        answer_accept(words);
    } else if (command == "reset") {
        answer_reset(words);
    } else if (command == "free") {
        answer_free(words);
    } else {
        fprintf(stderr, "no command %s\n", command.c_str());
        exit(2);
    }
}

static void answer_all() {
    static std::vector<char> buffer(1 << 16);
    setvbuf(stdout, buffer.data(), _IOFBF, buffer.size());
    llama_log_set(keep_error, nullptr);
    std::string line;
    while (read_line(line)) {
        errors.clear();
        Words words(line);
        answer(words);
        fflush(stdout);
    }
}

int main() {
#ifdef _WIN32
    _setmode(0, _O_BINARY);
    _setmode(1, _O_BINARY);
#endif
    try {
        answer_all();
    } catch (const std::bad_alloc &) {
        fprintf(stderr, "out of memory\n");
        _Exit(1);  // a half answer is not written
    } catch (const std::exception & error) {
        fprintf(stderr, "no such request: %s\n", error.what());
        _Exit(2);
    }
    return 0;
}

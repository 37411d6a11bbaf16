// Drives llama.cpp's common_sampler and reasoning budget: a command a line, an answer a line.
//
// There is no llama_context. common_sampler asks libllama for the logits of a position, for what
// in-graph samplers left there, for the model's forbidden tokens and for a grammar; this program
// defines those functions itself, and the dynamic linker prefers the program's. So a test says what
// the model put out, and a "grammar" is a list of the tokens allowed at each position, which may
// refuse to be made or to be told a token.
//
// Numbers are separated by blanks, lists begin with their length, text is "x" and hex digits.
// The answer is "ok ..." or "error TEXT".

#include "common_api.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>

struct Output {  // of one position
    std::vector<float> logits, probs;
    Tokens ids;
    llama_token token = LLAMA_TOKEN_NULL;
};

static std::map<std::string, llama_model *> models;
static llama_model * model = nullptr;
static std::vector<Output> outputs;
static Tokens suppressed, trigger_tokens;  // the latter: of the lazy grammar that was made last
static std::vector<std::string> trigger_patterns;
static std::map<int, common_sampler *> samplers;
static std::map<int, llama_sampler *> budgets;

// ---- what common_sampler asks libllama for

extern "C" {
void llama_synchronize(llama_context *) {}
const llama_model * llama_get_model(const llama_context *) { return model; }
float * llama_get_logits_ith(llama_context *, int32_t i) { return outputs.at(i).logits.data(); }
llama_token llama_get_sampled_token_ith(llama_context *, int32_t i) { return outputs.at(i).token; }
float * llama_get_sampled_probs_ith(llama_context *, int32_t i) {
    return outputs.at(i).probs.empty() ? nullptr : outputs[i].probs.data();
}
uint32_t llama_get_sampled_probs_count_ith(llama_context *, int32_t i) {
    return outputs.at(i).probs.size();
}
float * llama_get_sampled_logits_ith(llama_context *, int32_t i) {
    return outputs.at(i).ids.empty() ? nullptr : outputs[i].logits.data();
}
uint32_t llama_get_sampled_logits_count_ith(llama_context *, int32_t i) {
    return outputs.at(i).ids.size();
}
llama_token * llama_get_sampled_candidates_ith(llama_context *, int32_t i) {
    return outputs.at(i).ids.empty() ? nullptr : outputs[i].ids.data();
}
const llama_token * llama_vocab_get_suppress_tokens(const llama_vocab *, int32_t * n) {
    *n = suppressed.size();
    return suppressed.data();
}
}

struct AllowList {  // of positions, over and over; "1,2;3": 1 or 2, then 3, then 1 or 2
    std::vector<std::set<llama_token>> allowed;
    Tokens accepted;
    bool deaf = false;  // throws where it is told a token
};

static AllowList * list_of(const llama_sampler * sampler) { return (AllowList *) sampler->ctx; }

static llama_sampler * new_grammar(const AllowList & list) {
    static llama_sampler_i interface = {};
    interface.name = [](const llama_sampler *) { return "allow-list"; };
    interface.accept = [](llama_sampler * s, llama_token t) {
        if (list_of(s)->deaf) { throw std::runtime_error("a token that does not fit"); }
        list_of(s)->accepted.push_back(t);
    };
    interface.apply = [](llama_sampler * s, llama_token_data_array * cur) {
        const AllowList & list = *list_of(s);
        const auto & allowed = list.allowed[list.accepted.size() % list.allowed.size()];
        for (size_t i = 0; i < cur->size; i++) {
            if (!allowed.count(cur->data[i].id)) { cur->data[i].logit = -INFINITY; }
        }
    };
    interface.reset = [](llama_sampler * s) { list_of(s)->accepted.clear(); };
    interface.clone = [](const llama_sampler * s) { return new_grammar(*list_of(s)); };
    interface.free = [](llama_sampler * s) { delete list_of(s); };
    return llama_sampler_init(&interface, new AllowList(list));
}

static llama_sampler * parse_grammar(const char * text) {
    AllowList list;
    if (!std::strcmp(text, "none")) { return nullptr; }
    if (!std::strcmp(text, "deaf")) {
        list.deaf = true;
        return new_grammar(list);
    }
    std::stringstream positions(text);
    for (std::string position; std::getline(positions, position, ';');) {
        list.allowed.emplace_back();
        std::stringstream tokens(position);
        for (std::string token; std::getline(tokens, token, ',');) {
            list.allowed.back().insert(std::stoi(token));
        }
    }
    return new_grammar(list);
}

extern "C" {
llama_sampler * llama_sampler_init_grammar(const llama_vocab *, const char * text, const char *) {
    return parse_grammar(text);
}
llama_sampler * llama_sampler_init_grammar_lazy_patterns(
    const llama_vocab *, const char * text, const char *, const char ** patterns, size_t n_patterns,
    const llama_token * tokens, size_t n_tokens) {
    trigger_patterns.assign(patterns, patterns + n_patterns);
    trigger_tokens.assign(tokens, tokens + n_tokens);
    return parse_grammar(text);
}
}

// ---- reading a command

struct Reader {
    std::stringstream in;

    std::string word() {
        std::string word;
        if (!(in >> word)) { throw std::runtime_error("the command is too short"); }
        return word;
    }
    bool more() { return (in >> std::ws).peek() != EOF; }

    void read(int32_t & value) { value = std::stol(word()); }
    void read(uint32_t & value) { value = std::stoul(word()); }
    void read(bool & value) { value = number() != 0; }
    void read(float & value) { value = std::strtof(word().c_str(), nullptr); }
    void read(common_sampler_type & value) { value = (common_sampler_type) number(); }
    void read(llama_logit_bias & value) { read(value.token); read(value.bias); }
    void read(llama_token_data & value) { read(value.id); value.logit = 0; read(value.p); }
    void read(common_grammar_trigger & value) { read(value.type); read(value.value); read(value.token); }
    void read(std::string & value) {
        const std::string hex = word();
        value.clear();
        for (size_t i = 1; i + 1 < hex.size(); i += 2) {
            value.push_back((char) std::stoi(hex.substr(i, 2), nullptr, 16));
        }
    }
    template <typename T> void read(std::vector<T> & values) {
        values.resize(number());
        for (T & value : values) { read(value); }
    }
    int number() { int32_t n; read(n); return n; }
    template <typename T> T get() { T value; read(value); return value; }
};

static common_params_sampling read_params(Reader & in) {
    common_params_sampling p;
    while (in.more()) {
        const std::string key = in.word();
#define FIELD(name) if (key == #name) { in.read(p.name); continue; }
        FIELD(seed) FIELD(n_prev) FIELD(min_keep) FIELD(top_k) FIELD(top_p) FIELD(min_p)
        FIELD(xtc_probability) FIELD(xtc_threshold) FIELD(typ_p) FIELD(temp) FIELD(dynatemp_range)
        FIELD(dynatemp_exponent) FIELD(penalty_last_n) FIELD(penalty_repeat) FIELD(penalty_freq)
        FIELD(penalty_present) FIELD(dry_multiplier) FIELD(dry_base) FIELD(dry_allowed_length)
        FIELD(dry_penalty_last_n) FIELD(dry_sequence_breakers) FIELD(adaptive_target)
        FIELD(adaptive_decay) FIELD(mirostat) FIELD(mirostat_tau) FIELD(mirostat_eta)
        FIELD(top_n_sigma) FIELD(logit_bias) FIELD(grammar_lazy) FIELD(generation_prompt)
        FIELD(reasoning_budget_tokens) FIELD(reasoning_budget_start) FIELD(reasoning_budget_end)
        FIELD(reasoning_budget_forced) FIELD(reasoning_control) FIELD(samplers)
        FIELD(grammar_triggers) FIELD(backend_sampling)
#undef FIELD
        if (key == "grammar") {
            p.grammar.type = in.number();
            in.read(p.grammar.grammar);
            continue;
        }
        throw std::runtime_error("unknown parameter " + key);
    }
    return p;
}

// ---- answering

static std::ostringstream out;

static uint32_t bits(float value) {
    uint32_t word;
    std::memcpy(&word, &value, sizeof word);
    return word;
}

static void say(const std::string & text) {
    out << " x";
    for (unsigned char c : text) { out << "0123456789abcdef"[c >> 4] << "0123456789abcdef"[c & 15]; }
}

static void say(const Tokens & tokens) {
    out << ' ' << tokens.size();
    for (llama_token token : tokens) { out << ' ' << token; }
}

static void say(const llama_token_data_array & cur) {
    out << ' ' << cur.selected << ' ' << cur.sorted << ' ' << cur.size;
    for (size_t i = 0; i < cur.size; i++) {
        out << ' ' << cur.data[i].id << ' ' << bits(cur.data[i].logit) << ' ' << bits(cur.data[i].p);
    }
}

static void say_budget(const llama_sampler * budget) {
    out << ' ' << common_reasoning_budget_get_state(budget);
    const Tokens * match = common_reasoning_budget_get_end_match(budget);
    out << ' ' << (match != nullptr);
    if (match) { say(*match); }
}

static llama_context * const context = (llama_context *) &outputs;  // never looked into

static void start(Reader & in) {  // a vocabulary, and nothing left from before
    const std::string path = in.get<std::string>();
    for (auto & [_, sampler] : samplers) { common_sampler_free(sampler); }
    for (auto & [_, budget] : budgets) { llama_sampler_free(budget); }
    samplers.clear();
    budgets.clear();
    suppressed = in.get<Tokens>();
    if (!models.count(path)) {
        llama_model_params params = llama_model_default_params();
        params.vocab_only = true;
        models[path] = llama_model_load_from_file(path.c_str(), params);
        if (!models[path]) { throw std::runtime_error("cannot load " + path); }
    }
    model = models[path];
    out << ' ' << llama_vocab_n_tokens(llama_model_get_vocab(model));
}

static void init(Reader & in) {
    const int name = in.number();
    common_params_sampling params = read_params(in);
    samplers[name] = common_sampler_init(model, params);
    if (samplers[name]->chain != common_sampler_get(samplers[name])) {
        std::cerr << "common_params_sampling has another layout than common_api.h\n";
        std::exit(2);
    }
    say(common_sampler_print(samplers[name]));
    say(samplers[name]->params.print());
}

static Tokens round_of(
    common_sampler * s, bool rejection, const Tokens & draft,
    const std::vector<std::vector<llama_token_data>> & draft_q, bool grammar_first) {
    if (!rejection) { return common_sampler_sample_and_accept_n(s, context, draft, grammar_first); }
    if (!common_sampler_sample_and_accept_n_rejection) {
        throw std::runtime_error("no rejection sampling in this release");
    }
    std::vector<int> all;
    while (all.size() < outputs.size()) { all.push_back(all.size()); }
    return common_sampler_sample_and_accept_n_rejection(
        s, context, all, draft, draft_q, grammar_first);
}

static void rounds(Reader & in) {  // each with a sampler of its own, which has accepted the history
    const bool rejection = in.number();
    const auto seeds = in.get<std::vector<uint32_t>>();
    const auto drafts = in.get<std::vector<Tokens>>();
    const auto draft_q = in.get<std::vector<std::vector<llama_token_data>>>();
    const Tokens history = in.get<Tokens>();
    const common_params_sampling params = read_params(in);
    for (size_t i = 0; i < seeds.size(); i++) {
        common_params_sampling own = params;
        own.seed = seeds[i];
        common_sampler * s = common_sampler_init(model, own);
        for (llama_token token : history) { common_sampler_accept(s, token, false); }
        say(round_of(s, rejection, drafts.at(i), draft_q, false));
        common_sampler_free(s);
    }
}

static void run(const std::string & command, Reader & in) {
    const auto sampler = [&] { return samplers.at(in.number()); };
    const auto budget = [&] { return budgets.at(in.number()); };
    const llama_vocab * vocab = model ? llama_model_get_vocab(model) : nullptr;
    if (command == "start") { start(in); }
    else if (command == "outputs") {
        outputs.assign(in.number(), {});
        for (Output & output : outputs) {
            in.read(output.token);
            in.read(output.ids);
            in.read(output.logits);
            in.read(output.probs);
        }
    }
    else if (command == "init") { init(in); }
    else if (command == "sample") {
        auto * s = sampler();
        out << ' ' << common_sampler_sample(s, context, 0, in.number());
    }
    else if (command == "sample_n") {
        auto * s = sampler();
        const Tokens draft = in.get<Tokens>();
        say(common_sampler_sample_and_accept_n(s, context, draft, in.number()));
    }
    else if (command == "sample_n_rejection") {
        auto * s = sampler();
        const Tokens draft = in.get<Tokens>();
        const auto draft_q = in.get<std::vector<std::vector<llama_token_data>>>();
        say(round_of(s, true, draft, draft_q, in.number()));
    }
    else if (command == "rounds") { rounds(in); }
    else if (command == "accept") {
        auto * s = sampler();
        const llama_token token = in.number();
        common_sampler_accept(s, token, in.number());
    }
    else if (command == "reset") { common_sampler_reset(sampler()); }
    else if (command == "clone") {
        auto * s = sampler();
        samplers[in.number()] = common_sampler_clone(s);
    }
    else if (command == "copy") {
        const auto * from = sampler();
        common_sampler_copy(from, sampler());
    }
    else if (command == "seed") { out << ' ' << common_sampler_get_seed(sampler()); }
    else if (command == "backend_sampling") { out << ' ' << sampler()->params.backend_sampling; }
    else if (command == "triggers") {
        out << ' ' << trigger_patterns.size();
        for (const std::string & pattern : trigger_patterns) { say(pattern); }
        say(trigger_tokens);
    }
    else if (command == "no_sampler") {  // where there is none, nothing happens
        common_sampler_free(nullptr);
        common_sampler_accept(nullptr, 1, true);
        common_sampler_reset(nullptr);
        common_sampler_copy(nullptr, nullptr);
        out << ' ' << (common_sampler_get(nullptr) == nullptr)
            << ' ' << !common_sampler_reasoning_budget_force(nullptr);
    }
    else if (command == "type") {
        const auto type = (common_sampler_type) in.number();
        say(common_sampler_type_to_str(type));
        out << ' ' << common_sampler_type_to_chr(type);
    }
    else if (command == "force") { out << ' ' << common_sampler_reasoning_budget_force(sampler()); }
    else if (command == "candidates") {
        auto * s = sampler();
        say(*common_sampler_get_candidates(s, in.number()));
    }
    else if (command == "last") { out << ' ' << common_sampler_last(sampler()); }
    else if (command == "prev_str") {
        auto * s = sampler();
        say(common_sampler_prev_str(s, context, in.number()));
    }
    else if (command == "grammar") {
        auto * s = sampler();
        say(s->grmr ? list_of(s->grmr)->accepted : Tokens());
    }
    else if (command == "budget_of") {
        auto * s = sampler();
        out << ' ' << (s->rbudget != nullptr);
        say_budget(s->rbudget);
    }
    else if (command == "from_names" || command == "from_chars") {
        const auto types = command == "from_names"
            ? common_sampler_types_from_names(in.get<std::vector<std::string>>())
            : common_sampler_types_from_chars(in.get<std::string>());
        out << ' ' << types.size();
        for (auto type : types) {
            say(common_sampler_type_to_str(type));
            out << ' ' << type << ' ' << common_sampler_type_to_chr(type);
        }
    }
    else if (command == "budget") {
        const int name = in.number();
        const bool with_vocab = in.number();
        const auto first = in.get<std::vector<Tokens>>(), last = in.get<std::vector<Tokens>>();
        const Tokens forced = in.get<Tokens>();
        const int n = in.number();
        budgets[name] = common_reasoning_budget_init(
            with_vocab ? vocab : nullptr, first, last, forced, n,
            (common_reasoning_budget_state) in.number());
    }
    else if (command == "budget_accept") {
        auto * b = budget();
        llama_sampler_accept(b, in.number());
    }
    else if (command == "budget_reset") { llama_sampler_reset(budget()); }
    else if (command == "budget_clone") {
        auto * b = budget();
        budgets[in.number()] = llama_sampler_clone(b);
    }
    else if (command == "budget_force") { out << ' ' << common_reasoning_budget_force(budget()); }
    else if (command == "budget_apply") {
        auto * b = budget();
        std::vector<llama_token_data> data;
        for (float logit : in.get<std::vector<float>>()) {
            data.push_back({(llama_token) data.size(), logit, 0.0f});
        }
        llama_token_data_array cur = {data.data(), data.size(), -1, false};
        llama_sampler_apply(b, &cur);
        say(cur);
    }
    else if (command == "budget_state") { say_budget(budget()); }
    else { throw std::runtime_error("unknown command " + command); }
    if (in.more()) { throw std::runtime_error("the command is too long"); }
}

int main() {
    llama_log_set([](ggml_log_level, const char *, void *) {}, nullptr);
    for (std::string line; std::getline(std::cin, line);) {
        Reader in{std::stringstream(line)};
        out.str("");
        try {
            run(in.word(), in);
            std::cout << "ok" << out.str() << std::endl;
        } catch (const std::exception & error) {
            std::cout << "error " << error.what() << std::endl;
        }
    }
}

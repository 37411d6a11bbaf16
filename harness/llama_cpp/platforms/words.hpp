// The words of a command, each read as what a function of llama.cpp takes.

#pragma once

#include "llama.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <type_traits>
#include <vector>

struct Words;

// Of vocabulary_file.cpp or vocabulary_table.cpp, whichever is linked.
extern const char * const VOCABULARY;
int read_vocabulary(Words & words);
const llama_vocab * vocabulary(int handle);  // 0: none

inline bool read_line(std::string & line) {
    line.clear();
    int letter;
    while ((letter = getc(stdin)) != EOF && letter != '\n') {
        line += (char) letter;
    }
    return letter != EOF;
}

struct Words {
    explicit Words(const std::string & line) : line(line) {}

    bool more() const { return at < line.size(); }

    std::string word() {
        const size_t end = std::min(line.find(' ', at), line.size());
        const std::string read = line.substr(at, end - at);
        at = end + 1;
        return read;
    }

    // Of a list what it holds lives as long as these words: llama.cpp copies it.
    template <class T>
    T next() {
        if constexpr (std::is_same_v<T, float>) {
            const uint32_t bits = (uint32_t) strtoul(word().c_str(), nullptr, 16);
            float value;
            memcpy(&value, &bits, sizeof(value));
            return value;
        } else if constexpr (std::is_same_v<T, const llama_vocab *>) {
            return vocabulary(next<int>());
        } else if constexpr (std::is_same_v<T, const char *>) {
            return text(word());
        } else if constexpr (std::is_same_v<T, const char **>) {
            std::vector<const char *> & items = text_lists.emplace_back(next<size_t>());
            for (const char * & item : items) {
                item = next<const char *>();
            }
            return items.data();
        } else if constexpr (std::is_same_v<T, const llama_token *>) {
            std::vector<llama_token> & items = token_lists.emplace_back(next<size_t>());
            for (llama_token & item : items) {
                item = next<llama_token>();
            }
            return items.data();
        } else if constexpr (std::is_same_v<T, const llama_logit_bias *>) {
            std::vector<llama_logit_bias> & items = bias_lists.emplace_back(next<size_t>());
            for (llama_logit_bias & item : items) {
                item.token = next<llama_token>();
                item.bias = next<float>();
            }
            return items.data();
        } else {
            const std::string digits = word();
            return digits[0] == '-' ? (T) strtoll(digits.c_str(), nullptr, 10)
                                    : (T) strtoull(digits.c_str(), nullptr, 10);
        }
    }

    std::string bytes() { return bytes_of(word()); }

private:
    static std::string bytes_of(const std::string & digits) {
        std::string read;
        for (size_t i = 1; i + 1 < digits.size(); i += 2) {
            read += (char) strtoul(digits.substr(i, 2).c_str(), nullptr, 16);
        }
        return read;
    }

    const char * text(const std::string & digits) {
        return digits == "-" ? nullptr : texts.emplace_back(bytes_of(digits)).c_str();
    }

    const std::string & line;
    size_t at = 0;
    std::deque<std::string> texts;
    std::deque<std::vector<const char *>> text_lists;
    std::deque<std::vector<llama_token>> token_lists;
    std::deque<std::vector<llama_logit_bias>> bias_lists;
};

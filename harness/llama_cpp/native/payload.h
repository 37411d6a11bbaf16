// A TokenTreePayload: its JSON, read as strictly as reference/trie.py does, and the tries in it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace token_trie {

constexpr size_t MAX_LEAF = 500;  // tokens; a span of more would run into the safety reset

struct Refused : std::runtime_error {
    Refused(const std::string & place, const std::string & why)
        : std::runtime_error(place + ": " + why) {}
};

struct Leaf {
    std::string name;
    std::vector<int32_t> tokens;
};

// Node 0 is the root; the children of node i are the edges start[i] .. start[i + 1], their tokens
// ascending. to: the node where an edge leads.
struct Trie {
    std::string path;
    std::vector<int32_t> start{0}, tokens, to;

    const int32_t * begin(int32_t node) const { return tokens.data() + start[node]; }
    const int32_t * end(int32_t node) const { return tokens.data() + start[node + 1]; }
    bool is_leaf(int32_t node) const { return start[node] == start[node + 1]; }

    // -1: none
    int32_t child(int32_t node, int32_t token) const {
        const int32_t * edge = std::lower_bound(begin(node), end(node), token);
        return edge == end(node) || *edge != token ? -1 : to[edge - tokens.data()];
    }
};

// Of leaves in the order of their tokens, breadth first: a node is a range of leaves and how many
// tokens they have in common. So a leaf that is the beginning of another stands before it.
inline Trie build_trie(std::vector<Leaf> leaves, const std::string & place) {
    std::sort(leaves.begin(), leaves.end(), [](auto & a, auto & b) { return a.tokens < b.tokens; });
    for (size_t i = 1; i < leaves.size(); i++) {
        const auto &a = leaves[i - 1], &b = leaves[i];
        auto [in_a, in_b] =
            std::mismatch(a.tokens.begin(), a.tokens.end(), b.tokens.begin(), b.tokens.end());
        if (in_a != a.tokens.end()) continue;
        std::string is = in_b == b.tokens.end() ? "' has the tokens of '" : "' is a prefix of '";
        throw Refused(place, "leaf '" + a.name + is + b.name + "'");
    }
    struct Range { size_t low, high, depth; };
    std::vector<Range> nodes{{0, leaves.size(), 0}};
    Trie trie;
    for (size_t at = 0; at < nodes.size(); at++) {
        auto [low, high, depth] = nodes[at];
        while (low < high && depth < leaves[low].tokens.size()) {
            size_t first = low;
            int32_t token = leaves[first].tokens[depth];
            while (low < high && leaves[low].tokens[depth] == token) low++;
            trie.tokens.push_back(token);
            trie.to.push_back(int32_t(nodes.size()));
            nodes.push_back({first, low, depth + 1});
        }
        trie.start.push_back(int32_t(trie.tokens.size()));
    }
    return trie;
}

struct Payload {
    std::string model_id;
    std::vector<Trie> tries;
    size_t most_children = 0;  // of a node
    int32_t largest = -1;  // token, and where it stands
    std::string largest_place;
};

class Reader {
public:
    explicit Reader(std::string_view text) : text(text) {}

    Payload payload() {
        table("payload", {"modelId", "descriptors"}, [&](size_t key) {
            if (key == 0) payload_.model_id = word("modelId");
            else list("descriptors", [&](const std::string & place) { descriptor(place); });
        });
        if (peek() != END) throw no_json("something follows its end");
        return std::move(payload_);
    }

private:
    static constexpr int END = -1;
    std::string_view text;
    size_t at = 0;
    Payload payload_;
    std::set<std::string> paths;

    void descriptor(const std::string & place) {
        std::string path;
        std::vector<Leaf> leaves;
        std::set<std::string> names;
        table(place, {"path", "leaves"}, [&](size_t key) {
            if (key == 0) path = word(place + ".path");
            else list(place + ".leaves", [&](const std::string & of_leaf) {
                leaves.push_back(leaf(of_leaf));
                if (!names.insert(leaves.back().name).second)
                    throw Refused(of_leaf + ".name", "is there twice");
            });
        });
        if (!paths.insert(path).second) throw Refused(place + ".path", "is there twice");
        payload_.tries.push_back(build_trie(std::move(leaves), place));
        Trie & trie = payload_.tries.back();
        trie.path = path;
        for (size_t i = 1; i < trie.start.size(); i++)
            payload_.most_children =
                std::max(payload_.most_children, size_t(trie.start[i] - trie.start[i - 1]));
    }

    Leaf leaf(const std::string & place) {
        Leaf leaf;
        table(place, {"name", "tokens"}, [&](size_t key) {
            if (key == 0) leaf.name = word(place + ".name");
            else list(place + ".tokens", [&](const std::string & of_token) {
                leaf.tokens.push_back(token(of_token));
            });
        });
        if (leaf.tokens.size() > MAX_LEAF) throw Refused(place + ".tokens", "more than 500 tokens");
        return leaf;
    }

    int32_t token(const std::string & place) {
        peek();
        size_t from = at;
        bool minus = take('-');
        int64_t value = 0;
        size_t digits = at;
        while (stands("0123456789"))
            value = std::min(value * 10 + (text[at++] - '0'), int64_t(1) << 31);
        bool number = at > digits && (at - digits == 1 || text[digits] != '0');
        if (!number || value > INT32_MAX || (minus && value) || stands(".eE"))
            throw Refused(place, std::string(text.substr(from, 40)) + " is no token id");
        if (value > payload_.largest) {
            payload_.largest = int32_t(value);
            payload_.largest_place = place;
        }
        return int32_t(value);
    }

    // {} with all of these keys; member(i) reads the value of keys[i]
    template <class Member>
    void table(const std::string & place, std::vector<std::string> keys, Member member) {
        std::vector<bool> seen(keys.size());
        if (!take('{')) throw Refused(place, "must be an object");
        for (bool first = true; first ? peek() != '}' : take(','); first = false) {
            std::string name = string();
            size_t key = std::find(keys.begin(), keys.end(), name) - keys.begin();
            if (key == keys.size()) throw Refused(place, "unknown key '" + name + "'");
            if (seen[key]) throw Refused(place, "key '" + name + "' stands twice");
            seen[key] = true;
            if (!take(':')) throw no_json("expected :");
            member(key);
        }
        if (!take('}')) throw no_json("expected , or }");
        for (size_t i = 0; i < keys.size(); i++)
            if (!seen[i]) throw Refused(place, keys[i] + " is missing");
    }

    template <class Item> void list(const std::string & place, Item item) {
        if (!take('[') || peek() == ']') throw Refused(place, "must be a list that is not empty");
        size_t i = 0;
        do item(place + "[" + std::to_string(i++) + "]");
        while (take(','));
        if (!take(']')) throw no_json("expected , or ]");
    }

    std::string word(const std::string & place) {
        if (peek() != '"') throw Refused(place, "must be a text that is not empty");
        std::string value = string();
        if (value.empty()) throw Refused(place, "must be a text that is not empty");
        return value;
    }

    std::string string() {
        if (!take('"')) throw no_json("expected \"");
        std::string value;
        while (at < text.size() && text[at] != '"') {
            if (uint8_t(text[at]) < 0x20) throw no_json("a control character in a text");
            if (text[at] == '\\') escape(value);
            else value += text[at++];
        }
        if (at++ >= text.size()) throw no_json("a text without an end");
        return value;
    }

    void escape(std::string & value) {
        static constexpr std::string_view letters = "\"\\/bfnrt", meant = "\"\\/\b\f\n\r\t";
        char letter = ++at < text.size() ? text[at++] : 0;
        if (letter != 'u') {
            size_t which = letter ? letters.find(letter) : letters.npos;
            if (which == letters.npos) throw no_json("an unknown escape");
            value += meant[which];
            return;
        }
        uint32_t code = hex();
        if (code >> 10 == 0x36 && text.substr(at, 2) == "\\u") {  // the first half of a pair
            size_t back = at;
            at += 2;
            uint32_t second = hex();
            if (second >> 10 == 0x37) code = 0x10000 + ((code & 0x3ff) << 10 | (second & 0x3ff));
            else at = back;
        }
        add_utf8(value, code);
    }

    // Half a pair that stands alone, too, as Python's json does.
    static void add_utf8(std::string & value, uint32_t code) {
        static constexpr uint32_t first[] = {0, 0xc0, 0xe0, 0xf0};
        int further = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
        value += char(first[further] | code >> 6 * further);
        while (further-- > 0) value += char(0x80 | (code >> 6 * further & 0x3f));
    }

    uint32_t hex() {
        static constexpr std::string_view digits = "0123456789abcdefABCDEF";
        uint32_t code = 0;
        for (size_t end = at + 4; at < end; at++) {
            if (!stands(digits)) throw no_json("\\u without four digits");
            size_t digit = digits.find(text[at]);
            code = code << 4 | uint32_t(digit < 16 ? digit : digit - 6);
        }
        return code;
    }

    // Whether one of these letters is next.
    bool stands(std::string_view letters) const {
        return at < text.size() && letters.find(text[at]) != letters.npos;
    }

    int peek() {
        while (stands(" \t\n\r")) at++;
        return at < text.size() ? uint8_t(text[at]) : END;
    }

    bool take(char wanted) {
        if (peek() != wanted) return false;
        at++;
        return true;
    }

    Refused no_json(const std::string & why) const {
        return Refused("no JSON, byte " + std::to_string(at), why);
    }
};

}  // namespace token_trie

    const calls = [], warnings = [], tokens = [];
    const ffi = {
        eliza_inference_llm_stream_prefill(handle, prompt, slot) {
            calls.push(["prefill", handle, [...prompt], slot]);
            return data.prefill ?? prompt.length;
        },
        eliza_inference_llm_stream_generate(handle, n, temperature, topP, onToken) {
            calls.push(["generate", handle, n, temperature, topP]);
            if (data.throws) throw new Error("thrown by the library");
            if (data.status) return data.status;
            setTimeout(() => { onToken(4, "a", false); onToken(5, "b", true); });
            return 0;
        },
        eliza_inference_set_token_trie(handle, json, mode) {
            calls.push(["set", handle, json, mode]);
        },
        eliza_inference_clear_token_trie(handle) { calls.push(["clear", handle]); },
    };
    for (const name of data.without ?? []) delete ffi[`eliza_inference_${name}_token_trie`];
    const runner = new api.FfiStreamingRunner(ffi, "h", (line) => warnings.push(line));
    const args = {
        promptTokens: Int32Array.of(1, 2, 3), slotId: -1, maxTokens: 10, temperature: 0.7,
        topP: 0.9, ...data.args,
    };
    return runner.generate(args, (...step) => { tokens.push(step); calls.push(["token"]); })
        .then(() => "", (error) => error.message)
        .then((error) => ({ calls, warnings, tokens, error }));

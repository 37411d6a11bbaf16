// A generation through a C ABI, with a token trie if the build has one: the trie is set after the
// prompt, whose tokens would move it otherwise, and always cleared at the end.

export type FfiLlmHandle = unknown;

export interface TokenTreePayload {
  modelId: string;
  descriptors: { path: string; leaves: { name: string; tokens: number[] }[] }[];
}

type OnToken = (token: number, text: string, isDone: boolean) => void;

/** The functions called in the library. Older builds lack those of the trie. */
export interface FfiLlmStreamingAbi {
  /** How many tokens were decoded; negative where it failed. */
  eliza_inference_llm_stream_prefill(
    handle: FfiLlmHandle, promptTokens: Int32Array, slotId: number): number;
  /** 0, or the number of an error. */
  eliza_inference_llm_stream_generate(
    handle: FfiLlmHandle, maxTokens: number, temperature: number, topP: number,
    onToken: OnToken): number;
  eliza_inference_set_token_trie?(
    handle: FfiLlmHandle, triePayloadJson: string, mode: number): void;
  eliza_inference_clear_token_trie?(handle: FfiLlmHandle): void;
}

export interface FfiStreamingGenerateArgs {
  promptTokens: Int32Array;
  slotId: number;
  maxTokens: number;
  temperature: number;
  topP: number;
  tokenTreePayload?: TokenTreePayload;
  /** 0, the default, takes the largest logit of the tokens that may follow; 1 samples them. */
  tokenTreeMode?: 0 | 1;
}

export class FfiStreamingRunner {
  constructor(
    private readonly ffi: FfiLlmStreamingAbi,
    private readonly handle: FfiLlmHandle,
    private readonly warn: (line: string) => void = console.warn,
  ) {}

  /** Resolves when the last token has come. Throws where the prompt or the generation fails. */
  async generate(args: FfiStreamingGenerateArgs, onToken: OnToken): Promise<void> {
    const decoded = this.ffi.eliza_inference_llm_stream_prefill(
      this.handle, args.promptTokens, args.slotId);
    if (decoded < 0) throw new Error(`prefill failed: ${decoded}`);
    const isSet = this.setTrie(args);
    try {
      await this.tokens(args, onToken);
    } finally {
      if (isSet) this.ffi.eliza_inference_clear_token_trie!(this.handle);
    }
  }

  /** Whether a trie was set, and is to be cleared. A build that cannot clear one is given none. */
  private setTrie(args: FfiStreamingGenerateArgs): boolean {
    if (!args.tokenTreePayload) return false;
    const { eliza_inference_set_token_trie: set, eliza_inference_clear_token_trie: clear } = this.ffi;
    if (typeof set !== "function" || typeof clear !== "function") {
      this.warn("token trie: not in this build; the grammar alone constrains");
      return false;
    }
    const json = JSON.stringify(args.tokenTreePayload);
    set.call(this.ffi, this.handle, json, args.tokenTreeMode ?? 0);
    return true;
  }

  private tokens(args: FfiStreamingGenerateArgs, onToken: OnToken): Promise<void> {
    return new Promise((resolve, reject) => {
      const status = this.ffi.eliza_inference_llm_stream_generate(
        this.handle, args.maxTokens, args.temperature, args.topP,
        (token, text, isDone) => {
          onToken(token, text, isDone);
          if (isDone) resolve();
        });
      if (status !== 0) reject(new Error(`generate failed: ${status}`));
    });
  }
}

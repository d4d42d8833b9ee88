// One command over the real SDK, on a service that is a function from the request's address to its answer.

import type { Ask, Keys } from "../../cli/ask.ts";
import { Output } from "../../cli/output.ts";
import { parse } from "../../cli/parse.ts";
import { VERBS } from "../../cli/verbs.ts";
import { Signalbox } from "../../sdk/signalbox.ts";

type Answer = (url: URL, init: RequestInit) => object | Promise<object>;

export const runCommand = async (
  argv: readonly string[],
  answer: Answer,
  ask: Ask = null,
  isTerminal = false,
  keys: Keys = null,
): Promise<{ out: string; err: string; code: number | undefined }> => {
  const said = { out: "", err: "" };
  const sink = (name: keyof typeof said) => ({
    isTerminal,
    write: (text: string) => {
      said[name] += text;
    },
  });
  const parsed = parse(argv, VERBS);
  if (parsed.kind !== "run") throw new Error("not run");
  const send: typeof fetch = async (input, init = {}) => {
    const aborted = new Promise<never>((_, reject) => {
      init.signal?.addEventListener("abort", () => reject(init.signal?.reason));
    });
    const answered = await Promise.race([answer(new URL(String(input)), init), aborted]);
    return answered instanceof Response ? answered : Response.json(answered);
  };
  const context = {
    client: () => new Signalbox({ url: "http://service.example", key: "sb_1", fetch: send }),
    output: new Output({ out: sink("out"), err: sink("err"), isJson: parsed.isJson, hasColour: false }),
    signal: AbortSignal.timeout(5_000),
    env: {},
    readInput: async () => "",
    ask,
    keys,
  };
  const code = (await parsed.verb.run(context, parsed.input)) ?? undefined;
  return { ...said, code };
};

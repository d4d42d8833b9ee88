// Whether two model names mean the same model. Pure. Providers answer with dated or prefixed forms of what was asked:
// gpt-5 → gpt-5-2026-01-01, models/gemini-2.5-flash, openai/gpt-5, llama3.2 → llama3.2:latest, /models/qwen.gguf → qwen.

/** True when a runtime that lists `listed` serves what a job calls `asked`. */
export function isListedAs(listed: string, asked: string): boolean {
  if (withoutLatest(listed) === withoutLatest(asked)) return true;
  // Two different owners of one model name are two models; a missing owner is only left out.
  const isOwnerLeftOut = !listed.includes("/") || !asked.includes("/");
  return isOwnerLeftOut && shortName(listed) === shortName(asked);
}

/** True when an answer signed `answered` may come from the model `asked`: the same, or a dated version of it. */
export function isSameModel(asked: string, answered: string): boolean {
  if (isListedAs(answered, asked)) return true;
  const [short, long] = [shortName(asked).replace(/-latest$/, ""), shortName(answered)];
  return long.startsWith(short) && /^([-@]\d{3,8}(-\d{2}){0,2}|-latest)?$/.test(long.slice(short.length));
}

function withoutLatest(name: string): string {
  return name.replace(/:latest$/, "");
}

/** The last path segment, without the file ending of a GGUF and without `:latest`. */
function shortName(name: string): string {
  const last = name.split(/[/\\]/).at(-1) ?? name;
  return withoutLatest(last.toLowerCase().replace(/\.gguf$/, ""));
}

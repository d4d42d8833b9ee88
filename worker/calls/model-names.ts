// Whether two model names mean the same model. Pure. Providers answer with dated or prefixed forms of the requested
// name: gpt-5 → gpt-5-2026-01-01, models/gemini-2.5-flash, openai/gpt-5, llama3.2 → llama3.2:latest, /models/qwen.gguf
// → qwen.

/** Whether a runtime that lists `listed` serves the model `asked`. */
export const isListedAs = (listed: string, asked: string): boolean => {
  if (withoutLatest(listed) === withoutLatest(asked)) return true;
  // Different owners mean different models; a missing owner matches any.
  const isOwnerLeftOut = !listed.includes("/") || !asked.includes("/");
  return isOwnerLeftOut && shortName(listed) === shortName(asked);
};

/** Whether an answer from `answered` may come from the model `asked`: the same, or a dated version of it. */
export const isAnswerOf = (asked: string, answered: string): boolean => {
  if (isListedAs(answered, asked)) return true;
  const [short, long] = [shortName(asked).replace(/-latest$/, ""), shortName(answered)];
  return long.startsWith(short) && /^([-@]\d{3,8}(-\d{2}){0,2}|-latest)?$/.test(long.slice(short.length));
};

const withoutLatest = (name: string): string => name.replace(/:latest$/, "");

/** The last path segment, without a GGUF file ending and without `:latest`. */
const shortName = (name: string): string => {
  const last = name.split(/[/\\]/).at(-1) ?? name;
  return withoutLatest(last.toLowerCase().replace(/\.gguf$/, ""));
};

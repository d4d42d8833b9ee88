// Flags of the form name=value.

import { UsageError } from "./failure.ts";
import type { Input } from "./input.ts";

export const pairsOf = (input: Input, flag: string): Record<string, string> => {
  const pairs = new Map<string, string>();
  for (const text of input.texts(flag)) {
    const at = text.indexOf("=");
    if (at < 1) throw new UsageError(`--${flag} takes name=value, not "${text}"`);
    const name = text.slice(0, at);
    if (pairs.has(name)) throw new UsageError(`--${flag} gives "${name}" twice`);
    pairs.set(name, text.slice(at + 1));
  }
  return Object.fromEntries(pairs);
};

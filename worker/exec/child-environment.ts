// The environment of a command: the worker's own without anything secret. Invariant: no key of Signalbox, of a provider
// or of a vault reaches a program that works on other people's prompts.

import { isSecretVariable } from "../../contract/text/secret-variable.ts";

export const childEnvironment = (
  own: Readonly<Record<string, string | undefined>>,
  added: Readonly<Record<string, string>> = {},
): Record<string, string> => {
  const kept = Object.entries(own).filter(
    (one): one is [string, string] => one[1] !== undefined && !isSecretVariable(one[0]),
  );
  return { ...Object.fromEntries(kept), ...added };
};

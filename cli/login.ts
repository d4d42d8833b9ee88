// The address and key saved by `signalbox login`, readable by their owner alone. Environment variables take precedence.
// A saved key is only used at the address it was saved for.

import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { isAddress, NOT_AN_ADDRESS, trimAddress } from "../contract/text/address.ts";
import { LOCAL_URL } from "../contract/words/values.ts";
import { Failure } from "./failure.ts";

type Environment = Readonly<Record<string, string | undefined>>;

interface Login {
  readonly url: string;
  readonly key: string;
}

const loginFile = (env: Environment): string =>
  path.join(env.XDG_CONFIG_HOME || path.join(env.HOME || homedir(), ".config"), "signalbox", "config.json");

const readLogin = (env: Environment): Login | null => {
  let text: string;
  try {
    text = readFileSync(loginFile(env), "utf8");
  } catch {
    return null;
  }
  try {
    const { url, key } = JSON.parse(text) as Partial<Login>;
    if (typeof url === "string" && isAddress(url) && typeof key === "string") return { url, key };
  } catch {
    // Reported below.
  }
  throw new Failure(`${loginFile(env)} is damaged: run \`signalbox login <url>\` again.`);
};

/** Written atomically, and never readable by others, not even briefly. */
export const keepLogin = (env: Environment, login: Login): string => {
  const file = loginFile(env);
  const draft = `${file}.${process.pid}`;
  try {
    mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(draft, `${JSON.stringify(login, null, 2)}\n`, { mode: 0o600 });
    chmodSync(draft, 0o600);
    renameSync(draft, file);
  } catch (error) {
    throw new Failure(`${file} cannot be written: ${(error as Error).message}`);
  }
  return file;
};

/** The address to call and the key to use; no key if none is known for that address. */
export const loginOf = (env: Environment): { url: string; key: string | undefined } => {
  const given = {
    url: env.SERVICE_API_URL ? checkedAddress(env.SERVICE_API_URL, "SERVICE_API_URL ") : undefined,
    key: env.SERVICE_API_KEY || undefined,
  };
  if (given.url !== undefined && given.key !== undefined) return { url: given.url, key: given.key };
  const kept = readLogin(env);
  const url = given.url ?? kept?.url ?? LOCAL_URL;
  const isKeptFor = kept !== null && sameOrigin(kept.url, url);
  return { url, key: given.key ?? (isKeptFor ? kept.key : undefined) };
};

/** An address that fetch can use; `what` names where it comes from. @throws Failure */
export const checkedAddress = (text: string, what = ""): string => {
  const url = trimAddress(text);
  if (isAddress(url)) return url;
  throw new Failure(`${what}"${url}" ${NOT_AN_ADDRESS}`);
};

const sameOrigin = (one: string, other: string): boolean =>
  URL.canParse(one) && URL.canParse(other) && new URL(one).origin === new URL(other).origin;

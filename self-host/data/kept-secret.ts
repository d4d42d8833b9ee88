// Secrets and marks as files in the data folder: one line each, readable by the owner alone. Invariant: a file is either
// absent or complete and on disk, whenever the process is killed or the disk is full.

import { randomBytes } from "node:crypto";
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
import path from "node:path";
import { ExitError } from "../exit-error.ts";

const SECRET_BYTES = 32;
/** What a request can send as a bearer, and long enough that nobody guesses it. */
const GOOD_ROOT_KEY = /^[!-~]{12,}$/;

/** Refuses a root key that the operator gives and that is too easy to guess: it manages every tenant. */
export function requireRootKey(given: string | undefined): void {
  if (!given || GOOD_ROOT_KEY.test(given)) return;
  throw new ExitError(
    "SERVICE_ROOT_KEY is too weak: use at least 12 letters, digits and signs without spaces, e.g. what `openssl rand -base64 32` prints, or leave it out, and one is made and kept.",
    2,
  );
}

const LEAST_SIGNING_SECRET_CHARS = 16;

/** Refuses a signing secret that the operator gives and that a key's holder could find by trying: it makes every key. */
export function requireSigningSecret(name: string, given: string | undefined): void {
  if (!given || given.length >= LEAST_SIGNING_SECRET_CHARS) return;
  throw new ExitError(
    `${name} is too weak: use at least ${LEAST_SIGNING_SECRET_CHARS} characters that nobody guesses, e.g. what \`openssl rand -base64 32\` prints, or leave it out.`,
    2,
  );
}

export function readSecret(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8").trim() || undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

export function writeKept(file: string, value: string): void {
  const draft = `${file}.draft`;
  const descriptor = openSync(draft, "w", 0o600);
  writeSync(descriptor, `${value}\n`);
  fsyncSync(descriptor);
  closeSync(descriptor);
  renameSync(draft, file);
  syncDirectory(path.dirname(file));
}

/** Makes a rename or removal in the folder survive a power loss. */
export function syncDirectory(directory: string): void {
  if (process.platform === "win32") return;
  const descriptor = openSync(directory, "r");
  fsyncSync(descriptor);
  closeSync(descriptor);
}

/** The given secret, else the one kept by an earlier start, else a new one. */
export function keepSecret(given: string | undefined, file: string): string {
  if (given) return given;
  const kept = readSecret(file);
  if (kept) return kept;
  const made = randomBytes(SECRET_BYTES).toString("base64url");
  writeKept(file, made);
  return made;
}

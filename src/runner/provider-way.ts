// One call's way to a provider: through the vault connector, which adds the key and follows no redirect. It keeps the
// provider's words of a refusal.

import { MAX_PART_BYTES } from "../../contract/data-line.ts";
import { withoutKeyLike } from "../../contract/text/secret-text.ts";
import { startOf } from "../../contract/text/start-of.ts";
import type { ProviderApi, ProviderAuth, ProviderDefinition } from "../../domain/catalog/catalog.ts";
import { EDGE_PLACES } from "../../domain/fleet/worker.ts";
import { QUOTA_CODES } from "../../domain/words/quota.ts";
import { readErrorBody, startOfBody } from "../../worker/calls/error-body.ts";
import type { Way } from "../../worker/calls/exchange.ts";
import { classifyFailure } from "../../worker/calls/failure.ts";
import { type JobFailure, KnownFailure } from "../../worker/calls/runtime.ts";
import { BROKEN_OFF } from "../../worker/calls/stream-reader.ts";
import type { JobOutcome } from "../../worker/run-job.ts";
import type { VaultConnector, VaultOutcome } from "../catalog/vault/connector.ts";

/** A key that is longer is found only where a piece has all of it. */
const MAX_KEY_CHARS = 4 * 1024;
const MAX_WORDS = 300;
/** The calls of one object hold half of an isolate's memory at most; no model writes so much. */
export const MAX_HELD_BYTES: number = (64 * 1024 * 1024) / EDGE_PLACES;
/** A provider that sends no headers for so long hangs. */
const HEADERS_WITHIN_MS = 300_000;

type Called = ProviderDefinition & { readonly api: ProviderApi };

/** A provider's list may need no key; a call does, except on the operator's own network. */
export const callAuth = ({ api, auth, local, provider }: Called): ProviderAuth | null => {
  if (auth === undefined && local) return null;
  const header = api.dialect === "anthropic" ? "x-api-key" : "bearer";
  return { header, ref: auth?.ref ?? `provider:${provider}` };
};

const QUOTES_KEY: JobFailure = {
  code: "provider_refused",
  message: "The provider's answer is left out, because it contains the key",
  status: 502,
  retryable: false,
};

/** The codes of failures that are about the coordinator's key or account, not about the job. */
const ABOUT_THE_KEY = new Set(["unauthorized", "provider_refused", ...QUOTA_CODES]);

export class ProviderWay implements Way {
  readonly isMetered = true;
  readonly maxResultBytes = MAX_HELD_BYTES;
  /** The relay passes it on whole. */
  readonly maxEventBytes = MAX_PART_BYTES;
  readonly #provider: Called;
  readonly #connector: VaultConnector;
  /** In the provider's words, why it refused the last call. */
  #words = "";
  #holdsKey: (text: string) => boolean = () => false;

  constructor(provider: Called, connector: VaultConnector) {
    this.#provider = provider;
    this.#connector = connector;
  }

  readonly fetch = async (url: string, init: RequestInit): Promise<Response> => {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), HEADERS_WITHIN_MS);
    const { signal } = init;
    const signals = signal == null ? [late.signal] : [signal, late.signal];
    const request = new Request(url, { ...init, signal: AbortSignal.any(signals) });
    const auth = callAuth(this.#provider);
    const hosts = [new URL(this.#provider.api.base_url).host];
    const called = await this.#connector.fetch(request, auth, hosts).finally(() => clearTimeout(timer));
    if (!called.ok) throw new KnownFailure(this.#notCalled(called));
    this.#holdsKey = called.holdsKey;
    return called.response.ok ? called.response : this.#refused(called.response);
  };

  readonly classify = (error: unknown): JobFailure => {
    if (error instanceof KnownFailure) return error.failure;
    const message = error instanceof Error ? error.message : String(error);
    return { ...BROKEN_OFF, message: `The provider's answer broke off: ${message}` };
  };

  /** No API that it offers takes a form. */
  readonly streamOf = (): never => {
    throw new Error("a hosted provider is sent no form");
  };

  /** Why the provider will refuse further calls, too; null if it will not. */
  refusalOf({ code }: JobFailure): string | null {
    if (!ABOUT_THE_KEY.has(code)) return null;
    const { provider } = this.#provider;
    const what = code.includes("quota") ? "has no credit left" : "refused the key";
    const words = this.#hidden(this.#words);
    return startOf(`${provider} ${what}${words === "" ? "" : `: ${words}`}`, MAX_WORDS);
  }

  /** Ends an answer that quotes the key before anybody reads it. */
  refuseKeyIn(events: readonly string[]): void {
    if (events.some((event) => this.#holdsKey(event))) throw new KnownFailure(QUOTES_KEY);
  }

  /** Ends an answer that quotes the key, wherever its pieces divide it, before it is kept. */
  async *withoutKey(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    const decoder = new TextDecoder();
    let last = "";
    for await (const piece of pieces) {
      const text = last + decoder.decode(piece, { stream: true });
      this.refuseKeyIn([text]);
      last = text.slice(-MAX_KEY_CHARS);
      yield piece;
    }
  }

  /** An outcome without the key, which some providers quote. */
  hide(outcome: JobOutcome): JobOutcome {
    if (!this.#holdsKey(JSON.stringify(outcome))) return outcome;
    if (outcome.type === "job.failed") {
      const { code, message } = outcome.error;
      const told = { code: this.#holdsKey(code) ? QUOTES_KEY.code : code, message: this.#hidden(message) };
      return { ...outcome, error: { ...outcome.error, ...told } };
    }
    if (outcome.type === "job.released") return { ...outcome, reason: QUOTES_KEY.message };
    if (outcome.type === "job.spent") return outcome;
    const { usage, usage_estimated } = outcome;
    const spent = { ...(usage && { usage }), ...(usage_estimated && { usage_estimated }) };
    return { type: "job.failed", error: QUOTES_KEY, ...spent };
  }

  /** The vault has no key to send to this host, or nobody answers there, and the platform does not say why. */
  #notCalled({ code, detail: message }: Extract<VaultOutcome, { ok: false }>): JobFailure {
    if (code === "network") return { ...BROKEN_OFF, message };
    this.#words = message;
    return { code: "provider_refused", message, status: 502, retryable: false };
  }

  #hidden(text: string): string {
    const words = withoutKeyLike(text);
    return this.#holdsKey(words) ? "its words are left out, because they contain the key" : words;
  }

  /** Reads the refusal's body, so that its words are known, whatever becomes of them. */
  async #refused(response: Response): Promise<Response> {
    const { status, headers } = response;
    if (status < 400) {
      await response.body?.cancel();
      const body = `it redirects, which is not followed (status ${status})`;
      return new Response(body, { status: 502 });
    }
    const text = await startOfBody(response);
    this.#words = readErrorBody(text).message || classifyFailure({ status, body: text }, Date.now()).message;
    return new Response(text, { status, headers: withoutEncoding(headers) });
  }
}

const withoutEncoding = (headers: Headers): Headers => {
  const kept = new Headers(headers);
  for (const name of ["content-encoding", "content-length"]) kept.delete(name);
  return kept;
};

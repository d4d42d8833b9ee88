// A provider that misbehaves on request. It is a fetch function, so no network is needed. It records every request, and
// so shows what left the service, including keys.

import type { ProviderDefinition } from "../../domain/catalog/catalog.ts";
import { type VaultConnector, vaultConnector } from "../../src/catalog/vault/connector.ts";
import { environmentSecrets } from "../../src/catalog/vault/environment.ts";

export const ACME_KEY = "sk-acme-0123456789abcdef";

export const acme: ProviderDefinition = {
  provider: "acme",
  list_url: "https://api.acme.example/v1/models",
  method: "GET",
  local: false,
  auth: { header: "bearer", ref: "provider:acme" },
  extra_headers: { "acme-version": "7" },
  response_path: "data[]",
  fields: { id: "id", name: "name", context_window: "context" },
};

export type Answer = (request: Request) => Response | Promise<Response>;

export interface FakeProvider {
  readonly requests: Request[];
  readonly fetch: (request: Request) => Promise<Response>;
  readonly connector: VaultConnector;
  answer: Answer;
}

export function fakeProvider(
  answer: Answer,
  env: Record<string, string> = { PROVIDER_ACME_KEY: ACME_KEY },
): FakeProvider {
  const requests: Request[] = [];
  const fetch = async (request: Request) => {
    requests.push(request);
    return provider.answer(request);
  };
  const connector = vaultConnector({ source: environmentSecrets(env), fetch, now: () => 0 });
  const provider: FakeProvider = { requests, fetch, connector, answer };
  return provider;
}

export const json = (body: unknown, status = 200, headers: Record<string, string> = {}): Response =>
  new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json", ...headers } });

export const modelRows = (...ids: string[]): { data: { id: string }[] } => ({ data: ids.map((id) => ({ id })) });

/** A body that sends its pieces and then neither ends nor breaks off. */
export function unending(...pieces: string[]): { response: Response; isCancelled: () => boolean } {
  let cancelled = false;
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      for (const piece of pieces) controller.enqueue(encoder.encode(piece));
    },
    cancel: () => {
      cancelled = true;
    },
  });
  return { response: new Response(body), isCancelled: () => cancelled };
}

/** An endless body, as fast as it is read. */
export function flood(piece: string): { response: Response; pieceCount: () => number } {
  let count = 0;
  const bytes = new TextEncoder().encode(piece);
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      count++;
      controller.enqueue(bytes);
    },
  });
  return { response: new Response(body), pieceCount: () => count };
}

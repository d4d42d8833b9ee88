// Where a local runtime has its APIs: under `/v1`, and reranking also where others put it. A look at the runtime finds
// the place, and requests go there.

import type { Api } from "../../contract/words/values.ts";

const ELSEWHERE: Readonly<Partial<Record<Api, readonly string[]>>> = { rerank: ["/rerank", "/v2/rerank"] };

export class ApiPlaces {
  readonly #origin: string;
  readonly #found = new Map<Api, string>();

  constructor(origin: string) {
    this.#origin = origin;
  }

  /** All places, the usual one first. */
  of(api: Api): string[] {
    return [`/v1/${api}`, ...(ELSEWHERE[api] ?? [])].map((path) => this.#origin + path);
  }

  note(api: Api, url: string): void {
    this.#found.set(api, url);
  }

  urlOf(api: Api): string {
    return this.#found.get(api) ?? `${this.#origin}/v1/${api}`;
  }
}

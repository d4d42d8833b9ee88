// A request of the edge to a relay, encoded in a query: its answer is a stream, which an RPC call could not return.

import { APIS, type Api } from "../../domain/words/api.ts";
import type { Jurisdiction } from "../object-name.ts";

/** Holds a request's body, and gives it back, as its bytes: text in a call is limited, and may count twice its length. */
const HOLD_URL = "https://relay/hold?job=";

export const holdUrl = (jobId: string): string => HOLD_URL + encodeURIComponent(jobId);

/** The job whose body is meant; null for any other request. */
export const heldJobOf = (url: string): string | null =>
  url.startsWith(HOLD_URL) ? decodeURIComponent(url.slice(HOLD_URL.length)) : null;

export interface ReaderWishes {
  /** The API format for errors; null for a reader that gets numbered events as data. */
  readonly api: Api | null;
  readonly isNumbered: boolean;
  readonly stripsUsage: boolean;
  readonly keepAliveMs: number;
  /** The number of the last event that it has; 0: from the beginning. */
  readonly after: number;
}

export interface ReadRequest {
  /** The worker. */
  readonly instance: string;
  readonly jobId: string;
  readonly lease: number;
  /** The tenant, to which the relay reports a reader that leaves. */
  readonly jurisdiction: Jurisdiction | null;
  /** Who reads, or writes, as the tenant knows it; null: the client that asked, whose job ends with its key. */
  readonly holder: string | null;
  readonly wishes: ReaderWishes;
}

export const queryOf = ({ instance, jobId, lease, jurisdiction, holder, wishes }: ReadRequest): string =>
  new URLSearchParams({
    instance,
    job: jobId,
    lease: String(lease),
    jurisdiction: jurisdiction ?? "",
    api: wishes.api ?? "",
    numbered: wishes.isNumbered ? "1" : "",
    strip: wishes.stripsUsage ? "1" : "",
    keep: String(wishes.keepAliveMs),
    after: String(wishes.after),
    holder: holder ?? "",
  }).toString();

/** `text`: the query. */
export const readRequestOf = (text: string): ReadRequest => {
  const query = new URLSearchParams(text);
  const api = APIS.find((one) => one === query.get("api")) ?? null;
  return {
    instance: query.get("instance") ?? "",
    jobId: query.get("job") ?? "",
    lease: Number(query.get("lease")),
    jurisdiction: (query.get("jurisdiction") || null) as Jurisdiction | null,
    holder: query.get("holder") || null,
    wishes: {
      api: api satisfies Api | null,
      isNumbered: query.get("numbered") === "1",
      stripsUsage: query.get("strip") === "1",
      keepAliveMs: Number(query.get("keep")),
      after: Number(query.get("after")),
    },
  };
};

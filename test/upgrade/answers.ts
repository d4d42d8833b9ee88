// Answers checked against the schema in the server's own document, and every possible read: a list, then each of its
// items by name.

import { answerValidators, type OpenApi, type Operation, operationsOf } from "../fuzz/document.ts";
import type { Answer } from "../support/requests.ts";

export interface AnswerCheck {
  /** Reads of a tenant that answer JSON, by path: `/api/jobs/{id}`. */
  readonly reads: readonly string[];
  /** What the endpoint's schema does not allow in an answer. */
  readonly mismatches: (route: string, answer: Answer) => string[];
}

const mediaOf = ({ headers }: Answer): string => (headers.get("content-type") ?? "").split(";")[0] ?? "";

const fits = ({ path }: Operation, route: string): boolean =>
  new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(route.split("?")[0] ?? "");

/** A path without parameters takes precedence over one with. */
const byParameters = (one: Operation, other: Operation): number =>
  one.path.split("{").length - other.path.split("{").length;

const isRead = ({ method, access, isSocket, responses }: Operation): boolean =>
  method === "GET" &&
  Array.isArray(access) &&
  !isSocket &&
  responses["200"]?.content?.["application/json"] !== undefined;

export const answerCheckOf = (document: OpenApi): AnswerCheck => {
  const operations = operationsOf(document)
    .filter(({ method }) => method === "GET")
    .sort(byParameters);
  const validatorOf = answerValidators(document);
  const mismatches = (route: string, answer: Answer): string[] => {
    const operation = operations.find((one) => fits(one, route));
    if (operation === undefined) return [`${route}: no such operation`];
    const media = mediaOf(answer);
    if (operation.responses[String(answer.status)]?.content?.[media] === undefined)
      return [`${route}: ${answer.status} ${media} is not in the document`];
    const validate = validatorOf(operation, answer.status, media);
    if (validate(answer.body)) return [];
    return (validate.errors ?? []).map(({ instancePath, message }) => `${route} ${instancePath}: ${message}`);
  };
  return { reads: operations.filter(isRead).map(({ path }) => path), mismatches };
};

/** The values in a path without a list above it. */
const UNLISTED = { "/api/cost/by": ["provider", "model", "tag", "key", "worker", "schedule"] };
const NAMES = ["id", "instance", "name", "provider"] as const;

/** The names of a list's items in the paths below it. */
const namesIn = (body: unknown): string[] => {
  const list = Object.values((body ?? {}) as object).find(Array.isArray) ?? [];
  return (list as Record<string, unknown>[]).flatMap((item) => {
    const name = NAMES.map((field) => item[field]).find((value) => typeof value === "string");
    return name === undefined ? [] : [encodeURIComponent(String(name))];
  });
};

/** Reads every endpoint; one with a parameter for each item of the list above it. */
export async function* readsOf(
  { reads }: AnswerCheck,
  get: (route: string) => Promise<Answer>,
): AsyncGenerator<{ operation: string; route: string; answer: Answer }> {
  const known = new Map<string, string[]>(Object.entries(UNLISTED));
  for (const operation of reads) {
    const [above = "", below] = operation.split(/\/\{\w+\}/);
    const routes =
      below === undefined ? [operation] : (known.get(above) ?? []).map((name) => `${above}/${name}${below}`);
    for (const route of routes) {
      const answer = await get(route);
      if (below === undefined) known.set(operation, namesIn(answer.body));
      yield { operation, route, answer };
    }
  }
}

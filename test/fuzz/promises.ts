// The promises of every answer, checked against the service's own document.

import { parse } from "yaml";
import { answerValidators, type OpenApi, type Operation } from "./document.ts";
import type { WireAnswer } from "./wire.ts";
import type { Role } from "./world.ts";

/** Statuses of each problem code, from the table on the service's own page. */
const problemTable = (docsPage: string): ReadonlyMap<string, number> =>
  new Map(
    [...docsPage.matchAll(/<dt id="problem-(\w+)"><code>\w+<\/code><\/dt><dd>(\d{3}) /g)].map(([, code, status]) => [
      String(code),
      Number(status),
    ]),
  );

/** For a tenant's keys; the root key reads all tenants. */
const FOR_OPERATORS_TOO = "GET /metrics";

/**
 * The statuses that a caller without permission must get, whatever the rest of the request is; null if it has
 * permission.
 */
export const refusalOf = ({ name, access }: Operation, role: Role): readonly number[] | null => {
  if (access === "none" || (name === FOR_OPERATORS_TOO && role === "root")) return null;
  if (access === "root") {
    if (role === "root") return null;
    return role === "none" || role === "garbage" ? [401] : [401, 403];
  }
  if (role === "root" || role === "none" || role === "garbage" || role === "revoked") return [401];
  return access.includes(role) ? null : [403];
};

export const mediaOf = ({ headers }: WireAnswer): string =>
  (headers["content-type"] ?? "").split(";")[0]?.trim().toLowerCase() ?? "";

const readAs = (media: string, text: string): unknown => {
  if (media.endsWith("json")) return JSON.parse(text);
  return media.endsWith("yaml") ? parse(text) : text;
};

export class Broken extends Error {}

export const makePromises = (document: OpenApi, docsPage: string) => {
  const validatorOf = answerValidators(document);
  const problems = problemTable(docsPage);
  if (problems.size === 0) throw new Broken("the docs page lists no problem codes");

  const requireProblem = (answer: WireAnswer): void => {
    const { status, headers, text } = answer;
    if (mediaOf(answer) !== "application/problem+json") throw new Broken(`an error came as ${mediaOf(answer)}`);
    const problem = JSON.parse(text) as Record<string, unknown>;
    if (problem.status !== status) throw new Broken(`the problem says status ${problem.status}`);
    const code = String(problem.code);
    if (problems.get(code) !== status) throw new Broken(`code "${code}" belongs to status ${problems.get(code)}`);
    if (problem.type !== `/docs#problem-${code}`) throw new Broken(`the problem's type is ${problem.type}`);
    if (problem.instance !== headers["x-request-id"]) throw new Broken("the problem's instance is not the request");
    if (status === 401 && headers["www-authenticate"] === undefined) throw new Broken("401 without WWW-Authenticate");
    if (status === 429 && headers["retry-after"] === undefined) throw new Broken("429 without Retry-After");
    if (code === "invalid_request" && !Array.isArray(problem.errors)) throw new Broken("400 without its errors");
  };

  /** MCP and the front door answer errors in their own formats: where the document says so, that schema is checked. */
  const isOwnDialect = (answer: WireAnswer, operation: Operation | null): boolean => {
    const media = mediaOf(answer);
    const documented = operation?.responses[String(answer.status)]?.content ?? {};
    return media !== "application/problem+json" && Object.hasOwn(documented, media);
  };

  const requireCommon = (answer: WireAnswer, key: string | null, operation: Operation | null = null): void => {
    const { status, headers, text } = answer;
    const requestId = headers["x-request-id"];
    if (typeof requestId !== "string" || requestId === "") throw new Broken("there is no X-Request-Id");
    if (key !== null && text.includes(key)) throw new Broken("the answer repeats the caller's key");
    if (status === 500 || status === 501 || status > 503) throw new Broken("it failed by itself");
    if (status >= 400 && !isOwnDialect(answer, operation)) requireProblem(answer);
  };

  /** An operation's answer: documented in status, media type and schema. */
  const requireDocumented = (operation: Operation, answer: WireAnswer): void => {
    const documented = operation.responses[String(answer.status)];
    if (documented === undefined) throw new Broken(`status ${answer.status} is not documented`);
    const media = Object.keys(documented.content ?? {});
    if (media.length === 0) {
      if (answer.text !== "") throw new Broken(`status ${answer.status} has no documented body, and came with one`);
      return;
    }
    // The bytes of a file may be anything.
    if (media.includes("*/*")) return;
    const given = mediaOf(answer);
    if (!media.includes(given)) throw new Broken(`media type "${given}" is not documented`);
    const validate = validatorOf(operation, answer.status, given);
    if (validate(readAs(given, answer.text))) return;
    throw new Broken(`the answer is not of its documented shape: ${JSON.stringify(validate.errors?.slice(0, 3))}`);
  };

  return { requireCommon, requireDocumented, requireProblem };
};

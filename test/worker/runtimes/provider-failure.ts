// One row for each thing that a provider says, with its real text, and how it is told.

import { expect } from "vitest";
import { classifyFailure } from "../../../worker/calls/failure.ts";

export const NOW = Date.parse("2026-01-01T00:00:00Z");
export const json = (body: unknown) => JSON.stringify(body);

/** [source, status, body, code, retryable] */
export type Told = readonly [string, number | undefined, unknown, string, boolean];

export const isToldAs = (...[, status, body, code, retryable]: Told): void => {
  const failure = classifyFailure({ body, ...(status === undefined ? {} : { status }) }, NOW);
  expect(failure).toMatchObject({ code, retryable });
  const isAboutRequest = status === 403 && code !== "unauthorized";
  if (status !== undefined && status >= 400) expect(failure.status).toBe(isAboutRequest ? 400 : status);
};

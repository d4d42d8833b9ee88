// How long history keeps what a config does not say: on a service that was deployed, and on one that serves itself.

import { describe, expect, it } from "vitest";
import { defaultDocument, historyDefaultsOf, withHistoryDefaults } from "../../contract/config/config-history.ts";

const DEPLOYED = { SERVICE_HISTORY_KEEP_DAYS: "90", SERVICE_HISTORY_KEEP_TEXTS_DAYS: "30" };

describe("the operator's defaults", () => {
  it.each([
    [DEPLOYED, { keep_days: 90, keep_texts_days: 30 }],
    [{}, { keep_days: null, keep_texts_days: null }],
    [
      { SERVICE_HISTORY_KEEP_DAYS: "", SERVICE_HISTORY_KEEP_TEXTS_DAYS: "soon" },
      { keep_days: null, keep_texts_days: null },
    ],
    [{ SERVICE_HISTORY_KEEP_DAYS: "0" }, { keep_days: null, keep_texts_days: null }],
  ])("of %j are %j", (env, history) => {
    expect(historyDefaultsOf(env)).toEqual(history);
    expect(defaultDocument(historyDefaultsOf(env)).history).toEqual(history);
  });
});

describe("a given config", () => {
  const defaults = historyDefaultsOf(DEPLOYED);

  it.each([
    [{}, { keep_days: 90, keep_texts_days: 30 }],
    [{ history: {} }, { keep_days: 90, keep_texts_days: 30 }],
    [{ history: { keep_days: null } }, { keep_days: null, keep_texts_days: 30 }],
    [{ history: { keep_texts_days: 7 } }, { keep_days: 90, keep_texts_days: 7 }],
  ])("%j keeps %j", (given, history) => {
    expect(withHistoryDefaults(given, defaults)).toMatchObject({ history });
  });

  it.each([[null], ["text"], [[1]], [{ history: "long" }], [{ history: [] }]])("%j is left for its check", (given) => {
    expect(withHistoryDefaults(given, defaults)).toEqual(given);
  });
});

// How long history keeps jobs and their texts where a config does not say it. A service that serves itself keeps
// everything; a deployed service has a database of limited size, and its operator decides.

import { isObject } from "../text/json-object.ts";
import { type ConfigDocument, DEFAULT_CONFIG_DOCUMENT, days } from "./config.ts";

export type HistoryDefaults = ConfigDocument["history"];

/** The document of a tenant that has none of its own. */
export const defaultDocument = (history: HistoryDefaults): ConfigDocument => ({ ...DEFAULT_CONFIG_DOCUMENT, history });

/** A given document, before it is read: days that it does not name are the operator's. */
export const withHistoryDefaults = (given: unknown, defaults: HistoryDefaults): unknown => {
  if (!isObject(given)) return given;
  const { history = {} } = given;
  if (!isObject(history)) return given;
  return { ...given, history: { ...defaults, ...history } };
};

const daysFrom = (text: string | undefined): number | null => days.safeParse(Number(text || Number.NaN)).data ?? null;

/** Of a deployed service. A service that serves itself keeps everything. */
export const historyDefaultsOf = (env: {
  readonly SERVICE_HISTORY_KEEP_DAYS?: string;
  readonly SERVICE_HISTORY_KEEP_TEXTS_DAYS?: string;
}): HistoryDefaults => ({
  keep_days: daysFrom(env.SERVICE_HISTORY_KEEP_DAYS),
  keep_texts_days: daysFrom(env.SERVICE_HISTORY_KEEP_TEXTS_DAYS),
});

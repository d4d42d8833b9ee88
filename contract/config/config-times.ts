// The times of a new config, which must fit the heartbeat interval: a missing time whose default conflicts with a given
// one is derived from that.

import { isObject, objectOf } from "../text/json-object.ts";
import { configDocument, DEFAULT_CONFIG_DOCUMENT, MIN_HEARTBEAT_SECONDS } from "./config.ts";

const HEARTBEATS_THAT_FIT = 4;
const HEARTBEATS_BEFORE_REAPING = 2;

type Section = Readonly<Record<string, unknown>>;

interface LongerTime {
  readonly section: "jobs" | "presence";
  readonly name: string;
  readonly fits: (seconds: number, heartbeat: number) => boolean;
}

const OFFLINE: LongerTime = {
  section: "presence",
  name: "offline_after_seconds",
  fits: (seconds, heartbeat) => seconds > heartbeat,
};

const REAPING: LongerTime = {
  section: "jobs",
  name: "reap_stale_after_seconds",
  fits: (seconds, heartbeat) => seconds >= HEARTBEATS_BEFORE_REAPING * heartbeat,
};

const LONGER_TIMES = [OFFLINE, REAPING];

/** For new configs only: a document that an earlier release stored may have other times. */
export const configRequest = configDocument.refine(
  ({ jobs, presence }) =>
    jobs.reap_stale_after_seconds === null ||
    REAPING.fits(jobs.reap_stale_after_seconds, presence.heartbeat_interval_seconds),
  {
    path: [REAPING.section, REAPING.name],
    message: "must be at least twice presence.heartbeat_interval_seconds, or work is taken from healthy workers",
  },
);

const sectionOf = (given: Section, name: string): Section => objectOf(given[name]);

/** The values for missing times that replace their defaults, by section. */
const fittingTimes = (given: Section): Record<string, Section> => {
  const heartbeat = sectionOf(given, "presence").heartbeat_interval_seconds;
  const { heartbeat_interval_seconds: usualHeartbeat } = DEFAULT_CONFIG_DOCUMENT.presence;
  if (heartbeat === undefined) {
    const tooShort = LONGER_TIMES.flatMap(({ section, name, fits }) => {
      const seconds = sectionOf(given, section)[name];
      return typeof seconds === "number" && !fits(seconds, usualHeartbeat) ? [seconds] : [];
    });
    if (tooShort.length === 0) return {};
    const fitting = Math.max(MIN_HEARTBEAT_SECONDS, Math.min(...tooShort) / HEARTBEATS_THAT_FIT);
    return { presence: { heartbeat_interval_seconds: fitting } };
  }
  const fitting: Record<string, Section> = {};
  for (const { section, name, fits } of LONGER_TIMES) {
    const usual = (DEFAULT_CONFIG_DOCUMENT[section] as Section)[name];
    if (typeof heartbeat !== "number" || sectionOf(given, section)[name] !== undefined) continue;
    if (!fits(Number(usual), heartbeat)) fitting[section] = { [name]: heartbeat * HEARTBEATS_THAT_FIT };
  }
  return fitting;
};

export const withFittingTimes = (given: unknown): unknown => {
  if (!isObject(given)) return given;
  const fitted: Record<string, unknown> = { ...given };
  for (const [section, times] of Object.entries(fittingTimes(given)))
    if (given[section] === undefined || isObject(given[section])) fitted[section] = { ...given[section], ...times };
  return fitted;
};

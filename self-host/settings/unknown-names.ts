// Variables whose names are nearly those of settings. The server says so and starts: others may have given them, as
// Kubernetes does for a service of that name.

import { nearestOf } from "../../contract/text/nearest.ts";

const PREFIX = "SERVICE_";

/** Settings that the usage does not name: of the worker and the command line, of deployments. */
const OTHERS = [
  "SERVICE_API_KEY",
  "SERVICE_API_URL",
  "SERVICE_CONFIG_URL",
  "SERVICE_HISTORY_KEEP_DAYS",
  "SERVICE_HISTORY_KEEP_TEXTS_DAYS",
  "SERVICE_STARTED_AGAIN",
  "SERVICE_TARGET_ROOT_KEY",
];

/** A provider's key whose name is not in capital letters is read by nobody. */
const PROVIDER_KEY = /^PROVIDER_.+_KEY$/i;

/** One line for each; values may be secrets and are not repeated. */
export const unknownNames = (usage: string, env: NodeJS.ProcessEnv): string[] => {
  const named = usage.match(/\bSERVICE_[A-Z_]+\b/g) ?? [];
  // What all names begin with would make them alike.
  const known = ["PORT", ...named, ...OTHERS].map((name) => name.replace(PREFIX, ""));
  const given = Object.keys(env).filter((name) => env[name] !== "");
  return given.flatMap((name) => {
    const meant = name.startsWith(PREFIX) ? meantBy(name.slice(PREFIX.length), known) : keyMeantBy(name);
    return meant === null || meant === name ? [] : `${name} is no setting and changes nothing: did you mean ${meant}?`;
  });
};

const meantBy = (word: string, known: readonly string[]): string | null => {
  const meant = word !== "PORT" && known.includes(word) ? word : nearestOf(word, known);
  return meant === null || meant === "PORT" ? meant : PREFIX + meant;
};

const keyMeantBy = (name: string): string | null =>
  PROVIDER_KEY.test(name) ? name.toUpperCase().replace(/[^A-Z0-9]/g, "_") : null;

// A key's limits as flags: its own, and with `user-` before them those of each person that it is used for.

import type { KeyResource } from "../../contract/access/key.ts";
import type { Input } from "../input.ts";
import type { Flag } from "../verb.ts";

type Limits = NonNullable<KeyResource["limits"]>;

const OF_USERS = ["requests_per_minute", "tokens_per_minute", "concurrent", "day_usd"] as const;

const SAYS = {
  requests_per_minute: "requests a minute",
  tokens_per_minute: "tokens a minute, of inputs and answers",
  concurrent: "jobs open at the same time",
  max_waiting: "jobs waiting at the same time",
  day_usd: "dollars a day",
  month_usd: "dollars a month",
} as const satisfies Partial<Record<keyof Limits, string>>;

const flagOf = (name: string): string => name.replaceAll("_", "-");

export const LIMIT_FLAGS: Readonly<Record<string, Flag>> = {
  ...Object.fromEntries(Object.entries(SAYS).map(([name, says]) => [flagOf(name), { takes: "n", says }])),
  ...Object.fromEntries(
    OF_USERS.map((name) => [`user-${flagOf(name)}`, { takes: "n", says: `${SAYS[name]}, of each person` }]),
  ),
  model: { takes: "name", says: "a model that it may use; * stands for any characters", isRepeated: true },
  edge: { takes: "yes|no", says: "whether its jobs may go to providers that the service calls itself (yes)" },
  weight: { takes: "0.01–100", says: "how much of what is served its jobs get beside those of other keys (1)" },
};

/** Takes a limit away. */
const NO_LIMIT = "none";

const given = (input: Input, names: readonly string[], prefix = ""): Record<string, number | null> => {
  const figures: Record<string, number | null> = {};
  for (const name of names) {
    const flag = `${prefix}${flagOf(name)}`;
    const figure = input.text(flag) === NO_LIMIT ? null : input.number(flag);
    if (figure !== undefined) figures[name] = figure;
  }
  return figures;
};

/** What the flags change of a key's limits; the other limits stay. Empty if no flag is given. */
export const limitsFrom = (input: Input, before: KeyResource["limits"] = null) => {
  const models = input.texts("model");
  const edge = input.choice("edge", ["yes", "no"]);
  const own = {
    ...given(input, Object.keys(SAYS)),
    ...(models.length === 0 ? {} : { models: models.join() === NO_LIMIT ? null : [...models] }),
    ...(edge === undefined ? {} : { edge: edge === "yes" }),
  };
  const users = given(input, OF_USERS, "user-");
  const weight = input.number("weight");
  const per_user = Object.keys(users).length === 0 ? {} : { per_user: { ...before?.per_user, ...users } };
  const hasLimits = Object.keys({ ...own, ...users }).length > 0;
  return {
    ...(hasLimits ? { limits: { ...before, ...own, ...per_user } } : {}),
    ...(weight === undefined ? {} : { weight }),
  };
};

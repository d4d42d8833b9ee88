// What an attempt's row and the comparison of two say of it.

import type { AttemptResource } from "../../../contract/jobs/insight.ts";
import { usd, withLocalTimes } from "../../format.ts";
import type { Aspect } from "../../parts/lamp.tsx";
import { href } from "../../router.ts";
import { eventWords } from "./timeline.tsx";

export const outcomeOf = ({ outcome }: AttemptResource): { says: string; aspect: Aspect } =>
  outcome === null ? { says: "Goes on", aspect: "clear" } : eventWords(outcome);

export const modelOf = ({ provider, model }: AttemptResource): string =>
  [provider, model].filter((part) => part !== null).join(" · ") || "model unknown";

/** A public price, or tokens that nobody counted. */
const ESTIMATES: readonly (string | null)[] = ["table", "estimate"];

export const costOf = ({ cost_usd, usage, price_source }: AttemptResource): string => {
  if (cost_usd !== null) return `${usd(cost_usd)}${ESTIMATES.includes(price_source) ? " (estimate)" : ""}`;
  return usage === null && price_source !== "unknown" ? "nothing spent" : "price unknown";
};

export const ErrorLine = ({ attempt: { error } }: { attempt: AttemptResource }) =>
  error === null ? null : (
    <p class="attempt-error tone-stop">
      <code>{error.code}</code>
      {error.status !== undefined && ` ${error.status}`}
      {error.message !== "" && `: ${withLocalTimes(error.message)}`}
    </p>
  );

export const WorkerLink = ({ worker }: { worker: string | null }) =>
  worker === null ? <span class="dim">no worker</span> : <a href={href(["fleet", worker])}>{worker}</a>;

// What an operator should look at besides waiting and failing jobs: budgets, removed models, webhooks, workers that do
// not work. Each line links to where it can be fixed.

import { useEffect, useState } from "preact/hooks";
import type { WebhookResource } from "../../contract/webhook.ts";
import { DISABLED_REASONS, type Standing, standingOf } from "../../contract/words/values.ts";
import { api } from "../api.ts";
import { hostOf, plural, usd, withLocalTimes } from "../format.ts";
import { type Aspect, Lamp } from "../parts/lamp.tsx";
import { Loading } from "../parts/page.tsx";
import { Time } from "../parts/time.tsx";
import { href } from "../router.ts";
import {
  budgetReached,
  fleetSum,
  hasSnapshot,
  isHalted,
  removedModels,
  storageWarnings,
  workers,
} from "../state/board.ts";
import { useLoad } from "../state/load.ts";
import { isAdmin } from "../state/session.ts";
import { whyPaused } from "../state/why-paused.ts";

interface Concern {
  readonly aspect: Aspect;
  readonly text: string;
  readonly href: string;
  readonly until?: string;
}

const MAX_NAMED = 3;

const named = (names: readonly string[]): string =>
  names.length <= MAX_NAMED
    ? names.join(", ")
    : `${names.slice(0, MAX_NAMED).join(", ")} and ${names.length - MAX_NAMED} more`;

const budgetConcerns = (): Concern[] => {
  const reached = budgetReached.value;
  if (reached === null) return [];
  const text = `The ${reached.period}'s budget is reached: ${usd(reached.spent_usd)} of ${usd(reached.limit_usd)}. Providers that cost money get no new jobs; it resets`;
  return [{ aspect: "stop", text, href: "#/cost", until: reached.resets_at }];
};

const modelConcerns = (): Concern[] =>
  removedModels.value.map(({ provider, models_in_use: models, waiting_jobs: jobs, workers: by, schedules }) => {
    const who = [
      jobs > 0 ? plural(jobs, "waiting job") : "",
      by.length > 0 ? `${by.length === 1 ? "worker" : "workers"} ${named(by)}` : "",
      schedules.length > 0 ? `${schedules.length === 1 ? "schedule" : "schedules"} ${named(schedules)}` : "",
    ].filter(Boolean);
    const text = `${provider} no longer lists ${named(models)}: still named by ${who.join("; ")}`;
    return { aspect: jobs > 0 ? "stop" : "caution", text, href: isAdmin.value ? "#/catalog" : "#/fleet" };
  });

const storageConcerns = (): Concern[] =>
  storageWarnings.value.map((text) => ({ aspect: "caution", text, href: "#/settings" }));

/** A single worker is named, if the board knows it. */
const workerConcern = (state: Standing): Concern[] => {
  const many = fleetSum((group) => group[state]);
  if (many === 0 || (state === "paused" && isHalted.value)) return [];
  const one = [...workers.value.values()].find((worker) => standingOf(worker) === state);
  if (many > 1 || one === undefined)
    return [
      {
        aspect: "caution",
        text: `${plural(many, "worker is", "workers are")} ${state}`,
        href: href(["fleet"], { state }),
      },
    ];
  const why = state === "paused" ? whyPaused(one) : state === "unavailable" ? one.unavailable : null;
  const text = `Worker ${one.instance} is ${state}${why === null ? "" : `: ${withLocalTimes(why)}`}`;
  return [{ aspect: "caution", text, href: href(["fleet", one.instance]) }];
};

const WEBHOOKS_EVERY_MS = 30_000;

/** No message reports a disabled webhook, so webhooks are polled. */
const useWebhookConcerns = (): { concerns: Concern[]; isKnown: boolean } => {
  const [round, setRound] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setRound((before) => before + 1), WEBHOOKS_EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  const { data, isLoading } = useLoad(isAdmin.value ? `webhooks ${round}` : null, (signal) =>
    api.webhooks.list({ signal }),
  );
  const all = data?.webhooks ?? [];
  const concerns = [
    ...webhookConcern(
      "stop",
      "disabled",
      all.filter(({ enabled, disabled_reason: why }) => !enabled && why !== DISABLED_REASONS.operator),
    ),
    ...webhookConcern(
      "caution",
      "failing",
      all.filter(({ enabled, failing_since: since }) => enabled && since !== null),
    ),
  ];
  return { concerns, isKnown: data !== null || !isLoading };
};

/** One line, however many there are: they often fail together. */
const webhookConcern = (aspect: Aspect, state: string, webhooks: readonly WebhookResource[]): Concern[] => {
  const [first] = webhooks;
  if (first === undefined) return [];
  const hosts = named([...new Set(webhooks.map(({ url }) => hostOf(url)))]);
  const why = first.disabled_reason === null ? "" : `: ${first.disabled_reason}`;
  const text =
    webhooks.length === 1
      ? `The webhook to ${hosts} is ${state}${why}`
      : `${webhooks.length} webhooks are ${state}: ${hosts}`;
  return [{ aspect, text, href: "#/settings/webhooks" }];
};

export const Attention = () => {
  const webhooks = useWebhookConcerns();
  const concerns = [
    ...budgetConcerns(),
    ...modelConcerns(),
    ...storageConcerns(),
    ...webhooks.concerns,
    ...workerConcern("unavailable"),
    ...workerConcern("paused"),
    ...workerConcern("offline"),
  ];
  if (!hasSnapshot.value || !webhooks.isKnown) return <Loading what="what needs attention" />;
  if (concerns.length === 0) return null;
  return (
    <ul class="concerns attention" aria-label="Needs attention">
      {concerns.map((concern) => (
        <li key={concern.text}>
          <Lamp aspect={concern.aspect} />
          <span>
            <a href={concern.href}>{concern.text}</a>
            {concern.until !== undefined && (
              <>
                {" "}
                <Time at={concern.until} />
              </>
            )}
          </span>
        </li>
      ))}
    </ul>
  );
};

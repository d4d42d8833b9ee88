// What the palette finds: workers and jobs by the coordinator's own search, and schedules, batches and keys of the
// lists that have none, which are read once while it is open.

import type { WorkerResource } from "../../contract/fleet/worker.ts";
import { api } from "../api.ts";
import { href } from "../router.ts";
import { jobs, workers } from "../state/board.ts";
import { isAdmin } from "../state/session.ts";

const MAX_EACH = 5;
export const MAX_LABEL_CHARS = 70;
/** The newest of each list. */
const MAX_LISTED = 100;

/** What can be done with a thing: "pause gpu" finds the workers that "gpu" finds. */
export const VERB = /^(pause|resume|run)\s+/;

export interface FoundJob {
  readonly id: string;
  readonly start: string;
}

export interface Found {
  readonly workers: readonly WorkerResource[];
  readonly jobs: readonly FoundJob[];
}

export const NOTHING: Found = { workers: [], jobs: [] };

/** A schedule, a batch or a key. */
export interface Thing {
  readonly kind: "schedule" | "batch" | "key";
  readonly label: string;
  readonly id: string;
  readonly address: string;
}

/** What the page holds answers at once, and the coordinator finds the rest. */
export const findHere = (words: string): Found => ({
  workers: [...workers.value.values()].filter(({ instance }) =>
    instance.toLowerCase().includes(words.replace(VERB, "")),
  ),
  jobs: [...jobs.value.values()]
    .filter(({ id, prompt_start }) => id.startsWith(words) || prompt_start.toLowerCase().includes(words))
    .map(({ id, prompt_start }) => ({ id, start: prompt_start })),
});

export const findThere = async (q: string, signal: AbortSignal): Promise<Found> => {
  const [fleet, list] = await Promise.all([
    api.workers.list({ q: q.replace(VERB, ""), limit: MAX_EACH }, { signal }),
    api.jobs.list({ q, limit: MAX_EACH, max_chars: 4 * MAX_LABEL_CHARS }, { signal }),
  ]);
  return { workers: fleet.workers, jobs: list.jobs.map(({ id, prompt }) => ({ id, start: prompt })) };
};

/** One list that is away takes no other with it. */
const orNone = (reading: Promise<Thing[]>): Promise<Thing[]> => reading.catch(() => []);

export const readThings = async (signal: AbortSignal): Promise<Thing[]> => {
  const lists = await Promise.all([
    orNone(
      api.schedules.list({ limit: MAX_LISTED }, { signal }).then(({ schedules }) =>
        schedules.map(({ name }) => ({
          kind: "schedule",
          label: name,
          id: name,
          address: href(["schedules", name]),
        })),
      ),
    ),
    orNone(
      api.batches.list({ limit: MAX_LISTED }, { signal }).then(({ batches }) =>
        batches.map(({ id, metadata }) => ({
          kind: "batch",
          label: metadata?.name ?? id,
          id,
          address: href(["batches", id]),
        })),
      ),
    ),
    isAdmin.value
      ? orNone(
          api.keys.list({ signal }).then(({ keys }) =>
            keys
              .filter(({ revoked_at }) => revoked_at === null)
              .map(({ id, name }) => ({
                kind: "key",
                label: name,
                id,
                address: href(["settings", "keys"], { key: id }),
              })),
          ),
        )
      : [],
  ]);
  return lists.flat();
};

export const thingsWith = (things: readonly Thing[], words: string): Thing[] => {
  const wanted = words.replace(VERB, "");
  const found = things.filter(
    ({ label, id }) => label.toLowerCase().includes(wanted) || id.toLowerCase().startsWith(wanted),
  );
  return (["schedule", "batch", "key"] as const).flatMap((kind) =>
    found.filter((thing) => thing.kind === kind).slice(0, MAX_EACH),
  );
};

export const together = <Item>(here: readonly Item[], there: readonly Item[], nameOf: (item: Item) => string): Item[] =>
  [...new Map([...there, ...here].map((item) => [nameOf(item), item])).values()].slice(0, MAX_EACH);

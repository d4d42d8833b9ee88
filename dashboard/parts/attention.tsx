// What an operator should look at: work that waits for a reason, work that failed, workers that do not work. Each line
// leads to where something can be done.

import { plural } from "../format.ts";
import { href } from "../router.ts";
import { hasSnapshot, isHalted, jobs, workers } from "../state/board.ts";
import { type Aspect, Lamp } from "./lamp.tsx";
import { Empty, Loading } from "./page.tsx";

interface Concern {
  aspect: Aspect;
  text: string;
  href: string;
}

const MAX_CONCERNS = 7;
const RECENT_FAILURES = 3;

const waitingConcerns = (): Concern[] => {
  const byReason = new Map<string, number>();
  for (const job of jobs.value.values()) {
    if (job.status !== "pending" || job.waiting_reason === null) continue;
    byReason.set(job.waiting_reason, (byReason.get(job.waiting_reason) ?? 0) + 1);
  }
  return [...byReason]
    .sort(([, one], [, other]) => other - one)
    .map(([reason, many]) => ({
      aspect: "caution",
      text: `${plural(many, "job waits", "jobs wait")}: ${reason}`,
      href: href(["jobs"], { status: "pending" }),
    }));
};

const failedConcerns = (): Concern[] =>
  [...jobs.value.values()]
    .filter(({ status }) => status === "failed")
    .sort((one, other) => (one.updated_at < other.updated_at ? 1 : -1))
    .slice(0, RECENT_FAILURES)
    .map((job) => ({
      aspect: "stop",
      text: `Failed: ${job.prompt_start.slice(0, 60)} – ${job.error?.message ?? "no error given"}`,
      href: href(["jobs", job.id]),
    }));

const workerConcerns = (): Concern[] => {
  const all = [...workers.value.values()];
  const offline = all.filter(({ status }) => status === "offline");
  const paused = isHalted.value ? [] : all.filter((worker) => worker.paused && worker.status !== "offline");
  const concerns: Concern[] = [];
  const leadsTo = (found: typeof all): string =>
    found.length === 1 ? href(["fleet", found[0]?.instance ?? ""]) : "#/fleet";
  if (paused.length > 0) {
    const text =
      paused.length === 1
        ? `Worker ${paused[0]?.instance} is paused: ${paused[0]?.pause_reason}`
        : `${paused.length} workers are paused`;
    concerns.push({ aspect: "caution", text, href: leadsTo(paused) });
  }
  if (offline.length > 0) {
    const text =
      offline.length === 1 ? `Worker ${offline[0]?.instance} is offline` : `${offline.length} workers are offline`;
    concerns.push({ aspect: "caution", text, href: leadsTo(offline) });
  }
  return concerns;
};

export const Attention = () => {
  if (!hasSnapshot.value) return <Loading what="the state of the line" />;
  const concerns = [...waitingConcerns(), ...workerConcerns(), ...failedConcerns()];
  if (concerns.length === 0) {
    return <Empty title="Nothing. Every waiting job has a worker to go to, and no worker is away." />;
  }
  return (
    <ul class="concerns">
      {concerns.slice(0, MAX_CONCERNS).map((concern) => (
        <li key={concern.text}>
          <Lamp aspect={concern.aspect} />
          <a href={concern.href}>{concern.text}</a>
        </li>
      ))}
      {concerns.length > MAX_CONCERNS && <li class="dim">and {concerns.length - MAX_CONCERNS} more</li>}
    </ul>
  );
};

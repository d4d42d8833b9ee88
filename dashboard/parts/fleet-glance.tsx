// The fleet in small: one tile a worker, those that work first. Bounded, however large the fleet is.

import type { WorkerResource } from "../../contract/worker.ts";
import { href } from "../router.ts";
import { hasSnapshot, workers, workersTotal } from "../state/board.ts";
import { LoadBar } from "./load-bar.tsx";
import { Empty, Loading } from "./page.tsx";
import { WorkerStatus } from "./status.tsx";

const MAX_TILES = 24;
const RANK: Record<WorkerResource["status"], number> = { busy: 0, online: 1, idle: 2, offline: 3 };

export const NoWorkers = () => (
  <Empty title="No worker has reported yet.">
    Start one on any machine with <code>npm run worker</code>, with <code>SERVICE_API_URL</code> and a key of role
    worker in <code>SERVICE_API_KEY</code>. Keys are made in <a href="#/settings/keys">Settings</a>.
  </Empty>
);

export const FleetGlance = () => {
  if (!hasSnapshot.value) return <Loading what="the fleet" />;
  const all = [...workers.value.values()].sort(
    (one, other) => RANK[one.status] - RANK[other.status] || one.instance.localeCompare(other.instance),
  );
  if (all.length === 0) return <NoWorkers />;
  const shown = all.slice(0, MAX_TILES);
  return (
    <ul class="fleet-glance">
      {shown.map((worker) => (
        <li key={worker.instance}>
          <a href={href(["fleet", worker.instance])}>{worker.instance}</a>
          <span class="dim">{worker.provider}</span>
          <WorkerStatus worker={worker} />
          <LoadBar load={worker.current_load} concurrency={worker.concurrency} />
        </li>
      ))}
      {workersTotal.value > shown.length && (
        <li>
          <a href="#/fleet">and {workersTotal.value - shown.length} more</a>
        </li>
      )}
    </ul>
  );
};

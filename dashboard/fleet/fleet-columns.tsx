// The columns of the fleet's table: which there are, what each shows, and which ones this browser's user has chosen.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { WorkerResource } from "../../contract/fleet/worker.ts";
import { count, splitTags } from "../format.ts";
import { LoadBar } from "../parts/charts/load-bar.tsx";
import type { Column } from "../parts/table.tsx";
import { Tags } from "../parts/tags.tsx";
import { Time } from "../parts/time.tsx";
import { kept } from "../state/kept.ts";

const FailureRate = ({ rate }: { rate: number | null }) => {
  if (rate === null) return <span class="dim">–</span>;
  const tone = rate >= 1 / 3 ? "tone-stop" : rate > 0 ? "" : "dim";
  return <span class={tone}>{Math.round(rate * 100)} %</span>;
};

const MB_A_GB = 1024;

export const GpuMemory = ({ worker: { hardware } }: { worker: WorkerResource }) => {
  const gpus = hardware?.gpus ?? [];
  if (gpus.length === 0) return <span class="dim">–</span>;
  const sum = (of: (gpu: (typeof gpus)[number]) => number): string =>
    count(Math.round(gpus.reduce((whole, gpu) => whole + of(gpu), 0) / MB_A_GB));
  return (
    <span class="num" title={gpus.map(({ name }) => name).join(", ")}>
      {sum((gpu) => gpu.used_mb)} / {sum((gpu) => gpu.total_mb)} GiB
    </span>
  );
};

interface FleetColumn extends Column {
  readonly cell: (worker: WorkerResource) => ComponentChildren;
}

const COLUMNS = {
  provider: {
    title: "Provider",
    class: "cell-wide cell-short",
    cell: ({ provider }) => <span title={provider}>{provider}</span>,
  },
  load: {
    title: "Load",
    class: "cell-load",
    cell: (worker) => <LoadBar load={worker.current_load} concurrency={worker.concurrency} />,
  },
  failed: {
    title: "Failed",
    class: "num cell-roomy cell-failed",
    cell: (worker) => <FailureRate rate={worker.failure_rate} />,
  },
  gpu: { title: "GPU memory", class: "num cell-wide cell-gpu", cell: (worker) => <GpuMemory worker={worker} /> },
  tags: {
    title: "Tags",
    class: "cell-wide cell-tags",
    cell: ({ tags }) => <Tags tags={splitTags(tags)} max={3} />,
  },
  models: {
    title: "Models",
    class: "cell-wide cell-tags cell-models",
    cell: ({ models }) => (models === null ? <span class="dim">any model</span> : <Tags tags={models} max={1} />),
  },
  connection: {
    title: "Connection",
    class: "cell-wide cell-when",
    cell: ({ connected }) => (connected ? "WebSocket" : "HTTP"),
  },
  version: { title: "Version", class: "cell-wide cell-when", cell: ({ version }) => version ?? "–" },
  heartbeat: {
    title: "Heartbeat",
    class: "num cell-wide cell-when",
    cell: (worker) => <Time at={worker.last_heartbeat} />,
  },
} as const satisfies Record<string, FleetColumn>;

type ColumnName = keyof typeof COLUMNS;
const ALL = Object.keys(COLUMNS) as ColumnName[];
const FIRST: readonly ColumnName[] = ["provider", "load", "failed", "tags", "models", "heartbeat"];

const areNames = (found: unknown): found is readonly ColumnName[] =>
  Array.isArray(found) && found.every((name) => ALL.includes(name));

const { chosen, choose } = kept("fleet-columns", FIRST, areNames);

/** In the table's order, whatever the order of choosing. */
export const chosenColumns = (): FleetColumn[] =>
  ALL.filter((name) => chosen.value.includes(name)).map((name) => COLUMNS[name]);

export const ColumnsMenu = () => {
  const [isOpen, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!isOpen) return;
    const close = ({ target }: MouseEvent): void => {
      if (!box.current?.contains(target as Node)) setOpen(false);
    };
    const onKey = (event: KeyboardEvent): void => {
      if (event.key === "Escape") setOpen(false);
    };
    addEventListener("click", close);
    addEventListener("keydown", onKey);
    return () => {
      removeEventListener("click", close);
      removeEventListener("keydown", onKey);
    };
  }, [isOpen]);
  return (
    <div ref={box} class="columns-menu">
      <button type="button" class="button small" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        Columns
      </button>
      {isOpen && (
        <fieldset>
          <legend class="visually-hidden">Columns of the table</legend>
          {ALL.map((name) => (
            <label key={name}>
              <input
                type="checkbox"
                checked={chosen.value.includes(name)}
                onChange={({ currentTarget: { checked } }) =>
                  choose(checked ? [...chosen.value, name] : chosen.value.filter((one) => one !== name))
                }
              />
              {COLUMNS[name].title}
            </label>
          ))}
        </fieldset>
      )}
    </div>
  );
};

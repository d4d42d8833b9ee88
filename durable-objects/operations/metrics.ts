// Prometheus text (exposition format 0.0.4). Label values come from closed sets: statuses, outcomes, providers and
// requirement groups that exist, each list bounded.

import { JOB_STATUSES } from "../../domain/job-status.ts";
import type { Refusal } from "../../domain/refusal.ts";
import { ok, type Result } from "../../domain/result.ts";
import { WORKER_STATUSES } from "../../domain/worker.ts";
import type { Turn } from "./turn.ts";
import { viewOf } from "./workers.ts";

const MAX_GROUPS = 100;

interface Metric {
  readonly name: string;
  readonly help: string;
  readonly type: "gauge" | "counter" | "histogram";
  readonly samples: readonly (readonly [suffix: string, labels: Record<string, string>, value: number])[];
}

export const readMetrics = (turn: Turn): Result<string, Refusal> => {
  const metrics = [...queueMetrics(turn), ...doorMetrics(turn), ...fleetMetrics(turn), ...tenantMetrics(turn)];
  return ok(`${metrics.map(format).join("\n")}\n`);
};

const queueMetrics = (turn: Turn): Metric[] => {
  const { queue, counters } = turn.memory;
  const groups = [...queue.groups.values()].sort((one, other) => other.count - one.count).slice(0, MAX_GROUPS);
  const labelled = groups.map((group) => {
    const { provider, model, tags, excludedProviders } = group.requirements;
    const asked = { provider: provider ?? "", model: model ?? "", tags: tags.join(",") };
    return { group, labels: { ...asked, excluded_providers: excludedProviders.join(",") } };
  });
  const ages = labelled.map(({ group, labels }) => {
    const oldestAt = turn.store.jobs.oldestCreatedAt(group.key);
    return ["", labels, oldestAt === null ? 0 : (turn.nowAt - oldestAt) / 1000] as const;
  });
  return [
    gauge("signalbox_queue_depth", "Jobs that wait and may run now, by requirement group.", [
      ...labelled.map(({ group, labels }) => ["", labels, group.count] as const),
    ]),
    gauge("signalbox_queue_oldest_age_seconds", "Age of the head of each requirement group.", ages),
    gauge("signalbox_queue_jobs", "Jobs that wait and may run now.", [["", {}, queue.count]]),
    {
      name: "signalbox_jobs_total",
      help: "Jobs that reached a status.",
      type: "counter",
      samples: JOB_STATUSES.map((status) => ["", { status }, counters.jobsByStatus[status]] as const),
    },
    {
      name: "signalbox_assignment_latency_seconds",
      help: "Time from enqueueing to assignment.",
      type: "histogram",
      samples: counters.assignmentLatency.samples(),
    },
  ];
};

const doorMetrics = (turn: Turn): Metric[] => {
  const { counters } = turn.memory;
  return [
    {
      name: "signalbox_time_to_first_token_seconds",
      help: "Time from a request to the first word of its stream.",
      type: "histogram",
      samples: counters.firstToken.samples(),
    },
    {
      name: "signalbox_stream_duration_seconds",
      help: "Time from the first word of a stream to its end.",
      type: "histogram",
      samples: counters.streamDuration.samples(),
    },
    gauge("signalbox_streams_open", "Streams that have begun and not ended.", [["", {}, turn.memory.openStreams]]),
    {
      name: "signalbox_streams_abandoned_total",
      help: "Answers whose client left, or read too slowly.",
      type: "counter",
      samples: [["", {}, counters.streamsAbandoned]],
    },
    {
      name: "signalbox_affinity_total",
      help: "Requests of a conversation, by whether they went to the worker that had its last turn.",
      type: "counter",
      samples: (["hit", "miss"] as const).map((outcome) => ["", { outcome }, counters.affinity[outcome]] as const),
    },
  ];
};

const fleetMetrics = (turn: Turn): Metric[] => {
  const byStatus = new Map<string, number>();
  let paused = 0;
  let load = 0;
  for (const member of turn.memory.fleet.members()) {
    const view = viewOf(turn, member);
    byStatus.set(view.status, (byStatus.get(view.status) ?? 0) + 1);
    if (view.pauseReason !== null) paused += 1;
    load += view.load;
  }
  return [
    gauge("signalbox_workers", "Registered workers by derived status.", [
      ...WORKER_STATUSES.map((status) => ["", { status }, byStatus.get(status) ?? 0] as const),
    ]),
    gauge("signalbox_workers_paused", "Workers that take no new jobs.", [["", {}, paused]]),
    gauge("signalbox_leases", "Jobs assigned or running.", [["", {}, load]]),
  ];
};

const tenantMetrics = (turn: Turn): Metric[] => {
  const oldestAt = turn.store.outbox.oldestAt();
  return [
    gauge("signalbox_outbox_rows", "Changes that history has not got yet.", [["", {}, turn.store.outbox.count()]]),
    gauge("signalbox_outbox_oldest_age_seconds", "Age of the oldest of them.", [
      ["", {}, oldestAt === null ? 0 : (turn.nowAt - oldestAt) / 1000],
    ]),
    gauge("signalbox_killswitch_level", "0 is off, 4 is a full halt.", [["", {}, turn.memory.killswitch.level]]),
  ];
};

const gauge = (name: string, help: string, samples: Metric["samples"]): Metric => ({
  name,
  help,
  type: "gauge",
  samples,
});

const escapeLabel = (value: string): string =>
  value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");

const format = ({ name, help, type, samples }: Metric): string =>
  [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${type}`,
    ...samples.map(([suffix, labels, value]) => {
      const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`);
      return `${name}${suffix}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${value}`;
    }),
  ].join("\n");

// A job's life, oldest first. An assignment shows the router's decision: the score by its parts, and who was refused.

import type { JobEventResource } from "../../contract/job.ts";
import { jsonText, plural, withLocalTimes } from "../format.ts";
import { href } from "../router.ts";
import { type Aspect, Lamp } from "./lamp.tsx";
import { partLabel } from "./score-bars.tsx";
import { Time } from "./time.tsx";

const EVENTS: Record<string, { says: string; aspect: Aspect }> = {
  "job.created": { says: "Created", aspect: "dark" },
  "job.updated": { says: "Edited", aspect: "dark" },
  "job.assigned": { says: "Assigned", aspect: "caution" },
  "job.accept_expired": { says: "Not started in time", aspect: "caution" },
  "job.started": { says: "Started", aspect: "clear" },
  "job.completed": { says: "Completed", aspect: "done" },
  "job.failed": { says: "Failed", aspect: "stop" },
  "job.cancelled": { says: "Cancelled", aspect: "stop" },
  "job.released": { says: "Given back", aspect: "caution" },
  "job.lost": { says: "Lost by its worker", aspect: "caution" },
  "job.retried": { says: "Retried", aspect: "dark" },
  "job.reaped": { says: "Taken from a silent worker", aspect: "caution" },
  "job.timed_out": { says: "Timed out", aspect: "stop" },
  "job.halted": { says: "Halted by the killswitch", aspect: "stop" },
  "job.rate_limited": { says: "Rate limited by the provider", aspect: "caution" },
  "job.attempt_failed": { says: "Failed, to be tried again", aspect: "caution" },
  "job.fell_back": { says: "Fell back to the next provider", aspect: "caution" },
};

/** An event's words and lamp; an unknown one is shown by its own name. An attempt names it without the `job.`. */
export const eventWords = (type: string): { says: string; aspect: Aspect } =>
  EVENTS[type] ?? EVENTS[`job.${type}`] ?? { says: type, aspect: "dark" };

export interface RoutingDetail {
  score: number;
  breakdown: Record<string, number>;
  refused: Record<string, number>;
  strategy?: string;
  /** Of older decisions nobody knows it any more. */
  runner_up?: { instance: string; score: number } | null;
}

export const isRouting = (detail: unknown): detail is RoutingDetail =>
  typeof detail === "object" && detail !== null && "score" in detail && "breakdown" in detail;

const Share = ({ part, share }: { part: string; share: number }) => (
  <svg class="part-share" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
    <rect class={`part-${part}`} width={share * 100} height="8" />
  </svg>
);

export const Routing = ({ detail, isOpen = false }: { detail: RoutingDetail; isOpen?: boolean }) => {
  const refused = Object.entries(detail.refused ?? {});
  return (
    <details class="decision" open={isOpen}>
      <summary>
        Score <span class="num">{detail.score.toFixed(1)}</span>
        {detail.strategy !== undefined && <span class="dim"> · strategy {detail.strategy}</span>}
        {refused.length > 0 && (
          <span class="dim">
            {" "}
            ·{" "}
            {refused
              .map(([filter, many]) => `${plural(many, "worker")} refused for ${filter.replaceAll("_", " ")}`)
              .join(", ")}
          </span>
        )}
      </summary>
      {detail.runner_up != null && (
        <p class="event-detail">
          Next best: <a href={href(["fleet", detail.runner_up.instance])}>{detail.runner_up.instance}</a>, score{" "}
          <span class="num">{detail.runner_up.score.toFixed(1)}</span>
        </p>
      )}
      {detail.runner_up === null && <p class="event-detail">No other worker could take it.</p>}
      <dl class="parts">
        {Object.entries(detail.breakdown).map(([part, share]) => (
          <div key={part}>
            <dt>{partLabel(part)}</dt>
            <dd>
              <Share part={part} share={share} />
              <span class="num">{Math.round(share * 100)} %</span>
            </dd>
          </div>
        ))}
      </dl>
    </details>
  );
};

const valueText = (value: unknown): string => {
  if (typeof value !== "object" || value === null || !("message" in value)) return jsonText(value);
  const { code, message } = value as { code?: string; message: unknown };
  return code === undefined ? `${message}` : `${code}: ${message}`;
};

const Detail = ({ detail }: { detail: unknown }) => {
  if (detail === null || detail === undefined) return null;
  if (isRouting(detail)) return <Routing detail={detail} />;
  const entries = typeof detail === "object" ? Object.entries(detail as object) : [["", detail]];
  return (
    <p class="event-detail">
      {entries
        .filter(([, value]) => value !== null && !(Array.isArray(value) && value.length === 0))
        .map(
          ([name, value]) =>
            `${name === "" ? "" : `${String(name).replaceAll("_", " ")}: `}${withLocalTimes(valueText(value))}`,
        )
        .join(" · ")}
    </p>
  );
};

export const Timeline = ({ events }: { events: readonly JobEventResource[] }) => (
  <ol class="timeline">
    {events.map((event, index) => {
      const { says, aspect } = eventWords(event.type);
      return (
        <li key={`${index} ${event.type}`}>
          <Lamp aspect={aspect} />
          <div>
            <p>
              <strong>{says}</strong>
              {event.worker !== null && (
                <>
                  {" "}
                  <a href={href(["fleet", event.worker])}>{event.worker}</a>
                </>
              )}
              <span class="event-at dim">
                <Time at={event.at} as="clock" />
              </span>
            </p>
            <Detail detail={event.detail} />
          </div>
        </li>
      );
    })}
  </ol>
);

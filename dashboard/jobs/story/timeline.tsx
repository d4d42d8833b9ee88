// A job's events, oldest first. An assignment expands to the router's decision.

import { useState } from "preact/hooks";
import type { JobEventResource } from "../../../contract/jobs/job.ts";
import { duration, isSameDay, jsonText, plural, withLocalTimes } from "../../format.ts";
import { type Aspect, Lamp } from "../../parts/lamp.tsx";
import { Time } from "../../parts/time.tsx";
import { href } from "../../router.ts";
import { DecisionView, isDecision, scoreText } from "./decision.tsx";

const EVENTS: Record<string, { says: string; aspect: Aspect }> = {
  "job.created": { says: "Created", aspect: "dark" },
  "job.updated": { says: "Edited", aspect: "dark" },
  "job.assigned": { says: "Assigned", aspect: "caution" },
  "job.accept_expired": { says: "Not started in time", aspect: "caution" },
  "job.started": { says: "Started", aspect: "clear" },
  "job.streaming": { says: "Begins its answer", aspect: "clear" },
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

/** An event's text and lamp; an unknown event is shown by its name. An attempt's outcome has no `job.` prefix. */
export const eventWords = (type: string): { says: string; aspect: Aspect } =>
  EVENTS[type] ?? EVENTS[`job.${type}`] ?? { says: type, aspect: "dark" };

const valueText = (value: unknown): string => {
  if (typeof value !== "object" || value === null || !("message" in value)) return jsonText(value);
  const { code, message } = value as { code?: string; message: unknown };
  return code === undefined ? `${message}` : `${code}: ${message}`;
};

const factText = (name: string, value: unknown): string => {
  if (name === "delay_ms" && typeof value === "number") return `again after ${duration(value)}`;
  return `${name.replaceAll("_", " ")}: ${valueText(value)}`;
};

/** A detail's fields as text; empty ones are left out. */
const factsOf = ({ attempt, of, ...rest }: Record<string, unknown>): string[] => [
  ...(attempt == null ? [] : [`attempt ${attempt}${of == null ? "" : ` of ${of}`}`]),
  ...Object.entries(rest)
    .filter(([, value]) => value !== null && !(Array.isArray(value) && value.length === 0))
    .map(([name, value]) => factText(name, value)),
];

const Detail = ({ event: { detail, worker } }: { event: JobEventResource }) => {
  if (detail === null || detail === undefined) return null;
  if (isDecision(detail)) {
    return (
      <details class="more">
        <summary class="event-detail">{scoreText(detail)}</summary>
        <DecisionView decision={detail} chosen={worker ?? "chosen"} />
      </details>
    );
  }
  const says = typeof detail === "object" ? factsOf(detail as Record<string, unknown>) : [valueText(detail)];
  return <p class="event-detail">{says.map(withLocalTimes).join(" · ")}</p>;
};

/** An event of another day than the one before says its day. */
const isOnDayOf = (at: string, before: string | undefined): boolean =>
  before === undefined || isSameDay(Date.parse(at), Date.parse(before));

/** A job that is retried again and again has thousands. */
const SHOWN_AT_ONCE = 200;

const Entry = ({ event, before }: { event: JobEventResource; before: JobEventResource | undefined }) => {
  const { says, aspect } = eventWords(event.type);
  return (
    <li>
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
            <Time at={event.at} as={isOnDayOf(event.at, before?.at) ? "clock" : "full"} />
          </span>
        </p>
        <Detail event={event} />
      </div>
    </li>
  );
};

export const Timeline = ({ events }: { events: readonly JobEventResource[] }) => {
  const [most, setMost] = useState(SHOWN_AT_ONCE);
  const from = Math.max(0, events.length - most);
  return (
    <>
      {from > 0 && (
        <p>
          <button type="button" class="button small" onClick={() => setMost(most + SHOWN_AT_ONCE)}>
            Show earlier
          </button>{" "}
          <span class="dim">{plural(from, "earlier event")}</span>
        </p>
      )}
      <ol class="timeline">
        {events.slice(from).map((event, index) => (
          <Entry key={`${from + index} ${event.type}`} event={event} before={events[from + index - 1]} />
        ))}
      </ol>
    </>
  );
};
